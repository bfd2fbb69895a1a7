"""Whose each row of vectors is: ids looked up among the segments of an index, all of them before anything is stored."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from hashlib import blake2b
from itertools import islice
from operator import lt
from typing import TYPE_CHECKING, NamedTuple

from ctxarc.auxiliary.projection import RAW, raw_view, views
from ctxarc.auxiliary.vectors.corpus import foreign
from ctxarc.auxiliary.vectors.projections import Projection, parse
from ctxarc.auxiliary.vectors.writing import NewRows
from ctxarc.errors import MalformedVectors, UnknownSegment
from ctxarc.operations.view import View
from ctxarc.preservation.objects import digests_of, lengths_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ctxarc.auxiliary.segments.index import Index
    from ctxarc.auxiliary.vectors.corpus import Rows
    from ctxarc.operations.vector_inputs.rows import Given
    from ctxarc.preservation.record import Record

_SEGMENT_BITS = 32
"""Bits of a place that count the segments of an object."""
_SEGMENT_MASK = (1 << _SEGMENT_BITS) - 1
_ID = 37
"""Length of ``ctxa:`` and the digits of a digest that an id has."""
_ROWS = 8192
"""Rows of the table of objects that are read at a time."""


class Placed(NamedTuple):
    """Segments that rows of vectors are for, in order.

    Attributes:
        keys: each segment: the number of its object, shifted by 32 bits, and its number in the object.
        rows: the row of its vector.

    """

    keys: array[int]
    rows: Sequence[int]

    def new_rows(self, given: Given, segments: Segments) -> NewRows:
        """The same as a part is written of."""
        objects, firsts, starts, ends = array("I"), array("I", [0]), array("I"), array("I")
        at = 0
        while at < len(self.keys):
            number = self.keys[at] >> _SEGMENT_BITS
            behind = bisect_left(self.keys, (number + 1) << _SEGMENT_BITS, at)
            held = [0, *segments.ends(number)]
            if behind - at == len(held) - 1:
                starts.fromlist(held[:-1])
                ends.fromlist(held[1:])
            else:
                places = [key & _SEGMENT_MASK for key in self.keys[at:behind]]
                starts.extend(map(held.__getitem__, places))
                ends.extend(held[place + 1] for place in places)
            objects.append(number)
            firsts.append(behind)
            at = behind
        digests = b"".join(segments.digests[number] for number in objects)
        return NewRows(objects, digests, firsts, starts, ends, self._chunks(given))

    def _chunks(self, given: Given) -> Iterator[memoryview]:
        """The bytes of the rows: in one piece as far as they lie together."""
        size = 4 * given.width
        at = 0
        while at < len(self.rows):
            first = self.rows[at]
            count = 1
            if isinstance(self.rows, range):
                count = len(self.rows)
            else:
                while at + count < len(self.rows) and self.rows[at + count] == first + count:
                    count += 1
            yield given.data[first * size : (first + count) * size]
            at += count


class Segments:
    """The segments of an index, by their ids."""

    def __init__(self, record: Record, index: Index) -> None:
        self.record, self.index = record, index
        self.digests: list[bytes] = []
        lengths = array("I")
        for first in range(0, record.head.objects, _ROWS):
            rows = record.objects.rows(first, min(_ROWS, record.head.objects - first))
            self.digests += digests_of(rows)
            lengths += lengths_of(rows)
        self._lengths = lengths
        self._ends: dict[int, Sequence[int]] = {}

    def ends(self, number: int) -> Sequence[int]:
        """Where the segments of an object end."""
        ends = self._ends.get(number)
        if ends is None:
            ends = self._ends[number] = self.index.ends(number, self.digests[number], self._lengths[number])
        return ends

    def spans(self, rows: Rows) -> list[int | None]:
        """The segments that rows of vectors are of; ``None`` for one that the index does not have any more.

        Raises:
            IndexMismatch: the vectors were attached to another turn.

        """
        number = rows.object
        if number >= len(self.digests) or self.digests[number] != rows.digest:
            raise foreign(rows)
        ends = self.ends(number)
        base = number << _SEGMENT_BITS
        if list(rows.ends) == list(ends) and list(rows.starts) == [0, *ends[:-1]]:
            return list(range(base, base + len(ends)))
        keys = {span: key for key, span in enumerate(zip([0, *ends], ends, strict=False), base)}
        return [keys.get(span) for span in zip(rows.starts, rows.ends, strict=True)]

    def covered(self, held: Iterable[int], new: NewRows) -> tuple[int, int]:
        """How many segments of the newest states are ``held`` or ``new``, and how many segments those have."""
        live = {turn.object: len(self.ends(turn.object)) for _, turn in View(self.record).distinct()}
        counts = Counter(key >> _SEGMENT_BITS for key in held)
        counts.update(dict(zip(new.objects, map(int.__rsub__, new.firsts, new.firsts[1:]), strict=False)))
        return sum(count for number, count in counts.items() if number in live), sum(live.values())

    def place(self, given: Given) -> Placed:
        """The segments that the rows of ``given`` are for.

        Raises:
            UnknownSegment: some are of no segment that the index has.
            MalformedVectors: two are of one segment.

        """
        numbers = {b"ctxa:" + digest[:16].hex().encode(): number for number, digest in enumerate(self.digests)}
        keys = array("Q")
        unknown: list[int] = []
        seen: dict[bytes, dict[bytes, int]] = {}
        ids = given.ids
        row = 0
        while row < len(ids):
            head = ids[row][:_ID]
            number = numbers.get(head)
            if head not in seen and number is not None:
                seen[head] = {}
                if count := self._whole(ids, row, head, number):
                    keys.extend(range(number << _SEGMENT_BITS, (number << _SEGMENT_BITS) + count))
                    row += count
                    continue
            if number is not None and not seen[head]:
                seen[head] = self._by_span(number)
            key = seen[head].get(ids[row][_ID:]) if number is not None else None
            if key is None:
                unknown.append(row)
            else:
                keys.append(key)
            row += 1
        if unknown:
            raise self._unknown(given, unknown, numbers)
        return _ordered(given, keys)

    def _whole(self, ids: list[bytes], row: int, head: bytes, number: int) -> int:
        """How many segments an object has, if the ids from ``row`` on are those of all of them, in order; else 0.

        That is how an export has them, and comparing them at once takes a fraction of the time.
        """
        ends = self.ends(number)
        pairs = [0] * (2 * len(ends))
        pairs[1::2] = ends
        pairs[2::2] = ends[:-1]
        whole = (head + b":%d-%d\n") * len(ends) % tuple(pairs)
        return len(ends) if whole[:-1] == b"\n".join(ids[row : row + len(ends)]) else 0

    def _by_span(self, number: int) -> dict[bytes, int]:
        """The segments of an object, by what their ids say behind the digest."""
        ends = self.ends(number)
        base = number << _SEGMENT_BITS
        pairs = zip([0, *ends], ends, strict=False)
        return {f":{start}-{end}".encode(): base + at for at, (start, end) in enumerate(pairs)}

    def _unknown(self, given: Given, unknown: list[int], numbers: dict[bytes, int]) -> UnknownSegment:
        row = unknown[0]
        name = given.ids[row]
        if name[:_ID] in numbers:
            why = f"no segment of the index of {self.index.scheme}"
        else:
            is_id = name.startswith(b"ctxa:") and len(name) > _ID
            why = "no turn of this archive has those bytes" if is_id else "no id of a segment"
        others = f"; and {len(unknown) - 1:,} more" if len(unknown) > 1 else ""
        return UnknownSegment(f"{given.place(row)}: {why}{others}", row=row, unknown=len(unknown))

    def alike(self, placed: Placed, projection: str) -> Iterator[tuple[int, int]]:
        """Every other segment whose text is that of one in ``placed``, with the row of that one.

        Texts are compared by 128 bits of BLAKE2b, as they are where an export takes each text once. What stands before
        them in a projection is the same for all, so that only where they are cut counts.
        """
        known = parse(projection) or Projection(projection.partition("+")[0])
        rows: dict[bytes, int] = {}
        wanted = iter(placed.keys)
        key, at = next(wanted, -1), 0
        others: list[tuple[int, bytes]] = []
        for number in range(len(self.digests)):
            for place, text in enumerate(self._texts(number, known), number << _SEGMENT_BITS):
                if place == key:
                    rows.setdefault(text, placed.rows[at])
                    key, at = next(wanted, -1), at + 1
                else:
                    others.append((place, text))
        for place, text in others:
            if text in rows:
                yield place, rows[text]

    def _texts(self, number: int, projection: Projection) -> Iterator[bytes]:
        """A name of the text of each segment of an object."""
        ends = self.ends(number)
        if not ends:
            return
        turn = bytes(self.record.turn_bytes(number))
        if projection.base == RAW:
            texts = [raw_view(turn[start:end]) for start, end in zip([0, *ends], ends, strict=False)]
        else:
            texts = [text for _, _, text in views(turn, ends)]
        cut = None if projection.redacted else projection.cut  # another text was cut, of which these tell nothing
        for text in texts:
            yield blake2b(text[:cut].encode(), digest_size=16).digest()


def _ordered(given: Given, keys: array[int]) -> Placed:
    """Rows in order of their segments.

    Raises:
        MalformedVectors: two are of one segment.

    """
    if all(map(lt, keys, islice(keys, 1, None))):
        return Placed(keys, range(len(keys)))
    rows = array("Q", sorted(range(len(keys)), key=keys.__getitem__))
    for row, after in zip(rows, islice(rows, 1, None), strict=False):
        if keys[row] == keys[after]:
            message = f"{given.place(after)}: given twice, the first time in {_short_place(given, row)}"
            raise MalformedVectors(message, rows=[row, after])
    return Placed(array("Q", (keys[row] for row in rows)), rows)


def _short_place(given: Given, row: int) -> str:
    return f"row {row}" if given.lines is None else f"line {given.lines[row]}"
