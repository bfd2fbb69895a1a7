"""What captures added to an archive: the new turns of each transcript, and those that they took the place of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from ctxarc.errors import BadUsage, NoSuchCapture
from ctxarc.model import Addition, AdditionsResult, ReplacedTurns, TurnRow
from ctxarc.operations.log import log
from ctxarc.operations.progress import quiet, told
from ctxarc.operations.view import View
from ctxarc.preservation.entry import Run, Runs
from ctxarc.preservation.record import Record

if TYPE_CHECKING:
    from pathlib import Path

    from ctxarc.operations.progress import Progress
    from ctxarc.preservation.record import Capture, State, Turn

LIMIT = 100
"""Rows of new turns that are given where no other number is asked for."""


class _Steps(NamedTuple):
    """The captures of one transcript in a span, and the one before them, if there is one."""

    before: Capture | None
    captures: list[Capture]


class _Added(NamedTuple):
    """What was added to one transcript: as data, and the numbers of the new turns with those behind the first."""

    row: Addition
    new: Sequence[int]
    tail: int


def additions(
    archive: Path,
    capture: int | None = None,
    *,
    since: int | None = None,
    limit: int = LIMIT,
    progress: Progress = quiet,
) -> AdditionsResult:
    """What one capture added, or several.

    Args:
        archive: the archive.
        capture: the capture; the last one, where it is ``None``.
        since: the capture behind which those begin that are meant, up to ``capture``; 0 for all.
        limit: rows of new turns that are given at most.
        progress: told how many bytes of turns of a transcript were looked at.

    Raises:
        NoSuchCapture: there is no such capture.
        BadUsage: ``since`` comes behind ``capture``, or ``limit`` is negative.

    """
    if limit < 0:
        raise BadUsage(f"{limit} rows cannot be given", limit=limit)
    with Record(archive) as record:
        end = record.head.captures if capture is None else capture
        captures = record.captures_to(end) if end or since != 0 else []
        start = end - 1 if since is None else since
        _check_start(start, end, record.head.captures)
        added = [_added(record, steps, progress) for _, steps in sorted(_steps(captures, start).items())]
        rows = islice(_rows(archive, added, None if end == record.head.captures else end), limit)
        return AdditionsResult(
            archive=str(archive),
            archive_digest=record.head.root.hex(),
            since=start,
            capture=end,
            new_turns=sum(each.row.new_turns for each in added),
            replaced_turns=sum(replaced.turns for each in added for replaced in each.row.replaced),
            bytes=sum(each.row.bytes for each in added),
            complete=all(each.row.complete for each in added),
            transcripts=tuple(each.row for each in added),
            total=sum(len(each.new) for each in added),
            rows=tuple(rows),
        )


def _check_start(start: int, end: int, there: int) -> None:
    if not 0 <= start <= there:
        message = f"no capture {start}; the archive has {there}, counted from 1"
        raise NoSuchCapture(message, capture=start, captures=there)
    if start > end:
        hint = "`since` is the capture before the first one that is meant"
        raise BadUsage(f"capture {start} comes behind capture {end}", hint=hint, since=start, capture=end)


def _steps(captures: Sequence[Capture], start: int) -> dict[bytes, _Steps]:
    """The transcripts that captures behind ``start`` are of, by their names."""
    before: dict[bytes, Capture] = {}
    found: dict[bytes, _Steps] = {}
    for each in captures:
        if each.number <= start:
            before[each.name] = each
        else:
            found.setdefault(each.name, _Steps(before.get(each.name), [])).captures.append(each)
    return found


def _added(record: Record, steps: _Steps, progress: Progress) -> _Added:
    last = steps.captures[-1]
    state = record.state(last.entry.transcript, last.offset)
    before = record.state(last.entry.transcript, steps.before.offset) if steps.before else None
    kept = min([before.turns if before else 0, *(each.entry.keep for each in steps.captures)])
    there = {turn.number: turn.object for turn in _behind(record, before, kept, progress)}
    tail = list(_behind(record, state, kept, progress))
    new = [turn for turn in tail if there.get(turn.number) != turn.object]
    row = Addition(
        transcript=state.name.decode(),
        captures=tuple(each.number for each in steps.captures),
        turns=state.turns,
        kept_turns=kept,
        new_turns=len(new),
        first_new_turn=new[0].number if new else None,
        last_new_turn=new[-1].number if new else None,
        bytes=sum(turn.length for turn in new),
        replaced=tuple(_replaced(record, steps)),
        complete=state.complete,
        omitted=View(record).omitted(state),
    )
    behind = sum(turn.number >= new[0].number for turn in tail) if new else 0
    return _Added(row, [turn.number for turn in new], behind)


def _behind(record: Record, state: State | None, keep: int, progress: Progress) -> Iterator[Turn]:
    """The held turns of a state from number ``keep`` on."""
    if state is not None and keep < state.turns:
        turns = told(record.turns(state), progress, "reading")
        yield from (turn for turn in turns if turn.number >= keep)


def _replaced(record: Record, steps: _Steps) -> Iterator[ReplacedTurns]:
    """The turns that each capture took the place of; one that it stored again at its number is none."""
    before = steps.before
    runs = Runs(record.state(before.entry.transcript, before.offset).runs if before else ())
    for each in steps.captures:
        keep = each.entry.keep
        dropped = dict(_numbered(runs.keep(keep)[::-1], keep))
        runs.extend(each.entry.runs)
        if before and dropped:
            there = dict(_numbered(each.entry.runs, keep))
            gone = [number for number, object_ in dropped.items() if there.get(number) != object_]
            if gone:
                size = sum(record.objects.row(dropped[number]).length for number in gone)
                yield ReplacedTurns(gone[0], gone[-1], len(gone), size, before.number)
        before = each


def _numbered(runs: Sequence[Run], first: int) -> Iterator[tuple[int, int]]:
    """The held turns of runs that begin at turn ``first``: number and object."""
    for run in runs:
        if run.first >= 0:
            yield from zip(range(first, first + run.turns), range(run.first, run.first + run.turns), strict=True)
        first += run.turns


def _rows(archive: Path, added: Sequence[_Added], at: int | None) -> Iterator[TurnRow]:
    """The new turns as ``log`` lists them, in order; turns before the first one are not read."""
    for each in added:
        if each.new:
            new = set(each.new)
            rows = log(archive, each.row.transcript, at=at, last=each.tail)
            yield from (row for row in rows if row.turn in new)
