"""The group ``ctxarc``: the table of its commands, and the one place where a process ends.

``ctxarc --help`` must be quick, so no command's module is imported before that command is asked for. Whatever goes
wrong ends here as a named refusal with its exit status; no traceback reaches a user.
"""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Sequence
from typing import NamedTuple, cast

import click

from ctxarc.cli.endings import ended
from ctxarc.cli.options import global_options
from ctxarc.cli.output import Output


class Entry(NamedTuple):
    """A command: the module whose ``command`` it is, and the one line that ``--help`` shows for it."""

    module: str
    help: str


COMMANDS = {
    "capture": Entry("ctxarc.cli.capture", "Store transcripts, byte for byte."),
    "ls": Entry("ctxarc.cli.ls", "List transcripts, or captures."),
    "log": Entry("ctxarc.cli.log", "List turns."),
    "show": Entry("ctxarc.cli.show", "Show turns as people read them."),
    "cat": Entry("ctxarc.cli.cat", "Write raw bytes to stdout, verified."),
    "extract": Entry("ctxarc.cli.extract", "Write transcripts back as files, verified."),
    "find": Entry("ctxarc.cli.find", "Find text or a regular expression, with byte ranges."),
    "cite": Entry("ctxarc.cli.cite", "Check a quotation against the record."),
    "segment": Entry("ctxarc.cli.segment", "Build and extend indexes of segments."),
    "export": Entry("ctxarc.cli.export", "Export the texts of segments, to be embedded."),
    "attach": Entry("ctxarc.cli.attach", "Store the vectors that your own model made."),
    "embed": Entry("ctxarc.cli.embed", "Have your own model embed what has no vector yet."),
    "address": Entry("ctxarc.cli.address", "Find the places that answer a question."),
    "relate": Entry("ctxarc.cli.relate", "Derive the edges between turns that records state."),
    "relations": Entry("ctxarc.cli.relations", "List the edges of a turn, with their basis."),
    "scan": Entry("ctxarc.cli.scan", "List places where secrets are likely to stand."),
    "info": Entry("ctxarc.cli.info", "Say what an archive holds and what it costs."),
    "verify": Entry("ctxarc.cli.verify", "Check every byte of an archive."),
    "repack": Entry("ctxarc.cli.repack", "Pack an archive again: smaller, with the same digest."),
    "mcp": Entry("ctxarc.cli.mcp", "Offer the archive to agents, as tools over MCP."),
    "bench": Entry("ctxarc.cli.bench", "Measure an archive of your own: JSON, and a page."),
    "demo": Entry("ctxarc.cli.demo", "Show the whole loop on a small built-in transcript."),
}
"""Every command in the order of ``--help``. A new command is one line here and one file beside this one."""


class CommandGroup(click.Group):
    """A group that knows its commands by the table alone until one of them is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Every name, in the table's order."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """The command of that name, imported now; None where the table has none."""
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        # What is loaded stays. Looking through it for garbage would take a tenth of a short command's time, here and at
        # the end of the process.
        gc.disable()
        try:
            return cast("click.Command", importlib.import_module(entry.module).command)
        finally:
            gc.freeze()
            gc.enable()

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Click's own, with the nearest names of the table where there is no such command."""
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            raise click.exceptions.NoSuchCommand(args[0], possibilities=COMMANDS, ctx=ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """The table, without importing a command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in COMMANDS.items()])


@click.group(
    cls=CommandGroup,
    subcommand_metavar="COMMAND [ARGS]...",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="An ADDRESS is TURN, TURN:START-END (half-open, in bytes), NAME#TURN, NAME#, or ctxa:DIGEST[:START-END].",
)
@global_options
def group() -> None:
    """Keep every byte of an agent's transcript, and hand any stretch of it back exactly.

    \b
      ctxarc capture work.ctxa session.jsonl    store it; later: only what is new
      ctxarc log work.ctxa                      a line a turn
      ctxarc cat work.ctxa 42                   the bytes of turn 42, verified

    Global options stand before or after the command. Every command has --help of its own.
    """  # noqa: D301 - click reads the control character as "keep these lines"


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status; ``args`` are those of the process unless given."""
    arguments = sys.argv[1:] if args is None else list(args)
    out = Output(arguments)
    try:
        status = _run(arguments, out)
        out.flush()
    except (KeyboardInterrupt, Exception) as error:  # noqa: BLE001 - every end of the process passes here
        return ended(out, error, hook="--hook" in arguments)
    return status


def _run(arguments: list[str], out: Output) -> int:
    try:
        with group.make_context("ctxarc", arguments.copy(), obj=out) as context:
            return cast("int", group.invoke(context))
    except click.exceptions.Exit as end:  # --help and --version
        return end.exit_code
