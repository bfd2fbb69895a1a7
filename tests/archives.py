"""Small real archives for tests: made from bytes, read back, flipped, cut, and changed under right checksums.

A checksum hides every check behind it, so :class:`Parts` takes a record apart and writes it back with each checksum,
length and name made right again. Child processes are forked from a server that has the package loaded.
"""

from __future__ import annotations

import atexit
import os
import pickle
import resource
import shutil
import signal
import subprocess
import sys
import traceback
from functools import cache
from hashlib import sha256
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

from xxhash import xxh3_64_intdigest
from zstandard import ZstdCompressor

from ctxarc.errors import Refusal
from ctxarc.operations.capture import CaptureOptions, capture
from ctxarc.operations.cat import cat
from ctxarc.operations.log import log
from ctxarc.operations.ls import captures, ls
from ctxarc.operations.repack import repack
from ctxarc.operations.sources import Source
from ctxarc.operations.verify import verify
from ctxarc.preservation.blocks import appended
from ctxarc.preservation.entry import Gap, Origin, Runs
from ctxarc.preservation.layout import (
    LOG_HEADER,
    OBJECT_ROW,
    OBJECTS_HEADER,
    Head,
    ObjectRow,
    PackRow,
    TranscriptRow,
)
from ctxarc.preservation.merkle import Tree, capture_hash, turn_hashes
from ctxarc.preservation.record import Record, read_head
from ctxarc.preservation.writer import RecordWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ctxarc.model import CaptureResult

NOON = 1_700_000_000_000_000_000
"""The time of every capture here, and of every source: so close that none is taken for unchanged by its time."""


# ------------------------------------------------------------------------------------------------ making and reading


def turns_of(data: bytes) -> list[bytes]:
    """The lines of ``data`` with their line feeds, cut in the plainest way there is."""
    parts = [part + b"\n" for part in data.split(b"\n")]
    parts[-1] = parts[-1][:-1]
    return parts if parts[-1] else parts[:-1]


def line(number: int, size: int = 60, salt: str = "") -> bytes:
    """A turn of about ``size`` bytes that zstd cannot make much smaller and that no other number has."""
    filler = "".join(sha256(f"{salt}{number}/{part}".encode()).hexdigest() for part in range(size // 64 + 1))
    return f'{{"type":"user","n":{number},"text":"{filler}'[: max(size - 3, 30)].encode() + b'"}\n'


def lines(start: int, end: int, size: int = 60, salt: str = "") -> bytes:
    """The turns ``start`` to ``end``, joined."""
    return b"".join(line(number, size, salt) for number in range(start, end))


def source_of(archive: Path, name: str, data: bytes) -> Source:
    """A source called ``name`` with the content ``data``, in a file beside the archive."""
    path = archive.parent / "sources" / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    os.utime(path, ns=(NOON, NOON))
    return Source(name, path)


def store(archive: Path, data: bytes, name: str = "t", **options: Any) -> CaptureResult:  # noqa: ANN401 - as they are
    """Capture ``data`` as the transcript ``name``."""
    return store_all(archive, {name: data}, **options)


def store_all(archive: Path, data: dict[str, bytes], **options: Any) -> CaptureResult:  # noqa: ANN401 - as they are
    """Capture several transcripts in one call."""
    sources = [source_of(archive, name, content) for name, content in data.items()]
    return capture(archive, sources, CaptureOptions(**options), clock=lambda: NOON)


def read(archive: Path, *addresses: str, at: int | None = None) -> bytes:
    """The bytes at ``addresses``, as ``cat`` gives them."""
    return b"".join(cat(archive, addresses, at=at))


def digest_of(archive: Path) -> str:
    """The archive digest that HEAD states."""
    return read_head(archive).root.hex()


def findings(archive: Path, *, quick: bool = False) -> list[tuple[str, str]]:
    """Code and path of everything that ``verify`` finds."""
    return [(finding.code, finding.path) for finding in verify(archive, quick=quick).findings]


def add(
    writer: RecordWriter, name: bytes, turns: Sequence[bytes], *, keep: Sequence[bytes] = (), finish: bool = True
) -> int:
    """Capture ``turns`` behind the held turns ``keep`` with the writer itself; 0 where it is abandoned."""
    draft = writer.draft(name, sum(map(len, turns)))
    draft.add(turns)
    if not finish:
        draft.abandon()
        return 0
    data = b"".join([*keep, *turns])
    proof = len(data), sha256(data).digest()
    return draft.finish(
        keep=len(keep),
        source=proof,
        held=proof,
        gaps=[],
        origin=Origin(b"/p", b"h", b"t"),
        captured_ns=NOON,
        mtime_ns=0,
    )


def files_of(archive: Path) -> dict[str, bytes]:
    """Every file below ``archive``, by its path in it."""
    return {
        path.relative_to(archive).as_posix(): path.read_bytes()
        for path in sorted(archive.rglob("*"))
        if path.is_file() and path.name != "record.lock"
    }


def pack_sizes(archive: Path) -> list[int]:
    """Bytes of turns in each pack."""
    return [row.raw_bytes for row in read_head(archive).packs]


def pack_file(archive: Path, index: int = 0) -> Path:
    """The file of the pack at ``index``."""
    packs = read_head(archive).packs
    return archive / "pack" / packs[index].name(sum(row.objects for row in packs[:index]))


# ----------------------------------------------------------------------------------------------------------- damage


def flip(path: Path, at: int, mask: int = 0xFF) -> None:
    """Change the byte at ``at``; a negative place counts from the end."""
    data = bytearray(path.read_bytes())
    data[at] ^= mask
    path.write_bytes(data)


def cut(path: Path, length: int) -> None:
    """Cut the file to ``length`` bytes; a negative length counts from the end."""
    data = path.read_bytes()[:length]
    path.write_bytes(data)


class Parts:
    """What a record says, taken apart; :meth:`seal` writes it back under right checksums, whatever it says then.

    Attributes:
        head: HEAD; its pack table and lengths are made anew by ``seal``.
        rows: the rows of ``objects``.
        entries: the entries of the log.
        packs: the turns of each pack, joined; where they end stays.
        stored: the row and file of a pack, by index, where they are not to be made from its turns.

    """

    def __init__(self, archive: Path) -> None:
        self.archive = archive
        with Record(archive) as record:
            self.head = record.head
            rows = record.objects.rows(0, self.head.objects)
            self.rows = [ObjectRow(*row) for row in OBJECT_ROW.iter_unpack(rows)]
            self.entries = [each.entry for each in record.captures()]
            packs = [record.load_pack(index) for index in range(len(self.head.packs))]
            self.packs = [bytes(pack.data) for pack in packs]
            self._ends = [list(pack.ends) for pack in packs]
        self.stored: dict[int, tuple[PackRow, bytes]] = {}

    def change(self, index: int, **fields: Any) -> None:  # noqa: ANN401 - as they are
        """Change fields of the entry at ``index``."""
        self.entries[index] = self.entries[index]._replace(**fields)

    def relink(self) -> None:
        """Make the distances between entries, and HEAD's table of transcripts, right again."""
        firsts: dict[int, tuple[int, bytes]] = {}
        lasts: dict[int, int] = {}
        origins: dict[int, int] = {}
        rows: dict[int, TranscriptRow] = {}
        at = 0
        for index, entry in enumerate(self.entries):
            number = entry.transcript
            back = at - lasts.get(number, at)
            if entry.origin:
                origins[number] = at
            from_origin = at - origins[number] if number in origins else entry.origin_back
            self.entries[index] = entry._replace(back=back, origin_back=0 if entry.origin else from_origin)
            first, name = firsts.setdefault(number, (at, entry.name))
            lasts[number] = at
            rows[number] = TranscriptRow(xxh3_64_intdigest(name), first, at, index + 1)
            at += len(self.entries[index].pack())
        self.head = self.head._replace(transcripts=tuple(rows[number] for number in sorted(rows)))

    def rehash(self) -> None:
        """Make the digest right again: what a forger does who can change everything."""
        tree, states = Tree(), dict[int, tuple[bytes, Runs]]()
        for entry in self.entries:
            name, runs = states.setdefault(entry.transcript, (entry.name, Runs()))
            runs.keep(entry.keep)
            runs.extend(entry.runs)
            turn = entry.keep
            for run in entry.runs:
                rows = self.rows[run.first : run.first + run.turns] if run.first >= 0 else []
                tree.extend(turn_hashes(turn, [row.sha256 for row in rows], [row.length for row in rows], name))
                turn += run.turns
            held = sum(
                row.length
                for run in runs.runs
                if run.first >= 0
                for row in self.rows[run.first : run.first + run.turns]
            )
            tree.extend(
                [
                    capture_hash(
                        keep=entry.keep,
                        turns=entry.turns,
                        source=(entry.source_bytes, entry.source_sha256),
                        held=(held, entry.held_sha256),
                        gaps=self._gaps(runs),
                        name=name,
                    )
                ]
            )
        self.head = self.head._replace(leaves=tree.leaves, root=tree.root(), peaks=tuple(tree.peaks))

    def _gaps(self, runs: Runs) -> list[Gap]:
        found, turn, start = [], 0, 0
        for run in runs.runs:
            length = run.gap_bytes
            if run.first >= 0:
                length = sum(row.length for row in self.rows[run.first : run.first + run.turns])
            else:
                found.append(Gap(turn, run.turns, start, start + length))
            turn, start = turn + run.turns, start + length
        return found

    def seal(self, log: bytes | None = None, **head: Any) -> None:  # noqa: ANN401 - as they are
        """Write everything; ``log`` stands for the entries, and ``head`` has the last word on HEAD's fields."""
        shutil.rmtree(self.archive / "pack")
        (self.archive / "pack").mkdir()
        rows, first = [], 0
        for index, turns in enumerate(self.packs):
            row, stored = self.stored.get(index) or packed(turns, self._ends[index])
            (self.archive / "pack" / row.name(first)).write_bytes(stored)
            rows.append(row)
            first += row.objects
        content = b"".join(entry.pack() for entry in self.entries) if log is None else log
        objects, objects_tail = appended(b"", b"".join(row.pack() for row in self.rows))
        entries, log_tail = appended(b"", content)
        (self.archive / "objects").write_bytes(OBJECTS_HEADER.pack() + objects)
        (self.archive / "log").write_bytes(LOG_HEADER.pack() + entries)
        fields: dict[str, Any] = {
            "captures": len(self.entries),
            "objects": sum(row.objects for row in rows),
            "object_bytes": sum(row.raw_bytes for row in rows),
            "log_bytes": len(content),
            "objects_tail": objects_tail,
            "log_tail": log_tail,
            "packs": tuple(rows),
        }
        write_head(self.archive, self.head._replace(**fields | head))


def packed(turns: bytes, ends: Sequence[int]) -> tuple[PackRow, bytes]:
    """A pack of the turns that end at ``ends``: its row for HEAD, and its file."""
    unfinished = b"".join(end.to_bytes(8, "little") for end in ends if turns[end - 1 : end] != b"\n")
    front = skippable(len(unfinished)) + unfinished if unfinished else b""
    stored = front + ZstdCompressor(write_checksum=True).compress(turns)
    return PackRow(len(ends), len(turns), len(stored), xxh3_64_intdigest(stored)), stored


def skippable(size: int) -> bytes:
    """The first bytes of the zstd frame that states where unfinished turns end."""
    return b"\x5c\x2a\x4d\x18" + size.to_bytes(4, "little")


def write_head(archive: Path, head: Head) -> None:
    """Put ``head`` into HEAD, under its checksums."""
    (archive / "HEAD").write_bytes(head.pack())


# --------------------------------------------------------------------------------------------------- child processes

DIED = 77
"""Exit status of a child that was made to die."""
_PATIENCE = 60
"""Seconds after which a child that hangs is killed."""


def in_child(target: Callable[..., Any], *args: Any) -> tuple[int, Any]:  # noqa: ANN401 - as they are
    """The exit status of a process that does ``target(*args)``, and what that returned or the refusal's code.

    The process is forked from one that has loaded the package already; ``target`` is a function of a module.
    """
    server = _server()
    if not server.stdin or not server.stdout:
        raise RuntimeError("the server has no pipes")
    pickle.dump((target, args), server.stdin)
    server.stdin.flush()
    status, said = pickle.load(server.stdout)  # noqa: S301 - our own child
    return os.waitstatus_to_exitcode(status), pickle.loads(said) if said else None  # noqa: S301 - our own child


@cache
def _server() -> subprocess.Popen[bytes]:
    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import archives; archives.serve()"
    server = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    atexit.register(_end, server)
    return server


def _end(server: subprocess.Popen[bytes]) -> None:
    with server:
        if server.stdin:
            server.stdin.close()


def serve() -> None:
    """The server's loop: a fork for each call that comes in."""
    calls, answers = sys.stdin.buffer, sys.stdout.buffer
    while True:
        try:
            target, args = pickle.load(calls)  # noqa: S301 - our own parent
        except EOFError:
            return
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            signal.alarm(_PATIENCE)
            said = pickle.dumps(_outcome(target, args))
            with open(writing, "wb") as stream:  # noqa: PTH123 - a descriptor
                stream.write(said)
            os._exit(0)
        os.close(writing)
        with open(reading, "rb") as stream:  # noqa: PTH123 - a descriptor
            said = stream.read()
        pickle.dump((os.waitpid(child, 0)[1], said), answers)
        answers.flush()


def _outcome(target: Callable[..., Any], args: Sequence[Any]) -> Any:  # noqa: ANN401 - as they are
    try:
        return target(*args)
    except Refusal as refusal:
        return refusal.code
    except BaseException:  # noqa: BLE001 - told to the test, which fails with it
        return traceback.format_exc()


def few_bytes(more: int, target: Callable[..., Any], *args: Any) -> Any:  # noqa: ANN401 - as they are
    """Run ``target(*args)`` in this process, which may from now on take only ``more`` bytes of memory."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    limit = pages * resource.getpagesize() + more
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    return target(*args)


def use_all(archive: Path, name: str, data: bytes) -> dict[str, Any]:
    """What comes of everything that reads the record: results, codes of refusals, or tracebacks."""
    uses: dict[str, Callable[[], Any]] = {
        "cat": lambda: read(archive, f"{name}#"),
        "turn": lambda: read(archive, f"{name}#1"),
        "log": lambda: sum(row.bytes for row in log(archive, name)),
        "ls": lambda: len(list(ls(archive))),
        "captures": lambda: len(list(captures(archive))),
        "at": lambda: len(read(archive, f"{name}#", at=1)),
        "quick": lambda: findings(archive, quick=True),
        "verify": lambda: findings(archive),
        "capture": lambda: store(archive, data + b"more\n", name).transcripts[0].new_turns,
    }
    return {use: _outcome(do_it, ()) for use, do_it in uses.items()}


CHANGES = ("open", "write", "ftruncate", "fsync", "mkdir", "rename", "replace", "unlink", "rmdir")
"""The calls by which an archive is changed."""


class Watch:
    """Stands between this process and the calls of ``os`` that change files; ``at`` is called before each of them.

    Args:
        at: called with the number of the call, counted from 0, its name and its arguments.
        done: called with a call's name, arguments and result behind it.
        names: the calls that are counted.

    """

    def __init__(
        self,
        at: Callable[[int, str, tuple[Any, ...]], None],
        done: Callable[[str, tuple[Any, ...], Any], None] = lambda _name, _args, _result: None,
        names: Iterable[str] = CHANGES,
    ) -> None:
        self.count = 0
        self.real = {name: getattr(os, name) for name in CHANGES}
        self._at, self._done, self._names = at, done, set(names)
        self._lock = RLock()
        for name in CHANGES:
            setattr(os, name, self._call(name))

    def _call(self, name: str) -> Callable[..., Any]:
        real = self.real[name]

        def call(*args: Any, **named: Any) -> Any:  # noqa: ANN401 - as they are
            with self._lock:
                if name in self._names and (name != "open" or args[1] & (os.O_WRONLY | os.O_RDWR)):
                    self.count += 1
                    self._at(self.count - 1, name, args)
                result = real(*args, **named)
                self._done(name, args, result)
                return result

        return call


def die_at(number: int, action: str, archive: Path) -> str:
    """Do ``action`` and die at its call ``number``; of a write, half is done."""
    arm(number)
    return do(action, archive)


def arm(number: int) -> None:
    """Make this process die at its call ``number`` from now on that changes a file; of a write, half is done."""
    watch: Watch

    def at(count: int, name: str, args: tuple[Any, ...]) -> None:
        if count == number:
            if name == "write":
                watch.real["write"](args[0], bytes(args[1])[: len(args[1]) // 2])
            os._exit(DIED)

    watch = Watch(at)


def fail_at(number: int, fault: int, names: Sequence[str], action: str, archive: Path) -> tuple[str, int]:
    """Do ``action`` with its call ``number`` among ``names`` failing; what came of it, and the number of calls."""

    def at(count: int, _name: str, _args: tuple[Any, ...]) -> None:
        if count == number:
            raise OSError(fault, os.strerror(fault))

    watch = Watch(at, names=names)
    try:
        return do(action, archive), watch.count
    except Refusal as refusal:
        return refusal.code, watch.count


def lose_power_at(number: int, action: str, archive: Path) -> str:
    """Do ``action``; at its call ``number`` lose the power: only what was flushed is still there."""
    medium = Medium(archive.parent)

    def at(count: int, _name: str, _args: tuple[Any, ...]) -> None:
        if count == number:
            medium.lose(watch.real)
            os._exit(DIED)

    watch = Watch(at, medium.done)
    return do(action, archive)


class Medium:
    """What is sure to be on the medium below ``top``: what each file held, and each folder named, at its last flush.

    Everything that is there at the beginning is flushed, and sources lie on a medium of their own.
    """

    def __init__(self, top: Path) -> None:
        self._top = top
        self._names: dict[int, dict[str, int]] = {}
        self._contents: dict[int, bytes] = {}
        for folder in [top, *(path for path in top.rglob("*") if path.is_dir())]:
            self._flush_names(folder)
            for path in folder.iterdir():
                if path.is_file():
                    self._contents[path.stat().st_ino] = path.read_bytes()

    def _flush_names(self, folder: Path) -> None:
        self._names[folder.stat().st_ino] = {path.name: path.lstat().st_ino for path in folder.iterdir()}

    def done(self, name: str, args: tuple[Any, ...], _result: object) -> None:
        """Take note of a flush."""
        if name == "fsync":
            path = Path(f"/proc/self/fd/{args[0]}").resolve()
            if path.is_dir():
                self._flush_names(path)
            else:
                self._contents[path.stat().st_ino] = path.read_bytes()

    def lose(self, real: dict[str, Callable[..., Any]]) -> None:
        """Leave only what is certain."""
        for name, call in real.items():
            setattr(os, name, call)
        for path in self._top.iterdir():
            if path.name == "sources":
                continue
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
        self._restore(self._top, self._top.stat().st_ino)

    def _restore(self, folder: Path, number: int) -> None:
        for name, inner in self._names[number].items():
            if name == "sources":
                continue
            if inner in self._names:
                (folder / name).mkdir()
                self._restore(folder / name, inner)
            else:
                (folder / name).write_bytes(self._contents.get(inner, b""))


def prepare(archive: Path) -> None:
    """An archive on which every one of the ``ACTIONS`` but ``make`` has something to do."""
    for end in (40, 60, 64, 65):
        store(archive, lines(0, end))
    store(archive, lines(30, 70), "other")


def do(action: str, archive: Path) -> str:
    """One of the ``ACTIONS``; the digest behind it."""
    if action in {"make", "grow"}:
        store(archive, lines(0, 80))
    elif action == "several":
        store_all(archive, {"t": lines(0, 70), "other": lines(30, 75), "third": lines(90, 95)})
    elif action == "rewrite":
        store(archive, lines(0, 20) + lines(100, 140), as_new_history=True)
    elif action == "repack":
        repack(archive, level=5)
    return digest_of(archive)


ACTIONS = ("make", "grow", "several", "rewrite", "repack")
