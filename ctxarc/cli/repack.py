"""``ctxarc repack``: the same archive in fewer and smaller packs."""

from __future__ import annotations

from pathlib import Path

import click

from ctxarc.cli.arguments import archive_argument, lock_wait_option
from ctxarc.cli.options import Command, common_options
from ctxarc.cli.output import Output
from ctxarc.cli.progress import ProgressLine
from ctxarc.cli.terminal import plural, size
from ctxarc.model import as_json
from ctxarc.operations.repack import repack

_LEVEL = 19


@click.command("repack", cls=Command)
@archive_argument
@click.option(
    "--level", type=click.IntRange(1, 22), default=_LEVEL, show_default=True, help="Compression level of zstd."
)
@lock_wait_option
@common_options
def command(out: Output, archive: Path, level: int, lock_wait: float) -> int:
    """Pack an archive again: smaller, with the same digest.

    Turns that are alike come to lie in one frame. Nothing that is held changes, and an interrupted repack leaves the
    archive as it was.
    """
    with ProgressLine(out) as progress:
        result = repack(archive, level=level, lock_wait=lock_wait, progress=progress)
    if out.json:
        out.object(as_json(result))
    elif not out.quiet:
        saved = 1 - result.bytes_after / result.bytes_before if result.bytes_before else 0.0
        out.line(
            f"{size(result.bytes_before)} in {plural(result.packs_before, 'pack')} -> "
            f"{size(result.bytes_after)} in {plural(result.packs_after, 'pack')}, {saved:.0%} saved"
        )
        out.line(f"digest {result.archive_digest}, as before")
    return 0
