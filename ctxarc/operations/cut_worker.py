"""The process that cuts the second half of many turns, so that two processors share the work.

It is started by ``halves``. On standard input comes a pickle of an :class:`Order`; the answer is a pickle of a
:class:`Half`, and the bytes of the parts that it lists, one behind another. It opens the record itself, holds no lock,
and writes nothing but to a temporary file where there is much.
"""

from __future__ import annotations

import pickle
import signal
import sys
from pathlib import Path
from typing import IO, NamedTuple

from ctxarc.auxiliary.segments.part import Cuts
from ctxarc.operations.cutting import Job, Task, run_pass
from ctxarc.operations.progress import quiet
from ctxarc.preservation.objects import digests_of
from ctxarc.preservation.record import Record

_ROWS = 8192
"""Rows of the table of objects that are read at a time."""


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
    """What was made.

    Attributes:
        digests: SHA-256 of each object, joined.
        cuts: those of each scheme.
        words: the bytes of each new part of each word index, by the names of their files; they follow in this order.

    """

    digests: bytes
    cuts: dict[str, Cuts]
    words: dict[str, dict[str, int]]


def digests_between(record: Record, first: int, end: int) -> bytes:
    """The SHA-256 of each of the objects from ``first`` to ``end``, joined."""
    rows = (record.objects.rows(at, min(_ROWS, end - at)) for at in range(first, end, _ROWS))
    return b"".join(b"".join(digests_of(each)) for each in rows)


def answer(order: Order, out: IO[bytes]) -> None:
    """Do it, and write what was made."""
    tasks = {
        name: Task(
            Job(name, None, words), order.first if cuts else order.end, order.first if words else order.end, order.root
        )
        for name, cuts, words in order.schemes
    }
    with Record(Path(order.archive)) as record:
        run_pass(record, [*tasks.values()], (order.first, order.end), quiet)
        digests = digests_between(record, order.first, order.end)
    made = {name: task.made() for name, task in tasks.items()}
    lengths = {name: each.words.lengths() for name, each in made.items()}
    pickle.dump(Half(digests, {name: each.cuts for name, each in made.items()}, lengths), out)
    for each in made.values():
        for part in each.words.values():
            out.write(part)
    out.flush()


def main() -> None:
    """Answer one order."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started this is interrupted, and ends it
    answer(pickle.load(sys.stdin.buffer), sys.stdout.buffer)  # noqa: S301 - from the process that started this one


if __name__ == "__main__":
    main()
