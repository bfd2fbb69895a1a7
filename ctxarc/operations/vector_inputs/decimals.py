"""Decimal numbers of many JSON arrays at once, as float32: the digits of all of them in the same steps of NumPy.

``json`` takes 80 to 240 ns for a number. Here a number of the common form, a digit, a point and up to 22 digits more,
takes a third of that: eight digits at a time are one 64-bit word, made a number by three multiplications (Lemire,
*Quickly parsing eight digits*, 2018). Any other number goes through ``float``, and so does one whose first fourteen
decimals leave open which float32 it is nearest to: the results are those of ``json``, bit for bit.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ctxarc.auxiliary.vectors.arrays import np

if TYPE_CHECKING:
    from collections.abc import Sequence

AVAILABLE = np is not None
_NUMBER = re.compile(rb"[ \t]*(-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)[ \t]*")
_COMMA, _BLANK, _MINUS, _POINT, _ZERO = b", -.0"
_FIRST, _WORD = 6, 8
"""Decimals in the first word, behind the digit and the point, and in each after it."""
_LONGEST = _FIRST + 2 * _WORD
"""Decimals of the longest number that is read here; all are looked at, and those of two words count."""
_PAD = b"\0" * 40
"""Bytes behind the text, so that the words of its last number lie in it."""
_MOSTLY = 8
"""One number in so many may be of another form: beyond that, ``json`` is quicker."""
_SMALL = 1e-5
"""Numbers below it have too few of their digits among the decimals that count."""
_SURE = 8
"""Units in the last place of a float64 by which a number made here differs from the right one at most."""


def parse(bodies: Sequence[bytes]) -> tuple[Any, list[int]] | None:
    """The numbers of JSON arrays, as one array of float32, and how many each has.

    Args:
        bodies: what stands between the brackets of each array.

    Returns:
        ``None`` where something is not as it mostly is: no JSON numbers, or numbers of another form mainly, or a vector
        that is not finite, or all zero. A slower reader then says what.

    """
    text = b",".join(bodies) + b","
    chars = np.frombuffer(text + _PAD, "u1")
    ends = np.flatnonzero(chars[: len(text)] == _COMMA)
    bounds = np.cumsum([len(body) + 1 for body in bodies]) - 1
    behind = np.searchsorted(ends, bounds) + 1
    starts = np.empty_like(ends)
    starts[0] = 0
    np.add(ends[:-1], 1, out=starts[1:])
    starts += chars.take(starts) == _BLANK
    minus = chars.take(starts) == _MINUS
    starts += minus
    values, plain = _plain(chars, starts, ends)
    values *= 1.0 - 2.0 * minus
    others = np.flatnonzero(~plain).tolist()
    if len(others) > len(ends) // _MOSTLY:
        return None
    for at in others:
        match = _NUMBER.fullmatch(text, int(ends[at - 1]) + 1 if at else 0, int(ends[at]))
        if match is None:
            return None
        values[at] = float(match[1]) if match[1] != b"-0" else 0.0  # an integer, and so without a sign
    with np.errstate(over="ignore"):
        numbers = values.astype("<f4")
    counts = np.diff(behind, prepend=0)
    peaks = np.maximum.reduceat(np.abs(numbers), behind - counts)
    return (numbers, counts.tolist()) if ((peaks > 0) & (peaks < np.inf)).all() else None


def _plain(chars: Any, starts: Any, ends: Any) -> tuple[Any, Any]:  # noqa: ANN401 - arrays of NumPy
    """The numbers of the common form, and which those are. What is said of the others has no meaning."""
    words = np.frombuffer(chars, "<u8", len(chars) // 8)
    place = starts >> 3
    shift = (starts.astype("u8") & np.uint64(7)) << np.uint64(3)
    back = np.uint64(63) - shift
    left = words.take(place)
    right = words.take(place + 1)
    front = left >> shift | right << np.uint64(1) << back
    decimals = ends - starts
    decimals -= 2
    plain = front >> np.uint64(8) & np.uint64(0xFF) == _POINT
    plain &= decimals >= 1
    plain &= decimals <= _LONGEST
    # The digit takes the place of the point, and a zero that of the digit.
    front = front & ~np.uint64(0xFFFF) | (front & np.uint64(0xFF)) << np.uint64(8) | np.uint64(_ZERO)
    kept = _KEPT.take(decimals + 2, mode="clip")
    numbers = _number(front, kept, plain)
    for first in range(_FIRST, _LONGEST, _WORD):
        place += 1
        left, right = right, words.take(place + 1, mode="clip")
        kept = _KEPT.take(decimals - first, mode="clip")
        number = _number(left >> shift | right << np.uint64(1) << back, kept, plain)
        if first == _FIRST:
            numbers = numbers * np.uint64(10**_WORD) + number
    values = numbers.astype("f8")
    values /= 10.0 ** (_FIRST + _WORD)
    plain &= ~_open(values, decimals)
    return values, plain


def _number(digits: Any, kept: Any, plain: Any) -> Any:  # noqa: ANN401 - arrays of NumPy
    """The numbers that words of eight digits are, the first digit in the lowest byte.

    Args:
        digits: the words.
        kept: which of their bits count; zeros stand for the other digits.
        plain: where these are no digits, this is made false.

    """
    digits = (digits ^ _ZEROS) & kept
    plain &= (digits + np.uint64(0x7676767676767676) | digits) & np.uint64(0x8080808080808080) == 0
    digits = digits * np.uint64(10) + (digits >> np.uint64(8))
    pairs = np.uint64(0x000000FF000000FF)
    upper = (digits & pairs) * np.uint64(100 + (1_000_000 << 32))
    lower = (digits >> np.uint64(16) & pairs) * np.uint64(1 + (10_000 << 32))
    return upper + lower >> np.uint64(32)


def _open(values: Any, decimals: Any) -> Any:  # noqa: ANN401 - arrays of NumPy
    """Where the float32 nearest to a number cannot be told, since it lies too near to the middle of two.

    The decimals behind the fourteenth, less than 1e-14 in all, do not count; that is 46 units in the last place of a
    float64 near 1, and more in proportion where a number is smaller. The middle of two float32 numbers is where the low
    29 bits of the float64 are a one and zeros.
    """
    low = (values.view("u8") & np.uint64((1 << 29) - 1)).astype("i8")
    low -= 1 << 28
    cut = decimals > _FIRST + _WORD
    doubt = 100.0 / np.maximum(values, _SMALL)
    doubt *= cut
    doubt += _SURE
    return (np.abs(low) <= doubt) | ((values < _SMALL) & (cut | (values > 0)))


if AVAILABLE:
    _ZEROS = np.uint64(0x3030303030303030)
    _KEPT = np.array([(1 << 8 * count) - 1 for count in range(_WORD + 1)], "u8")
