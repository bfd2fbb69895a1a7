"""``segment``: build and extend the indexes of schemes, and of their words, beside a record that stays as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxarc.auxiliary.projection import PROJECTION
from ctxarc.auxiliary.segments import SCHEMES, index
from ctxarc.auxiliary.segments.index import Index
from ctxarc.auxiliary.segments.part import About, Cuts
from ctxarc.auxiliary.words import index as word_index
from ctxarc.auxiliary.words.index import Words
from ctxarc.errors import Damage, Refusal
from ctxarc.model import IndexExtension, SchemeRow, SegmentResult
from ctxarc.operations.cutting import Job
from ctxarc.operations.halves import cut_all
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


def segment(  # noqa: PLR0913 - what is built, and how
    archive: Path,
    names: Sequence[str] = (),
    *,
    words: bool = True,
    rebuild: bool = False,
    lock_wait: float = 10.0,
    progress: Progress = quiet,
) -> tuple[SegmentResult, ...]:
    """Cut the turns that the indexes of schemes do not hold yet.

    Args:
        archive: the archive.
        names: schemes; without any, those that have an index, else DEFAULT_SCHEME.
        words: whether their word indexes are built too; else those that are there are left as they are.
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
        jobs = [_job(side, name, words=words, rebuild=rebuild) for name in chosen]
        _build(side, jobs, progress)
        return tuple(result_of(side, job.scheme, job.before) for job in jobs)


def _job(side: SideWriter, name: str, *, words: bool, rebuild: bool = False) -> Job:
    """What is to be built for a scheme."""
    if rebuild:
        return Job(name, None, words)
    job = Job(name, Index(side.archive, name), words, Words(side.archive, name) if words else None)
    for each in (job.before, job.words_before):
        if each:
            check_fit(side.record, each)
    return job


def extend(archive: Path, *, lock_wait: float) -> tuple[IndexExtension, ...]:
    """Extend the indexes that an archive has, after a capture, in one go; what cannot be extended says why.

    No lock is taken where nothing is missing.
    """
    names = [index.FOLDER]
    try:
        with named_faults(archive):
            names = [name for name in index.built(archive) if name in SCHEMES]
            with Record(archive) as record:
                damaged = _damaged(record, names)
                behind = [name for name in names if name not in damaged and _is_behind(record, name)]
            cuts = _extended(archive, behind, lock_wait) if behind else {}
    except Refusal as refusal:
        return tuple(IndexExtension(name, 0, refusal.as_json()) for name in names)
    new = {name: IndexExtension(name, len(cuts[name].ends)) for name in behind}
    return tuple(damaged.get(name) or new.get(name) or IndexExtension(name, 0) for name in names)


def _extended(archive: Path, names: Sequence[str], lock_wait: float) -> dict[str, Cuts]:
    with SideWriter(archive, lock_wait) as side:
        with_words = word_index.built(archive)
        return _build(side, [_job(side, name, words=name in with_words) for name in names], quiet)


def _damaged(record: Record, names: Sequence[str]) -> dict[str, IndexExtension]:
    """Why indexes, or those of their words, are not sound or not of this archive."""
    damaged = {}
    for name in names:
        try:
            for there in (Index(record.path, name), Words(record.path, name)):
                check_fit(record, there)
        except Damage as damage:
            damaged[name] = IndexExtension(name, 0, damage.as_json())
    return damaged


def _is_behind(record: Record, name: str) -> bool:
    """Whether the index of a scheme misses an object, or that of its words, where there is one."""
    there = [Index(record.path, name), Words(record.path, name)]
    return any(_misses_some(record, each) for each in there if each.parts or not isinstance(each, Words))


def _misses_some(record: Record, of: Index) -> bool:
    return next(of.missing(record.head.objects), None) is not None


def _build(side: SideWriter, jobs: Sequence[Job], progress: Progress) -> dict[str, Cuts]:
    """Cut what is missing, look up its words, and write both; the new cuts of each scheme."""
    made = cut_all(side.record, jobs, progress)
    with side.writing():
        for job in jobs:
            about = About(job.scheme, SCHEMES[job.scheme].parameters, PROJECTION, side.record.head.root.hex())
            index.add(side.archive, made[job.scheme].cuts, about, job.before)
            if job.with_words:
                word_index.add(side.archive, job.scheme, made[job.scheme].words, made[job.scheme].kept)
    return {name: each.cuts for name, each in made.items()}


def _there(archive: Path) -> list[str]:
    return [name for name in index.built(archive) if name in SCHEMES] or [DEFAULT_SCHEME]


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
        words_bytes=word_index.stored_bytes(side.archive, name),
        preservation_digest_before=digest_before,
        preservation_digest_after=digest_after,
        preservation_unchanged=digest_before == digest_after,
    )
