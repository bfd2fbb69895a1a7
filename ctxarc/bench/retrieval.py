"""Does a scheme help? Labelled questions put to the whole record, for each scheme and channel; and with edges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ctxarc.auxiliary.segments.index import built
from ctxarc.bench.graph_weight import Neighbours, grid
from ctxarc.bench.scores import Place, rank_of, scores_of, summary
from ctxarc.bench.subject import described, need_numpy, surroundings
from ctxarc.errors import BadUsage, IndexMismatch
from ctxarc.operations.address import LEXICAL, AddressOptions, address
from ctxarc.operations.scope import WHOLE_TURNS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from ctxarc.bench.questions import Question
    from ctxarc.model import AddressResult

DEPTH = 50
"""Hits that are looked at for each question."""


def measure(
    archive: Path,
    questions: Sequence[Question],
    *,
    schemes: Sequence[str] = (),
    graph: bool = False,
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Put the questions to each scheme that has an index; nothing is written.

    Args:
        archive: the archive.
        questions: with their spans.
        schemes: those that are asked; all that have an index, else whole turns.
        graph: whether each ranking is measured with edges too.
        tell: told what is being asked.

    """
    numpy = need_numpy()
    chosen = list(schemes) or built(archive) or [WHOLE_TURNS]
    neighbours = Neighbours(archive) if graph else None
    before = described(archive)
    rows = []
    for scheme in chosen:
        tell(f"{scheme}, by words")
        rankings = [_ranked(archive, question, scheme) for question in questions]
        each = [scores_of(places, question) for places, question in zip(rankings, questions, strict=True)]
        ranks = [rank_of(places, question) for places, question in zip(rankings, questions, strict=True)]
        row: dict[str, Any] = {"scheme": scheme, "channel": LEXICAL, **summary(each, ranks, numpy)}
        if neighbours:
            row["graph"] = grid(rankings, questions, neighbours, numpy)
        rows.append(row)
    after = described(archive)
    if after != before:
        raise IndexMismatch(f"{archive}: the record changed while questions were put to it")
    return {
        "kind": "ctxarc-bench-retrieval",
        **surroundings(),
        "source": before,
        "digest_after": after["archive_digest"],
        "questions": len(questions),
        "depth": DEPTH,
        "rows": rows,
    }


def _ranked(archive: Path, question: Question, scheme: str) -> list[Place]:
    there = scheme in built(archive)
    if not there and scheme != WHOLE_TURNS:
        raise BadUsage(f"{archive} has no index of {scheme}", hint=f"ctxarc segment ARCHIVE --scheme {scheme}")
    options = AddressOptions(question=question.text, scheme=scheme if there else None, limit=DEPTH)
    return places_of(next(address(archive, options)))


def places_of(result: AddressResult) -> list[Place]:
    """The hits of an answer."""
    return [
        Place(
            hit.transcript,
            hit.turn,
            hit.start_byte,
            hit.end_byte,
            hit.score,
            tuple((also.transcript, also.turn, also.start_byte, also.end_byte) for also in hit.also_at),
        )
        for hit in result.hits
    ]
