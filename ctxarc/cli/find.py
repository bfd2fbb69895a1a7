"""``ctxarc find``: where text or a regular expression stands, in the manner of grep."""

from __future__ import annotations

from pathlib import Path

import click

from ctxarc.cli.arguments import archive_argument, as_utf8, at_option
from ctxarc.cli.options import Command, common_options
from ctxarc.cli.output import Output, one_line, printable
from ctxarc.errors import BadUsage
from ctxarc.model import as_json
from ctxarc.operations.find import FindOptions, count, find
from ctxarc.operations.ls import names

_TIME_LIMIT = 10.0


@click.command("find", cls=Command)
@archive_argument
@click.argument("pattern", required=False, type=as_utf8)
@click.option("-F", "--fixed", is_flag=True, help="Patterns are exact text (the default).")
@click.option("-E", "--regex", is_flag=True, help="Patterns are Python regular expressions.")
@click.option("-t", "--text", is_flag=True, help="Match the text as people read it, escapes decoded.")
@click.option("-i", "--ignore-case", is_flag=True, help="Small and capital letters are the same.")
@click.option("-c", "--count", "counts", is_flag=True, help="Print how often, a line a transcript.")
@click.option("-m", "--max-count", type=click.IntRange(min=1), metavar="N", help="Stop after N places a transcript.")
@click.option("-e", "--pattern", "more", multiple=True, type=as_utf8, metavar="PATTERN", help="A pattern; repeatable.")
@click.option("--transcript", "only", multiple=True, type=as_utf8, metavar="NAME", help="Look here only; repeatable.")
@at_option
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0, min_open=True),
    default=_TIME_LIMIT,
    show_default=True,
    metavar="SECONDS",
    help="How long a regular expression may take.",
)
@common_options
def command(
    out: Output,
    archive: Path,
    pattern: str | None,
    fixed: bool,
    regex: bool,
    text: bool,
    ignore_case: bool,
    counts: bool,
    max_count: int | None,
    more: tuple[str, ...],
    only: tuple[str, ...],
    at: int | None,
    time_limit: float,
) -> int:
    """Find text or a regular expression, with byte ranges.

    A line a place: TURN:START-END, which is an address for `ctxarc cat`, and the words around it. Ranges are of the raw
    bytes, with -t too. The status is 0 where something is found, 1 where nothing is.
    """
    patterns = (*([] if pattern is None else [pattern]), *more)
    if not patterns:
        raise BadUsage("no pattern to look for", hint="ctxarc find ARCHIVE PATTERN, or -e PATTERN")
    if fixed and regex:
        raise BadUsage("-F says that patterns are exact text, and -E that they are expressions; give one of them")
    options = FindOptions(
        patterns=patterns,
        regex=regex,
        as_read=text,
        ignore_case=ignore_case,
        max_count=max_count,
        names=only,
        time_limit=time_limit,
        at=at,
    )
    found = _print_counts(out, archive, options) if counts else _print_hits(out, archive, options)
    return 0 if found else 1


def _several(archive: Path, options: FindOptions) -> bool:
    return len(options.names or names(archive, at=options.at)) > 1


def _print_hits(out: Output, archive: Path, options: FindOptions) -> bool:
    found = False
    several = not out.json and _several(archive, options)
    for hit in find(archive, options):
        found = True
        if out.json:
            out.object(as_json(hit))
        elif out.quiet:
            break  # the status is all that was asked for
        else:
            place = f"{printable(hit.transcript)}#" if several else ""
            place += f"{hit.turn}:{hit.start_byte}-{hit.end_byte}"
            out.line(f"{out.paint(place, 'green')}: {one_line(hit.text)}")
    return found


def _print_counts(out: Output, archive: Path, options: FindOptions) -> bool:
    found = False
    several = not out.json and _several(archive, options)
    for row in count(archive, options):
        found = found or row.matches > 0
        if out.json:
            out.object(as_json(row))
        elif not out.quiet:
            out.line(f"{printable(row.transcript)}#: {row.matches}" if several else str(row.matches))
    return found
