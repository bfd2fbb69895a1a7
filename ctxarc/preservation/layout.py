"""The layout of every file of the record: one named tuple and one ``Struct`` each, ``pack`` and ``unpack`` in a pair.

All integers are little-endian. ``man/ctxa.5`` has the same tables, and a test compares them with the structs here. An
``unpack`` checks length, magic, version, checksum, reserved bits and limits, in that order, before it believes a field.
"""

import re
from itertools import accumulate
from struct import Struct
from typing import NamedTuple, Self

from xxhash import xxh3_64_intdigest

from ctxarc.errors import BadMagic, ChecksumMismatch, IndexMismatch, LimitExceeded, Truncated, UnsupportedVersion

FORMAT_VERSION = 1
MARK = b"ctxarc archive, format 1\n"
"""The whole content of the file ``CTXA``."""

FRAME_LIMIT = 16 << 20
"""Bytes of turns that a pack holds at most, unless it holds one longer turn alone."""
TURN_LIMIT = 1 << 30
"""Bytes of the longest turn that an archive may hold."""
WINDOW_LOG = 24
"""log2 of the zstd window of packs with up to FRAME_LIMIT bytes: the whole pack."""
WINDOW_LOG_LIMIT = 27
"""log2 of the largest zstd window in a pack: what stock ``zstd -d`` accepts without options."""
HEAD_LIMIT = 1 << 28
"""Bytes of the largest HEAD."""
COUNT_LIMIT = 1 << 48
"""No count, length or offset in an archive is beyond this."""
OBJECT_LIMIT = 10**12
"""Objects that an archive may hold: their numbers, as the names of packs have them, sort as they count."""


def read_mark(data: bytes) -> None:
    """Check the content of ``CTXA``.

    Raises:
        UnsupportedVersion: written by a release with another format.
        BadMagic: anything else, with its own words for line ends that were converted.

    """
    if data == MARK:
        return
    if data.rstrip(b"\r\n") == MARK.rstrip(b"\n"):
        raise BadMagic(
            "CTXA: its line end was converted, so the archive went through a text-mode transfer",
            hint="copy the archive again in binary mode; its other files are damaged in the same way",
            path="CTXA",
        )
    match = re.fullmatch(rb"ctxarc archive, format ([0-9]{1,9})\n", data)
    if match:
        found = int(match[1])
        message = f"CTXA: format {found}, and this release reads format {FORMAT_VERSION}"
        raise UnsupportedVersion(message, path="CTXA", found=found, supported=FORMAT_VERSION)
    raise BadMagic(f"CTXA: {data[:32]!r} is not the mark of an archive", path="CTXA")


def checked(path: str, name: str, value: int, limit: int = COUNT_LIMIT) -> int:
    """``value`` where it is within its limit."""
    if value > limit:
        message = f"{path}: {name} is {value}, and the limit is {limit}"
        raise LimitExceeded(message, path=path, field=name, found=value, limit=limit)
    return value


FILE_HEADER = Struct("<8sHHI")
FILE_HEADER_FIELDS = ("magic", "version", "reserved", "checksum")


class FileHeader(NamedTuple):
    """The first bytes of ``objects`` and ``log``, and of every side file that is built of blocks."""

    magic: bytes

    def pack(self) -> bytes:
        """16 bytes; the checksum is the low half of XXH3 over those before it."""
        front = FILE_HEADER.pack(self.magic, FORMAT_VERSION, 0, 0)[:-4]
        return front + (xxh3_64_intdigest(front) & 0xFFFFFFFF).to_bytes(4, "little")

    def check(self, data: bytes, path: str) -> None:
        """Check that ``data``, the first bytes of the file at ``path``, is this header."""
        if len(data) < FILE_HEADER.size:
            message = f"{path}: {len(data)} bytes, and its header alone has {FILE_HEADER.size}"
            raise Truncated(message, path=path, found=len(data), expected=FILE_HEADER.size)
        magic, version, reserved, checksum = FILE_HEADER.unpack_from(data)
        if magic != self.magic:
            raise BadMagic(f"{path}: begins with {magic!r} where {self.magic!r} is due", path=path)
        if version != FORMAT_VERSION:
            message = f"{path}: format {version}, and this release reads format {FORMAT_VERSION}"
            raise UnsupportedVersion(message, path=path, found=version, supported=FORMAT_VERSION)
        if checksum != xxh3_64_intdigest(data[: FILE_HEADER.size - 4]) & 0xFFFFFFFF:
            raise ChecksumMismatch(f"{path}: the checksum of its header does not hold", path=path)
        if reserved:
            message = f"{path}: reserved bits {reserved:#x} are set"
            raise UnsupportedVersion(message, path=path, found=reserved, supported=0)


OBJECTS_HEADER = FileHeader(b"\x89CTXOBJ\n")
LOG_HEADER = FileHeader(b"\x89CTXLOG\n")


OBJECT_ROW = Struct("<32sI")


class ObjectRow(NamedTuple):
    """A row of ``objects``: the SHA-256 and the length of one distinct turn."""

    sha256: bytes
    length: int

    def pack(self) -> bytes:
        """36 bytes."""
        return OBJECT_ROW.pack(*self)


PACK_ROW = Struct("<QQQQ")


class PackRow(NamedTuple):
    """A row of HEAD's pack table: how many objects a pack holds, its bytes before and after zstd, and their XXH3."""

    objects: int
    raw_bytes: int
    stored_bytes: int
    checksum: int

    def pack(self) -> bytes:
        """32 bytes."""
        return PACK_ROW.pack(*self)

    def name(self, first: int) -> str:
        """The pack's file name, where its first object has the number ``first``."""
        return f"{first:012d}-{first + self.objects - 1:012d}-{self.checksum:016x}.zst"


TRANSCRIPT_ROW = Struct("<QQQQ")


class TranscriptRow(NamedTuple):
    """A row of HEAD's transcript table: XXH3 of the name, where its first and last entries begin, the last's number."""

    name_checksum: int
    first_entry: int
    last_entry: int
    last_capture: int

    def pack(self) -> bytes:
        """32 bytes."""
        return TRANSCRIPT_ROW.pack(*self)


HEAD_MAGIC = b"\x89CTXHED\n"
HEAD = Struct("<8sHHIQQQQQQQQ32sQ")
HEAD_FIELDS = (
    "magic",
    "version",
    "reserved",
    "packs",
    "transcripts",
    "captures",
    "objects",
    "object_bytes",
    "log_bytes",
    "leaves",
    "objects_tail",
    "log_tail",
    "root",
    "checksum",
)


class Head(NamedTuple):
    """HEAD: the only commit point. Nothing beyond the lengths it states is part of the archive."""

    captures: int
    objects: int
    object_bytes: int
    log_bytes: int
    leaves: int
    objects_tail: int
    log_tail: int
    root: bytes
    packs: tuple[PackRow, ...]
    transcripts: tuple[TranscriptRow, ...]
    peaks: tuple[bytes, ...]

    def pack(self) -> bytes:
        """The whole file: header, pack table, transcript table, Merkle peaks, XXH3 of those three."""
        header = HEAD.pack(
            HEAD_MAGIC,
            FORMAT_VERSION,
            0,
            len(self.packs),
            len(self.transcripts),
            self.captures,
            self.objects,
            self.object_bytes,
            self.log_bytes,
            self.leaves,
            self.objects_tail,
            self.log_tail,
            self.root,
            0,
        )[:-8]
        body = b"".join([*(row.pack() for row in self.packs), *(row.pack() for row in self.transcripts), *self.peaks])
        return b"".join([header, _sum(header), body, _sum(body)])

    @classmethod
    def unpack(cls, data: bytes) -> Self:
        """Read the whole file ``data``; every fault is a refusal of the damage family."""
        if len(data) < HEAD.size:
            message = f"HEAD: {len(data)} bytes, and its header alone has {HEAD.size}"
            raise Truncated(message, path="HEAD", found=len(data), expected=HEAD.size)
        magic, version, reserved, packs, transcripts, *numbers, root, checksum = HEAD.unpack_from(data)
        if magic != HEAD_MAGIC:
            raise BadMagic(f"HEAD: begins with {magic!r} where {HEAD_MAGIC!r} is due", path="HEAD")
        if version != FORMAT_VERSION:
            message = f"HEAD: format {version}, and this release reads format {FORMAT_VERSION}"
            raise UnsupportedVersion(message, path="HEAD", found=version, supported=FORMAT_VERSION)
        if checksum != xxh3_64_intdigest(data[: HEAD.size - 8]):
            raise ChecksumMismatch("HEAD: the checksum of its header does not hold", path="HEAD")
        if reserved:
            message = f"HEAD: reserved bits {reserved:#x} are set"
            raise UnsupportedVersion(message, path="HEAD", found=reserved, supported=0)
        captures, objects, object_bytes, log_bytes, leaves, objects_tail, log_tail = numbers
        for name, value in zip(HEAD_FIELDS[5:10], numbers, strict=False):
            checked("HEAD", name, value, OBJECT_LIMIT if name == "objects" else COUNT_LIMIT)
        peaks = leaves.bit_count()
        tables = packs * PACK_ROW.size, transcripts * TRANSCRIPT_ROW.size, peaks * 32
        expected = HEAD.size + sum(tables) + 8
        checked("HEAD", "its length", expected, HEAD_LIMIT)
        if len(data) != expected:
            message = f"HEAD: {len(data)} bytes, and its tables make {expected}"
            raise Truncated(message, path="HEAD", found=len(data), expected=expected)
        body = memoryview(data)[HEAD.size : -8]
        if xxh3_64_intdigest(body) != int.from_bytes(data[-8:], "little"):
            raise ChecksumMismatch("HEAD: the checksum of its tables does not hold", path="HEAD")
        first, second = tables[0], tables[0] + tables[1]
        head = cls(
            captures=captures,
            objects=objects,
            object_bytes=object_bytes,
            log_bytes=log_bytes,
            leaves=leaves,
            objects_tail=objects_tail,
            log_tail=log_tail,
            root=root,
            packs=tuple(PackRow(*row) for row in PACK_ROW.iter_unpack(body[:first])),
            transcripts=tuple(TranscriptRow(*row) for row in TRANSCRIPT_ROW.iter_unpack(body[first:second])),
            peaks=tuple(bytes(body[at : at + 32]) for at in range(second, len(body), 32)),
        )
        head._check()
        return head

    def pack_names(self) -> set[str]:
        """The names of all packs."""
        starts = accumulate((row.objects for row in self.packs), initial=0)
        return {row.name(first) for row, first in zip(self.packs, starts, strict=False)}

    def _check(self) -> None:
        """The tables against the header and against the limits of the format."""
        for row in self.packs:
            single = row.objects == 1
            checked("HEAD", "a pack's bytes", row.raw_bytes, TURN_LIMIT if single else FRAME_LIMIT)
            checked("HEAD", "a pack's stored bytes", row.stored_bytes, TURN_LIMIT + (TURN_LIMIT >> 7) + 1024)
            if not row.objects or row.raw_bytes < row.objects:
                message = f"HEAD: a pack of {row.objects} objects and {row.raw_bytes} bytes"
                raise IndexMismatch(message, path="HEAD", objects=row.objects, raw_bytes=row.raw_bytes)
        sums = sum(row.objects for row in self.packs), sum(row.raw_bytes for row in self.packs)
        if sums != (self.objects, self.object_bytes):
            message = f"HEAD: its packs hold {sums[0]} objects of {sums[1]} bytes, "
            message += f"its header says {self.objects} of {self.object_bytes}"
            raise IndexMismatch(message, path="HEAD", found=list(sums), expected=[self.objects, self.object_bytes])
        for entry in self.transcripts:
            ordered = entry.first_entry <= entry.last_entry < self.log_bytes
            if not ordered or not 0 < entry.last_capture <= self.captures:
                message = (
                    f"HEAD: a transcript's entries at {entry.first_entry} and {entry.last_entry} of {self.log_bytes}"
                )
                raise IndexMismatch(message, path="HEAD", first=entry.first_entry, last=entry.last_entry)


def _sum(data: bytes) -> bytes:
    return xxh3_64_intdigest(data).to_bytes(8, "little")


EMPTY_ROOT = bytes.fromhex("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
"""The root of a Merkle tree without leaves (RFC 9162, section 2.1.1): SHA-256 of nothing."""
EMPTY_HEAD = Head(
    captures=0,
    objects=0,
    object_bytes=0,
    log_bytes=0,
    leaves=0,
    objects_tail=xxh3_64_intdigest(b""),
    log_tail=xxh3_64_intdigest(b""),
    root=EMPTY_ROOT,
    packs=(),
    transcripts=(),
    peaks=(),
)
