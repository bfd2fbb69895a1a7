"""The units of a turn that a scheme cuts by themselves: each long text alone, and what stands between them.

A long text is cut from its own beginning, whatever stands before it in the line, so that the same text has the same
cuts wherever it stands. What stands between, the envelope and short strings, goes with the text behind it, or with the
last one, unless it is long itself. A blob, which is base64 or the like, is not cut but for its mere size.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ctxarc.auxiliary.jsontext import is_json_like
from ctxarc.auxiliary.segments.places import is_escaped, safe
from ctxarc.auxiliary.segments.scheme import Scheme

LEAST = 200
"""Bytes of the shortest segment, but for turns that are shorter; and of the shortest text that is a unit."""
BETWEEN = 500
"""Bytes of the longest stretch between texts that goes with one of them."""
BLOB = 2000
"""Bytes of the shortest blob."""
BLOB_PIECE = 1 << 20
"""Bytes at which a blob is cut."""

Cut = Callable[[bytes, int, int], list[int]]
"""Gives the places within [start, end) of a turn where a scheme cuts; neither ``start`` nor ``end`` is among them."""

_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_-"
_RUN = re.compile(rb"[A-Za-z0-9+/=_-]*+")
_IN_BLOBS = (b"\\n", b"\\r", b"\\/")
"""Escapes that stand in blobs: line ends, and a slash as some clients write it."""
_CELL = BLOB // 2
"""A blob covers at least one whole cell of this size, wherever cells begin."""
_BACK = 4096
_BACKSLASH = 0x5C
_CLOSERS = b":,]}"
_BEFORE = {0x3A: b'"', 0x2C: b'"}]0123456789el', 0x5B: b":,[", 0x7B: b":,["}
"""What stands before a colon, a comma and an opening bracket that are no part of a string."""
_BLANKS = b" \t"


def scheme_in_units(name: str, about: str, parameters: dict[str, int], cut: Cut) -> Scheme:
    """The scheme that cuts each unit of a turn by ``cut``."""
    return Scheme(name, about, parameters, lambda turn: cut_in_units(turn, cut))


def cut_in_units(turn: bytes, cut: Cut) -> list[int]:
    """The ends of the segments of ``turn`` where each unit is cut by ``cut``."""
    length = len(turn)
    if length < 2 * LEAST:
        return [length]
    ends: list[int] = []
    at = 0
    for start, end in texts(turn):
        if at:
            ends.append(at)
        if start - at > BETWEEN:
            ends += _within(turn, at, start, cut)
        ends += _within(turn, start, end, cut)
        at = min(end + (2 if turn[end + 1 : end + 2] == b"," else 1), length)
    if not at or length - at > BETWEEN:
        ends += ([at] if at else []) + _within(turn, at, length, cut)
    ends.append(length)
    return ends


def texts(turn: bytes) -> list[tuple[int, int]]:
    """The raw bytes [start, end) of every string of at least LEAST bytes; the whole turn where it is no JSON.

    It is fast since it looks at one quotation mark in LEAST bytes only. Which mark opens and which closes is told by
    what stands beside it.
    """
    length = len(turn)
    if not is_json_like(turn):
        return [(0, length)]
    found = []
    at = turn.find(b'"') + 1
    while at and length - at >= LEAST:
        last = turn.rfind(b'"', at, at + LEAST)
        while (
            last > at and turn[last - 1] == _BACKSLASH and (turn[last - 2] != _BACKSLASH or is_escaped(turn, last, at))
        ):
            last = turn.rfind(b'"', at, last)
        if last >= 0:
            at = last + 1
            continue
        end = turn.find(b'"', at + LEAST)
        while end > 0 and turn[end - 1] == _BACKSLASH and (turn[end - 2] != _BACKSLASH or is_escaped(turn, end, at)):
            end = turn.find(b'"', end + 1)
        end = end if end >= 0 else length
        if turn[at] not in _CLOSERS or _opens(turn, at - 1):
            found.append((at, end))
        at = end + 1
    return found


def _opens(turn: bytes, mark: int) -> bool:
    """Whether the quotation mark at ``mark`` opens a string, by what stands before it."""
    at = _behind_blanks(turn, mark)
    before = _BEFORE.get(turn[at - 1]) if at else b""
    if before is None:
        return False
    at = _behind_blanks(turn, at - 1) if at else 0
    return at == 0 or turn[at - 1] in before


def _behind_blanks(turn: bytes, at: int) -> int:
    while at and turn[at - 1] in _BLANKS:
        at -= 1
    return at


def _within(turn: bytes, start: int, end: int, cut: Cut) -> list[int]:
    """The places within [start, end) where it is cut: by ``cut`` outside blobs, and beside and seldom in them."""
    if end - start < BLOB:
        return cut(turn, start, end)
    places: list[int] = []
    at = start
    for first, last in _blobs(turn, start, end):
        if first - at >= LEAST:
            places += [*cut(turn, at, first), first]
        elif at > start:
            places.append(at)
        for piece in range(first + BLOB_PIECE, last - LEAST, BLOB_PIECE):
            places.append(safe(turn, piece, first))
        at = last
    if at > start and end - at >= LEAST:
        places.append(at)
    return places + (cut(turn, at, end) if end - at >= LEAST else [])


def _blobs(turn: bytes, start: int, end: int) -> list[tuple[int, int]]:
    """The blobs within [start, end)."""
    found = []
    floor = seen = start  # the last place known to be safe, and the end of the last run, which may lie in an escape
    for cell in range(start, end - _CELL + 1, _CELL):
        stop = cell + _CELL
        if cell < seen or turn.find(b" ", cell, stop) >= 0 or not _is_blob(turn[cell:stop]):
            continue
        first, seen = _blob_start(turn, cell, floor), _blob_end(turn, stop, end)
        last = safe(turn, seen, floor) if seen < end else end
        if last - first >= BLOB:
            found.append((first, last))
            floor = last
    return found


def _is_blob(cell: bytes) -> bool:
    """Whether a cell may lie in a blob; runs of backslashes may not, so that they are counted few times."""
    return b"\\u" not in cell and b"\\\\" not in cell and not cell.translate(None, _ALPHABET + b"\\")


def _blob_start(turn: bytes, at: int, floor: int) -> int:
    while at > floor:
        window = turn[max(at - _BACK, floor) : at]
        at -= len(window) - len(window.rstrip(_ALPHABET))
        if at > floor and turn[at - 1 : at + 1] in _IN_BLOBS:
            at -= 1
        elif at == floor or turn[at - 1] not in _ALPHABET:
            break
    return safe(turn, at, floor)


def _blob_end(turn: bytes, at: int, end: int) -> int:
    while at < end:
        run = _RUN.match(turn, at, end)
        at = run.end() if run else at
        if turn[at : at + 2] not in _IN_BLOBS or at + 2 > end:
            break
        at += 2
    return at
