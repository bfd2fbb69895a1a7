"""Products of one vector with all rows by arithmetic on large integers, which runs in C without NumPy.

Each dimension of all rows is one integer: a row has four bytes of it, its lane, and the lane holds the row's number in
that dimension, rounded to one of 4,096 steps. A sum of such integers, each times a weight, is the sum in every lane at
once, as long as no lane overflows: 4,095 times the sum of the weights stays below 2 ** 32.
"""

from __future__ import annotations

import math
import sys
from array import array
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_LANE = 4
_STEPS = 1 << 12
_WEIGHTS = (1 << 32) // _STEPS
"""The most that the weights of one sum may come to."""
_LEAST = 1e-290
"""The least sum of a vector's numbers that weights can be made of; with less every product is next to nothing."""


class Lanes:
    """The rows of a corpus as lanes of integers.

    Args:
        data: the rows of each part, float32, little-endian.
        width: numbers of a row.
        longest: the length of the longest row.

    """

    def __init__(self, data: Sequence[memoryview], width: int, longest: float) -> None:
        numbers = array("f")
        for each in data:
            numbers.frombytes(each)
        if sys.byteorder == "big":  # pragma: no cover - files are little-endian
            numbers.byteswap()
        self._rows = len(numbers) // width
        self._step = 2.0 ** math.ceil(math.log2(2 * longest / (_STEPS - 2)))
        self._columns = [_column(numbers[at::width], self._step) for at in range(width)]

    def products(self, unit: Sequence[float]) -> tuple[list[float], float]:
        """The product of each row with ``unit``, and the bound of its error.

        A number that is rounded to a step is off by half a step at most; what a weight is off counts for all steps.
        """
        total = math.fsum(map(abs, unit))
        if total < _LEAST:
            return [0.0] * self._rows, total * _STEPS * self._step
        scale = (_WEIGHTS - len(unit)) / total
        sums = [0, 0]
        constant = error = 0.0
        for number, lanes in zip(unit, self._columns, strict=True):
            weight = round(abs(number) * scale)
            sums[number < 0] += weight * lanes
            constant -= number * (_STEPS // 2)
            error += abs(number) / 2 + abs(abs(number) - weight / scale) * _STEPS
        up, down = (self._spread(number) for number in sums)
        unit_step, scaled = constant * self._step, self._step / scale
        return [unit_step + (one - other) * scaled for one, other in zip(up, down, strict=True)], error * self._step

    def _spread(self, lanes: int) -> array[int]:
        """The number in each lane."""
        found = array("I", lanes.to_bytes(_LANE * self._rows, "little"))
        if sys.byteorder == "big":  # pragma: no cover - the bytes above are little-endian
            found.byteswap()
        return found


def _column(numbers: array[float], step: float) -> int:
    """One dimension of all rows as lanes, zero at the middle step.

    Adding a large number leaves, in the last bytes of a float64, how many steps a number is above the lowest.
    """
    large = (1.5 * 2.0**52 + _STEPS // 2) * step
    summed = array("d", [large + number for number in numbers])
    if sys.byteorder == "big":  # pragma: no cover - the last bytes are the first here
        summed.byteswap()
    packed = summed.tobytes()
    lanes = bytearray(_LANE * len(numbers))
    lanes[0::_LANE], lanes[1::_LANE] = packed[0::8], packed[1::8]
    return int.from_bytes(lanes, "little")
