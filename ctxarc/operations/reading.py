"""Reading a source: up to the length it had when it was opened, and again where it changed meanwhile."""

from __future__ import annotations

import os
from hashlib import sha256
from typing import TYPE_CHECKING, Self

from ctxarc.errors import NoSuchSource, Refusal, from_os_error

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ctxarc.operations.sources import Source

_PIECE = 1 << 20


class SourceFault(Exception):
    """A fault of one source, which says nothing of the others; ``refusal`` is what it is."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


class SourceReader:
    """A source, open for reading; use it in a ``with`` statement.

    Attributes:
        size: its length when it was opened; what is appended later is not read.
        mtime_ns: its time, 0 for a stream.

    Raises:
        SourceFault: it cannot be read, or was refused before.

    """

    def __init__(self, source: Source) -> None:
        if source.refusal:
            raise SourceFault(source.refusal)
        self._source = source
        try:
            if source.spool is not None:
                self._file = open(source.spool.fileno(), "rb", buffering=0, closefd=False)  # noqa: SIM115
            elif source.path is not None:
                self._file = open(source.path, "rb", buffering=0)  # noqa: SIM115, PTH123
            self._opened = os.fstat(self._file.fileno())
        except FileNotFoundError as error:
            raise SourceFault(NoSuchSource(f"{source.label}: no such file", source=source.label)) from error
        except OSError as error:
            raise SourceFault(from_os_error(error, source.path)) from error
        self.size = self._opened.st_size
        self.mtime_ns = 0 if source.spool else self._opened.st_mtime_ns

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def pieces(self, start: int, end: int) -> Iterator[bytes]:
        """Bytes ``start`` to ``end``, in order; fewer where the file was cut meanwhile."""
        try:
            self._file.seek(start)
            while start < end:
                piece = self._file.read(min(_PIECE, end - start))
                if not piece:
                    return
                start += len(piece)
                yield piece
        except OSError as error:
            raise SourceFault(from_os_error(error, self._source.path)) from error

    def read(self, start: int, end: int) -> bytes:
        """Bytes ``start`` to ``end`` in one piece."""
        return b"".join(self.pieces(start, end))

    def border_from(self, position: int) -> int:
        """The first turn's border at ``position`` or behind it; ``size`` where no line feed stands before the end."""
        if position <= 0:
            return 0
        at = position - 1
        for piece in self.pieces(at, self.size):
            found = piece.find(b"\n")
            if found >= 0:
                return at + found + 1
            at += len(piece)
        return self.size

    def is_still(self, digest: bytes) -> bool:
        """Whether the bytes that were read, whose SHA-256 is ``digest``, are still those of the file.

        A file whose time, length and identity are as before is; any other is read again up to ``size``.
        """
        try:
            now = os.fstat(self._file.fileno())
        except OSError as error:
            raise SourceFault(from_os_error(error, self._source.path)) from error
        if (now.st_size, now.st_mtime_ns) == (self._opened.st_size, self._opened.st_mtime_ns):
            return True
        return self.digest() == digest

    def digest(self) -> bytes:
        """SHA-256 of the first ``size`` bytes, read now."""
        digest = sha256()
        for piece in self.pieces(0, self.size):
            digest.update(piece)
        return digest.digest()
