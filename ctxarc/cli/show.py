"""``ctxarc show``: turns as people read them, safe for a terminal."""

from __future__ import annotations

from pathlib import Path

import click

from ctxarc.cli.arguments import archive_argument, as_utf8, at_option
from ctxarc.cli.options import Command, common_options
from ctxarc.cli.output import Output, one_line, printable
from ctxarc.cli.terminal import size, when
from ctxarc.model import TurnText, as_json
from ctxarc.operations.ls import names
from ctxarc.operations.show import show as read_turns


@click.command("show", cls=Command)
@archive_argument
@click.argument("address", nargs=-1, required=True, type=as_utf8)
@at_option
@common_options
def command(out: Output, archive: Path, address: tuple[str, ...], at: int | None) -> int:
    """Show turns as people read them.

    Role, time and text, with JSON's escapes decoded; control characters of the text are shown as escapes. For the bytes
    as they are, use `ctxarc cat`. An ADDRESS is TURN, TURN:START-END, NAME#TURN, NAME# or a citation ctxa:DIGEST.

    \b
      ctxarc show work.ctxa 7 9
      ctxarc show work.ctxa ctxa:f1f07818943c2e4e
    """  # noqa: D301 - click reads the control character as "keep these lines"
    turns = read_turns(archive, address, at=at)
    if out.json:
        rows = [as_json(turn) for turn in turns]
        out.object((rows[0] if len(rows) == 1 else {}) | {"turns": rows})
        return 0
    several = len(names(archive, at=at)) > 1
    for number, turn in enumerate(turns):
        if number:
            out.line()
        _print_turn(out, turn, several=several)
    return 0


def _print_turn(out: Output, turn: TurnText, *, several: bool) -> None:
    address = f"{turn.transcript}#{turn.turn}" if several else f"turn {turn.turn}"
    span = turn.end_byte - turn.start_byte
    place = "" if span == turn.bytes else f":{turn.start_byte}-{turn.end_byte} of"
    facts = [when(turn.time), f"{place} {size(turn.bytes)}".strip(), turn.cite[:21]]
    head = f"{out.paint(printable(address), bold=True)}  {out.paint(one_line(turn.role), 'cyan')}"
    out.line("  ".join([head, *(out.paint(printable(fact), dim=True) for fact in facts if fact)]))
    for kind, name, text in turn.parts:
        if kind != "text":
            out.line(out.paint(one_line(f"[{kind} {name}".rstrip() + "]"), dim=True))
        out.line(printable(text.rstrip("\n"), "\n\t"))
