"""How well rankings answer questions: by places, by bytes, and within a number of returned bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctxarc.bench.questions import Question, Span

BUDGETS = (1000, 2000, 4000, 8000)
"""Bytes that are returned; measures of them compare schemes of different sizes."""
FIRST = 5
"""Hits that are looked at first."""
_BOOTSTRAP = 2000
_SEED = 1


class Place(NamedTuple):
    """A hit: bytes of a turn, its score, and the other places of the same text."""

    transcript: str
    turn: int
    start: int
    end: int
    score: float
    elsewhere: tuple[tuple[str, int, int, int], ...] = ()

    def overlaps(self, span: Span) -> bool:
        """Whether it, or another place of its text, has a byte of ``span``."""
        places = ((self.transcript, self.turn, self.start, self.end), *self.elsewhere)
        return any(each[:2] == span[:2] and each[2] < span.end and span.start < each[3] for each in places)


def rank_of(places: Sequence[Place], question: Question) -> int | None:
    """The rank of the first place that is right, from 1; ``None`` where none is."""
    for rank, place in enumerate(places, 1):
        if any(map(place.overlaps, question.spans)):
            return rank
    return None


def scores_of(places: Sequence[Place], question: Question) -> dict[str, float]:
    """The measures of one ranking, each between 0 and 1."""
    rank = rank_of(places, question)
    first = places[:FIRST]
    returned, hit, wanted = _bytes(first), _hit(first, question.spans), sum(s.end - s.start for s in question.spans)
    found = {
        "r_at_1": float(rank == 1),
        "r_at_5": float(rank is not None and rank <= FIRST),
        "mrr": 1 / rank if rank else 0.0,
        "span_recall": hit / wanted,
        "span_precision": hit / returned if returned else 0.0,
        "span_iou": hit / (returned + wanted - hit),
    }
    for budget in BUDGETS:
        found[f"recall_{budget}"] = _hit(_within(places, budget), question.spans) / wanted
    return found


def _within(places: Sequence[Place], budget: int) -> list[Place]:
    """The first places, the last of them cut, that have ``budget`` bytes."""
    kept = []
    for place in places:
        if budget <= 0:
            break
        kept.append(place._replace(end=min(place.end, place.start + budget)))
        budget -= place.end - place.start
    return kept


def _bytes(places: Sequence[Place]) -> int:
    return sum(place.end - place.start for place in places)


def _hit(places: Sequence[Place], spans: Sequence[Span]) -> int:
    """Bytes of the spans that lie in the places, each counted once."""
    total = 0
    for span in spans:
        covered: set[int] = set()
        for place in places:
            for transcript, turn, start, end in ((*place[:4],), *place.elsewhere):
                length = place.end - place.start
                stop = min(end, start + length)
                if (transcript, turn) == span[:2] and start < span.end and span.start < stop:
                    covered.update(range(max(start, span.start), min(stop, span.end)))
        total += len(covered)
    return total


def summary(each: Sequence[dict[str, float]], ranks: Sequence[int | None], numpy: Any) -> dict[str, Any]:  # noqa: ANN401
    """Means over questions, each with the middle 95 % of what other questions of the same kind would have given."""
    random = numpy.random.default_rng(_SEED)
    drawn = random.integers(0, len(each), (_BOOTSTRAP, len(each)))
    found: dict[str, Any] = {"questions": len(each)}
    for name in each[0]:
        values = numpy.array([scores[name] for scores in each])
        means = values[drawn].mean(axis=1)
        low, high = numpy.quantile(means, [0.025, 0.975])
        found[name] = {"mean": round(float(values.mean()), 4), "ci95": [round(float(low), 4), round(float(high), 4)]}
    known = sorted(rank for rank in ranks if rank is not None)
    middle = (len(ranks) - 1) // 2
    found["median_rank"] = known[middle] if middle < len(known) else None
    return found
