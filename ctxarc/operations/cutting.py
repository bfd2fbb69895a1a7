"""Cutting what indexes miss, and looking up its words: one pass over the turns for all schemes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

from ctxarc.auxiliary.projection import PROJECTION, views
from ctxarc.auxiliary.segments import SCHEMES
from ctxarc.auxiliary.segments.part import Cuts
from ctxarc.auxiliary.words.part import PartWriter
from ctxarc.operations.spool import Spool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctxarc.auxiliary.segments.index import Index
    from ctxarc.auxiliary.segments.part import Part
    from ctxarc.auxiliary.words.index import Words
    from ctxarc.operations.progress import Progress
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
    words: Spool
    kept: list[Part]


class WordMaker:
    """Makes the parts of a word index, each of a size that memory has room for.

    Attributes:
        parts: those that are finished, by the names of their files.

    """

    def __init__(self, scheme: str, root: bytes) -> None:
        self.parts = Spool()
        self._scheme, self._root = scheme, root.hex()
        self._writer: PartWriter | None = None

    def add(self, number: int, digest: bytes, turn: bytes, ends: Sequence[int]) -> None:
        """Look up the words of the next object, which has the bytes of ``turn`` and segments that end at ``ends``."""
        self._writer = self._writer or PartWriter(number)
        self._writer.add(digest, ends, [text for _, _, text in views(turn, ends)] if ends else ())
        if self._writer.full:
            self.finish()

    def finish(self) -> None:
        """Finish the part that is being made."""
        if self._writer:
            self.parts.put(self._writer.name, self._writer.pack(self._scheme, PROJECTION, self._root))
        self._writer = None


class Task:
    """A scheme's part of a pass over the turns.

    Attributes:
        job: what is to be built.
        cuts: those that are new, so far.
        begin: the first object whose words are looked up.
        words: makes the parts of the word index.

    """

    def __init__(self, job: Job, first: int, begin: int, root: bytes) -> None:
        self.job = job
        self.cuts = Cuts.empty(first)
        self.begin = begin
        self.words = WordMaker(job.scheme, root)

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
        before = self.job.before
        ends = (before.ends(number, digest, len(turn)) if before else ()) or SCHEMES[self.job.scheme].cut(turn)
        if number >= self.cuts.first:
            self.cuts.add(digest, ends)
        if number >= self.begin:
            self.words.add(number, digest, turn, ends)

    def made(self) -> Made:
        """The result."""
        self.words.finish()
        before = self.job.words_before
        kept = [part for part in before.parts if part.first < self.begin] if before else []
        return Made(self.cuts, self.words.parts, kept)


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


def words_of(record: Record, scheme: str, cuts: Cuts) -> Spool:
    """Look up the words of cuts of all objects that no scheme can make: the parts by the names of their files."""
    maker = WordMaker(scheme, record.head.root)
    for number in range(cuts.objects):
        ends = cuts.ends[cuts.starts[number] : cuts.starts[number + 1]]
        maker.add(number, record.objects.row(number).sha256, bytes(record.turn_bytes(number)) if ends else b"", ends)
    maker.finish()
    return maker.parts
