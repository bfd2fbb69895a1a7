"""An excerpt around a match, as a terminal shows it: one line that fits, the match in sight and marked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import groupby

from ctxarc.cli.output import Output, printable
from ctxarc.cli.terminal import cell_width
from ctxarc.errors import BadPattern, IoFailed, PatternTimeout
from ctxarc.operations.find import FindOptions
from ctxarc.operations.matching import Matcher, matcher

_BLANKS = re.compile(r"[ \t\r\n]+")
_LEAST = 16
_MARK_SECONDS = 1.0
"""Seconds that marking a match may take; the match itself has been found by then."""
_BEFORE = 60
"""Characters of an excerpt before its match, where the turn has so many."""

Span = tuple[int, int]


def marker(options: FindOptions) -> AbstractContextManager[Matcher | None]:
    """What finds the match again in an excerpt; None where a pattern is one of bytes alone, or is wrong."""
    try:
        return matcher(
            options.patterns,
            regex=options.regex,
            as_text=True,
            ignore_case=options.ignore_case,
            time_limit=_MARK_SECONDS,
        )
    except BadPattern:
        return nullcontext()


def spans(search: Matcher | None, text: str) -> list[tuple[int, int]]:
    """What matches in an excerpt; nothing where that cannot be told."""
    if search is None:
        return []
    try:
        return [(first, last) for _, first, last in search.spans([text.encode("utf-8", "surrogateescape")])]
    except (PatternTimeout, IoFailed, UnicodeError):
        return []


def marked(out: Output, text: str, places: Sequence[Span], room: int) -> str:
    """``text`` as one line of at most ``room`` cells (16 at least), what lies in ``places`` painted.

    Where the text is longer, it is cut so that the match stays in sight: of several, the one nearest to where a match
    begins in an excerpt.
    """
    room = max(room, _LEAST)
    main = min(places, key=lambda span: abs(span[0] - _BEFORE), default=(0, 0))
    cells: list[tuple[str, bool]] = []
    start = at = 0
    for first, last, hit in _pieces(text, places):
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
