"""An entry of the log: one capture of one transcript, as a step from the state before it.

An entry says: keep the first ``keep`` turns of the transcript's state, then append these runs. A run is a stretch of
consecutive objects, or a gap: turns of the source that were left out on purpose, by number and bytes. Beside them
stands the acquisition record (path, time of the file, host, tool, clock), which is in no digest.
"""

from collections.abc import Iterable
from struct import Struct
from typing import NamedTuple, Self

from ctxarc.errors import IndexMismatch, UnsupportedVersion
from ctxarc.preservation.layout import checked
from ctxarc.preservation.naming import NAME_LIMIT, fault_of_name
from ctxarc.preservation.varint import Cursor, encode

TEXT_LIMIT = 1 << 14
"""Bytes of the longest path, host or tool in an acquisition record."""
ENTRY_LIMIT = 1 << 28
"""Bytes of the longest entry."""

_CLOCK_LIMIT = (1 << 63) - 1
"""Nanoseconds to or from 1970 of the latest and the earliest clock that an entry can hold: some 292 years."""
_NAMED, _PARTIAL, _ORIGIN = 1, 2, 4
_KNOWN = _NAMED | _PARTIAL | _ORIGIN


class Run(NamedTuple):
    """``turns`` turns: the objects from ``first`` on, or a gap of ``gap_bytes`` bytes where ``first`` is -1."""

    first: int
    turns: int
    gap_bytes: int = 0


class Gap(NamedTuple):
    """Turns of the source that are not held, and their bytes in the source."""

    first_turn: int
    turns: int
    start_byte: int
    end_byte: int


class Origin(NamedTuple):
    """Where a capture came from: the source's path (empty for a stream), the host's name and the tool, as bytes."""

    path: bytes = b""
    host: bytes = b""
    tool: bytes = b""


ENTRY = Struct("<IHqqQ32s")
ENTRY_FIELDS = ("size", "flags", "captured_ns", "mtime_ns", "source_bytes", "source_sha256")


class Entry(NamedTuple):
    """A capture as it lies in the log.

    ``back`` is the distance to the transcript's entry before, 0 for the first one, which alone carries ``name``.
    ``held_sha256`` is that of the bytes which are held; it lies in the log only where it differs from the source's.
    ``origin`` stands in the entry itself where ``origin_back`` is 0, and else in the transcript's entry so far before.
    Times are nanoseconds since 1970 in UTC. Origin and times are the acquisition record: in no digest, so not proved.
    """

    transcript: int
    back: int
    keep: int
    runs: tuple[Run, ...]
    source_bytes: int
    source_sha256: bytes
    partial: bool
    held_sha256: bytes
    name: bytes
    captured_ns: int
    mtime_ns: int
    origin_back: int
    origin: Origin | None

    @property
    def new_turns(self) -> int:
        """Number of turns behind those that are kept, gaps included."""
        return sum(run.turns for run in self.runs)

    @property
    def turns(self) -> int:
        """Number of turns of the transcript after this capture, gaps included."""
        return self.keep + self.new_turns

    def pack(self) -> bytes:
        """The entry as it lies in the log."""
        flags = (0 if self.back else _NAMED) | (_PARTIAL if self.partial else 0) | (0 if self.origin_back else _ORIGIN)
        numbers = [self.transcript, self.back, self.keep, len(self.runs)]
        for run in self.runs:
            numbers += [run.first + 1, run.turns] + ([run.gap_bytes] if run.first < 0 else [])
        parts = [encode(number) for number in numbers]
        parts += [self.held_sha256] if self.partial else []
        texts = [] if self.back else [self.name]
        if self.origin_back:
            parts.append(encode(self.origin_back))
        else:
            texts += self.origin or Origin()
        for text in texts:
            parts += [encode(len(text)), text]
        body = b"".join(parts)
        size = ENTRY.size + len(body)
        clocks = (max(-_CLOCK_LIMIT, min(clock, _CLOCK_LIMIT)) for clock in (self.captured_ns, self.mtime_ns))
        front = (size, flags, *clocks, self.source_bytes, self.source_sha256)
        return ENTRY.pack(*front) + body

    @classmethod
    def unpack(cls, data: bytes, label: str) -> Self:
        """Read one entry, whole and nothing more; every fault is of the damage family, and names it ``label``."""
        size, flags, captured_ns, mtime_ns, source_bytes, source_sha256 = ENTRY.unpack_from(data)
        if size != len(data):
            raise IndexMismatch(f"{label}: {len(data)} bytes, and it says {size}", path="log")
        if flags & ~_KNOWN:
            raise UnsupportedVersion(f"{label}: reserved bits {flags & ~_KNOWN:#x} are set", path="log", found=flags)
        cursor = Cursor(data, ENTRY.size, label)
        varint = cursor.varint
        transcript, back, keep, count = varint(), varint(), varint(), varint()
        if (back == 0) != bool(flags & _NAMED):
            raise IndexMismatch(f"{label}: a transcript's first entry has a name, and no other has", path="log")
        runs = tuple(_read_run(cursor) for _ in range(checked("log", "runs", count, len(data))))
        held_sha256 = cursor.take(32) if flags & _PARTIAL else source_sha256
        origin_back = 0 if flags & _ORIGIN else cursor.varint()
        if bool(origin_back) == bool(flags & _ORIGIN):
            raise IndexMismatch(f"{label}: its origin stands at distance 0 and not in it", path="log")
        name = _read_text(cursor, NAME_LIMIT) if flags & _NAMED else b""
        if flags & _NAMED:
            _check_name(name, label)
        origin = Origin(*(_read_text(cursor, TEXT_LIMIT) for _ in range(3))) if flags & _ORIGIN else None
        if cursor.at != len(data):
            raise IndexMismatch(f"{label}: {len(data) - cursor.at} bytes too many", path="log")
        return cls(
            transcript=transcript,
            back=back,
            keep=keep,
            runs=runs,
            source_bytes=checked("log", "source bytes", source_bytes),
            source_sha256=source_sha256,
            partial=bool(flags & _PARTIAL),
            held_sha256=held_sha256,
            name=name,
            captured_ns=captured_ns,
            mtime_ns=mtime_ns,
            origin_back=origin_back,
            origin=origin,
        )


def entry_size(data: bytes, label: str) -> int:
    """The size that an entry's first four bytes state, within its limits."""
    if len(data) < ENTRY.size:
        raise IndexMismatch(f"{label}: the log ends inside it", path="log")
    size = int.from_bytes(data[:4], "little")
    if size < ENTRY.size:
        raise IndexMismatch(f"{label}: it says that it has {size} bytes", path="log", found=size)
    return checked("log", "an entry's size", size, ENTRY_LIMIT)


class Runs:
    """The turns of a transcript in one state: runs that are joined where one continues the other.

    ``count`` is the number of turns, gaps included.
    """

    def __init__(self, runs: Iterable[Run] = ()) -> None:
        self.runs: list[Run] = []
        self.count = 0
        self.extend(runs)

    def keep(self, turns: int) -> list[Run]:
        """Drop what stands behind the first ``turns`` turns, and give it; a gap is dropped whole or not at all.

        Raises:
            IndexMismatch: there are fewer turns, or a gap would be cut.

        """
        if turns > self.count:
            raise IndexMismatch(f"log: a capture keeps {turns} turns of {self.count}", path="log")
        dropped = []
        while self.count > turns:
            last = self.runs.pop()
            self.count -= last.turns
            stays = max(0, turns - self.count)
            if stays:
                if last.first < 0:
                    raise IndexMismatch("log: a capture keeps a part of a gap", path="log")
                self.extend([Run(last.first, stays)])
                last = Run(last.first + stays, last.turns - stays)
            dropped.append(last)
        return dropped

    def extend(self, runs: Iterable[Run]) -> None:
        """Append runs."""
        for run in runs:
            last = self.runs[-1] if self.runs else None
            if last and last.first >= 0 and run.first == last.first + last.turns:
                self.runs[-1] = Run(last.first, last.turns + run.turns)
            else:
                self.runs.append(run)
            self.count = checked("log", "a transcript's turns", self.count + run.turns)


def _read_run(cursor: Cursor) -> Run:
    first, count = cursor.varint() - 1, cursor.varint()
    if not count:
        raise IndexMismatch(f"{cursor.label}: a run of no turns", path="log")
    gap_bytes = cursor.varint() if first < 0 else 0
    if first < 0 and gap_bytes < count:
        raise IndexMismatch(f"{cursor.label}: a gap of {count} turns and {gap_bytes} bytes", path="log")
    return Run(first, count, gap_bytes)


def _read_text(cursor: Cursor, limit: int) -> bytes:
    return cursor.take(checked("log", "a text's length", cursor.varint(), limit))


def _check_name(name: bytes, label: str) -> None:
    try:
        fault = fault_of_name(name.decode())
    except UnicodeDecodeError:
        fault = "it is not UTF-8"
    if fault:
        raise IndexMismatch(f"{label}: {name[:80]!r} is no transcript's name: {fault}", path="log")
