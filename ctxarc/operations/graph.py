"""The graph of a transcript: what its turns state, joined, and each statement looked up again in the turn itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxarc.auxiliary.edges.joining import Graph, join
from ctxarc.auxiliary.edges.statements import Stated, stated
from ctxarc.errors import IndexMismatch, NoSuchRelations

if TYPE_CHECKING:
    from ctxarc.auxiliary.edges.index import Edges
    from ctxarc.preservation.record import Record, State, Turn


def check_related(edges: Edges, record: Record) -> None:
    """Refuse an archive whose relations were never derived; one without a turn has none to derive.

    Raises:
        NoSuchRelations: it is one.

    """
    if not edges.parts and record.head.objects:
        raise NoSuchRelations(f"{record.path}: the relations between its turns were not derived", derived=[])


def graph_of(record: Record, edges: Edges, state: State) -> tuple[Graph, dict[int, int]]:
    """The edges of a transcript, and the objects of its turns that they were derived from, by turn.

    Raises:
        IndexMismatch: what was derived is of other bytes.

    """
    found, objects = [], {}
    for turn in record.turns(state):
        statements = edges.statements(turn.object, turn.digest)
        if statements is not None:
            objects[turn.number] = turn.object
            found.append((turn.number, statements))
    return join(found, state.turns), objects


def derived(record: Record, state: State) -> tuple[Graph, list[Turn]]:
    """The edges of a transcript, derived from its turns whether or not relations were, and those turns.

    Raises:
        DigestMismatch: the bytes of a turn are not those that were captured.

    """
    turns = list(record.turns(state))
    found = [(turn.number, stated(bytes(record.turn_bytes(turn.object))).statements) for turn in turns]
    return join(found, state.turns), turns


def stated_at(record: Record, edges: Edges, number: int) -> Stated:
    """What an object states, derived anew from its proved bytes and compared with what was written of it.

    Raises:
        IndexMismatch: it states something else.

    """
    found = stated(bytes(record.turn_bytes(number)))
    if found.statements != edges.statements(number, record.objects.row(number).sha256):
        part = edges.part_of(number)
        label = part.label if part else ""
        message = f"{label}: object {number} states something else than what is written of it"
        raise IndexMismatch(message, hint=edges.remedy, path=label, object=number)
    return found
