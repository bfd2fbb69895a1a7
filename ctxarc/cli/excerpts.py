"""An excerpt around a match, as a terminal shows it: one line that fits, the match in sight and marked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

from ctxarc.cli.output import Output, printable
from ctxarc.cli.terminal import cell_width

_BLANKS = re.compile(r"[ \t\r\n]+")
_LEAST = 16
_BEFORE = 60
"""Characters of an excerpt before its match, where the turn has so many."""

Span = tuple[int, int]


def marked(out: Output, text: str, spans: Sequence[Span], room: int) -> str:
    """``text`` as one line of at most ``room`` cells (16 at least), what lies in ``spans`` painted.

    Where the text is longer, it is cut so that the match stays in sight: of several, the one nearest to where a match
    begins in an excerpt.
    """
    room = max(room, _LEAST)
    main = min(spans, key=lambda span: abs(span[0] - _BEFORE), default=(0, 0))
    cells: list[tuple[str, bool]] = []
    start = at = 0
    for first, last, hit in _pieces(text, spans):
        if first == main[0] and hit:
            start = len(cells)
        shown = printable(_BLANKS.sub(" ", text[first:last]))
        cells += [(char, hit) for char in (shown.lstrip(" ") if at == 0 else shown)]
        at = last
    shown_cells = _window(cells, start, room)
    runs = ((hit, "".join(char for char, _ in run)) for hit, run in groupby(shown_cells, key=lambda cell: cell[1]))
    return "".join(out.paint(run, "red", bold=True) if hit else run for hit, run in runs).rstrip()


def _pieces(text: str, spans: Sequence[Span]) -> list[tuple[int, int, bool]]:
    """Start and end of each piece of ``text``, and whether it is a match."""
    found, at = [], 0
    for first, last in spans:
        found += [(at, first, False), (first, last, True)]
        at = last
    return [piece for piece in [*found, (at, len(text), False)] if piece[0] < piece[1]]


def _window(cells: list[tuple[str, bool]], start: int, room: int) -> list[tuple[str, bool]]:
    """The characters to show: all that fit, or as many from a third of ``room`` before ``start`` on."""
    widths = [cell_width(char) for char, _ in cells]
    if sum(widths) <= room:
        return cells
    first, before = start, 0
    while first and (before + widths[first - 1] <= room // 3 or sum(widths[first - 1 :]) < room):
        first -= 1
        before += widths[first]
    head = [("…", False)] if first else []
    if sum(widths[first:]) + len(head) <= room:
        return [*head, *cells[first:]]
    last, used = first, len(head) + 1
    while last < len(cells) and used + widths[last] <= room:
        used += widths[last]
        last += 1
    return [*head, *cells[first:last], ("…", False)]
