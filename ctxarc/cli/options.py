"""The global options, which stand before or after the command and mean the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

import click

from ctxarc import __version__
from ctxarc.cli.output import Output

P = ParamSpec("P")
R = TypeVar("R")


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
    options = [
        click.option("--json", is_flag=True, expose_value=False, callback=_merge, help="Print JSON on stdout."),
        click.option("-q", "--quiet", is_flag=True, expose_value=False, callback=_merge, help="Results only."),
        click.option("--no-color", is_flag=True, expose_value=False, callback=_merge, help="No colours."),
        click.option(
            "--version", is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Print the version."
        ),
    ]
    for option in reversed(options):
        function = option(function)
    return function


def common_options(function: Callable[Concatenate[Output, P], R]) -> Callable[P, R]:
    """The global options, and the command's :class:`Output` as its first argument."""
    return global_options(click.pass_obj(function))
