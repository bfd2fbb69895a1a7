"""Options of the commands that ask a user's model: where it is, how it is spoken to, and its key."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies

import click

from ctxarc.cli.arguments import LONGEST, InWords, Seconds, as_utf8, program_of
from ctxarc.errors import BadUsage
from ctxarc.operations.models.http import is_loopback
from ctxarc.operations.models.opening import SERVERS, ModelOptions

F = TypeVar("F", bound=Callable[..., Any])
DEFAULT_KEY = "OPENAI_API_KEY"
TIMEOUT, RETRIES = 120.0, 5
_ITS_HOST = "api.openai.com"


def reach_options(function: F) -> F:
    """The options ``server``, ``api``, ``program``, ``timeout``, ``retries`` and ``key_env``."""
    options = [
        click.option("--server", type=as_utf8, metavar="URL", help="The server of the model."),
        click.option("--api", type=click.Choice(list(SERVERS)), help="Its API; ollama at port 11434, else openai."),
        click.option("--exec", "program", type=as_utf8, metavar="PROGRAM", help="Run PROGRAM in its place; no shell."),
        click.option(
            "--timeout",
            cls=InWords,
            type=Seconds(min=0.001, max=LONGEST),
            default=TIMEOUT,
            metavar="SECONDS",
            help="Wait so long for an answer; 120 unless said.",
        ),
        click.option(
            "--retries",
            cls=InWords,
            type=click.IntRange(min=0, max=100),
            default=RETRIES,
            metavar="N",
            help="Repeat a failed call; 5 times unless said.",
        ),
        click.option("--key-env", metavar="NAME", help="The variable with the server's key."),
    ]
    for option in reversed(options):
        function = option(function)
    return function


def reached(
    *,
    server: str | None,
    program: str | None,
    key_env: str | None,
    api: str | None = None,
    timeout: float = TIMEOUT,
    retries: int = RETRIES,
) -> ModelOptions:
    """How the model is reached, by the values of :func:`reach_options`.

    Raises:
        BadUsage: a value is none.

    """
    return ModelOptions(
        server=server,
        api=api,
        program=program_of(program),
        timeout=timeout,
        retries=retries,
        key=key_of(key_env, server),
        proxies=getproxies(),
    )


def key_of(variable: str | None, server: str | None) -> str | None:
    """The key for a server: of the variable that is named, else OpenAI's for OpenAI's host and for this machine.

    Raises:
        BadUsage: the variable that is named is not set.

    """
    if variable is not None:
        key = os.environ.get(variable, "")
        if not key.strip():
            raise BadUsage(f"--key-env {variable}: there is no such variable, or it is empty")
        return key.strip()
    parts = urlsplit(server or "")
    its_own = parts.scheme == "https" and parts.hostname == _ITS_HOST
    return (os.environ.get(DEFAULT_KEY, "").strip() or None) if server and (its_own or is_loopback(server)) else None
