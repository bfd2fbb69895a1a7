"""Lengths and sums of rows that stream by, and whether each is a vector at all."""

from __future__ import annotations

import math
import sys
from array import array
from typing import Protocol

from ctxarc.auxiliary.vectors.arrays import np
from ctxarc.auxiliary.vectors.spreads import LEAST, narrow
from ctxarc.auxiliary.vectors.sums import ColumnSums, NumpyColumnSums
from ctxarc.errors import MalformedVectors


class Measure(Protocol):
    """What is known of the rows so far.

    Attributes:
        norms: the length of each, float32. They are approximate: a search allows for that.

    """

    norms: array[float]

    def add(self, block: bytes | memoryview) -> None:
        """Look at rows: float32, little-endian.

        Raises:
            MalformedVectors: a row is not finite, or all zero; ``row`` is in the facts.

        """

    def sums(self) -> list[int]:
        """The sum of each column, in units of 2 ** -149."""


def measuring(dimensions: int) -> Measure:
    """What measures rows of that width: by NumPy where there is one."""
    return _Measure(dimensions) if np is None else _NumpyMeasure(dimensions)


class _NumpyMeasure:
    """By NumPy."""

    def __init__(self, dimensions: int) -> None:
        self.norms = array("f")
        self._dimensions = dimensions
        self._sums = NumpyColumnSums(dimensions)

    def add(self, block: bytes | memoryview) -> None:
        rows = np.frombuffer(block, "<f4").reshape(-1, self._dimensions)
        with np.errstate(over="ignore", invalid="ignore"):
            norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
            odd = np.flatnonzero(~((norms > LEAST) & np.isfinite(norms)))
        for at in odd.tolist():
            norms[at] = narrow(_norm(rows[at].tolist(), len(self.norms) + at))
        self._sums.add(rows)
        self.norms.frombytes(norms.astype("=f4").tobytes())

    def sums(self) -> list[int]:
        return self._sums.total()


class _Measure:
    """By the standard library."""

    def __init__(self, dimensions: int) -> None:
        self.norms = array("f")
        self._dimensions = dimensions
        self._sums = ColumnSums(dimensions)

    def add(self, block: bytes | memoryview) -> None:
        numbers = array("f", bytes(block))
        if sys.byteorder == "big":  # pragma: no cover - files are little-endian
            numbers.byteswap()
        for at in range(0, len(numbers), self._dimensions):
            self.norms.append(narrow(_norm(numbers[at : at + self._dimensions].tolist(), len(self.norms))))
        self._sums.add(numbers)

    def sums(self) -> list[int]:
        return self._sums.total()


def _norm(row: list[float], number: int) -> float:
    """The length of a row.

    Raises:
        MalformedVectors: it has none: the row is not finite, or all zero.

    """
    if not all(map(math.isfinite, row)):
        raise MalformedVectors(f"row {number} of the vectors is not finite", row=number)
    norm = math.hypot(*row)
    if not norm:
        raise MalformedVectors(f"row {number} of the vectors is all zero", row=number)
    return norm
