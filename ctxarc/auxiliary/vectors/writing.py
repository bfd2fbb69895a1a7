"""Writing a part of vectors: rows stream through once, looked at while they are copied, and once more for the mean."""

from __future__ import annotations

import mmap
import os
from array import array
from contextlib import suppress
from queue import Queue
from threading import Thread
from typing import TYPE_CHECKING, NamedTuple, Self

from xxhash import xxh3_64_hexdigest, xxh3_64_intdigest

from ctxarc.auxiliary.vectors.measuring import measuring
from ctxarc.auxiliary.vectors.part import (
    DIMENSIONS_LIMIT,
    HEADER_LIMIT,
    ROWS_LIMIT,
    Header,
    Tables,
    block_rows,
    padding,
    tables_bytes,
)
from ctxarc.auxiliary.vectors.spreads import spreads
from ctxarc.auxiliary.vectors.sums import mean_of, pack_sums
from ctxarc.errors import MalformedVectors
from ctxarc.preservation.files import write_all

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from ctxarc.auxiliary.vectors.identity import Identity

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_TRUNC
_MORE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)

_AHEAD = 16
"""Blocks that wait to be written."""
_FLUSHED = 8 << 20
"""Bytes after which what was written is flushed."""
_flush = getattr(os, "fdatasync", os.fsync)


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
        MalformedVectors: a row is not finite, or all zero; ``row`` is in the facts. There are none, or too many.

    """
    _check(identity, new)
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


def _check(identity: Identity, new: NewRows) -> None:
    """Refuse what a reader would refuse."""
    for name, found, limit in (("dimensions", identity.dimensions, DIMENSIONS_LIMIT), ("rows", new.rows, ROWS_LIMIT)):
        if not 1 <= found <= limit:
            message = f"vectors with {name} {found:,}; 1 to {limit:,} are possible"
            raise MalformedVectors(message, field=name, found=found, limit=limit)


def _write(descriptor: int, identity: Identity, archive_digest: str, new: NewRows) -> None:
    dimensions, rows = identity.dimensions, new.rows
    size = 4 * dimensions
    pad = bytes(padding(dimensions, rows))
    behind = len(pad) + tables_bytes(dimensions, rows, len(new.objects))
    header = Header(*identity, archive_digest, rows, len(new.objects), 0, 0, "0" * 16).placed(behind)
    if header.rows_at > HEADER_LIMIT:
        message = f"the identity of the vectors takes {header.rows_at:,} bytes, and the limit is {HEADER_LIMIT:,}"
        raise MalformedVectors(message, found=header.rows_at, limit=HEADER_LIMIT)
    os.lseek(descriptor, header.rows_at, os.SEEK_SET)
    measure = measuring(dimensions)
    checks = array("Q")
    with _Behind(descriptor) as behind_us:
        for block in _blocks(new.chunks, block_rows(dimensions) * size):
            behind_us.write(block)
            checks.append(xxh3_64_intdigest(block))
            measure.add(block)
    if len(measure.norms) != rows:
        raise MalformedVectors(f"{len(measure.norms):,} vectors for {rows:,} segments", found=len(measure.norms))
    sums = measure.sums()
    with memoryview(mmap.mmap(descriptor, header.rows_at + size * rows, access=mmap.ACCESS_READ)) as written:
        apart = spreads(written[header.rows_at :], measure.norms, mean_of(sums, rows))
    tables = Tables(
        pack_sums(sums), checks, measure.norms, apart, new.objects, new.firsts, new.starts, new.ends, new.digests
    )
    packed = pad + tables.pack()
    write_all(descriptor, packed)
    os.lseek(descriptor, 0, os.SEEK_SET)
    write_all(descriptor, header._replace(tables_checksum=xxh3_64_hexdigest(packed)).pack())


class _Behind:
    """Writes blocks in a thread of its own: they are on their way to the disk while the next ones are looked at."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._blocks: Queue[bytes | memoryview | None] = Queue(_AHEAD)
        self._fault: BaseException | None = None
        self._thread = Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._blocks.put(None)
        self._thread.join()
        if kind is None and self._fault:
            raise self._fault

    def write(self, block: bytes | memoryview) -> None:
        """Write a block, soon; a fault of one before it is raised."""
        if self._fault:
            raise self._fault
        self._blocks.put(block)

    def _run(self) -> None:
        unflushed = 0
        while (block := self._blocks.get()) is not None:
            try:
                if self._fault is None:
                    write_all(self._descriptor, block)
                    unflushed += len(block)
                if unflushed >= _FLUSHED:
                    _flush(self._descriptor)
                    unflushed = 0
            except BaseException as fault:  # noqa: BLE001 - it is raised again where the rows come from
                self._fault = fault
                unflushed = 0


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
