"""``changepoint-v1``: cut where the vocabulary changes, judged without a model.

Words are counted in steps of twelve. Between two steps the words of the two before are compared with those of the two
behind, as sets; where fewer than 22.5 % of all are in both, there is a cut, if the one before is far enough.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ctxarc.auxiliary.segments.places import safe
from ctxarc.auxiliary.segments.units import LEAST, scheme_in_units
from ctxarc.auxiliary.segments.vocabulary import blanked

_STEP = 12
"""Words of a step."""
_SHARED = 0.225
"""Share of the words of both sides that are in both, below which there is a cut."""
_PIECE = 1 << 20
"""Bytes that are looked at together."""
_STEPS = re.compile(rb" *+(?:[^ ]++ ++){%d}" % _STEP)
_AROUND = 2
"""Steps on each side that are compared."""
_COMPARED = _AROUND * _STEP
_REPEATED = 1 << 16
"""Bytes of the longest text whose places are kept: clients write most of what a tool says twice, close together."""


def _places(turn: bytes, start: int, end: int) -> list[int]:
    if end - start > _REPEATED:
        return _found(turn, start, end)
    return [start + place for place in _of_text(turn[start:end])]


@lru_cache(maxsize=64)
def _of_text(text: bytes) -> list[int]:
    return _found(text, 0, len(text))


def _found(turn: bytes, start: int, end: int) -> list[int]:
    places: list[int] = []
    at, last = start, start
    while end - at >= LEAST:
        stop = safe(turn, at + _PIECE, at) if end - at > _PIECE else end
        text = blanked(turn[at:stop])
        steps, words = _steps(text), text.split()
        for index in range(_AROUND, len(steps) - _AROUND):
            place = at + steps[index]
            if place - last < LEAST or end - place < LEAST:
                continue
            word = index * _STEP
            before, behind = set(words[word - _COMPARED : word]), set(words[word : word + _COMPARED])
            both = len(before & behind)
            if both < _SHARED * (len(before) + len(behind) - both):
                last = safe(turn, place, last)
                places.append(last)
        if stop == end:
            break
        # The next piece begins with the steps that the next place is compared with.
        at += steps[-2 * _AROUND] if len(steps) > 2 * _AROUND else steps[-1] or len(text)
    return places


def _steps(text: bytes) -> list[int]:
    """Where the first step begins, and where each step ends."""
    steps = [0]
    while step := _STEPS.match(text, steps[-1]):
        steps.append(step.end())
    return steps


SCHEME = scheme_in_units(
    "changepoint-v1",
    "where the vocabulary changes, judged without a model",
    {"step_words": _STEP, "shared_permille": round(1000 * _SHARED), "least_bytes": LEAST},
    _places,
)
