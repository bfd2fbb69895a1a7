"""The text of a turn as people read it, and the stretch of it that is left out where there is no room for all of it.

What is left out is a range of raw bytes: where the text of a long string stands in what people read, a stretch of that
string; else a stretch of the turn, whose two ends are then shown by ``json-text-v1``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ctxarc.auxiliary.jsontext import ENVELOPE, Mapped, mapped, strings
from ctxarc.auxiliary.projection import views

if TYPE_CHECKING:
    from ctxarc.auxiliary.records import Part

_LONG = 64
"""Bytes of the shortest string that a stretch is taken out of."""
_TRIED = 4
"""Of the longest strings, how many are looked for in the text."""
_HEAD = 2, 3
"""The share of what is shown that stands before the stretch."""
_LEAST = 24
"""Characters that are shown at least."""
_CONTINUATION, _MASK = 0x80, 0xC0


def readable(parts: Sequence[Part]) -> str:
    """The parts of a record, one below the other; what is not plain text says what it is."""
    return "\n".join(part.text if part.kind == "text" else _labelled(part) for part in parts)


def _labelled(part: Part) -> str:
    named = f"[{part.kind} {part.name}]" if part.name else f"[{part.kind}]"
    return f"{named} {part.text}" if part.text else named


class Cut(NamedTuple):
    """A text without a stretch of it: what stands before, what stands behind, and the raw bytes in between."""

    head: str
    tail: str
    start_byte: int
    end_byte: int


def json_bytes(value: object) -> int:
    """Bytes of ``value`` as JSON, at most: all but ASCII is escaped, and DEL counts as if it were."""
    text = json.dumps(value)
    return len(text) + text.count("\x7f") * (len("\\u007f") - 1)


def cut(raw: bytes, text: str, room: int) -> Cut | None:
    """The text of a turn with a stretch left out, so that what stays takes at most ``room`` bytes as JSON.

    Args:
        raw: the bytes of the turn.
        text: what :func:`readable` makes of them.
        room: bytes of both ends as JSON strings.

    Returns:
        ``None`` where there is no room for anything that is worth reading.

    """
    for inside in _found(raw, text):
        found = _fitting(inside.without, room)
        if found:
            return found
    return _fitting(_Ends(raw).without, room)


def _fitting(shown: Callable[[int], Cut | None], room: int) -> Cut | None:
    """The cut that shows the most characters and takes at most ``room`` bytes, or nearly."""
    chars = room
    while chars >= _LEAST:
        found = shown(chars)
        if found is None:
            return None
        size = json_bytes(found.head) + json_bytes(found.tail)
        if size <= room:
            return found
        chars = min(chars * room // size, chars - max(chars // 16, 1))
    return None


class _Inside(NamedTuple):
    """A string of a turn, how it stands in the readable text, and that text before and behind it."""

    string: Mapped
    stands: Callable[[str], str]
    before: str
    behind: str

    def without(self, chars: int) -> Cut | None:
        """About ``chars`` characters of the text; ``None`` where more than those stand around the string."""
        inside = chars - len(self.before) - len(self.behind)
        if not 0 <= inside < len(self.string.text):
            return None
        first = inside * _HEAD[0] // _HEAD[1]
        last = len(self.string.text) - (inside - first)
        start, end = self.string.raw_range(first, last)
        head, tail = self.stands(self.string.text[:first]), self.stands(self.string.text[last:])
        return Cut(self.before + head, tail + self.behind, start, end)


def _found(raw: bytes, text: str) -> Iterator[_Inside]:
    """The longest strings of a turn that stand in its text."""
    literals = [each for each in strings(raw, ENVELOPE) if each.end - each.start >= _LONG]
    for literal in sorted(literals, key=lambda each: each.start - each.end)[:_TRIED]:
        string = mapped(raw, literal)
        for stands in (str, _in_json):
            there = stands(string.text)
            before, found, behind = text.partition(there) if there else ("", "", "")
            if found:
                yield _Inside(string, stands, before, behind)
                break


def _in_json(text: str) -> str:
    """A string as it stands in the arguments of a tool, which are read as JSON."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


class _Ends:
    """The two ends of a turn, between its first string of a message and its last."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        literals = [each for each in strings(raw, ENVELOPE) if each.end > each.start]
        self._first = literals[0].start if literals else 0
        self._last = max(each.end for each in literals) if literals else len(raw)

    def without(self, chars: int) -> Cut | None:
        """About ``chars`` characters of the text; ``None`` where those are all of it."""
        first = chars * _HEAD[0] // _HEAD[1]
        start = self._whole(self._first + first)
        end = self._whole(self._last - (chars - first))
        if not 0 < start < end < len(self._raw):
            return None
        (_, _, head), _, (_, _, tail) = views(self._raw, (start, end, len(self._raw)))
        return Cut(head, tail, start, end)

    def _whole(self, at: int) -> int:
        """The beginning of the UTF-8 character at ``at``."""
        at = max(0, min(at, len(self._raw) - 1))
        while at > 0 and self._raw[at] & _MASK == _CONTINUATION:
            at -= 1
        return at
