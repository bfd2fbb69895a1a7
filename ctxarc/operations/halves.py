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
from typing import TYPE_CHECKING, Any, Self

from ctxarc.operations.cut_worker import Half, Order
from ctxarc.operations.cutting import Job, Made, Task, run_pass
from ctxarc.preservation.objects import digests_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctxarc.operations.progress import Progress
    from ctxarc.preservation.record import Record

_MUCH = 4 << 20
"""Bytes of turns that are worth a second process, which takes a tenth of a second to start."""
_ROWS = 8192
"""Rows of the table of objects that are read at a time."""
_START = "import sys; sys.path[:] = {path!r}; from ctxarc.operations.cut_worker import main; main()"


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
                task.finish()
            halves = other.halves()
        if halves is None:
            run_pass(record, tasks, (middle, objects), progress)
        else:
            for task in tasks:
                _join(task, halves[task.job.scheme])
    return {task.job.scheme: task.made() for task in tasks}


def _join(task: Task, half: Half) -> None:
    if half.cuts.objects:
        task.cuts.extend(half.cuts)
    task.words |= half.words


def _middle(record: Record, tasks: Sequence[Task], first: int) -> int:
    """The object at which another process begins: the middle of what every task wants; no object where it is little."""
    objects = record.head.objects
    sizes = list(accumulate(record.objects.row(number).length for number in range(first, objects)))
    if not sizes or sizes[-1] < _MUCH or _processors() < 2:  # noqa: PLR2004 - one for each half
        return objects
    middle = first + 1 + bisect_left(sizes, sizes[-1] / 2)
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
        self._wanted = {name: cuts for name, cuts, _ in schemes}
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

    def halves(self) -> dict[str, Half] | None:
        """What it made for each scheme; ``None`` where it failed."""
        if not self._process or not self._process.stdout:
            return None
        data = self._process.stdout.read()
        if self._process.wait() or not data:
            return None
        found: Any = pickle.loads(data)  # noqa: S301 - from our own process
        return found if all(self._is_right(name, found.get(name)) for name in self._wanted) else None

    def _is_right(self, name: str, half: Half | None) -> bool:
        """Whether a half is of the objects that it should be of."""
        if half is None:
            return False
        if not self._wanted[name]:
            return not half.cuts.objects
        digests = b"".join(
            b"".join(digests_of(self._record.objects.rows(at, min(_ROWS, self._end - at))))
            for at in range(self._middle, self._end, _ROWS)
        )
        return half.cuts.first == self._middle and bytes(half.cuts.digests) == digests
