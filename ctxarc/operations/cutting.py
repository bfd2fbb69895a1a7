"""Cutting what indexes miss, and looking up its words: one pass over the turns for all schemes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ctxarc.auxiliary.projection import PROJECTION, views
from ctxarc.auxiliary.segments import SCHEMES
from ctxarc.auxiliary.segments.part import Cuts
from ctxarc.auxiliary.words.part import PartWriter
from ctxarc.operations.progress import Progress, quiet

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ctxarc.auxiliary.segments.index import Index
    from ctxarc.auxiliary.segments.part import Part
    from ctxarc.auxiliary.words.index import Words
    from ctxarc.preservation.record import Record

_USUAL_SEGMENT = 300
"""Bytes of a segment, to guess how many there will be."""


class Job(NamedTuple):
    """What is to be built for a scheme.

    Attributes:
        scheme: its name.
        before: its index as it is; ``None`` where it is made anew.
        with_words: whether its words are looked up too.
        words_before: the index of its words as it is; ``None`` where it is made anew.

    """

    scheme: str
    before: Index | None
    with_words: bool = False
    words_before: Words | None = None


class Made(NamedTuple):
    """What was built for a scheme.

    Attributes:
        cuts: those of the objects that its index did not hold.
        words: new parts of the index of its words, by the names of their files.
        kept: the parts that stay beside them.

    """

    cuts: Cuts
    words: dict[str, bytes]
    kept: list[Part]


class _Task:
    """A scheme's part of the pass."""

    def __init__(self, record: Record, job: Job, cut: Callable[[bytes], Sequence[int]] | None) -> None:
        self._record, self._job, self._cut = record, job, cut
        objects = record.head.objects
        first = next(job.before.missing(objects), objects) if job.before else 0
        self.cuts = Cuts.empty(first)
        self._begin = _first_words(record, job.words_before) if job.with_words else objects
        self.first = min(first, self._begin)
        self.words: dict[str, bytes] = {}
        self._writer: PartWriter | None = None

    def add(self, number: int, digest: bytes, turn: bytes) -> None:
        """Take in the next turn."""
        if number < self.first:
            return
        before = self._job.before
        ends = before.ends(number, digest, len(turn)) if before else ()
        if not ends and self._cut:
            ends = self._cut(turn)
        if number >= self.cuts.first:
            self.cuts.add(digest, ends)
        if number >= self._begin:
            self._writer = self._writer or PartWriter(number)
            self._writer.add(digest, ends, [text for _, _, text in views(turn, ends)] if ends else ())
            if self._writer.full:
                self._finish()

    def _finish(self) -> None:
        if self._writer:
            root = self._record.head.root.hex()
            self.words[self._writer.name] = self._writer.pack(self._job.scheme, PROJECTION, root)
        self._writer = None

    def made(self) -> Made:
        """The result."""
        self._finish()
        before = self._job.words_before
        kept = [part for part in before.parts if part.first < self._begin] if before else []
        return Made(self.cuts, self.words, kept)


def _first_words(record: Record, words: Words | None) -> int:
    """The object from which on words are looked up: the first that is missing, or one before it that is gathered."""
    if words is None:
        return 0
    objects = record.head.objects
    first = next(words.missing(objects), objects)
    if first == objects:
        return objects
    size = sum(1 + record.objects.row(number).length // _USUAL_SEGMENT for number in range(first, objects))
    return words.begin(first, size)


def cut_all(record: Record, jobs: Sequence[Job], progress: Progress) -> dict[str, Made]:
    """Cut what each index misses behind what it holds, and look up the words that its word index misses."""
    tasks = {job.scheme: _Task(record, job, SCHEMES[job.scheme].cut) for job in jobs}
    run_pass(record, list(tasks.values()), progress)
    return {name: task.made() for name, task in tasks.items()}


def run_pass(record: Record, tasks: Sequence[_Task], progress: Progress) -> None:
    """Give every turn that some task misses to all of them."""
    done = 0
    objects = record.head.objects
    for number in range(min((task.first for task in tasks), default=objects), objects):
        turn = bytes(record.turn_bytes(number))
        digest = record.objects.row(number).sha256
        for task in tasks:
            task.add(number, digest, turn)
        done += len(turn)
        progress("cutting", done, record.head.object_bytes)


def words_of(record: Record, job: Job) -> Made:
    """Look up the words of a user's own cuts, which no scheme can make; none, where the job is without."""
    task = _Task(record, job, None)
    run_pass(record, [task], quiet)
    return task.made()
