"""``ls``: the transcripts of an archive, and its captures."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import chain, islice
from typing import TYPE_CHECKING

from ctxarc.auxiliary.records import excerpt, read_record
from ctxarc.model import ByteRange, CaptureRow, TranscriptRow, TranscriptState
from ctxarc.operations.view import View
from ctxarc.preservation.entry import Runs
from ctxarc.preservation.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from ctxarc.auxiliary.records import Record as Read
    from ctxarc.preservation.record import Capture, State

_LOOK = 40
"""Turns at either end of a transcript that are read for its times, project and first words."""


def ls(archive: Path, *, at: int | None = None) -> Iterator[TranscriptRow]:
    """The transcripts, in byte order of their names, in their newest state or in the one after capture ``at``."""
    with Record(archive) as record:
        view = View(record, at)
        for state in view.states():
            yield _row(view, state)


def _row(view: View, state: State) -> TranscriptRow:
    first = list(_read(view.record, _objects(state)))
    omitted = view.omitted(state)
    return TranscriptRow(
        transcript=state.name.decode(),
        turns=state.turns,
        bytes=state.entry.source_bytes - sum(gap.end_byte - gap.start_byte for gap in omitted),
        source_sha256=state.entry.source_sha256.hex(),
        complete=state.complete,
        omitted=omitted,
        first_time=next((read.time for read in first if read.time), None),
        last_time=next((read.time for read in _read(view.record, _objects(state, backwards=True)) if read.time), None),
        project=next((read.project for read in first if read.project), None),
        text=_first_words(first),
    )


def _objects(state: State, *, backwards: bool = False) -> Iterator[int]:
    """The objects of the first turns that are held, or of the last ones, from the last on."""
    step = -1 if backwards else 1
    runs = (range(run.first, run.first + run.turns)[::step] for run in state.runs[::step] if run.first >= 0)
    return islice(chain.from_iterable(runs), _LOOK)


def _read(record: Record, objects: Iterator[int]) -> Iterator[Read]:
    return (read_record(bytes(record.turn_bytes(number))) for number in objects)


def _first_words(records: Sequence[Read]) -> str:
    """The first thing that a user said, or the first thing that anybody did."""
    said = [read for read in records if any(part.kind == "text" and part.text.strip() for part in read.parts)]
    by_user = [read for read in said if read.role == "user"]
    return next((excerpt(read) for read in (*by_user, *said, *records) if excerpt(read)), "")


def names(archive: Path, *, at: int | None = None) -> list[str]:
    """The names of the transcripts, in byte order."""
    with Record(archive) as record:
        return View(record, at).names()


def incomplete(archive: Path, chosen: Sequence[str] = (), *, at: int | None = None) -> list[TranscriptState]:
    """Those of the transcripts ``chosen``, or of all, of whose source something was left out."""
    with Record(archive) as record:
        view = View(record, at)
        if at is None and not any(record.last_entry(number).partial for number in range(len(record.head.transcripts))):
            return []
        states = [state for state in view.chosen(chosen) if not state.complete]
        return [
            TranscriptState(state.name.decode(), state.entry.source_sha256.hex(), state.complete, view.omitted(state))
            for state in states
        ]


def captures(archive: Path) -> Iterator[CaptureRow]:
    """Every capture of the archive, in order."""
    with Record(archive) as record:
        states: dict[bytes, Runs] = {}
        for capture in islice(record.captures(), record.head.captures):
            runs = states.setdefault(capture.name, Runs())
            runs.keep(capture.entry.keep)
            runs.extend(capture.entry.runs)
            yield _capture_row(record, capture, runs)


def _capture_row(record: Record, capture: Capture, runs: Runs) -> CaptureRow:
    entry, origin = capture.entry, capture.origin
    gaps = record.gaps(runs.runs) if entry.partial else []
    return CaptureRow(
        capture=capture.number,
        transcript=capture.name.decode(),
        kept_turns=entry.keep,
        new_turns=sum(run.turns for run in entry.runs if run.first >= 0),
        turns=entry.turns,
        source_bytes=entry.source_bytes,
        source_sha256=entry.source_sha256.hex(),
        complete=not entry.partial,
        omitted=tuple(ByteRange(gap.start_byte, gap.end_byte) for gap in gaps),
        not_proved={
            "path": origin.path.decode("utf-8", "replace"),
            "modified": _time(entry.mtime_ns) if entry.mtime_ns else None,
            "captured": _time(entry.captured_ns),
            "host": origin.host.decode("utf-8", "replace"),
            "tool": origin.tool.decode("utf-8", "replace"),
        },
    )


def _time(nanoseconds: int) -> str | None:
    try:
        return datetime.fromtimestamp(nanoseconds / 1e9, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (OverflowError, ValueError, OSError):
        return None
