"""``segment --cuts``: a user's own cuts, checked to cover every turn that they name exactly once, as an index."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from ctxarc.auxiliary.projection import PROJECTION
from ctxarc.auxiliary.segments import SCHEMES, index
from ctxarc.auxiliary.segments.index import NAME, Index
from ctxarc.auxiliary.segments.part import About, Cuts
from ctxarc.auxiliary.segments.places import safe
from ctxarc.auxiliary.words import index as word_index
from ctxarc.errors import BadName, NotAPartition, WouldOverwrite
from ctxarc.operations.cutting import words_of
from ctxarc.operations.indexes import check_fit, measure
from ctxarc.operations.segment import result_of
from ctxarc.operations.side_writer import SideWriter
from ctxarc.operations.view import View
from ctxarc.preservation.record import check_mark

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from ctxarc.model import SegmentResult
    from ctxarc.preservation.record import Record


class _Row(NamedTuple):
    """A segment of the file: its line, and where it is."""

    line: int
    transcript: str | None
    turn: int
    start: int
    end: int


def own_cuts(  # noqa: PLR0913 - what is to be done, and with which file
    archive: Path,
    name: str,
    lines: Iterable[bytes],
    *,
    label: str,
    words: bool = True,
    rebuild: bool = False,
    lock_wait: float = 10.0,
) -> SegmentResult:
    """Make an index called ``name`` of a user's own cuts, or add to it.

    Args:
        archive: the archive.
        name: the index's name, which no scheme has.
        lines: JSON objects with ``turn``, ``start`` and ``end`` (or ``start_byte``, ``end_byte``), and ``transcript``
            where the archive holds several; in any order.
        label: what messages call the file.
        words: whether their word index is built too; one that is there is dropped, else.
        rebuild: whether what the index held before is dropped.
        lock_wait: seconds to wait for another writer of either plane.

    Raises:
        BadName: the name cannot be used.
        NotAPartition: a line is no segment, or the segments of a turn do not cover it exactly once.
        NoSuchTurn, NoSuchTranscript, Ambiguous: which turn is meant.
        WouldOverwrite: the index has other cuts of the same turn.

    """
    _check_name(name)
    check_mark(archive)
    rows = list(_rows(lines, label))
    if not rows:
        raise NotAPartition(f"{label}: no segment in it", hint='a line is {"turn": 0, "start": 0, "end": 120}')
    with SideWriter(archive, lock_wait) as side:
        given, inside = _given(side.record, rows, label)
        before = None if rebuild else Index(archive, name)
        if before:
            check_fit(side.record, before)
        cuts = _merged(side.record, before, given)
        about = About(name, {}, PROJECTION, side.record.head.root.hex(), own=True)
        held = measure(side.record, before).segments if before else 0
        made = words_of(side.record, name, cuts) if words else {}
        with side.writing():
            index.add(archive, cuts, about, None)
            word_index.add(archive, name, made, [])
        result = result_of(side, name, None)
        return result._replace(new_segments=result.segments - held, cuts_inside_characters=inside)


def _check_name(name: str) -> None:
    if name in SCHEMES:
        raise BadName(f"{name} is a scheme of ctxarc; call your own cuts otherwise", hint="", name=name)
    if not NAME.fullmatch(name):
        hint = "1 to 64 characters: a to z, digits, and between them - _ ."
        raise BadName(f"{name!r} cannot be the name of an index", hint=hint, name=name)


def _rows(lines: Iterable[bytes], label: str) -> Iterator[_Row]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            fields: Any = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise NotAPartition(f"{label}, line {number}: not JSON ({error})", line=number) from error
        if not isinstance(fields, dict):
            raise NotAPartition(f"{label}, line {number}: no JSON object", line=number)
        yield _row(fields, number, label)


def _row(fields: dict[str, Any], number: int, label: str) -> _Row:
    transcript = fields.get("transcript")
    if transcript is not None and not isinstance(transcript, str):
        raise NotAPartition(f"{label}, line {number}: transcript is {transcript!r}, and no name", line=number)
    row = _Row(
        number,
        transcript,
        fields.get("turn", -1),
        fields.get("start", fields.get("start_byte", -1)),
        fields.get("end", fields.get("end_byte", -1)),
    )
    for name in ("turn", "start", "end"):
        value = getattr(row, name)
        if type(value) is not int or value < 0:
            raise NotAPartition(
                f"{label}, line {number}: {name} is missing, or no count of bytes or turns", line=number
            )
    return row


def _given(record: Record, rows: list[_Row], label: str) -> tuple[dict[int, list[int]], int]:
    """The ends of the segments of each object that is named, and how many cuts lie inside a character."""
    view = View(record)
    objects: dict[tuple[str | None, int], int] = {}
    segments: dict[int, set[tuple[int, int]]] = {}
    for row in rows:
        key = row.transcript, row.turn
        if key not in objects:
            objects[key] = record.object_of(view.pick(row.transcript), row.turn)
        segments.setdefault(objects[key], set()).add((row.start, row.end))
    named = {number: turn for (_, turn), number in objects.items()}
    ends = {}
    inside = 0
    for number in sorted(segments):
        turn = bytes(record.turn_bytes(number))
        _check_partition(sorted(segments[number]), len(turn), f"{label}: turn {named[number]}")
        ends[number] = sorted(end for _, end in segments[number])
        inside += sum(safe(turn, end, 0) != end for end in ends[number][:-1])
    return ends, inside


def _check_partition(spans: list[tuple[int, int]], length: int, label: str) -> None:
    at = 0
    for start, end in spans:
        if not start < end <= length:
            message = f"{label}: {start}-{end} is no range of its {length} bytes"
            raise NotAPartition(message, start_byte=start, end_byte=end, bytes=length)
        if start < at:
            raise NotAPartition(f"{label}: {start}-{end} covers the bytes from {start} again", start_byte=start)
        _check_gap(at, start, label)
        at = end
    _check_gap(at, length, label)


def _check_gap(at: int, start: int, label: str) -> None:
    if start > at:
        raise NotAPartition(f"{label}: no segment covers the bytes {at}-{start}", start_byte=at, end_byte=start)


def _merged(record: Record, before: Index | None, given: dict[int, list[int]]) -> Cuts:
    """All cuts of the index: those that it holds, and those that are given."""
    cuts = Cuts.empty(0)
    for number in range(record.head.objects):
        row = record.objects.row(number)
        held = list(before.ends(number, row.sha256, row.length)) if before else []
        mine = given.get(number, held)
        if held and mine != held:
            message = f"the index has other cuts of the turn {row.sha256.hex()}"
            raise WouldOverwrite(message, hint="--rebuild drops what it held", turn_sha256=row.sha256.hex())
        cuts.add(row.sha256, mine)
    return cuts
