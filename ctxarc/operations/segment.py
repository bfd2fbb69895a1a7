"""``segment``: build and extend the indexes of schemes, beside a record that is proved to stay as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxarc.auxiliary.projection import PROJECTION
from ctxarc.auxiliary.segments import SCHEMES, index
from ctxarc.auxiliary.segments.index import Index
from ctxarc.auxiliary.segments.part import About, Cuts
from ctxarc.errors import Damage, Refusal
from ctxarc.model import IndexExtension, SchemeRow, SegmentResult
from ctxarc.operations.indexes import DEFAULT_SCHEME, check_fit, measure, unknown_scheme
from ctxarc.operations.progress import Progress, quiet
from ctxarc.operations.side_writer import SideWriter
from ctxarc.preservation.files import named_faults
from ctxarc.preservation.record import Record

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def schemes(archive: Path) -> tuple[SchemeRow, ...]:
    """Every scheme that can be built, and every other index that there is, with what the archive has of it."""
    with Record(archive) as record:
        there = index.built(archive)
        return tuple(_listed(record, name, built=name in there) for name in sorted({*SCHEMES, *there}))


def _listed(record: Record, name: str, *, built: bool) -> SchemeRow:
    row = SchemeRow(name, "", {}, built, 0, 0.0)
    if name in SCHEMES:
        row = row._replace(about=SCHEMES[name].about, parameters=dict(SCHEMES[name].parameters))
    if not built:
        return row
    try:
        there = Index(record.path, name)
        measured = measure(record, there)
    except Damage as damage:
        return row._replace(refusal=damage.as_json())
    if name not in SCHEMES:
        row = row._replace(
            about="a user's own cuts" if there.own else "by another release", parameters=there.parameters
        )
    return row._replace(segments=measured.segments, coverage=measured.coverage)


def segment(
    archive: Path,
    names: Sequence[str] = (),
    *,
    rebuild: bool = False,
    lock_wait: float = 10.0,
    progress: Progress = quiet,
) -> tuple[SegmentResult, ...]:
    """Cut the turns that the indexes of schemes do not hold yet.

    Args:
        archive: the archive.
        names: schemes; without any, those that have an index, else DEFAULT_SCHEME.
        rebuild: whether indexes that are there are made anew.
        lock_wait: seconds to wait for another writer of either plane.
        progress: told how many bytes of turns were cut.

    Returns:
        what each index holds now, in the order of ``names``.

    Raises:
        NoSuchScheme: there is no such scheme.
        Damage: an index is damaged, or not of this archive; ``rebuild`` makes it anew.

    """
    for name in names:
        if name not in SCHEMES:
            raise unknown_scheme(name)
    with SideWriter(archive, lock_wait) as side:
        chosen = list(dict.fromkeys(names)) or _there(archive)
        before = {} if rebuild else {name: Index(archive, name) for name in chosen}
        _build(side, chosen, before, progress)
        return tuple(result_of(side, name, before.get(name)) for name in chosen)


def extend(archive: Path, *, lock_wait: float) -> tuple[IndexExtension, ...]:
    """Extend the indexes that an archive has, after a capture, in one go; what cannot be extended says why.

    No lock is taken where nothing is missing.
    """
    names = [index.FOLDER]
    try:
        with named_faults(archive):
            names = [name for name in index.built(archive) if name in SCHEMES]
            with Record(archive) as record:
                fitting, damaged = _fitting(record, names)
                behind = [name for name in fitting if _misses_some(record, fitting[name])]
            cuts = _extended(archive, behind, lock_wait) if behind else {}
    except Refusal as refusal:
        return tuple(IndexExtension(name, 0, refusal.as_json()) for name in names)
    new = {name: IndexExtension(name, len(cuts[name].ends)) for name in behind}
    return tuple(damaged.get(name) or new.get(name) or IndexExtension(name, 0) for name in names)


def _extended(archive: Path, names: Sequence[str], lock_wait: float) -> dict[str, Cuts]:
    with SideWriter(archive, lock_wait) as side:
        return _build(side, names, {name: Index(archive, name) for name in names}, quiet)


def _fitting(record: Record, names: Sequence[str]) -> tuple[dict[str, Index], dict[str, IndexExtension]]:
    """The indexes that are sound and of this archive, and why the others are not."""
    fitting, damaged = {}, {}
    for name in names:
        try:
            there = Index(record.path, name)
            check_fit(record, there)
            fitting[name] = there
        except Damage as damage:
            damaged[name] = IndexExtension(name, 0, damage.as_json())
    return fitting, damaged


def _misses_some(record: Record, of: Index) -> bool:
    return next(of.missing(record.head.objects), None) is not None


def _build(side: SideWriter, names: Sequence[str], before: dict[str, Index], progress: Progress) -> dict[str, Cuts]:
    """Cut and write what is missing; the new cuts of each scheme."""
    for each in before.values():
        check_fit(side.record, each)
    cuts = _cut(side.record, before, names, progress)
    with side.writing():
        for name, new in cuts.items():
            about = About(name, SCHEMES[name].parameters, PROJECTION, side.record.head.root.hex())
            index.add(side.archive, new, about, before.get(name))
    return cuts


def _there(archive: Path) -> list[str]:
    return [name for name in index.built(archive) if name in SCHEMES] or [DEFAULT_SCHEME]


def _cut(record: Record, before: dict[str, Index], names: Sequence[str], progress: Progress) -> dict[str, Cuts]:
    """Cut what each index misses behind what it holds: one pass over the turns for all schemes."""
    objects = record.head.objects
    missing = {name: next(before[name].missing(objects), objects) if name in before else 0 for name in names}
    cuts = {name: Cuts.empty(first) for name, first in missing.items()}
    done = 0
    for number in range(min(missing.values(), default=objects), objects):
        turn = bytes(record.turn_bytes(number))
        digest = record.objects.row(number).sha256
        for name in names:
            if number < missing[name]:
                continue
            held = before[name].ends(number, digest, len(turn)) if name in before else ()
            cuts[name].add(digest, held or SCHEMES[name].cut(turn))
        done += len(turn)
        progress("cutting", done, record.head.object_bytes)
    return cuts


def result_of(side: SideWriter, name: str, before: Index | None) -> SegmentResult:
    """What the index of ``name`` holds now, and what it did not ``before``."""
    now = Index(side.archive, name)
    measured = measure(side.record, now, before)
    digest_before, digest_after = side.proof
    return SegmentResult(
        archive=str(side.archive),
        archive_digest=side.record.head.root.hex(),
        scheme=name,
        segments=measured.segments,
        new_segments=measured.new_segments,
        turns=measured.turns,
        median_segment_bytes=measured.median,
        coverage=measured.coverage,
        bytes_covered_twice=measured.covered_twice,
        turns_not_fully_covered=measured.not_covered,
        index_bytes=now.stored_bytes,
        preservation_digest_before=digest_before,
        preservation_digest_after=digest_after,
        preservation_unchanged=digest_before == digest_after,
    )
