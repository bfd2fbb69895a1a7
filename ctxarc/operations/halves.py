"""Cutting what indexes miss: alone, or where it is much, with a second process that does the second half.

The other process is started anew, not forked, since a fork would hold the locks. What it gives is compared with the
record; where it fails, its half is done here.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from bisect import bisect_left
from contextlib import suppress
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from ctxarc.auxiliary.segments.part import part_name
from ctxarc.auxiliary.words.part import SUFFIX
from ctxarc.operations.cut_worker import Half, Order, digests_between
from ctxarc.operations.cutting import Job, Made, Task, run_pass
from ctxarc.operations.spool import Spool
from ctxarc.preservation.objects import lengths_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ctxarc.auxiliary.segments.part import Cuts
    from ctxarc.operations.progress import Progress
    from ctxarc.preservation.record import Record

_MUCH = 4 << 20
"""Bytes of turns that are worth a second process, which takes a tenth of a second to start."""
_AHEAD = 1 << 20
"""Bytes that are cut while it starts."""
_ROWS = 8192
"""Rows of the table of objects that are read at a time."""
_BROKEN = (pickle.UnpicklingError, EOFError, AttributeError, ImportError, IndexError, KeyError, TypeError, ValueError)
"""What an answer that is cut short, or none, may raise."""
_START = "import sys; sys.path[:] = {path!r}; from ctxarc.operations.cut_worker import main; main()"


class _Given(NamedTuple):
    """What the other process made for a scheme: its cuts, and new parts of its word index."""

    cuts: Cuts
    words: Spool


def cut_all(record: Record, jobs: Sequence[Job], progress: Progress) -> dict[str, Made]:
    """Cut what each index misses behind what it holds, and look up the words that its word index misses."""
    tasks = [Task.of(record, job) for job in jobs]
    objects = record.head.objects
    first = min((task.first for task in tasks), default=objects)
    middle = _middle(record, tasks, first)
    if middle == objects:
        run_pass(record, tasks, (first, objects), progress)
    else:
        with _Other(record, tasks, middle) as other:
            run_pass(record, tasks, (first, middle), lambda what, done, total: progress(what, 2 * done, total))
            for task in tasks:
                task.words.finish()
            given = other.given()
        if given is None:
            run_pass(record, tasks, (middle, objects), progress)
        else:
            for task in tasks:
                _join(task, given[task.job.scheme])
    return {task.job.scheme: task.made() for task in tasks}


def _join(task: Task, given: _Given) -> None:
    if given.cuts.objects:
        task.cuts.extend(given.cuts)
    for name, part in given.words.items():
        task.words.parts.put(name, part)


def _middle(record: Record, tasks: Sequence[Task], first: int) -> int:
    """The object at which another process begins, which has less to do; no object where all is little."""
    objects = record.head.objects
    rows = (record.objects.rows(at, min(_ROWS, objects - at)) for at in range(first, objects, _ROWS))
    sizes = list(accumulate(length for each in rows for length in lengths_of(each)))
    if not sizes or sizes[-1] < _MUCH or _processors() < 2:  # noqa: PLR2004 - one for each half
        return objects
    middle = first + 1 + bisect_left(sizes, sizes[-1] / 2 + min(_AHEAD, sizes[-1] // 8))
    wanted = [begin for task in tasks for begin in (task.cuts.first, task.begin) if begin < objects]
    return middle if max(wanted) <= middle else objects


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Other:
    """The other process, at work from its making on; use it in a ``with`` statement."""

    def __init__(self, record: Record, tasks: Sequence[Task], middle: int) -> None:
        self._record, self._middle = record, middle
        self._end = record.head.objects
        schemes = tuple((task.job.scheme, task.cuts.first < self._end, task.begin < self._end) for task in tasks)
        self._wanted = {name: (cuts, words) for name, cuts, words in schemes}
        path = [str(Path(__file__).parents[2]), *sys.path]
        self._process: subprocess.Popen[bytes] | None = None
        with suppress(OSError):
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                [sys.executable, "-I", "-S", "-c", _START.format(path=path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            order = Order(str(record.path.absolute()), middle, self._end, record.head.root, schemes)
            if self._process.stdin:
                self._process.stdin.write(pickle.dumps(order))
                self._process.stdin.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()
            if self._process.stdout:
                self._process.stdout.close()

    def given(self) -> dict[str, _Given] | None:
        """What it made for each scheme; ``None`` where it failed."""
        if not self._process or not self._process.stdout:
            return None
        try:
            half: Any = pickle.load(self._process.stdout)  # noqa: S301 - from our own process
            if not self._is_right(half):
                return None
            given = {name: _Given(half.cuts[name], self._parts(half.words[name])) for name in self._wanted}
        except _BROKEN:
            return None
        return None if self._process.wait() else given

    def _is_right(self, half: Half) -> bool:
        """Whether a half is of the objects that it should be of."""
        digests = digests_between(self._record, self._middle, self._end)
        return half.digests == digests and all(
            (not half.cuts[name].objects if not cuts else _are_of(half.cuts[name], self._middle, digests))
            and (not half.words[name] if not words else self._are_parts(half.words[name]))
            for name, (cuts, words) in self._wanted.items()
        )

    def _are_parts(self, names: Iterable[str]) -> bool:
        """Whether these are the names of parts that hold all objects of this half, one behind another."""
        at = self._middle
        for name in names:
            objects = int(name[-16:-4]) + 1 - at
            if objects < 1 or name != part_name(at, objects, SUFFIX):
                return False
            at += objects
        return at == self._end

    def _parts(self, lengths: dict[str, int]) -> Spool:
        parts = Spool()
        stream = self._process.stdout if self._process else None
        for name, length in lengths.items():
            data = stream.read(length) if stream else b""
            if len(data) != length:
                raise EOFError(name)
            parts.put(name, data)
        return parts


def _are_of(cuts: Cuts, first: int, digests: bytes) -> bool:
    return cuts.first == first and bytes(cuts.digests) == digests and cuts.starts[-1] == len(cuts.ends)
