"""A part of a set of vectors on disk: float32 rows, mapped as they lie, with what a search wants beside them.

``man/ctxa.5`` has the layout. A part is written once, under a temporary name, and never changed.
"""

from __future__ import annotations

import json
import mmap
import os
import re
import sys
from array import array
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from xxhash import xxh3_64_hexdigest, xxh3_64_intdigest

from ctxarc.auxiliary.vectors.identity import Identity
from ctxarc.auxiliary.vectors.sums import SUM_BYTES, unpack_sums
from ctxarc.errors import BadMagic, ChecksumMismatch, IndexMismatch, LimitExceeded, Truncated, UnsupportedVersion
from ctxarc.preservation.files import open_file, read_at
from ctxarc.preservation.layout import OBJECT_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

FORMAT = "ctxarc-vectors"
VERSION = 1
BLOCK_BYTES = 1 << 20
"""Bytes of rows that one checksum covers, or one row where it is longer."""
HEADER_LIMIT = 1 << 16
"""Bytes of the longest header."""
DIMENSIONS_LIMIT = 1 << 16
ROWS_LIMIT = 1 << 31
ALIGNED = 64
_DIGEST = 32
_START = f'{{"format":"{FORMAT}","version":'.encode()
_VERSION = re.compile(rb'\{"format":"' + FORMAT.encode() + rb'","version":([0-9]{1,9}),')
_ENDING = re.compile(rb',"checksum":"([0-9a-f]{16})"\} *\n\Z')
_NO_CHECKSUM = "0" * 16


class Header(NamedTuple):
    """The line of JSON that a part begins with, after its format and version.

    Attributes:
        model, revision, dimensions, projection, scheme: the identity.
        archive_digest: the state of the archive that the vectors were attached to.
        rows, objects: how many there are.
        rows_at: the byte where the rows begin; a multiple of 64.
        stored_bytes: length of the file.
        tables_checksum: xxh3 of all that follows the rows.

    """

    model: str
    revision: str
    dimensions: int
    projection: str
    scheme: str
    archive_digest: str
    rows: int
    objects: int
    rows_at: int
    stored_bytes: int
    tables_checksum: str

    @property
    def identity(self) -> Identity:
        """What made the vectors."""
        return Identity(*self[:5])

    def pack(self) -> bytes:
        """The line, padded with blanks to a multiple of 64 bytes, with its own checksum as its last field."""
        fields = {"format": FORMAT, "version": VERSION, **self._asdict(), "checksum": _NO_CHECKSUM}
        text = json.dumps(fields, separators=(",", ":")).encode()
        line = text + b" " * (-(len(text) + 1) % ALIGNED) + b"\n"
        checksum = xxh3_64_hexdigest(line).encode()
        at = len(text) - len(b'0000000000000000"}')
        return line[:at] + checksum + line[at + 16 :]

    def placed(self, behind: int) -> Self:
        """The same with ``rows_at`` and ``stored_bytes`` set; ``behind`` are the bytes that follow the rows."""
        header = self
        while True:
            at = len(header.pack())
            stored = at + 4 * self.dimensions * self.rows + behind
            if (at, stored) == (header.rows_at, header.stored_bytes):
                return header
            header = header._replace(rows_at=at, stored_bytes=stored)


class Tables(NamedTuple):
    """What stands behind the rows, in this order.

    Attributes:
        sums: sum of all rows, exact, an integer of 40 bytes a dimension: see :mod:`sums`.
        checks: xxh3 of each block of rows.
        norms: length of each row as a vector, float32.
        spreads: distance of each row from the mean of this part, float32.
        objects: numbers of the objects that rows are of, ascending.
        firsts: the first row of each, and the number of rows.
        starts, ends: the segment of each row in its turn.
        digests: SHA-256 of each object, joined.

    """

    sums: Any
    checks: Any
    norms: Any
    spreads: Any
    objects: Any
    firsts: Any
    starts: Any
    ends: Any
    digests: Any

    def pack(self) -> bytes:
        """The bytes of all tables, joined."""
        return b"".join(_little(table) for table in self)


TYPES = ("B", "Q", "f", "f", "I", "I", "I", "I", "B")


def table_lengths(dimensions: int, rows: int, objects: int) -> tuple[int, ...]:
    """How many numbers each of the :class:`Tables` has."""
    sums, checks = SUM_BYTES * dimensions, blocks(dimensions, rows)
    return (sums, checks, rows, rows, objects, objects + 1, rows, rows, _DIGEST * objects)


def tables_bytes(dimensions: int, rows: int, objects: int) -> int:
    """How many bytes they have together."""
    kinds = zip(TYPES, table_lengths(dimensions, rows, objects), strict=True)
    return sum(count * array(kind).itemsize for kind, count in kinds)


def block_rows(dimensions: int) -> int:
    """Rows that one checksum covers."""
    return max(1, BLOCK_BYTES // (4 * dimensions))


def blocks(dimensions: int, rows: int) -> int:
    """Checksums of the rows of a part."""
    return -(-rows // block_rows(dimensions))


def padding(dimensions: int, rows: int) -> int:
    """Zero bytes between the rows and the tables."""
    return -(4 * dimensions * rows) % ALIGNED


def _little(numbers: Any) -> bytes:  # noqa: ANN401 - an array, or bytes
    if isinstance(numbers, array) and sys.byteorder == "big":  # pragma: no cover - files are little-endian
        numbers = numbers[:]
        numbers.byteswap()
    return bytes(numbers)


class Rows(NamedTuple):
    """The rows of one object: segment ``starts[i]`` to ``ends[i]`` has row ``first_row + i``."""

    object: int
    digest: bytes
    first_row: int
    starts: Sequence[int]
    ends: Sequence[int]


class Part:
    """A part, mapped into memory. Rows are compared with their checksums before they are used, block by block.

    Args:
        path: its file.
        label: what messages call it: its path in the archive.

    Attributes:
        header: its first line.
        data: the bytes of its rows, float32, little-endian, ``4 * dimensions`` each; :meth:`prove` them first.
        tables: what stands behind them.

    Raises:
        Truncated, BadMagic, UnsupportedVersion, ChecksumMismatch, LimitExceeded, IndexMismatch: it is damaged, or
            another release wrote it.

    """

    def __init__(self, path: Path, label: str) -> None:
        self.label = label
        descriptor = open_file(path, label)
        try:
            length = os.fstat(descriptor).st_size
            self.header = read_header(descriptor, length, label)
            self._map = mmap.mmap(descriptor, length, access=mmap.ACCESS_READ)
        finally:
            os.close(descriptor)
        view = memoryview(self._map)
        header = self.header
        end = header.rows_at + 4 * header.dimensions * header.rows
        self.data = view[header.rows_at : end]
        behind = view[end:]
        if xxh3_64_hexdigest(behind) != header.tables_checksum:
            raise ChecksumMismatch(f"{label}: the checksum of its tables does not hold", path=label)
        pad = padding(header.dimensions, header.rows)
        self.tables = self._tables(behind[pad:])
        if any(behind[:pad]):
            raise UnsupportedVersion(f"{label}: its padding is not zero", path=label)
        self._check_tables()
        self.block_rows = block_rows(header.dimensions)
        self._unproved = set(range(len(self.tables.checks)))

    def _tables(self, data: memoryview) -> Tables:
        found = []
        at = 0
        header = self.header
        for kind, count in zip(TYPES, table_lengths(header.dimensions, header.rows, header.objects), strict=True):
            size = count * array(kind).itemsize
            found.append(_numbers(data[at : at + size], kind))
            at += size
        return Tables(*found)

    @property
    def is_proved(self) -> bool:
        """Whether all rows were compared with their checksums."""
        return not self._unproved

    def prove(self, start: int = 0, end: int | None = None) -> None:
        """Compare the blocks that hold the rows ``start`` to ``end`` with their checksums, each once.

        Raises:
            ChecksumMismatch: a row is not what was written.

        """
        size = self.block_rows * 4 * self.header.dimensions
        last = -(-(self.rows if end is None else end) // self.block_rows)
        for number in self._unproved.intersection(range(start // self.block_rows, last)):
            if xxh3_64_intdigest(self.data[number * size : (number + 1) * size]) != self.tables.checks[number]:
                message = f"{self.label}: the checksum of block {number} of its rows does not hold"
                raise ChecksumMismatch(message, path=self.label, block=number)
            self._unproved.discard(number)

    def _check_tables(self) -> None:
        """Objects and rows have to ascend, for what is looked up among them by halving."""
        firsts, objects = list(self.tables.firsts), list(self.tables.objects)
        good = firsts[0] == 0 and firsts[-1] == self.header.rows
        good = good and all(one < other for one, other in pairwise(firsts))
        good = good and all(one < other for one, other in pairwise(objects))
        if not good:
            raise IndexMismatch(f"{self.label}: its objects and rows are not in order", path=self.label)

    @cached_property
    def sums(self) -> list[int]:
        """The sum of all rows, a number a dimension, in units of 2 ** -149."""
        return unpack_sums(self.tables.sums)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.header.rows

    @property
    def stored_bytes(self) -> int:
        """Bytes of the file."""
        return self.header.stored_bytes

    def rows_of(self, at: int, base: int) -> Rows:
        """The rows of the object at place ``at`` of its table; ``base`` is the number of the part's first row."""
        tables = self.tables
        first, end = tables.firsts[at], tables.firsts[at + 1]
        digest = bytes(tables.digests[_DIGEST * at : _DIGEST * (at + 1)])
        return Rows(tables.objects[at], digest, base + first, tables.starts[first:end], tables.ends[first:end])

    def objects(self, base: int = 0) -> Iterator[Rows]:
        """The rows of every object."""
        return (self.rows_of(at, base) for at in range(self.header.objects))


def read_header(descriptor: int, length: int, label: str) -> Header:
    """The header of an open file of ``length`` bytes."""
    line = read_at(descriptor, 0, min(length, HEADER_LIMIT), label)
    if not line.startswith(_START[: len(line)]):
        raise BadMagic(f"{label}: begins with {line[:16]!r}, which no file of vectors does", path=label)
    version = _VERSION.match(line)
    line = line[: line.find(b"\n") + 1]
    if not line or not version:
        raise Truncated(f"{label}: no line of JSON at its beginning", path=label, found=length, expected=None)
    if int(version[1]) != VERSION:
        message = f"{label}: version {int(version[1])}, and this release reads version {VERSION}"
        raise UnsupportedVersion(message, path=label, found=int(version[1]), supported=VERSION)
    ending = _ENDING.search(line)
    blank = line[: ending.start(1)] + _NO_CHECKSUM.encode() + line[ending.end(1) :] if ending else b""
    if not ending or xxh3_64_hexdigest(blank) != ending[1].decode():
        raise ChecksumMismatch(f"{label}: the checksum of its header does not hold", path=label)
    header = _fields(line, label)
    _check_limits(header, label)
    if length != header.stored_bytes:
        message = f"{label}: {length} bytes, and its header says {header.stored_bytes}"
        raise Truncated(message, path=label, found=length, expected=header.stored_bytes)
    shape = header.dimensions, header.rows
    due = len(line) + 4 * header.dimensions * header.rows + padding(*shape) + tables_bytes(*shape, header.objects)
    if header.rows_at != len(line) or due != length:
        message = f"{label}: {length} bytes do not hold {header.rows} rows of {header.dimensions} numbers"
        raise IndexMismatch(message, path=label)
    if header.pack() != line:
        raise IndexMismatch(f"{label}: its header has more in it than its fields", path=label)
    return header


def _fields(line: bytes, label: str) -> Header:
    try:
        fields = json.loads(line)
        fields = {name: fields[name] for name in fields if name not in {"format", "version", "checksum"}}
        header = Header(**fields)
    except (ValueError, TypeError, RecursionError) as error:
        raise IndexMismatch(f"{label}: its header cannot be read ({error})", path=label) from error
    kinds = (str, str, int, str, str, str, int, int, int, int, str)
    if any(type(value) is not kind for value, kind in zip(header, kinds, strict=True)):
        raise IndexMismatch(f"{label}: its header has values of wrong kinds", path=label)
    return header


def _check_limits(header: Header, label: str) -> None:
    limits = (("dimensions", 1, DIMENSIONS_LIMIT), ("rows", 1, ROWS_LIMIT), ("objects", 1, OBJECT_LIMIT))
    for name, least, most in limits:
        value = getattr(header, name)
        if not least <= value <= most:
            message = f"{label}: {name} is {value}, and {least} to {most} are possible"
            raise LimitExceeded(message, path=label, field=name, found=value, limit=most)


def _numbers(data: memoryview, kind: Any) -> Any:  # noqa: ANN401 - a view or an array, both of numbers
    if sys.byteorder == "big" and kind != "B":  # pragma: no cover - files are little-endian
        numbers = array(kind, bytes(data))
        numbers.byteswap()
        return numbers
    return data.cast(kind)
