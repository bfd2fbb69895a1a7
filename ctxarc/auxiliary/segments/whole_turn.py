"""``whole-turn-v1``: a turn is a segment. The baseline that every other scheme has to beat."""

from __future__ import annotations

from ctxarc.auxiliary.segments.scheme import Scheme


def cut(turn: bytes) -> list[int]:
    """The end of the turn alone."""
    return [len(turn)]


SCHEME = Scheme("whole-turn-v1", "nothing is cut: the baseline", {}, cut)
