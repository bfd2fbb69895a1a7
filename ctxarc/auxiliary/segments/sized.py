"""``sized-900-v1``: a cut about every 900 bytes, at a border of the document where one is near. The control."""

from __future__ import annotations

from bisect import bisect_left

from ctxarc.auxiliary.segments.document import next_border
from ctxarc.auxiliary.segments.places import safe
from ctxarc.auxiliary.segments.units import LEAST, scheme_in_units

_TARGET = 900
_NEAR = 300
"""Bytes between a cut and the border that it is moved to, at most."""


def _places(turn: bytes, start: int, end: int) -> list[int]:
    places = []
    at = start
    borders: list[int] = []
    while border := next_border(turn, borders[-1] if borders else start, end - LEAST, start):
        borders.append(border.end())
    while end - at >= _TARGET + LEAST:
        aim = at + _TARGET
        index = bisect_left(borders, aim)
        near = [border for border in borders[max(index - 1, 0) : index + 1] if abs(border - aim) <= _NEAR]
        if len(near) == 2 and aim - near[0] > near[1] - aim:  # noqa: PLR2004 - the one before and the one behind
            near.reverse()
        at = safe(turn, near[0] if near else aim, at)
        places.append(at)
    return places


SCHEME = scheme_in_units(
    "sized-900-v1",
    "about every 900 bytes: the control",
    {"target_bytes": _TARGET, "near_bytes": _NEAR, "least_bytes": LEAST},
    _places,
)
