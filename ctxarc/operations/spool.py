"""New files that wait to be written: in memory while they are few, in a temporary file that has no name when not."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO
from weakref import finalize

from ctxarc.errors import from_os_error

_IN_MEMORY = 32 << 20
"""Bytes that are held in memory at most."""


class Spool(Mapping[str, bytes]):
    """Contents of files by their names, in the order in which they were put in; each is read when it is asked for.

    Raises:
        NoSpace, IoFailed: a temporary file is needed, and the system has no room for it.

    """

    def __init__(self, in_memory: int = _IN_MEMORY) -> None:
        self._file: IO[bytes] = tempfile.SpooledTemporaryFile(in_memory)  # noqa: SIM115 - closed with the end of this object
        finalize(self, _close, self._file)
        self._places: dict[str, tuple[int, int]] = {}
        self._end = 0

    def put(self, name: str, data: bytes) -> None:
        """Take in a file."""
        try:
            self._file.seek(self._end)
            self._file.write(data)
            self._file.flush()
        except OSError as error:
            raise from_os_error(error, None if error.filename else Path(tempfile.tempdir or "")) from error
        self._places[name] = self._end, len(data)
        self._end += len(data)

    def __getitem__(self, name: str) -> bytes:
        start, length = self._places[name]
        self._file.seek(start)
        return self._file.read(length)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def lengths(self) -> dict[str, int]:
        """The bytes of each file."""
        return {name: length for name, (_, length) in self._places.items()}


def _close(file: IO[bytes]) -> None:
    with suppress(OSError):  # of what could not be written, which was said when it was put in
        file.close()
