"""What a graph over a conversation adds to its order: each kind of edge beside neighbours and beside random pairs.

The closeness of two turns is the cosine of their vectors from the mean of all of them, as ``address`` has it. Pairs at
the same distance as the edges stand beside random ones, since near turns are alike without any edge.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ctxarc.auxiliary.edges.joining import KINDS, Edge
from ctxarc.bench.subject import described, need_numpy, surroundings
from ctxarc.errors import Ambiguous, NoSuchVectors
from ctxarc.operations.corpora import pick
from ctxarc.operations.graph import derived
from ctxarc.operations.scope import WHOLE_TURNS
from ctxarc.operations.view import View
from ctxarc.preservation.record import Record

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ctxarc.preservation.record import State

RANDOM_PAIRS = 20_000
SEED = 1
_Pairs = list[tuple[int, int, int]]
"""Pairs of turns: the number of the transcript, and the turns."""


@dataclass
class Conversation:
    """A transcript: its turns by number, each with its object, and its edges."""

    objects: dict[int, int]
    edges: list[Edge]


def measure(archive: Path, *, fingerprint: str | None = None) -> dict[str, Any]:
    """Measure the edges of every transcript; nothing is written.

    Args:
        archive: the archive.
        fingerprint: first digits of the fingerprint of the vectors, where there are several for ``whole-turn-v1``.

    Returns:
        ``kinds``: a row a kind; ``all``: the same of all edges; ``baselines``: adjacent turns and random pairs;
        ``vectors``: whose they are, or ``not_measured`` with the reason.

    """
    with Record(archive) as record:
        view = View(record)
        conversations = [_conversation(record, state) for state in view.states()]
        vectors = _vectors(archive, record, fingerprint)
    closeness = Closeness(conversations, vectors["rows"]) if vectors["rows"] is not None else None
    by_kind = {kind: _pairs(conversations, kind) for kind in KINDS}
    joined = _distinct(pair for pairs in by_kind.values() for pair in pairs)
    adjacent = closeness.mean(_adjacent(conversations)) if closeness else None
    rows = [_row(kind, by_kind[kind], closeness, adjacent) for kind in KINDS]
    return {
        "kind": "ctxarc-bench-relations",
        **surroundings(),
        "source": described(archive),
        "vectors": vectors["said"],
        "kinds": rows,
        "all": _row("any", joined, closeness, adjacent),
        "baselines": _baselines(conversations, closeness),
        "seed": SEED,
    }


def _conversation(record: Record, state: State) -> Conversation:
    graph, turns = derived(record, state)
    return Conversation({turn.number: turn.object for turn in turns}, graph.edges)


def _vectors(archive: Path, record: Record, fingerprint: str | None) -> dict[str, Any]:
    """The row of each object that has a vector as a whole, centred and of length 1; or why there is none."""
    try:
        corpus = pick(archive, WHOLE_TURNS, fingerprint)
    except (NoSuchVectors, Ambiguous) as refusal:
        return {"rows": None, "said": {"not_measured": refusal.message, "hint": refusal.hint}}
    numpy = need_numpy()
    parts = [numpy.frombuffer(part.data, "<f4").reshape(-1, corpus.identity.dimensions) for part in corpus.parts]
    matrix = numpy.concatenate(parts).astype("f8")
    matrix -= matrix.mean(axis=0)
    lengths = numpy.sqrt((matrix * matrix).sum(axis=1))
    matrix /= numpy.where(lengths > 0, lengths, 1)[:, None]
    rows = {}
    for each in corpus.objects():
        if each.digest != record.objects.row(each.object).sha256:
            continue
        rows[each.object] = matrix[each.first_row]
    return {"rows": rows, "said": {**corpus.identity.as_json(), "rows": len(rows)}}


def _pairs(conversations: Sequence[Conversation], kind: str) -> _Pairs:
    edges = ((number, edge) for number, each in enumerate(conversations) for edge in each.edges if edge.kind == kind)
    return [(number, edge.source, edge.target) for number, edge in edges]


def _distinct(pairs: Any) -> _Pairs:  # noqa: ANN401 - any iterable of pairs
    return sorted({(number, max(one, other), min(one, other)) for number, one, other in pairs})


def _adjacent(conversations: Sequence[Conversation]) -> _Pairs:
    return [(number, turn + 1, turn) for number, each in enumerate(conversations) for turn in each.objects]


class Closeness:
    """Mean cosines of pairs of turns."""

    def __init__(self, conversations: Sequence[Conversation], rows: dict[int, Any]) -> None:
        self._numpy = need_numpy()
        self._rows = rows
        self._conversations = conversations
        self._random = self._numpy.random.default_rng(SEED)
        self._turns = [
            (number, [turn for turn, object_ in each.objects.items() if object_ in rows])
            for number, each in enumerate(conversations)
        ]

    def mean(self, pairs: _Pairs) -> dict[str, Any] | None:
        """The mean of the cosines of those ``pairs`` whose turns both have a vector, with its spread."""
        found = self._numpy.array([cosine for pair in pairs if (cosine := self._cosine(pair)) is not None])
        if not len(found):
            return None
        spread = float(found.std(ddof=1)) if len(found) > 1 else 0.0
        error = spread / len(found) ** 0.5
        mean = float(found.mean())
        interval = [round(mean - 1.96 * error, 4), round(mean + 1.96 * error, 4)]
        return {"pairs": len(found), "mean": round(mean, 4), "sd": round(spread, 4), "ci95": interval}

    def _cosine(self, pair: tuple[int, int, int]) -> float | None:
        objects = self._conversations[pair[0]].objects
        one, other = (self._rows.get(objects.get(turn, -1)) for turn in pair[1:])
        return None if one is None or other is None else float(one @ other)

    def random_pairs(self, least_gap: int) -> _Pairs:
        """Pairs of turns of one transcript, at least so far apart; a transcript has as many as its share of turns."""
        found: _Pairs = []
        total = sum(len(turns) for _, turns in self._turns)
        for number, turns in self._turns:
            if len(turns) > least_gap:
                count = RANDOM_PAIRS * len(turns) // total
                drawn = self._random.choice(turns, (count, 2))
                found += [(number, int(a), int(b)) for a, b in drawn if abs(int(a) - int(b)) >= least_gap]
        return found

    def at_the_same_distance(self, pairs: _Pairs) -> _Pairs:
        """For each pair, another of the same transcript that is as far apart."""
        found: _Pairs = []
        for number, one, other in pairs:
            gap = abs(one - other)
            turns = self._turns[number][1]
            if turns and turns[-1] - turns[0] >= gap:
                start = int(self._random.integers(turns[0], turns[-1] - gap + 1))
                found.append((number, start + gap, start))
        return found


def _row(kind: str, pairs: _Pairs, closeness: Closeness | None, adjacent: dict[str, Any] | None) -> dict[str, Any]:
    """The numbers of one kind of edges: how far they reach, and how close what they join is."""
    gaps = sorted(abs(one - other) for _, one, other in pairs)
    far = [pair for pair in pairs if abs(pair[1] - pair[2]) > 1]
    row: dict[str, Any] = {
        "kind": kind,
        "edges": len(pairs),
        "neighbours": len(pairs) - len(far),
        "share_of_neighbours": round(1 - len(far) / len(pairs), 4) if pairs else None,
        "beyond_neighbours": len(far),
        "median_reach": gaps[len(gaps) // 2] if gaps else None,
        "longest_reach": gaps[-1] if gaps else None,
        "reach": _histogram(gaps),
    }
    if closeness:
        row["cosine"] = closeness.mean(pairs)
        row["cosine_beyond_neighbours"] = closeness.mean(far)
        row["cosine_at_the_same_distance"] = closeness.mean(closeness.at_the_same_distance(far))
        row["ratio_to_adjacent"] = _ratio(row["cosine"], adjacent)
        row["ratio_to_adjacent_beyond_neighbours"] = _ratio(row["cosine_beyond_neighbours"], adjacent)
    return row


def _ratio(one: dict[str, Any] | None, other: dict[str, Any] | None) -> float | None:
    return round(one["mean"] / other["mean"], 3) if one and other and other["mean"] else None


def _histogram(gaps: Sequence[int]) -> list[dict[str, int]]:
    """How many edges reach 1, 2, 3 to 4, 5 to 8, ... turns."""
    found: dict[int, int] = {}
    for gap in gaps:
        found[(gap - 1).bit_length()] = found.get((gap - 1).bit_length(), 0) + 1
    return [
        {"from": (1 << bits - 1) + 1 if bits else 1, "to": 1 << bits, "edges": found.get(bits, 0)}
        for bits in range(max(found, default=-1) + 1)
    ]


def _baselines(conversations: Sequence[Conversation], closeness: Closeness | None) -> dict[str, Any] | None:
    if closeness is None:
        return None
    return {
        "adjacent": closeness.mean(_adjacent(conversations)),
        "random": closeness.mean(closeness.random_pairs(1)),
        "random_beyond_neighbours": closeness.mean(closeness.random_pairs(2)),
    }
