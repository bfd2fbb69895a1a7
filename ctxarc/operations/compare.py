"""Comparing two archives, transcript by transcript, by the digests of turns; bytes are read only where two differ."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from ctxarc.model import ComparedArchive, ComparedSide, CompareResult, TranscriptComparison, TurnRange
from ctxarc.operations.progress import quiet, told
from ctxarc.operations.view import View
from ctxarc.preservation.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from ctxarc.operations.progress import Progress
    from ctxarc.preservation.record import State, Turn

STATUSES = ("same", "grown", "diverged", "only_in_first", "only_in_second", "not_compared")


class _Held(NamedTuple):
    """A transcript of one archive in its newest state."""

    view: View
    state: State
    progress: Progress = quiet

    @property
    def source(self) -> tuple[int, bytes]:
        """Length and SHA-256 of its source."""
        return self.state.entry.source_bytes, self.state.entry.source_sha256

    def turns(self) -> Iterator[Turn]:
        """Its held turns, without their bytes."""
        return told(self.view.record.turns(self.state), self.progress, "comparing")

    def side(self, digest: bytes | None = None) -> ComparedSide:
        """It, as data."""
        size, source = self.source
        return ComparedSide(
            transcript=self.state.name.decode(),
            turns=self.state.turns,
            source_bytes=size,
            source_sha256=source.hex(),
            complete=self.state.complete,
            omitted=self.view.omitted(self.state),
            turn_sha256=digest.hex() if digest else None,
        )


class _Walk(NamedTuple):
    """What of two transcripts was compared, up to the first pair of turns that differ.

    Attributes:
        pair: those turns: the number is the same, and the digest or the first byte is not.
        compared: turns that are equal.
        apart: the turns that not both hold, before the pair, or up to the end of the shorter one.
        apart_byte: the first byte of the source of the first of those.

    """

    pair: tuple[Turn, Turn] | None
    compared: int
    apart: tuple[TurnRange, ...]
    apart_byte: int


class _Difference(NamedTuple):
    status: str
    longer: str | None = None
    turn: int | None = None
    byte: int | None = None
    digests: tuple[bytes | None, bytes | None] = None, None


def compare(first: Path, second: Path, progress: Progress = quiet) -> CompareResult:
    """Compare the newest states of two archives.

    Transcripts are matched by name; those whose name only one archive has, by their sources, or where one begins with
    all of the other. Digests are those in the tables of objects; two turns are read where they differ.

    Args:
        first: an archive.
        second: an archive.
        progress: told how many bytes of a transcript were compared.

    Raises:
        NoSuchArchive, NotAnArchive: there is none.
        Damage: a record is damaged.

    """
    with Record(first) as one, Record(second) as other:
        left, right = _transcripts(one, progress), _transcripts(other, progress)
        rows = sorted(_compared(left, right), key=_order)
        totals = Counter(row.status for row in rows)
        return CompareResult(
            same=all(_is_same(row) for row in rows),
            first=_archive(one, left.values()),
            second=_archive(other, right.values()),
            totals={status: totals[status] for status in STATUSES},
            transcripts=tuple(rows),
        )


def _transcripts(record: Record, progress: Progress) -> dict[bytes, _Held]:
    view = View(record)
    return {state.name: _Held(view, state, progress) for state in view.states()}


def _archive(record: Record, transcripts: Iterable[_Held]) -> ComparedArchive:
    states = [each.state for each in transcripts]
    return ComparedArchive(
        archive=str(record.path),
        archive_digest=record.head.root.hex(),
        transcripts=len(states),
        turns=sum(state.turns for state in states),
        source_bytes=sum(state.entry.source_bytes for state in states),
        complete=all(state.complete for state in states),
    )


def _order(row: TranscriptComparison) -> tuple[bytes, bool]:
    side = row.first or row.second
    return (side.transcript.encode() if side else b"", row.first is None)


def _is_same(row: TranscriptComparison) -> bool:
    same = row.status == "same" and row.matched_by == "name"
    return same and row.first is not None and row.second is not None and row.first.omitted == row.second.omitted


def _compared(left: Mapping[bytes, _Held], right: Mapping[bytes, _Held]) -> Iterator[TranscriptComparison]:
    for name in left.keys() & right.keys():
        yield _comparison(left[name], right[name], "name")
    lone = [left[name] for name in sorted(left.keys() - right.keys())]
    others = [right[name] for name in sorted(right.keys() - left.keys())]
    for same_key, statuses in ((_source, {"same"}), (_beginning, {"same", "grown"})):
        pairs = list(_paired(lone, others, same_key))
        for one, other in pairs:
            row = _comparison(one, other, "turns")
            if row.status in statuses and row.compared_turns:
                lone.remove(one)
                others.remove(other)
                yield row
    for each in lone:
        yield _only("only_in_first", each.side(), None)
    for each in others:
        yield _only("only_in_second", None, each.side())


def _source(held: _Held) -> tuple[int, bytes]:
    return held.source


def _beginning(held: _Held) -> tuple[int, bytes] | None:
    """Number and digest of the first turn that is held; forks of one conversation have the same."""
    turn = next(held.turns(), None)
    return (turn.number, turn.digest) if turn else None


def _paired(
    lone: Iterable[_Held], others: Iterable[_Held], key: Callable[[_Held], tuple[int, bytes] | None]
) -> Iterator[tuple[_Held, _Held]]:
    """Those of either side that have the same key, one with one, in order of names."""
    waiting: dict[tuple[int, bytes], list[_Held]] = {}
    for each in others:
        found = key(each)
        if found:
            waiting.setdefault(found, []).append(each)
    for each in lone:
        found = key(each)
        if found and waiting.get(found):
            yield each, waiting[found].pop(0)


def _only(status: str, first: ComparedSide | None, second: ComparedSide | None) -> TranscriptComparison:
    return TranscriptComparison(
        status=status,
        longer=None,
        turn=None,
        byte=None,
        proved=True,
        compared_turns=0,
        not_compared=(),
        matched_by=None,
        first=first,
        second=second,
    )


def _comparison(one: _Held, other: _Held, matched_by: str) -> TranscriptComparison:
    walk = _walk(one, other)
    found = _difference(one, other, walk)
    return TranscriptComparison(
        status=found.status,
        longer=found.longer,
        turn=found.turn,
        byte=found.byte,
        proved=not walk.apart or found.status == "diverged" or one.source == other.source,
        compared_turns=walk.compared,
        not_compared=walk.apart,
        matched_by=matched_by,
        first=one.side(found.digests[0]),
        second=other.side(found.digests[1]),
    )


def _walk(one: _Held, other: _Held) -> _Walk:
    """Go through both at once, up to the end of the shorter one or the first pair that differs."""
    apart: list[TurnRange] = []
    apart_byte = -1
    compared = expected = byte = 0
    pair = None
    for mine, theirs in _both(one.turns(), other.turns()):
        if mine.number > expected:
            apart.append(TurnRange(expected, mine.number - 1))
            apart_byte = byte if apart_byte < 0 else apart_byte
        if (mine.digest, mine.start_byte) != (theirs.digest, theirs.start_byte):
            pair = mine, theirs
            break
        compared += 1
        expected, byte = mine.number + 1, mine.start_byte + mine.length
    end = min(one.state.turns, other.state.turns)
    if pair is None and expected < end:
        apart.append(TurnRange(expected, end - 1))
        apart_byte = byte if apart_byte < 0 else apart_byte
    return _Walk(pair, compared, tuple(apart), apart_byte)


def _both(one: Iterator[Turn], other: Iterator[Turn]) -> Iterator[tuple[Turn, Turn]]:
    """The turns that both hold, by their numbers."""
    mine, theirs = next(one, None), next(other, None)
    while mine and theirs:
        if mine.number == theirs.number:
            yield mine, theirs
        behind = mine.number <= theirs.number, theirs.number <= mine.number
        mine = next(one, None) if behind[0] else mine
        theirs = next(other, None) if behind[1] else theirs


def _difference(one: _Held, other: _Held, walk: _Walk) -> _Difference:
    """How two transcripts stand to each other, by what was compared of them."""
    if one.source == other.source and walk.pair is None:
        return _Difference("same")
    if walk.pair:
        return _differing(one, other, walk, walk.pair)
    shorter, longer = (one, "second") if one.state.turns < other.state.turns else (other, "first")
    if one.state.turns == other.state.turns:
        # Every turn that both hold is equal, and the sources are not: they differ in what one of them left out.
        return _Difference("diverged", None, walk.apart[0].first_turn if walk.apart else 0, max(walk.apart_byte, 0))
    status = "grown" if walk.compared or not walk.apart else "not_compared"
    return _Difference(status, longer if status == "grown" else None, shorter.state.turns, shorter.source[0])


def _differing(one: _Held, other: _Held, walk: _Walk, pair: tuple[Turn, Turn]) -> _Difference:
    mine, theirs = pair
    if mine.start_byte != theirs.start_byte:
        return _Difference("diverged", None, walk.apart[0].first_turn, walk.apart_byte)
    ours = bytes(one.view.record.turn_bytes(mine.object))
    others = bytes(other.view.record.turn_bytes(theirs.object))
    same = _common(ours, others)
    byte, digests = mine.start_byte + same, (mine.digest, theirs.digest)
    for held, data, longer in ((one, ours, "second"), (other, others, "first")):
        unfinished = mine.number == held.state.turns - 1 and not data.endswith(b"\n")
        if unfinished and same == len(data):
            return _Difference("grown", longer, mine.number, byte, digests)
    return _Difference("diverged", None, mine.number, byte, digests)


def _common(one: bytes, other: bytes) -> int:
    """How many bytes both begin with; halves are compared, since a comparison of many bytes at once is fast."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
