"""Names of transcripts: what may be one, and how a file's path becomes one."""

from __future__ import annotations

import os
import unicodedata
from typing import TYPE_CHECKING

from ctxarc.errors import BadName
from ctxarc.preservation.naming import fault_of_name

if TYPE_CHECKING:
    from collections.abc import Sequence

SUFFIX = ".jsonl"
_SHOWN = 80
"""Characters of a name that a message shows, enough to recognise it."""
_BESIDE = "tool-results"
"""Claude Code's folder for large outputs that it keeps outside the transcript, as files of any kind."""


def name_of_path(parts: Sequence[str]) -> str:
    """The name of a file with these path parts: without ``.jsonl``, what cannot stand in a name %-encoded.

    Raises:
        BadName: a part is too long.

    """
    *folders, file = (os.fsencode(part).decode("utf-8", "surrogateescape") for part in parts)
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
    fault = fault_of_name(name)
    if not fault:
        return name
    shown = name if len(name) <= _SHOWN else name[: _SHOWN - 3] + "..."
    encoded = "/".join(_encoded(part) for part in name.split("/"))
    hint = None if fault_of_name(encoded) else f"write it as {encoded}"
    raise BadName(f"{shown!r}: {fault}", hint=hint, transcript=encoded, bytes=len(encoded.encode()))


def _encoded(part: str) -> str:
    return "".join(_encoded_character(character) for character in part)


def _encoded_character(character: str) -> str:
    if character not in "#%" and unicodedata.category(character) not in {"Cc", "Cs"}:
        return character
    return "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogateescape"))
