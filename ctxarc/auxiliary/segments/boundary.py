"""``boundary-v1``: a cut at the best border between 200 and 500 bytes behind the one before.

The best border is the last end of a paragraph in that window; else of a sentence, of a line, of a JSON value, of a
word, each kind of mark with a rank of its own; and where there is none, the window's end. So no segment of a text is
longer than models for embeddings read.
"""

from __future__ import annotations

from ctxarc.auxiliary.segments.places import safe
from ctxarc.auxiliary.segments.units import LEAST, scheme_in_units

_MOST = 500
_FULL_STOPS = bytes.maketrans(b"!?", b"..")
_BORDERS = (
    *(b"\\n\\n", b"\\n\\r\\n"),
    *(b". ", *(mark.encode() for mark in ("\u3002", "\uff1f", "\uff01", "\u0964", "\u061f"))),
    *(b"\\n", b'","', b'\\",', b"},", b"],"),
    *(b", ", *(mark.encode() for mark in ("\uff0c", "\u3001"))),
    *(b" ", b","),
)
"""Ends of paragraphs, sentences, lines, JSON values, also in a string, and words: the best first.

Each ends where a turn may be cut: with a whole escape, with a whole character, or with a byte that no escape contains.
"""
_SIZED = [(border, len(border)) for border in _BORDERS]
_ASCII = [(border, size) for border, size in _SIZED if border.isascii()]


def _places(turn: bytes, start: int, end: int) -> list[int]:
    places: list[int] = []
    if end - start <= _MOST:
        return places
    text = turn[start:end].translate(_FULL_STOPS)
    borders = _ASCII if text.isascii() else [border for border in _SIZED if border[0][:1] in text]
    rfind = text.rfind
    at, least, most, length = 0, LEAST, _MOST, len(text)
    while length - at > most:
        first, last = at + least, min(at + most, length - least)
        for border, size in borders:
            found = rfind(border, first - size, last)
            if found >= 0:
                at = found + size
                break
        else:
            at = safe(turn, start + last, start + at) - start
        places.append(start + at)
    return places


SCHEME = scheme_in_units(
    "boundary-v1",
    "at the best border in a window of 200 to 500 bytes",
    {"least_bytes": LEAST, "most_bytes": _MOST},
    _places,
)
