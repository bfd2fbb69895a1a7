"""Writing a part of vectors: rows stream through once, looked at while they are copied, and once more for the mean."""

from __future__ import annotations

import math
import os
import sys
from array import array
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from xxhash import xxh3_64_hexdigest, xxh3_64_intdigest

from ctxarc.auxiliary.vectors.arrays import np
from ctxarc.auxiliary.vectors.part import Header, Tables, block_rows, padding, table_lengths
from ctxarc.errors import MalformedVectors
from ctxarc.preservation.files import read_at, write_all

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from ctxarc.auxiliary.vectors.identity import Identity

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_TRUNC
_MORE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


class NewRows(NamedTuple):
    """Rows to be written, in order of objects and segments.

    Attributes:
        objects: ``I``: the numbers of the objects that rows are of, ascending.
        digests: their SHA-256, joined.
        firsts: ``I``: the first row of each, and the number of rows.
        starts, ends: ``I``: the segment of each row in its turn.
        chunks: float32 numbers, little-endian, whole rows at a time.

    """

    objects: array[int]
    digests: bytes
    firsts: array[int]
    starts: array[int]
    ends: array[int]
    chunks: Iterable[bytes | bytearray | memoryview]

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.starts)


def write_part(path: Path, identity: Identity, archive_digest: str, new: NewRows) -> None:
    """Write a part to ``path``, flushed, in the place of whatever is there.

    Raises:
        MalformedVectors: a row is not finite, or all zero; ``row`` is in the facts.

    """
    temporary = path.with_name(path.name + ".tmp")
    descriptor = os.open(temporary, _FLAGS | _MORE, 0o666)
    try:
        try:
            _write(descriptor, identity, archive_digest, new)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def _write(descriptor: int, identity: Identity, archive_digest: str, new: NewRows) -> None:
    dimensions = identity.dimensions
    rows, objects = new.rows, len(new.objects)
    pad = bytes(padding(dimensions, rows))
    kinds = zip("dQffIIIIB", table_lengths(dimensions, rows, objects), strict=True)
    size = sum(count * array(kind).itemsize for kind, count in kinds) + 4 * dimensions * rows + len(pad)
    header = Header(*identity, archive_digest, rows, objects, 0, 0, "0" * 16)
    at = len(Header.packed(header._replace(stored_bytes=size)))
    while len(line := Header.packed(header._replace(stored_bytes=size + at))) != at:
        at = len(line)
    os.lseek(descriptor, at, os.SEEK_SET)
    measure = _measure(dimensions)
    checks = array("Q")
    for block in _blocks(new.chunks, block_rows(dimensions) * 4 * dimensions):
        write_all(descriptor, block)
        checks.append(xxh3_64_intdigest(block))
        measure.add(block)
    spreads = array("f")
    mean = [number / rows for number in measure.sums()]
    for block in _written(descriptor, at, 4 * dimensions * rows, block_rows(dimensions) * 4 * dimensions):
        spreads.extend(measure.spreads(block, mean))
    tables = Tables(
        array("d", measure.sums()),
        checks,
        measure.norms,
        spreads,
        new.objects,
        new.firsts,
        new.starts,
        new.ends,
        new.digests,
    )
    behind = pad + tables.pack()
    write_all(descriptor, behind)
    line = Header.packed(header._replace(stored_bytes=size + at, tables_checksum=xxh3_64_hexdigest(behind)))
    os.lseek(descriptor, 0, os.SEEK_SET)
    write_all(descriptor, line)


def _blocks(chunks: Iterable[bytes | bytearray | memoryview], size: int) -> Iterator[bytes | memoryview]:
    """The bytes of ``chunks`` in pieces of ``size``, the last one shorter; without a copy where they lie so."""
    kept = bytearray()
    for chunk in chunks:
        view = memoryview(chunk).cast("B")
        at = 0
        if kept:
            at = min(size - len(kept), len(view))
            kept += view[:at]
            if len(kept) < size:
                continue
            yield bytes(kept)
            kept = bytearray()
        while at + size <= len(view):
            yield view[at : at + size]
            at += size
        kept += view[at:]
    if kept:
        yield bytes(kept)


def _written(descriptor: int, start: int, length: int, size: int) -> Iterator[bytes]:
    """The rows as they were written, block by block."""
    here = os.lseek(descriptor, 0, os.SEEK_CUR)
    for at in range(start, start + length, size):
        yield read_at(descriptor, at, min(size, start + length - at), "vectors")
    os.lseek(descriptor, here, os.SEEK_SET)


class _WithNumpy:
    """Norms, sums and spreads of rows by NumPy. Norms and spreads are approximate: a search allows for that."""

    def __init__(self, dimensions: int) -> None:
        self.norms = array("f")
        self._dimensions = dimensions
        self._sums = np.zeros(dimensions)

    def add(self, block: bytes | memoryview) -> None:
        rows = np.frombuffer(block, "<f4").reshape(-1, self._dimensions)
        with np.errstate(over="ignore", invalid="ignore"):
            norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
            odd = np.flatnonzero(~((norms > 1e-15) & np.isfinite(norms)))  # noqa: PLR2004 - squares of less are lost
            if len(odd):
                norms[odd] = [_norm(rows[at].tolist(), len(self.norms) + int(at)) for at in odd]
            self._sums += rows.sum(axis=0, dtype=np.float64)
        self.norms.frombytes(norms.astype("=f4").tobytes())

    def sums(self) -> list[float]:
        return [float(number) for number in self._sums]

    def spreads(self, block: bytes, mean: list[float]) -> array[float]:
        rows = np.frombuffer(block, "<f4").reshape(-1, self._dimensions)
        with np.errstate(over="ignore", invalid="ignore"):
            apart = rows - np.array(mean).astype("f4")
            return array("f", np.sqrt(np.einsum("ij,ij->i", apart, apart)).astype("=f4").tobytes())


class _WithPython:
    """The same without NumPy."""

    def __init__(self, dimensions: int) -> None:
        self.norms = array("f")
        self._dimensions = dimensions
        self._sums = [0.0] * dimensions

    def _rows(self, block: bytes | memoryview) -> Iterator[list[float]]:
        numbers = array("f", bytes(block))
        if sys.byteorder == "big":  # pragma: no cover - files are little-endian
            numbers.byteswap()
        for at in range(0, len(numbers), self._dimensions):
            yield numbers[at : at + self._dimensions].tolist()

    def add(self, block: bytes | memoryview) -> None:
        for row in self._rows(block):
            self.norms.append(_narrow(_norm(row, len(self.norms))))
            self._sums = list(map(float.__add__, self._sums, row))

    def sums(self) -> list[float]:
        return self._sums

    def spreads(self, block: bytes, mean: list[float]) -> array[float]:
        return array("f", (_narrow(math.dist(row, mean)) for row in self._rows(block)))


def _measure(dimensions: int) -> _WithNumpy | _WithPython:
    return _WithPython(dimensions) if np is None else _WithNumpy(dimensions)


def _narrow(number: float) -> float:
    """``number``, or infinity where float32 cannot hold it."""
    return number if number <= 3.4e38 else math.inf  # noqa: PLR2004 - the largest of float32


def _norm(row: list[float], number: int) -> float:
    """The length of a row.

    Raises:
        MalformedVectors: it has none: the row is not finite, or all zero.

    """
    if not all(map(math.isfinite, row)):
        raise MalformedVectors(f"row {number} of the vectors is not finite", row=number)
    norm = math.hypot(*row)
    if not norm:
        raise MalformedVectors(f"row {number} of the vectors is all zero", row=number)
    return norm
