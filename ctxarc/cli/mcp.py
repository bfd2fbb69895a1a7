"""``ctxarc mcp``: the operations as tools of the Model Context Protocol, for agents."""

from __future__ import annotations

import os
from pathlib import Path

import click

from ctxarc.cli import sources
from ctxarc.cli.arguments import SomePath, program_of
from ctxarc.cli.options import Command, common_options
from ctxarc.cli.output import Output
from ctxarc.errors import BadUsage, MissingPackage, NoSuchSource
from ctxarc.mcp.settings import ALL, LOOP, Settings

try:
    from ctxarc.mcp.server import serve
except ModuleNotFoundError as error:  # the extra is not installed
    if (error.name or "").partition(".")[0] not in {"mcp", "mcp_types", "anyio"}:
        raise
    serve = None  # type: ignore[assignment]


@click.command("mcp", cls=Command)
@click.argument("archive", required=False)
@click.option("--root", type=SomePath(), metavar="DIR", help="Keep archives, and all writing, below DIR.")
@click.option(
    "--sources", "folders", multiple=True, type=SomePath(), metavar="DIR", help="Let DIR be captured from; repeatable."
)
@click.option("--read-only", is_flag=True, help="Offer no tool that writes.")
@click.option("--tools", type=click.Choice([LOOP, ALL]), default=ALL, help="Offer the five of the loop, or all.")
@click.option("--server", multiple=True, metavar="URL", help="Let texts be sent to the model at URL; repeatable.")
@click.option("--exec", "program", metavar="PROGRAM", help="Embed with PROGRAM, as `ctxarc embed` runs it.")
@common_options
def command(
    out: Output,
    archive: str | None,
    root: Path | None,
    folders: tuple[Path, ...],
    read_only: bool,
    tools: str,
    server: tuple[str, ...],
    program: str | None,
) -> int:
    """Offer the archive to agents, as tools over MCP.

    A client starts it, and speaks the Model Context Protocol with it on stdin and stdout. DIR of --root is the working
    directory unless said. Tools capture from below it, and from where Claude Code, Codex and Gemini keep sessions
    unless --sources says otherwise. With ARCHIVE, tools mean it where they name no other. Models on this machine may
    be asked to embed; others only with --server.

    \b
      ctxarc mcp work.ctxa
      ctxarc mcp --root ~/archives --read-only
      claude mcp add ctxarc -- ctxarc mcp ~/work.ctxa
    """  # noqa: D301 - click reads the control character as "keep these lines"
    del out  # stdout is the protocol's
    if serve is None:
        raise MissingPackage("the package mcp is not installed", hint="pip install 'ctxarc[mcp]'", package="mcp")
    for place in (*([root] if root else []), *folders):
        if not place.is_dir():
            raise NoSuchSource(f"{place}: no such directory", hint="name a directory", path=str(place))
    settings = Settings(
        root=root or Path.cwd(),
        sources=folders or _session_folders(),
        archive=None if archive is None else os.path.abspath(os.path.expanduser(archive)),  # noqa: PTH100, PTH111 - as it is typed
        anywhere=root is None,
        read_only=read_only,
        tools=tools,
        servers=server,
        program=program_of(program),
    )
    _check_archive(settings)
    serve(settings)
    return 0


def _session_folders() -> tuple[Path, ...]:
    """Where clients keep sessions."""
    gemini = Path(os.path.expanduser("~/.gemini/tmp"))  # noqa: PTH111 - never fails
    return (sources.claude_dir() / "projects", sources.codex_dir() / "sessions", gemini)


def _check_archive(settings: Settings) -> None:
    if settings.archive is None or settings.anywhere:
        return
    root, archive = os.path.realpath(settings.root), os.path.realpath(settings.archive)
    if not Path(archive).is_relative_to(root):
        message = f"{settings.archive} is not below {root}, which --root names"
        raise BadUsage(message, hint="leave --root out, or name the directory that the archive is in")
