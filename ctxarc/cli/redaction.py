"""The option ``--redact[=RULES]``, and what is said of what was replaced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import click

from ctxarc.cli.arguments import as_utf8
from ctxarc.cli.options import Command
from ctxarc.cli.output import Output, printable
from ctxarc.cli.terminal import plural
from ctxarc.model import Redaction
from ctxarc.operations.redact import Redactor, read_rules

_BARE = "--redact"


class RedactingCommand(Command):
    """A command with ``--redact[=RULES]``, whose value stands behind ``=`` alone: what follows is an argument."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Click's own; without ``=`` it is the option with an empty value."""
        end = args.index("--") if "--" in args else len(args)
        bare = [f"{_BARE}=" if arg == _BARE else arg for arg in args[:end]]
        return super().parse_args(ctx, [*bare, *args[end:]])


redact_option = click.option(
    _BARE,
    "redact",
    type=as_utf8,
    metavar="[=RULES]",
    help="Replace secrets, by the rules in RULES, or by those built in.",
)


def redactor_of(redact: str) -> Redactor:
    """What replaces secrets, as the option says."""
    return Redactor(read_rules(redact or None))


class Place(NamedTuple):
    """A turn, and what was replaced in what is shown of it."""

    transcript: str
    turn: int
    redactions: Sequence[Redaction]


def note_redactions(out: Output, places: Iterable[Place], *, several: bool) -> None:
    """Say on stderr what was replaced: a line a span, and how many of which rule."""
    rules: Counter[str] = Counter()
    lines: dict[str, None] = {}
    for place in places:
        name = f"{printable(place.transcript)}#" if several else ""
        for span in place.redactions:
            text = f"redacted {name}{place.turn}:{span.start_byte}-{span.end_byte} {span.rule}"
            if text not in lines:
                lines[text] = None
                rules[span.rule] += 1
    if lines:
        out.note("\n".join(lines))
    by_rule = ", ".join(f"{number} {rule}" for rule, number in sorted(rules.items()))
    total = plural(rules.total(), "span")
    out.note(f"{total} redacted ({by_rule})" if rules else "nothing to redact was found")
