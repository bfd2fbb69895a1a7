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
from ctxarc.model import ByteRange

_WIDE = {"W": 2, "F": 2}
_NO_WIDTH = {"Mn", "Me", "Cf"}
_ELLIPSIS = "…"
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d(?::\d\d)?)")
_KIB = 1024
_SESSION_ID = 36
_LEAST_LAST = 8
_RANGES_SHOWN = 3


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


def shorten(text: str, cells: int | None) -> str:
    """``text`` cut in its middle to that many cells: the beginning of a name finds it, the end tells it from others."""
    if cells is None or cell_width(text) <= cells:
        return text
    behind, used = "", 0
    for char in reversed(text):
        used += _cells(char)
        if used > cells // 3:
            break
        behind = char + behind
    return fit(text, cells - cell_width(behind)) + behind


def name_room(out: Output) -> int | None:
    """Cells that names may take in a table: a session's id fits, or two fifths of the terminal; None is no limit."""
    width = columns(out)
    return None if width is None else max(_SESSION_ID, 2 * width // 5)


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
    last = len(head) - 1
    left = columns(out)
    if left is not None:
        widths[last] = min(widths[last], max(left - sum(widths[:last]) - 2 * last, _LEAST_LAST))
    for number, line in enumerate(lines):
        cells = [*line[:last], fit(line[last], widths[last])]
        text = "  ".join(pad(cell, widths[at], right=at in right) for at, cell in enumerate(cells)).rstrip()
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


def gap_words(omitted: Sequence[ByteRange]) -> str:
    """Which bytes of a source are not held, and how much that is."""
    ranges = [f"{gap.start_byte:,} to {gap.end_byte:,}" for gap in omitted[:_RANGES_SHOWN]]
    if len(omitted) > _RANGES_SHOWN:
        ranges.append(f"{plural(len(omitted) - _RANGES_SHOWN, 'more range')}")
    total = size(sum(gap.end_byte - gap.start_byte for gap in omitted))
    return f"bytes {', '.join(ranges)} of the source were left out ({total})"
