"""A part of an index on disk: the cuts of a range of objects, in arrays that are mapped as they lie.

``man/ctxa.5`` has the table. A part is written once, under a temporary name, and never changed.
"""

import json
import mmap
import os
import sys
from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path
from struct import Struct
from typing import Any, NamedTuple, Self

from xxhash import xxh3_64, xxh3_64_intdigest

from ctxarc.errors import BadMagic, ChecksumMismatch, IndexMismatch, LimitExceeded, Truncated, UnsupportedVersion
from ctxarc.preservation.files import open_file, read_at
from ctxarc.preservation.layout import COUNT_LIMIT, OBJECT_LIMIT

MAGIC = b"\x89CTXSEG\n"
VERSION = 1
HEADER = Struct("<8sHHIQQQQQQ")
HEADER_FIELDS = (
    "magic",
    "version",
    "reserved",
    "about_bytes",
    "first",
    "objects",
    "segments",
    "stored_bytes",
    "body_checksum",
    "checksum",
)
ABOUT_LIMIT = 1 << 20
"""Bytes of the largest description."""
_ALIGNED = 64
_DIGEST = 32


class About(NamedTuple):
    """What a part says of itself.

    Attributes:
        scheme: the scheme's name with its version.
        parameters: the numbers that it works with; none for a user's own cuts.
        projection: how its segments become text unless it is said otherwise.
        archive_digest: the state of the archive that it was built from.
        own: whether a user brought the cuts.

    """

    scheme: str
    parameters: dict[str, int]
    projection: str
    archive_digest: str
    own: bool = False

    def pack(self) -> bytes:
        """JSON, padded with blanks so that what follows is aligned."""
        text = json.dumps(self._asdict(), sort_keys=True, separators=(",", ":")).encode()
        return text + b" " * (-len(text) % _ALIGNED)

    @classmethod
    def unpack(cls, data: bytes, path: str) -> Self:
        """The description in ``data``."""
        try:
            fields = json.loads(data)
            about = cls(**fields)
        except (ValueError, TypeError, RecursionError) as error:
            raise IndexMismatch(f"{path}: its description cannot be read ({error})", path=path) from error
        kinds = (str, dict, str, str, bool)
        if not all(isinstance(value, kind) for value, kind in zip(about, kinds, strict=True)):
            raise IndexMismatch(f"{path}: its description has values of wrong kinds", path=path)
        return about


class Cuts(NamedTuple):
    """The cuts of consecutive objects, to be written.

    Attributes:
        first: number of the first object.
        digests: SHA-256 of each, joined.
        starts: number of the first segment of each object, and the number of segments in all.
        ends: where each segment ends in its turn.

    """

    first: int
    digests: bytearray
    starts: "array[int]"
    ends: "array[int]"

    @classmethod
    def empty(cls, first: int) -> Self:
        """No cuts yet."""
        return cls(first, bytearray(), array("I", [0]), array("I"))

    def add(self, digest: bytes, ends: Iterable[int]) -> None:
        """Append the cuts of the next object; none where it is not covered."""
        self.digests.extend(digest)
        self.ends.extend(ends)
        self.starts.append(len(self.ends))

    def extend(self, other: "Cuts") -> None:
        """Append the cuts of the objects behind these."""
        base = len(self.ends)
        self.digests.extend(other.digests)
        self.ends.extend(other.ends)
        self.starts.extend(base + start for start in other.starts[1:])

    @property
    def objects(self) -> int:
        """Number of objects."""
        return len(self.starts) - 1

    def pack(self, about: About, magic: bytes = MAGIC, tail: bytes = b"") -> bytes:
        """The whole file; ``tail`` is what a part of another kind has behind the cuts."""
        said = about.pack()
        body = b"".join([said, bytes(self.digests), little(self.starts), little(self.ends), tail])
        counts = (self.first, self.objects, len(self.ends), HEADER.size + len(body), xxh3_64_intdigest(body))
        front = HEADER.pack(magic, VERSION, 0, len(said), *counts, 0)[:-8]
        return front + xxh3_64_intdigest(front).to_bytes(8, "little") + body

    @property
    def name(self) -> str:
        """The name of its file."""
        return part_name(self.first, self.objects)


def part_name(first: int, objects: int, suffix: str = ".seg") -> str:
    """The name of a part with ``objects`` objects from ``first`` on."""
    return f"{first:012d}-{first + objects - 1:012d}{suffix}"


def little(numbers: "array[int]") -> bytes:
    """The bytes of ``numbers`` as they lie in a file."""
    if sys.byteorder == "big":  # pragma: no cover - files are little-endian
        numbers = numbers[:]
        numbers.byteswap()
    return numbers.tobytes()


class Part:
    """A part, mapped into memory, its checksums compared.

    Args:
        path: its file.
        label: what messages call it: its path in the archive.

    Raises:
        Truncated, BadMagic, UnsupportedVersion, ChecksumMismatch, LimitExceeded, IndexMismatch: it is damaged, or
            another release wrote it.

    """

    magic = MAGIC
    has_tail = False
    """Whether something stands behind the cuts."""

    def __init__(self, path: Path, label: str) -> None:
        self.label = label
        descriptor = open_file(path, label)
        try:
            length = os.fstat(descriptor).st_size
            about_bytes, self.first, self.objects, self.segments, body_checksum = self._header(descriptor, length)
            self._map = mmap.mmap(descriptor, length, access=mmap.ACCESS_READ)
        finally:
            os.close(descriptor)
        view = memoryview(self._map)
        if _checksum(view[HEADER.size :]) != body_checksum:
            view.release()
            raise ChecksumMismatch(f"{label}: the checksum of its body does not hold", path=label)
        at = HEADER.size + about_bytes
        self.about = About.unpack(bytes(view[HEADER.size : at]), label)
        self.digests = view[at : at + _DIGEST * self.objects]
        at += _DIGEST * self.objects
        self.starts = numbers(view[at : at + 4 * (self.objects + 1)])
        at += 4 * (self.objects + 1)
        self._ends = numbers(view[at : at + 4 * self.segments])
        self.tail = view[at + 4 * self.segments :]
        if self.starts[0] or self.starts[self.objects] != self.segments:
            raise IndexMismatch(f"{label}: its segments are not {self.segments}", path=label)
        self.stored_bytes = length

    def _header(self, descriptor: int, length: int) -> tuple[int, int, int, int, int]:
        label = self.label
        if length < HEADER.size:
            message = f"{label}: {length} bytes, and its header alone has {HEADER.size}"
            raise Truncated(message, path=label, found=length, expected=HEADER.size)
        data = read_at(descriptor, 0, HEADER.size, label)
        magic, version, reserved, about, first, objects, segments, stored, body, checksum = HEADER.unpack(data)
        if magic != self.magic:
            raise BadMagic(f"{label}: begins with {magic!r} where {self.magic!r} is due", path=label)
        if version != VERSION:
            message = f"{label}: version {version}, and this release reads version {VERSION}"
            raise UnsupportedVersion(message, path=label, found=version, supported=VERSION)
        if checksum != xxh3_64_intdigest(data[:-8]):
            raise ChecksumMismatch(f"{label}: the checksum of its header does not hold", path=label)
        if reserved:
            raise UnsupportedVersion(
                f"{label}: reserved bits {reserved:#x} are set", path=label, found=reserved, supported=0
            )
        for name, value, limit in (
            ("about_bytes", about, ABOUT_LIMIT),
            ("first", first, OBJECT_LIMIT),
            ("objects", objects, OBJECT_LIMIT),
            ("segments", segments, COUNT_LIMIT),
        ):
            if value > limit:
                message = f"{label}: {name} is {value}, and the limit is {limit}"
                raise LimitExceeded(message, path=label, field=name, found=value, limit=limit)
        if length != stored:
            message = f"{label}: {length} bytes, and its header says {stored}"
            raise Truncated(message, path=label, found=length, expected=stored)
        cuts = HEADER.size + about + _DIGEST * objects + 4 * (objects + 1 + segments)
        if stored < cuts or (stored > cuts and not self.has_tail):
            raise IndexMismatch(
                f"{label}: {stored} bytes do not hold {objects} objects and {segments} segments", path=label
            )
        return about, first, objects, segments, body

    def holds(self, number: int) -> bool:
        """Whether object ``number`` is in this part."""
        return self.first <= number < self.first + self.objects

    def digest(self, number: int) -> bytes:
        """The SHA-256 of object ``number`` as it was when it was cut."""
        at = _DIGEST * (number - self.first)
        return bytes(self.digests[at : at + _DIGEST])

    def ends(self, number: int) -> Sequence[int]:
        """Where the segments of object ``number`` end in its turn; empty where it was not cut."""
        start, end = self.starts[number - self.first], self.starts[number - self.first + 1]
        if not start <= end <= self.segments:
            raise IndexMismatch(f"{self.label}: object {number} has segments {start} to {end}", path=self.label)
        ends: Sequence[int] = self._ends[start:end]
        return ends

    def copy_to(self, cuts: Cuts) -> None:
        """Append all cuts to ``cuts``, whose next object is this part's first."""
        base = len(cuts.ends)
        cuts.digests.extend(self.digests)
        cuts.ends.extend(self._ends)
        cuts.starts.extend(base + start for start in self.starts[1:])


def _checksum(body: memoryview) -> int:
    return xxh3_64(body).intdigest()


def numbers(data: memoryview, kind: Any = "I") -> Any:  # noqa: ANN401 - a view or an array, both of numbers
    """The numbers in ``data``, little-endian, as :mod:`array` calls their ``kind``."""
    if sys.byteorder == "big":  # pragma: no cover - files are little-endian
        swapped = array(kind, bytes(data))
        swapped.byteswap()
        return swapped
    return data.cast(kind)
