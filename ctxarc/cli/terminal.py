"""How things are laid out for people: widths in terminal cells, columns, sizes and times.

Everything returned is made of :func:`~ctxarc.cli.output.printable` text. Where stdout is no terminal nothing is cut.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import unicodedata
from collections.abc import Iterable, Sequence

from ctxarc.cli.output import Output, printable

_WIDE = {"W": 2, "F": 2}
_NO_WIDTH = {"Mn", "Me", "Cf"}
_ELLIPSIS = "…"
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d(?::\d\d)?)")
_KIB = 1024


def cell_width(text: str) -> int:
    """How many cells ``text`` takes on a terminal: East Asian wide characters take two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(_cells(char) for char in text)


def _cells(char: str) -> int:
    if unicodedata.category(char) in _NO_WIDTH:
        return 0
    return _WIDE.get(unicodedata.east_asian_width(char), 1)


def fit(text: str, cells: int | None) -> str:
    """``text`` cut to that many cells, the last of which says that it was cut; None is no limit."""
    if cells is None or cell_width(text) <= cells:
        return text
    kept, used = [], 0
    for char in text:
        used += _cells(char)
        if used > cells - 1:
            break
        kept.append(char)
    return "".join(kept) + _ELLIPSIS if cells > 0 else ""


def pad(text: str, cells: int, *, right: bool = False) -> str:
    """``text`` filled with blanks to that many cells, to its left where it is to stand ``right``."""
    blanks = " " * (cells - cell_width(text))
    return blanks + text if right else text + blanks


def columns(out: Output) -> int | None:
    """The width of the terminal that is stdout, as ``COLUMNS`` or the terminal says; None where it is none."""
    if not out.terminal:
        return None
    stated = os.environ.get("COLUMNS", "")
    if stated.isdecimal() and int(stated) > 0:
        return int(stated)
    with contextlib.suppress(OSError, ValueError):
        return os.get_terminal_size(sys.stdout.fileno()).columns or 80
    return 80


def table(
    out: Output, head: Sequence[str], rows: Iterable[Sequence[str]], *, right: frozenset[int] = frozenset()
) -> None:
    """Print rows under a dim head, each column as wide as its widest cell, the last one fitted to the terminal.

    ``right`` holds the numbers of the columns whose cells stand at the right.
    """
    lines = [head, *rows]
    widths = [max(cell_width(line[at]) for line in lines) for at in range(len(head))]
    left = columns(out)
    for number, line in enumerate(lines):
        cells = [pad(cell, widths[at], right=at in right) for at, cell in enumerate(line[:-1])]
        start = "  ".join(cells)
        room = None if left is None else max(left - cell_width(start) - 2, 8)
        text = f"{start}  {fit(line[-1], room)}".rstrip()
        out.line(text if number else out.paint(text, dim=True))


def size(count: int) -> str:
    """A number of bytes in three digits or so: ``17 B``, ``1.2 KiB``, ``16.6 MiB``."""
    if count < _KIB:
        return f"{count} B"
    value = float(count)
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        value /= _KIB
        if value < 999.5 or unit == "TiB":  # noqa: PLR2004 - what rounds to four digits takes the next unit
            break
    return f"{value:.1f} {unit}" if value < 99.95 else f"{value:.0f} {unit}"  # noqa: PLR2004 - the same


def plural(count: int, noun: str) -> str:
    """``1 turn``, ``3,551 turns``."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def when(time: str | None) -> str:
    """An ISO 8601 time in UTC as people write it, without its fraction; as it stands where it is none."""
    if not time:
        return ""
    match = _TIME.match(time)
    return f"{match[1]} {match[2]}" if match else printable(time)
