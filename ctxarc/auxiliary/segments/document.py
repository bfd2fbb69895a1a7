"""The borders that a document states itself, as they lie in the bytes of a JSON string."""

from __future__ import annotations

import re

from ctxarc.auxiliary.segments.places import is_escaped

BORDER = re.compile(rb"\\n(?:\\n|\\r\\n|(?=#{1,6} |[-*+] |[0-9]{1,3}[.)] |```))")
"""Ends in front of a heading, a list's item or a code fence, or behind a blank line."""


def next_border(turn: bytes, look: int, end: int, floor: int) -> re.Match[bytes] | None:
    """The first border from ``look`` on; ``floor`` is as for :func:`safe`."""
    while border := BORDER.search(turn, look, end):
        if not is_escaped(turn, border.start(), floor):
            return border
        look = border.start() + 1  # an escaped backslash and an n
    return None
