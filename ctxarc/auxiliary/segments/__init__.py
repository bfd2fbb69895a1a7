"""Segments: the schemes that cut turns, and the indexes that say where, a scheme beside the other.

The next scheme is one new file here and its line in :data:`SCHEMES`.
"""

from __future__ import annotations

from ctxarc.auxiliary.segments import boundary, changepoint, sized, structural, whole_turn
from ctxarc.auxiliary.segments.scheme import Scheme

__all__ = ["SCHEMES", "Scheme"]

SCHEMES: dict[str, Scheme] = {
    scheme.name: scheme
    for scheme in (boundary.SCHEME, changepoint.SCHEME, sized.SCHEME, structural.SCHEME, whole_turn.SCHEME)
}
"""Every scheme by its name; a name fixes the cuts of any turn for ever."""
