"""Comparing a source with what the archive holds under its name: the same, grown, filled in, or rewritten."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ctxarc.errors import HistoryRewritten, IndexMismatch, NameTaken
from ctxarc.preservation.entry import Gap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctxarc.operations.reading import SourceReader
    from ctxarc.preservation.entry import Entry
    from ctxarc.preservation.record import Record, State


@dataclass(slots=True)
class Growth:
    """How a source stands to what is held: the first ``keep`` turns stay, the source from ``start`` on is new.

    Attributes:
        status: ``new``, ``same``, ``grown`` or ``rewritten``.
        before: the newest entry, where the transcript is held.
        capture: that entry's number.
        gaps: the gaps among the turns that stay.
        source: SHA-256 over the source's first ``hashed`` bytes.
        held: SHA-256 over what is held of the source's first ``start`` bytes.
        held_bytes: the bytes of those.
        stored_again: turns that are held and are part of what is new all the same, since a gap before them is filled.

    """

    status: str = "new"
    keep: int = 0
    start: int = 0
    before: Entry | None = None
    capture: int = 0
    gaps: list[Gap] = field(default_factory=list)
    source: Any = field(default_factory=sha256)
    hashed: int = 0
    held: Any = field(default_factory=sha256)
    held_bytes: int = 0
    stored_again: int = 0


def judge(record: Record | None, reader: SourceReader, name: str, *, fills: bool, new_history: bool) -> Growth:
    """Compare the source in ``reader`` with the newest state of the transcript ``name``.

    Args:
        record: the archive, or ``None`` where there is none yet.
        reader: the source.
        name: the transcript's name.
        fills: whether the whole source may be stored, so that gaps are filled in.
        new_history: whether a rewritten source is taken as a new history, which keeps what still holds.

    Raises:
        NameTaken: the source differs from the first byte of turn 0 on, or within it.
        HistoryRewritten: it differs later, or is cut short.

    """
    number = record.number_of(name.encode()) if record else None
    if record is None or number is None:
        return Growth()
    before = record.last_entry(number)
    growth = _grown(record, number, before, reader)
    if growth is None:
        growth = _rewritten(record, record.state(number), reader, name, new_history=new_history)
    elif fills and before.partial:
        held = sum(run.turns for run in record.state(number).runs if run.first >= 0)
        growth = Growth("grown", stored_again=held)
    growth.before, growth.capture = before, record.head.transcripts[number].last_capture
    return growth


def _grown(record: Record, number: int, before: Entry, reader: SourceReader) -> Growth | None:
    """The growth, or ``None`` where the source does not begin with what was captured."""
    length = before.source_bytes
    if reader.size < length:
        return None
    gaps: list[Gap] = record.gaps(record.state(number).runs) if before.partial else []
    keep, start = before.turns, length
    if length < reader.size and length and reader.read(length - 1, length) != b"\n":
        keep -= 1
        start -= record.objects.row(_last_object(record, number, before)).length
        if start < 0:
            raise IndexMismatch(f"log: {length} bytes of a source, and its last turn alone is longer", path="log")
    growth = Growth("same" if reader.size == length else "grown", keep, start, gaps=gaps)
    _hash(growth, reader, length)
    return growth if growth.source.digest() == before.source_sha256 else None


def _last_object(record: Record, number: int, before: Entry) -> int:
    """The object of the last turn; the newest entry nearly always names it itself."""
    runs = before.runs or record.state(number).runs
    if runs[-1].first < 0:
        raise IndexMismatch(f"log: transcript {number} ends with turns that were left out", path="log")
    return runs[-1].first + runs[-1].turns - 1


def _hash(growth: Growth, reader: SourceReader, length: int) -> None:
    """Hash the source up to ``length``, and what is held of it up to ``growth.start``."""
    stops = {0, growth.start, length, *(at for gap in growth.gaps for at in (gap.start_byte, gap.end_byte))}
    left_out = {gap.start_byte for gap in growth.gaps}
    for start, end in pairwise(sorted(stops)):
        held = bool(growth.gaps) and end <= growth.start and start not in left_out
        for piece in reader.pieces(start, end):
            growth.source.update(piece)
            if held:
                growth.held.update(piece)
        if end == growth.start and not growth.gaps:
            growth.held = growth.source.copy()
    growth.hashed = length
    growth.held_bytes = growth.start - sum(gap.end_byte - gap.start_byte for gap in growth.gaps)


def _rewritten(record: Record, state: State, reader: SourceReader, name: str, *, new_history: bool) -> Growth:
    turn, start, byte = first_difference(record, state, reader)
    if not new_history:
        raise _refusal(record, state, reader, name, (turn, byte))
    gaps = record.gaps(state.runs)
    if gaps and gaps[0].first_turn < turn:
        turn = start = 0
    growth = Growth("rewritten", turn, start, hashed=start, held_bytes=start)
    # The turns that stay were compared; were they hashed as the source has them now, it may have changed in between.
    for each in record.turns(state):
        if each.number >= turn:
            break
        growth.source.update(record.turn_bytes(each.object))
    growth.held = growth.source.copy()
    return growth


def first_difference(record: Record, state: State, reader: SourceReader) -> tuple[int, int, int]:
    """Where the source first differs from a state.

    Returns:
        the turn, the byte of the source at which it begins, and the first byte that differs, or the shorter length. A
        difference that can only lie in a gap is said to lie at the gap's beginning.

    """
    gaps = record.gaps(state.runs)
    end = 0
    for turn in record.turns(state):
        end = turn.start_byte + turn.length
        there = reader.read(turn.start_byte, end)
        if sha256(there).digest() != turn.digest:
            cut = next((gap for gap in gaps if gap.start_byte <= reader.size < gap.end_byte == turn.start_byte), None)
            if cut:
                return cut.first_turn, cut.start_byte, reader.size
            held = record.turn_bytes(turn.object)
            same = next(
                (at for at, (one, other) in enumerate(zip(there, held, strict=False)) if one != other),
                min(len(there), len(held)),
            )
            return turn.number, turn.start_byte, min(turn.start_byte + same, reader.size)
    if gaps:
        return gaps[0].first_turn, gaps[0].start_byte, gaps[0].start_byte
    return state.turns, end, min(end, reader.size)


def _refusal(
    record: Record, state: State, reader: SourceReader, name: str, place: tuple[int, int]
) -> NameTaken | HistoryRewritten:
    turn, byte = place
    gaps: Sequence[Gap] = record.gaps(state.runs)
    facts: dict[str, Any] = {"transcript": name, "turn": turn, "byte": byte}
    facts |= {"source_bytes": reader.size, "held_source_bytes": state.entry.source_bytes}
    inside = next((gap for gap in gaps if gap.start_byte == byte < reader.size), None)
    if inside:
        message = (
            f"{name}: the source is not the one that was captured; the difference lies in bytes that were left out, "
        )
        message += f"{inside.start_byte} to {inside.end_byte}, or behind them"
        return HistoryRewritten(message, **facts)
    if turn == 0 and byte < reader.size and state.turns:
        message = f"{name}: another conversation has this name; the source differs from turn 0, byte {byte}, on"
        return NameTaken(message, **facts)
    if byte >= reader.size:
        message = f"{name}: the source was cut short: it ends at byte {byte}, in turn {turn}; "
        message += f"{state.entry.source_bytes} bytes of it were captured"
        return HistoryRewritten(message, **facts)
    return HistoryRewritten(f"{name}: the source differs from what is held from turn {turn}, byte {byte}, on", **facts)
