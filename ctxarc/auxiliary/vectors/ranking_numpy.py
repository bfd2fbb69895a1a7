"""The fast pass of a ranking by NumPy: one matrix product over the rows as they are mapped."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ctxarc.auxiliary.vectors.arrays import np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ctxarc.auxiliary.vectors.corpus import Corpus

UNIT = 2.0**-24
"""Unit roundoff of float32."""
_BLOCK = 64
"""Rows whose best one stands for them where a threshold is looked for."""
_AT_ONCE = 1 << 24
"""Scores that are held at a time."""
_ROWS = 8192
"""Rows that are looked at in float64, or apart from a mean, at a time."""


class NumpyRanking:
    """Ranks the rows of ``corpus``; see :class:`ctxarc.auxiliary.vectors.ranking.Ranking`."""

    name = "numpy"

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self.rows = corpus.rows
        width = corpus.identity.dimensions
        self.matrices = [np.frombuffer(part.data, "<f4").reshape(-1, width) for part in corpus.parts]
        self._norms = np.concatenate([np.frombuffer(part.tables.norms, "=f4") for part in corpus.parts])
        self._scales: dict[bool, tuple[Any, Any, Any]] = {}

    def estimate_seconds(self, _queries: int) -> float:
        """None to speak of."""
        return 0.0

    def scales(self, *, centre: bool) -> tuple[Any, Any, Any]:
        """The point that scores are taken from (float64), and for each row 1 / its distance and its error's bound.

        The bound is that of a dot product of n float32 numbers, n u |x| |y| / (1 - n u) (Higham, Accuracy and Stability
        of Numerical Algorithms, 3.1), twice, for the distance has such an error too.
        """
        if centre not in self._scales:
            width = self._corpus.identity.dimensions
            mean = np.array(self._corpus.mean) if centre else np.zeros(width)
            spreads = self._spreads(mean) if centre else self._norms
            slack = 2 * (width + 8) * UNIT
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                inverse = np.float32(1) / spreads
                errors = (self._norms + np.float32(np.linalg.norm(mean))) * inverse
                errors = np.float32(slack) * (errors + np.float32(1))
            self._scales[centre] = mean, inverse, errors
        return self._scales[centre]

    def _spreads(self, mean: Any) -> Any:  # noqa: ANN401 - arrays
        """The distance of each row from the mean: as stored, where there is one part, whose mean it is."""
        if len(self.matrices) == 1:
            return np.frombuffer(self._corpus.parts[0].tables.spreads, "=f4")
        self._corpus.prove()
        found = np.empty(self.rows, "f4")
        near = mean.astype("f4")
        at = 0
        with np.errstate(over="ignore", invalid="ignore"):
            for matrix in self.matrices:
                for start in range(0, len(matrix), _ROWS):
                    apart = matrix[start : start + _ROWS] - near
                    found[at : at + len(apart)] = np.sqrt(np.einsum("ij,ij->i", apart, apart))
                    at += len(apart)
        return found

    def rank(
        self, query: Sequence[float], live: Sequence[tuple[int, int]] | None = None, *, centre: bool = True
    ) -> NumpyRanked:
        """The rows ranked for ``query``."""
        return next(self.rank_many([query], live, centre=centre))

    def rank_many(
        self, queries: Sequence[Sequence[float]], live: Sequence[tuple[int, int]] | None = None, *, centre: bool = True
    ) -> Iterator[NumpyRanked]:
        """The same for each of several queries, some of them in one product."""
        mean = self.scales(centre=centre)[0]
        step = max(1, _AT_ONCE // self.rows)
        for start in range(0, len(queries), step):
            wanted = np.array(queries[start : start + step], "f4").astype("f8") - mean
            lengths = np.sqrt((wanted * wanted).sum(axis=1))
            units = wanted / np.where(lengths > 0, lengths, 1)[:, None]
            for unit, apart, products in zip(units, wanted, self._products(units.astype("f4")), strict=True):
                scores = self._scored(products, float(unit @ mean), live, centre=centre)
                yield NumpyRanked(self, apart, scores, centre=centre, narrowed=live is not None)

    def _products(self, units: Any) -> Any:  # noqa: ANN401 - arrays
        """The product of each query with each row: queries by rows."""
        found = np.empty((len(units), self.rows), "f4")
        at = 0
        with np.errstate(over="ignore", invalid="ignore"):
            for part, matrix in zip(self._corpus.parts, self.matrices, strict=True):
                # Rows that are proved now are still in the processor's cache when they are multiplied.
                step = len(matrix) if part.is_proved else part.block_rows
                for start in range(0, len(matrix), step):
                    part.prove(start, min(start + step, len(matrix)))
                    _multiply(matrix[start : start + step], units, found[:, at + start : at + start + step])
                at += len(matrix)
        return found

    def _scored(
        self,
        products: Any,  # noqa: ANN401 - an array
        middle: float,
        live: Sequence[tuple[int, int]] | None,
        *,
        centre: bool,
    ) -> Any:  # noqa: ANN401 - an array
        """Approximate scores; of rows that are not searched minus infinity."""
        inverse = self.scales(centre=centre)[1]
        with np.errstate(over="ignore", invalid="ignore"):
            if middle:
                products -= np.float32(middle)
            products *= inverse
        if live is not None:
            at = 0
            for start, end in [*live, (self.rows, self.rows)]:
                products[at:start] = -np.inf
                at = end
        return products

    def gathered(self, rows: Any) -> Any:  # noqa: ANN401 - arrays
        """Some rows, ascending, in float64."""
        if len(self.matrices) == 1:
            return self.matrices[0][rows].astype("f8")
        bases = self._corpus.bases
        borders = np.searchsorted(rows, bases)
        parts = zip(self.matrices, bases, borders[:-1], borders[1:], strict=False)
        return np.concatenate([matrix[rows[start:end] - base] for matrix, base, start, end in parts]).astype("f8")


def _multiply(rows: Any, units: Any, out: Any) -> None:  # noqa: ANN401 - arrays
    if len(units) == 1:
        np.matmul(rows, units[0], out=out[0])
    else:
        np.matmul(units, rows.T, out=out)


class NumpyRanked:
    """The rows ranked for one query, ``apart`` from the mean; ``scores`` are approximate."""

    def __init__(
        self,
        ranking: NumpyRanking,
        apart: Any,  # noqa: ANN401 - an array
        scores: Any,  # noqa: ANN401 - an array
        *,
        centre: bool,
        narrowed: bool,
    ) -> None:
        self._ranking = ranking
        self._apart = apart
        self._scores = scores
        self._narrowed = narrowed
        self._mean, _, self._errors = ranking.scales(centre=centre)

    def top(self, count: int) -> list[tuple[int, float]]:
        """The best ``count`` rows with their scores, and all that tie with the last of them."""
        rows = self._candidates(count)
        scores = np.concatenate(
            [self._exact(rows[at : at + _ROWS]) for at in range(0, len(rows), _ROWS)] or [np.empty(0)]
        )
        order = np.lexsort((rows, -scores))[: max(count, 0) + len(rows)]
        if len(order) > count:
            last = scores[order[count - 1]]
            order = order[: count + int((scores[order[count:]] == last).sum())]
        return list(zip(rows[order].tolist(), scores[order].tolist(), strict=True))

    def _candidates(self, count: int) -> Any:  # noqa: ANN401 - an array
        """The rows that can be among the best ``count``, or tie with the last, ascending."""
        scores, errors = self._scores, self._errors
        with np.errstate(invalid="ignore"):
            least = _least(scores - errors, count)
            rows = np.flatnonzero(~(scores + errors < least))  # a row whose score is no number is looked at
        return rows[scores[rows] != -np.inf] if self._narrowed else rows

    def _exact(self, rows: Any) -> Any:  # noqa: ANN401 - arrays
        """Scores in float64, as if products were summed exactly."""
        apart = self._ranking.gathered(rows) - self._mean
        mine = self._apart
        sums = exact_sums(np.concatenate([apart * mine, apart * apart, (mine * mine)[None]]))
        products, squares = sums[: len(rows)], sums[len(rows) :]
        lengths = np.sqrt(squares[:-1]) * math.sqrt(squares[-1])
        return np.divide(products, lengths, out=np.zeros(len(rows)), where=lengths > 0)


def _least(scores: Any, count: int) -> Any:  # noqa: ANN401 - arrays
    """A number that at least ``count`` of ``scores`` reach; minus infinity where there are not so many."""
    best = scores
    if len(scores) >= 4 * count * _BLOCK:
        # The best of every 64 are found quickly; as many of them reach a number as of all, at least.
        whole = len(scores) // _BLOCK * _BLOCK
        best = np.fmax.reduce(scores[:whole].reshape(_BLOCK, -1), axis=0)
    if count > len(best):
        return -np.inf
    best = np.where(np.isnan(best), -np.inf, best)
    return np.partition(best, len(best) - count)[len(best) - count]


def exact_sums(numbers: Any) -> Any:  # noqa: ANN401 - arrays
    """The sum of each line of a float64 matrix, as :func:`math.fsum` gives it.

    Each number is split at a power of two so large that the upper parts are summed without any rounding; what the lower
    parts lose when they are summed lies far below the last bit of the sum.
    """
    if not len(numbers):
        return np.empty(0)
    largest = np.abs(numbers).max(axis=1, keepdims=True)
    grain = np.ldexp(1.0, np.frexp(largest)[1] - (52 - numbers.shape[1].bit_length()))
    upper = np.rint(numbers / grain) * grain
    return upper.sum(axis=1) + (numbers - upper).sum(axis=1)
