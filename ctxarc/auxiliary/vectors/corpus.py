"""A corpus: the vectors of one identity for the segments of one scheme, in ``vectors/SCHEME/FINGERPRINT``.

Each attach adds a part with the next serial number; a part is never rewritten. Where many small ones would stand, the
last of them are gathered into one whose name spans their serial numbers, and then removed: the wider span counts.
"""

from __future__ import annotations

import math
import re
import sys
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from ctxarc.auxiliary.segments.index import NAME, is_partition
from ctxarc.auxiliary.vectors.part import Part, Rows
from ctxarc.auxiliary.vectors.writing import NewRows, write_part
from ctxarc.errors import BadMagic, Damage, IndexMismatch, Truncated
from ctxarc.preservation.files import flush_directory
from ctxarc.preservation.record import Record

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ctxarc.auxiliary.vectors.identity import Identity

__all__ = ["FOLDER", "Corpus", "NewRows", "Place", "Rows", "add", "check", "corpora", "is_part"]

FOLDER = "vectors"
MANY = 16
"""Parts that stand side by side before the last ones are gathered."""
_FINGERPRINT = re.compile(r"[0-9a-f]{32}")
_PART = re.compile(r"([0-9]{8})-([0-9]{8})\.vec")
_TRIES = 5
"""Times that the parts are listed again since a writer has gathered them meanwhile."""


class Place(NamedTuple):
    """The segment that a row is of."""

    object: int
    start: int
    end: int


def is_part(path: str) -> bool:
    """Whether ``path``, in an archive, is the place of a part of a corpus, finished or not."""
    parts = path.split("/")
    if len(parts) != 4 or parts[0] != FOLDER:  # noqa: PLR2004 - vectors, scheme, fingerprint, file
        return False
    scheme, fingerprint, name = parts[1:]
    known = NAME.fullmatch(scheme) and _FINGERPRINT.fullmatch(fingerprint)
    return bool(known and _PART.fullmatch(name.removesuffix(".tmp")))


def corpora(archive: Path) -> list[tuple[str, str]]:
    """Scheme and fingerprint of every corpus in the archive, in order."""
    folder = archive / FOLDER
    if folder.is_symlink() or not folder.is_dir():
        return []
    return sorted(
        (scheme.name, corpus.name)
        for scheme in folder.iterdir()
        if NAME.fullmatch(scheme.name) and scheme.is_dir() and not scheme.is_symlink()
        for corpus in scheme.iterdir()
        if _FINGERPRINT.fullmatch(corpus.name) and _may_be_corpus(corpus)
    )


def _may_be_corpus(folder: Path) -> bool:
    """Whether there are parts in ``folder``, or it is a link, which is no place of vectors and has to be said."""
    return folder.is_symlink() or (folder.is_dir() and any(_PART.fullmatch(path.name) for path in folder.iterdir()))


def _check_folders(archive: Path, scheme: str, fingerprint: str) -> None:
    at = archive
    for name in (FOLDER, scheme, fingerprint):
        at /= name
        label = at.relative_to(archive).as_posix()
        if at.is_symlink():
            raise BadMagic(f"{label}: a link where a directory is due; links are not followed", path=label)
        if at.exists() and not at.is_dir():
            raise BadMagic(f"{label}: a file where a directory is due", path=label)


class Corpus:
    """The vectors of one identity, open for reading.

    Args:
        archive: the archive.
        scheme: the scheme.
        fingerprint: that of the identity.

    Attributes:
        parts: its parts, in order of their serial numbers.
        bases: the number of the first row of each part, and the number of rows.
        identity: what made them.
        label: the path of its directory in the archive.

    Raises:
        Damage: a part is damaged, or of another identity.

    """

    def __init__(self, archive: Path, scheme: str, fingerprint: str) -> None:
        self.label = f"{FOLDER}/{scheme}/{fingerprint}"
        self._folder = archive / FOLDER / scheme / fingerprint
        _check_folders(archive, scheme, fingerprint)
        for tries in range(_TRIES):
            try:
                self._open(fingerprint)
            except Damage as damage:
                # A part that was listed and is not there has been gathered into another.
                gone = isinstance(damage, Truncated) and damage.facts.get("found") is None and "path" in damage.facts
                if gone and tries < _TRIES - 1:
                    continue
                damage.hint = f"remove {self.label}, and attach its vectors again; the record is not touched"
                raise
            break

    def _open(self, fingerprint: str) -> None:
        self.parts: list[Part] = []
        self.serials: list[tuple[int, int]] = []
        self.bases = [0]
        for first, last in spans(self._folder):
            name = part_name(first, last)
            part = Part(self._folder / name, f"{self.label}/{name}")
            if part.header.identity.fingerprint != fingerprint:
                message = f"{part.label}: its vectors are of another identity, {part.header.identity.fingerprint}"
                raise IndexMismatch(message, path=part.label)
            self.parts.append(part)
            self.serials.append((first, last))
            self.bases.append(self.bases[-1] + part.rows)
        if not self.parts:
            raise Truncated(f"{self.label}: it has no part", path=self.label, found=None, expected=1)
        self.identity: Identity = self.parts[0].header.identity

    @property
    def rows(self) -> int:
        """Number of rows of all parts."""
        return self.bases[-1]

    @property
    def stored_bytes(self) -> int:
        """Bytes of its files."""
        return sum(part.stored_bytes for part in self.parts)

    def prove(self) -> None:
        """Compare all rows with their checksums.

        Raises:
            ChecksumMismatch: a row is not what was written.

        """
        for part in self.parts:
            part.prove()

    @cached_property
    def mean(self) -> list[float]:
        """The mean of all rows, a float64 number a dimension."""
        return [math.fsum(sums) / self.rows for sums in zip(*(part.tables.sums for part in self.parts), strict=True)]

    def objects(self) -> Iterator[Rows]:
        """The rows of every object, part by part."""
        for part, base in zip(self.parts, self.bases, strict=False):
            yield from part.objects(base)

    def _at(self, row: int) -> tuple[Part, int]:
        """The part of a row, and its number in it."""
        number = bisect_right(self.bases, row) - 1
        return self.parts[number], row - self.bases[number]

    def place(self, row: int) -> Place:
        """The segment that a row is of."""
        part, at = self._at(row)
        tables = part.tables
        number = bisect_right(tables.firsts, at) - 1
        return Place(tables.objects[number], tables.starts[at], tables.ends[at])

    def vector(self, row: int) -> array[float]:
        """A row, as float32 numbers."""
        part, at = self._at(row)
        part.prove(at, at + 1)
        size = 4 * self.identity.dimensions
        return _floats(part.data[at * size : (at + 1) * size])


def _floats(data: bytes | memoryview) -> array[float]:
    vector = array("f", bytes(data))
    if sys.byteorder == "big":  # pragma: no cover - files are little-endian
        vector.byteswap()
    return vector


def part_name(first: int, last: int) -> str:
    """The name of a part that stands for the serial numbers ``first`` to ``last``."""
    return f"{first:08d}-{last:08d}.vec"


def spans(folder: Path) -> list[tuple[int, int]]:
    """The serial numbers of the parts in ``folder`` that count, in order: what lies within another's is left out."""
    names = (_PART.fullmatch(path.name) for path in folder.iterdir()) if folder.is_dir() else ()
    found: list[tuple[int, int]] = []
    end = 0
    for first, last in sorted(((int(name[1]), int(name[2])) for name in names if name), key=lambda s: (s[0], -s[1])):
        if last > end:
            found.append((first, last))
            end = last
    return found


def add(archive: Path, identity: Identity, new: NewRows, archive_digest: str) -> None:
    """Write a part with new rows, flushed; then gather the last parts where there are many.

    Args:
        archive: the archive.
        identity: what made the vectors.
        new: rows of segments that have none yet.
        archive_digest: the state of the archive.

    Raises:
        MalformedVectors: a row is not finite, or all zero.

    """
    fingerprint = identity.fingerprint
    _check_folders(archive, identity.scheme, fingerprint)
    folder = archive / FOLDER / identity.scheme / fingerprint
    before = spans(folder)
    serial = before[-1][1] + 1 if before else 1
    folder.mkdir(parents=True, exist_ok=True)
    write_part(folder / part_name(serial, serial), identity, archive_digest, new)
    for each in (folder, folder.parent, folder.parent.parent, archive):
        flush_directory(each)
    if len(before) >= MANY:
        _gather(archive, identity, archive_digest)
    keep = {part_name(*span) for span in spans(folder)}
    for path in folder.iterdir():
        if _PART.fullmatch(path.name.removesuffix(".tmp")) and path.name not in keep:
            with suppress(FileNotFoundError):
                path.unlink()


def _gather(archive: Path, identity: Identity, archive_digest: str) -> None:
    """Put the last parts, each smaller than twice those behind it, into one."""
    corpus = Corpus(archive, identity.scheme, identity.fingerprint)
    first, size = len(corpus.parts) - 1, corpus.parts[-1].rows
    while first and (corpus.parts[first - 1].rows < 2 * size or len(corpus.parts) - first < 2):  # noqa: PLR2004 - two at least
        first -= 1
        size += corpus.parts[first].rows
    folder = archive / FOLDER / identity.scheme / identity.fingerprint
    span = corpus.serials[first][0], corpus.serials[-1][1]
    write_part(folder / part_name(*span), identity, archive_digest, _joined(corpus, first))
    flush_directory(folder)


def _joined(corpus: Corpus, first: int) -> NewRows:
    """The rows of all parts from ``first`` on, in order of objects and segments."""
    every = [
        (rows.object, start, end, rows.first_row + at, rows.digest)
        for rows in corpus.objects()
        if rows.first_row >= corpus.bases[first]
        for at, (start, end) in enumerate(zip(rows.starts, rows.ends, strict=True))
    ]
    every.sort()
    objects, firsts, digests = array("I"), array("I"), bytearray()
    for at, (number, *_, digest) in enumerate(every):
        if not objects or objects[-1] != number:
            objects.append(number)
            firsts.append(at)
            digests += digest
    firsts.append(len(every))
    starts, ends = array("I", (each[1] for each in every)), array("I", (each[2] for each in every))
    chunks = (corpus.vector(each[3]).tobytes() for each in every)
    return NewRows(objects, bytes(digests), firsts, starts, ends, chunks)


def check(archive: Path, scheme: str, fingerprint: str, *, quick: bool) -> Iterator[tuple[str, str]]:
    """What is wrong with a corpus that opens: (path, message). ``quick`` compares no digest of a turn, and no sum."""
    corpus = Corpus(archive, scheme, fingerprint)
    with Record(archive) as record:  # opened behind the vectors, which are never of more than there is
        if corpus.identity.scheme != scheme:
            yield corpus.label, f"{corpus.label}: its vectors are of {corpus.identity.scheme}"
        seen: set[tuple[int, int, int]] = set()
        for part in corpus.parts:
            part.prove()
            for rows in part.objects():
                message = _wrong(record, rows, seen, quick=quick)
                if message:
                    yield part.label, f"{part.label}: {message}"


def _wrong(record: Record, rows: Rows, seen: set[tuple[int, int, int]], *, quick: bool) -> str:
    if rows.object >= record.head.objects:
        message = f"has vectors of object {rows.object}, and the archive has {record.head.objects}: it was replaced "
        return message + "by an older state, or by another archive"
    if quick:
        return ""
    row = record.objects.row(rows.object)
    if row.sha256 != rows.digest:
        return f"object {rows.object} was another turn when its vectors were attached"
    if not _are_ranges(rows.starts, rows.ends, row.length):
        return f"the segments of object {rows.object} are no ranges of its {row.length} bytes, in order"
    places = {(rows.object, start, end) for start, end in zip(rows.starts, rows.ends, strict=True)}
    twice = seen & places
    seen |= places
    return f"a segment of object {rows.object} has two vectors" if twice else ""


def _are_ranges(starts: Sequence[int], ends: Sequence[int], length: int) -> bool:
    if is_partition(ends, length) and list(starts) == [0, *ends[:-1]]:
        return True
    borders = [place for span in zip(starts, ends, strict=True) for place in span]
    ordered = all(one <= other for one, other in pairwise(borders))
    return ordered and all(start < end for start, end in zip(starts, ends, strict=True)) and borders[-1] <= length
