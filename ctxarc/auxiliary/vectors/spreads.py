"""Distances of rows from a point, in float32, and what a score that is computed with them can be off.

Both backends write and read the same ones, and neither has to compute them to the last bit: a search allows for
:func:`score_error`, and scores again, exactly, whatever can be among the best.
"""

from __future__ import annotations

import math
import sys
from array import array
from typing import TYPE_CHECKING, Any

from ctxarc.auxiliary.vectors.arrays import np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

UNIT = 2.0**-24
"""Unit roundoff of float32."""
LEAST, MOST = 1e-15, 1e15
"""Between these, squares and products in float32 neither overflow nor lose bits for being small."""
_FAR = 8
"""How many times smaller than the norms a distance may be, and still be computed from them."""
_AT_ONCE = 1 << 20
"""Numbers that are held in float64 at a time."""


def score_error(width: int, stretch: Any) -> Any:  # noqa: ANN401 - a number, or an array
    """How far a score that was computed in float32 can be off.

    A dot product of n numbers is off by n u |x| |y| / (1 - n u) at most (Higham, Accuracy and Stability of Numerical
    Algorithms, 3.1): so is a score, times ``stretch``. The square of a distance that is computed as a sum of such
    products is off by as much times the square of ``stretch``, the distance by half of that; one that is more than 8
    times smaller than what it is computed from is computed in float64. All is taken twice.

    Args:
        width: numbers of a row.
        stretch: (norm of the row + norm of the point) / distance of the row from the point.

    """
    unit = (width + 8) * UNIT
    least = min(stretch, _FAR) if np is None or isinstance(stretch, float) else np.minimum(stretch, _FAR)
    return unit * stretch * (2 + least)


def narrow(number: float) -> float:
    """``number``, or infinity where float32 cannot hold it."""
    return number if number <= 3.4e38 else math.inf  # noqa: PLR2004 - the largest of float32


def spreads(data: Any, norms: Any, mean: Sequence[float]) -> array[float]:  # noqa: ANN401 - buffers
    """The distance of each row from ``mean``.

    Args:
        data: rows, float32, little-endian.
        norms: the length of each.
        mean: the point, float64.

    """
    return _by_python(data, mean) if np is None else array("f", _by_numpy(data, norms, mean).tobytes())


def rows_of(data: Any, width: int) -> Iterator[list[float]]:  # noqa: ANN401 - a buffer
    """Rows, as lists of numbers."""
    size = 4 * width
    step = max(1, _AT_ONCE // size) * size
    for at in range(0, len(data), step):
        numbers = array("f", bytes(data[at : at + step]))
        if sys.byteorder == "big":  # pragma: no cover - files are little-endian
            numbers.byteswap()
        for first in range(0, len(numbers), width):
            yield numbers[first : first + width].tolist()


def _by_python(data: Any, mean: Sequence[float]) -> array[float]:  # noqa: ANN401 - a buffer
    return array("f", (narrow(math.dist(row, mean)) for row in rows_of(data, len(mean))))


def _by_numpy(data: Any, norms: Any, mean: Sequence[float]) -> Any:  # noqa: ANN401 - buffers and arrays
    """By one matrix product where that is near enough: |r - m|^2 = |r|^2 - 2 rm + |m|^2."""
    rows = np.frombuffer(data, "<f4").reshape(-1, len(mean))
    point = np.array(mean)
    length = float(np.linalg.norm(point))
    lengths = np.frombuffer(norms, "=f4").astype("f8")
    with np.errstate(all="ignore"):
        found = np.sqrt(lengths * lengths - 2 * (rows @ point.astype("f4")) + length * length)
        good = (found * _FAR >= lengths + length) & (found > LEAST) & (found < MOST) & (lengths < MOST)
        odd = np.flatnonzero(~(good & (length < MOST)))
        step = max(1, _AT_ONCE // len(mean))
        for start in range(0, len(odd), step):
            places = odd[start : start + step]
            apart = rows[places].astype("f8") - point
            found[places] = np.sqrt((apart * apart).sum(axis=1))
        return found.astype("=f4")
