"""``segment``: build and extend the indexes of schemes, beside a record that is proved to stay as it is."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from ctxarc.auxiliary.projection import PROJECTION
from ctxarc.auxiliary.segments import SCHEMES, index
from ctxarc.auxiliary.segments.index import Index
from ctxarc.auxiliary.segments.part import About, Cuts
from ctxarc.errors import Damage, Internal, Refusal
from ctxarc.model import IndexExtension, SchemeRow, SegmentResult
from ctxarc.operations.indexes import DEFAULT_SCHEME, check_fit, measure, unknown_scheme
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
    for name in names:
        if name not in SCHEMES:
            raise unknown_scheme(name)
    with named_faults(archive), Lock(archive / AUXILIARY_LOCK, lock_wait), Record(archive) as record:
        chosen = list(dict.fromkeys(names)) or _there(archive)
        before = {} if rebuild else {name: Index(archive, name) for name in chosen}
        _, proof = _build(archive, record, chosen, before, lock_wait=lock_wait, progress=progress)
        return tuple(result_of(record, archive, name, before.get(name), proof) for name in chosen)


def extend(archive: Path, *, lock_wait: float) -> tuple[IndexExtension, ...]:
    """Extend the indexes that an archive has, after a capture; what cannot be extended says why."""
    try:
        with named_faults(archive):
            names = [name for name in index.built(archive) if name in SCHEMES]
            return _extended(archive, names, lock_wait) if names else ()
    except Refusal as refusal:
        return (IndexExtension(index.FOLDER, 0, refusal.as_json()),)


def _extended(archive: Path, names: Sequence[str], lock_wait: float) -> tuple[IndexExtension, ...]:
    """All of them in one go, but for those that are damaged; no lock is taken where nothing is missing."""
    with Record(archive) as record:
        behind = [name for name in names if not _is_up_to_date(record, name)]
    if not behind:
        return tuple(IndexExtension(name, 0) for name in names)
    found: dict[str, IndexExtension] = {}
    try:
        with Lock(archive / AUXILIARY_LOCK, lock_wait), Record(archive) as record:
            before: dict[str, Index] = {}
            for name in behind:
                try:
                    before[name] = Index(archive, name)
                    check_fit(record, before[name])
                except Damage as damage:
                    before.pop(name, None)
                    found[name] = IndexExtension(name, 0, damage.as_json())
            cuts, _ = _build(archive, record, list(before), before, lock_wait=lock_wait, progress=quiet)
            found |= {name: IndexExtension(name, len(new.ends)) for name, new in cuts.items()}
    except Refusal as refusal:
        found = {name: IndexExtension(name, 0, refusal.as_json()) for name in behind}
    return tuple(found.get(name, IndexExtension(name, 0)) for name in names)


def _is_up_to_date(record: Record, name: str) -> bool:
    """Whether an index holds all; one that is damaged does not."""
    try:
        there = Index(record.path, name)
        check_fit(record, there)
    except Damage:
        return False
    return next(there.missing(record.head.objects), None) is None


def _build(  # noqa: PLR0913 - what segment was asked for
    archive: Path,
    record: Record,
    names: Sequence[str],
    before: dict[str, Index],
    *,
    lock_wait: float,
    progress: Progress,
) -> tuple[dict[str, Cuts], tuple[str, str]]:
    """Cut and write what is missing; the new cuts of each scheme, and the record before and behind."""
    for each in before.values():
        check_fit(record, each)
    cuts = _cut(record, before, names, progress)
    with writing(archive, lock_wait) as proof:
        for name, new in cuts.items():
            about = About(name, SCHEMES[name].parameters, PROJECTION, record.head.root.hex())
            index.add(archive, new, about, before.get(name))
    return cuts, proof.both()


def _there(archive: Path) -> list[str]:
    return [name for name in index.built(archive) if name in SCHEMES] or [DEFAULT_SCHEME]


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


def result_of(record: Record, archive: Path, name: str, before: Index | None, proof: tuple[str, str]) -> SegmentResult:
    """What the index of ``name`` holds now, and what it did not ``before``."""
    now = Index(archive, name)
    measured = measure(record, now, before)
    digest_before, digest_after = proof
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
        preservation_digest_before=digest_before,
        preservation_digest_after=digest_after,
        preservation_unchanged=digest_before == digest_after,
    )
