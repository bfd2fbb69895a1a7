"""``segment``: build and extend the indexes of schemes, beside a record that is proved to stay as it is."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from ctxarc.auxiliary.projection import PROJECTION
from ctxarc.auxiliary.segments import SCHEMES, index
from ctxarc.auxiliary.segments.index import Index
from ctxarc.auxiliary.segments.part import About, Cuts
from ctxarc.errors import Damage, IndexMismatch, Internal, Refusal
from ctxarc.model import IndexExtension, SchemeRow, SegmentResult
from ctxarc.operations.indexes import DEFAULT_SCHEME, measure, unknown_scheme
from ctxarc.operations.progress import Progress, quiet
from ctxarc.preservation.files import named_faults
from ctxarc.preservation.fingerprint import record_fingerprint
from ctxarc.preservation.lock import Lock
from ctxarc.preservation.record import Record
from ctxarc.preservation.scratch import AUXILIARY_LOCK, RECORD_LOCK

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
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
    Record(archive).close()
    with named_faults(archive), Lock(archive / AUXILIARY_LOCK, lock_wait), Record(archive) as record:
        chosen = list(dict.fromkeys(names)) or _there(archive)
        for name in chosen:
            if name not in SCHEMES:
                raise unknown_scheme(name)
        cuts, proof = _build(archive, record, chosen, rebuild=rebuild, lock_wait=lock_wait, progress=progress)
        return tuple(result_of(record, archive, name, cuts[name].first, proof) for name in chosen)


def extend(archive: Path, *, lock_wait: float) -> tuple[IndexExtension, ...]:
    """Extend the indexes that an archive has, after a capture; what cannot be extended says why."""
    return tuple(_extended(archive, name, lock_wait) for name in index.built(archive) if name in SCHEMES)


def _extended(archive: Path, name: str, lock_wait: float) -> IndexExtension:
    try:
        with Record(archive) as record:
            if next(Index(archive, name).missing(record.head.objects), None) is None:
                return IndexExtension(name, 0)
        with named_faults(archive), Lock(archive / AUXILIARY_LOCK, lock_wait), Record(archive) as record:
            cuts, _ = _build(archive, record, [name], rebuild=False, lock_wait=lock_wait, progress=quiet)
    except Refusal as refusal:
        return IndexExtension(name, 0, refusal.as_json())
    return IndexExtension(name, len(cuts[name].ends))


def _build(  # noqa: PLR0913 - what segment was asked for
    archive: Path, record: Record, names: Sequence[str], *, rebuild: bool, lock_wait: float, progress: Progress
) -> tuple[dict[str, Cuts], tuple[str, str]]:
    """Cut and write what is missing; the new cuts of each scheme, and the record before and behind."""
    before = {} if rebuild else {name: Index(archive, name) for name in names}
    for each in before.values():
        _check_extent(record, each)
    cuts = _cut(record, before, names, progress)
    with writing(archive, lock_wait) as proof:
        for name, new in cuts.items():
            about = About(name, SCHEMES[name].parameters, PROJECTION, record.head.root.hex())
            index.add(archive, new, about, before.get(name))
    return cuts, proof.both()


class Proof:
    """Fingerprints of the record's files before something was written beside them, and behind that."""

    def __init__(self, before: str) -> None:
        self.before, self.after = before, ""

    def both(self) -> tuple[str, str]:
        """The two."""
        return self.before, self.after


@contextmanager
def writing(archive: Path, lock_wait: float) -> Iterator[Proof]:
    """Write side files inside: the record is locked, so that nobody else writes, and its fingerprints are compared."""
    with Lock(archive / RECORD_LOCK, lock_wait):
        proof = Proof(record_fingerprint(archive))
        yield proof
        proof.after = record_fingerprint(archive)
    if proof.before != proof.after:
        message = f"{archive}: the record's files changed while side files were written: {proof.before} became "
        raise Internal(message + proof.after)


def _there(archive: Path) -> list[str]:
    return [name for name in index.built(archive) if name in SCHEMES] or [DEFAULT_SCHEME]


def _check_extent(record: Record, of: Index) -> None:
    """Refuse an index of more objects than there are, or whose scheme was not this one."""
    end = max((part.first + part.objects for part in of.parts), default=0)
    hint = index.rebuild_hint(of.scheme)
    if end > record.head.objects:
        message = f"segments/{of.scheme}: covers {end} objects, and the archive has {record.head.objects}: "
        message += "the archive was replaced by an older state, or by another"
        raise IndexMismatch(message, hint=hint, path=f"segments/{of.scheme}", covered=end, objects=record.head.objects)
    for part in of.parts:
        if part.about.own or part.about.parameters != SCHEMES[of.scheme].parameters:
            message = f"{part.label}: was cut with {part.about.parameters}, and {of.scheme} has "
            message += f"{SCHEMES[of.scheme].parameters}"
            raise IndexMismatch(message, hint=hint, path=part.label)


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
            if number >= missing[name]:
                cuts[name].add(digest, SCHEMES[name].cut(turn))
        done += len(turn)
        progress("cutting", done, record.head.object_bytes)
    return cuts


def result_of(record: Record, archive: Path, name: str, since: int, proof: tuple[str, str]) -> SegmentResult:
    """What the index of ``name`` holds now that the objects from ``since`` on were cut."""
    now = Index(archive, name)
    measured = measure(record, now, since=since)
    before, behind = proof
    return SegmentResult(
        archive=str(archive),
        archive_digest=record.head.root.hex(),
        scheme=name,
        segments=measured.segments,
        new_segments=measured.new_segments,
        turns=measured.turns,
        median_segment_bytes=measured.median,
        coverage=measured.coverage,
        bytes_covered_twice=measured.covered_twice,
        turns_not_fully_covered=measured.not_covered,
        index_bytes=now.stored_bytes,
        preservation_digest_before=before,
        preservation_digest_after=behind,
        preservation_unchanged=before == behind,
    )
