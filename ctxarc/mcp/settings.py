"""What the user who starts a server allows it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

LOOP, ALL = "loop", "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the user who starts a server allows it.

    Attributes:
        root: the directory that archives and all writing are confined to.
        sources: directories from which may be captured beside.
        archive: the archive that tools mean where their caller names none.
        anywhere: whether that archive need not lie below ``root``.
        read_only: whether the tools that write are withdrawn.
        tools: ``all``, or ``loop`` for the five of the loop alone.
        servers: models' servers that may be asked beside those of this machine.
        program: a program that embeds, and its arguments, where no server is named.

    """

    root: Path
    sources: tuple[Path, ...] = ()
    archive: str | None = None
    anywhere: bool = False
    read_only: bool = False
    tools: str = ALL
    servers: tuple[str, ...] = ()
    program: tuple[str, ...] = ()
