"""Joining what turns state into edges: an edge is two turns that state the same id or path, and carries no weight.

Nothing is guessed: an id that several turns bear names none of them, and what refers to it is counted.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from ctxarc.auxiliary.edges.statements import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ctxarc.auxiliary.edges.statements import Statement

REPLIES_TO, TOOL_RESULT_OF, MENTIONS_PATH = "replies-to", "tool-result-of", "mentions-path"
KINDS = (REPLIES_TO, TOOL_RESULT_OF, MENTIONS_PATH)
NOT_DERIVABLE = ("supersedes", "supports", "contradicts")
"""Kinds that are judgements on what is said: no record states them, so that they are never derived."""
COMMON_TURNS = 40
COMMON_SHARE = 100
"""A path in more than 40 turns, and in more than one in 100, is what the conversation is about: it joins no two."""


class Edge(NamedTuple):
    """An edge between two turns.

    Attributes:
        kind: one of KINDS.
        source, target: numbers of turns: the reply and its parent, the result and its call, the later mention and the
            one before it.
        basis: what both state: the places of the statements among those of the source and of the target.

    """

    kind: str
    source: int
    target: int
    basis: tuple[tuple[int, int], ...]


class Common(NamedTuple):
    """A path that is in too many turns to join any: in how many, and the first of them with its statement's place."""

    turns: int
    first_turn: int
    place: int


@dataclass
class Problems:
    """What could not be joined, or is odd; each is a count.

    Attributes:
        ids_not_strings: ids that are no strings, or empty.
        duplicate_ids: ids that several turns bear; they name none.
        ambiguous: references to such an id, which make no edge.
        missing_parents: parents that no turn bears the id of.
        missing_calls: results whose call no turn makes.
        own_parents: turns that are their own parent.
        later_targets: edges from a turn to a later one.
        turns_in_cycles: turns that come back to themselves from parent to parent.

    """

    ids_not_strings: int = 0
    duplicate_ids: int = 0
    ambiguous: int = 0
    missing_parents: int = 0
    missing_calls: int = 0
    own_parents: int = 0
    later_targets: int = 0
    turns_in_cycles: int = 0

    def add(self, other: Problems) -> None:
        """Count those of another transcript too."""
        for name in vars(self):
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass
class Graph:
    """The edges of a transcript, in order of source, target and kind, and what could not be joined."""

    edges: list[Edge] = field(default_factory=list)
    problems: Problems = field(default_factory=Problems)
    common: list[Common] = field(default_factory=list)


_Place = tuple[int, int]
"""A turn, and the place of a statement among its."""
_Basis = dict[tuple[int, int, str], list[tuple[int, int]]]


def join(turns: Iterable[tuple[int, Sequence[Statement]]], total: int) -> Graph:
    """Join what the turns of a transcript state.

    Args:
        turns: the number of each turn, ascending, and what it states.
        total: how many turns there are, from which it follows which paths are in too many.

    """
    by_kind: dict[int, dict[int, list[_Place]]] = {kind: defaultdict(list) for kind in Kind}
    for turn, statements in turns:
        for place, each in enumerate(statements):
            by_kind[each.kind][each.name].append((turn, place))
    graph = Graph()
    graph.problems.ids_not_strings = sum(map(len, by_kind[Kind.ODD].values()))
    found: _Basis = defaultdict(list)
    names, calls = (_borne(by_kind[kind], graph.problems) for kind in (Kind.NAME, Kind.CALL))
    _refer(REPLIES_TO, by_kind[Kind.PARENT], names, graph.problems, found)
    _refer(TOOL_RESULT_OF, by_kind[Kind.RESULT], calls, graph.problems, found)
    graph.problems.turns_in_cycles = _cycles({key[0]: key[1] for key in found if key[2] == REPLIES_TO})
    _chain(by_kind[Kind.PATH], max(COMMON_TURNS, total // COMMON_SHARE), graph, found)
    order = {kind: number for number, kind in enumerate(KINDS)}
    keys = sorted(found, key=lambda key: (key[0], key[1], order[key[2]]))
    graph.edges = [Edge(key[2], key[0], key[1], tuple(found[key])) for key in keys]
    graph.problems.later_targets = sum(edge.target > edge.source for edge in graph.edges)
    return graph


def _borne(ids: dict[int, list[_Place]], problems: Problems) -> dict[int, _Place | None]:
    """The turn that bears each id; ``None`` where several do."""
    found: dict[int, _Place | None] = {}
    for name, places in ids.items():
        alone = all(turn == places[0][0] for turn, _ in places)
        problems.duplicate_ids += not alone
        found[name] = places[0] if alone else None
    return found


def _refer(
    kind: str,
    references: dict[int, list[_Place]],
    borne: dict[int, _Place | None],
    problems: Problems,
    found: _Basis,
) -> None:
    """Join the turns that refer to an id with the one that bears it."""
    for name, places in references.items():
        target = borne.get(name)
        if target is None:
            if name in borne:
                problems.ambiguous += len(places)
            elif kind == REPLIES_TO:
                problems.missing_parents += len(places)
            else:
                problems.missing_calls += len(places)
            continue
        for turn, place in places:
            if turn != target[0]:
                found[turn, target[0], kind].append((place, target[1]))
            elif kind == REPLIES_TO:
                problems.own_parents += 1


def _chain(paths: dict[int, list[_Place]], limit: int, graph: Graph, found: _Basis) -> None:
    """Join each mention of a path with the one before it, but those of paths in too many turns."""
    for places in paths.values():
        if len(places) > limit:
            graph.common.append(Common(len(places), *places[0]))
            continue
        for (earlier, target), (later, source) in pairwise(places):
            found[later, earlier, MENTIONS_PATH].append((source, target))
    graph.common.sort(key=lambda each: (-each.turns, each.first_turn, each.place))


def _cycles(parents: dict[int, int]) -> int:
    """How many turns come back to themselves; each has one parent at most."""
    seen: dict[int, int] = {}
    count = 0
    for start in parents:
        path = []
        at: int | None = start
        while at is not None and at not in seen:
            seen[at] = start
            path.append(at)
            at = parents.get(at)
        if at is not None and seen[at] == start:
            count += len(path) - path.index(at)
    return count
