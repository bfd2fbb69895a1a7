"""The lock of a plane: held by an open file, so that it dies with its process and is never stale."""

from __future__ import annotations

import errno
import os
import stat
import time
from itertools import count
from typing import TYPE_CHECKING, Self

from ctxarc.errors import ArchiveLocked, BadMagic, LocksUnsupported, Refusal, from_os_error

if os.name == "posix":
    import fcntl
else:  # pragma: no cover - Windows
    import msvcrt

if TYPE_CHECKING:
    from pathlib import Path

_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
_BUSY = {errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK}
_NONE = {errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL}
_POLL = 0.01, 0.1
_TRIES = 3
"""Times that a lock is tried without waiting: who only looks whether it is held takes it for an instant."""


def _try_lock(descriptor: int, *, shared: bool) -> None:
    if os.name == "posix":
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    else:  # pragma: no cover - Windows
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]


def _check_plain(descriptor: int, path: Path) -> None:
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise BadMagic(f"{path.name}: not a plain file", path=path.name)


def _acquire(descriptor: int, path: Path, *, shared: bool = False) -> bool:
    """Whether the lock could be had at once."""
    try:
        _try_lock(descriptor, shared=shared)
    except OSError as error:
        if error.errno in _BUSY:
            return False
        if error.errno in _NONE:
            message = f"{path}: this file system has no locks ({error.strerror})"
            raise LocksUnsupported(message, path=str(path), errno=error.errno) from error
        raise from_os_error(error, path) from error
    return True


class Lock:
    """An exclusive lock on the file ``path``, which is made where it is absent.

    Args:
        path: the lock's file, inside the archive.
        wait: seconds to wait for another holder.

    Raises:
        ArchiveLocked: another writer held it all that time.
        LocksUnsupported: the file system has no locks.

    """

    def __init__(self, path: Path, wait: float) -> None:
        self.path = path
        end = time.monotonic() + wait
        pause = _POLL[0]
        for tried in count(1):
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | _FLAGS, 0o666)
            try:
                _check_plain(self._descriptor, path)
                if _acquire(self._descriptor, path) and self.is_current():
                    return
            except BaseException:
                self.release()
                raise
            self.release()
            if time.monotonic() >= end and tried >= _TRIES:
                message = f"{path.parent}: another writer holds the lock after {wait:g} s of waiting"
                raise ArchiveLocked(message, archive=str(path.parent), waited_seconds=wait)
            time.sleep(pause)
            pause = min(pause * 1.5, _POLL[1])

    def is_current(self) -> bool:
        """Whether the file that is locked is still the one of that name."""
        try:
            there = self.path.lstat()
        except OSError:
            return False
        return os.path.samestat(there, os.fstat(self._descriptor))

    def moved(self, path: Path) -> None:
        """Tell the lock that its file was moved to ``path`` with the archive around it."""
        self.path = path

    def release(self) -> None:
        """Give the lock up."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def is_held(path: Path) -> bool:
    """Whether a writer holds the lock ``path`` now. Nothing is written; no file means no writer."""
    try:
        descriptor = os.open(path, os.O_RDONLY | _FLAGS)
    except OSError:
        return False
    try:
        _check_plain(descriptor, path)
        return not _acquire(descriptor, path, shared=True)
    except Refusal:
        return False
    finally:
        os.close(descriptor)
