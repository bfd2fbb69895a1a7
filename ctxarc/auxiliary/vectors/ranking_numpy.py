"""The fast pass of a ranking by NumPy: one matrix product over the rows as they are mapped."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from ctxarc.auxiliary.vectors.arrays import np
from ctxarc.auxiliary.vectors.spreads import LEAST, MOST, score_error, spreads

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ctxarc.auxiliary.vectors.corpus import Corpus

_BLOCK = 64
"""Rows whose best one stands for them where the best of all are looked for."""
_WITHIN = None if np is None else np.arange(_BLOCK)
_TOGETHER = 16384
"""Rows whose products with several queries are made at a time."""
_SCORES = 1 << 23
"""Scores that are held at a time."""
_NUMBERS = 1 << 20
"""Numbers of rows that are held in float64 at a time."""
_FEW = 8
"""Sums that are taken one by one where the quick way is not certain."""
_USUAL = 4
"""How many times more than in the middle a score can be off; rows whose scores are worse are always scored again."""


class _Point(NamedTuple):
    """A point that scores are taken from, and what they need of each row.

    Attributes:
        mean: the point, in float64.
        inverse: 1 / the distance of each row from it.
        errors: how far each score can be off.
        worst: the most of them.
        odd: the rows whose scores are always taken in float64; they are in none of the numbers above.

    """

    mean: Any
    inverse: Any
    errors: Any
    worst: float
    odd: Any


class _Query(NamedTuple):
    """A query, and what the fast pass found for it.

    Attributes:
        apart: the query apart from the point, in float64.
        length: the length of that.
        scores: of all rows; minus infinity for those that are not searched, and for odd ones.
        best: the best of each block of rows.
        odd: the odd rows that are searched.

    """

    apart: Any
    length: float
    scores: Any
    best: Any
    odd: Any


class NumpyRanking:
    """Ranks the rows of ``corpus``; see :class:`ctxarc.auxiliary.vectors.ranking.Ranking`."""

    name = "numpy"

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._width = corpus.identity.dimensions
        self.rows = corpus.rows
        self.matrices = [np.frombuffer(part.data, "<f4").reshape(-1, self._width) for part in corpus.parts]
        self._norms = np.concatenate([np.frombuffer(part.tables.norms, "=f4") for part in corpus.parts])
        self.behind = np.arange(self.rows // _BLOCK * _BLOCK, self.rows)
        self._points: dict[bool, _Point] = {}

    def estimate_seconds(self, _queries: int) -> float:
        """None to speak of."""
        return 0.0

    def point(self, *, centre: bool) -> _Point:
        """The mean of all rows, or zero."""
        if centre not in self._points:
            mean = np.array(self._corpus.mean) if centre else np.zeros(self._width)
            apart = self._spreads() if centre else self._norms
            with np.errstate(all="ignore"):
                inverse = np.float32(1) / apart
                errors = score_error(self._width, (self._norms + np.float32(np.linalg.norm(mean))) * inverse)
                usual = (apart > LEAST) & (self._norms < MOST)
                if usual.any():
                    usual &= errors <= _USUAL * _middle(errors[usual])
            odd = np.flatnonzero(~usual)
            inverse[odd] = errors[odd] = 0
            self._points[centre] = _Point(mean, inverse, errors.astype("f4"), float(errors.max()), odd)
        return self._points[centre]

    def _spreads(self) -> Any:  # noqa: ANN401 - an array
        """The distance of each row from the mean: as stored, where there is one part, whose mean it is."""
        parts = self._corpus.parts
        if len(parts) == 1:
            return np.frombuffer(parts[0].tables.spreads, "=f4")
        self._corpus.prove()
        found = [spreads(part.data, part.tables.norms, self._corpus.mean) for part in parts]
        return np.concatenate([np.frombuffer(each, "=f4") for each in found])

    def rank(
        self, query: Sequence[float], live: Sequence[tuple[int, int]] | None = None, *, centre: bool = True
    ) -> NumpyRanked:
        """The rows ranked for ``query``."""
        return next(self.rank_many([query], live, centre=centre))

    def rank_many(
        self, queries: Sequence[Sequence[float]], live: Sequence[tuple[int, int]] | None = None, *, centre: bool = True
    ) -> Iterator[NumpyRanked]:
        """The same for each of several queries, some of them in one product."""
        point = self.point(centre=centre)
        step = max(1, _SCORES // self.rows)
        for start in range(0, len(queries), step):
            apart = np.array(queries[start : start + step], "f4").astype("f8") - point.mean
            lengths = np.sqrt(exact_sums(apart * apart))
            units = apart / np.where(lengths > 0, lengths, 1)[:, None]
            scores = self._scores(units, point)
            odd = _leave_out(scores, point.odd, live)
            best = _best(scores)
            for number, length in enumerate(lengths.tolist()):
                query = _Query(apart[number], length, scores[:, number], best[number], odd)
                yield NumpyRanked(self, point, query)

    def _scores(self, units: Any, point: _Point) -> Any:  # noqa: ANN401 - arrays
        """The approximate score of each row for each query: rows by queries, which takes the least time."""
        found = np.empty((self.rows, len(units)), "f4")
        middles, turned = (units @ point.mean).astype("f4"), units.astype("f4").T
        at = 0
        with np.errstate(all="ignore"):
            for part, matrix in zip(self._corpus.parts, self.matrices, strict=True):
                # What is proved, or multiplied, now is still in the processor's cache for what follows.
                step = (_TOGETHER if len(units) > 1 else len(matrix)) if part.is_proved else part.block_rows
                for start in range(0, len(matrix), step):
                    rows = matrix[start : start + step]
                    part.prove(start, start + len(rows))
                    to = found[at : at + len(rows)]
                    np.matmul(rows, turned, out=to)
                    to -= middles
                    to *= point.inverse[at : at + len(rows), None]
                    at += len(rows)
        return found

    def gathered(self, rows: Any) -> Any:  # noqa: ANN401 - arrays
        """Some rows, ascending, in float64."""
        if len(self.matrices) == 1:
            return self.matrices[0][rows].astype("f8")
        bases = self._corpus.bases
        borders = np.searchsorted(rows, bases)
        parts = zip(self.matrices, bases, borders[:-1], borders[1:], strict=False)
        return np.concatenate([matrix[rows[start:end] - base] for matrix, base, start, end in parts]).astype("f8")

    def exact(self, rows: Any, point: _Point, query: _Query) -> Any:  # noqa: ANN401 - arrays
        """The scores of some rows in float64, products summed exactly."""
        found = np.empty(len(rows))
        step = max(1, _NUMBERS // self._width)
        for at in range(0, len(rows), step):
            apart = self.gathered(rows[at : at + step]) - point.mean
            both = np.empty((2 * len(apart), self._width))
            np.multiply(apart, query.apart, out=both[: len(apart)])
            np.multiply(apart, apart, out=both[len(apart) :])
            sums = exact_sums(both)
            products, lengths = sums[: len(apart)], np.sqrt(sums[len(apart) :]) * query.length
            found[at : at + step] = np.divide(products, lengths, out=np.zeros(len(apart)), where=lengths > 0)
        return found


def _leave_out(scores: Any, odd: Any, live: Sequence[tuple[int, int]] | None) -> Any:  # noqa: ANN401 - arrays
    """Make scores minus infinity where rows are not searched, or odd; give the odd ones that are searched."""
    scores[odd] = -np.inf
    if live is None:
        return odd
    at = 0
    searched = np.zeros(len(odd), "?")
    for start, end in live:
        scores[at:start] = -np.inf
        searched |= (odd >= start) & (odd < end)
        at = end
    scores[at:] = -np.inf
    return odd[searched]


def _best(scores: Any) -> Any:  # noqa: ANN401 - arrays
    """The best score of each block of rows, for each query: queries by blocks."""
    together = scores[: len(scores) // _BLOCK * _BLOCK].reshape(-1, _BLOCK, scores.shape[1])
    return np.ascontiguousarray(np.maximum.reduce(together, axis=1).T)


class NumpyRanked:
    """The rows ranked for one query."""

    def __init__(self, ranking: NumpyRanking, point: _Point, query: _Query) -> None:
        self._ranking, self._point, self._query = ranking, point, query
        self._rows, self._exact = np.empty(0, "i8"), np.empty(0)

    def top(self, count: int) -> list[tuple[int, float]]:
        """The best ``count`` rows with their scores, and all that tie with the last of them."""
        if count < 1:
            return []
        self._look_at(self._candidates(count))
        order = np.lexsort((self._rows, -self._exact))
        found = self._exact[order]
        end = min(count, len(order))
        end += int((found[end:] == found[end - 1]).sum()) if end else 0
        return list(zip(self._rows[order[:end]].tolist(), found[:end].tolist(), strict=True))

    def _look_at(self, rows: Any) -> None:  # noqa: ANN401 - an array
        """Score rows exactly that were not yet."""
        new = np.setdiff1d(rows, self._rows, assume_unique=True) if len(self._rows) else rows
        if len(new):
            self._exact = np.concatenate([self._exact, self._ranking.exact(new, self._point, self._query)])
            self._rows = np.concatenate([self._rows, new])

    def _candidates(self, count: int) -> Any:  # noqa: ANN401 - an array
        """The rows that can be among the best ``count``, or tie with the last, ascending.

        The best of every 64 rows are found quickly; where as many of them as are wanted reach a score, so do as many
        rows, and only where the best of 64 can reach it too can there be others.
        """
        scores, best, worst = self._query.scores, self._query.best, self._point.worst
        if len(best) < 4 * count:
            least = _least(scores, count) - worst
            near = np.flatnonzero(scores + self._point.errors >= least)
        else:
            least = _least(best, count) - worst
            blocks = np.flatnonzero(best >= least - worst)
            near = np.concatenate([(blocks[:, None] * _BLOCK + _WITHIN).ravel(), self._ranking.behind])
            near = near[scores[near] >= least - worst]
            near = near[scores[near] + self._point.errors[near] >= least]
        if least == -np.inf:
            near = near[scores[near] > least]
        return np.sort(np.concatenate([near, self._query.odd])) if len(self._query.odd) else near


def _least(scores: Any, count: int) -> Any:  # noqa: ANN401 - arrays
    """A number that ``count`` of ``scores`` reach; minus infinity where there are not so many."""
    if count > len(scores):
        return -np.inf
    return float(np.partition(scores, len(scores) - count)[len(scores) - count])


def exact_sums(numbers: Any) -> Any:  # noqa: ANN401 - arrays
    """The sum of each line of a float64 matrix, rounded once, as :func:`math.fsum` gives it."""
    if not len(numbers):
        return np.empty(0)
    found, sure = _rounded_once(numbers, max(numbers.max(), -numbers.min()))
    odd = np.flatnonzero(~sure)
    if len(odd) > _FEW:
        lines = numbers[odd]
        found[odd], sure = _rounded_once(lines, np.maximum(lines.max(axis=1), -lines.min(axis=1)))
        odd = odd[~sure]
    for at in odd.tolist():
        found[at] = math.fsum(numbers[at].tolist())
    return found


def _rounded_once(numbers: Any, largest: Any) -> tuple[Any, Any]:  # noqa: ANN401 - arrays, or a number
    """The sum of each line, and whether it is certain.

    Each number is split at a power of two so large that the upper parts are summed without any rounding. What the lower
    parts lose when they are summed is known to be small: a sum that would be the same with that much more, and less, is
    the one that is rounded once.
    """
    width = numbers.shape[1]
    grain = np.ldexp(1.0, np.frexp(largest)[1] - (51 - width.bit_length()))
    shift = 1.5 * 2.0**52 * grain
    shift = shift[:, None] if np.ndim(shift) else shift
    upper = numbers + shift
    upper -= shift
    sums, rest = np.add.reduce(upper, axis=1), np.add.reduce(numbers - upper, axis=1)
    lost = width * width * 2.0**-52 * grain
    least = sums + (rest - lost)
    return least, least == sums + (rest + lost)


def _middle(numbers: Any) -> Any:  # noqa: ANN401 - arrays
    """The middle one of some numbers; np.median would load a part of NumPy that nothing else here needs."""
    half = len(numbers) // 2
    return np.partition(numbers, half)[half]
