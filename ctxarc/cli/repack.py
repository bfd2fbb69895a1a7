"""``ctxarc repack``: the same archive in fewer and smaller packs."""

from __future__ import annotations

from pathlib import Path

import click

from ctxarc.cli.arguments import InWords, archive_argument, lock_wait_option
from ctxarc.cli.options import Command, common_options
from ctxarc.cli.output import Output, printable
from ctxarc.cli.progress import ProgressLine
from ctxarc.cli.terminal import plural, size
from ctxarc.model import as_json
from ctxarc.operations.repack import repack

_LEVEL = 19


@click.command("repack", cls=Command)
@archive_argument
@click.option(
    "--level",
    cls=InWords,
    type=click.IntRange(1, 22),
    default=_LEVEL,
    metavar="N",
    help="Compress with zstd level N, 1 to 22; 19 unless said.",
)
@lock_wait_option
@common_options
def command(out: Output, archive: Path, level: int, lock_wait: float) -> int:
    """Pack an archive again: smaller, with the same digest.

    Turns that are alike come to lie in one frame. Nothing that is held changes, and an interrupted repack leaves the
    archive as it was. Worth it after many small captures, and before an archive is put away.

    \b
      ctxarc repack work.ctxa
      ctxarc repack work.ctxa --level 9    quicker, a little larger
    """  # noqa: D301 - click reads the control character as "keep these lines"
    with ProgressLine(out) as progress:
        result = repack(archive, level=level, lock_wait=lock_wait, progress=progress)
    if out.json:
        out.object(as_json(result))
    elif not out.quiet:
        saved = 1 - result.bytes_after / result.bytes_before if result.bytes_before else 0.0
        change = f"{saved:.0%} saved" if saved > 0 else "nothing saved"
        out.line(
            f"packs    {size(result.bytes_before)} in {plural(result.packs_before, 'file')} -> "
            f"{size(result.bytes_after)} in {plural(result.packs_after, 'file')}, {change}"
        )
        out.line(f"archive  {printable(result.archive)}, {size(result.archive_bytes)}")
        out.line(f"digest   {result.archive_digest}, as before")
    return 0
