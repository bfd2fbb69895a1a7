"""Hashing the sources again: every state of every transcript, each pack decoded once where that is possible.

A track is a line of states, each of which grew out of the one before. It is hashed turn by turn; where a state ends,
the hash so far must be the one on record, and where a new history branches off, the hash so far is copied. All tracks
move forward together, pack by pack, each as far as the pack at hand carries it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import chain
from typing import TYPE_CHECKING, Any

from ctxarc.preservation.entry import Run, Runs

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from ctxarc.preservation.record import Capture, Pack

_SMALL = 1 << 16
"""Bytes of a turn up to which it may be kept in memory, where tracks come back to it from later packs."""
_FEW = 64
"""Turns of a run up to which each of them may be so kept."""
_KEPT = 32 << 20
"""Bytes of all turns that are so kept."""


@dataclass(slots=True, eq=False)
class _Track:
    """A line of states from turn ``start`` on; ``due`` is what happens where a number of turns is reached."""

    start: int
    parent: _Track | None
    digest: Any = field(default_factory=sha256)
    runs: Runs = field(default_factory=Runs)
    due: dict[int, list[Capture | _Track]] = field(default_factory=dict)

    @property
    def end(self) -> int:
        return self.start + self.runs.count


class Tracks:
    """The tracks of an archive.

    Args:
        starts: number of the first object of each pack, and behind them the number of objects.
        length_of: gives the length of an object.

    """

    def __init__(self, starts: Sequence[int], length_of: Callable[[int], int]) -> None:
        self._starts = starts
        self._length_of = length_of
        self._current: dict[int, _Track] = {}
        self._roots: list[_Track] = []
        self._fresh: list[_Track] = []
        self._furthest: dict[int, int] = {}
        self._wanted: dict[int, set[int]] = {}
        self._wanted_bytes = 0
        self._kept: dict[int, bytes] = {}
        self._waiting: dict[int, list[tuple[int, Generator[int, Pack]]]] = {}
        self._tracks: dict[Generator[int, Pack], _Track] = {}

    def add(self, capture: Capture) -> None:
        """Take the next capture of the log, whose runs have been checked."""
        entry = capture.entry
        track = self._current.get(entry.transcript)
        if track is None or entry.keep != track.end:
            track = self._current[entry.transcript] = self._branch(track, entry.keep)
        self._keep_small(capture)
        track.runs.extend(entry.runs)
        track.due.setdefault(track.end, []).append(capture)

    def _branch(self, track: _Track | None, keep: int) -> _Track:
        while track and track.start >= keep:
            track = track.parent
        new = _Track(keep, track if keep else None)
        if track and keep:
            track.due.setdefault(keep, []).append(new)
        else:
            self._roots.append(new)
        return new

    def _keep_small(self, capture: Capture) -> None:
        """Mark the small turns for which a track would have to come back to an earlier pack."""
        furthest = self._furthest.get(capture.entry.transcript, 0)
        for run in capture.entry.runs:
            if run.first < 0:
                continue
            pack = self._pack_of(run.first)
            if pack < furthest and run.turns <= _FEW:
                for number in range(run.first, run.first + run.turns):
                    self._want(self._pack_of(number), number)
            furthest = max(furthest, self._pack_of(run.first + run.turns - 1))
        self._furthest[capture.entry.transcript] = furthest

    def _want(self, pack: int, number: int) -> None:
        wanted = self._wanted.setdefault(pack, set())
        length = self._length_of(number)
        if number not in wanted and length <= _SMALL and self._wanted_bytes + length <= _KEPT:
            self._wanted_bytes += length
            wanted.add(number)

    def _pack_of(self, number: int) -> int:
        return bisect_right(self._starts, number) - 1

    def run(self, load: Callable[[int], Pack | None], found: Callable[[Capture, bytes | None], None]) -> None:
        """Hash all tracks.

        Args:
            load: gives the decoded pack that an object is in, or ``None`` where it cannot be had. It is called for the
                first object of every pack, in order, and then for what tracks come back to.
            found: told each capture with the SHA-256 of what is held, or ``None`` where that cannot be computed.

        """
        self._fresh.extend(self._roots)
        self._begin(found)
        for index, first in enumerate(self._starts[:-1]):
            self._visit(index, load(first), load, found)
        while self._waiting:
            for index in sorted(self._waiting):
                self._visit(index, load(self._waiting[index][0][0]), load, found)

    def _begin(self, found: Callable[[Capture, bytes | None], None]) -> None:
        """Let fresh tracks go on until each needs a pack; they may branch off further ones."""
        while self._fresh:
            track = self._fresh.pop()
            walk = self._walk(track, found)
            self._tracks[walk] = track
            self._go_on(walk, None)

    def _visit(
        self,
        index: int,
        pack: Pack | None,
        load: Callable[[int], Pack | None],
        found: Callable[[Capture, bytes | None], None],
    ) -> None:
        """Let the tracks go on that wait for the pack at ``index``; keep the small turns that others come back to."""
        for number in self._wanted.pop(index, ()):
            there = pack if pack and pack.holds(number) else load(number)
            if there:
                start, end = there.span(number)
                self._kept[number] = there.raw[start:end]
        while walks := self._waiting.pop(index, None):
            for number, walk in walks:
                there = pack if pack and pack.holds(number) else load(number)
                if there:
                    self._go_on(walk, there)
                else:
                    _lost(self._tracks.pop(walk), found)
            self._begin(found)

    def _go_on(self, walk: Generator[int, Pack], pack: Pack | None) -> None:
        """Let a track go on until it needs another pack."""
        try:
            number = walk.send(pack) if pack else next(walk)
        except StopIteration:
            del self._tracks[walk]
            return
        self._waiting.setdefault(self._pack_of(number), []).append((number, walk))

    def _walk(self, track: _Track, found: Callable[[Capture, bytes | None], None]) -> Generator[int, Pack]:
        """Hash one track; yields the object that it needs and is sent the pack that holds it."""
        at = track.start
        stops = deque(sorted(track.due))
        for run in [Run(-1, 0), *track.runs.runs]:
            number, left = run.first, run.turns
            while True:
                if stops and stops[0] == at:
                    self._happen(track, stops.popleft(), found)
                if not left:
                    break
                step = min(left, stops[0] - at) if stops else left
                if number >= 0:
                    yield from self._feed(track, number, number + step)
                    number += step
                at += step
                left -= step

    def _feed(self, track: _Track, number: int, end: int) -> Generator[int, Pack]:
        while number < end:
            if number in self._kept:
                track.digest.update(self._kept[number])
                number += 1
                continue
            pack = yield number
            stop = min(end, pack.first + len(pack.ends))
            track.digest.update(pack.data[pack.span(number)[0] : pack.span(stop - 1)[1]])
            number = stop

    def _happen(self, track: _Track, at: int, found: Callable[[Capture, bytes | None], None]) -> None:
        """Compare and branch where ``at`` turns are reached."""
        for what in track.due.pop(at):
            if isinstance(what, _Track):
                what.digest = track.digest.copy()
                self._fresh.append(what)
            else:
                found(what, track.digest.digest())


def _lost(track: _Track, found: Callable[[Capture, bytes | None], None]) -> None:
    """Tell that what is still due on a track, and on those that branch off it, cannot be computed."""
    lost = [track]
    while lost:
        for what in chain.from_iterable(lost.pop().due.values()):
            if isinstance(what, _Track):
                lost.append(what)
            else:
                found(what, None)
