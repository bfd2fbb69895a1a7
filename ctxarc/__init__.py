"""ctxarc keeps every byte of an agent's transcript and hands any stretch of it back exactly.

The library's door is :func:`open_archive`; the command line is ``ctxarc`` (or ``python -m ctxarc``).
Importing this package loads nothing heavy: the library behind ``open_archive`` is loaded when it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ctxarc.operations.library import Archive, open_archive

__version__ = "0.1.0"
SCHEMA = 1
"""Version of the JSON contract: the value of ``schema`` in every object printed."""

__all__ = ["Archive", "__version__", "open_archive"]


def __getattr__(name: str) -> object:
    """Load the library at first use, so that ``ctxarc --help`` stays quick."""
    if name in {"Archive", "open_archive"}:
        from ctxarc.operations import library  # noqa: PLC0415 - the reason is the docstring

        return getattr(library, name)
    message = f"module 'ctxarc' has no attribute {name!r}"
    raise AttributeError(message)
