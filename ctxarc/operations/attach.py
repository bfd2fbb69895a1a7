"""``attach``: the vectors that a user's own model made of segments, into the auxiliary plane under their identity.

Everything is looked at before anything is written: who made the vectors, whose each one is, and whether it is one. A
segment that has a vector of the same identity keeps it.
"""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctxarc.auxiliary.projection import PROJECTION
from ctxarc.auxiliary.vectors import corpus as vectors
from ctxarc.auxiliary.vectors.corpus import Corpus, corpora
from ctxarc.auxiliary.vectors.identity import UNSTATED, Identity
from ctxarc.errors import IdentityUnstated, Incomparable, MalformedVectors
from ctxarc.model import AttachResult
from ctxarc.operations.indexes import check_fit, choose
from ctxarc.operations.placing import Placed, Segments
from ctxarc.operations.progress import Progress, quiet
from ctxarc.operations.side_writer import SideWriter
from ctxarc.operations.vector_inputs.checks import check_rows, cosine, row_of
from ctxarc.operations.vector_inputs.fields import FIELDS
from ctxarc.operations.vector_inputs.reading import read_vectors
from ctxarc.operations.vector_inputs.rows import Stated
from ctxarc.preservation.record import check_mark

if TYPE_CHECKING:
    from io import BufferedReader
    from pathlib import Path

    from ctxarc.auxiliary.vectors.writing import NewRows
    from ctxarc.operations.vector_inputs.answered import Answered
    from ctxarc.operations.vector_inputs.rows import Given

ALIKE = 0.99
"""Cosine from which a vector that comes again is taken for the one that is held: servers round, and batches differ."""

_TEXT_LIMIT = 1000
"""Characters of a field of an identity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachOptions:
    """What is said of vectors beside their file; ``None`` where the file says it, or it goes without saying.

    Attributes:
        model, revision: what made them.
        projection: how segments became the texts that it saw; that of the export, else ``json-text-v1``.
        scheme: the scheme whose segments they are of; that of the export, else the only index there is.
        distinct: whether each stands for all segments of the same text.
        lock_wait: seconds to wait for another writer of either plane.

    """

    model: str | None = None
    revision: str | None = None
    projection: str | None = None
    scheme: str | None = None
    distinct: bool = False
    lock_wait: float = 10.0


def attach(  # noqa: PLR0913 - where, what, and what is said of it
    archive: Path,
    stream: BufferedReader,
    label: str,
    *,
    answered: Answered | None = None,
    options: AttachOptions | None = None,
    progress: Progress = quiet,
) -> AttachResult:
    """Attach the vectors in a file, in any of the formats that :mod:`vector_inputs` reads.

    Args:
        archive: the archive.
        stream: the file, or a pipe.
        label: what messages call it.
        answered: the export that they answer.
        options: what is said of them.
        progress: told how many bytes of the file were read.

    Raises:
        IdentityUnstated, Incomparable: it is not said what made them, or said twice, or it made others before.
        UnknownSegment, NoSuchScheme, Ambiguous: whose they are.
        MalformedVectors: they are none.

    """
    check_mark(archive)
    return store(archive, read_vectors(stream, label, answered, progress), options or AttachOptions())


def store(archive: Path, given: Given, options: AttachOptions) -> AttachResult:
    """Attach vectors that are read."""
    stated = identity_fields(given, options)
    if not given.checked:
        check_rows(given)
    with SideWriter(archive, options.lock_wait) as side:
        index = choose(side.record, stated["scheme"])
        check_fit(side.record, index)
        identity = Identity(
            model=stated["model"] or "",
            revision=stated["revision"] or "",
            dimensions=given.width,
            projection=stated["projection"] or PROJECTION,
            scheme=index.scheme,
        )
        segments = Segments(side.record, index)
        job = _Job(archive, given, identity, segments)
        new = job.new(distinct=given.distinct or options.distinct).new_rows(given, segments)
        with side.writing():
            if new.rows:
                vectors.add(archive, identity, new, side.record.head.root.hex())
        return job.result(side, new)


def identity_fields(given: Given, options: AttachOptions) -> dict[str, str | None]:
    """What is said of the identity, each field once.

    Raises:
        Incomparable: two places say different things.
        IdentityUnstated: nobody names the model, or says which weights it had.
        MalformedVectors: the vectors are of another width than is said.

    """
    said = {name: getattr(options, name) for name in FIELDS if getattr(options, name, None) is not None}
    places = [Stated("the options", said), *given.stated]
    found: dict[str, str | None] = dict.fromkeys(("model", "revision", "projection", "scheme"))
    for name in FIELDS:
        value = _agreed(name, places)
        if isinstance(value, str):
            found[name] = value
            _check_length(given, name, value)
        elif value not in {None, given.width}:
            message = f"{given.label}: the vectors have {given.width:,} numbers, and {value} dimensions are stated"
            raise MalformedVectors(message, dimensions=given.width, expected=value)
    if len(set(given.export_ids)) > 1:
        one, other = given.export_ids[:2]
        hint = "the vectors answer another export than the one that --export names"
        raise Incomparable(f"export_id differs — {one} against {other}", hint=hint, field="export_id")
    for name in ("model", "revision"):
        if not found[name]:
            hint = f"state it with --{name} {name.upper()}"
            if name == "revision":
                hint += f"; --revision {UNSTATED} where nothing tells which weights the model had"
            raise IdentityUnstated(
                f"{given.label}: nothing says the {name} that made its vectors", hint=hint, field=name
            )
    return found


def _check_length(given: Given, name: str, value: str) -> None:
    if len(value) > _TEXT_LIMIT:
        message = f"{given.label}: the {name} has {len(value):,} characters, and the limit is {_TEXT_LIMIT:,}"
        raise MalformedVectors(message, field=name, limit=_TEXT_LIMIT)


def _agreed(name: str, places: list[Stated]) -> object:
    """What the places that state a field all say."""
    stating = [place for place in places if name in place.fields]
    for place in stating[1:]:
        one, other = stating[0].fields[name], place.fields[name]
        if one != other:
            message = f"{name} differs — {one} by {stating[0].where} against {other} by {place.where}"
            hint = "one set of vectors has one identity; nothing was stored"
            raise Incomparable(message, hint=hint, field=name, given=one, stated=other)
    return stating[0].fields[name] if stating else None


class _Job:
    """Vectors between what was given and what is held."""

    def __init__(self, archive: Path, given: Given, identity: Identity, segments: Segments) -> None:
        self.given, self.identity, self.segments = given, identity, segments
        there = (identity.scheme, identity.fingerprint) in corpora(archive)
        self.held = Corpus(archive, identity.scheme, identity.fingerprint) if there else None
        self.held_rows = self._held_rows()
        self.already = 0

    def new(self, *, distinct: bool) -> Placed:
        """The segments that have a vector now and had none."""
        placed = self.segments.place(self.given)
        held = self.held_rows
        pairs = dict(zip(placed.keys, placed.rows, strict=True)) if held or distinct else {}
        if not pairs:
            return placed
        again = pairs.keys() & held.keys()
        for key in sorted(again):
            self._compare(key, pairs[key], held[key])
        self.already = len(again)
        if distinct:
            pairs |= self.segments.alike(placed, self.identity.projection)
        keys = array("Q", sorted(pairs.keys() - held.keys()))
        return Placed(keys, array("Q", map(pairs.__getitem__, keys)))

    def _held_rows(self) -> dict[int, int]:
        """The row of each segment that has a vector.

        Raises:
            IndexMismatch: vectors were attached to other turns than the record has.

        """
        found: dict[int, int] = {}
        for each in self.held.objects() if self.held else ():
            spans = self.segments.spans(each)
            found.update((key, each.first_row + at) for at, key in enumerate(spans) if key is not None)
        return found

    def _compare(self, key: int, row: int, held_row: int) -> None:
        """Refuse a vector that is another than the one that its segment has.

        Raises:
            Incomparable: they point in different directions.

        """
        if self.held is None:
            return
        mine, theirs = row_of(self.given, row), self.held.vector(held_row)
        if mine == theirs:
            return
        alike = cosine(mine, theirs)
        if not alike >= ALIKE:
            message = f"{self.given.place(row)}: its vector is another than the one that is held (cosine {alike:.2f})"
            hint = "another model under the same identity? state its own --revision, and both can stand side by side"
            raise Incomparable(message, hint=hint, cosine=alike if math.isfinite(alike) else None, segment=key)

    def result(self, side: SideWriter, new: NewRows) -> AttachResult:
        """What is stored now, the segments ``new`` among it."""
        covered, total = self.segments.covered(self.held_rows, new)
        before, after = side.proof
        return AttachResult(
            archive=str(side.archive),
            archive_digest=side.record.head.root.hex(),
            scheme=self.identity.scheme,
            attached=new.rows,
            already_attached=self.already,
            segments_in_index=total,
            coverage=covered / total if total else 1.0,
            identity=self.identity.as_json(),
            identity_fingerprint=self.identity.fingerprint,
            vectors_bytes=_stored_bytes(side.archive, self.identity),
            preservation_digest_before=before,
            preservation_digest_after=after,
            preservation_unchanged=before == after,
        )


def _stored_bytes(archive: Path, identity: Identity) -> int:
    """Bytes of the files of the vectors of an identity."""
    folder = archive / vectors.FOLDER / identity.scheme / identity.fingerprint
    return sum(path.stat().st_size for path in folder.glob("*.vec")) if folder.is_dir() else 0
