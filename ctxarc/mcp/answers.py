"""How long an answer may be, and what a caller reads of what was left out of it.

A model reads a token for about three bytes of JSON, and fewer where it is full of digests. An answer goes out twice, as
structured content and as the same JSON in a text, since some clients read one and some the other; so one of them has
half of what a client takes, which is 25,000 tokens.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING, Any

from ctxarc.model import as_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

LIMIT = 38_000
"""Bytes of an answer as JSON."""
_ROOM_FOR_CUT = 200
"""Bytes of what says that an answer is cut."""
_COUNTED = 100_000
"""Rows that are counted at most."""
_CLIPS = ((4000, 20), (1000, 5), (240, 2))
"""Characters of a text, and rows of a list in a row, that are left where an answer is too long."""

Fields = dict[str, Any]
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode


def to_json(value: object) -> str:
    """``value`` as JSON."""
    return _encode(value)


def size_of(value: object) -> int:
    """Bytes of ``value`` as JSON."""
    return len(_encode(value).encode("utf-8", "surrogatepass"))


def clean(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """``value`` without lone surrogates, of which UTF-8 has none: U+FFFD stands for them."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    if isinstance(value, list):
        return [clean(each) for each in value]
    if isinstance(value, dict):
        return {clean(key): clean(each) for key, each in value.items()}
    return value


# ------------------------------------------------------------------------------------------------------------- rows


class Pages:
    """Takes a page of rows.

    Args:
        first: rows that were given before.
        limit: rows of the page at most; as many as there is room for, where it is ``None``.
        cursor: makes the ``next`` of a place: rows, and bytes of the next row, that were given.

    """

    def __init__(self, first: int, limit: int | None, cursor: Callable[[int, int], str]) -> None:
        self._first, self._limit, self._cursor = first, limit, cursor

    def take(self, fields: Fields, rows: Iterable[object], name: str = "rows", *, of: int | None = None) -> Fields:
        """``fields`` with a page of ``rows`` under ``name``, and what says how many there are.

        Args:
            fields: the other fields.
            rows: all rows; where ``of`` says how many those are, without the ones that were given before.
            name: the field of the rows.
            of: rows in all, where that is known.

        """
        every = iter(rows)
        passed = sum(1 for _ in islice(every, self._first)) if of is None else self._first
        page, rest = self._page(every, LIMIT - size_of(fields) - _ROOM_FOR_CUT)
        given = passed + len(page)
        total = counted(given, 0, rest) if of is None else of
        more = total is None or total > given
        return fields | {name: page} | cut(total, self._cursor(given, 0) if more else None)

    def _page(self, rows: Iterator[object], room: int) -> tuple[list[Any], Iterator[object]]:
        page: list[Any] = []
        for row in rows:
            value = as_json(row)
            size = size_of(value) + 1
            if page and (size > room or (self._limit is not None and len(page) >= self._limit)):
                return page, _again(row, rows)
            page.append(value if size <= room else clipped(value, room))
            room -= size
        return page, rows


def cut(total: int | None, following: str | None) -> Fields:
    """What says whether an answer is all."""
    return {"total": total, "truncated": following is not None, "next": following}


def _again(row: object, rows: Iterator[object]) -> Iterator[object]:
    yield row
    yield from rows


def counted(given: int, left: int, rest: Iterator[object]) -> int | None:
    """Rows in all: those given, those left, and the rest; ``None`` where there are more than would be counted."""
    behind = sum(1 for _ in islice(rest, _COUNTED + 1))
    return None if behind > _COUNTED else given + left + behind


def clipped(row: Any, room: int) -> Any:  # noqa: ANN401 - a row as JSON
    """``row`` with its long texts and lists cut, so that it has at most ``room`` bytes; ``clipped`` says so."""
    for chars, items in _CLIPS:
        short = {**_clip(row, chars, items), "clipped": True}
        if size_of(short) <= room:
            break
    return short


def _clip(value: Any, chars: int, items: int) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, str):
        return value[:chars]
    if isinstance(value, list):
        return [_clip(each, chars, items) for each in value[:items]]
    if isinstance(value, dict):
        return {key: _clip(each, chars, items) for key, each in value.items()}
    return value


# ----------------------------------------------------------------------------------------------------- one long text


def part_of(row: Fields, skip: int, room: int) -> tuple[Fields, int]:
    """A row of bytes of a turn from its byte ``skip`` on, in ``room`` bytes of JSON, and where it ends in the row.

    It is cut between two characters. ``rest`` is the address of what is left of it.
    """
    data = row["text"].encode() if "text" in row else b64decode(row["base64"])
    first, last = row["start_byte"], row["end_byte"]
    bare = {key: value for key, value in row.items() if key not in {"text", "base64"}}
    room -= size_of(bare) + _ROOM_FOR_CUT
    start = first + skip
    count = min(len(data) - skip, max(room, 1))
    while True:
        piece = _whole_characters(data[skip : skip + count], is_last=skip + count == len(data))
        content = _content(piece)
        size = size_of(content)
        if size <= room or len(piece) <= 1:
            break
        count = max(min(count * room // size, count - 1), 1)
    end = start + len(piece)
    cite = row["cite"].partition(":")[2].partition(":")[0]
    part = bare | {"start_byte": start, "end_byte": end, "range_sha256": sha256(piece).hexdigest()} | content
    if (start, end) != (first, last):
        part["cite"] = f"ctxa:{cite}:{start}-{end}"
    if end < last:
        part["rest"] = f"ctxa:{cite}:{end}-{last}"
    return part, end - first


def _content(piece: bytes) -> Fields:
    try:
        return {"text": piece.decode()}
    except UnicodeDecodeError:
        return {"base64": b64encode(piece).decode()}


def _whole_characters(piece: bytes, *, is_last: bool) -> bytes:
    """``piece`` without the beginning of a character at its end, where more follows."""
    if is_last:
        return piece
    for back in range(1, min(4, len(piece))):
        byte = piece[-back]
        if byte < 0x80:  # noqa: PLR2004 - ASCII
            return piece
        if byte >= 0xC0:  # noqa: PLR2004 - the first byte of a character
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4  # noqa: PLR2004 - as UTF-8 says
            return piece if back >= length else piece[:-back]
    return piece


# ------------------------------------------------------------------------------------------------------ whole results


def fitted(fields: Fields, name: str | None = None) -> Fields:
    """``fields``; where they are too long, with the rows of the list ``name`` clipped, and then cut."""
    if name is None:
        return fields if size_of(fields) <= LIMIT else _clipped(fields)
    rows: list[Any] = fields[name]
    room = LIMIT - _ROOM_FOR_CUT - size_of({**fields, name: []})
    if size_of(rows) <= room:
        return fields | {"total": len(rows), "truncated": False, "next": None}
    if room < LIMIT // 2:
        fields = _clipped({**fields, name: []})
        room = LIMIT - _ROOM_FOR_CUT - size_of(fields)
    short = rows
    for chars, items in _CLIPS:
        short = [_shorter(row, chars, items) for row in rows]
        if size_of(short) <= room:
            break
    return fields | {name: _leading(short, room), "total": len(rows), "truncated": True, "next": None}


def _clipped(fields: Fields) -> Fields:
    short: Fields = clipped(fields, LIMIT)
    return short


def _leading(rows: list[Any], room: int) -> list[Any]:
    """The first rows that there is room for."""
    kept: list[Any] = []
    for row in rows:
        room -= size_of(row) + 1
        if room < 0:
            break
        kept.append(row)
    return kept


def _shorter(row: Any, chars: int, items: int) -> Any:  # noqa: ANN401 - a row as JSON
    short = _clip(row, chars, items)
    return {**short, "clipped": True} if short != row and isinstance(row, dict) else short
