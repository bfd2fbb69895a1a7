"""Where a turn may be cut: in front of whole characters, whole escapes and whole line ends, and nowhere else.

This is the one place that knows; every scheme asks it.
"""

from __future__ import annotations

import re

_HEX = b"[0-9a-fA-F]"
_WHOLE = re.compile(
    rb"\\u[dD][89abAB]" + _HEX + rb"{2}\\u[dD][c-fC-F]" + _HEX + rb"{2}|\\u" + _HEX + rb"{4}|\\r\\n|\\\r\n|\\.|\r\n",
    re.DOTALL,
)
_LONGEST = 12
"""Bytes of the longest thing that is not cut: a surrogate pair, escaped."""
_BACKSLASH, _LINE_FEED = 0x5C, 0x0A
_LEADS = ((0xF0, 4), (0xE0, 3), (0xC0, 2))


def safe(turn: bytes, at: int, floor: int) -> int:
    """The last place up to ``at`` where ``turn`` may be cut.

    Nothing before ``floor``, at which it may be cut, is looked at, so that the cuts of a turn take time in proportion
    to its length, whatever it consists of.

    Args:
        turn: the bytes of a turn.
        at: a place in it, floor <= at < length.
        floor: a place at which the turn may be cut.

    """
    byte = turn[at]
    if byte & 0xC0 == 0x80:  # noqa: PLR2004 - within a sequence of UTF-8
        at = _character(turn, at, floor)
    elif byte != _LINE_FEED and turn.find(b"\\", max(at - _LONGEST, floor), at) < 0:
        return at
    start = backslashes(turn, max(at - _LONGEST, floor), floor)
    for whole in _WHOLE.finditer(turn, start, at + _LONGEST):
        if whole.end() > at:
            return min(whole.start(), at)
    return at


def backslashes(turn: bytes, at: int, floor: int) -> int:
    """Where the backslashes begin that stand right before ``at``, at ``floor`` or behind it."""
    while at > floor and turn[at - 1] == _BACKSLASH:
        at -= 1
    return at


def is_escaped(turn: bytes, at: int, floor: int) -> bool:
    """Whether a backslash that is not escaped itself stands right before ``at``; ``floor`` is as for :func:`safe`."""
    return bool((at - backslashes(turn, at, floor)) & 1)


def _character(turn: bytes, at: int, floor: int) -> int:
    """Where the character begins that the byte ``at`` continues; ``at`` where it continues none."""
    for start in range(at - 1, max(at - 4, floor - 1), -1):
        if turn[start] & 0xC0 == 0x80:  # noqa: PLR2004 - goes on
            continue
        length = next((length for lead, length in _LEADS if turn[start] >= lead), 1)
        return start if start + length > at else at
    return at
