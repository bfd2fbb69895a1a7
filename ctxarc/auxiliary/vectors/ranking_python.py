"""The fast pass of a ranking by the standard library alone.

The first questions of a process look at every row as it lies: the distance of two points (:func:`math.dist` runs in C)
gives their product. More questions are worth :class:`Lanes`, which take the time of a few to be made.
"""

from __future__ import annotations

import math
from array import array
from heapq import nlargest
from itertools import chain
from operator import mul, sub
from struct import Struct
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from ctxarc.auxiliary.vectors.lanes import Lanes
from ctxarc.auxiliary.vectors.spreads import LEAST, MOST, UNIT, score_error

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ctxarc.auxiliary.vectors.corpus import Corpus

_FIRST = 4
"""Questions that are answered row by row before lanes are made."""
_LANES_LIMIT = 64 << 20
"""Numbers of the largest corpus that lanes are made of: four bytes of memory each."""
_WIDEST = 1 << 14
"""Numbers of the longest row of lanes: their weights share 20 bits."""
_LANES_BUILD, _LANES_ASK = 5.0, 0.35
"""What making lanes takes, and asking them, beside one question row by row."""
_SAMPLE = 200
"""Rows that a measurement of this machine looks at."""


class _Point(NamedTuple):
    """A point that scores are taken from, and what they need of each row.

    Attributes:
        mean: the point.
        inverse: 1 / the distance of each row from it; zero for odd rows.
        errors: how far a score can be off since these are; infinite for odd rows, whose scores are taken exactly.

    """

    mean: list[float]
    inverse: list[float]
    errors: list[float]


class PythonRanking:
    """Ranks the rows of ``corpus``; see :class:`ctxarc.auxiliary.vectors.ranking.Ranking`."""

    name = "python"

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._width = corpus.identity.dimensions
        corpus.prove()
        self._unpack = Struct(f"<{self._width}f")
        self._norms = array("f")
        for part in corpus.parts:
            self._norms.extend(part.tables.norms)
        self._points: dict[bool, _Point] = {}
        self._lanes: Lanes | None = None
        self._asked = 0

    def estimate_seconds(self, queries: int) -> float:
        """Seconds for so many queries, from a measurement of some rows."""
        rows = min(_SAMPLE, self._corpus.parts[0].rows)
        data = self._corpus.parts[0].data[: rows * 4 * self._width]
        origin = (0.0,) * self._width
        start = perf_counter()
        for row in self._unpack.iter_unpack(data):
            math.dist(row, origin)
        one = (perf_counter() - start) * self._corpus.rows / rows
        if queries <= _FIRST or not self._fits_lanes():
            return one * queries
        return min(one * queries, one * (_LANES_BUILD + _LANES_ASK * queries))

    def _fits_lanes(self) -> bool:
        small = self._corpus.rows * self._width <= _LANES_LIMIT and self._width <= _WIDEST
        return small and max(self._norms) < MOST

    def _rows(self, live: Sequence[tuple[int, int]]) -> Iterator[tuple[float, ...]]:
        """The numbers of rows."""
        size = 4 * self._width
        corpus = self._corpus
        for start, end in live:
            for part, base in zip(corpus.parts, corpus.bases, strict=False):
                data = part.data[max(0, start - base) * size : max(0, end - base) * size]
                yield from self._unpack.iter_unpack(data)

    def point(self, *, centre: bool) -> _Point:
        """The mean of all rows, or zero."""
        if centre not in self._points:
            mean = self._corpus.mean if centre else [0.0] * self._width
            length = math.hypot(*mean)
            inverse, errors = [], []
            for norm, spread in zip(self._norms, self._spreads() if centre else self._norms, strict=True):
                usual = spread > LEAST and norm < MOST
                inverse.append(1 / spread if usual else 0.0)
                errors.append(score_error(self._width, (norm + length) / spread) if usual else math.inf)
            self._points[centre] = _Point(mean, inverse, errors)
        return self._points[centre]

    def _spreads(self) -> Sequence[float]:
        """The distance of each row from the mean: as stored, where there is one part, whose mean it is."""
        parts = self._corpus.parts
        if len(parts) == 1:
            return array("f", parts[0].tables.spreads)
        mean = tuple(self._corpus.mean)
        return array("d", (math.dist(row, mean) for row in self._rows([(0, self._corpus.rows)])))

    def rank(
        self, query: Sequence[float], live: Sequence[tuple[int, int]] | None = None, *, centre: bool = True
    ) -> PythonRanked:
        """The rows ranked for ``query``."""
        return next(self.rank_many([query], live, centre=centre))

    def rank_many(
        self, queries: Sequence[Sequence[float]], live: Sequence[tuple[int, int]] | None = None, *, centre: bool = True
    ) -> Iterator[PythonRanked]:
        """The same for each of several queries."""
        self._asked += len(queries)
        if self._lanes is None and self._asked > _FIRST and self._fits_lanes():
            longest = max(self._norms) * (1 + (self._width + 8) * UNIT)
            self._lanes = Lanes([part.data for part in self._corpus.parts], self._width, longest)
        point = self.point(centre=centre)
        ranges = [(0, self._corpus.rows)] if live is None else live
        for query in queries:
            apart = list(map(sub, array("f", query), point.mean))
            yield PythonRanked(self, point.mean, apart, self._bounds(apart, ranges, point))

    def _bounds(self, apart: list[float], live: Sequence[tuple[int, int]], point: _Point) -> _Bounds:
        """The least and the most that the score of each row can be that is searched."""
        length = math.sqrt(math.fsum(map(mul, apart, apart)))
        unit = [number / length for number in apart] if length else apart
        products, errors = self._products(unit, live)
        middle = math.fsum(map(mul, unit, point.mean))
        numbers = list(chain.from_iterable(range(*each) for each in live))
        least, most = [], []
        parts = zip(products, errors, _at(point.inverse, live), _at(point.errors, live), strict=True)
        for product, error, inverse, off in parts:
            score = (product - middle) * inverse
            error = error * inverse + off  # noqa: PLW2901 - of the score now
            least.append(score - error if inverse else -math.inf)
            most.append(score + error if inverse else math.inf)
        return _Bounds(numbers, least, most)

    def _products(self, unit: list[float], live: Sequence[tuple[int, int]]) -> tuple[Sequence[float], Sequence[float]]:
        """The product of each row that is searched with a vector of length 1, and how far it can be off."""
        norms = _at(self._norms, live)
        if self._lanes:
            products, error = self._lanes.products(unit)
            return _at(products, live), [error + UNIT * norm for norm in norms]
        # |r - q|^2 = |r|^2 - 2 rq + |q|^2, and the norm of a row is off by (n / 2 + 2) u of it at most.
        some = sorted(self._norms[:: max(1, len(self._norms) // 1000)])
        scale = some[len(some) // 2]
        scale = scale if LEAST < scale < MOST else 1.0
        probe = tuple(number * scale for number in unit)
        square = math.fsum(map(mul, probe, probe))
        products, errors = [], []
        slack = 2 * (self._width + 8) * UNIT / scale
        for norm, row in zip(norms, self._rows(live), strict=True):
            apart = math.dist(row, probe)
            own = norm * norm + square
            products.append((own - apart * apart) / (2 * scale))
            errors.append(slack * own)
        return products, errors

    def exact(self, row: int, apart: list[float], mean: list[float]) -> tuple[float, float]:
        """The product of a row with a query, both apart from the mean, and the length of the row, summed exactly."""
        own = list(map(sub, self._corpus.vector(row), mean))
        return math.fsum(map(mul, own, apart)), math.sqrt(math.fsum(map(mul, own, own)))


class _Bounds(NamedTuple):
    """What the fast pass found: rows, and the least and the most that the score of each can be."""

    rows: list[int]
    least: list[float]
    most: list[float]


def _at(numbers: Sequence[float], live: Sequence[tuple[int, int]]) -> Sequence[float]:
    """The numbers of the rows in ``live``."""
    if len(live) == 1 and live[0] == (0, len(numbers)):
        return numbers
    return list(chain.from_iterable(numbers[start:end] for start, end in live))


class PythonRanked:
    """The rows ranked for one query, ``apart`` from the mean."""

    def __init__(self, ranking: PythonRanking, mean: list[float], apart: list[float], bounds: _Bounds) -> None:
        self._ranking, self._mean, self._apart, self._bounds = ranking, mean, apart, bounds
        self._length = math.sqrt(math.fsum(map(mul, apart, apart)))
        self._known: dict[int, float] = {}

    def top(self, count: int) -> list[tuple[int, float]]:
        """The best ``count`` rows with their scores, and all that tie with the last of them."""
        if count < 1:
            return []
        lower = nlargest(count, self._bounds.least)
        least = lower[-1] if len(lower) == count else -math.inf
        rows = [row for row, most in zip(self._bounds.rows, self._bounds.most, strict=True) if most >= least]
        for row in rows:
            if row not in self._known:
                self._known[row] = self._score(row)
        found = sorted(self._known.items(), key=lambda each: (-each[1], each[0]))
        end = count
        while end < len(found) and found[end][1] == found[count - 1][1]:
            end += 1
        return found[:end]

    def _score(self, row: int) -> float:
        product, length = self._ranking.exact(row, self._apart, self._mean)
        length *= self._length
        return product / length if length > 0 else 0.0
