"""Projections: how the bytes of a segment become the text that a model sees.

A projection is pinned by its name, since vectors of another text lie in another space.
``json-text-v1`` is the text of the message, escapes decoded in one pass, without the envelope around it. ``raw-v1`` is
the bytes as UTF-8. Both are total: invalid bytes and lone surrogates become U+FFFD, and the text is never empty.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

from ctxarc.auxiliary.jsontext import ENVELOPE, Literal, decode, strings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PROJECTION = "json-text-v1"
RAW = "raw-v1"
BLANK = "[blank]"
"""What stands for a segment of white space alone."""


def views(turn: bytes, ends: Sequence[int]) -> Iterator[tuple[int, int, str]]:
    """The segments of a turn, which end at ``ends``, with their texts by ``json-text-v1``: (start, end, text).

    A segment that holds text of a message is that text, a line for each string that it holds or touches; one that
    holds none is its raw bytes.
    """
    literals = [literal for literal in strings(turn, ENVELOPE) if literal.end > literal.start]
    at = start = 0
    for end in ends:
        while at < len(literals) and literals[at].end <= start:
            at += 1
        yield start, end, _view(turn, start, end, literals, at)
        start = end


def _view(turn: bytes, start: int, end: int, literals: list[Literal], at: int) -> str:
    parts = []
    while at < len(literals) and literals[at].start < end:
        literal = literals[at]
        raw = turn[max(literal.start, start) : min(literal.end, end)]
        parts.append(raw.decode("utf-8", "replace") if literal.plain else decode(raw))
        at += 1
    text = "\n".join(parts)
    return text if text and not text.isspace() else raw_view(turn[start:end])


def raw_view(raw: bytes) -> str:
    """Bytes by ``raw-v1``."""
    text = raw.decode("utf-8", "replace")
    return text if text and not text.isspace() else BLANK


def text_name(text: str) -> int:
    """A number of 64 bits that stands for a text: the first bytes of its BLAKE2b, little-endian."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")
