"""Reading the new part of a source into a draft of a capture."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ctxarc.auxiliary.shape import Shape, shape_of
from ctxarc.errors import NotLossless
from ctxarc.preservation.entry import Gap
from ctxarc.preservation.turns import TurnCutter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ctxarc.operations.growth import Growth
    from ctxarc.operations.reading import SourceReader
    from ctxarc.preservation.writer import Draft


_LAG = 16 << 20
"""Bytes of turns whose shapes may wait to be counted."""


class ShapeTally:
    """Counts the shapes of turns some time after they were read, so that packs are compressed as early as possible."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[Counter[Shape], list[bytes], int]] = deque()
        self._bytes = 0

    def add(self, counter: Counter[Shape], turns: list[bytes]) -> None:
        """Have ``turns`` counted in ``counter``, at the latest by :meth:`finish`."""
        size = sum(map(len, turns))
        self._waiting.append((counter, turns, size))
        self._bytes += size
        while self._bytes > _LAG:
            self._count()

    def finish(self) -> None:
        """Count what waits."""
        while self._waiting:
            self._count()

    def _count(self) -> None:
        counter, turns, size = self._waiting.popleft()
        counter.update(map(shape_of, turns))
        self._bytes -= size


@dataclass(slots=True)
class Stored:
    """What was read into a draft.

    Attributes:
        end: the byte of the source up to which was read.
        turns: number of new turns that are stored.
        held_bytes: bytes that the transcript's new state holds.
        gaps: the gaps of that state.
        shapes: how many of the new turns have each shape, once the tally is finished.

    """

    end: int
    held_bytes: int
    gaps: list[Gap]
    turns: int = 0
    shapes: Counter[Shape] = field(default_factory=Counter)


def left_out_to(reader: SourceReader, start: int, max_bytes: int | None, *, allowed: bool, label: str) -> int:
    """The byte up to which the source is left out from ``start`` on, so that ``max_bytes`` bytes remain at most.

    Raises:
        NotLossless: bytes would be left out and that is not ``allowed``, or the last turn alone is longer.

    """
    new_bytes = reader.size - start
    if max_bytes is None or new_bytes <= max_bytes:
        return start
    facts: dict[str, Any] = {"new_bytes": new_bytes, "max_bytes": max_bytes, "source": label}
    if not allowed:
        message = f"{label}: {new_bytes} bytes are to be stored, and --max-bytes {max_bytes} would leave some out"
        raise NotLossless(message, **facts)
    border = reader.border_from(reader.size - max_bytes)
    if border >= reader.size:
        message = f"{label}: its last turn alone has more than the {max_bytes} bytes of --max-bytes"
        raise NotLossless(message, hint="raise --max-bytes; a turn is kept whole or left out whole", **facts)
    return border


@dataclass(slots=True)
class Storing:
    """Where the turns of a source go: a draft, a tally of their shapes, and whoever is told how far it is."""

    draft: Draft
    tally: ShapeTally
    tell: Callable[[int], None]


def store(reader: SourceReader, growth: Growth, border: int, to: Storing) -> Stored:
    """Read the source from ``growth.start`` on: leave out what stands before ``border``, store the rest.

    Args:
        reader: the source.
        growth: how it stands to what is held; its hashes go on here.
        border: a turn's border at ``growth.start`` or behind it.
        to: where the turns go.

    """
    stored = Stored(growth.start, growth.held_bytes + reader.size - border, list(growth.gaps))
    if border > growth.start:
        turns = sum(piece.count(b"\n") for piece in _hashed(reader, growth, border, stored))
        to.draft.gap(turns, border - growth.start)
        stored.gaps.append(Gap(growth.keep, turns, growth.start, border))
    cutter = TurnCutter()
    for piece in _hashed(reader, growth, reader.size, stored):
        if stored.gaps:
            growth.held.update(piece)
        _add(cutter.feed(piece), to, stored)
        to.tell(stored.end)
    _add(cutter.finish(), to, stored)
    return stored


def _hashed(reader: SourceReader, growth: Growth, end: int, stored: Stored) -> Iterator[bytes]:
    """The source's bytes up to ``end``; those that ``growth.source`` has not seen yet are hashed on the way."""
    for piece in reader.pieces(stored.end, end):
        stored.end += len(piece)
        unseen = stored.end - growth.hashed
        if unseen > 0:
            growth.source.update(piece[-unseen:] if unseen < len(piece) else piece)
            growth.hashed = stored.end
        yield piece


def _add(turns: list[bytes], to: Storing, stored: Stored) -> None:
    to.draft.add(turns)
    to.tally.add(stored.shapes, turns)
    stored.turns += len(turns)
