"""``ctxarc relations``: the edges of a turn or of a transcript, as lines or as a graph for Graphviz."""

from __future__ import annotations

from pathlib import Path

import click

from ctxarc.auxiliary.edges.joining import KINDS
from ctxarc.cli.arguments import archive_argument, as_utf8, at_option
from ctxarc.cli.incomplete import note_incomplete
from ctxarc.cli.options import Command, common_options
from ctxarc.cli.output import Output, one_line, printable
from ctxarc.cli.terminal import columns, fit, pad, plural
from ctxarc.errors import BadUsage
from ctxarc.model import Basis, Relation, RelationsResult, as_json
from ctxarc.operations.relations import relations

_KIND_CELLS = max(map(len, KINDS))
_COLORS = {"replies-to": "green", "tool-result-of": "cyan", "mentions-path": "yellow"}
_STYLES = {"replies-to": "solid", "tool-result-of": "bold", "mentions-path": "dashed"}


@click.command("relations", cls=Command)
@archive_argument
@click.argument("address", required=False, type=as_utf8)
@click.option(
    "--kind", "kinds", multiple=True, metavar="KIND", help=f"Edges of KIND only; repeatable: {', '.join(KINDS)}."
)
@click.option(
    "--format",
    "layout",
    type=click.Choice(["text", "dot"]),
    default="text",
    help="Print a graph for Graphviz with dot; text unless said.",
)
@at_option
@common_options
def command(
    out: Output, archive: Path, address: str | None, kinds: tuple[str, ...], layout: str, at: int | None
) -> int:
    """List the edges of a turn, with their basis.

    A line an edge: its kind, the turn at the other end (-> where this one is the reply, the result or the later
    mention, <- where it is the other), and what both state, with the place in each, which is an address. ADDRESS is a
    turn, a range of one, or a whole transcript; without it the only transcript is meant. `ctxarc relate` derives edges.

    \b
      ctxarc relations work.ctxa 42
      ctxarc relations work.ctxa 42 --kind tool-result-of
      ctxarc relations work.ctxa --format dot | dot -Tsvg -o graph.svg
    """  # noqa: D301 - click reads the control character as "keep these lines"
    if out.json and layout == "dot":
        raise BadUsage("--json and --format dot are two layouts; give one of them")
    result = relations(archive, address, kinds=kinds, at=at)
    if out.json:
        out.object(as_json(result))
    elif layout == "dot":
        _print_dot(out, result)
    else:
        for each in result.relations:
            _print(out, each, result.turn)
        if not result.relations:
            out.note("no edge" + (f" of {', '.join(kinds)}" if kinds else ""))
    if result.coverage < 1:
        missing = result.turns - round(result.coverage * result.turns)
        out.note(f"{plural(missing, 'turn')} not read yet; `ctxarc relate ARCHIVE` reads what is new")
    note_incomplete(out, archive, [result.transcript], at=at)
    return 0


def _print(out: Output, edge: Relation, turn: int | None) -> None:
    """Print an edge, as it is seen from ``turn``, or from its later end."""
    kind = out.paint(pad(edge.kind, _KIND_CELLS), _COLORS.get(edge.kind))
    if edge.neighbour is None or turn is None:
        ends, text = f"{edge.from_:6} -> {edge.to:<6}", ""
    else:
        ends = f"{'->' if edge.from_ == turn else '<-'} {edge.neighbour.turn:<6}"
        text = f"{pad(printable(edge.neighbour.role), 9)}  {one_line(edge.neighbour.text)}"
    width = columns(out)
    room = None if width is None else width - _KIND_CELLS - len(ends) - 4
    out.line(f"{kind}  {ends}  {fit(text, room)}".rstrip())
    for basis in edge.basis:
        out.line(fit(f"    {_said(edge, basis)}", width))


def _said(edge: Relation, basis: Basis) -> str:
    places = (
        f"{turn}:{place.start_byte}-{place.end_byte}"
        for turn, place in ((edge.from_, basis.from_), (edge.to, basis.to))
    )
    return f"{'  '.join(places)}  {printable(basis.path or basis.id or '')}"


def _print_dot(out: Output, result: RelationsResult) -> None:
    out.line(f"digraph {_quoted(result.transcript)} {{")
    out.line("  node [shape=box];")
    for turn in sorted({end for each in result.relations for end in (each.from_, each.to)} | _asked(result)):
        out.line(f"  {turn}{' [style=bold]' if turn == result.turn else ''};")
    for each in result.relations:
        paths = [basis.path for basis in each.basis if basis.path]
        label = each.kind + (f"\n{paths[0]}" if paths else "")
        out.line(f"  {each.from_} -> {each.to} [label={_quoted(label)}, style={_STYLES[each.kind]}];")
    out.line("}")


def _asked(result: RelationsResult) -> set[int]:
    return set() if result.turn is None else {result.turn}


def _quoted(text: str) -> str:
    """A string of the language of Graphviz, whose only escapes are those of quotation marks and line ends."""
    return '"' + printable(text, "\n").replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
