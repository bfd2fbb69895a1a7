"""What a scheme is: a name with its version, the numbers it works with, and a function that cuts a turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Scheme(NamedTuple):
    """A way to cut turns.

    Attributes:
        name: its name with its version, for ever the same as its cuts.
        about: what it does, in a few words.
        parameters: the numbers that it works with, in bytes unless their name says otherwise.
        cut: gives the ends of a turn's segments, in order, from the bytes of the turn; the last end is the turn's.

    """

    name: str
    about: str
    parameters: dict[str, int]
    cut: Callable[[bytes], list[int]]
