"""``ctxarc info``: what an archive holds, in both planes, and what it cost."""

from __future__ import annotations

from pathlib import Path

import click

from ctxarc.cli.arguments import archive_argument
from ctxarc.cli.options import Command, common_options
from ctxarc.cli.output import Output, printable
from ctxarc.cli.terminal import cell_width, columns, fit, pad, plural, size
from ctxarc.model import ArchiveInfo, as_json
from ctxarc.operations.info import info

_BAR_CELLS = 24
_NAMES_SHOWN = 5


@click.command("info", cls=Command)
@archive_argument
@click.option("--digest", is_flag=True, help="Print `DIGEST  NAME.ctxa` and nothing else.")
@common_options
def command(out: Output, archive: Path, digest: bool) -> int:
    """Say what an archive holds and what it costs.

    Two planes: the record, which holds every byte, and what was computed from it, which can be computed again.
    """
    held = info(archive)
    if out.json:
        out.object(as_json(held))
    elif digest:
        out.line(f"{held.archive_digest}  {printable(held.archive)}")
    else:
        _print_summary(out, held)
        _print_plane(out, held, "record", held.record)
        _print_plane(out, held, "computed from it", held.auxiliary)
    return 0


def _print_summary(out: Output, held: ArchiveInfo) -> None:
    out.line(f"{out.paint(printable(held.archive), bold=True)}  format {held.format_version}")
    out.line(f"digest       {held.archive_digest}")
    out.line(f"transcripts  {held.transcripts:,} in {plural(held.captures, 'capture')}")
    out.line(f"turns        {held.turns:,}, {held.objects:,} different ones held")
    out.line(f"bytes        {size(held.bytes)} in {size(held.archive_bytes)}, {held.ratio:.1f} : 1")
    for state in held.incomplete[:_NAMES_SHOWN]:
        left_out = sum(gap.end_byte - gap.start_byte for gap in state.omitted)
        out.line(out.paint(f"incomplete   {printable(state.transcript)} lacks {size(left_out)}", "yellow"))
    if len(held.incomplete) > _NAMES_SHOWN:
        out.line(out.paint(f"incomplete   and {len(held.incomplete) - _NAMES_SHOWN} more", "yellow"))


def _print_plane(out: Output, held: ArchiveInfo, title: str, kinds: dict[str, dict[str, int]]) -> None:
    """A tree of kinds of files, each with its share of the archive as a bar."""
    out.line()
    out.line(f"{out.paint(title, bold=True)}  {size(sum(kind['bytes'] for kind in kinds.values()))}")
    width = max((cell_width(printable(name)) for name in kinds), default=0)
    for number, (name, kind) in enumerate(kinds.items(), 1):
        branch = "└── " if number == len(kinds) else "├── "
        share = kind["bytes"] / held.archive_bytes if held.archive_bytes else 0.0
        bar = "█" * round(share * _BAR_CELLS)
        facts = f"{pad(size(kind['bytes']), 8, right=True)}  {pad(plural(kind['files'], 'file'), 10)}  {share:4.0%}  "
        line = fit(f"{branch}{pad(printable(name), width)}  {facts}", columns(out))
        out.line((line + out.paint(bar, "cyan")).rstrip())
