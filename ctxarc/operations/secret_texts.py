"""The texts of a turn in which secrets are looked for, and matches in them as ranges of the turn's raw bytes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ctxarc.auxiliary.jsontext import Mapped, decode, is_json_like, strings
from ctxarc.auxiliary.secrets.rule import Rule, Rules

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_KEY = re.compile(rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"([ \t\r\n]*+:)?', re.DOTALL)


class Secret(NamedTuple):
    """A secret in a turn: its raw bytes ``start`` to ``end``, what found it, and its text, escapes decoded."""

    start: int
    end: int
    rule: Rule
    text: str


class Text(NamedTuple):
    """A text in which secrets are looked for: a whole turn, or a string with escapes in it."""

    turn: int
    raw: bytes
    text: str
    mapped: Mapped | None


class Found(NamedTuple):
    """A match: which rule's, in which text."""

    rank: int
    within: Text
    start: int
    end: int

    @property
    def text(self) -> str:
        """What matched."""
        return self.within.text[self.start : self.end]


def bytes_of(text: str) -> bytes:
    """The bytes that a text was, those that are no UTF-8 included."""
    return text.encode("utf-8", "surrogateescape")


class _Range(NamedTuple):
    start: int
    end: int


def escaped(raw: bytes) -> Iterator[_Range]:
    """The strings of a line, keys too, that have escapes."""
    if not is_json_like(raw):
        return
    for literal in strings(raw):
        if not literal.plain and raw.find(b"\\", literal.start, literal.end) >= 0:
            yield _Range(literal.start, literal.end)
    for key in _KEY.finditer(raw):
        if key[2] and b"\\" in key[1]:
            yield _Range(*key.span(1))


def texts_of(number: int, raw: bytes) -> Iterator[Text]:
    """The texts of a turn: all of it as it stands, and each string with escapes as they are meant."""
    yield Text(number, raw, raw.decode("utf-8", "surrogateescape"), None)
    if b"\\" in raw:
        for start, end in escaped(raw):
            text = Mapped(raw[start:end], offset=start)
            yield Text(number, raw, text.text, text)


def gathered(turns: int, found: Sequence[Found], rules: Rules) -> list[list[Secret]]:
    """For each turn what was found in it, one for all that overlap."""
    of_turns: list[list[Found]] = [[] for _ in range(turns)]
    for each in found:
        of_turns[each.within.turn].append(each)
    return [_merged(sorted(each, key=_order), rules) if each else [] for each in of_turns]


def _order(found: Found) -> tuple[bool, int]:
    return found.within.mapped is not None, found.start


def _merged(found: Sequence[Found], rules: Rules) -> list[Secret]:
    offsets = _Offsets()
    placed = sorted((_placed(each, rules, offsets) for each in found), key=lambda place: place.secret[:2])
    merged: list[_Placed] = []
    for each in placed:
        before = merged[-1] if merged else None
        if before is None or each.secret.start >= before.secret.end:
            merged.append(each)
            continue
        best = min(before, each, key=lambda place: place.rank)
        end = max(before.secret.end, each.secret.end)
        merged[-1] = best._replace(secret=best.secret._replace(start=before.secret.start, end=end))
    return [each.secret for each in merged]


class _Placed(NamedTuple):
    """A match as a secret, and its rank among those that overlap: the lowest says what it is."""

    rank: tuple[int, bool, int]
    secret: Secret


def _placed(found: Found, rules: Rules, offsets: _Offsets) -> _Placed:
    text = found.within
    if text.mapped:
        start, end = text.mapped.raw_range(found.start, found.end)
    else:
        start, end = offsets.span(text.text, found.start, found.end)
    secret = Secret(start, end, rules.rules[found.rank], _decoded(found))
    return _Placed((found.rank, text.mapped is None, start), secret)


def _decoded(found: Found) -> str:
    if found.within.mapped is None and "\\" in found.text and is_json_like(found.within.raw):
        return decode(bytes_of(found.text))
    return bytes_of(found.text).decode("utf-8", "replace")


class _Offsets:
    """Bytes for characters of one text, in ascending order."""

    def __init__(self) -> None:
        self._at = self._byte = 0

    def span(self, text: str, start: int, end: int) -> tuple[int, int]:
        if text.isascii():
            return start, end
        if start < self._at:
            self._at = self._byte = 0
        first = self._byte + len(bytes_of(text[self._at : start]))
        self._at, self._byte = start, first
        return first, first + len(bytes_of(text[start:end]))
