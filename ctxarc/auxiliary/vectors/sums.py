"""Exact sums of columns of float32 numbers: the same whatever the order, the grouping, or what adds them.

A float32 number is a multiple of 2 ** -149, and so is a sum of them. So the mean of a corpus is the same number in
however many parts its rows lie, and the scores that are taken from it are the same to the last bit.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ctxarc.auxiliary.vectors.arrays import np

if TYPE_CHECKING:
    from array import array
    from collections.abc import Sequence

UNIT_BITS = 149
SUM_BYTES = 40
"""Bytes of a sum, two's complement: 2 ** 31 numbers below 2 ** 128 in units of 2 ** -149 have 308 bits and a sign."""
_ROWS = 512
"""Rows that are summed at a time at most: their sum has 9 bits more than the largest number."""
_AT_ONCE = 1 << 17
"""Numbers that are looked at together, so that they stay in the processor's cache."""
_SPREAD = 20
"""How much smaller than the largest, in bits, a number may be: with its 24 bits and those 9 the sum fits a float64."""
_FEW = 4096
"""Smaller numbers that are added one by one."""
_HALF = 32


def pack_sums(sums: Sequence[int]) -> bytes:
    """Sums in units of 2 ** -149, joined."""
    return b"".join(number.to_bytes(SUM_BYTES, "little", signed=True) for number in sums)


def unpack_sums(data: bytes | memoryview) -> list[int]:
    """The same back."""
    places = range(0, len(data), SUM_BYTES)
    return [int.from_bytes(data[at : at + SUM_BYTES], "little", signed=True) for at in places]


def mean_of(sums: Sequence[int], rows: int) -> list[float]:
    """The float64 numbers nearest to the sums divided by ``rows``."""
    return [number / (rows << UNIT_BITS) for number in sums]


def _units(number: float) -> int:
    return int(math.ldexp(number, UNIT_BITS))


class ColumnSums:
    """The sums of the columns of rows, by the standard library: what :func:`math.fsum` leaves is summed again."""

    def __init__(self, width: int) -> None:
        self._sums = [0] * width

    def add(self, numbers: array[float]) -> None:
        """Add rows, one behind the other."""
        width = len(self._sums)
        for at in range(width):
            column = numbers[at::width].tolist()
            while part := math.fsum(column):
                self._sums[at] += _units(part)
                column.append(-part)

    def total(self) -> list[int]:
        """The sums so far, in units of 2 ** -149."""
        return self._sums


class NumpyColumnSums:
    """The same by NumPy: float64 sums of so few rows, and of numbers so near in size, that nothing is rounded."""

    def __init__(self, width: int) -> None:
        self._sums = [0] * width
        self._exponent = -UNIT_BITS
        self._low, self._high = np.zeros(width, "i8"), np.zeros(width, "i8")
        self._smaller: NumpyColumnSums | None = None
        self._step = max(1, min(_ROWS, _AT_ONCE // width))
        self._sizes, self._small = np.empty((self._step, width), "f4"), np.empty((self._step, width), "?")
        self._rest = np.empty((self._step, width), "f4")

    def add(self, rows: Any) -> None:  # noqa: ANN401 - an array
        """Add rows: a float32 matrix, whose lines lie one behind the other."""
        for at in range(0, len(rows), self._step):
            self._add(rows[at : at + self._step])

    def _add(self, rows: Any) -> None:  # noqa: ANN401 - an array
        sizes = np.abs(rows, out=self._sizes[: len(rows)])
        exponent = math.frexp(float(sizes.max()))[1]
        if exponent > self._exponent:
            self._flush()
            self._exponent = exponent
        least = np.float32(math.ldexp(1, self._exponent - _SPREAD))
        small = np.less(sizes, least, out=self._small[: len(rows)])
        if small.any():
            rows = self._without(rows, np.flatnonzero(small))
        sums = np.add.reduce(rows, axis=0, dtype="f8")
        whole = np.ldexp(sums, _SPREAD + 23 - self._exponent).astype("i8")
        self._low += whole & ((1 << _HALF) - 1)
        self._high += whole >> _HALF

    def _without(self, rows: Any, places: Any) -> Any:  # noqa: ANN401 - arrays
        """``rows`` with zeros at ``places``, whose numbers are added apart."""
        values = rows.reshape(-1)[places]
        places, values = places[values != 0], values[values != 0]
        if not len(places):
            return rows
        if len(places) > _FEW:
            rest = np.zeros_like(rows)
            rest.reshape(-1)[places] = values
            self._smaller = self._smaller or NumpyColumnSums(len(self._sums))
            self._smaller.add(rest)
        else:
            for at, value in zip((places % len(self._sums)).tolist(), values.tolist(), strict=True):
                self._sums[at] += _units(value)
        others = self._rest[: len(rows)]
        np.copyto(others, rows)
        others.reshape(-1)[places] = 0
        return others

    def _flush(self) -> None:
        shift = self._exponent - _SPREAD - 23 + UNIT_BITS
        for at, (high, low) in enumerate(zip(self._high.tolist(), self._low.tolist(), strict=True)):
            number = (high << _HALF) + low
            self._sums[at] += number << shift if shift > 0 else number >> -shift
        self._high[:] = self._low[:] = 0

    def total(self) -> list[int]:
        """The sums so far, in units of 2 ** -149."""
        self._flush()
        if self._smaller is None:
            return self._sums
        return [one + other for one, other in zip(self._sums, self._smaller.total(), strict=True)]
