"""Where ``capture`` gets its sources from: arguments, stdin, a list of files, a client's folder, a client's hook.

The environment and the standard input are read here, so that operations need neither.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from ctxarc.errors import BadUsage, NoSuchSource
from ctxarc.operations.sources import Source, discover, from_hook, latest, spooled


def stdin() -> BinaryIO:
    """The standard input as bytes."""
    if sys.stdin is None:
        raise NoSuchSource("the standard input is closed")
    return sys.stdin.buffer


def claude_dir() -> Path:
    """Where Claude Code keeps its sessions."""
    return Path(os.environ.get("CLAUDE_CONFIG_DIR") or os.path.expanduser("~/.claude"))  # noqa: PTH111 - never fails


def codex_dir() -> Path:
    """Where Codex keeps its sessions."""
    return Path(os.environ.get("CODEX_HOME") or os.path.expanduser("~/.codex"))  # noqa: PTH111 - never fails


def hooked() -> list[Source]:
    """The session that a client's hook names on stdin."""
    return from_hook(stdin().read())


def newest() -> list[Source]:
    """The newest session of the clients on this machine."""
    return latest(claude_dir(), codex_dir())


def listed(file: str, *, nul: bool) -> list[Source]:
    """The sources named in ``file``, one a line, or separated by NUL; ``-`` is stdin."""
    try:
        data = stdin().read() if file == "-" else Path(file).read_bytes()
    except FileNotFoundError:
        raise NoSuchSource(f"{file}: no such file", path=file) from None
    if not nul and b"\0" in data:
        raise BadUsage(f"{file}: holds NUL bytes", hint="add -0 where a NUL ends each path")
    paths = [os.fsdecode(line) for line in data.split(b"\0" if nul else b"\n") if line]
    if not paths:
        raise NoSuchSource(f"{file}: names no source", path=file)
    return discover(paths)


def given(sources: Sequence[str], name: str | None) -> list[Source]:
    """The sources that stand on the command line."""
    if "-" not in sources:
        return discover(sources, name=name)
    if len(sources) > 1:
        raise BadUsage("- stands for the standard input, and no other source goes with it")
    if name is None:
        raise BadUsage("a transcript from the standard input needs a name", hint="add --name NAME")
    return [spooled(stdin(), name)]
