"""``ctxarc ls``: a line a transcript, or a line a capture."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from ctxarc.cli.arguments import archive_argument, at_option
from ctxarc.cli.options import Command, common_options
from ctxarc.cli.output import Output, one_line, printable
from ctxarc.cli.terminal import columns, name_room, shorten, size, table, when
from ctxarc.errors import BadUsage
from ctxarc.model import CaptureRow, TranscriptRow, as_json
from ctxarc.operations.ls import captures as list_captures
from ctxarc.operations.ls import ls as list_transcripts

_WIDE = 100
"""Columns of a terminal from which on all is shown."""
_DAY, _MINUTE = 10, 16
"""Characters of a time up to its day, and to its minute."""


@click.command("ls", cls=Command)
@archive_argument
@click.option("--captures", is_flag=True, help="List captures, oldest first, and not transcripts.")
@at_option
@common_options
def command(out: Output, archive: Path, captures: bool, at: int | None) -> int:
    """List transcripts, or captures.

    A line a transcript: name, turns, bytes, last time (UTC) and the first words of the conversation. On a terminal,
    long names are cut in their middle; any beginning of a name that no other name has is as good as the name.

    \b
      ctxarc ls work.ctxa
      ctxarc ls work.ctxa --at 3      as it was after capture 3
      ctxarc ls work.ctxa --captures
    """  # noqa: D301 - click reads the control character as "keep these lines"
    if captures and at is not None:
        raise BadUsage("--at chooses a state, and --captures lists them all; give one of them")
    if out.json:
        for row in list_captures(archive) if captures else list_transcripts(archive, at=at):
            out.object(as_json(row))
    elif captures:
        _print_captures(out, list_captures(archive))
    else:
        _print_transcripts(out, list_transcripts(archive, at=at))
    return 0


def _print_transcripts(out: Output, rows: Iterable[TranscriptRow]) -> None:
    room, narrow = name_room(out), (columns(out) or _WIDE) < _WIDE
    lines = [
        (
            shorten(printable(row.transcript), room),
            f"{row.turns:,}",
            size(row.bytes),
            when(row.last_time)[: _DAY if narrow else _MINUTE],
            ("" if row.complete else "(incomplete) ") + one_line(row.text),
        )
        for row in rows
    ]
    if lines:
        table(out, ("transcript", "turns", "size", "last (UTC)", "first words"), lines, right=frozenset({1, 2}))
    else:
        out.note("no transcripts")


def _print_captures(out: Output, rows: Iterable[CaptureRow]) -> None:
    narrow = (columns(out) or _WIDE) < _WIDE
    lines = [
        (
            str(row.capture),
            when(str(row.not_proved.get("captured") or ""))[:_MINUTE],
            f"{row.turns:,}",
            f"+{row.new_turns:,}",
            size(row.source_bytes),
            *([] if narrow else [row.source_sha256[:16]]),
            ("" if row.complete else "(incomplete) ") + printable(row.transcript),
        )
        for row in rows
    ]
    if lines:
        digest = [] if narrow else ["source sha256"]
        head = ("capture", "made (UTC)", "turns", "new", "source", *digest, "transcript")
        table(out, head, lines, right=frozenset({0, 2, 3, 4}))
    else:
        out.note("no captures")
