"""Finding what is to be captured: files, directories, a stream, a client's newest session, what a hook names."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import tempfile
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from ctxarc.errors import (
    BadName,
    BadUsage,
    DuplicateName,
    Environment,
    Missing,
    NoSuchSource,
    Refusal,
    from_os_error,
)
from ctxarc.operations.names import SUFFIX, check_name, name_of_path
from ctxarc.preservation.files import named_faults

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_NOT_THERE = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}
CLEANUP_DAYS = 30
"""Days after which Claude Code deletes a session unless its settings say otherwise."""


@dataclass(frozen=True, slots=True)
class Source:
    """A transcript to capture: its name in the archive and the file its bytes come from.

    ``spool`` is the open temporary file of a stream; standard input has no ``path``. ``refusal`` is why it cannot be
    captured, where that is known beforehand.
    """

    name: str
    path: Path | None
    spool: BinaryIO | None = field(default=None, compare=False)
    refusal: Refusal | None = field(default=None, compare=False)

    @property
    def label(self) -> str:
        """What messages call it."""
        return str(self.path) if self.path else "standard input"


def discover(paths: Sequence[str], *, name: str | None = None) -> list[Source]:
    """The transcripts at ``paths``: files, and what directories hold, each with what belongs to its session.

    Args:
        paths: files and directories; a device or a pipe is read to its end.
        name: the name of the one file in ``paths``.

    Raises:
        NoSuchSource: a path is not there, or a directory holds no transcript.
        BadName, DuplicateName: names that cannot be used.
        BadUsage: ``name`` for anything but one file, or an empty path.

    """
    if "" in paths:
        raise BadUsage("'' is no source", hint="write . for the current directory, or leave it out")
    if name is not None and (len(paths) != 1 or Path(paths[0]).is_dir()):
        raise BadUsage("--name names one transcript, and there is not exactly one source file", hint="leave --name out")
    found: dict[tuple[str, bool], Source] = {}
    for path in paths:
        for source in _judged(Path(path), name, alone=len(paths) == 1):
            other = found.setdefault((source.name, source.refusal is None), source)
            if source.refusal is None and other is not source and not _same_file(other, source):
                message = f"{other.label} and {source.label} would both be the transcript {source.name}"
                raise DuplicateName(message, transcript=source.name, sources=[other.label, source.label])
    return list(found.values())


def spooled(stream: BinaryIO, name: str, path: Path | None = None) -> Source:
    """A stream, read to its end into a temporary file that dies with the process."""
    check_name(name)
    with named_faults():
        spool = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the source
        shutil.copyfileobj(stream, spool, 1 << 20)
        spool.flush()
    return Source(name, path, spool)


def latest(claude_dir: Path, codex_dir: Path) -> list[Source]:
    """The newest session of Claude Code and Codex, with what belongs to it.

    Args:
        claude_dir: Claude Code's directory, ``~/.claude`` unless configured.
        codex_dir: Codex's directory, ``~/.codex`` unless configured.

    Raises:
        NoSuchSource: there is no session.

    """
    projects, sessions = claude_dir / "projects", codex_dir / "sessions"
    files = [*projects.glob("*/*" + SUFFIX), *sessions.glob("*/*/*/*" + SUFFIX)]
    faults = _Faults()
    times = [(os.stat(path).st_mtime_ns, str(path)) for path in files if _is_file(path, faults)]  # noqa: PTH116 - quick
    if not times and faults.found:
        raise faults.first()
    if not times:
        message = f"no session in {projects} or {sessions}"
        hint = "set CLAUDE_CONFIG_DIR or CODEX_HOME where the client keeps its sessions elsewhere, or name the file"
        raise NoSuchSource(message, hint=hint, directories=[str(projects), str(sessions)])
    return [*discover([max(times)[1]]), *faults.sources()]


def from_hook(payload: bytes) -> list[Source]:
    """The session that a client's hook JSON names in ``transcript_path`` (or ``transcriptPath``).

    Raises:
        BadUsage: the payload is no such JSON.
        NoSuchSource: the file is not there.

    """
    try:
        value = json.loads(payload)
    except (ValueError, RecursionError) as error:
        raise BadUsage("standard input is not the JSON that a hook gets", hint="see `ctxarc capture --help`") from error
    path = (value.get("transcript_path") or value.get("transcriptPath")) if isinstance(value, dict) else None
    if not isinstance(path, str) or not path or "\0" in path:
        raise BadUsage("the hook's JSON names no transcript_path", hint="see `ctxarc capture --help`")
    try:
        file = Path(path).expanduser()
        if file.is_dir():
            raise NoSuchSource(f"{path}: a directory, where a hook names a session's file", source=path)
        return discover([str(file)])
    except RuntimeError as error:
        raise NoSuchSource(f"{path}: {error}", source=path) from error


def days_left(path: Path, claude_dir: Path, now: float) -> int | None:
    """Whole days until the client deletes the session at ``path``, or ``None`` where nothing is known of that."""
    if not path.absolute().is_relative_to(claude_dir.absolute() / "projects"):
        return None
    try:
        age = (now - path.stat().st_mtime) / 86_400
    except OSError:
        return None
    return max(0, int(_cleanup_days(claude_dir / "settings.json") - age))


def _cleanup_days(settings: Path) -> float:
    try:
        days = json.loads(settings.read_bytes())["cleanupPeriodDays"]
        usable = isinstance(days, (int, float)) and not isinstance(days, bool) and isfinite(days)
    except (OSError, ValueError, OverflowError, KeyError, TypeError, RecursionError):
        return CLEANUP_DAYS
    return days if usable else CLEANUP_DAYS


def _judged(path: Path, name: str | None, *, alone: bool) -> list[Source]:
    """The sources at ``path``; beside others a path that cannot be one is refused with them, and not before."""
    try:
        return list(_at(path, name))
    except (Missing, BadName, Environment) as refusal:
        if alone:
            raise
        return [Source(str(path), path, refusal=refusal)]


def _at(path: Path, name: str | None) -> Iterator[Source]:
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        if isinstance(error, (FileNotFoundError, NotADirectoryError, ValueError)):
            raise NoSuchSource(f"{path}: no such file or directory", source=str(path)) from error
        own = check_name(name) if name is not None else name_of_path([path.name])
        yield Source(own, path)  # what cannot be looked at is refused when it is read, beside the others
        return
    if stat.S_ISDIR(mode):
        yield from _in_directory(path)
        return
    own = check_name(name) if name is not None else name_of_path([path.name])
    if not stat.S_ISREG(mode):
        with named_faults(path), path.open("rb") as stream:
            yield spooled(stream, own, path)
        return
    faults = _Faults()
    home = path.parent / path.name.removesuffix(SUFFIX)
    beside = [_named(file, file.relative_to(home), f"{own}/") for file in _belongings(path, faults)]
    yield from _apart([Source(own, path), *beside])
    yield from faults.sources()


def _in_directory(root: Path) -> Iterator[Source]:
    faults = _Faults()
    files = dict.fromkeys(path for path in _walk(root, faults) if path.name.endswith(SUFFIX) and _is_file(path, faults))
    if not files and faults.found:
        raise faults.first()
    if not files:
        raise NoSuchSource(f"{root}: no *{SUFFIX} file in this directory or below", source=str(root))
    for path in list(files):
        files.update(dict.fromkeys(_belongings(path, faults)))
    yield from _apart([_named(path, path.relative_to(root), "") for path in files])
    yield from faults.sources()


class _Faults:
    """Folders of which not all could be looked at, each with what the system said of it first."""

    def __init__(self) -> None:
        self.found: dict[Path, Environment] = {}

    def add(self, error: OSError, folder: Path) -> None:
        """Note a fault of ``folder``; what is not there, or is none, is no fault."""
        if error.errno not in _NOT_THERE:
            self.found.setdefault(folder, from_os_error(error, folder))

    def first(self) -> Environment:
        """The first one, to be raised."""
        return next(iter(self.found.values()))

    def sources(self) -> Iterator[Source]:
        """A refused source for each; the / behind its name tells it from any transcript."""
        for folder, refusal in self.found.items():
            yield Source(f"{folder}/", folder, refusal=refusal)


def _walk(root: Path, faults: _Faults) -> Iterator[Path]:
    """What is no directory below ``root``, in order; links to directories are not followed."""
    for folder, folders, names in os.walk(root, onerror=lambda error: faults.add(error, Path(error.filename))):
        folders.sort()
        yield from (Path(folder) / name for name in sorted(names))


def _is_file(path: Path, faults: _Faults) -> bool:
    """Whether a plain file is at ``path``, or a link leads to one; ``False``, and a fault, where nobody can tell."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError as error:
        faults.add(error, path if _is_link(path) else path.parent)
        return False


def _apart(sources: Sequence[Source]) -> Iterator[Source]:
    """The sources, with a refusal for those that share a name: which of them it means, nobody knows."""
    named: dict[str, list[Source]] = {}
    for source in sources:
        named.setdefault(source.name, []).append(source)
    for name, same in named.items():
        if len(same) == 1:
            yield same[0]
            continue
        labels = [source.label for source in same]
        refusal = DuplicateName(
            f"{' and '.join(labels)} would both be the transcript {name}", transcript=name, sources=labels
        )
        yield from (Source(source.label, source.path, refusal=refusal) for source in same)


def _named(path: Path, relative: Path, before: str) -> Source:
    """The file ``path`` under its name, or refused where it can have none."""
    try:
        return Source(check_name(before + name_of_path(relative.parts)), path)
    except BadName as refusal:
        return Source(str(path), path, refusal=refusal)


def _is_link(path: Path) -> bool:
    return os.path.islink(path)  # noqa: PTH114 - pathlib's own fails where nobody can tell


def _belongings(session: Path, faults: _Faults) -> list[Path]:
    """What Claude Code keeps of a session outside its transcript: sub-agents, large tool results, descriptions."""
    stem = session.name.removesuffix(SUFFIX)
    home = session.parent / stem
    if stem in {session.name, "", ".", ".."} or _is_link(home):
        return []
    return sorted(path for path in _walk(home, faults) if _belongs(path, home) and _is_file(path, faults))


def _belongs(path: Path, home: Path) -> bool:
    folders = path.relative_to(home).parts[:-1]
    return folders[:1] in {("subagents",), ("tool-results",)} or path.name.endswith(".meta.json")


def _same_file(one: Source, other: Source) -> bool:
    try:
        return one.path is not None and other.path is not None and one.path.samefile(other.path)
    except OSError:
        return False
