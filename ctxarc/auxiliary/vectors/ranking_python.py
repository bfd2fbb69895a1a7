"""The fast pass of a ranking by the standard library alone.

The first questions of a process look at every row as it lies: the distance of two points (:func:`math.dist` runs in C)
gives their product. More questions are worth :class:`Lanes`, which take the time of a few to be made.
"""

from __future__ import annotations

import math
from array import array
from heapq import nlargest
from operator import mul, sub
from statistics import median
from struct import Struct
from time import perf_counter
from typing import TYPE_CHECKING

from ctxarc.auxiliary.vectors.lanes import Lanes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ctxarc.auxiliary.vectors.corpus import Corpus

_UNIT = 2.0**-24
"""Unit roundoff of float32."""
_FIRST = 4
"""Questions that are answered row by row before lanes are made."""
_LANES_LIMIT = 64 << 20
"""Numbers of the largest corpus that lanes are made of: three bytes of memory each."""
_WIDEST = 1 << 14
"""Numbers of the longest row of lanes: their weights share 20 bits."""
_LANES_BUILD, _LANES_ASK = 5.0, 0.35
"""What making lanes takes, and asking them, beside one question row by row."""
_SAMPLE = 200
"""Rows that a measurement of this machine looks at."""


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
        self._spreads: dict[bool, Sequence[float]] = {}
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
        return (
            self._corpus.rows * self._width <= _LANES_LIMIT and self._width <= _WIDEST and max(self._norms) < math.inf
        )

    def mean(self, *, centre: bool) -> list[float]:
        """The point that scores are taken from."""
        return self._corpus.mean if centre else [0.0] * self._width

    def spreads(self, *, centre: bool) -> Sequence[float]:
        """The distance of each row from that point: as stored, where there is one part, whose mean it is."""
        if not centre:
            return self._norms
        if centre not in self._spreads:
            if len(self._corpus.parts) == 1:
                self._spreads[centre] = array("f", self._corpus.parts[0].tables.spreads)
            else:
                mean = tuple(self._corpus.mean)
                rows = (row for part in self._corpus.parts for row in self._unpack.iter_unpack(part.data))
                self._spreads[centre] = array("d", (math.dist(row, mean) for row in rows))
        return self._spreads[centre]

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
            self._lanes = Lanes([part.data for part in self._corpus.parts], self._width, max(self._norms))
        mean = self.mean(centre=centre)
        for query in queries:
            apart = list(map(sub, array("f", query), mean))
            length = math.sqrt(math.fsum(map(mul, apart, apart)))
            unit = [number / length for number in apart] if length else apart
            products, errors = self._products(unit)
            middle = math.fsum(map(mul, unit, mean))
            yield PythonRanked(self, apart, self._scored(products, errors, middle, live, centre=centre), centre=centre)

    def _products(self, unit: list[float]) -> tuple[Sequence[float], Sequence[float]]:
        """The product of each row with a vector of length 1, and the bound of its error."""
        if self._lanes:
            products, error = self._lanes.products(unit)
            return products, [error + _UNIT * norm for norm in self._norms]
        scale = median(self._norms[:: max(1, len(self._norms) // 1000)]) or 1.0
        probe = tuple(number * scale for number in unit)
        square = math.fsum(map(mul, probe, probe))
        rows = (row for part in self._corpus.parts for row in self._unpack.iter_unpack(part.data))
        products, errors = [], []
        slack = 2 * (self._width + 8) * _UNIT / scale
        for norm, row in zip(self._norms, rows, strict=True):
            apart = math.dist(row, probe)
            own = norm * norm + square
            products.append((own - apart * apart) / (2 * scale))
            errors.append(slack * own)
        return products, errors

    def _scored(
        self,
        products: Sequence[float],
        errors: Sequence[float],
        middle: float,
        live: Sequence[tuple[int, int]] | None,
        *,
        centre: bool,
    ) -> list[tuple[float, float, int]]:
        """For each row that is searched the least and the most that its score can be, and its number."""
        spreads = self.spreads(centre=centre)
        slack = 2 * (self._width + 8) * _UNIT
        found = []
        for start, end in [(0, len(products))] if live is None else live:
            for row in range(start, end):
                spread = spreads[row]
                if not 0 < spread < math.inf:
                    found.append((-math.inf, math.inf, row))
                    continue
                score = (products[row] - middle) / spread
                error = (errors[row] + slack * (self._norms[row] + spread)) / spread
                found.append((score - error, score + error, row))
        return found

    def exact(self, row: int, apart: list[float], mean: list[float]) -> float:
        """The score of a row in float64, products summed exactly."""
        own = list(map(sub, self._corpus.vector(row), mean))
        product = math.fsum(map(mul, own, apart))
        length = math.sqrt(math.fsum(map(mul, own, own))) * math.sqrt(math.fsum(map(mul, apart, apart)))
        return product / length if length > 0 else 0.0


class PythonRanked:
    """The rows ranked for one query, ``apart`` from the mean."""

    def __init__(
        self, ranking: PythonRanking, apart: list[float], bounds: list[tuple[float, float, int]], *, centre: bool
    ) -> None:
        self._ranking = ranking
        self._apart = apart
        self._bounds = bounds
        self._mean = ranking.mean(centre=centre)
        self._known: dict[int, float] = {}

    def top(self, count: int) -> list[tuple[int, float]]:
        """The best ``count`` rows with their scores, and all that tie with the last of them."""
        lower = nlargest(count, (least for least, _, _ in self._bounds if not math.isnan(least)))
        least = lower[-1] if len(lower) == count else -math.inf
        rows = [row for _, most, row in self._bounds if not most < least]
        for row in rows:
            if row not in self._known:
                self._known[row] = self._ranking.exact(row, self._apart, self._mean)
        found = sorted(((row, self._known[row]) for row in rows), key=lambda each: (-each[1], each[0]))
        end = count
        while end < len(found) and found[end][1] == found[count - 1][1]:
            end += 1
        return found[:end]
