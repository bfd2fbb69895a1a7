"""Ranking the rows of a corpus by their cosine with a query, exactly, with NumPy or without.

The score of row r for query q is (q - m)(r - m) / (|q - m| |r - m|), where m is the mean of all rows of the corpus, or
zero. A fast pass in float32 gives scores with a proven bound of their error; the rows that can be among the best are
then scored again in float64, products summed as :func:`math.fsum` sums them, so that the same rows come out in the same
order whatever computed the fast pass. A query is float32, as the rows are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ctxarc.auxiliary.vectors.arrays import np
from ctxarc.auxiliary.vectors.ranking_numpy import NumpyRanking
from ctxarc.auxiliary.vectors.ranking_python import PythonRanking

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ctxarc.auxiliary.vectors.corpus import Corpus

__all__ = ["Ranked", "Ranking", "open_ranking"]


class Ranked(Protocol):
    """The rows of a corpus, ranked for one query."""

    def top(self, count: int) -> list[tuple[int, float]]:
        """The best ``count`` rows with their scores, equal ones by number; and all that tie with the last of them."""


class Ranking(Protocol):
    """Ranks the rows of one corpus for any query.

    Attributes:
        name: what computes it, ``numpy`` or ``python``.

    """

    name: str

    def rank(
        self, query: Sequence[float], live: Sequence[tuple[int, int]] | None = None, *, centre: bool = True
    ) -> Ranked:
        """The rows ranked for ``query``; ``live`` are half-open ranges of those that are searched, in order; or all."""

    def rank_many(
        self,
        queries: Sequence[Sequence[float]],
        live: Sequence[tuple[int, int]] | None = None,
        *,
        centre: bool = True,
    ) -> Iterator[Ranked]:
        """The same for each of several queries."""

    def estimate_seconds(self, queries: int) -> float:
        """Seconds that so many queries take, by a measurement of this machine; 0 where that is no time to speak of."""


def open_ranking(corpus: Corpus, backend: str | None = None) -> Ranking:
    """A ranking of the rows of ``corpus``: by NumPy, where there is one and ``backend`` is not ``python``."""
    return PythonRanking(corpus) if np is None or backend == "python" else NumpyRanking(corpus)
