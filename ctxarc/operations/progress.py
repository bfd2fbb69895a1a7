"""How an operation tells how far it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ctxarc.preservation.record import Turn

Progress = Callable[[str, int, "int | None"], None]
"""Called with what is being done, the bytes done, and the bytes in all, or ``None`` where they are not known."""


def quiet(_what: str, _done: int, _total: int | None) -> None:
    """Tell nobody."""


def told(turns: Iterable[Turn], progress: Progress, what: str) -> Iterator[Turn]:
    """``turns``, as they come; ``progress`` is told ``what`` is done, and the bytes of those that were taken."""
    done = 0
    for turn in turns:
        progress(what, done, None)
        yield turn
        done += turn.length
