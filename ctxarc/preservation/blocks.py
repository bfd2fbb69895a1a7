"""Append-only files of checked blocks: how ``objects`` and ``log`` lie on disk.

After a header of 16 bytes the content lies in blocks of 4,032 bytes, each followed by the XXH3 of the block. The last
block may be shorter; it has no checksum behind it, since it will grow: its checksum stands in HEAD. So a file is only
ever appended to, every byte of it is under a checksum, and any stretch is read by reading its own blocks alone.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from xxhash import xxh3_64_intdigest

from ctxarc.errors import ChecksumMismatch, IndexMismatch, Truncated
from ctxarc.preservation.files import open_file, read_at
from ctxarc.preservation.layout import FILE_HEADER, FileHeader

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BLOCK = 4032
"""Bytes of content in a full block: 112 rows of ``objects``."""
FAULTS_LIMIT = 1000
"""Damaged blocks of one file that are told at most."""
_STRIDE = BLOCK + 8
_HEADER = FILE_HEADER.size


def stored_length(length: int) -> int:
    """Bytes of a file whose content has ``length`` bytes."""
    return _HEADER + length + length // BLOCK * 8


def appended(tail: bytes, data: bytes) -> tuple[bytes, int]:
    """What to append to a file whose last, short block is ``tail`` so that ``data`` follows.

    Returns:
        the bytes to append, and the checksum of the short block that is then the last.

    """
    content = tail + data
    full = len(content) // BLOCK * BLOCK
    parts = []
    for start in range(0, full, BLOCK):
        block = content[start : start + BLOCK]
        parts += [block, xxh3_64_intdigest(block).to_bytes(8, "little")]
    rest = content[full:]
    return b"".join([*parts, rest])[len(tail) :], xxh3_64_intdigest(rest)


class BlockFile:
    """A file of blocks, open for reading up to a committed length.

    Args:
        path: the file.
        header: its header, which is checked here.
        length: bytes of content that are committed.
        tail: checksum of the last, short block.

    Raises:
        Truncated: the file is shorter than that.

    """

    def __init__(self, path: Path, header: FileHeader, length: int, tail: int) -> None:
        self.label = path.name
        self.length = length
        self._tail = tail
        self._descriptor = open_file(path, self.label)
        try:
            self._check(header)
        except BaseException:
            self.close()
            raise

    def _check(self, header: FileHeader) -> None:
        size = self.stored_bytes()
        header.check(read_at(self._descriptor, 0, min(_HEADER, size), self.label), self.label)
        if size < stored_length(self.length):
            message = f"{self.label}: {size} bytes, and HEAD commits {stored_length(self.length)}"
            raise Truncated(message, path=self.label, found=size, expected=stored_length(self.length))

    def close(self) -> None:
        """Close the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def grow(self, length: int, tail: int) -> None:
        """See what a later HEAD commits."""
        self.length, self._tail = length, tail

    def stored_bytes(self) -> int:
        """The length of the file as it lies there."""
        return os.fstat(self._descriptor).st_size

    def read(self, start: int, end: int) -> bytes:
        """Bytes ``start`` to ``end`` of the content; every block they touch is checked.

        Raises:
            IndexMismatch: less is committed.
            Truncated: the file is shorter than its committed length.
            ChecksumMismatch: a block is not what was written.

        """
        if start >= end:
            return b""
        if not 0 <= start < end <= self.length:
            message = f"{self.label}: content bytes {start} to {end} are named, and there are {self.length}"
            raise IndexMismatch(message, path=self.label, start=start, end=end)
        first, last = start // BLOCK, (end - 1) // BLOCK
        at = _HEADER + first * _STRIDE
        size = min((last + 1) * _STRIDE + _HEADER, stored_length(self.length)) - at
        stored = read_at(self._descriptor, at, size, self.label)
        parts = [self._checked(stored, number, (number - first) * _STRIDE) for number in range(first, last + 1)]
        parts[-1] = parts[-1][: end - last * BLOCK]
        parts[0] = parts[0][start - first * BLOCK :]
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def tail(self) -> bytes:
        """The last, short block."""
        return self.read(self.length // BLOCK * BLOCK, self.length)

    def faults(self) -> list[ChecksumMismatch]:
        """The blocks whose checksum does not hold, up to FAULTS_LIMIT of them."""
        found: list[ChecksumMismatch] = []
        for start in range(0, max(self.length, 1), BLOCK * 1024):
            end = min(start + BLOCK * 1024, self.length)
            try:
                self.read(start, end)
            except ChecksumMismatch:
                found += self._faults(start, end)
            if len(found) >= FAULTS_LIMIT:
                break
        return found[:FAULTS_LIMIT]

    def _faults(self, start: int, end: int) -> Iterator[ChecksumMismatch]:
        for block in range(start, end, BLOCK):
            try:
                self.read(block, min(block + BLOCK, end))
            except ChecksumMismatch as fault:
                yield fault

    def _checked(self, stored: bytes, number: int, at: int) -> bytes:
        block = stored[at : at + min(BLOCK, self.length - number * BLOCK)]
        checksum = int.from_bytes(stored[at + BLOCK : at + _STRIDE], "little") if len(block) == BLOCK else self._tail
        if xxh3_64_intdigest(block) != checksum:
            message = f"{self.label}: block {number} (content bytes {number * BLOCK} to {number * BLOCK + len(block)})"
            raise ChecksumMismatch(message + " is not what was written", path=self.label, block=number)
        return block
