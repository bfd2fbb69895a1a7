"""``ctxarc relate``: derive the edges between turns that the records themselves state."""

from __future__ import annotations

from pathlib import Path

import click

from ctxarc.cli.arguments import archive_argument, lock_wait_option
from ctxarc.cli.options import Command, common_options
from ctxarc.cli.output import Output, printable
from ctxarc.cli.progress import ProgressLine
from ctxarc.cli.terminal import columns, fit, gap_words, plural, size, table
from ctxarc.model import RelateResult, as_json
from ctxarc.operations.relate import relate

_PATHS_SHOWN = 3
_PROBLEMS = {
    "ids_not_strings": "{} that {is_} no string",
    "duplicate_ids": "{} that several turns bear",
    "ambiguous": "{} to such an id, which joins nothing",
    "missing_parents": "{} that no turn has the id of",
    "missing_calls": "{} whose call no turn makes",
    "own_parents": "{} that {is_} {its} own parent",
    "later_targets": "{} to a later turn",
    "turns_in_cycles": "{} in a cycle of parents",
}
_COUNTED = {
    "ids_not_strings": "id",
    "duplicate_ids": "id",
    "ambiguous": "reference",
    "missing_parents": "parent",
    "missing_calls": "tool result",
    "own_parents": "turn",
    "later_targets": "edge",
    "turns_in_cycles": "turn",
}


@click.command("relate", cls=Command)
@archive_argument
@click.option("--rebuild", is_flag=True, help="Read every turn anew, whatever is wrong with what there is.")
@lock_wait_option
@common_options
def command(out: Output, archive: Path, rebuild: bool, lock_wait: float) -> int:
    """Derive the edges between turns that records state.

    An edge is a reply and its parent, a tool's result and its call (both by id), or two turns that mention one file
    path, each with the one before it. It has a basis, and no weight. What several turns could be meant by joins
    nothing and is counted. Only turns that are new are read; captures extend what is there. The record is not touched.

    \b
      ctxarc relate work.ctxa
      ctxarc relations work.ctxa 42
    """  # noqa: D301 - click reads the control character as "keep these lines"
    with ProgressLine(out) as progress:
        result = relate(archive, rebuild=rebuild, lock_wait=lock_wait, progress=progress)
    if out.json:
        out.object(as_json(result))
    elif not out.quiet:
        _print(out, result)
    return 0


def _print(out: Output, result: RelateResult) -> None:
    cells = [(kind, f"{count:,}") for kind, count in result.by_kind.items()]
    table(out, ("kind", "edges"), cells, right=frozenset({1}))
    read = f", {result.new_turns:,} of them read now" if result.new_turns else ", none of them new"
    out.line(f"turns    {result.turns:,}{read}: {_dialects(result)}")
    for name, count in result.problems.items():
        if count:
            said = _PROBLEMS[name].format(
                plural(count, _COUNTED[name]), is_="is" if count == 1 else "are", its="its" if count == 1 else "their"
            )
            out.line(out.paint(f"odd      {said}", "yellow"))
    if result.common_paths:
        out.line(f"paths    {plural(result.paths_in_too_many_turns, 'path')} in too many turns to join any two:")
        for each in result.common_paths[:_PATHS_SHOWN]:
            out.line(fit(f"         {printable(each.path)}, in {each.turns:,}", columns(out)))
        if result.paths_in_too_many_turns > _PATHS_SHOWN:
            out.line(f"         and {result.paths_in_too_many_turns - _PATHS_SHOWN:,} more")
    if result.omitted:
        out.line(out.paint(f"incomplete  {gap_words(result.omitted)}", "yellow"))
    out.line(f"edges    {result.relations}, {size(result.edges_bytes)}")
    out.line(f"never    {', '.join(result.not_derivable)}: judgements, which no record states")
    out.line(f"record   unchanged, {result.preservation_digest_after}")


def _dialects(result: RelateResult) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in result.dialects.items()) or "none"
