"""A model by what a user says of it: a server and the kind of its API, or a program."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ctxarc.auxiliary.vectors.origin import OLLAMA, OPENAI, PROGRAM
from ctxarc.errors import BadUsage
from ctxarc.operations.models.http import Http, Reach, server_url
from ctxarc.operations.models.model import Model, Waits
from ctxarc.operations.models.ollama import Ollama
from ctxarc.operations.models.openai import OpenAi
from ctxarc.operations.models.program import Program
from ctxarc.operations.models.served import BATCH

if TYPE_CHECKING:
    from collections.abc import Mapping

SERVERS = {OLLAMA: Ollama, OPENAI: OpenAi}
_OLLAMA_PORT = 11434


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """Which model, and how it is reached.

    Attributes:
        server: the address of a server.
        api: how it is spoken to, ``ollama`` or ``openai``; by its port where it is ``None``.
        model: what the server calls the model.
        program: a program and its arguments, in place of a server.
        revision: the digest of the model's weights, where the user knows it and the model does not tell.
        batch: texts of a call to a server at most.
        timeout: seconds that a call may take.
        retries: how often a call that failed is made again.
        key: what a server asks for; never stored, and never shown.
        proxies: by scheme, as ``urllib`` takes them; none is used for this machine itself.
        waits: time and chance.

    """

    server: str | None = None
    api: str | None = None
    model: str | None = None
    program: tuple[str, ...] = ()
    revision: str | None = None
    batch: int = BATCH
    timeout: float = 120.0
    retries: int = 5
    key: str | None = field(default=None, repr=False)
    proxies: Mapping[str, str] = field(default_factory=dict)
    waits: Waits = field(default_factory=Waits)


def api_of(options: ModelOptions) -> str:
    """How the model is spoken to.

    Raises:
        BadUsage: nothing says where it is, or two things do.

    """
    if bool(options.program) == (options.server is not None):
        what = "both a server and a program are given" if options.program else "nothing says where the model is"
        raise BadUsage(what, hint="--server URL --model MODEL, or --exec PROGRAM")
    if options.program:
        if options.api is not None or options.model is not None:
            raise BadUsage("--api and --model are for a server; a program says itself which model it has")
        return PROGRAM
    if options.api is not None and options.api not in SERVERS:
        raise BadUsage(f"{options.api!r} is no kind of API; there are {' and '.join(SERVERS)}", api=options.api)
    if options.api is not None:
        return options.api
    return OLLAMA if urlsplit(server_url(options.server or "")).port == _OLLAMA_PORT else OPENAI


def open_model(options: ModelOptions, header: Mapping[str, object]) -> Model:
    """The model; nothing is asked of it yet.

    Args:
        options: what is said of it.
        header: the first line that a program is given.

    """
    api = api_of(options)
    if api == PROGRAM:
        return Program(options.program, header, options.waits.clock)
    reach = Reach(options.timeout, options.retries, options.key, options.proxies)
    return SERVERS[api](Http(options.server or "", reach, options.waits), options.model or "", options.batch)
