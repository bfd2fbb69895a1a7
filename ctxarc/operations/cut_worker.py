"""The process that cuts the second half of many turns, so that two processors share the work.

It is started by ``halves``. On standard input comes a pickle: the archive, the objects, the root of the record, and for
each scheme whether its cuts, and its words, are wanted. The answer is a pickle of :class:`Half` for each. It opens the
record itself, holds no lock, and writes nothing.
"""

from __future__ import annotations

import pickle
import signal
import sys
from pathlib import Path
from typing import NamedTuple

from ctxarc.auxiliary.segments.part import Cuts
from ctxarc.operations.cutting import Job, Task, run_pass
from ctxarc.operations.progress import quiet
from ctxarc.preservation.record import Record


class Order(NamedTuple):
    """What is to be done.

    Attributes:
        archive: the archive.
        first, end: the objects.
        root: the root of the record.
        schemes: name, whether cuts are wanted, and whether words are.

    """

    archive: str
    first: int
    end: int
    root: bytes
    schemes: tuple[tuple[str, bool, bool], ...]


class Half(NamedTuple):
    """What was made for a scheme: its cuts, and new parts of its word index by the names of their files."""

    cuts: Cuts
    words: dict[str, bytes]


def done(order: Order) -> dict[str, Half]:
    """Do it."""
    tasks = [
        Task(
            Job(name, None, words), order.first if cuts else order.end, order.first if words else order.end, order.root
        )
        for name, cuts, words in order.schemes
    ]
    with Record(Path(order.archive)) as record:
        run_pass(record, tasks, (order.first, order.end), quiet)
    for task in tasks:
        task.finish()
    return {task.job.scheme: Half(task.cuts, task.words) for task in tasks}


def main() -> None:
    """Answer one order."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started this is interrupted, and ends it
    order = pickle.load(sys.stdin.buffer)  # noqa: S301 - from the process that started this one
    pickle.dump(done(order), sys.stdout.buffer)


if __name__ == "__main__":
    main()
