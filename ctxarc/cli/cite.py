"""``ctxarc cite``: a quotation checked against the record: where it stands, or what comes nearest."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ctxarc.cli.arguments import InWords, archive_argument, as_utf8, at_option, transcripts_option
from ctxarc.cli.incomplete import note_incomplete
from ctxarc.cli.options import Command, common_options
from ctxarc.cli.output import Output, one_line, printable
from ctxarc.cli.terminal import plural
from ctxarc.model import CiteNearest, CiteResult, as_json
from ctxarc.operations.cite import PLACES, CiteOptions, cite
from ctxarc.operations.ls import names
from ctxarc.operations.quoting import LONGEST

_SHOWN = 20
"""Differences that are printed."""
_AROUND = 24
"""Characters on either side of a difference that are printed with it."""
_LONG = 300
"""Characters of a difference that are printed."""


@click.command("cite", cls=Command)
@archive_argument
@click.argument("quote", type=as_utf8)
@click.option(
    "-m",
    "--max-count",
    cls=InWords,
    type=click.IntRange(min=1, max=sys.maxsize),
    default=PLACES,
    metavar="N",
    help=f"List N places; {PLACES} unless said.",
)
@transcripts_option
@at_option
@common_options
def command(out: Output, archive: Path, quote: str, max_count: int, only: tuple[str, ...], at: int | None) -> int:
    """Check a quotation against the record.

    QUOTE, or stdin where it is -, stands in the record where its very bytes do; else where its text does, escapes
    decoded; else where it does but for line breaks and blanks. A line a place, as `find` prints it. Where it does not
    stand, the nearest place is shown, and each difference. The status is 0 where it stands in the record, 1 where it
    does not.

    \b
      ctxarc cite work.ctxa 'no such file or directory'
      ctxarc cite work.ctxa - < quotation.txt
    """  # noqa: D301 - click reads the control character as "keep these lines"
    quotation = _stdin() if quote == "-" else quote
    result = cite(archive, quotation, CiteOptions(names=only, at=at, most=max_count))
    if out.json:
        out.object(as_json(result))
    elif not out.quiet:
        several = len(names(archive, at=at)) > 1
        if result.exact:
            _print_places(out, result, several=several)
        elif result.nearest:
            text = quotation if isinstance(quotation, str) else quotation.decode("utf-8", "surrogateescape")
            _print_nearest(out, result.nearest, text, several=several)
        else:
            out.line("not in the record, and nothing near it")
    note_incomplete(out, archive, only, at=at)
    return 0 if result.exact else 1


def _stdin() -> bytes:
    """What is quoted on stdin, without a last line feed; no more of it than tells that it is too long."""
    return sys.stdin.buffer.read(LONGEST + 2).removesuffix(b"\n")


def _place(transcript: str, turn: int, start: int, end: int, *, several: bool) -> str:
    name = f"{printable(transcript)}#" if several else ""
    return f"{name}{turn}:{start}-{end}"


def _print_places(out: Output, result: CiteResult, *, several: bool) -> None:
    for hit in result.hits:
        place = _place(hit.transcript, hit.turn, hit.start_byte, hit.end_byte, several=several)
        out.line(f"{out.paint(place, 'green')}: {one_line(hit.text)}")
    if result.how == "spacing":
        out.note("its white space is divided otherwise in the record")
    if result.places > len(result.hits):
        out.note(f"{plural(result.places - len(result.hits), 'more place')}")


def _print_nearest(out: Output, near: CiteNearest, quote: str, *, several: bool) -> None:
    out.line("not in the record as quoted; nearest:")
    place = _place(near.transcript, near.turn, near.start_byte, near.end_byte, several=several)
    out.line(f"{out.paint(place, 'green')}: {one_line(near.text[:200])}")
    for each in near.differences[:_SHOWN]:
        out.line(f"- quoted: {_around(quote, each.quote_start, each.quote_end)}")
        out.line(f"+ found:  {_around(near.text, each.text_start, each.text_end)}")
    if len(near.differences) > _SHOWN:
        out.note(f"{plural(len(near.differences) - _SHOWN, 'more difference')}; --json has them all")
    out.note(f"{near.words_in_order:,} of its {plural(near.words, 'word')} stand there in that order")


def _around(text: str, start: int, end: int) -> str:
    """A difference in brackets of its own, and the characters around it."""
    inside = printable(text[start:end][:_LONG]) + ("…" if end - start > _LONG else "")
    before, behind = text[max(0, start - _AROUND) : start], text[end : end + _AROUND]
    blank = " " if before[-1:].isspace() else ""
    after = " " if behind[:1].isspace() else ""
    return f"{one_line(before)}{blank}[{inside}]{after}{one_line(behind)}".lstrip(" ")
