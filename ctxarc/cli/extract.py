"""``ctxarc extract``: transcripts back as files."""

from __future__ import annotations

from pathlib import Path

import click

from ctxarc.cli.arguments import archive_argument, as_utf8, at_option
from ctxarc.cli.options import Command, common_options
from ctxarc.cli.output import Output, printable
from ctxarc.cli.terminal import plural, size
from ctxarc.model import as_json
from ctxarc.operations.extract import extract


@click.command("extract", cls=Command)
@archive_argument
@click.argument("name", nargs=-1, type=as_utf8)
@click.option(
    "-C",
    "--directory",
    type=click.Path(path_type=Path),
    default=".",
    show_default="here",
    metavar="DIR",
    help="Where to.",
)
@at_option
@common_options
def command(out: Output, archive: Path, name: tuple[str, ...], directory: Path, at: int | None) -> int:
    """Write transcripts back as files, verified.

    Each goes to DIR/NAME.jsonl; folders are made, and no file is ever written over. Without a NAME all are written.
    What is printed are lines that `sha256sum -c` reads.
    """
    result = extract(archive, name, directory, at=at)
    if out.json:
        out.object(as_json(result))
        return 0
    if not out.quiet:
        for file in result.files:
            out.line(f"{file.sha256}  {printable(file.path)}")
    out.note(f"{plural(len(result.files), 'file')}, {size(sum(file.bytes for file in result.files))}, verified")
    for file in result.files:
        if not file.complete:
            left_out = sum(gap.end_byte - gap.start_byte for gap in file.omitted)
            out.note(f"incomplete: {file.transcript} lacks {size(left_out)} that its capture left out")
    return 0
