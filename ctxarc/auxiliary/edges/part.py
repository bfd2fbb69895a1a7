"""A part of the relations on disk: what a range of objects states, in the file of an index of segments.

Where that has the cuts of a turn, this has where its statements end; behind them stand, compressed, their names, where
they begin, their kinds, and the dialect of each object. ``man/ctxa.5`` has the layout.
"""

from __future__ import annotations

from array import array
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import zstandard

from ctxarc.auxiliary.edges.statements import DIALECTS, RELATIONS, Kind, Statement
from ctxarc.auxiliary.projection import PROJECTION
from ctxarc.auxiliary.segments.part import About, Cuts, Part, little, numbers, part_name
from ctxarc.errors import IndexMismatch

if TYPE_CHECKING:
    from ctxarc.auxiliary.edges.statements import Stated

MAGIC = b"\x89CTXEDG\n"
SUFFIX = ".edg"
_LEVEL = 9
_NAME_OF = {number: name for name, number in DIALECTS.items()}


class _Columns(NamedTuple):
    """What stands behind the ends of a part's statements."""

    names: Any
    starts: Any
    kinds: bytes
    dialects: bytes


class EdgePart(Part):
    """A part, mapped into memory, its checksums compared; see :class:`Part`."""

    magic = MAGIC
    has_tail = True

    def __init__(self, path: Any, label: str) -> None:  # noqa: ANN401 - a path, as of Part
        super().__init__(path, label)
        if self.about.parameters != DIALECTS:
            raise IndexMismatch(f"{label}: its dialects are {self.about.parameters}, and not {DIALECTS}", path=label)

    @cached_property
    def columns(self) -> _Columns:
        """Its columns, inflated.

        Raises:
            IndexMismatch: they are none of ours.

        """
        count, size = self.segments, 13 * self.segments + self.objects
        try:
            found = zstandard.frame_content_size(self.tail)
            if found != size:
                message = f"{self.label}: {found} bytes behind its statements, and {size} are due"
                raise IndexMismatch(message, path=self.label, found=found, expected=size)
            data = zstandard.ZstdDecompressor().decompress(self.tail, allow_extra_data=False)
        except zstandard.ZstdError as error:
            message = f"{self.label}: its statements cannot be inflated ({error})"
            raise IndexMismatch(message, path=self.label) from error
        view = memoryview(data)
        kinds, dialects = data[12 * count : 13 * count], data[13 * count :]
        if max(kinds, default=0) > max(Kind) or max(dialects, default=0) not in _NAME_OF:
            raise IndexMismatch(f"{self.label}: a statement or a dialect of no known kind", path=self.label)
        return _Columns(numbers(view[: 8 * count], "Q"), numbers(view[8 * count : 12 * count]), kinds, dialects)

    def statements(self, number: int) -> tuple[Statement, ...]:
        """What object ``number`` states."""
        ends = self.ends(number)
        first = self.starts[number - self.first]
        each = self.columns
        last = first + len(ends)
        columns = (each.kinds[first:last], each.names[first:last], each.starts[first:last], ends)
        return tuple(Statement(*row) for row in zip(*columns, strict=True))

    def dialect(self, number: int) -> str:
        """The dialect of object ``number``."""
        return _NAME_OF[self.columns.dialects[number - self.first]]


class PartMaker:
    """Makes a part of consecutive objects from ``first`` on."""

    def __init__(self, first: int) -> None:
        self.cuts = Cuts.empty(first)
        self._names, self._starts = array("Q"), array("I")
        self._kinds, self._dialects = bytearray(), bytearray()

    def add(self, digest: bytes, found: Stated) -> None:
        """Take in what the next object states."""
        self.cuts.add(digest, [each.end for each in found.statements])
        self._names.extend(each.name for each in found.statements)
        self._starts.extend(each.start for each in found.statements)
        self._kinds.extend(each.kind for each in found.statements)
        self._dialects.append(DIALECTS[found.dialect])

    def extend(self, part: EdgePart) -> None:
        """Take in a part whose first object is the next."""
        columns = part.columns
        part.copy_to(self.cuts)
        self._names.extend(columns.names)
        self._starts.extend(columns.starts)
        self._kinds += columns.kinds
        self._dialects += columns.dialects

    def join(self, other: PartMaker) -> None:
        """Take in what another has made of the objects behind these."""
        self.cuts.extend(other.cuts)
        self._names.extend(other._names)
        self._starts.extend(other._starts)
        self._kinds += other._kinds
        self._dialects += other._dialects

    @property
    def name(self) -> str:
        """The name of its file."""
        return part_name(self.cuts.first, self.cuts.objects, SUFFIX)

    def pack(self, archive_digest: str) -> bytes:
        """The whole file."""
        data = b"".join([little(self._names), little(self._starts), self._kinds, self._dialects])
        frame = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compress(data)
        return self.cuts.pack(About(RELATIONS, DIALECTS, PROJECTION, archive_digest), MAGIC, frame)
