"""``ctxarc extract``: transcripts back as files."""

from __future__ import annotations

import os
from pathlib import Path

import click

from ctxarc.cli.arguments import SomePath, archive_argument, as_utf8, at_option
from ctxarc.cli.options import Command, common_options
from ctxarc.cli.output import Output, printable
from ctxarc.cli.terminal import gap_words, plural, size
from ctxarc.model import as_json
from ctxarc.operations.extract import extract


@click.command("extract", cls=Command)
@archive_argument
@click.argument("name", nargs=-1, type=as_utf8)
@click.option(
    "-C",
    "--directory",
    type=SomePath(),
    default=".",
    metavar="DIR",
    help="Write below DIR, which is made; here unless said.",
)
@at_option
@common_options
def command(out: Output, archive: Path, name: tuple[str, ...], directory: Path, at: int | None) -> int:
    """Write transcripts back as files, verified.

    Each goes to DIR/NAME.jsonl; folders are made, and no file is ever written over. Without a NAME all are written.
    What is printed are lines that `sha256sum -c` reads.

    \b
      ctxarc extract work.ctxa -C out
      ctxarc extract work.ctxa 0d5e1c52 -C before --at 3
    """  # noqa: D301 - click reads the control character as "keep these lines"
    result = extract(archive, name, directory, at=at)
    if out.json:
        out.object(as_json(result))
        return 0
    if not out.quiet:
        for file in result.files:
            if out.terminal:
                out.line(f"{file.sha256}  {printable(file.path)}")
            else:
                out.write(f"{file.sha256}  ".encode() + os.fsencode(file.path) + b"\n")
    out.note(f"{plural(len(result.files), 'file')}, {size(sum(file.bytes for file in result.files))}, verified")
    for file in result.files:
        if not file.complete:
            out.note(f"incomplete: {file.transcript}: {gap_words(file.omitted)}; the file is shorter by that")
    return 0
