"""An archive's record, open for reading.

A :class:`Record` sees the state that HEAD had when it was opened. It never writes and never waits: where a writer has
meanwhile merged a pack away, the pack table alone is read again, since the numbers of objects and the entries of the
log never change. No byte of a turn leaves before its SHA-256 was compared with the one in the table of objects.
"""

import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from hashlib import sha256
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple, Self

from xxhash import xxh3_64_intdigest

from ctxarc.errors import (
    BadMagic,
    DigestMismatch,
    IndexMismatch,
    NoSuchArchive,
    NoSuchCapture,
    NoSuchTurn,
    NotAnArchive,
    Truncated,
    from_os_error,
)
from ctxarc.preservation import frames
from ctxarc.preservation.blocks import BlockFile
from ctxarc.preservation.entry import ENTRY, Entry, Gap, Origin, Run, Runs, entry_size
from ctxarc.preservation.files import open_file, read_at, read_file
from ctxarc.preservation.layout import HEAD_LIMIT, HEAD_MAGIC, LOG_HEADER, MARK, Head, PackRow, read_mark
from ctxarc.preservation.objects import ObjectTable, digests_of, lengths_of

_OPEN_BYTES = 96 << 20
"""Bytes of decoded packs that a reader keeps: turns of one transcript may alternate between several."""
_LOG_WINDOW = 1 << 16
"""Bytes of the log that are read at a time where entries are followed backwards."""


class Pack:
    """A decoded pack: its turns, and the rows that prove them.

    Attributes:
        first: number of its first object.
        raw, data: its turns, joined, and a view of them.
        digests: SHA-256 of each object.
        ends: where each object ends in ``data``.
        unfinished: those of ``ends`` that the pack itself states, since no line feed stands before them.

    """

    def __init__(self, first: int, data: bytes, rows: bytes, label: str, unfinished: list[int]) -> None:
        lengths = lengths_of(rows)
        self.first = first
        self.label = label
        self.unfinished = unfinished
        self.raw = data
        self.data = memoryview(data)
        self.digests = digests_of(rows)
        self.ends = list(accumulate(lengths))
        self._proved = bytearray(len(lengths))

    def holds(self, number: int) -> bool:
        """Whether object ``number`` is in this pack."""
        return self.first <= number < self.first + len(self.ends)

    def span(self, number: int) -> tuple[int, int]:
        """Where object ``number`` lies in ``data``."""
        index = number - self.first
        return self.ends[index - 1] if index else 0, self.ends[index]

    def turn(self, number: int) -> memoryview:
        """The bytes of object ``number``, proved.

        Raises:
            DigestMismatch: they do not have the digest in the table.

        """
        start, end = self.span(number)
        turn = self.data[start:end]
        index = number - self.first
        if not self._proved[index]:
            if sha256(turn).digest() != self.digests[index]:
                message = f"{self.label}: object {number} does not have the SHA-256 {self.digests[index].hex()}"
                raise DigestMismatch(message, path=self.label, object=number, expected=self.digests[index].hex())
            self._proved[index] = 1
        return turn


class Capture(NamedTuple):
    """An entry of the log with its number, counted from 1, and its transcript's name."""

    number: int
    offset: int
    name: bytes
    entry: Entry
    origin: Origin


class Turn(NamedTuple):
    """A held turn: its number, its object, its digest, its first byte in the transcript, and its length."""

    number: int
    object: int
    digest: bytes
    start_byte: int
    length: int


class State:
    """A transcript as one capture left it."""

    def __init__(self, name: bytes, entry: Entry, runs: tuple[Run, ...]) -> None:
        self.name = name
        self.entry = entry
        self.runs = runs
        self.turns = sum(run.turns for run in runs)

    @property
    def complete(self) -> bool:
        """Whether every turn of the source is held."""
        return not self.entry.partial


class Record:
    """The record of the archive at ``path``, open for reading; use it in a ``with`` statement.

    Args:
        path: the archive.
        marked: whether its mark is checked first.

    Raises:
        NoSuchArchive: nothing is there.
        NotAnArchive: something else is there.
        UnsupportedVersion, BadMagic, Truncated, ChecksumMismatch, IndexMismatch, LimitExceeded: damage.

    """

    def __init__(self, path: Path, *, marked: bool = True) -> None:
        self.path = path
        self._packs: dict[int, Pack] = {}
        self._log_window = (0, b"")
        if marked:
            check_mark(path)
        if (path / "pack").is_symlink():
            raise BadMagic("pack: a link where a directory is due; links are not followed", path="pack")
        try:
            self.head = read_head(path)
            self._see_packs(self.head.packs)
            self.objects = ObjectTable(path / "objects", self.head.objects, self.head.objects_tail)
            try:
                self.log = BlockFile(path / "log", LOG_HEADER, self.head.log_bytes, self.head.log_tail)
            except BaseException:
                self.objects.close()
                raise
        except OSError as error:
            raise from_os_error(error, path) from error

    def _see_packs(self, rows: tuple[PackRow, ...]) -> None:
        self._pack_rows = rows
        self.pack_starts = [0, *accumulate(row.objects for row in rows)]
        self._packs.clear()

    def close(self) -> None:
        """Close its files."""
        self._packs.clear()
        self.objects.close()
        self.log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ------------------------------------------------------------------------------------------------- packs

    def pack_of(self, number: int) -> Pack:
        """The decoded pack that holds object ``number``."""
        while True:
            if not 0 <= number < self.pack_starts[-1]:
                message = f"log: object {number} is named, and there are {self.pack_starts[-1]}"
                raise IndexMismatch(message, path="log", object=number)
            index = bisect_right(self.pack_starts, number) - 1
            first = self.pack_starts[index]
            if first in self._packs:
                self._packs[first] = self._packs.pop(first)
                return self._packs[first]
            try:
                pack = self.load_pack(index)
            except Truncated:
                head = read_head(self.path)
                if head.packs == self._pack_rows:
                    raise
                self._see_packs(head.packs)
                self.objects.grow(head.objects, head.objects_tail)
                continue
            self._packs[first] = pack
            while len(self._packs) > 1 and sum(len(each.raw) for each in self._packs.values()) > _OPEN_BYTES:
                del self._packs[next(iter(self._packs))]
            return pack

    def load_pack(self, index: int) -> Pack:
        """Read and decode the pack at ``index`` of the pack table."""
        row, first = self._pack_rows[index], self.pack_starts[index]
        label = f"pack/{row.name(first)}"
        rows = self.objects.rows(first, row.objects)
        if sum(lengths_of(rows)) != row.raw_bytes:
            message = f"HEAD: {label} has {row.raw_bytes} bytes, and its objects have {sum(lengths_of(rows))}"
            raise IndexMismatch(message, path="HEAD", pack=label)
        stored = self._stored(row, first, label)
        return Pack(first, frames.decode(row, stored, label), rows, label, frames.unpack_ends(stored, label)[0])

    def _stored(self, row: PackRow, first: int, label: str) -> bytes:
        descriptor = open_file(self.path / "pack" / row.name(first), label)
        try:
            size = os.fstat(descriptor).st_size
            if size != row.stored_bytes:
                message = f"{label}: {size} bytes, and HEAD says {row.stored_bytes}"
                raise Truncated(message, path=label, found=size, expected=row.stored_bytes)
            return read_at(descriptor, 0, size, label)
        finally:
            os.close(descriptor)

    def turn_bytes(self, number: int) -> memoryview:
        """The bytes of an object, proved."""
        return self.pack_of(number).turn(number)

    def stretches(self, runs: tuple[Run, ...]) -> Iterator[memoryview]:
        """The bytes of all turns in ``runs``, proved, gaps left out, in pieces as large as they lie together."""
        for run in runs:
            number, end = run.first, run.first + run.turns
            while 0 <= number < end:
                pack = self.pack_of(number)
                stop = min(end, pack.first + len(pack.ends))
                for each in range(number, stop):
                    pack.turn(each)
                yield pack.data[pack.span(number)[0] : pack.span(stop - 1)[1]]
                number = stop

    # --------------------------------------------------------------------------------------------------- log

    def _log_bytes(self, start: int, end: int, *, forward: bool = False) -> bytes:
        """Bytes of the log, read in windows that end with what is asked for, or ``forward`` begin with it."""
        at, window = self._log_window
        if start < at or end > at + len(window):
            at = start if forward else max(0, min(start, end - _LOG_WINDOW))
            window = self.log.read(at, min(max(end, at + _LOG_WINDOW), self.log.length) if forward else end)
            self._log_window = at, window
        return window[start - at : end - at]

    def entry_at(self, offset: int) -> Entry:
        """The log's entry that begins at ``offset``, as it lies there."""
        return Entry.unpack(self._entry_bytes(offset), f"log: the entry at {offset}")

    def _entry_bytes(self, offset: int, *, forward: bool = False) -> bytes:
        label = f"log: the entry at {offset}"
        if not 0 <= offset < self.log.length:
            raise IndexMismatch(f"{label} lies beyond its {self.log.length} bytes", path="log")
        front = self._log_bytes(offset, min(offset + ENTRY.size, self.log.length), forward=forward)
        size = entry_size(front, label)
        if offset + size > self.log.length:
            raise IndexMismatch(f"{label} has {size} bytes and the log ends before", path="log")
        return self._log_bytes(offset, offset + size, forward=forward)

    def origin_of(self, offset: int) -> Origin:
        """The origin of the capture whose entry begins at ``offset``."""
        entry = self.entry_at(offset)
        origin = entry.origin or self.entry_at(offset - entry.origin_back).origin
        if origin is None:
            raise IndexMismatch(f"log: the entry at {offset} has its origin where none is", path="log")
        return origin

    def captures(self) -> Iterator[Capture]:
        """Every capture, in order.

        Raises:
            IndexMismatch: an entry does not follow the one before it of its transcript.

        """
        last: list[tuple[int, bytes]] = []
        names: set[bytes] = set()
        origins: dict[int, tuple[int, Origin]] = {}
        at = number = 0
        while at < self.log.length:
            label = f"log: the entry at {at}"
            data = self._entry_bytes(at, forward=True)
            entry = Entry.unpack(data, label)
            offset, name = last[entry.transcript] if entry.transcript < len(last) else (at, entry.name)
            if entry.transcript > len(last) or entry.back != at - offset:
                raise IndexMismatch(f"{label} does not follow the one before it of its transcript", path="log")
            if not entry.back and name in names:
                raise IndexMismatch(f"{label} gives another transcript the name {name.decode()}", path="log")
            names.add(name)
            last[entry.transcript : entry.transcript + 1] = [(at, name)]
            if entry.origin:
                origins[entry.transcript] = at, entry.origin
            origin_at, origin = origins.get(entry.transcript, (-1, Origin()))
            if origin_at != at - entry.origin_back:
                raise IndexMismatch(f"{label} has its origin where none is", path="log")
            number += 1
            yield Capture(number, at, name, entry, origin)
            at += len(data)

    # ------------------------------------------------------------------------------------------- transcripts

    def names(self) -> list[bytes]:
        """The names of all transcripts, by their numbers."""
        return [self.entry_at(row.first_entry).name for row in self.head.transcripts]

    def number_of(self, name: bytes) -> int | None:
        """The number of the transcript ``name``, or ``None``."""
        for number in self._numbers.get(xxh3_64_intdigest(name), ()):
            if self.entry_at(self.head.transcripts[number].first_entry).name == name:
                return number
        return None

    @cached_property
    def _numbers(self) -> dict[int, list[int]]:
        """The numbers of the transcripts by the checksum of their names."""
        found: dict[int, list[int]] = {}
        for number, row in enumerate(self.head.transcripts):
            found.setdefault(row.name_checksum, []).append(number)
        return found

    def last_entry(self, transcript: int) -> Entry:
        """The newest entry of a transcript."""
        return self.entry_at(self.head.transcripts[transcript].last_entry)

    def chain(self, transcript: int, offset: int | None = None) -> list[tuple[int, Entry]]:
        """The entries of a transcript from its first to the one at ``offset`` (the newest), with their offsets."""
        if transcript >= len(self.head.transcripts):
            message = f"log: transcript {transcript} is named, and HEAD has {len(self.head.transcripts)}"
            raise IndexMismatch(message, path="log", transcript=transcript)
        row = self.head.transcripts[transcript]
        at = row.last_entry if offset is None else offset
        found = []
        while True:
            entry = self.entry_at(at)
            if entry.transcript != transcript or not (entry.back or at == row.first_entry):
                raise IndexMismatch(f"log: the entry at {at} is not one of transcript {transcript}", path="log")
            found.append((at, entry))
            if not entry.back:
                return found[::-1]
            at -= entry.back

    def state(self, transcript: int, offset: int | None = None) -> State:
        """A transcript's newest state, or the one after its entry at ``offset``."""
        chain = self.chain(transcript, offset)
        runs = Runs()
        for _, entry in chain:
            runs.keep(entry.keep)
            runs.extend(entry.runs)
        return State(chain[0][1].name, chain[-1][1], tuple(runs.runs))

    def states(self, at: int | None = None) -> dict[bytes, State]:
        """The states of all transcripts, the newest or those after capture ``at``, in order of names."""
        if at is None:
            found = {
                self.entry_at(row.first_entry).name: (number, row.last_entry)
                for number, row in enumerate(self.head.transcripts)
            }
        else:
            found = {each.name: (each.entry.transcript, each.offset) for each in self.captures_to(at)}
        return {name: self.state(*found[name]) for name in sorted(found)}

    def captures_to(self, at: int) -> list[Capture]:
        """The captures 1 to ``at``.

        Raises:
            NoSuchCapture: there are fewer.

        """
        if not 1 <= at <= self.head.captures:
            message = f"no capture {at}; the archive has {self.head.captures}, counted from 1"
            raise NoSuchCapture(message, capture=at, captures=self.head.captures)
        return [each for each in self.captures() if each.number <= at]

    def gaps(self, runs: Sequence[Run]) -> list[Gap]:
        """The gaps among ``runs``, with their places in the source."""
        found = []
        turn = start = 0
        left = sum(run.first < 0 for run in runs)
        for run in runs:
            if not left:
                break
            if run.first < 0:
                found.append(Gap(turn, run.turns, start, start + run.gap_bytes))
                left -= 1
            turn += run.turns
            start += run.gap_bytes if run.first < 0 else sum(lengths_of(self.objects.rows(run.first, run.turns)))
        return found

    def object_of(self, state: State, turn: int) -> int:
        """The object of a turn.

        Raises:
            NoSuchTurn: there is no such turn, or it was left out on purpose.

        """
        name = state.name.decode()
        at = 0
        for run in state.runs:
            if run.first >= 0 and at <= turn < at + run.turns:
                return run.first + turn - at
            at += run.turns
        for gap in self.gaps(state.runs):
            if gap.first_turn <= turn < gap.first_turn + gap.turns:
                message = f"turn {turn} of {name} was left out when it was captured, with bytes {gap.start_byte} to "
                message += f"{gap.end_byte} of the source, which are turns {gap.first_turn} to "
                message += f"{gap.first_turn + gap.turns - 1}"
                hint = "capture the whole source again, without --max-bytes, to fill it in"
                omitted = [{"start_byte": gap.start_byte, "end_byte": gap.end_byte}]
                raise NoSuchTurn(message, hint=hint, transcript=name, turn=turn, omitted=omitted)
        message = f"{name} has no turn {turn}; it has {state.turns}, counted from 0"
        raise NoSuchTurn(message, transcript=name, turn=turn, turns=state.turns)

    def turns(self, state: State) -> Iterator[Turn]:
        """Every held turn of a state, in order, without its bytes."""
        number = start = 0
        for run in state.runs:
            if run.first < 0:
                number += run.turns
                start += run.gap_bytes
                continue
            rows = self.objects.rows(run.first, run.turns)
            for index, (digest, length) in enumerate(zip(digests_of(rows), lengths_of(rows), strict=True)):
                yield Turn(number, run.first + index, digest, start, length)
                number += 1
                start += length


def is_vacant(path: Path) -> bool:
    """Whether an archive can be made at ``path``: nothing is there, or an empty directory."""
    return not os.path.lexists(path) or (path.is_dir() and not path.is_symlink() and not any(path.iterdir()))


def check_mark(path: Path) -> None:
    """Check that ``path`` is an archive that this release reads, by its mark alone."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NoSuchArchive(f"{path}: no such archive", archive=str(path)) from error
    except OSError as error:
        raise from_os_error(error, path) from error
    if not path.is_dir():
        raise NotAnArchive(f"{path}: a file, not an archive", archive=str(path))
    mark = path / "CTXA"
    if not os.path.lexists(mark):
        if _has_head(path):
            raise BadMagic(f"{path}: CTXA, the mark of an archive, is gone", path="CTXA")
        raise NotAnArchive(f"{path}: a directory, and not an archive", archive=str(path))
    try:
        read_mark(read_file(mark, "CTXA", 4 * len(MARK)))
    except OSError as error:
        raise from_os_error(error, mark) from error


def _has_head(path: Path) -> bool:
    try:
        with (path / "HEAD").open("rb") as head:
            return head.read(len(HEAD_MAGIC)) == HEAD_MAGIC
    except OSError:
        return False


def read_head(path: Path) -> Head:
    """HEAD of the archive at ``path``."""
    return Head.unpack(read_file(path / "HEAD", "HEAD", HEAD_LIMIT))
