"""The stretch of a record that comes nearest to a quotation which does not stand in it.

One pass over the texts counts how many of the quotation's words stand close together, and keeps the few places with
most of them; these alone are laid beside the quotation. Time and memory are linear in the record, whatever it holds.
"""

from __future__ import annotations

import re
from heapq import heappush, heappushpop
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from ctxarc.auxiliary.jsontext import ENVELOPE, Literal, mapped, strings
from ctxarc.operations.aligning import ELLIPSIS, WORD, Aligner, Alignment, Hunk, fold, tokens, without_blanks
from ctxarc.operations.spacing import BLANKS, Spaced, spaced

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ctxarc.preservation.record import State, Turn

_PIECE = 1 << 16
"""Characters of a text that are looked through at a time, beside those of the piece before."""
_MOST, _LEAST = 64, 4
"""Places that are laid beside the quotation, and how few where it is long."""
_TOKENS_LAID = 60_000
_MOST_LEFT_OUT = 1 << 16
"""Characters that an ellipsis may stand for."""
_ELLIPSIS = re.compile(ELLIPSIS)
_ANY = re.compile(r"\S")
_ASCII_WORDS = bytes(ord(chr(code).lower()) if chr(code).isalnum() or code == ord("_") else 32 for code in range(128))
_TO_WORDS = _ASCII_WORDS + b" " * 128
_MOST_KEYS = 1 << 16
_UNKNOWN = 1 << 62
"""A length that no string has."""


class Place(NamedTuple):
    """A string of a turn."""

    state: State
    turn: Turn
    literal: Literal


class Near(NamedTuple):
    """A stretch of the text of a place, laid beside the quotation, which has so many ``words``."""

    place: Place
    alignment: Alignment
    words: int


class _Candidate(NamedTuple):
    """Where words of the quotation stand close together.

    Attributes:
        words: how many of them.
        order: which of several comes first: the greater one.
        place, piece, text: where the piece of text that has them is, and the piece.
        word: the number of the word of the piece that is the first of them.

    """

    words: int
    order: int
    place: Place
    piece: int
    text: str
    word: int


class Nearest:
    """Looks for what comes nearest to ``quote``, turn by turn."""

    def __init__(self, quote: str) -> None:
        self._aligner = Aligner(quote)
        self._near = _Close(quote)
        self._elided = _Elided(quote)
        self._most = max(_LEAST, min(_MOST, _TOKENS_LAID // self._aligner.size))
        self._kept: list[_Candidate] = []
        self._order = 0
        self._step = max(_PIECE, 4 * len(quote))
        self._overlap = 2 * len(quote) + 1024
        self._shortest = min(self._near.least_bytes, self._elided.least_bytes)

    def look(self, state: State, turn: Turn, raw: bytes) -> None:
        """Look through the strings of a turn."""
        for literal in strings(raw, ENVELOPE):
            if literal.end - literal.start >= self._shortest:
                text = mapped(raw, literal).text
                place = Place(state, turn, literal)
                self._elided.look(place, text)
                self._count(place, text)

    def _count(self, place: Place, text: str) -> None:
        for at in range(0, max(len(text) - self._overlap, 1), self._step):
            piece = text[at : at + self._step + self._overlap]
            for words, word in self._near.stretches(piece):
                self._order -= 1
                candidate = _Candidate(words, self._order, place, at, piece, word)
                if len(self._kept) < self._most:
                    heappush(self._kept, candidate)
                elif candidate > self._kept[0]:
                    heappushpop(self._kept, candidate)
                    self._near.need = max(self._near.need, self._kept[0].words)

    def best(self) -> Near | None:
        """What comes nearest; None where less than half of the quotation's words stand in order in any stretch."""
        words = self._aligner.words
        if self._elided.best:
            place, start, end, hunks = self._elided.best
            return Near(place, Alignment(start, end, words, words, hunks), words)
        best: Near | None = None
        for candidate in sorted(self._kept, key=lambda each: (each.words, each.order), reverse=True):
            if best and best.alignment.found > candidate.words:
                break
            near = self._laid(candidate)
            if near and (best is None or _merit(near) > _merit(best)):
                best = near
        return best if best and 2 * best.alignment.found >= words else None

    def _laid(self, candidate: _Candidate) -> Near | None:
        piece = candidate.text
        first, last = self._near.span(piece, candidate.word)
        cut = list(islice(tokens(piece, first, last), 8 * self._aligner.size + 256))
        found = self._aligner.align(piece, cut)
        return found and Near(candidate.place, found.moved(candidate.piece), self._aligner.words)


def _merit(near: Near) -> tuple[int, int, int]:
    found = near.alignment
    return found.found, found.same, -sum(each.end - each.start for each in found.hunks)


class _Keys(dict[str, str]):
    """Words and their keys, as many as are kept."""

    def __missing__(self, word: str) -> str:
        if len(self) >= _MOST_KEYS:
            self.clear()
        key = self[word] = fold(word)
        return key


class _Close:
    """Counts the words of a quotation that stand close together.

    Attributes:
        need: the least number of them that counts: half of all, and more once better is known.
        least_bytes: a string of fewer has not so many.

    """

    def __init__(self, quote: str) -> None:
        self._word = WORD if WORD.search(quote) else _ANY
        self._keys = _Keys()
        own = self._cut(quote)
        self._ids: dict[str | bytes, int] = {}
        wanted: list[int] = []
        for key in own:
            number = self._ids.setdefault(key, len(wanted))
            if number == len(wanted):
                wanted.append(0)
                if isinstance(key, bytes):
                    self._ids[key.decode()] = number
                elif key.isascii():
                    self._ids[key.encode()] = number
            wanted[number] += 1
        self._wanted = wanted
        self._known = frozenset(self._ids)
        self.need = (len(own) + 1) // 2
        self._span = len(own) + len(own) // 2 + 8
        self.least_bytes = sum(sorted(map(len, own))[: self.need]) // 2

    def _cut(self, text: str) -> Sequence[str | bytes]:
        """The keys of the words of ``text``, in order; bytes where it is ASCII."""
        if self._word is _ANY:
            return [self._keys[char] for char in _ANY.findall(text)]
        if text.isascii():
            return text.encode().translate(_TO_WORDS).split()
        return list(map(self._keys.__getitem__, WORD.findall(text)))

    def stretches(self, text: str) -> Iterator[tuple[int, int]]:
        """How many words of the quotation stand close together, and the number of the word where that begins.

        Of stretches that begin near each other, the one with most of them counts.
        """
        cut = self._cut(text)
        ids, wanted, span = self._ids, self._wanted, self._span
        if sum(wanted[ids[key]] for key in self._known.intersection(cut)) < self.need:
            return
        hits = [(at, ids[key]) for at, key in enumerate(cut) if key in ids]
        counts = [0] * len(wanted)
        score = left = block = 0
        best = (0, 0)
        for at, key in hits:
            counts[key] += 1
            score += counts[key] <= wanted[key]
            while hits[left][0] <= at - span:
                gone = hits[left][1]
                score -= counts[gone] <= wanted[gone]
                counts[gone] -= 1
                left += 1
            if hits[left][0] // span != block:
                if best[0] >= self.need:
                    yield best
                block, best = hits[left][0] // span, (0, 0)
            if score > best[0]:
                best = score, hits[left][0]
        if best[0] >= self.need:
            yield best

    def span(self, text: str, word: int) -> tuple[int, int]:
        """The characters of ``text`` around the words from number ``word`` on that are close together."""
        first = max(0, word - self._span // 2 - 1)
        last = word + self._span + self._span // 2
        found = list(islice(self._word.finditer(text), first, last + 1))
        begin = found[0].end() if first else 0
        return begin, found[-1].start() if len(found) > last - first else len(text)


class _Elision(NamedTuple):
    """A stretch that a quotation with an ellipsis leaves something out of: its characters, and what is left out."""

    place: Place
    start: int
    end: int
    hunks: tuple[Hunk, ...]


class _Elided:
    """Looks for a quotation whose parts, between ellipses, stand in a string one behind the other.

    Attributes:
        least_bytes: a shorter string cannot hold them.
        best: the shortest stretch that does, the first of those.

    """

    def __init__(self, quote: str) -> None:
        self._quote = quote
        self._parts: list[tuple[int, int]] = []
        at = 0
        for start, end in [*(match.span() for match in _ELLIPSIS.finditer(quote)), (len(quote), len(quote))]:
            part = quote[at:start]
            if part.strip(BLANKS):
                self._parts.append(
                    (at + len(part) - len(part.lstrip(BLANKS)), start - len(part) + len(part.rstrip(BLANKS)))
                )
            at = end
        data = [spaced(quote[a:b].encode("utf-8", "surrogatepass")) for a, b in self._parts]
        self._data = data
        wanted = bool(_ELLIPSIS.search(quote)) and any(WORD.search(quote[a:b]) for a, b in self._parts)
        self._rare = max((word for part in data for word in part.split(b" ")), key=len) if wanted else b""
        self.least_bytes = len(self._rare) if wanted else _UNKNOWN
        self.best: _Elision | None = None

    def look(self, place: Place, text: str) -> None:
        """Look through the text of a string."""
        if not self._rare or self._rare.decode("utf-8", "surrogatepass") not in text:
            return
        folded = Spaced(text)
        spans = self._spans(folded.data)
        if not spans:
            return
        found = list(folded.places(spans))
        start, end = found[0][0], found[-1][1]
        if end - start > len(self._quote) + _MOST_LEFT_OUT:
            return
        if self.best is None or end - start < self.best.end - self.best.start:
            self.best = _Elision(place, start, end, tuple(self._hunks(text, found)))

    def _spans(self, data: bytes) -> list[tuple[int, int]]:
        """Where the parts stand in ``data`` one behind the other, as close as the first end of the last one lets."""
        at = 0
        for part in self._data:
            start = data.find(part, at)
            if start < 0:
                return []
            at = start + len(part)
        found = []
        for part in reversed(self._data):
            start = data.rfind(part, 0, at)
            found.append((start, start + len(part)))
            at = start
        return found[::-1]

    def _hunks(self, text: str, found: list[tuple[int, int]]) -> Iterator[Hunk]:
        first, last = self._parts[0][0], self._parts[-1][1]
        if self._quote[:first].strip(BLANKS):
            yield Hunk(0, first, found[0][0], found[0][0])
        for at in range(1, len(found)):
            left_out = Hunk(self._parts[at - 1][1], self._parts[at][0], found[at - 1][1], found[at][0])
            yield without_blanks(self._quote, text, left_out)
        if self._quote[last:].strip(BLANKS):
            yield Hunk(last, len(self._quote), found[-1][1], found[-1][1])
