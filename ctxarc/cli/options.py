"""The global options, which stand before or after the command and mean the same, and the class of every command."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

import click

from ctxarc import __version__
from ctxarc.cli.output import Output

P = ParamSpec("P")
R = TypeVar("R")

_GLOBAL = frozenset({"json", "quiet", "no_color", "version", "help"})
"""Names of the parameters that every command has."""


class Command(click.Command):
    """A command whose help shows its own options first, and the global ones in a section of their own.

    Attributes:
        offer: what another command may call, which finds it by the table of commands and so loads it only then.

    """

    offer: Callable[..., Any] | None = None

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the two sections."""
        _write_sections(self, ctx, formatter)


class CommandSet(click.Group):
    """A command that has commands of its own, with its help in the same sections."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections of options, and the commands."""
        _write_sections(self, ctx, formatter)
        self.format_commands(ctx, formatter)


def _write_sections(command: click.Command, ctx: click.Context, formatter: click.HelpFormatter) -> None:
    sections: dict[str, list[tuple[str, str]]] = {"Options": [], "Global options": []}
    for parameter in command.get_params(ctx):
        record = parameter.get_help_record(ctx)
        if record is not None and not isinstance(parameter, click.Argument):
            sections["Global options" if parameter.name in _GLOBAL else "Options"].append(record)
    for title, records in sections.items():
        if records:
            with formatter.section(title):
                formatter.write_dl(records)


def _merge(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    """Set a global option, which may stand before or after the command."""
    if value and parameter.name:
        setattr(context.find_object(Output), parameter.name, True)


def _version(context: click.Context, parameter: click.Parameter, value: bool) -> None:  # noqa: ARG001 - click's signature
    out = context.find_object(Output)
    if not value or out is None or context.resilient_parsing:
        return
    if out.json or out.json_asked:
        out.object({"version": __version__})
    else:
        out.line(f"ctxarc {__version__}")
    context.exit()


def global_options(function: Callable[P, R]) -> Callable[P, R]:
    """The options that every command and the group itself take; they are merged into the command's :class:`Output`."""
    flags = [
        click.option("--json", is_flag=True, expose_value=False, callback=_merge, help="Print JSON, for programs."),
        click.option(
            "-q",
            "--quiet",
            is_flag=True,
            expose_value=False,
            callback=_merge,
            help="Print no notes, no progress, no report of success.",
        ),
        click.option("--no-color", is_flag=True, expose_value=False, callback=_merge, help="Print without colours."),
        click.option(
            "--version", is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Print the version."
        ),
        click.help_option("-h", "--help", help="Print this page."),
    ]
    for flag in reversed(flags):
        function = flag(function)
    return function


def common_options(function: Callable[Concatenate[Output, P], R]) -> Callable[P, R]:
    """The global options, and the command's :class:`Output` as its first argument."""
    return global_options(click.pass_obj(function))
