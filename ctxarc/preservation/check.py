"""Checking a record: every byte read, every digest computed again, every finding told, nothing believed."""

from __future__ import annotations

import os
import stat
from array import array
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from itertools import accumulate
from queue import SimpleQueue
from threading import Lock, Semaphore, Thread
from typing import TYPE_CHECKING, Self
from weakref import WeakKeyDictionary

from xxhash import xxh3_64_intdigest

from ctxarc.errors import Damage, DigestMismatch, IndexMismatch, Refusal, Truncated, UnsupportedVersion
from ctxarc.preservation import frames
from ctxarc.preservation.blocks import FAULTS_LIMIT, stored_length
from ctxarc.preservation.entry import Gap, Run, Runs
from ctxarc.preservation.layout import OBJECT_ROW, Head
from ctxarc.preservation.lock import is_held
from ctxarc.preservation.merkle import Tree, capture_hash, turn_hashes
from ctxarc.preservation.objects import digests_of, keys_of, lengths_of
from ctxarc.preservation.record import Capture, Pack, Record, State, check_mark, read_head
from ctxarc.preservation.scratch import AUXILIARY_LOCK, RECORD_LOCK
from ctxarc.preservation.tracks import Tracks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

LEFTOVER = "LEFTOVER"
"""Code of a finding that is no damage: bytes or files that no HEAD commits, left by a writer that died."""
_AT_TOP = {"CTXA", "HEAD", "objects", "log", "pack", RECORD_LOCK, AUXILIARY_LOCK}
_SHOWN = 8
"""Captures that are named at most where they could not be checked."""
_ROWS = 1 << 14
"""Turns whose leaves are in memory at a time."""
_TRIES = 10
"""Times that a check begins again since a writer has merged packs away under it."""


@dataclass(slots=True)
class Checked:
    """What a check of the record found.

    Attributes:
        findings: (code, path, message) of each.
        not_checked: what the check could not prove, in words.
        head: HEAD, or ``None`` where it, ``objects`` or ``log`` cannot be read.
        roots: the digest after each capture, computed again from the log.
        states: the newest state of each transcript, by name.
        gaps: the gaps of each of them.
        turns, bytes: turns and bytes that the newest states hold.
        captures: number of captures.

    """

    findings: list[tuple[str, str, str]] = field(default_factory=list)
    not_checked: list[str] = field(default_factory=list)
    head: Head | None = None
    roots: list[bytes] = field(default_factory=list)
    states: dict[bytes, State] = field(default_factory=dict)
    gaps: dict[bytes, list[Gap]] = field(default_factory=dict)
    turns: int = 0
    bytes: int = 0
    captures: int = 0

    def add(self, refusal: Refusal, path: str = "") -> None:
        """Note damage that was met."""
        finding = (refusal.code, str(refusal.facts.get("path", path)), refusal.message)
        if finding not in self.findings:
            self.findings.append(finding)


def check_record(path: Path, *, quick: bool, tell: Callable[[int, int], None]) -> Checked:
    """Check the record of the archive at ``path``.

    Args:
        path: the archive.
        quick: whether the packs are left unread: then only their lengths are compared.
        tell: told the bytes of turns checked so far, and those in all.

    Raises:
        NoSuchArchive, NotAnArchive: there is no archive.
        UnsupportedVersion: it is one of another release.

    """
    for _ in range(_TRIES):
        checked = _Check(path, quick=quick, tell=tell).run()
        if not checked.findings or not _moved(path, checked.head):
            break
    return checked


def _moved(path: Path, head: Head | None) -> bool:
    now = _head_now(path)
    return head is not None and now is not None and now != head


def _head_now(path: Path) -> Head | None:
    try:
        return read_head(path)
    except Refusal:
        return None


class _Check:
    def __init__(self, path: Path, *, quick: bool, tell: Callable[[int, int], None]) -> None:
        self.path, self.quick, self.tell = path, quick, tell
        self.out = Checked()
        self.guard = Lock()
        self.checked: WeakKeyDictionary[Pack, bool] = WeakKeyDictionary()

    def run(self) -> Checked:
        """All checks, each of which goes on as far as it can."""
        try:
            check_mark(self.path)
        except UnsupportedVersion:
            raise
        except Damage as damage:
            self.out.add(damage)
        try:
            record = Record(self.path, marked=False)
        except Damage as damage:
            self.out.add(damage)
            self.out.not_checked.append("everything that HEAD, objects and log describe: one of them cannot be read")
            return self.out
        with record:
            self.record, self.head = record, record.head
            self.out.head, self.out.captures = self.head, self.head.captures
            if self._tables():
                self._log_and_packs()
            self._files()
        return self.out

    # -------------------------------------------------------------------------------------------------- tables

    def _tables(self) -> bool:
        """Whether ``objects`` and ``log`` can be read whole."""
        whole = True
        for file in (self.record.objects.file, self.record.log):
            try:
                faults = file.faults()
            except Damage as damage:
                self.out.add(damage, file.label)
                whole = False
                continue
            for fault in faults:
                self.out.add(fault)
                whole = False
            if len(faults) == FAULTS_LIMIT:
                self.out.not_checked.append(f"{file.label} behind the first {FAULTS_LIMIT} blocks that do not hold")
        if not whole:
            self.out.not_checked.append("the packs and the log, since a table that describes them is damaged")
        return whole

    def _log_and_packs(self) -> None:
        rows = self.record.objects.rows(0, self.head.objects)
        self.ends = array("Q", accumulate(lengths_of(rows), initial=0))
        self.named = bytearray(self.head.objects)
        self.unfinished: set[int] = set()
        self.lost: list[int] = []
        self._rows(rows)
        del rows
        if self.ends[-1] != self.head.object_bytes:
            message = f"objects: {self.ends[-1]} bytes in all, and HEAD says {self.head.object_bytes}"
            self.out.findings.append(("INDEX_MISMATCH", "objects", message))
        firsts = [] if self.quick else self.record.pack_starts[:-1]
        with Record(self.path, marked=False) as self.packs, _Ahead(self._load, firsts) as ahead:
            tracks = self._log()
            if self.quick:
                self._sizes()
            else:
                tracks.run(ahead.get, self._compare)
        if self.lost:
            numbers = ", ".join(map(str, sorted(self.lost)[:_SHOWN])) + (", ..." if len(self.lost) > _SHOWN else "")
            self.out.not_checked.append(f"since turns are damaged, the SHA-256 of capture {numbers}")
        self._borders()

    def _log(self) -> Tracks:
        """Check the log; the tracks of its states, none where it does not hold."""
        tracks = Tracks(self.record.pack_starts, lambda number: self.ends[number + 1] - self.ends[number])
        try:
            for capture in self._captures():
                tracks.add(capture)
        except Damage as damage:
            self.out.add(damage)
            self.out.not_checked.append("the log behind the first entry that does not hold, and the sources' digests")
            return Tracks(self.record.pack_starts, lambda _: 0)
        return tracks

    def _rows(self, rows: bytes) -> None:
        """The table of objects against itself: no row is empty, and no digest stands in it twice."""
        if 0 in lengths_of(rows):
            self._mismatch("objects", f"object {lengths_of(rows).index(0)} has no bytes")
        if len(set(keys_of(rows))) < self.head.objects:
            seen: set[bytes] = set()
            for number, digest in enumerate(digests_of(rows)):
                if digest in seen:
                    self._mismatch("objects", f"object {number} has the digest of one before it, {digest.hex()}")
                seen.add(digest)

    def _mismatch(self, path: str, words: str) -> None:
        self.out.add(IndexMismatch(f"{path}: {words}", path=path))

    # ----------------------------------------------------------------------------------------------------- log

    def _captures(self) -> Iterator[Capture]:
        """Every capture, once it has been checked against the ones before; then the log as a whole against HEAD."""
        tree = Tree()
        states: dict[bytes, _Held] = {}
        places: list[tuple[int, int, int, int]] = []
        for capture in self.record.captures():
            held = states.setdefault(capture.name, _Held())
            for hashes in self._leaves(capture, held):
                tree.extend(hashes)
                if tree.leaves > self.head.leaves:
                    self._wrong(capture, f"makes more than the {self.head.leaves} leaves that HEAD states")
            self.out.roots.append(tree.root())
            number = capture.entry.transcript
            first = places[number][1] if number < len(places) else capture.offset
            places[number : number + 1] = [(xxh3_64_intdigest(capture.name), first, capture.offset, capture.number)]
            held.capture = capture
            yield capture
        self._against_head(tree, places)
        unnamed = self.named.find(0)
        if unnamed >= 0:
            self._mismatch("log", f"object {unnamed} stands in no transcript")
        for name in sorted(states):
            self._state(name, states[name])

    def _leaves(self, capture: Capture, held: _Held) -> Iterator[list[bytes]]:
        """The leaf hashes that a capture adds, some at a time; its state is brought forward and compared with it."""
        entry = capture.entry
        if any(run.first >= 0 and run.first + run.turns > self.head.objects for run in entry.runs):
            self._wrong(capture, f"names objects beyond the {self.head.objects} of the archive")
        held.count(held.runs.keep(entry.keep), self.ends, -1)
        held.count(entry.runs, self.ends, 1)
        held.runs.extend(entry.runs)
        if held.runs.count != entry.turns or held.bytes + held.gap_bytes != entry.source_bytes:
            self._wrong(capture, f"says {entry.source_bytes} source bytes, and its turns have other lengths")
        gaps = self.record.gaps(held.runs.runs) if held.gaps else []
        if bool(gaps) != entry.partial:
            self._wrong(capture, "says that it is partial and has no gap, or has one and does not say so")
        if held.runs.runs and held.runs.runs[-1].first < 0:
            self._wrong(capture, "ends with turns that were left out, and the last turn is always held")
        turn = entry.keep
        for run in entry.runs:
            if run.first >= 0:
                self.named[run.first : run.first + run.turns] = bytes([1]) * run.turns
                yield from self._turn_leaves(run, turn, capture.name)
            turn += run.turns
        source, kept = (entry.source_bytes, entry.source_sha256), (held.bytes, entry.held_sha256)
        leaf = capture_hash(keep=entry.keep, turns=entry.turns, source=source, held=kept, gaps=gaps, name=capture.name)
        yield [leaf]

    def _turn_leaves(self, run: Run, turn: int, name: bytes) -> Iterator[list[bytes]]:
        for first in range(run.first, run.first + run.turns, _ROWS):
            rows = self.record.objects.rows(first, min(_ROWS, run.first + run.turns - first))
            yield turn_hashes(turn + first - run.first, digests_of(rows), lengths_of(rows), name)

    def _wrong(self, capture: Capture, words: str) -> None:
        raise IndexMismatch(f"log: capture {capture.number} {words}", path="log")

    def _against_head(self, tree: Tree, places: list[tuple[int, int, int, int]]) -> None:
        """The digest, the peaks and the table of transcripts, computed again from the log."""
        head = self.head
        if (tree.root(), tree.peaks, tree.leaves) != (head.root, list(head.peaks), head.leaves):
            message = f"HEAD: the digest {head.root.hex()} is not that of the log, {tree.root().hex()}"
            self.out.findings.append(("DIGEST_MISMATCH", "HEAD", message))
        rows = [(row.name_checksum, row.first_entry, row.last_entry, row.last_capture) for row in head.transcripts]
        if rows != places or len(self.out.roots) != head.captures:
            message = "HEAD: its table of transcripts, or its number of captures, is not that of the log"
            self.out.findings.append(("INDEX_MISMATCH", "HEAD", message))

    def _state(self, name: bytes, held: _Held) -> None:
        if held.capture is None:
            return
        state = State(name, held.capture.entry, tuple(held.runs.runs))
        self.out.states[name] = state
        self.out.turns += sum(run.turns for run in state.runs if run.first >= 0)
        self.out.bytes += held.bytes
        self.out.gaps[name] = gaps = self.record.gaps(state.runs)
        for gap in gaps:
            words = (
                f"bytes {gap.start_byte} to {gap.end_byte} of {name.decode()}, which were left out, and so the SHA-256 "
            )
            self.out.not_checked.append(words + f"of its source, {state.entry.source_sha256.hex()}")

    # --------------------------------------------------------------------------------------------------- packs

    def _load(self, number: int) -> Pack | None:
        """The pack that object ``number`` is in, every turn of it proved, or ``None`` and findings.

        Where a writer merges packs meanwhile it is the one that holds the object now; what stands between its end and
        that of the pack it was in is proved as well.
        """
        first = pack = self._proved(number)
        end = self.record.pack_starts[bisect_right(self.record.pack_starts, number)]
        while pack and (at := pack.first + len(pack.ends)) < end:
            pack = self._proved(at)
        return first

    def _proved(self, number: int) -> Pack | None:
        try:
            with self.guard:
                pack = self.packs.pack_of(number)
        except Damage as damage:
            self.out.add(damage)
            return None
        if pack not in self.checked:
            self.checked[pack] = self._is_sound(pack)
            self.tell(self.ends[min(pack.first + len(pack.ends), self.head.objects)], self.head.object_bytes)
        return pack if self.checked[pack] else None

    def _is_sound(self, pack: Pack) -> bool:
        sound = True
        for number in range(pack.first, pack.first + len(pack.ends)):
            try:
                pack.turn(number)
            except DigestMismatch as refusal:
                self.out.add(refusal)
                sound = False
        self._lines(pack)
        return sound

    def _lines(self, pack: Pack) -> None:
        """A turn is one line: a line feed is its last byte, or it has none and is unfinished, as the pack says."""
        unfinished = frames.unfinished_ends(pack.data, pack.ends)
        if unfinished != pack.unfinished:
            self._mismatch(pack.label, "its unfinished turns are not those that it states")
        if pack.raw.count(b"\n") + len(unfinished) != len(pack.ends):
            self._mismatch(pack.label, "a line feed stands inside a turn")
        self.unfinished.update(pack.first + bisect_left(pack.ends, end) for end in unfinished)

    def _borders(self) -> None:
        """An unfinished turn is the last one of every state that it stands in."""
        unfinished = sorted(self.unfinished)
        states: dict[bytes, Runs] = {}
        for capture in self.record.captures() if self.unfinished and self.out.states else ():
            runs = states.setdefault(capture.name, Runs())
            runs.keep(capture.entry.keep)
            new = capture.entry.runs
            ends = [run.first + run.turns - 1 for run in runs.runs[-1:] if new and run.first >= 0]
            found = [number for number in ends if number in self.unfinished]
            for index, run in enumerate(new):
                last = run.first + run.turns - (index == len(new) - 1)
                if run.first >= 0:
                    found += unfinished[bisect_left(unfinished, run.first) : bisect_left(unfinished, last)]
            runs.extend(new)
            if found:
                words = f"capture {capture.number} has turns behind object {found[0]}, which is an unfinished one"
                self._mismatch("log", words)

    def _sizes(self) -> None:
        for row, first in zip(self.head.packs, self.record.pack_starts, strict=False):
            label = f"pack/{row.name(first)}"
            try:
                size = (self.path / label).lstat().st_size
            except OSError:
                size = -1
            if size != row.stored_bytes:
                message = f"{label}: {size} bytes, and HEAD says {row.stored_bytes}" if size >= 0 else f"{label}: gone"
                self.out.add(Truncated(message, path=label))
        count = len(self.head.packs)
        packs = "1 pack" if count == 1 else f"{count} packs"
        self.out.not_checked.append(f"the bytes of {packs}, and so of every turn: only lengths were compared")

    def _compare(self, capture: Capture, digest: bytes | None) -> None:
        if digest is None:
            self.lost.append(capture.number)
        elif digest != capture.entry.held_sha256:
            message = f"capture {capture.number} of {capture.name.decode()}: its turns, joined, have the SHA-256 "
            message += f"{digest.hex()}, and the log says {capture.entry.held_sha256.hex()}"
            self.out.findings.append(("DIGEST_MISMATCH", "log", message))

    # --------------------------------------------------------------------------------------------------- files

    def _files(self) -> None:
        """Bytes and files in the record's own places that HEAD does not commit, unless a writer is at work."""
        for _ in range(_TRIES):
            head = _head_now(self.path)
            found = list(self._beyond(head or self.head))
            if is_held(self.path / RECORD_LOCK):
                return
            if head == _head_now(self.path):
                break
        self.out.findings += [(LEFTOVER, path, f"{path}: {words}") for path, words in found]

    def _beyond(self, head: Head) -> Iterator[tuple[str, str]]:
        lengths = {"objects": head.objects * OBJECT_ROW.size, "log": head.log_bytes}
        for name, length in lengths.items():
            extra = (self.path / name).lstat().st_size - stored_length(length)
            if extra > 0:
                yield name, f"{extra} bytes behind what HEAD commits"
        named = head.pack_names()
        for path in sorted((self.path / "pack").iterdir()) if (self.path / "pack").is_dir() else []:
            if path.name not in named:
                yield f"pack/{path.name}", "not named by HEAD"
        for path in sorted(self.path.iterdir()):
            folder = path.is_dir() and not path.is_symlink() and path.suffix != ".tmp"
            if path.name not in _AT_TOP and not folder:
                yield path.name, "no file of an archive"
        for name in (RECORD_LOCK, AUXILIARY_LOCK):
            lock = self.path / name
            if os.path.lexists(lock) and not (stat.S_ISREG(lock.lstat().st_mode) and not lock.lstat().st_size):
                yield name, "not the empty plain file that a writer locks"


@dataclass(slots=True)
class _Held:
    """What is held of a transcript, with sums that go along, so that no capture costs more than its own runs."""

    runs: Runs = field(default_factory=Runs)
    capture: Capture | None = None
    bytes: int = 0
    gap_bytes: int = 0
    gaps: int = 0

    def count(self, runs: Iterable[Run], ends: Sequence[int], sign: int) -> None:
        """Add to the sums, or take from them, the objects and gaps of ``runs``; objects end at ``ends``."""
        for run in runs:
            if run.first >= 0:
                self.bytes += sign * (ends[run.first + run.turns] - ends[run.first])
            else:
                self.gap_bytes += sign * run.gap_bytes
                self.gaps += sign


class _Ahead(Thread):
    """Loads the packs with the objects ``numbers`` in order, beside the main thread and at most two ahead of it."""

    def __init__(self, load: Callable[[int], Pack | None], numbers: Sequence[int]) -> None:
        super().__init__(daemon=True)
        self._load, self._numbers = load, numbers
        self._next = 0
        self._stopped = False
        self._room = Semaphore(2)
        self._loaded: SimpleQueue[tuple[Pack | None, BaseException | None]] = SimpleQueue()

    def run(self) -> None:
        for number in self._numbers:
            self._room.acquire()
            if self._stopped:
                return
            try:
                self._loaded.put((self._load(number), None))
            except BaseException as error:  # noqa: BLE001 - handed over to the thread that waits
                self._loaded.put((None, error))

    def get(self, number: int) -> Pack | None:
        """The pack with object ``number``; where it is not the next one it is loaded now."""
        if self._next >= len(self._numbers) or number != self._numbers[self._next]:
            return self._load(number)
        pack, error = self._loaded.get()
        self._room.release()
        self._next += 1
        if error:
            raise error
        return pack

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped = True
        self._room.release()
        self.join()
