"""One vector: JSON numbers, or base64 of float32, little-endian, as float32 numbers that a cosine can be taken of."""

from __future__ import annotations

import binascii
import math
import sys
from array import array
from typing import Any

from ctxarc.errors import MalformedVectors

DIMENSIONS_LIMIT = 65_536
"""Numbers of the longest vector."""
_NUMBERS = {int, float}
_SIZE = 4


def vector_of(value: Any, where: str) -> array[float]:  # noqa: ANN401 - any JSON value
    """A vector from JSON: a list of numbers, or a string of base64 that holds float32 numbers, little-endian.

    Args:
        value: what a JSON document has in the vector's place.
        where: what a message says of its place.

    Raises:
        MalformedVectors: it is neither; or empty, too long, not finite as float32, or all zero.

    """
    if isinstance(value, str):
        vector = _decoded(value, where)
    elif isinstance(value, list):
        vector = _listed(value, where)
    else:
        raise MalformedVectors(f"{where}: the vector is {_short(value)}, and no list of numbers")
    check_vector(vector, where)
    return vector


def check_width(width: int, where: str) -> None:
    """Refuse a vector of no number, or of too many."""
    if not width:
        raise MalformedVectors(f"{where}: the vector has no number in it")
    if width > DIMENSIONS_LIMIT:
        message = f"{where}: the vector has {width:,} numbers, and the limit is {DIMENSIONS_LIMIT:,}"
        raise MalformedVectors(message, dimensions=width, limit=DIMENSIONS_LIMIT)


def check_vector(vector: array[float], where: str) -> None:
    """Refuse a vector that has no direction: not finite, or all zero."""
    check_width(len(vector), where)
    length = math.hypot(*vector)
    if not math.isfinite(length):
        at = next(at for at, number in enumerate(vector) if not math.isfinite(number))
        raise MalformedVectors(f"{where}: number {at} of the vector is {_named(vector[at])}", number=at)
    if not length:
        raise MalformedVectors(f"{where}: all numbers of the vector are zero")


def _listed(value: list[Any], where: str) -> array[float]:
    check_width(len(value), where)
    if not _NUMBERS.issuperset(map(type, value)):
        at = next(at for at, number in enumerate(value) if type(number) not in _NUMBERS)
        raise MalformedVectors(f"{where}: number {at} of the vector is {_short(value[at])}", number=at)
    try:
        vector = array("f", value)
    except OverflowError:
        vector = array("f", [math.inf])
    if not math.isfinite(sum(vector)):
        for at, number in enumerate(value):
            _check_number(number, f"{where}: number {at} of the vector")
    return vector


def _check_number(number: float, what: str) -> None:
    """Refuse a number that is none, or that float32 cannot hold."""
    try:
        wide, narrow = float(number), array("f", [number])[0]
    except OverflowError:
        wide, narrow = 0.0, math.inf
    if math.isfinite(narrow):
        return
    if not math.isfinite(wide):
        raise MalformedVectors(f"{what} is {_named(wide)}")
    raise MalformedVectors(f"{what} is {_short(number)}, beyond what float32 holds")


def _decoded(value: str, where: str) -> array[float]:
    try:
        raw = binascii.a2b_base64(value.encode("ascii"), strict_mode=True)
    except (ValueError, UnicodeEncodeError) as error:
        raise MalformedVectors(f"{where}: the vector is a string, and no base64 ({error})") from error
    if len(raw) % _SIZE:
        raise MalformedVectors(f"{where}: the vector has {len(raw)} bytes, which are no whole float32 numbers")
    vector = array("f", raw)
    if sys.byteorder == "big":  # pragma: no cover - float32 little-endian is what is read
        vector.byteswap()
    return vector


def little(vector: array[float]) -> bytes:
    """The bytes of a vector as they are stored: little-endian."""
    if sys.byteorder == "big":  # pragma: no cover - this machine's numbers are the stored ones
        vector = vector[:]
        vector.byteswap()
    return vector.tobytes()


def _named(number: float) -> str:
    return "NaN" if math.isnan(number) else "infinite"


def _short(value: Any) -> str:  # noqa: ANN401 - any JSON value
    try:
        text = repr(value)
    except ValueError:  # an integer of more digits than Python prints
        return "a number of thousands of digits"
    return text if len(text) <= 40 else text[:37] + "..."  # noqa: PLR2004 - what fits into a message
