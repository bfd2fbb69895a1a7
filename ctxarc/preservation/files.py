"""Reading and writing files of an archive: whole or not at all, never through a link, flushed before they count."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ctxarc.errors import BadMagic, NoMemory, Truncated, from_os_error

if TYPE_CHECKING:
    from collections.abc import Iterator

_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_BINARY = getattr(os, "O_BINARY", 0)
_CLOEXEC = getattr(os, "O_CLOEXEC", 0)


def open_file(path: Path, label: str) -> int:
    """A descriptor for reading the file ``path``, which must be a file and no link.

    Raises:
        Truncated: it is not there; ``label`` stands for it in the message.
        BadMagic: something else than a plain file has its name.

    """
    try:
        descriptor = os.open(path, os.O_RDONLY | _NOFOLLOW | _BINARY | _CLOEXEC | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError as error:
        raise Truncated(f"{label}: the file is gone", path=label, found=None) from error
    except OSError as error:
        if path.is_symlink():
            raise BadMagic(f"{label}: a link where a file is due; links are not followed", path=label) from error
        raise from_os_error(error, path) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise BadMagic(f"{label}: not a plain file", path=label)
    return descriptor


def read_file(path: Path, label: str, limit: int) -> bytes:
    """The whole file, where it has at most ``limit`` bytes; one byte more of a longer one."""
    descriptor = open_file(path, label)
    try:
        return read_at(descriptor, 0, min(os.fstat(descriptor).st_size, limit + 1), label)
    finally:
        os.close(descriptor)


def read_at(descriptor: int, start: int, length: int, label: str) -> bytes:
    """Exactly ``length`` bytes from ``start``, in as many reads as the system needs.

    Raises:
        Truncated: the file ends before.

    """
    parts = []
    missing = length
    try:
        while missing:
            part = _pread(descriptor, min(missing, 1 << 30), start + length - missing)
            if not part:
                message = f"{label}: ends at byte {start + length - missing}, where {start + length} are due"
                raise Truncated(message, path=label, found=start + length - missing, expected=start + length)
            parts.append(part)
            missing -= len(part)
    except OSError as error:
        raise from_os_error(error, label) from error
    return parts[0] if len(parts) == 1 else b"".join(parts)


if hasattr(os, "pread"):
    _pread = os.pread
else:  # pragma: no cover - Windows has no pread; a descriptor is used by one thread there

    def _pread(descriptor: int, length: int, start: int) -> bytes:
        os.lseek(descriptor, start, os.SEEK_SET)
        return os.read(descriptor, length)


def write_all(descriptor: int, data: bytes | bytearray | memoryview) -> None:
    """Write all of ``data``: one call may write less."""
    rest = memoryview(data).cast("B")
    while len(rest):
        rest = rest[os.write(descriptor, rest[: 1 << 30]) :]


def write_file(path: Path, data: bytes | bytearray | memoryview) -> None:
    """Make the file ``path`` with the content ``data``, flushed to the medium. A file of that name is replaced."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _NOFOLLOW | _BINARY | _CLOEXEC, 0o666)
    try:
        write_all(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def append_file(path: Path, length: int, data: bytes | bytearray | memoryview) -> None:
    """Cut the file ``path`` to ``length`` bytes, which drops what a dead writer left, and append ``data``; flushed."""
    descriptor = os.open(path, os.O_WRONLY | _NOFOLLOW | _BINARY | _CLOEXEC)
    try:
        os.ftruncate(descriptor, length)
        os.lseek(descriptor, length, os.SEEK_SET)
        write_all(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_file(path: Path, data: bytes | bytearray | memoryview) -> None:
    """Put ``data`` in the place of the file ``path`` by a rename, flushed before; the caller flushes the directory."""
    temporary = path.with_name(path.name + ".tmp")
    try:
        write_file(temporary, data)
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def flush_directory(path: Path) -> None:
    """Flush the names in a directory to the medium, where the system can do that."""
    if os.name != "posix":  # pragma: no cover - Windows flushes names with the file
        return
    descriptor = os.open(path, os.O_RDONLY | _CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def named_faults(path: Path | None = None) -> Iterator[None]:
    """Faults of the operating system inside leave as named refusals."""
    try:
        yield
    except OSError as error:
        raise from_os_error(error, None if error.filename else path) from error
    except MemoryError as error:
        raise NoMemory(f"{path}: not enough memory" if path else "not enough memory") from error
