"""Checks of many rows at once: that each is finite and not all zero, and how alike two are."""

from __future__ import annotations

import math
import sys
from array import array
from operator import mul
from typing import TYPE_CHECKING

from ctxarc.auxiliary.vectors.arrays import np
from ctxarc.operations.vector_inputs.numbers import check_vector

if TYPE_CHECKING:
    from ctxarc.operations.vector_inputs.rows import Given

_FAST = np is not None
_ROWS = 1024
"""Rows that are looked at together."""
_LEAST, _MOST = 1e-30, 1e30
"""Sums of squares between which float32 can be trusted; rows beyond are looked at one by one."""


def check_rows(given: Given) -> None:
    """Refuse rows that have no direction.

    Raises:
        MalformedVectors: the first of them.

    """
    size = 4 * given.width
    if not _FAST:
        for row in range(len(given.ids)):
            check_vector(row_of(given, row), given.place(row))
        return
    for start in range(0, len(given.ids), _ROWS):
        piece = given.data[start * size : (start + _ROWS) * size]
        rows = np.frombuffer(piece, "<f4").reshape(-1, given.width)
        with np.errstate(all="ignore"):
            squares = np.einsum("ij,ij->i", rows, rows)
        for row in np.flatnonzero(~((squares > _LEAST) & (squares < _MOST))).tolist():
            check_vector(row_of(given, start + row), given.place(start + row))


def row_of(given: Given, row: int) -> array[float]:
    """A row of what was given."""
    size = 4 * given.width
    vector = array("f", bytes(given.data[row * size : (row + 1) * size]))
    if sys.byteorder == "big":  # pragma: no cover - rows are little-endian
        vector.byteswap()
    return vector


def cosine(one: array[float], other: array[float]) -> float:
    """The cosine of the angle between two vectors that are not zero."""
    product: float = sum(map(mul, one, other))
    return product / (math.hypot(*one) * math.hypot(*other))
