"""Which index a command reads, and what it covers of the record."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctxarc.auxiliary.segments import SCHEMES
from ctxarc.auxiliary.segments.index import NAME, Index, built, misfit
from ctxarc.auxiliary.words.index import Words
from ctxarc.errors import Ambiguous, IndexMismatch, NoSuchScheme
from ctxarc.operations.progress import quiet
from ctxarc.operations.view import View

if TYPE_CHECKING:
    from ctxarc.operations.progress import Progress
    from ctxarc.preservation.record import Record

DEFAULT_SCHEME = "boundary-v1"
"""What is built where no scheme is named and there is no index yet."""


def choose(record: Record, scheme: str | None) -> Index:
    """The index of ``scheme``, or the only one that there is. An archive without a turn has one of every scheme.

    Raises:
        NoSuchScheme: there is no such scheme, or no index of it.
        Ambiguous: no scheme is named, and there are several indexes.

    """
    archive = record.path
    there = built(archive)
    if not record.head.objects and (scheme is None or scheme in SCHEMES):
        return Index(archive, scheme or DEFAULT_SCHEME)
    if scheme is not None:
        if scheme not in there and (scheme not in SCHEMES or not NAME.fullmatch(scheme)):
            raise unknown_scheme(scheme)
        return Index.existing(archive, scheme)
    if len(there) > 1:
        message = f"{archive} has {len(there)} indexes: {', '.join(there)}"
        raise Ambiguous(message, hint="say which with --scheme", schemes=there)
    if not there:
        message = f"{archive} has no index of segments"
        raise NoSuchScheme(message, hint="`ctxarc segment ARCHIVE` builds one", built=[])
    return Index.existing(archive, there[0])


def unknown_scheme(name: str) -> NoSuchScheme:
    """The refusal of a scheme that does not exist."""
    message = f"no scheme is called {name}; there are {', '.join(SCHEMES)}"
    return NoSuchScheme(message, scheme=name, schemes=list(SCHEMES))


@dataclass
class Measured:
    """What an index covers of the newest states: distinct turns, each counted once."""

    segments: int = 0
    new_segments: int = 0
    turns: int = 0
    bytes: int = 0
    covered_bytes: int = 0
    covered_twice: int = 0
    not_covered: int = 0
    median: float = 0.0

    @property
    def coverage(self) -> float:
        """Share of the bytes that segments cover; 1 of nothing."""
        return self.covered_bytes / self.bytes if self.bytes else 1.0


def measure(record: Record, of: Index, before: Index | None = None, progress: Progress = quiet) -> Measured:
    """Count what an index covers of the newest states, and how many segments are of objects that it did not before."""
    found = Measured()
    sizes: Counter[int] = Counter()
    for _, turn in View(record).distinct(progress):
        ends = of.ends(turn.object, turn.digest, turn.length)
        found.turns += 1
        found.bytes += turn.length
        at = 0
        for end in ends:
            sizes[end - at] += 1
            found.covered_twice += max(at - end, 0)
            at = end
        found.segments += len(ends)
        found.new_segments += 0 if before and before.holds(turn.object) else len(ends)
        found.covered_bytes += at
        found.not_covered += at != turn.length
    found.median = _median(sizes)
    return found


def _median(sizes: Counter[int]) -> float:
    total = sum(sizes.values())
    seen, low = 0, None
    for size in sorted(sizes):
        seen += sizes[size]
        if low is None and seen >= (total + 1) // 2:
            low = size
        if low is not None and seen >= total // 2 + 1:
            return (low + size) / 2
    return 0.0


def check_fit(record: Record, of: Index) -> None:
    """Refuse an index that is not of this archive, or that its scheme did not cut.

    Raises:
        IndexMismatch: which part, and why.

    """
    for part in of.parts:
        message = misfit(record, part, of_scheme=not isinstance(of, Words))
        if message:
            facts = {"path": part.label, "covered": part.first + part.objects, "objects": record.head.objects}
            raise IndexMismatch(f"{part.label}: {message}", hint=of.remedy, **facts)
