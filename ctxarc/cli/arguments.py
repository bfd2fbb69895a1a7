"""Arguments and options that several commands take, and how values are read from what is typed."""

from __future__ import annotations

import os
import re
import shlex
from math import isnan
from pathlib import Path
from typing import Any

import click

from ctxarc.errors import BadUsage

_POWER = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_SIZE = re.compile(r"(\d+) ?(?:([kmgt])(i?b)?|b?)", re.IGNORECASE | re.ASCII)


def number_of_bytes(text: str) -> int:
    """A size as it is typed: plain bytes, K, M, G, T or KiB, MiB, ... (powers of 1024), kB, MB, ... (of 1000)."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        message = f"{text!r} is no size; write bytes, or 64K, 10MiB, 1GB"
        raise click.BadParameter(message)
    unit = 1000 if match[3] and match[3].lower() == "b" else 1024
    return int(match[1]) * int(unit ** _POWER[(match[2] or "").lower()])


def as_utf8(text: str) -> str:
    """Text to compare with what is held: UTF-8 as it was typed, whatever the locale; other bytes are surrogates."""
    return os.fsencode(text).decode("utf-8", "surrogateescape")


def program_of(line: str | None) -> tuple[str, ...]:
    """A program and its arguments, as a shell would part them.

    Raises:
        BadUsage: they cannot be parted, or there are none.

    """
    if line is None:
        return ()
    try:
        found = tuple(shlex.split(line))
    except ValueError as error:
        raise BadUsage(f"--exec {line!r}: {error}") from error
    if not found:
        raise BadUsage("--exec '' is no program")
    return found


class InWords(click.Option):
    """An option whose help says in words which values it takes, and not as a range in brackets."""

    def get_help_extra(self, ctx: click.Context) -> click.types.OptionHelpExtra:
        """Click's own, without the range."""
        extra = super().get_help_extra(ctx)
        extra.pop("range", None)
        return extra


class Seconds(click.FloatRange):
    """A length of time in seconds: a number, of which NaN is none, within the range."""

    name = "seconds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ANN401 - click's
        """The value as a number."""
        number = float(super().convert(value, param, ctx))
        if isnan(number):
            self.fail(f"{value!r} is not a length of time.", param, ctx)
        return number


class SomePath(click.Path):
    """A path, of which the empty string is none: it would mean the current directory."""

    def __init__(self) -> None:
        super().__init__(readable=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 - click's
        """Click's own, and refuse the empty string."""
        if value == "":
            self.fail("'' is no path; write . for the current directory.", param, ctx)
        return super().convert(value, param, ctx)


LONGEST = 1_000_000
"""Seconds that an option may ask for: some eleven days."""

archive_argument = click.argument("archive", type=SomePath())
at_option = click.option(
    "--at", cls=InWords, type=click.IntRange(min=1), metavar="CAPTURE", help="Read the state after that capture."
)
lock_wait_option = click.option(
    "--lock-wait",
    cls=InWords,
    type=Seconds(min=0, max=LONGEST),
    default=10.0,
    metavar="SECONDS",
    help="Wait so long for another writer; 10 unless said.",
)
transcripts_option = click.option(
    "--transcript", "only", multiple=True, type=as_utf8, metavar="NAME", help="Look in NAME only; repeatable."
)
time_limit_option = click.option(
    "--time-limit",
    cls=InWords,
    type=Seconds(min=0, min_open=True, max=LONGEST),
    default=10.0,
    metavar="SECONDS",
    help="End an expression that takes longer; 10 unless said.",
)
