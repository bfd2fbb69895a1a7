"""Writing to an archive's record: one transaction at a time, under the lock, committed by the rename of HEAD.

Until ``commit`` nothing that a reader sees has changed, and a writer that dies leaves only bytes beyond HEAD and files
that HEAD does not name, which the next commit removes. A new archive is built beside its place and moved there by its
first commit.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Self

from xxhash import xxh3_64_intdigest

from ctxarc.errors import ArchiveMoved, DuplicateName, Internal, Refusal, from_os_error
from ctxarc.preservation.blocks import appended, stored_length
from ctxarc.preservation.entry import Entry, Gap, Origin, Run, Runs
from ctxarc.preservation.files import append_file, flush_directory, named_faults, replace_file, write_file
from ctxarc.preservation.layout import (
    EMPTY_HEAD,
    FRAME_LIMIT,
    LOG_HEADER,
    MARK,
    OBJECT_ROW,
    OBJECTS_HEADER,
    FileHeader,
    Head,
    ObjectRow,
    PackRow,
    TranscriptRow,
)
from ctxarc.preservation.lock import Lock
from ctxarc.preservation.merkle import Tree, capture_hash, turn_hashes
from ctxarc.preservation.objects import DigestMap
from ctxarc.preservation.packing import Packer
from ctxarc.preservation.record import Record, is_vacant, read_head
from ctxarc.preservation.scratch import RECORD_LOCK, LostRace, Scratch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from ctxarc.preservation.blocks import BlockFile

__all__ = ["DEFAULT_LEVEL", "Draft", "LostRace", "RecordWriter"]

DEFAULT_LEVEL = 9
_FEW = 100
"""Up to so many new turns at a time are looked up by a search of the table of objects; more by a map of it."""


class RecordWriter:
    """The one writer of the record at ``path``; use it in a ``with`` statement, which abandons what was not committed.

    Args:
        path: the archive, which the first commit makes where nothing, or an empty directory, is there.
        lock_wait: seconds to wait for another writer.
        level: zstd level of new packs, 1 to 22.

    Attributes:
        record: the record as it was last committed, or ``None`` where there is no archive yet.

    Raises:
        ArchiveLocked, LocksUnsupported, PermissionDenied: the archive cannot be written now.
        Damage, NotAnArchive: as :class:`Record` raises them.

    """

    def __init__(self, path: Path, *, lock_wait: float = 10.0, level: int = DEFAULT_LEVEL) -> None:
        self.path = path
        self._level = level
        self._scratch: Scratch | None = None
        self._lock: Lock | None = None
        self._map: DigestMap | None = None
        self.record: Record | None = None
        with named_faults(path):
            if not is_vacant(path):
                Record(path).close()
                self._lock = Lock(path / RECORD_LOCK, lock_wait)
                try:
                    self.record = Record(path)
                except BaseException:
                    self._lock.release()
                    raise
        self._begin()

    def _begin(self) -> None:
        """Start a transaction on what is committed."""
        self.head = self.record.head if self.record else EMPTY_HEAD
        if self._map and self.record:
            self._map.extend(self.record.objects)
        self._added: dict[bytes, int] = {}
        self._rows = bytearray()
        self._entries: list[bytes] = []
        self._names: set[bytes] = set()
        self._log_bytes = self.head.log_bytes
        self._captures = self.head.captures
        self._transcripts = list(self.head.transcripts)
        self._tree = Tree(self.head.leaves, self.head.peaks)
        self._kept_packs = len(self.head.packs)
        self._packer = self._new_packer()

    def _new_packer(self) -> Packer:
        return Packer(self._level, self._pack_directory, self._merged)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Abandon what was not committed, and give up the lock."""
        self._packer.settle()
        if self._entries or self._packer.started:
            self.tidy()
        if self.record:
            self.record.close()
        if self._scratch:
            self._scratch.remove()
        if self._lock:
            self._lock.release()

    # -------------------------------------------------------------------------------------------------- drafts

    def draft(self, name: bytes, new_bytes: int) -> Draft:
        """Begin a capture of the transcript ``name``, which will add at most ``new_bytes`` bytes of turns.

        What is finished is committed first unless both lie in one pack that is not sealed, so that a draft can be
        abandoned without taking back another.
        """
        if self._entries and (self._packer.started or self._packer.pending_bytes + new_bytes > FRAME_LIMIT):
            self.commit()
        self._packer.expect(new_bytes)
        return Draft(self, name, self.new_objects)

    def store(self, turns: Sequence[bytes], digests: Sequence[bytes]) -> list[int]:
        """The objects of ``turns``, whose SHA-256 are ``digests``; what is not held yet is stored."""
        held = self._held(digests)
        numbers = []
        end = self.head.objects + self.new_objects
        for turn, digest in zip(turns, digests, strict=True):
            number = self._added.get(digest, held.get(digest, -1))
            if number < 0:
                number = self._added[digest] = end
                end += 1
                self._packer.add(turn, number)
                self._rows += ObjectRow(digest, len(turn)).pack()
            numbers.append(number)
        return numbers

    def _held(self, digests: Sequence[bytes]) -> dict[bytes, int]:
        """The committed objects among those with ``digests``."""
        if not self.record or not self.head.objects:
            return {}
        wanted = {digest for digest in digests if digest not in self._added}
        if self._map is None and len(wanted) > _FEW:
            self._map = DigestMap(self.record.objects)
        if self._map is not None:
            return {digest: self._map.find(digest) for digest in wanted}
        return {digest: next(self.record.objects.search(digest.hex()), -1) for digest in wanted}

    @property
    def new_objects(self) -> int:
        """Number of objects that this transaction added so far."""
        return len(self._rows) // OBJECT_ROW.size

    def take_back(self, rows: int) -> None:
        """Take back all objects but the first ``rows``; all of them where a pack is sealed, see :meth:`draft`."""
        if self._packer.started:
            self._packer.settle()
            self.tidy()
            self._begin()
            return
        self._packer.drop(self.new_objects - rows)
        del self._rows[rows * OBJECT_ROW.size :]
        while len(self._added) > rows:
            self._added.popitem()

    def append(self, entry: Entry, origin: Origin, hashes: Sequence[bytes]) -> int:
        """Append a capture, with the leaf hashes of its turns and of itself; its number.

        ``transcript``, ``back`` and the place of the origin are filled in here.
        """
        if entry.name in self._names:
            message = f"two captures of {entry.name.decode()} in one step"
            raise DuplicateName(message, transcript=entry.name.decode())
        self._names.add(entry.name)
        number = self.record.number_of(entry.name) if self.record else None
        place: dict[str, Any] = {"transcript": len(self._transcripts), "origin": origin}
        first = self._log_bytes
        if self.record and number is not None:
            first, last = self._transcripts[number].first_entry, self._transcripts[number].last_entry
            place = {"transcript": number, "back": self._log_bytes - last, "origin": origin}
            if self.record.origin_of(last) == origin:
                at = last - self.record.entry_at(last).origin_back
                place |= {"origin_back": self._log_bytes - at, "origin": None}
        entry = entry._replace(**place)
        self._captures += 1
        row = TranscriptRow(xxh3_64_intdigest(entry.name), first, self._log_bytes, self._captures)
        self._transcripts[entry.transcript : entry.transcript + 1] = [row]
        data = entry.pack()
        if Entry.unpack(data, "a new entry").pack() != data:
            raise Internal("a new entry of the log does not decode to what was encoded; nothing was stored")
        self._entries.append(data)
        self._log_bytes += len(data)
        self._tree.extend(hashes)
        return self._captures

    # -------------------------------------------------------------------------------------------------- commit

    def seal(self) -> None:
        """Begin to compress all that was finished, which :meth:`commit` waits for; nothing is taken back any more."""
        if self._entries:
            with named_faults(self.path):
                self._base()
                self._packer.seal(self.head.objects + self.new_objects)

    def commit(self) -> None:
        """Make everything that was finished part of the archive, in one step, and remove what a dead writer left.

        Raises:
            NoSpace, PermissionDenied, IoFailed: the archive is as it was.
            LostRace: another writer made the archive first.

        """
        if self._entries:
            with named_faults(self.path):
                self._base()
                new = self._packer.finish(self.head.objects + self.new_objects)
                self._publish((*self.head.packs[: self._kept_packs], *new))
        self.tidy()

    def repack(self, tell: Callable[[int], None]) -> None:
        """Replace all packs by new ones of this writer's level, in one step; the log and the digest stay.

        Args:
            tell: told how many bytes of turns were read so far.

        """
        if not self.record or not self.head.objects:
            return
        with named_faults(self.path):
            self._base()
            self._packer = packer = Packer(self._level, self._pack_directory, lambda _: [])
            packer.expect(self.head.object_bytes)
            done = 0
            for index in range(len(self.head.packs)):
                pack = self.record.load_pack(index)
                for number in range(pack.first, pack.first + len(pack.ends)):
                    packer.add(bytes(pack.turn(number)), number)
                done += len(pack.data)
                tell(done)
            self._publish(tuple(packer.finish(self.head.objects)))
        self.tidy()

    def _publish(self, packs: tuple[PackRow, ...]) -> None:
        """Write what stands beyond HEAD, flush it, and put a new HEAD in the place of the old one."""
        base = self._base()
        flush_directory(self._pack_directory())
        files = (self.record.objects.file, self.record.log) if self.record else (None, None)
        objects_tail = _append(self._base() / "objects", OBJECTS_HEADER, files[0], bytes(self._rows))
        log_tail = _append(self._base() / "log", LOG_HEADER, files[1], b"".join(self._entries))
        head = Head(
            captures=self._captures,
            objects=self.head.objects + self.new_objects,
            object_bytes=sum(row.raw_bytes for row in packs),
            log_bytes=self._log_bytes,
            leaves=self._tree.leaves,
            objects_tail=objects_tail,
            log_tail=log_tail,
            root=self._tree.root(),
            packs=packs,
            transcripts=tuple(self._transcripts),
            peaks=tuple(self._tree.peaks),
        )
        data = head.pack()
        if Head.unpack(data) != head:
            raise Internal("a new HEAD does not decode to what was encoded; nothing was stored")
        if self._scratch:
            write_file(base / "CTXA", MARK)
        replace_file(self._base() / "HEAD", data)
        with _committed(self.path):
            flush_directory(base)
        if self._scratch:
            self._lock = self._scratch.become(self.path)
            self._scratch = None
        if self.record:
            self.record.close()
        self.record = Record(self.path)
        self._begin()

    def tidy(self) -> None:
        """Remove what HEAD, as it is on disk, does not commit: merged packs, and what this or a dead writer left.

        A fault here loses nothing, and is left to the next writer.
        """
        with suppress(OSError, Refusal):
            if not self.record:
                return
            self._base()
            head = read_head(self.path)
            named = head.pack_names()
            (self.path / "HEAD.tmp").unlink(missing_ok=True)
            for path in (self.path / "pack").iterdir():
                if path.suffix in {".zst", ".tmp"} and path.name not in named:
                    path.unlink(missing_ok=True)
            for name, length in (("objects", head.objects * OBJECT_ROW.size), ("log", head.log_bytes)):
                if (self.path / name).lstat().st_size > stored_length(length):
                    append_file(self.path / name, stored_length(length), b"")

    def _base(self) -> Path:
        """Where files are written: the archive, or the directory that will become it.

        Raises:
            ArchiveMoved: the archive that is locked is no longer the one at its path.

        """
        if self.record:
            if not (self._lock and self._lock.is_current()):
                message = f"{self.path}: the archive was moved or replaced while it was being written"
                raise ArchiveMoved(message, archive=str(self.path))
            return self.path
        if not self._scratch:
            self._scratch = Scratch(self.path)
        return self._scratch.path

    def _pack_directory(self) -> Path:
        directory = self._base() / "pack"
        directory.mkdir(exist_ok=True)
        return directory

    def _merged(self, new_bytes: int) -> list[bytes]:
        """The turns of the last packs, as long as each is smaller than twice what follows it and all fit in one."""
        turns: list[bytes] = []
        while self.record and self._kept_packs:
            last = self.head.packs[self._kept_packs - 1]
            if last.raw_bytes >= 2 * new_bytes or last.raw_bytes + new_bytes > FRAME_LIMIT:
                break
            self._kept_packs -= 1
            pack = self.record.load_pack(self._kept_packs)
            turns[:0] = [bytes(pack.turn(number)) for number in range(pack.first, pack.first + len(pack.ends))]
            new_bytes += last.raw_bytes
        return turns


class Draft:
    """A capture that is being read: either finished, or abandoned as if it had never begun."""

    def __init__(self, writer: RecordWriter, name: bytes, rows: int) -> None:
        self._writer = writer
        self._name = name
        self._start = rows
        self._runs = Runs()
        self._digests: list[bytes] = []
        self._lengths: list[int] = []

    def add(self, turns: Sequence[bytes]) -> None:
        """Append turns."""
        digests = [sha256(turn).digest() for turn in turns]
        self._runs.extend(Run(number, 1) for number in self._writer.store(turns, digests))
        self._digests += digests
        self._lengths += map(len, turns)

    def gap(self, turns: int, length: int) -> None:
        """Append ``turns`` turns of ``length`` bytes that are left out; nothing was added before."""
        self._runs.extend([Run(-1, turns, length)])

    def abandon(self) -> None:
        """Take everything back."""
        self._writer.take_back(self._start)

    def finish(  # noqa: PLR0913 - what an entry says
        self,
        *,
        keep: int,
        source: tuple[int, bytes],
        held: tuple[int, bytes],
        gaps: Sequence[Gap],
        origin: Origin,
        captured_ns: int,
        mtime_ns: int,
    ) -> int:
        """Append the capture to the log; its number.

        Args:
            keep: turns kept of the state before.
            source: bytes and SHA-256 of the source.
            held: bytes and SHA-256 of what is held of it.
            gaps: all gaps of the state after this capture.
            origin: where it came from.
            captured_ns: time of the capture, in nanoseconds since 1970 in UTC.
            mtime_ns: time of the source, likewise; 0 for a stream.

        """
        entry = Entry(
            transcript=0,
            back=0,
            keep=keep,
            runs=tuple(self._runs.runs),
            source_bytes=source[0],
            source_sha256=source[1],
            partial=bool(gaps),
            held_sha256=held[1],
            name=self._name,
            captured_ns=captured_ns,
            mtime_ns=mtime_ns,
            origin_back=0,
            origin=None,
        )
        first = entry.turns - len(self._digests)
        hashes = turn_hashes(first, self._digests, self._lengths, self._name)
        hashes.append(capture_hash(keep=keep, turns=entry.turns, source=source, held=held, gaps=gaps, name=self._name))
        return self._writer.append(entry, origin, hashes)


@contextmanager
def _committed(path: Path) -> Iterator[None]:
    """Faults behind the commit say that it was one."""
    try:
        yield
    except OSError as error:
        refusal = from_os_error(error, path)
        refusal.hint = "the capture is in the archive, but the system did not confirm that it is on the medium"
        raise refusal from error


def _append(path: Path, header: FileHeader, file: BlockFile | None, data: bytes) -> int:
    """Append ``data`` to the content of a file of blocks; the checksum of its last, short block."""
    if file is None:
        stored, tail = appended(b"", data)
        write_file(path, header.pack() + stored)
    else:
        stored, tail = appended(file.tail(), data)
        append_file(path, stored_length(file.length), stored)
    return tail
