"""What was searched stays open for the next question, for as long as no file of its archive changes.

A file counts as changed by its length, its times and its place on the disk; HEAD by its bytes. What was proved of a
file when it was opened is taken as proved while it is kept; the turns of an answer are hashed each time.
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from ctxarc.operations.progress import quiet
from ctxarc.operations.searched import searching

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from ctxarc.operations.progress import Progress
    from ctxarc.operations.searched import Searched, Target

_SEGMENTS = 1_000_000
"""Segments that are kept open in all, and of the last target whatever it has: some 300 bytes of memory each."""
_TARGETS = 8
_LOOK_SECONDS = 0.1
"""Seconds between two looks at whether the caller still waits."""


class _Change(NamedTuple):
    """What differs once a file of an archive has changed."""

    head: bytes
    files: frozenset[tuple[str, int, int, int, int]]


class _One:
    """A target that is, or was, open; whoever uses it holds its lock."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._opened: AbstractContextManager[Searched] | None = None
        self._searched: Searched | None = None
        self._state: _Change | None = None

    @property
    def segments(self) -> int:
        """Segments that are open."""
        return self._searched.scope.segments_in_index if self._searched else 0

    def open(self, archive: Path, target: Target, progress: Progress) -> Searched:
        """The target, as its archive is now."""
        state = _state(archive)
        if self._searched is None or state is None or state != self._state:
            self.close()
            opened = searching(archive, target, progress)
            self._searched = opened.__enter__()
            self._opened, self._state = opened, state
        return self._searched

    def close(self) -> None:
        """Open it anew next time."""
        opened, self._opened, self._searched = self._opened, None, None
        if opened:
            opened.__exit__(None, None, None)


class Kept:
    """What is kept open; used from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all: dict[tuple[Path, Target], _One] = {}

    @contextmanager
    def searching(self, archive: Path, target: Target, progress: Progress = quiet) -> Iterator[Searched]:
        """As :func:`ctxarc.operations.searched.searching` does, and keeps it open behind.

        One caller at a time has a target; ``progress`` is told that a second one waits.
        """
        with self._lock:
            one = self._all.pop((archive, target), None) or _One()
            self._all[archive, target] = one  # the last one used stands last
        while not one.lock.acquire(timeout=_LOOK_SECONDS):
            progress("waiting for a question before", 0, None)
        try:
            searched = one.open(archive, target, progress)
            searched.progress = progress
            yield searched
            searched.progress = quiet
        except BaseException:
            one.close()
            raise
        finally:
            one.lock.release()
        self._let_go()

    def _let_go(self) -> None:
        """Close what was used longest ago, where too much is open."""
        with self._lock:
            segments = sum(one.segments for one in self._all.values())
            for key, one in list(self._all.items())[:-1]:
                if segments <= _SEGMENTS and len(self._all) <= _TARGETS:
                    break
                if one.lock.acquire(blocking=False):
                    segments -= one.segments
                    one.close()
                    del self._all[key]
                    one.lock.release()


def _state(archive: Path) -> _Change | None:
    """What of an archive changes with it; ``None`` where it cannot be looked at."""
    with suppress(OSError):
        return _Change((archive / "HEAD").read_bytes(), frozenset(_files(archive)))
    return None


def _files(folder: Path) -> Iterator[tuple[str, int, int, int, int]]:
    waiting = [str(folder)]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    found = entry.stat(follow_symlinks=False)
                    yield entry.path, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino
