"""``relations``: the edges of a turn or of a transcript, with what both turns state and where they state it."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

from ctxarc.auxiliary.edges.index import Edges
from ctxarc.auxiliary.edges.joining import KINDS, MENTIONS_PATH, Edge
from ctxarc.auxiliary.records import excerpt, read_record
from ctxarc.errors import BadUsage, NoSuchTurn
from ctxarc.model import Basis, BasisPlace, Neighbour, Relation, RelationsResult
from ctxarc.operations.addresses import Piece, resolve
from ctxarc.operations.graph import check_related, graph_of, stated_at
from ctxarc.operations.indexes import check_fit
from ctxarc.operations.view import View
from ctxarc.preservation.record import Record

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ctxarc.preservation.record import State


def relations(
    archive: Path, address: str | None = None, *, kinds: Sequence[str] = (), at: int | None = None
) -> RelationsResult:
    """The edges of a turn; of a range, those whose basis is in it; of a transcript, all.

    Every basis is looked up anew in the proved bytes of both turns.

    Args:
        archive: the archive.
        address: the turn, range or transcript; the only transcript where there is none.
        kinds: the kinds of edges that are meant; all where there are none.
        at: the capture after which the archive is looked at.

    Raises:
        NoSuchRelations: relations were not derived.
        IndexMismatch: they are of other bytes, or are not what the turns state.
        BadUsage: no such kind.
        NoSuchTurn: the turn is of an earlier state than the one that is looked at.

    """
    for kind in kinds:
        if kind not in KINDS:
            raise BadUsage(f"{kind!r} is no kind of edge; there are {', '.join(KINDS)}", kind=kind, kinds=list(KINDS))
    with Record(archive) as record:
        view, edges = View(record, at), Edges(archive)
        item = resolve(view, address) if address is not None else view.pick(None)
        check_related(edges, record)
        check_fit(record, edges)
        piece, state = (item, _state_of(view, item)) if isinstance(item, Piece) else (None, item)
        graph, objects = graph_of(record, edges, state)
        chosen = [edge for edge in graph.edges if not kinds or edge.kind in kinds]
        if piece:
            chosen = [edge for edge in chosen if piece.turn in (edge.source, edge.target)]
        found = _Reader(record, edges, objects).relations(chosen, piece)
        counts = Counter(each.kind for each in found)
        return RelationsResult(
            archive=str(archive),
            archive_digest=record.head.root.hex(),
            transcript=state.name.decode(),
            turn=piece.turn if piece else None,
            turn_sha256=piece.digest.hex() if piece else None,
            turns=state.turns,
            coverage=_share(len(objects), sum(run.turns for run in state.runs if run.first >= 0)),
            by_kind={kind: counts[kind] for kind in KINDS},
            complete=state.complete,
            omitted=view.omitted(state),
            relations=tuple(found),
        )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def _state_of(view: View, piece: Piece) -> State:
    """The state that a turn is looked at in.

    Raises:
        NoSuchTurn: the turn is not one of it: a longer line or a new history took its place.

    """
    state = view.pick(piece.transcript)
    if piece.turn >= state.turns or view.record.object_of(state, piece.turn) != piece.object:
        message = f"turn {piece.turn} of {piece.transcript} was another one before, and the one that is meant"
        hint = "--at CAPTURE looks at the state that it was in"
        raise NoSuchTurn(message, hint=hint, transcript=piece.transcript, turn=piece.turn)
    return state


class _Reader:
    """Makes rows of edges, with what the turns of a transcript state."""

    def __init__(self, record: Record, edges: Edges, objects: dict[int, int]) -> None:
        self._record = record
        self._objects = objects
        self._stated = cache(lambda turn: stated_at(record, edges, objects[turn]))

    def relations(self, edges: Sequence[Edge], piece: Piece | None) -> list[Relation]:
        """The rows of ``edges``; with a piece, those whose basis touches it, each with the turn at its other end."""
        found = []
        for edge in edges:
            basis = tuple(self._basis(edge, *places) for places in edge.basis)
            if piece is None:
                found.append(self._relation(edge, basis, None))
                continue
            mine = [each.from_ if edge.source == piece.turn else each.to for each in basis]
            if any(place.start_byte < piece.end and piece.start < place.end_byte for place in mine):
                other = edge.target if edge.source == piece.turn else edge.source
                found.append(self._relation(edge, basis, self._neighbour(other)))
        return found

    def _relation(self, edge: Edge, basis: tuple[Basis, ...], neighbour: Neighbour | None) -> Relation:
        source, target = self._digest(edge.source), self._digest(edge.target)
        return Relation(
            edge.kind, edge.source, edge.target, source, target, basis, digest_verified=True, neighbour=neighbour
        )

    def _basis(self, edge: Edge, source: int, target: int) -> Basis:
        text = self._stated(edge.source).texts[source]
        is_path = edge.kind == MENTIONS_PATH
        places = self._place(edge.source, source), self._place(edge.target, target)
        return Basis(None if is_path else text, text if is_path else None, *places)

    def _place(self, turn: int, place: int) -> BasisPlace:
        each = self._stated(turn).statements[place]
        return BasisPlace(each.start, each.end, f"ctxa:{self._digest(turn)}:{each.start}-{each.end}")

    def _digest(self, turn: int) -> str:
        return self._record.objects.row(self._objects[turn]).sha256.hex()

    def _neighbour(self, turn: int) -> Neighbour:
        read = read_record(bytes(self._record.turn_bytes(self._objects[turn])))
        return Neighbour(turn, read.role, read.time, f"ctxa:{self._digest(turn)}", excerpt(read))
