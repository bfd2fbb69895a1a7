"""``ctxarc ls``: a line a transcript, or a line a capture."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from ctxarc.cli.arguments import archive_argument, at_option
from ctxarc.cli.options import Command, common_options
from ctxarc.cli.output import Output, one_line, printable
from ctxarc.cli.terminal import columns, fit, size, table, when
from ctxarc.errors import BadUsage
from ctxarc.model import CaptureRow, TranscriptRow, as_json
from ctxarc.operations.ls import captures as list_captures
from ctxarc.operations.ls import ls as list_transcripts

_LEAST_NAME = 24


@click.command("ls", cls=Command)
@archive_argument
@click.option("--captures", is_flag=True, help="List captures in place of transcripts.")
@at_option
@common_options
def command(out: Output, archive: Path, captures: bool, at: int | None) -> int:
    """List transcripts, or captures.

    A line a transcript: name, turns, bytes, last time (UTC), and the first words of the conversation. On a terminal,
    names are cut to fit; a unique prefix of a name is as good as the name.
    """
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


def _name(out: Output, name: str) -> str:
    """A name in at most a third of the terminal."""
    width = columns(out)
    return fit(printable(name), None if width is None else max(_LEAST_NAME, width // 3))


def _print_transcripts(out: Output, rows: Iterable[TranscriptRow]) -> None:
    lines = [
        (
            _name(out, row.transcript),
            f"{row.turns:,}",
            size(row.bytes),
            when(row.last_time)[:16],
            ("" if row.complete else "(incomplete) ") + one_line(row.text),
        )
        for row in rows
    ]
    if lines:
        table(out, ("transcript", "turns", "size", "last (UTC)", "first words"), lines, right=frozenset({1, 2}))


def _print_captures(out: Output, rows: Iterable[CaptureRow]) -> None:
    lines = [
        (
            str(row.capture),
            f"{row.turns:,}",
            f"+{row.new_turns:,}",
            size(row.source_bytes),
            row.source_sha256[:16],
            printable(row.transcript) + ("" if row.complete else "  (incomplete)"),
        )
        for row in rows
    ]
    if lines:
        head = ("capture", "turns", "new", "source", "sha256", "transcript")
        table(out, head, lines, right=frozenset({0, 1, 2, 3}))
