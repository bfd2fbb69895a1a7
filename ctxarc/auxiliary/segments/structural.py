"""``structural-v1``: cut where the document says so, at headings, blank lines, code fences and list items."""

from __future__ import annotations

from ctxarc.auxiliary.segments.document import next_border
from ctxarc.auxiliary.segments.units import LEAST, scheme_in_units


def _places(turn: bytes, start: int, end: int) -> list[int]:
    """The first border at least LEAST bytes behind the one before, and so on."""
    places = []
    at = start
    while border := next_border(turn, at + LEAST - 2, end - LEAST, at):
        at = border.end()
        places.append(at)
    return places


SCHEME = scheme_in_units(
    "structural-v1", "at headings, blank lines, code fences and list items", {"least_bytes": LEAST}, _places
)
