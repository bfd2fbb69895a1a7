"""The note that says what an answer could not cover, since it was left out when it was captured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ctxarc.cli.output import Output
from ctxarc.operations.ls import incomplete


def note_incomplete(out: Output, archive: Path, names: Sequence[str] = (), *, at: int | None = None) -> None:
    """Say on stderr which of the transcripts ``names``, or of all, are incomplete, and what was left out."""
    for state in incomplete(archive, names, at=at):
        ranges = ", ".join(f"{gap.start_byte:,} to {gap.end_byte:,}" for gap in state.omitted)
        out.note(f"{state.transcript} is incomplete: bytes {ranges} of its source were left out when it was captured")
