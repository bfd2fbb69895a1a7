"""Whether the numbers beside the rows of a part are those that the rows have."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ctxarc.auxiliary.vectors.measuring import measuring
from ctxarc.auxiliary.vectors.spreads import UNIT, score_error, spreads
from ctxarc.auxiliary.vectors.sums import mean_of
from ctxarc.errors import MalformedVectors

if TYPE_CHECKING:
    from ctxarc.auxiliary.vectors.part import Part


def wrong_numbers(part: Part) -> str:
    """What is wrong with the lengths, sums and distances that a part states; empty where they are right.

    Lengths and distances may differ by what either of two backends may lose.
    """
    width = part.header.dimensions
    measure = measuring(width)
    size = 4 * width * part.block_rows
    try:
        for at in range(0, len(part.data), size):
            measure.add(part.data[at : at + size])
    except MalformedVectors as malformed:
        return malformed.message
    if measure.sums() != part.sums:
        return "the sums that it states are not those of its rows"
    mean = mean_of(part.sums, part.rows)
    length = math.hypot(*mean)
    apart = spreads(part.data, measure.norms, mean)
    limit = (width + 8) * UNIT
    for row, (norm, stated) in enumerate(zip(measure.norms, part.tables.norms, strict=True)):
        if not _are_near(norm, stated, limit):
            return f"row {row} has the length {norm:g}, and it states {stated:g}"
    for row, (norm, spread, stated) in enumerate(zip(measure.norms, apart, part.tables.spreads, strict=True)):
        off = score_error(width, (norm + length) / spread) if 0 < spread < math.inf else limit
        if not _are_near(spread, stated, off):
            return f"row {row} lies {spread:g} from the mean, and it states {stated:g}"
    return ""


def _are_near(number: float, stated: float, limit: float) -> bool:
    """Whether two float32 numbers are the same but for rounding."""
    return number == stated or abs(number - stated) <= limit * number + _SMALLEST


_SMALLEST = 2.0**-148
"""Two steps of the smallest float32 numbers."""
