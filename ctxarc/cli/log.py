"""``ctxarc log``: a line a turn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import click

from ctxarc.auxiliary.records import ROLES
from ctxarc.cli.arguments import InWords, archive_argument, as_utf8, at_option
from ctxarc.cli.incomplete import note_incomplete
from ctxarc.cli.options import Command, common_options
from ctxarc.cli.output import Output, one_line, printable
from ctxarc.cli.terminal import columns, fit, pad, size, when
from ctxarc.errors import BadUsage
from ctxarc.model import SegmentRow, TurnRow, as_json
from ctxarc.operations.log import log as list_turns
from ctxarc.operations.log import log_segments
from ctxarc.operations.ls import names

Row = TypeVar("Row", TurnRow, SegmentRow)

_ROLE_CELLS = 9
_ROOM_FOR_CITATION = 100
_LEAST_TEXT = 8
_SPAN_CELLS = 13
_MINUTE, _SECOND = 16, 19
"""Characters of a time up to its minute, and to its second."""
_COLORS = {"user": "green", "assistant": "cyan", "tool": "yellow"}


@click.command("log", cls=Command)
@archive_argument
@click.argument("name", required=False, type=as_utf8)
@click.option("-n", "--lines", cls=InWords, type=click.IntRange(min=1), metavar="N", help="List the last N turns only.")
@click.option(
    "--role",
    type=as_utf8,
    metavar="ROLE",
    help="List turns of ROLE only: user, assistant, tool, system, event or unknown.",
)
@click.option("--scheme", metavar="SCHEME", help="List the segments of SCHEME instead of whole turns.")
@at_option
@common_options
def command(
    out: Output,
    archive: Path,
    name: str | None,
    lines: int | None,
    role: str | None,
    scheme: str | None,
    at: int | None,
) -> int:
    """List turns.

    A line a turn: number, role, time (UTC), bytes, a citation where there is room, and the first words. The number is
    an address for `ctxarc cat` and `ctxarc show`. NAME chooses one transcript of several.

    \b
      ctxarc log work.ctxa -n 20
      ctxarc log work.ctxa 0d5e1c52 --role user
      ctxarc log work.ctxa --scheme boundary-v1 -n 20    segments
    """  # noqa: D301 - click reads the control character as "keep these lines"
    if role is not None and role not in ROLES:
        raise BadUsage(f"{role!r} is no role of a turn", hint=f"a role is one of {', '.join(sorted(ROLES))}", role=role)
    chosen = [] if name is None else [name.removesuffix("#")]
    if scheme is not None:
        if role is not None:
            raise BadUsage("--role is of turns, and --scheme lists segments; give one of them")
        several = name is None and not out.json and len(names(archive, at=at)) > 1
        for segment in _headed(out, log_segments(archive, name, scheme=scheme, at=at, last=lines), several=several):
            _print_segment(out, segment)
        note_incomplete(out, archive, chosen, at=at)
        return 0
    rows = list_turns(archive, name, at=at, role=role, last=lines)
    if out.json:
        for row in rows:
            out.object(as_json(row))
        note_incomplete(out, archive, chosen, at=at)
        return 0
    several = name is None and len(names(archive, at=at)) > 1
    width = columns(out)
    for row in _headed(out, rows, several=several):
        _print_turn(out, row, width)
    note_incomplete(out, archive, chosen, at=at)
    return 0


def _headed(out: Output, rows: Iterator[Row], *, several: bool) -> Iterator[Row]:
    """The rows, with the name of each transcript printed before its first where there are ``several``."""
    current = None
    for row in rows:
        if several and row.transcript != current:
            out.line(out.paint(printable(row.transcript) + "#", bold=True))
            current = row.transcript
        yield row


def _print_segment(out: Output, row: SegmentRow) -> None:
    if out.json:
        out.object(as_json(row))
        return
    place = f"{row.turn:6}:{pad(f'{row.start_byte}-{row.end_byte}', _SPAN_CELLS)}  "
    line = place + f"{pad(size(row.bytes), 8, right=True)}  "
    width = columns(out)
    room = None if width is None else max(width - len(line), _LEAST_TEXT)
    out.line(line + fit(one_line(row.text), room))


def _print_turn(out: Output, row: TurnRow, width: int | None) -> None:
    wide = width is None or width >= _ROOM_FOR_CITATION
    role = pad(fit(one_line(row.role), _ROLE_CELLS), _ROLE_CELLS)
    start = f"{row.turn:6}  "
    time = _SECOND if wide else _MINUTE
    middle = f"  {pad(when(row.time)[:time], time)}  {pad(size(row.bytes), 8, right=True)}  "
    if wide:
        middle += f"{row.cite[:21]}  "
    room = None if width is None else max(width - len(start) - _ROLE_CELLS - len(middle), _LEAST_TEXT)
    out.line(start + out.paint(role, _COLORS.get(row.role)) + middle + fit(one_line(row.text), room))
