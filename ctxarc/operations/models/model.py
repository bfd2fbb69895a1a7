"""What every model is to ``embed``, whichever way it is spoken to."""

from __future__ import annotations

import random
import time
from array import array
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, Protocol

TOO_LONG = "too long"
NO_VECTOR = "no vector"


class Text(NamedTuple):
    """A text to embed, what it is called, and what else an export's row says of it."""

    id: str
    text: str
    about: Mapping[str, object] = MappingProxyType({})


class Answer(NamedTuple):
    """What came of a text: its vector, or why it has none: ``TOO_LONG`` or ``NO_VECTOR``."""

    id: str
    vector: array[float] | None
    why: str = ""


Answers = Generator[Answer, None, None]
"""What comes of texts; to be closed by who does not take it to its end."""


class Told(NamedTuple):
    """What a model tells of itself.

    Attributes:
        model: its name.
        revision: the digest of its weights; ``None`` where it does not tell them.
        others: other fields of an identity that it states.

    """

    model: str
    revision: str | None
    others: Mapping[str, object] = MappingProxyType({})


class Model(Protocol):
    """A model of the user's.

    Attributes:
        address: what messages call it.
        calls: how often it was asked for vectors.
        sample: how many texts show how fast it is.
        start_seconds: how long it took to begin, the last time that it was asked.

    """

    address: str
    calls: int
    sample: int
    start_seconds: float

    def told(self) -> Told:
        """What it tells of itself now; asked anew each time.

        Raises:
            ServerUnreachable, ServerRefused, ProgramFailed: it cannot be asked.

        """

    def probe(self, texts: Sequence[Text], *, query: bool = False) -> tuple[Told, list[Answer]]:
        """What it tells of itself, and what comes of a few texts; the cheapest way to ask for both."""

    def answers(self, texts: Iterable[Text], *, query: bool = False) -> Answers:
        """What comes of each text, in any order, while texts are still taken.

        Raises:
            ServerUnreachable, ServerRefused, ProgramFailed: it fails; the answers so far are good.

        """

    def hurry(self) -> None:
        """Wait for nothing any more: the user wants an end."""

    def calls_for(self, texts: int) -> int:
        """How often it will be asked for that many."""


class Waits(NamedTuple):
    """Time and chance, as they are passed in.

    Attributes:
        clock: seconds that only grow.
        sleep: waits for that many seconds.
        chance: a number from 0 up to 1.
        now: seconds since 1970, in UTC.

    """

    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random
    now: Callable[[], float] = time.time
