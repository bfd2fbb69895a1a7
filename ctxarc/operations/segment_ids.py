"""Ids of segments: citations of their bytes, and so valid wherever those are held."""

from __future__ import annotations


def segment_id(digest: str, start: int, end: int) -> str:
    """The id of the segment ``start`` to ``end`` of the turn with ``digest``, in hex."""
    return f"ctxa:{digest[:32]}:{start}-{end}"
