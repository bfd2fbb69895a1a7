"""Names of transcripts: what may be one, and how a file's path becomes one."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from ctxarc.errors import BadName
from ctxarc.preservation.entry import NAME_LIMIT

if TYPE_CHECKING:
    from collections.abc import Sequence

PART_LIMIT = 240
"""Bytes of the longest part of a name: a file of that name, with an ending, fits on every common file system."""
SUFFIX = ".jsonl"
_BESIDE = "tool-results"
"""Claude Code's folder for large outputs that it keeps outside the transcript, as files of any kind."""


def name_of_path(parts: Sequence[str]) -> str:
    """The name of a file with these path parts: without ``.jsonl``, what cannot stand in a name %-encoded.

    Raises:
        BadName: a part is too long.

    """
    *folders, file = parts
    stem = file if _BESIDE in folders else file.removesuffix(SUFFIX)
    return check_name("/".join(_encoded(part) for part in (*folders, file if stem in {"", ".", ".."} else stem)))


def file_of_name(name: str) -> str:
    """The relative path that ``extract`` writes a transcript to.

    ``.jsonl`` is added, except to what lies beside a session and never had it: tool results and ``*.meta.json``.
    """
    beside = _BESIDE in name.split("/")[:-1] or name.endswith(".meta.json")
    return name if beside else name + SUFFIX


def check_name(name: str) -> str:
    """``name`` where it can be a transcript's name.

    Raises:
        BadName: it cannot, with the reason and, where there is one, the encoded form that can.

    """
    parts = name.split("/")
    shown = name if len(name) <= 80 else name[:77] + "..."  # noqa: PLR2004 - enough to recognise it
    if not name or any(part in {"", ".", ".."} for part in parts):
        raise BadName(f"{shown!r}: a name has no leading, doubled or closing / and no part . or ..", transcript=name)
    encoded = "/".join(_encoded(part, percent=False) for part in parts)
    if encoded != name or re.search("%(?![0-9A-Fa-f]{2})", name):
        encoded = "/".join(_encoded(part) for part in parts)
        message = f"{shown!r}: #, % and control characters cannot stand in a name"
        raise BadName(message, hint=f"write it as {encoded}", transcript=encoded)
    size = len(name.encode())
    if size > NAME_LIMIT or any(len(part.encode()) > PART_LIMIT for part in parts):
        message = f"{shown!r}: {size} bytes, and a name has at most {NAME_LIMIT}, each part at most {PART_LIMIT}"
        raise BadName(message, transcript=name, bytes=size, limit=NAME_LIMIT, part_limit=PART_LIMIT)
    return name


def _encoded(part: str, *, percent: bool = True) -> str:
    return "".join(_encoded_character(character, percent) for character in part)


def _encoded_character(character: str, percent: bool) -> str:  # noqa: FBT001 - called per character
    plain = (
        character != "#" and not (percent and character == "%") and unicodedata.category(character) not in {"Cc", "Cs"}
    )
    if plain:
        return character
    return "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogateescape"))
