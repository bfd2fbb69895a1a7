"""The temporary directory in which a new archive is built, beside the place that it will have."""

from __future__ import annotations

import errno
import os
import re
import shutil
import time
from typing import TYPE_CHECKING

from ctxarc.errors import NoSuchArchive
from ctxarc.preservation.files import flush_directory
from ctxarc.preservation.lock import Lock, is_held

if TYPE_CHECKING:
    from pathlib import Path

RECORD_LOCK = "record.lock"
AUXILIARY_LOCK = "auxiliary.lock"
_PREFIX = ".ctxarc-new-"
_MADE = {"CTXA", "HEAD", "HEAD.tmp", "objects", "log", "pack", RECORD_LOCK}
_DEAD_AFTER = 60.0
"""Seconds after which a temporary directory that nobody holds is a dead writer's."""


class LostRace(Exception):
    """Another writer made the archive while this one built it; begin again with what is there now."""


class Scratch:
    """A directory with its lock held, which becomes the archive ``path`` by one rename.

    Raises:
        NoSuchArchive: the directory that the archive should lie in is not there.

    """

    def __init__(self, path: Path) -> None:
        parent = parent_of(path)
        _remove_dead(parent)
        self.path = parent / f"{_PREFIX}{os.getpid()}-{os.urandom(4).hex()}"
        self.path.mkdir()
        try:
            (self.path / "pack").mkdir()
            self.lock = Lock(self.path / RECORD_LOCK, 0.0)
        except BaseException:
            shutil.rmtree(self.path, ignore_errors=True)
            raise

    def become(self, path: Path) -> Lock:
        """Move the directory to ``path``; the lock goes with it.

        Raises:
            LostRace: an archive is there now.

        """
        flush_directory(self.path)
        try:
            self.path.rename(path)
        except OSError as error:
            if error.errno in {errno.EEXIST, errno.ENOTEMPTY, errno.EACCES, errno.ENOTDIR} and os.path.lexists(path):
                raise LostRace from error
            raise
        flush_directory(path.absolute().parent)
        self.lock.moved(path / RECORD_LOCK)
        return self.lock

    def remove(self) -> None:
        """Remove the directory and what was built in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        self.lock.release()


def parent_of(path: Path) -> Path:
    """The directory that a new archive at ``path`` lies in.

    Raises:
        NoSuchArchive: it is not there.

    """
    parent = path.absolute().parent
    if not parent.is_dir():
        message = f"{parent}: no such directory to make an archive in"
        raise NoSuchArchive(message, hint=f"make it first: mkdir -p {parent}", archive=str(path))
    return parent


def _remove_dead(parent: Path) -> None:
    """Remove what dead writers left in ``parent``."""
    for path in parent.glob(_PREFIX + "*"):
        try:
            old = time.time() - path.stat(follow_symlinks=False).st_mtime > _DEAD_AFTER
        except OSError:
            continue
        ours = re.fullmatch(re.escape(_PREFIX) + "[0-9]+-[0-9a-f]{8}", path.name) and not path.is_symlink()
        if old and ours and _is_ours(path) and not is_held(path / RECORD_LOCK):
            shutil.rmtree(path, ignore_errors=True)


def _is_ours(path: Path) -> bool:
    """Whether nothing is in a directory but what a writer makes there."""
    try:
        return path.is_dir() and {each.name for each in path.iterdir()} <= _MADE
    except OSError:
        return False
