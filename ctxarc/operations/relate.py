"""``relate``: derive what the turns of an archive state of each other, beside a record that stays as it is."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ctxarc.auxiliary.edges.index import Edges, add
from ctxarc.auxiliary.edges.joining import KINDS, NOT_DERIVABLE, Problems
from ctxarc.auxiliary.edges.part import PartMaker
from ctxarc.auxiliary.edges.statements import RELATIONS, stated
from ctxarc.errors import Refusal
from ctxarc.model import CommonPath, IndexExtension, RelateResult
from ctxarc.operations.graph import graph_of, stated_at
from ctxarc.operations.indexes import check_fit
from ctxarc.operations.progress import Progress, quiet
from ctxarc.operations.side_writer import SideWriter
from ctxarc.operations.view import View
from ctxarc.preservation.files import named_faults
from ctxarc.preservation.record import Record

if TYPE_CHECKING:
    from pathlib import Path

_LISTED = 100
"""Paths in too many turns that are listed at most."""


def relate(
    archive: Path, *, rebuild: bool = False, lock_wait: float = 10.0, progress: Progress = quiet
) -> RelateResult:
    """Read the turns whose relations were not derived yet, and count all edges.

    Args:
        archive: the archive.
        rebuild: whether all turns are read anew.
        lock_wait: seconds to wait for another writer of either plane.
        progress: told how many bytes of turns were read.

    Raises:
        Damage: the relations are damaged, or not of this archive; ``rebuild`` makes them anew.

    """
    with SideWriter(archive, lock_wait) as side:
        return _result(side, _derive(side, progress, rebuild=rebuild))


def extend_relations(archive: Path, *, lock_wait: float) -> tuple[IndexExtension, ...]:
    """Extend the relations that an archive has, after a capture; what cannot be extended says why.

    No lock is taken where there are none, or nothing is missing.
    """
    try:
        with named_faults(archive):
            edges = Edges(archive)
            if not edges.parts:
                return ()
            with Record(archive) as record:
                check_fit(record, edges)
                if next(edges.missing(record.head.objects), None) is None:
                    return (IndexExtension(RELATIONS, 0),)
            with SideWriter(archive, lock_wait) as side:
                return (IndexExtension(RELATIONS, _derive(side, quiet)),)
    except Refusal as refusal:
        return (IndexExtension(RELATIONS, 0, refusal.as_json()),)


def _derive(side: SideWriter, progress: Progress, *, rebuild: bool = False) -> int:
    """Read what was not read yet, and write it; how many turns that were."""
    record = side.record
    before = None if rebuild else Edges(side.archive)
    if before:
        check_fit(record, before)
    objects = record.head.objects
    maker = PartMaker(next(before.missing(objects), objects) if before else 0)
    done = 0
    for number in range(maker.cuts.first, objects):
        turn = bytes(record.turn_bytes(number))
        maker.add(record.objects.row(number).sha256, stated(turn))
        done += len(turn)
        progress("relating", done, record.head.object_bytes)
    with side.writing():
        add(side.archive, maker, before, record.head.root.hex())
    return maker.cuts.objects


def _result(side: SideWriter, new_turns: int) -> RelateResult:
    """Join the newest state of every transcript, and count."""
    record, view, edges = side.record, View(side.record), Edges(side.archive)
    by_kind: Counter[str] = Counter(dict.fromkeys(KINDS, 0))
    dialects: Counter[str] = Counter()
    problems, common, turns = Problems(), [], 0
    states = list(view.states())
    for state in states:
        graph, numbers = graph_of(record, edges, state)
        by_kind.update(edge.kind for edge in graph.edges)
        dialects.update(map(edges.dialect, numbers.values()))
        problems.add(graph.problems)
        turns += len(numbers)
        common += [(each, state) for each in graph.common]
    common.sort(key=lambda pair: -pair[0].turns)
    listed = []
    for each, state in common[:_LISTED]:
        found = stated_at(record, edges, record.object_of(state, each.first_turn))
        listed.append(CommonPath(found.texts[each.place], each.turns, state.name.decode(), each.first_turn))
    before, after = side.proof
    return RelateResult(
        archive=str(side.archive),
        archive_digest=record.head.root.hex(),
        relations=RELATIONS,
        turns=turns,
        new_turns=new_turns,
        edges=sum(by_kind.values()),
        by_kind=dict(by_kind),
        not_derivable=NOT_DERIVABLE,
        dialects=dict(dialects.most_common()),
        problems=vars(problems),
        paths_in_too_many_turns=len(common),
        common_paths=tuple(listed),
        edges_bytes=edges.stored_bytes,
        complete=all(state.complete for state in states),
        omitted=view.omitted(states[0]) if len(states) == 1 else (),
        preservation_digest_before=before,
        preservation_digest_after=after,
        preservation_unchanged=before == after,
    )
