"""What ``ctxarc capture`` prints of what was stored, refused, or would be."""

from __future__ import annotations

import shlex
from typing import Any

from ctxarc.cli.output import Output, printable
from ctxarc.cli.terminal import gap_words, name_room, plural, shorten, size, table
from ctxarc.errors import Refusal, Refused, every_refusal
from ctxarc.model import CapturePlan, CaptureReport, CaptureResult, RefusedSource, as_json

_ODDITIES = {
    "torn": ("last line unfinished", "{} lines unfinished"),
    "not_json": ("1 line not JSON", "{} lines not JSON"),
    "glued": ("1 line of several values", "{} lines of several values"),
    "blank": ("1 blank line", "{} blank lines"),
}
"""What is said of one, and of several, new turns of each shape that is not one JSON value."""


def print_one(out: Output, result: CaptureResult, own: str) -> int:
    """Print a capture of one source, named ``own``, and of what it brought with it; its refusal is raised."""
    for refused in result.refused:
        if refused.transcript == own:
            raise _again(refused.refusal)
    if not out.json:
        return _print_text(out, result)
    fields = _whole(result)
    fields.update(next(as_json(report) for report in result.transcripts if report.transcript == own))
    if len(result.transcripts) > 1:
        fields["transcripts"] = as_json(result.transcripts)
    if result.refused:
        fields["refused"] = as_json(result.refused)
    out.object(fields, ok=not result.refused)
    return _status(result)


def print_several(out: Output, result: CaptureResult) -> int:
    """Print a capture of several sources; those that were refused are said one by one."""
    if not out.json:
        return _print_text(out, result)
    lists = {"transcripts": as_json(result.transcripts), "refused": as_json(result.refused)}
    out.object(_whole(result) | lists, ok=not result.refused)
    return _status(result)


def print_plan(out: Output, plan: CapturePlan) -> None:
    """Print what a capture would do: a row a source, then what would be refused, and why."""
    if out.json:
        out.object(as_json(plan))
        return
    room = name_room(out)
    rows = [
        (
            shorten(printable(each.transcript), room),
            each.status,
            size(each.source_bytes),
            f"+{size(each.new_bytes)}",
            "" if each.days_left is None else str(each.days_left),
        )
        for each in plan.transcripts
    ]
    known = any(each.days_left is not None for each in plan.transcripts)
    head = ("transcript", "status", "size", "new", "days left")
    if rows:
        shown = len(head) if known else len(head) - 1
        table(out, head[:shown], [row[:shown] for row in rows], right=frozenset({2, 3, 4}))
    out.flush()
    for each in plan.transcripts:
        if each.refusal is not None:
            out.refuse(_again(each.refusal))
    if known:
        out.note("days left: until Claude Code deletes the file (its setting cleanupPeriodDays)")
    out.note(f"dry run: {size(sum(each.new_bytes for each in plan.transcripts))} to store, nothing was written")


def _whole(result: CaptureResult) -> dict[str, Any]:
    return {
        "archive": result.archive,
        "archive_digest": result.archive_digest,
        "archive_bytes": result.archive_bytes,
        **({"indexes": as_json(result.indexes)} if result.indexes else {}),
    }


def _status(result: CaptureResult) -> int:
    return Refused("").status if result.refused else 0


def _again(said: dict[str, Any]) -> Refusal:
    """The refusal of a source, as it was before it became data."""
    kind = next(kind for kind in every_refusal() if kind.code == said["code"])
    return kind(said["message"], hint=said["hint"], **said["facts"])


def _print_text(out: Output, result: CaptureResult) -> int:
    if not out.quiet:
        _print_stored(out, result)
        out.flush()
    for refused in result.refused:
        out.refuse(_again(refused.refusal))
    for each in result.indexes:
        if each.refusal is not None:
            out.refuse(_again(each.refusal))
    if result.refused:
        out.note(f"{_of_all(result.refused, result)} refused, for the reasons above; the others are stored")
    elif result.transcripts and all(report.new_turns == report.turns for report in result.transcripts):
        verb = "log" if len(result.transcripts) == 1 else "ls"
        out.note(f"next: ctxarc {verb} {shlex.quote(result.archive)}")
    return _status(result)


def _of_all(refused: tuple[RefusedSource, ...], result: CaptureResult) -> str:
    return f"{len(refused):,} of {plural(len(refused) + len(result.transcripts), 'source')}"


def _print_stored(out: Output, result: CaptureResult) -> None:
    changed = [report for report in result.transcripts if not report.unchanged]
    shown = changed if len(result.transcripts) > 1 else result.transcripts
    rows = [_cells(out, report) for report in shown]
    if rows:
        head = ("transcript", "turns", "new", "size", "of the new turns")
        width = len(head) if any(row[-1] for row in rows) else len(head) - 1
        table(out, head[:width], [row[:width] for row in rows], right=frozenset({1, 2, 3}))
    if len(result.transcripts) > len(shown):
        out.line(f"{plural(len(result.transcripts) - len(shown), 'transcript')} unchanged")
    for report in shown:
        if not report.complete:
            name = f"{printable(report.transcript)}: " if len(shown) > 1 else ""
            out.line(out.paint(f"incomplete  {name}{gap_words(report.omitted)}", "yellow"))
    if not result.archive_bytes:  # every source was refused, and no archive was made
        return
    out.line(f"archive  {printable(result.archive)}, {size(result.archive_bytes)}")
    out.line(f"digest   {result.archive_digest}")
    for each in result.indexes:
        if each.refusal is not None:
            out.line(out.paint(f"index    {printable(each.scheme)}: not extended", "yellow"))
        elif each.new_segments:
            out.line(f"index    {printable(each.scheme)}, +{each.new_segments:,}")


def _cells(out: Output, report: CaptureReport) -> tuple[str, str, str, str, str]:
    counts = {kind: getattr(report, kind) for kind in _ODDITIES}
    said = [_ODDITIES[kind][count > 1].format(f"{count:,}") for kind, count in counts.items() if count]
    new = "unchanged" if report.unchanged else f"+{report.new_turns:,}"
    name = shorten(printable(report.transcript), name_room(out))
    return (name, f"{report.turns:,}", new, size(report.source_bytes), ", ".join(said))
