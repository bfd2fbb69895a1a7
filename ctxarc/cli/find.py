"""``ctxarc find``: where text or a regular expression stands, in the manner of grep."""

from __future__ import annotations

from pathlib import Path

import click

from ctxarc.cli.arguments import InWords, archive_argument, as_utf8, at_option, time_limit_option, transcripts_option
from ctxarc.cli.excerpts import marked, marker, spans
from ctxarc.cli.incomplete import note_incomplete
from ctxarc.cli.options import Command, common_options
from ctxarc.cli.output import Output, one_line, printable
from ctxarc.cli.terminal import cell_width, columns, shorten
from ctxarc.errors import BadUsage
from ctxarc.model import Hit, as_json
from ctxarc.operations.find import FindOptions, count, find
from ctxarc.operations.ls import names

_LEAST_NAME = 12


@click.command("find", cls=Command)
@archive_argument
@click.argument("pattern", required=False, type=as_utf8)
@click.option("-F", "--fixed", is_flag=True, help="Patterns are exact text, as they are without -E.")
@click.option("-E", "--regex", is_flag=True, help="Patterns are Python regular expressions.")
@click.option("-t", "--text", is_flag=True, help="Match text as people read it, escapes decoded.")
@click.option("-i", "--ignore-case", is_flag=True, help="Take small and capital letters as the same.")
@click.option("-c", "--count", "counts", is_flag=True, help="Print how many places each transcript has.")
@click.option(
    "-m",
    "--max-count",
    cls=InWords,
    type=click.IntRange(min=1),
    metavar="N",
    help="Stop after N places in each transcript.",
)
@click.option(
    "-e", "--pattern", "more", multiple=True, type=as_utf8, metavar="PATTERN", help="Look for PATTERN too; repeatable."
)
@transcripts_option
@at_option
@time_limit_option
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
    bytes, with -t too. An expression of ASCII alone matches bytes, so that `.` is one byte of an accented letter; with
    -t it matches characters. The status is 0 where something is found, 1 where nothing is.

    \b
      ctxarc find work.ctxa -t 'no such file'
      ctxarc find work.ctxa -E 'exit code [1-9]' -m 3
    """  # noqa: D301 - click reads the control character as "keep these lines"
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
    if counts:
        found = _print_counts(out, archive, options)
    elif out.terminal and not out.json and not out.quiet:
        found = _show_hits(out, archive, options)
    else:
        found = _print_hits(out, archive, options)
    note_incomplete(out, archive, only, at=at)
    return 0 if found else 1


def _several(archive: Path, options: FindOptions) -> bool:
    return len(names(archive, at=options.at)) > 1


def _place(hit: Hit, *, several: bool, room: int | None = None) -> str:
    name = f"{shorten(printable(hit.transcript), room)}#" if several else ""
    return f"{name}{hit.turn}:{hit.start_byte}-{hit.end_byte}"


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
            out.line(f"{_place(hit, several=several)}: {one_line(hit.text)}")
    return found


def _show_hits(out: Output, archive: Path, options: FindOptions) -> bool:
    """Print the hits for a terminal: a line each that fits, with what matches marked."""
    found = False
    several, width = _several(archive, options), columns(out) or 0
    with marker(options) as search:
        for hit in find(archive, options):
            found = True
            place = _place(hit, several=several, room=max(width // 2 - 4, _LEAST_NAME)) + ":"
            text = marked(out, hit.text, spans(search, hit.text), width - cell_width(place) - 1)
            out.line(f"{out.paint(place, 'green')} {text}")
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
