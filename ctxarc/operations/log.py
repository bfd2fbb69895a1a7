"""``log``: the turns of a transcript, a row each."""

from __future__ import annotations

import sys
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING

from ctxarc.auxiliary.projection import views
from ctxarc.auxiliary.records import excerpt, read_record
from ctxarc.model import SegmentRow, TurnRow
from ctxarc.operations.indexes import choose
from ctxarc.operations.segment_ids import segment_id
from ctxarc.operations.view import View
from ctxarc.preservation.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ctxarc.auxiliary.segments.index import Index
    from ctxarc.preservation.record import State, Turn

_EXCERPT = 200
"""Characters of the text of a segment that are listed."""


def log(  # noqa: PLR0913 - what is listed
    archive: Path,
    name: str | None = None,
    *,
    at: int | None = None,
    role: str | None = None,
    last: int | None = None,
    skip: int = 0,
) -> Iterator[TurnRow]:
    """The turns of the transcript ``name``, or of all, in order.

    Args:
        archive: the archive.
        name: a name, or the beginning of one.
        at: the capture after which the archive is looked at.
        role: only turns of this role.
        last: only so many rows, the last ones.
        skip: so many turns at the beginning are passed over, unread.

    """
    last = None if last is None else min(last, sys.maxsize)
    with Record(archive) as record:
        view = View(record, at)
        turns: Iterator[tuple[State, Turn]] = (
            (state, turn)
            for state in view.chosen([] if name is None else [name.removesuffix("#")])
            for turn in record.turns(state)
        )
        turns = islice(turns, skip, None)
        if last is not None and role is None:
            turns = iter(deque(turns, last))
        rows = (_row(record, state, turn) for state, turn in turns)
        chosen = (row for row in rows if role is None or row.role == role)
        yield from chosen if last is None else deque(chosen, last)


def turns_listed(archive: Path, name: str | None = None, *, at: int | None = None) -> int:
    """How many rows :func:`log` has of a transcript, or of all, without telling roles apart."""
    with Record(archive) as record:
        states = View(record, at).chosen([] if name is None else [name.removesuffix("#")])
        return sum(run.turns for state in states for run in state.runs if run.first >= 0)


def log_segments(
    archive: Path, name: str | None = None, *, scheme: str, at: int | None = None, last: int | None = None
) -> Iterator[SegmentRow]:
    """The segments of the turns of a transcript, or of all, in order.

    Args:
        archive: the archive.
        name: a name, or the beginning of one.
        scheme: the scheme whose segments.
        at: the capture after which the archive is looked at.
        last: only so many rows, the last ones.

    """
    with Record(archive) as record:
        index = choose(record, scheme)
        view = View(record, at)
        rows = (
            row
            for state in view.chosen([] if name is None else [name.removesuffix("#")])
            for turn in record.turns(state)
            for row in _segments(record, state, turn, index)
        )
        yield from rows if last is None else deque(rows, min(last, sys.maxsize))


def _segments(record: Record, state: State, turn: Turn, index: Index) -> Iterator[SegmentRow]:
    ends = index.ends(turn.object, turn.digest, turn.length)
    if not ends:
        return
    digest = turn.digest.hex()
    for start, end, text in views(bytes(record.turn_bytes(turn.object)), ends):
        yield SegmentRow(
            transcript=state.name.decode(),
            turn=turn.number,
            start_byte=start,
            end_byte=end,
            bytes=end - start,
            turn_sha256=digest,
            id=segment_id(digest, start, end),
            scheme=index.scheme,
            complete=state.complete,
            text=text[:_EXCERPT],
        )


def _row(record: Record, state: State, turn: Turn) -> TurnRow:
    read = read_record(bytes(record.turn_bytes(turn.object)))
    digest = turn.digest.hex()
    return TurnRow(
        transcript=state.name.decode(),
        turn=turn.number,
        role=read.role,
        time=read.time,
        bytes=turn.length,
        transcript_start_byte=turn.start_byte,
        turn_sha256=digest,
        cite=f"ctxa:{digest}",
        complete=state.complete,
        text=excerpt(read),
    )
