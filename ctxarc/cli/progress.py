"""A line on a terminal's stderr that says how far an operation is; gone when the operation ends."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from typing import Self

from ctxarc.cli.output import Output, printable
from ctxarc.cli.terminal import fit, size

_QUIET_SECONDS = 0.5
_BETWEEN_SECONDS = 0.1
_ERASE = "\r\x1b[K"


class ProgressLine:
    """Called by an operation with what it does, bytes done and bytes in all (None where that is not known).

    Nothing is shown in the first half second, with ``--quiet``, or where stderr is no terminal.
    """

    def __init__(self, out: Output) -> None:
        self._shows = not out.quiet and sys.stderr is not None and sys.stderr.isatty()
        self._what = ""
        self._began = self._last = time.monotonic()
        self._drawn = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._drawn:
            self._draw("")

    def __call__(self, what: str, done: int, total: int | None) -> None:
        """Draw the line where it is due."""
        if not self._shows:
            return
        now = time.monotonic()
        if what != self._what:
            self._what, self._began = what, now if self._drawn else self._began
        if (now - self._began < _QUIET_SECONDS and not self._drawn) or now - self._last < _BETWEEN_SECONDS:
            return
        self._last = now
        self._draw(_describe(printable(what), done, total, now - self._began))

    def _draw(self, text: str) -> None:
        width = 80
        with contextlib.suppress(OSError, ValueError):
            width = os.get_terminal_size(sys.stderr.fileno()).columns or width
            sys.stderr.write(_ERASE + fit(text, width - 1))
            sys.stderr.flush()
        self._drawn = bool(text)


def _describe(what: str, done: int, total: int | None, seconds: float) -> str:
    rate = done / seconds if seconds > 0 else 0.0
    parts = [what, size(done) if total is None else f"{size(done)} of {size(total)}", f"{size(int(rate))}/s"]
    if total and rate:
        parts[2:2] = [f"{min(done / total, 1):.0%}"]
        left = round(max(total - done, 0) / rate)
        parts.append(f"{left // 60}:{left % 60:02d} left")
    return "  ".join(parts)
