"""Filling packs: turns are gathered until they fill one, then compressed and written beside the main thread."""

from __future__ import annotations

import os
from threading import Thread
from typing import TYPE_CHECKING

from ctxarc.preservation import frames
from ctxarc.preservation.files import replace_file
from ctxarc.preservation.layout import FRAME_LIMIT, PackRow

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

_WORKERS = min(2, os.cpu_count() or 1)
"""Packs that are compressed at a time: reading and hashing keep no more busy, and each takes some 70 MB."""
_HUNGRY_LEVEL = 16
"""From this zstd level on a compressor takes some 150 MB for a full pack, so one runs at a time."""


class _Task(Thread):
    """Compresses one pack and writes its file, where ``directory`` says when that is done."""

    def __init__(self, turns: list[bytes], level: int, directory: Callable[[], Path], first: int) -> None:
        super().__init__(daemon=True)
        self._turns, self._level, self._directory, self._first = turns, level, directory, first
        self._row: PackRow | None = None
        self._error: BaseException | None = None

    def run(self) -> None:
        try:
            row, stored = frames.encode(self._take(), self._level)
            self._write(row.name(self._first), stored)
            self._row = row
        except BaseException as error:  # noqa: BLE001 - handed over to the thread that waits for the result
            self._error = error

    def _write(self, name: str, stored: bytes) -> None:
        try:
            replace_file(self._directory() / name, stored)
        except OSError:
            self._directory()  # says so where the archive was moved meanwhile
            raise

    def _take(self) -> list[bytes]:
        """The turns, which are then referred to by nobody else and can be given back once they are joined."""
        turns, self._turns = self._turns, []
        return turns

    def result(self) -> PackRow:
        """The pack's row, once its file is flushed."""
        self.join()
        if self._error is not None:
            raise self._error
        if self._row is None:
            raise RuntimeError("the pack was not written")
        return self._row


class Packer:
    """Gathers turns into packs.

    Args:
        level: zstd level.
        directory: gives the directory for packs, made if need be; called before each is compressed and written.
        merge: called before the first pack is written, with its bytes; gives the turns that are to stand before it.

    """

    def __init__(self, level: int, directory: Callable[[], Path], merge: Callable[[int], list[bytes]]) -> None:
        self._level = level
        self._directory = directory
        self._merge = merge
        self._target = FRAME_LIMIT
        self._tasks: list[_Task] = []
        self._pending: list[bytes] = []
        self.pending_bytes = 0

    @property
    def started(self) -> bool:
        """Whether a pack was sealed."""
        return bool(self._tasks)

    def expect(self, more: int) -> None:
        """Spread ``more`` bytes of turns, and those that are pending, evenly over as few packs as can hold them."""
        total = self.pending_bytes + more
        self._target = max(1, -(-total // max(1, -(-total // FRAME_LIMIT))))

    def add(self, turn: bytes, number: int) -> None:
        """Add the turn that is object ``number``."""
        full = self.pending_bytes >= self._target or self.pending_bytes + len(turn) > FRAME_LIMIT
        if self._pending and full:
            self._seal(number)
        self._pending.append(turn)
        self.pending_bytes += len(turn)

    def drop(self, count: int) -> None:
        """Take back the last ``count`` turns, all of which are pending."""
        if count:
            self.pending_bytes -= sum(map(len, self._pending[-count:]))
            del self._pending[-count:]

    def seal(self, objects: int) -> None:
        """Begin to compress what is pending, where the archive then has ``objects`` objects."""
        if self._pending:
            self._seal(objects)

    def finish(self, objects: int) -> Sequence[PackRow]:
        """Seal what is pending; the rows of all packs, flushed."""
        self.seal(objects)
        return [task.result() for task in self._tasks]

    def settle(self) -> None:
        """Wait for what is running, whatever comes of it."""
        for task in self._tasks:
            task.join()

    def _seal(self, end: int) -> None:
        """Make a pack of the pending turns, the last of which is object ``end - 1``."""
        turns = self._pending if self._tasks else self._merge(self.pending_bytes) + self._pending
        running = [task for task in self._tasks if task.is_alive()]
        if len(running) >= (1 if self._level >= _HUNGRY_LEVEL else _WORKERS):
            running[0].join()
        self._directory()  # made here, and by no two threads at a time
        task = _Task(turns, self._level, self._directory, end - len(turns))
        task.start()
        self._tasks.append(task)
        self._pending, self.pending_bytes = [], 0
