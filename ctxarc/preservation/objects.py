"""The table of objects: one row a distinct turn, in the order in which they lie in the packs."""

from __future__ import annotations

import sys
from array import array
from typing import TYPE_CHECKING

from ctxarc.errors import IndexMismatch
from ctxarc.preservation.blocks import BLOCK, BlockFile
from ctxarc.preservation.layout import OBJECT_ROW, OBJECTS_HEADER, ObjectRow

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_ROW = OBJECT_ROW.size
_CHUNK = BLOCK * 1024
"""Bytes of the table that a search reads at a time; whole rows."""


class ObjectTable:
    """``objects``, open for reading up to a committed number of rows.

    Args:
        path: the file.
        count: committed rows.
        tail: checksum of its last, short block.

    """

    def __init__(self, path: Path, count: int, tail: int) -> None:
        self.count = count
        self.file = BlockFile(path, OBJECTS_HEADER, count * _ROW, tail)

    def grow(self, count: int, tail: int) -> None:
        """See the rows that a later HEAD commits."""
        self.count = count
        self.file.grow(count * _ROW, tail)

    def close(self) -> None:
        """Close the file."""
        self.file.close()

    def rows(self, first: int, count: int) -> bytes:
        """Rows ``first`` to ``first + count`` as they lie there, ``36 * count`` bytes.

        Raises:
            IndexMismatch: the table has fewer.

        """
        if not 0 <= first <= first + count <= self.count:
            message = f"objects: rows {first} to {first + count} are named, and there are {self.count}"
            raise IndexMismatch(message, path="objects", first=first, rows=count)
        return self.file.read(first * _ROW, (first + count) * _ROW)

    def row(self, number: int) -> ObjectRow:
        """The row of one object."""
        return ObjectRow(*OBJECT_ROW.unpack(self.rows(number, 1)))

    def search(self, prefix: str) -> Iterator[int]:
        """Numbers of the objects whose SHA-256, in hex, begins with ``prefix``, in order."""
        whole = bytes.fromhex(prefix[: len(prefix) // 2 * 2])
        for start in range(0, self.file.length, _CHUNK):
            chunk = self.file.read(start, min(start + _CHUNK, self.file.length))
            at = chunk.find(whole)
            while at >= 0:
                if at % _ROW == 0 and chunk[at : at + 32].hex().startswith(prefix):
                    yield (start + at) // _ROW
                at = chunk.find(whole, at + 1)


def lengths_of(rows: bytes) -> array[int]:
    """The lengths in ``rows``, picked out column by column so that no Python code runs per row."""
    column = bytearray(len(rows) // _ROW * 4)
    for place in range(4):
        column[place::4] = rows[32 + place :: _ROW]
    lengths = array("I", bytes(column))
    if sys.byteorder == "big":  # pragma: no cover - rows are little-endian
        lengths.byteswap()
    return lengths


def keys_of(rows: bytes) -> array[int]:
    """The first eight bytes of each digest in ``rows``, as numbers in this machine's byte order."""
    column = bytearray(len(rows) // _ROW * 8)
    for place in range(8):
        column[place::8] = rows[place::_ROW]
    return array("Q", bytes(column))


def digests_of(rows: bytes) -> list[bytes]:
    """The digests in ``rows``."""
    return [rows[at : at + 32] for at in range(0, len(rows), _ROW)]


class DigestMap:
    """Finds objects by digest among many: a map from the first eight bytes of each digest in a table.

    It takes about 120 bytes of memory an object, so that it is for writers with many new turns.
    """

    def __init__(self, table: ObjectTable) -> None:
        self._numbers: dict[int, int] = {}
        self._count = 0
        self.extend(table)

    def extend(self, table: ObjectTable) -> None:
        """Take in the rows that ``table``, the same one later, has more."""
        self._table = table
        begin, self._count = self._count, table.count
        for start in range(begin, table.count, _CHUNK // _ROW):
            rows = table.rows(start, min(_CHUNK // _ROW, table.count - start))
            keys = keys_of(rows)
            self._numbers.update(zip(keys, range(start, start + len(keys)), strict=True))

    def find(self, digest: bytes) -> int:
        """The number of the object with ``digest``, or -1."""
        number = self._numbers.get(int.from_bytes(digest[:8], sys.byteorder), -1)
        if number >= 0 and self._table.row(number).sha256 != digest:
            return next(self._table.search(digest.hex()), -1)
        return number
