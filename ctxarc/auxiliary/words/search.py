"""Ranking segments by the words of a question: BM25 over all parts of an index as if they were one.

Every number that BM25 takes (how many segments there are, how many have a word, how long they are) is summed over the
parts, so that it does not matter how a record grew. A word of a question that is several words to the tokenizer, such
as a path, counts by its parts, and once more where they stand side by side.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter, defaultdict
from heapq import nlargest
from itertools import groupby, islice
from operator import neg
from typing import TYPE_CHECKING, NamedTuple

from ctxarc.auxiliary.words.database import terms_of
from ctxarc.auxiliary.words.tokens import is_unspaced, normal, parts, pieces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ctxarc.auxiliary.words.part import MemoryPart, WordPart
    from ctxarc.auxiliary.words.tokens import Piece

K1, B = 1.2, 0.75
"""Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009: the usual values."""
_PIECES = 4096
"""Words of a question that are looked at."""
_TERMS, _PHRASES = 64, 16
"""Of those found, the terms that count, the rarest first, and the groups of them side by side."""
_PHRASE_TERMS = 32
_COMMON, _ENOUGH = 0.2, 3
"""A word that more than this share of the segments has counts only where fewer rarer ones than that do: it says next to
nothing, and it is what takes long. On 236 labelled questions it makes no difference (MRR 0.85 either way)."""


class Match(NamedTuple):
    """A segment that has words of the question: ``words`` are those that counted, as they were typed."""

    object: int
    start: int
    end: int
    score: float
    words: tuple[str, ...]


class _Term(NamedTuple):
    """What is looked up: one term, several side by side, or the beginning of one.

    Attributes:
        tokens: the terms, as the tokenizer made them.
        text: what it made them of: FTS5 is given this, since the stem of a stem may be another.
        start: where in the question it is.
        end: and where that ends.
        beginning: whether terms are meant that begin so.

    """

    tokens: tuple[str, ...]
    text: str
    start: int
    end: int
    beginning: bool = False


class _Found(NamedTuple):
    """A term, in how many segments it is, and how often in each segment of each part."""

    term: _Term
    segments: int
    places: list[Counter[int]]


def search(
    index: Sequence[WordPart | MemoryPart], question: str, *, live: Callable[[int], bool], limit: int
) -> list[Match]:
    """The best ``limit`` segments for ``question``, best first, equal ones in order of objects.

    Args:
        index: the parts of a word index, which share no object, in any order.
        question: in words; the first 4,096 are looked at, and the 64 rarest of them that are found count.
        live: whether an object is searched; those that are not count in the statistics all the same.
        limit: matches at most.

    Raises:
        IndexMismatch, LimitExceeded: the words of a part are not what was written.

    """
    index = sorted(index, key=lambda part: part.first)
    total = sum(part.segments for part in index)
    average = sum(sum(part.lengths) for part in index) / total if total else 0.0
    asked = normal(question)
    found = _look_up(index, _terms(asked), total)
    scored: list[tuple[float, int, int]] = []
    for number, part in enumerate(index):
        scores: dict[int, float] = defaultdict(float)
        for each in found:
            weight = math.log(1 + (total - each.segments + 0.5) / (each.segments + 0.5))
            _add(scores, each.places[number], part.lengths, weight, average)
        scored += _best(part, number, scores, live, limit)
    best = nlargest(limit, scored, key=lambda each: (each[0], -each[1], -each[2]))
    return [
        _match(index[number], row, score, asked, [each.term for each in found if row in each.places[number]])
        for score, number, row in best
    ]


def _look_up(index: Sequence[WordPart | MemoryPart], terms: Sequence[_Term], total: int) -> list[_Found]:
    """The terms that count, with their places; those that are rare first."""
    single = {term: _count(index, term) for term in terms if len(term.tokens) == 1 and not term.beginning}
    held = sorted((term for term in single if single[term]), key=single.__getitem__)[:_TERMS]
    rare = [term for term in held if single[term] <= _COMMON * total]
    absent = {term.tokens[0] for term in single if not single[term]}
    others = [term for term in terms if term not in single and absent.isdisjoint(term.tokens)]
    chosen = (rare if len(rare) >= _ENOUGH else held[:_ENOUGH]) + others[:_PHRASES]
    found = [(term, [Counter(_rows(part, term)) for part in index]) for term in chosen]
    return [_Found(term, count, places) for term, places in found if (count := sum(map(len, places)))]


def _count(index: Sequence[WordPart | MemoryPart], term: _Term) -> int:
    return sum(part.database.count(term.tokens[0]) for part in index)


def _rows(part: WordPart | MemoryPart, term: _Term) -> list[int]:
    if term.beginning:
        return part.database.of_beginning(term.tokens[0])
    return part.database.of_term(term.tokens[0]) if len(term.tokens) == 1 else part.database.of_phrase(term.text)


def _add(
    scores: dict[int, float], places: Mapping[int, int], lengths: Sequence[int], weight: float, average: float
) -> None:
    """Add what a term is worth in each segment."""
    top, least, slope = weight * (K1 + 1), K1 * (1 - B), K1 * B / average
    for row, times in places.items():
        scores[row] += top * times / (times + least + slope * lengths[row - 1])


def _best(
    part: WordPart | MemoryPart, number: int, scores: dict[int, float], live: Callable[[int], bool], limit: int
) -> list[tuple[float, int, int]]:
    """The best segments of a part that are searched: (score, part, row)."""
    wanted = 2 * limit
    while True:
        leading = nlargest(wanted, zip(scores.values(), map(neg, scores), strict=True))
        found = [(score, number, -row) for score, row in leading if live(_object(part, -row))]
        if len(found) >= limit or len(leading) == len(scores):
            return found[:limit]
        wanted *= 4


def _object(part: WordPart | MemoryPart, row: int) -> int:
    return part.first + bisect_right(part.starts, row - 1) - 1


def _match(part: WordPart | MemoryPart, row: int, score: float, asked: str, held: Sequence[_Term]) -> Match:
    of = _object(part, row)
    at = row - 1 - part.starts[of - part.first]
    ends = part.ends(of)
    return Match(of, ends[at - 1] if at else 0, ends[at], score, _words(asked, held))


def _words(asked: str, terms: Sequence[_Term]) -> tuple[str, ...]:
    """What was found of the question, as it was typed: pairs of characters and parts of a phrase become one."""
    spans: list[tuple[int, int]] = []
    for start, end in sorted((term.start, term.end) for term in terms):
        if spans and start < spans[-1][1]:
            spans[-1] = spans[-1][0], max(end, spans[-1][1])
        else:
            spans.append((start, end))
    return tuple(dict.fromkeys(asked[start:end] for start, end in spans))


def _terms(asked: str) -> list[_Term]:
    """What a question is looked up by, each once, by the first word that it is of."""
    found = list(islice(pieces(asked), _PIECES))
    texts = [asked[piece.start : piece.end] for piece in found]
    terms_of_all = terms_of([*texts, *map(parts, texts)])
    rows = zip(found, terms_of_all, terms_of_all[len(texts) :], strict=False)
    terms: list[_Term] = []
    for _, chunk in groupby(rows, key=lambda row: row[0].chunk):
        terms += _terms_of_chunk(list(chunk), asked)
    by_tokens: dict[tuple[tuple[str, ...], bool], _Term] = {}
    for term in terms:
        by_tokens.setdefault((term.tokens, term.beginning), term)
    return list(by_tokens.values())


def _terms_of_chunk(chunk: Sequence[tuple[Piece, list[str], list[str]]], asked: str) -> Iterator[_Term]:
    """The terms of what stands between blanks: of each piece, and of all of them side by side."""
    phrase: list[str] = []
    typed: list[str] = []
    for at, (piece, whole, compound) in enumerate(chunk):
        place = piece.start, piece.end
        text = asked[piece.start : piece.end]
        last = piece.last if at + 1 < len(chunk) else ""
        phrase += [*whole, *last]
        typed += [text, last]
        if len(text) == 1 and is_unspaced(text):
            yield from (_Term((token,), text, *place, beginning=True) for token in whole)
            continue
        yield from (_Term((token,), token, *place) for token in compound or whole)
        if len(compound or whole) > 1:
            yield _Term(tuple(compound or whole), parts(text) or text, *place)
    if len(chunk) > 1 and 1 < len(phrase) <= _PHRASE_TERMS:
        yield _Term(tuple(phrase), " ".join(typed), chunk[0][0].start, chunk[-1][0].end)
