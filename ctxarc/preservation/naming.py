"""What can be the name of a transcript."""

from __future__ import annotations

import re

NAME_LIMIT = 1000
"""Bytes of the longest name."""
PART_LIMIT = 240
"""Bytes of the longest part of a name: a file of that name, with an ending, fits on every common file system."""

_SPECIAL = re.compile("[\\x00-\\x1f\\x7f-\\x9f#\\ud800-\\udfff]|%(?![0-9A-Fa-f]{2})")


def fault_of_name(name: str) -> str:
    """Why ``name`` cannot be a transcript's name, in words; nothing where it can."""
    parts = name.split("/")
    if any(part in {"", ".", ".."} for part in parts):
        return "a name has no leading, doubled or closing / and no part . or .."
    if _SPECIAL.search(name):
        return "#, % and control characters cannot stand in a name as they are"
    size = len(name.encode())
    if size > NAME_LIMIT or any(len(part.encode()) > PART_LIMIT for part in parts):
        return f"it has {size} bytes; a name has at most {NAME_LIMIT}, each part of it at most {PART_LIMIT}"
    return ""
