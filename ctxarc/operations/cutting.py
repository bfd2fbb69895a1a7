"""Cutting what indexes miss, and looking up its words: one pass over the turns for all schemes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

from ctxarc.auxiliary.projection import PROJECTION, views
from ctxarc.auxiliary.segments import SCHEMES
from ctxarc.auxiliary.segments.part import Cuts
from ctxarc.auxiliary.words.part import PartWriter
from ctxarc.operations.progress import Progress, quiet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctxarc.auxiliary.segments.index import Index
    from ctxarc.auxiliary.segments.part import Part
    from ctxarc.auxiliary.words.index import Words
    from ctxarc.preservation.record import Record


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


class Task:
    """A scheme's part of a pass over the turns.

    Attributes:
        job: what is to be built.
        cuts: those that are new, so far.
        begin: the first object whose words are looked up.
        words: new parts of the word index, by the names of their files.

    """

    def __init__(self, job: Job, first: int, begin: int, root: bytes) -> None:
        self.job = job
        self.cuts = Cuts.empty(first)
        self.begin = begin
        self.words: dict[str, bytes] = {}
        self._root = root.hex()
        self._writer: PartWriter | None = None

    @classmethod
    def of(cls, record: Record, job: Job) -> Self:
        """The task of a job: where its indexes end, it begins."""
        objects = record.head.objects
        first = next(job.before.missing(objects), objects) if job.before else 0
        begin = objects
        if job.with_words:
            begin = job.words_before.begin(record) if job.words_before else 0
        return cls(job, first, begin, record.head.root)

    @property
    def first(self) -> int:
        """The first object that it wants."""
        return min(self.cuts.first, self.begin)

    def add(self, number: int, digest: bytes, turn: bytes) -> None:
        """Take in the next turn."""
        if number < self.first:
            return
        before, scheme = self.job.before, SCHEMES.get(self.job.scheme)
        ends = before.ends(number, digest, len(turn)) if before else ()
        if not ends and scheme:
            ends = scheme.cut(turn)
        if number >= self.cuts.first:
            self.cuts.add(digest, ends)
        if number >= self.begin:
            self._writer = self._writer or PartWriter(number)
            self._writer.add(digest, ends, [text for _, _, text in views(turn, ends)] if ends else ())
            if self._writer.full:
                self.finish()

    def finish(self) -> None:
        """Finish the part of the word index that is being made."""
        if self._writer:
            self.words[self._writer.name] = self._writer.pack(self.job.scheme, PROJECTION, self._root)
        self._writer = None

    def made(self) -> Made:
        """The result."""
        self.finish()
        before = self.job.words_before
        return Made(self.cuts, self.words, [part for part in before.parts if part.first < self.begin] if before else [])


def run_pass(record: Record, tasks: Sequence[Task], span: tuple[int, int], progress: Progress) -> None:
    """Give the turns of the objects ``span`` to all tasks."""
    done = 0
    total = record.head.object_bytes
    for number in range(*span):
        turn = bytes(record.turn_bytes(number))
        digest = record.objects.row(number).sha256
        for task in tasks:
            task.add(number, digest, turn)
        done += len(turn)
        progress("cutting", done, total)


def words_of(record: Record, job: Job) -> Made:
    """Look up the words of a user's own cuts, which no scheme can make; none, where the job is without."""
    task = Task.of(record, job)
    run_pass(record, [task], (task.first, record.head.objects), quiet)
    return task.made()
