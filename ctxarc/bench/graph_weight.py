"""Whether edges help to find answers: a bonus for turns that are one edge from the first hits, over a grid.

For a bonus B and a number N, every turn one edge from a turn of the first N hits has B times the best score added to
the scores of its hits; one that is no hit becomes one, whole, with the bonus as its score. With B = 0 nothing is
added to any, so that the ranking is what it is without a graph: the control.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from ctxarc.auxiliary.edges.joining import KINDS
from ctxarc.bench.scores import FIRST, Place, rank_of, scores_of, summary
from ctxarc.operations.graph import derived
from ctxarc.operations.view import View
from ctxarc.preservation.record import Record

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ctxarc.bench.questions import Question

BONUSES = (0.0, 0.05, 0.1, 0.2, 0.4)
FIRST_HITS = (1, 3, 5)
_Turn = tuple[str, int]


class Neighbours:
    """The turns one edge from each turn, by kinds of edges, and how long each turn is."""

    def __init__(self, archive: Path) -> None:
        self.by_kind: dict[str, dict[_Turn, set[_Turn]]] = {kind: defaultdict(set) for kind in KINDS}
        self.lengths: dict[_Turn, int] = {}
        with Record(archive) as record:
            for state in View(record).states():
                name = state.name.decode()
                graph, turns = derived(record, state)
                self.lengths |= {(name, turn.number): turn.length for turn in turns}
                for edge in graph.edges:
                    ends = (name, edge.source), (name, edge.target)
                    self.by_kind[edge.kind][ends[0]].add(ends[1])
                    self.by_kind[edge.kind][ends[1]].add(ends[0])

    def of(self, turn: _Turn, kinds: Sequence[str]) -> set[_Turn]:
        """The turns one edge of those ``kinds`` from ``turn``."""
        return set().union(*(self.by_kind[kind].get(turn, ()) for kind in kinds))


def weighted(
    places: Sequence[Place], neighbours: Neighbours, kinds: Sequence[str], bonus: float, first: int
) -> list[Place]:
    """A ranking with the bonus; equal scores stay in the order that they had."""
    if not places or not bonus:
        return list(places)
    near: set[_Turn] = set()
    for place in places[:first]:
        near |= neighbours.of(place[:2], kinds)
    more = bonus * max(place.score for place in places)
    found = [place._replace(score=place.score + more) if place[:2] in near else place for place in places]
    there = {place[:2] for place in places}
    for name, turn in sorted(near - there):
        found.append(Place(name, turn, 0, neighbours.lengths[name, turn], more))
    return sorted(found, key=lambda place: -place.score)


def grid(
    rankings: Sequence[Sequence[Place]],
    questions: Sequence[Question],
    neighbours: Neighbours,
    numpy: Any,  # noqa: ANN401 - the module
) -> list[dict[str, Any]]:
    """A row for each set of kinds, bonus and number of first hits: the measures, and what moved against the control."""
    before = [rank_of(places, question) for places, question in zip(rankings, questions, strict=True)]
    rows: list[dict[str, Any]] = []
    sets = [KINDS, *((kind,) for kind in KINDS)]
    cells = [(kinds, bonus, first) for bonus in BONUSES for kinds in sets for first in FIRST_HITS]
    for kinds, bonus, first in cells:
        if not bonus and (kinds, first) != (KINDS, FIRST_HITS[0]):
            continue  # the control is one row
        moved = [weighted(places, neighbours, kinds, bonus, first) for places in rankings]
        after = [rank_of(places, question) for places, question in zip(moved, questions, strict=True)]
        each = [scores_of(places, question) for places, question in zip(moved, questions, strict=True)]
        rows.append(
            {
                "kinds": list(kinds),
                "bonus": bonus,
                "first_hits": first,
                "control": not bonus,
                "same_as_without": all(list(a) == list(b) for a, b in zip(rankings, moved, strict=True)),
                **summary(each, after, numpy),
                **_moves(questions, before, after),
            }
        )
    return rows


def _moves(questions: Sequence[Question], before: Sequence[int | None], after: Sequence[int | None]) -> dict[str, Any]:
    beyond = float("inf")
    pairs = [(one or beyond, other or beyond) for one, other in zip(before, after, strict=True)]
    changes = [
        (other < one, {"id": question.id, "before": was, "after": now})
        for question, (one, other), was, now in zip(questions, pairs, before, after, strict=True)
        if one != other
    ]
    return {
        "moved_up": [each for better, each in changes if better],
        "moved_down": [each for better, each in changes if not better],
        "left_the_first_five": sum(one <= FIRST < other for one, other in pairs),
        "came_into_the_first_five": sum(other <= FIRST < one for one, other in pairs),
        "smallest_step": round(1 / len(questions), 4),
    }
