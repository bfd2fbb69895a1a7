"""A corpus: the vectors of one identity for the segments of one scheme, in ``vectors/SCHEME/FINGERPRINT``.

Each attach adds a part with the next serial number; a part is never rewritten. Where many small ones would stand, the
last of them are gathered into one whose name spans their serial numbers, and then removed: the wider span counts.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from ctxarc.auxiliary.segments.index import is_partition
from ctxarc.auxiliary.vectors.folders import FOLDER, check_folders, corpora, is_part, is_part_name, part_name, spans
from ctxarc.auxiliary.vectors.part import Part, Rows
from ctxarc.auxiliary.vectors.proving import wrong_numbers
from ctxarc.auxiliary.vectors.sums import mean_of
from ctxarc.auxiliary.vectors.writing import NewRows, write_part
from ctxarc.errors import Damage, IndexMismatch, Truncated
from ctxarc.preservation.files import flush_directory
from ctxarc.preservation.record import Record

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ctxarc.auxiliary.vectors.identity import Identity

__all__ = ["FOLDER", "Corpus", "NewRows", "Place", "Rows", "add", "check", "corpora", "is_part"]

MANY = 16
"""Parts that stand side by side before the last ones are gathered."""
_TRIES = 5
"""Times that the parts are listed again since a writer has gathered them meanwhile."""


class Place(NamedTuple):
    """The segment that a row is of."""

    object: int
    start: int
    end: int


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
        self._scheme, self._fingerprint = scheme, fingerprint
        self.label = f"{FOLDER}/{scheme}/{fingerprint}"
        self._folder = archive / FOLDER / scheme / fingerprint
        check_folders(archive, scheme, fingerprint)
        for tries in range(_TRIES):
            try:
                self._open()
            except Damage as damage:
                # A part that was listed and is not there has been gathered into another.
                gone = isinstance(damage, Truncated) and damage.facts.get("found") is None and "path" in damage.facts
                if gone and tries < _TRIES - 1:
                    continue
                damage.hint = f"remove {self.label}, and attach its vectors again; the record is not touched"
                raise
            break

    def _open(self) -> None:
        self.parts: list[Part] = []
        self.serials: list[tuple[int, int]] = []
        self.bases = [0]
        for first, last in spans(self._folder, self.label):
            name = part_name(first, last)
            part = Part(self._folder / name, f"{self.label}/{name}")
            there = part.header.identity
            if (there.scheme, there.fingerprint) != (self._scheme, self._fingerprint):
                message = f"{part.label}: its vectors are of another identity, {there.fingerprint} of {there.scheme}"
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
        """The mean of all rows, a dimension the float64 number that is nearest to it: the same in whatever parts."""
        return mean_of(list(map(sum, zip(*(part.sums for part in self.parts), strict=True))), self.rows)

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

    def row_of(self, number: int, start: int, end: int) -> int | None:
        """The row of a segment of object ``number``; ``None`` where it has none."""
        for part, base in zip(self.parts, self.bases, strict=False):
            tables = part.tables
            at = bisect_left(tables.objects, number)
            if at < len(tables.objects) and tables.objects[at] == number:
                row = bisect_left(tables.starts, start, tables.firsts[at], tables.firsts[at + 1])
                if row < tables.firsts[at + 1] and (tables.starts[row], tables.ends[row]) == (start, end):
                    return base + row
        return None

    def stored(self, row: int) -> memoryview:
        """The bytes of a row: float32, little-endian.

        Raises:
            ChecksumMismatch: they are not what was written.

        """
        part, at = self._at(row)
        part.prove(at, at + 1)
        size = 4 * self.identity.dimensions
        return part.data[at * size : (at + 1) * size]

    def vector(self, row: int) -> array[float]:
        """A row, as float32 numbers."""
        vector = array("f", bytes(self.stored(row)))
        if sys.byteorder == "big":  # pragma: no cover - files are little-endian
            vector.byteswap()
        return vector


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
    check_folders(archive, identity.scheme, fingerprint)
    folder = archive / FOLDER / identity.scheme / fingerprint
    label = f"{FOLDER}/{identity.scheme}/{fingerprint}"
    before = spans(folder, label)
    serial = before[-1][1] + 1 if before else 1
    folder.mkdir(parents=True, exist_ok=True)
    write_part(folder / part_name(serial, serial), identity, archive_digest, new)
    for each in (folder, folder.parent, folder.parent.parent, archive):
        flush_directory(each)
    if len(before) >= MANY:
        with suppress(Damage):  # of an older part, which stays as it is; the new one is stored
            _gather(archive, identity, archive_digest)
    keep = {part_name(*span) for span in spans(folder, label)}
    for path in folder.iterdir():
        if is_part_name(path.name) and path.name not in keep:
            with suppress(FileNotFoundError):
                path.unlink()


def _gather(archive: Path, identity: Identity, archive_digest: str) -> None:
    """Put the last parts, each smaller than twice those behind it, into one."""
    corpus = Corpus(archive, identity.scheme, identity.fingerprint)
    first, size = len(corpus.parts) - 2, corpus.parts[-1].rows + corpus.parts[-2].rows
    while first and corpus.parts[first - 1].rows < 2 * size:
        first -= 1
        size += corpus.parts[first].rows
    folder = archive / FOLDER / identity.scheme / identity.fingerprint
    span = corpus.serials[first][0], corpus.serials[-1][1]
    write_part(folder / part_name(*span), identity, archive_digest, _joined(corpus, first))
    flush_directory(folder)


def _joined(corpus: Corpus, first: int) -> NewRows:
    """The rows of all parts from ``first`` on, in order of objects and segments."""
    by_object: dict[int, list[Rows]] = {}
    for part, base in zip(corpus.parts[first:], corpus.bases[first:], strict=False):
        for rows in part.objects(base):
            by_object.setdefault(rows.object, []).append(rows)
    objects, digests, firsts = array("I", sorted(by_object)), bytearray(), array("I", [0])
    starts, ends, order = array("I"), array("I"), array("Q")
    for number in objects:
        every = by_object[number]
        digests += every[0].digest
        spans_of = [
            (start, end, rows.first_row + at)
            for rows in every
            for at, (start, end) in enumerate(zip(rows.starts, rows.ends, strict=True))
        ]
        for start, end, row in sorted(spans_of):
            starts.append(start)
            ends.append(end)
            order.append(row)
        firsts.append(len(order))
    return NewRows(objects, bytes(digests), firsts, starts, ends, map(corpus.stored, order))


def foreign(rows: Rows) -> IndexMismatch:
    """The refusal of vectors that were attached to another turn than the record has in its place."""
    message = f"object {rows.object} was {rows.digest.hex()} when its vectors were attached, and is another turn now"
    hint = f"remove {FOLDER}/ from the archive, and attach vectors of its own; the record is not touched"
    return IndexMismatch(message, hint=hint, object=rows.object)


def check(archive: Path, scheme: str, fingerprint: str, *, quick: bool) -> Iterator[tuple[str, str]]:
    """What is wrong with a corpus that opens: (path, message).

    ``quick`` compares rows with their checksums, and not their numbers, nor turns with their digests.
    """
    corpus = Corpus(archive, scheme, fingerprint)
    with Record(archive) as record:  # opened behind the vectors, which are never of more than there is
        counts = Counter(number for part in corpus.parts for number in part.tables.objects)
        several = {number: set[tuple[int, int]]() for number, count in counts.items() if count > 1}
        for part in corpus.parts:
            part.prove()
            message = "" if quick else wrong_numbers(part)
            if message:
                yield part.label, f"{part.label}: {message}"
            for rows in part.objects():
                message = _wrong(record, rows, several.get(rows.object), quick=quick)
                if message:
                    yield part.label, f"{part.label}: {message}"


def _wrong(record: Record, rows: Rows, seen: set[tuple[int, int]] | None, *, quick: bool) -> str:
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
    if seen is None:
        return ""
    places = set(zip(rows.starts, rows.ends, strict=True))
    twice = seen & places
    seen |= places
    return f"a segment of object {rows.object} has two vectors" if twice else ""


def _are_ranges(starts: Sequence[int], ends: Sequence[int], length: int) -> bool:
    if is_partition(ends, length) and list(starts) == [0, *ends[:-1]]:
        return True
    borders = [place for span in zip(starts, ends, strict=True) for place in span]
    ordered = all(one <= other for one, other in pairwise(borders))
    return ordered and all(start < end for start, end in zip(starts, ends, strict=True)) and borders[-1] <= length
