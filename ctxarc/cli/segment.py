"""``ctxarc segment``: build and extend indexes of segments, beside a record that stays as it is."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ctxarc.cli.arguments import archive_argument, lock_wait_option
from ctxarc.cli.options import Command, common_options
from ctxarc.cli.output import Output, printable
from ctxarc.cli.progress import ProgressLine
from ctxarc.cli.terminal import plural, size, table
from ctxarc.errors import BadUsage, NoSuchSource
from ctxarc.model import SchemeRow, SegmentResult, as_json
from ctxarc.operations.own_cuts import own_cuts
from ctxarc.operations.segment import schemes, segment
from ctxarc.preservation.files import named_faults


@click.command("segment", cls=Command)
@archive_argument
@click.option("--scheme", multiple=True, metavar="SCHEME", help="Cut by SCHEME; repeatable. --list shows them all.")
@click.option("--list", "listing", is_flag=True, help="List the schemes, and what the archive has of each.")
@click.option("--cuts", metavar="FILE", help="Take your own cuts from FILE; - is stdin. Needs --name.")
@click.option("--name", metavar="NAME", help="Call the index of your own cuts NAME.")
@click.option("--words/--no-words", default=True, help="Index the words of segments too; done unless said.")
@click.option("--rebuild", is_flag=True, help="Make an index anew, whatever is wrong with it.")
@lock_wait_option
@common_options
def command(
    out: Output,
    archive: Path,
    scheme: tuple[str, ...],
    listing: bool,
    cuts: str | None,
    name: str | None,
    words: bool,
    rebuild: bool,
    lock_wait: float,
) -> int:
    """Build and extend indexes of segments.

    A segment is a range of bytes of a turn, and an index says where they are; the record is not touched, which is
    proved each time. Indexes of several schemes stand side by side, each with its words. Without --scheme, those that
    are there are extended, or boundary-v1 is built. FILE has a JSON object a line with turn, start and end: half-open,
    in bytes, each turn that it names covered exactly once.

    \b
      ctxarc segment work.ctxa
      ctxarc segment work.ctxa --scheme changepoint-v1 --scheme structural-v1
      ctxarc segment work.ctxa --cuts mine.ndjson --name mine-v1
    """  # noqa: D301 - click reads the control character as "keep these lines"
    if listing:
        return _list(out, archive)
    if (cuts is None) != (name is None):
        raise BadUsage("--cuts FILE and --name NAME go together")
    if cuts is not None and name is not None:
        if scheme:
            raise BadUsage("--cuts brings cuts, and --scheme makes them; give one of them")
        return _print(out, [_own(archive, name, cuts, words=words, rebuild=rebuild, lock_wait=lock_wait)])
    with ProgressLine(out) as progress:
        results = segment(archive, scheme, words=words, rebuild=rebuild, lock_wait=lock_wait, progress=progress)
    return _print(out, results)


def _own(archive: Path, name: str, cuts: str, *, words: bool, rebuild: bool, lock_wait: float) -> SegmentResult:
    if cuts == "-":
        lines = sys.stdin.buffer.readlines()
    else:
        path = Path(cuts)
        if not path.exists():
            raise NoSuchSource(f"{cuts}: no such file", hint="it has a line {turn, start, end} a segment", source=cuts)
        with named_faults(path), path.open("rb") as stream:
            lines = stream.readlines()
    label = "standard input" if cuts == "-" else cuts
    return own_cuts(archive, name, lines, label=label, words=words, rebuild=rebuild, lock_wait=lock_wait)


def _list(out: Output, archive: Path) -> int:
    rows = schemes(archive)
    if out.json:
        out.object({"archive": str(archive), "schemes": as_json(rows)})
        return 0
    cells = [(printable(row.scheme), *_state(row), row.about) for row in rows]
    table(out, ("scheme", "segments", "covers", "cuts"), cells, right=frozenset({1, 2}))
    return 0


def _state(row: SchemeRow) -> tuple[str, str]:
    if not row.built:
        return "-", "-"
    return ("damaged", "-") if row.refusal else (f"{row.segments:,}", _share(row.coverage))


def _share(coverage: float) -> str:
    return f"{int(coverage * 1000) / 10:g} %"


def _print(out: Output, results: list[SegmentResult] | tuple[SegmentResult, ...]) -> int:
    if out.json:
        if len(results) == 1:
            out.object(as_json(results[0]))
        else:
            first = results[0]
            fields = {"archive": first.archive, "archive_digest": first.archive_digest, "indexes": as_json(results)}
            out.object(fields)
        return 0
    if out.quiet:
        return 0
    cells = [
        (
            printable(each.scheme),
            f"{each.segments:,}",
            f"+{each.new_segments:,}",
            f"{each.median_segment_bytes:g} B",
            _share(each.coverage),
            size(each.index_bytes),
            size(each.words_bytes) if each.words_bytes else "-",
        )
        for each in results
    ]
    head = ("scheme", "segments", "new", "median", "covers", "index", "words")
    table(out, head, cells, right=frozenset({1, 2, 3, 4, 5, 6}))
    for each in results:
        if each.turns_not_fully_covered:
            out.line(f"{printable(each.scheme)}: {plural(each.turns_not_fully_covered, 'turn')} not covered")
        if each.cuts_inside_characters:
            cuts = plural(each.cuts_inside_characters, "cut")
            out.note(f"{printable(each.scheme)}: {cuts} inside a character or an escape; such text shows a U+FFFD")
    out.line(f"record   unchanged, {results[0].preservation_digest_after}")
    return 0
