"""A quotation laid beside a stretch of text: which words stand in both in order, and where the two differ."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from ctxarc.operations.spacing import BLANKS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f"
)
_MARKS = "\u0300-\u036f"
_WORD = rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+(?:[{_MARKS}]+[^\W{_UNSPACED}]*)*"
WORD = re.compile(_WORD)
"""A word: letters and digits, or one character of writing without spaces."""
ELLIPSIS = r"\[[ \t]*(?:\.\.\.|\u2026)[ \t]*\]|\.\.\.|\u2026"
"""What says that something is left out."""
_TOKEN = re.compile(rf"{ELLIPSIS}|-{{2,3}}|({_WORD})|\S")
_FORMS = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u02bc\u0060", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
    }
)
_MOST_PAIRS = 200_000
"""Pairs of equal words that are looked at; where there are more, the words that make most of them are left out."""
_WORD_GAIN, _OTHER_GAIN, _SKIP_COST = 2.0, 0.1, 0.5
"""What a word in order speaks for a stretch to go on, and what a token speaks against it that is skipped."""
_SHORT_END = 8
"""Tokens at an end of the quotation that are compared with what stands in their place."""

Chain = list[tuple[int, int]]
"""Numbers of tokens of the quotation and of the text that are paired, both rising."""


class Token(NamedTuple):
    """A word, or another character; ``key`` is the same for those that differ in case or form alone."""

    start: int
    end: int
    key: str
    word: bool


class Hunk(NamedTuple):
    """Characters of the quotation, and those of the text that stand in their place."""

    quote_start: int
    quote_end: int
    start: int
    end: int


class Alignment(NamedTuple):
    """A quotation beside a stretch of text.

    Attributes:
        start, end: the stretch, in characters of the text.
        found: words of the quotation that stand in the stretch in order, whatever their case and form.
        same: those of them that stand there as they are quoted.
        hunks: where the two differ.

    """

    start: int
    end: int
    found: int
    same: int
    hunks: tuple[Hunk, ...]

    def moved(self, by: int) -> Alignment:
        """The same, where the text begins ``by`` characters earlier."""
        hunks = (Hunk(each[0], each[1], each.start + by, each.end + by) for each in self.hunks)
        return self._replace(start=self.start + by, end=self.end + by, hunks=tuple(hunks))


def fold(word: str) -> str:
    """``word`` without its case, and with typographic forms made plain."""
    if word.isascii():
        return "-" if word.startswith("--") else word.lower()
    return unicodedata.normalize("NFKC", word).casefold().translate(_FORMS)


def tokens(text: str, start: int = 0, end: int | None = None) -> Iterable[Token]:
    """The words and other characters of a stretch of ``text``, white space left out."""
    for match in _TOKEN.finditer(text, start, len(text) if end is None else end):
        key = fold(match[0])
        if len(key) > 2 and key[0] == "[":  # noqa: PLR2004 - more than the brackets
            key = "[...]"
        yield Token(match.start(), match.end(), key, match.lastindex is not None)


class Aligner:
    """Lays one quotation beside stretches of text.

    Attributes:
        words: how many words the quotation has; where it has none, its other characters count as words.

    """

    def __init__(self, quote: str) -> None:
        self._quote = quote
        own = list(tokens(quote))
        if not any(token.word for token in own):
            own = [token._replace(word=True) for token in own]
        self._tokens = own
        self.words = sum(token.word for token in own)
        self.size = len(own)

    def align(self, text: str, others: Sequence[Token]) -> Alignment | None:
        """The quotation beside the stretch of ``text`` that ``others`` are cut from; None where nothing is in both."""
        own = self._tokens
        chain = self._body(in_order([token.key for token in own], [token.key for token in others]))
        if not chain:
            return None
        pairs = [(own[i], others[j]) for i, j in chain if own[i].word]
        same = sum(self._quote[a.start : a.end] == text[b.start : b.end] for a, b in pairs)
        (head, first), (last, final) = chain[0], chain[-1]
        tail = len(own) - 1 - last
        first -= min(head, first) if head <= _SHORT_END else 0
        final += min(tail, len(others) - 1 - final) if tail <= _SHORT_END else 0
        start, end = others[first].start, others[final].end
        paired = [(own[i], others[j]) for i, j in chain]
        return Alignment(start, end, len(pairs), same, hunks(self._quote, text, paired, start, end))

    def _body(self, chain: Chain) -> Chain:
        """The part of ``chain`` that keeps together: far away, a word or two stand anywhere."""
        best = total = 0.0
        first = 0
        kept = (0, 0)
        for at, (i, j) in enumerate(chain):
            total -= _SKIP_COST * (j - chain[at - 1][1] - 1) if at else 0.0
            if total <= 0:
                total, first = 0.0, at
            total += _WORD_GAIN if self._tokens[i].word else _OTHER_GAIN
            if total > best:
                best, kept = total, (first, at + 1)
        first, last = kept
        while first and _across(chain[first - 1], chain[first]):
            first -= 1
        while 0 < last < len(chain) and _across(chain[last - 1], chain[last]):
            last += 1
        return chain[first:last]


def _across(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether a few tokens lie between two pairs, as many of the quotation as of the text."""
    return other[0] - one[0] == other[1] - one[1] <= _SHORT_END


def in_order(a: Sequence[str], b: Sequence[str]) -> Chain:
    """A longest row of equal items that stand in both in order, near each other where there is a choice.

    The method is Hunt and Szymanski's. Where there are very many pairs of equal items, those of the rarer ones are
    taken alone, and then what stands on either side of them: the row may then be shorter than the longest.
    """
    places: dict[str, list[int]] = {}
    for j, key in enumerate(b):
        places.setdefault(key, []).append(j)
    counts = Counter(key for key in a if key in places)
    pairs = 0
    for key, count in sorted(counts.items(), key=lambda item: item[1] * len(places[item[0]])):
        pairs += count * len(places[key])
        if pairs > _MOST_PAIRS:
            del places[key]
    return _drawn_together(_extended(_longest(a, places), a, b), a, b)


_Link = tuple[int, int, "_Link | None"]


def _longest(a: Sequence[str], places: Mapping[str, Sequence[int]]) -> Chain:
    ends: list[int] = []
    links: list[_Link] = []
    for i, key in enumerate(a):
        for j in reversed(places.get(key, ())):
            at = bisect_left(ends, j)
            link = (i, j, links[at - 1] if at else None)
            if at == len(ends):
                ends.append(j)
                links.append(link)
            elif ends[at] != j:
                ends[at], links[at] = j, link
    chain: Chain = []
    step = links[-1] if links else None
    while step is not None:
        chain.append(step[:2])
        step = step[2]
    return chain[::-1]


def _extended(chain: Chain, a: Sequence[str], b: Sequence[str]) -> Chain:
    """``chain`` with the equal items behind each pair of it, and before each."""
    found: Chain = []
    at = (-1, -1)
    for i, j in [*chain, (len(a), len(b))]:
        while at[0] + 1 < i and at[1] + 1 < j and a[at[0] + 1] == b[at[1] + 1]:
            at = at[0] + 1, at[1] + 1
            found.append(at)
        back = 1
        while i - back > at[0] and j - back > at[1] and a[i - back] == b[j - back]:
            back += 1
        found += [(i - step, j - step) for step in range(back - 1, 0, -1)]
        found.append((i, j))
        at = i, j
    return found[:-1]


def _drawn_together(chain: Chain, a: Sequence[str], b: Sequence[str]) -> Chain:
    """``chain`` with each pair moved next to the one behind it where an equal item stands there."""
    for at in range(len(chain) - 2, -1, -1):
        (i, j), (next_i, next_j) = chain[at], chain[at + 1]
        if next_i == i + 1 and next_j > j + 1 and b[next_j - 1] == a[i]:
            chain[at] = i, next_j - 1
        elif next_j == j + 1 and next_i > i + 1 and a[next_i - 1] == b[j]:
            chain[at] = next_i - 1, j
    return chain


def hunks(quote: str, text: str, pairs: Iterable[tuple[Token, Token]], start: int, end: int) -> tuple[Hunk, ...]:
    """Where ``quote`` and the characters [start, end) of ``text`` differ, whose tokens ``pairs`` are paired.

    How white space is divided into blanks and line ends is no difference; that there is some, or none, is one.
    """
    found: list[Hunk] = []

    def add(hunk: Hunk) -> None:
        if hunk.quote_start == hunk.quote_end and hunk.start == hunk.end:
            return
        if found and (found[-1].quote_end, found[-1].end) == (hunk.quote_start, hunk.start):
            before = found.pop()
            hunk = Hunk(before.quote_start, hunk.quote_end, before.start, hunk.end)
        found.append(hunk)

    at, place = len(quote) - len(quote.lstrip(BLANKS)), start
    for own, other in pairs:
        add(without_blanks(quote, text, Hunk(at, own.start, place, other.start)))
        if quote[own.start : own.end] != text[other.start : other.end]:
            add(Hunk(own.start, own.end, other.start, other.end))
        at, place = own.end, other.end
    add(without_blanks(quote, text, Hunk(at, max(at, len(quote.rstrip(BLANKS))), place, end)))
    return tuple(found)


def without_blanks(quote: str, text: str, hunk: Hunk) -> Hunk:
    """``hunk`` without the white space at its ends that both have."""
    ours, theirs = quote[hunk.quote_start : hunk.quote_end], text[hunk.start : hunk.end]
    if not ours and not theirs:
        return hunk
    left = len(ours) - len(ours.lstrip()), len(theirs) - len(theirs.lstrip())
    if not _alike(ours[: left[0]], theirs[: left[1]]):
        left = 0, 0
    ours, theirs = ours[left[0] :], theirs[left[1] :]
    right = len(ours) - len(ours.rstrip()), len(theirs) - len(theirs.rstrip())
    if not _alike(ours[len(ours) - right[0] :], theirs[len(theirs) - right[1] :]):
        right = 0, 0
    return Hunk(hunk.quote_start + left[0], hunk.quote_end - right[0], hunk.start + left[1], hunk.end - right[1])


def _alike(one: str, other: str) -> bool:
    """Whether two runs of white space, neither of them empty, are the same but for how they are divided."""
    return bool(one and other) and (one == other or not (one.strip(BLANKS) or other.strip(BLANKS)))
