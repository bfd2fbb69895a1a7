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
from typing import TYPE_CHECKING, NamedTuple

from ctxarc.auxiliary.words.part import connect
from ctxarc.auxiliary.words.tokens import TOKENIZER, chunks, indexed, is_unspaced, parts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ctxarc.auxiliary.words.part import MemoryPart, WordPart

K1, B = 1.2, 0.75
"""Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009: the usual values."""
_TERMS = 64
"""Terms of a question that count: the rarest."""
_COMMON = 0.5
"""A word that more than this share of the segments has says nothing."""


class Match(NamedTuple):
    """A segment that has words of the question: ``words`` are those, as they were typed."""

    object: int
    start: int
    end: int
    score: float
    words: tuple[str, ...]


class _Term(NamedTuple):
    """What is looked up: one term, several side by side, or the beginning of one; and the word that it is of."""

    tokens: tuple[str, ...]
    word: str
    beginning: bool = False


def search(
    index: Sequence[WordPart | MemoryPart], question: str, *, live: Callable[[int], bool], limit: int
) -> list[Match]:
    """The best ``limit`` segments for ``question``, best first, equal ones in order of objects.

    Args:
        index: the parts of a word index, which share no object.
        question: in words.
        live: whether an object is searched; those that are not count in the statistics all the same.
        limit: matches at most.

    """
    total = sum(part.segments for part in index)
    average = sum(sum(part.lengths) for part in index) / total if total else 0.0
    found = [(term, [_places(part, term) for part in index]) for term in _terms(question)]
    weighed = [(term, places, sum(map(len, places))) for term, places in found]
    weighed = sorted((each for each in weighed if each[2]), key=lambda each: each[2])[:_TERMS]
    rare = [each for each in weighed if each[2] <= _COMMON * total] or weighed
    scored: list[tuple[float, int, int]] = []
    for number, part in enumerate(index):
        scores: dict[int, float] = defaultdict(float)
        for _, places, count in rare:
            weight = math.log(1 + (total - count + 0.5) / (count + 0.5))
            _add(scores, places[number], part.lengths, weight, average)
        scored += _best(part, number, scores, live, limit)
    best = nlargest(limit, scored, key=lambda each: (each[0], -each[1], -each[2]))
    return [_match(index, *each, weighed) for each in best]


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
    found: list[tuple[float, int, int]] = []
    wanted = 2 * limit
    while True:
        leading = nlargest(wanted, scores.items(), key=lambda each: (each[1], -each[0]))
        found = [(score, number, row) for row, score in leading if live(_object(part, row))]
        if len(found) >= limit or len(leading) == len(scores):
            return found[:limit]
        wanted *= 4


def _object(part: WordPart | MemoryPart, row: int) -> int:
    return part.first + bisect_right(part.starts, row - 1) - 1


def _match(
    index: Sequence[WordPart | MemoryPart],
    score: float,
    number: int,
    row: int,
    weighed: Sequence[tuple[_Term, list[Counter[int]], int]],
) -> Match:
    part = index[number]
    of = _object(part, row)
    ends = part.ends(of)
    at = row - 1 - part.starts[of - part.first]
    words = dict.fromkeys(term.word for term, places, _ in weighed if row in places[number])
    return Match(of, ends[at - 1] if at else 0, ends[at], score, tuple(words))


def _places(part: WordPart | MemoryPart, term: _Term) -> Counter[int]:
    """How often a term stands in each segment of a part, by its row."""
    database = part.database
    if term.beginning:
        return Counter(database.of_beginning(term.tokens[0]))
    if len(term.tokens) > 1:
        return Counter(database.of_phrase(term.tokens))
    return Counter(database.of_term(term.tokens[0]))


def _terms(question: str) -> list[_Term]:
    """What a question is looked up by, each once."""
    words = chunks(question.encode("utf-8", "replace").decode().replace("\0", " "))
    found: dict[_Term, None] = {}
    for word, tokens in zip(words, _tokens(words), strict=True):
        alone = is_unspaced(word)
        if alone and len(word) == 1:
            found[_Term(tuple(tokens), word, beginning=True)] = None
            continue
        # The last character of unspaced writing stands alone behind its pairs.
        single = tokens[:-1] if alone else tokens
        found |= dict.fromkeys(_Term((token,), word) for token in single)
        if len(single) > 1:
            found[_Term(tuple(single), word)] = None
    return _first_words(found)


def _first_words(terms: Mapping[_Term, None]) -> list[_Term]:
    """Each term once, by the first word that it is of."""
    by_tokens: dict[tuple[tuple[str, ...], bool], _Term] = {}
    for term in terms:
        by_tokens.setdefault((term.tokens, term.beginning), term)
    return list(by_tokens.values())


def _tokens(words: Sequence[str]) -> list[list[str]]:
    """The terms of each word, as the tokenizer makes them."""
    connection = connect()
    connection.execute(f"CREATE VIRTUAL TABLE words USING fts5(text, content='', tokenize='{TOKENIZER}')")
    rows = [(row, indexed(parts(word))) for row, word in enumerate(words)]
    connection.executemany("INSERT INTO words(rowid, text) VALUES (?, ?)", rows)
    connection.execute("CREATE VIRTUAL TABLE temp.found USING fts5vocab(main, words, instance)")
    found: list[list[str]] = [[] for _ in words]
    for row, term in connection.execute("SELECT doc, term FROM temp.found ORDER BY doc, offset"):
        found[row].append(term)
    connection.close()
    return found
