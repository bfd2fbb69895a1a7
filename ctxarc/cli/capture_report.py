"""What ``ctxarc capture`` prints of what was stored, refused, or would be."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from ctxarc.cli.output import Output, one_line, printable
from ctxarc.cli.terminal import plural, size, table
from ctxarc.errors import Refusal, Refused, every_refusal
from ctxarc.model import CapturePlan, CaptureReport, CaptureResult, PlannedSource, RefusedSource, as_json

_ODDITIES = {
    "not_json": "not JSON",
    "glued": "with several values on a line",
    "torn": "unfinished",
    "blank": "blank",
}


def print_one(out: Output, result: CaptureResult, own: str) -> int:
    """Print a capture of one source, named ``own``, and of what it brought with it; its refusal is raised."""
    for refused in result.refused:
        if refused.transcript == own:
            raise _again(refused)
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
    """Print what a capture would do."""
    if out.json:
        out.object(as_json(plan))
        return
    rows = [
        (each.status, size(each.source_bytes), f"+{size(each.new_bytes)}", _planned(each)) for each in plan.transcripts
    ]
    if rows:
        table(out, ("status", "size", "new", "transcript"), rows, right=frozenset({1, 2}))
    out.note(f"dry run: {size(sum(each.new_bytes for each in plan.transcripts))} to store, nothing written")


def _planned(each: PlannedSource) -> str:
    facts = []
    if each.days_left is not None:
        facts.append(f"its client deletes it in {plural(each.days_left, 'day')}")
    if each.refusal is not None:
        facts.append(f"{each.refusal['code']}: {one_line(str(each.refusal['message']))}")
    return printable(each.transcript) + "".join(f"  ({fact})" for fact in facts)


def _whole(result: CaptureResult) -> dict[str, Any]:
    return {
        "archive": result.archive,
        "archive_digest": result.archive_digest,
        "archive_bytes": result.archive_bytes,
    }


def _status(result: CaptureResult) -> int:
    return Refused("").status if result.refused else 0


def _again(refused: RefusedSource) -> Refusal:
    """The refusal of a source, as it was before it became data."""
    said: dict[str, Any] = refused.refusal
    kind = next(kind for kind in every_refusal() if kind.code == said["code"])
    return kind(said["message"], hint=said["hint"], **said["facts"])


def _print_text(out: Output, result: CaptureResult) -> int:
    if not out.quiet:
        _print_stored(out, result)
    for refused in result.refused:
        out.refuse(_again(refused))
    fresh = result.transcripts and all(report.new_turns == report.turns for report in result.transcripts)
    if fresh and not result.refused and result.transcripts[0].capture == 1:
        out.note(f"next: ctxarc log {shlex.quote(result.archive)}")
    return _status(result)


def _print_stored(out: Output, result: CaptureResult) -> None:
    changed = [report for report in result.transcripts if not report.unchanged]
    shown = changed if len(result.transcripts) > 1 else result.transcripts
    if shown:
        table(
            out,
            ("turns", "new", "size", "transcript"),
            [_cells(report) for report in shown],
            right=frozenset({0, 1, 2}),
        )
    unchanged = len(result.transcripts) - len(shown)
    if unchanged:
        out.line(f"{plural(unchanged, 'transcript')} unchanged")
    out.line(f"digest {result.archive_digest}  {printable(result.archive)}, {size(result.archive_bytes)}")


def _cells(report: CaptureReport) -> Sequence[str]:
    facts = [f"{getattr(report, kind):,} {words}" for kind, words in _ODDITIES.items() if getattr(report, kind)]
    if report.unchanged:
        facts.append("unchanged")
    if not report.complete:
        facts.append(f"incomplete: {size(sum(gap.end_byte - gap.start_byte for gap in report.omitted))} left out")
    name = printable(report.transcript) + (f"  ({', '.join(facts)})" if facts else "")
    return (f"{report.turns:,}", f"+{report.new_turns:,}", size(report.source_bytes), name)
