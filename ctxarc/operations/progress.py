"""How an operation tells how far it is."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, "int | None"], None]
"""Called with what is being done, the bytes done, and the bytes in all, or ``None`` where they are not known."""


def quiet(_what: str, _done: int, _total: int | None) -> None:
    """Tell nobody."""
