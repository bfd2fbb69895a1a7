"""Which paths a server may touch: those below its root, and to read also below its folders of sources.

A path is resolved first, links and ``..`` with it, and what is used is the resolved path: a link that is put in its
place behind the check is not followed. What lies in an archive is looked through too, since a link there would lead
writing out of the root.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ctxarc.errors import BadUsage, NoSuchSource, OutsideRoot
from ctxarc.operations.names import file_of_name, name_of_path
from ctxarc.operations.sources import Source, discover
from ctxarc.operations.view import View
from ctxarc.preservation.files import named_faults
from ctxarc.preservation.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ctxarc.mcp.settings import Settings

_LONGEST = 4096
"""Characters of a path."""


class Places:
    """The paths that a server may touch, by its settings."""

    def __init__(self, settings: Settings) -> None:
        self.root = Path(os.path.realpath(settings.root))
        self._readable = [self.root, *(Path(os.path.realpath(each)) for each in settings.sources)]
        self._archive = settings.archive
        self._anywhere = self._resolved(settings.archive) if settings.archive and settings.anywhere else None

    @property
    def default(self) -> Path | None:
        """The archive that is meant where none is named."""
        return None if self._archive is None else self.archive(None)

    def archive(self, path: str | None) -> Path:
        """An archive, which need not be there yet.

        Raises:
            OutsideRoot: it does not lie below the root, or a link in it leads out.

        """
        if path is None:
            path = self._archive
        if path is None:
            raise BadUsage("no archive is named", hint="give `archive`, a path below the root", root=str(self.root))
        found = self._resolved(path)
        if found == self._anywhere:
            return found
        self._check(path, found, [self.root])
        for link in _links(found):
            self._check(str(link), Path(os.path.realpath(link)), [self.root])
        return found

    def readable(self, path: str) -> Path:
        """A plain file, or a directory, to be read.

        Raises:
            OutsideRoot: it lies neither below the root nor in a folder of sources.
            NoSuchSource: it is not there, or is a pipe or a device.

        """
        found = self._resolved(os.path.expanduser(path))  # noqa: PTH111 - pathlib's own fails where there is no home
        self._check(path, found, self._readable)
        with named_faults(found):
            try:
                mode = found.stat().st_mode
            except (FileNotFoundError, NotADirectoryError):
                raise NoSuchSource(f"{path}: no such file or directory", source=path) from None
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise NoSuchSource(f"{path}: neither a file nor a directory", source=path)
        return found

    def sources(self, path: str) -> tuple[list[Source], str | None]:
        """The transcripts at ``path``, and the name of the one that it is, where it is a file."""
        found = self.readable(path)
        if found.is_dir():
            return [self._inside(source) for source in discover([str(found)])], None
        name = name_of_path([Path(path).name])  # a link's own name, whatever it leads to
        return [self._inside(source) for source in discover([str(found)], name=name)], name

    def target(self, archive: Path, transcript: str | None, directory: str, at: int | None) -> tuple[Path, str]:
        """The directory that a transcript may be written to, and the transcript's whole name.

        Raises:
            OutsideRoot: the directory, or one that the name makes below it, does not lie below the root.

        """
        place = self._resolved(directory)
        self._check(directory, place, [self.root])
        with Record(archive) as record:
            name = View(record, at).pick(None if transcript is None else transcript.removesuffix("#")).name.decode()
        file = place / file_of_name(name)
        self._check(str(file), Path(os.path.realpath(file)), [self.root])
        return place, name

    def archives(self) -> Iterator[Path]:
        """The archives that lie in the root itself, in order of names; the default one comes first."""
        first = self.default
        if first is not None:
            yield first
        with suppress(OSError):
            for entry in sorted(os.scandir(self.root), key=lambda entry: entry.name):
                is_archive = entry.is_dir(follow_symlinks=False) and Path(entry.path, "CTXA").is_file()
                if is_archive and Path(entry.path) != first:
                    with suppress(OutsideRoot):
                        yield self.archive(entry.path)

    def _resolved(self, path: str) -> Path:
        if not path or "\0" in path or len(path) > _LONGEST:
            raise BadUsage(f"{path[:80]!r} is no path", hint="a path is relative to the root, or absolute below it")
        return Path(os.path.realpath(self.root / path))

    def _inside(self, source: Source) -> Source:
        """``source`` with its links resolved, or refused where they lead out."""
        if source.path is None or source.refusal is not None:
            return source
        real = Path(os.path.realpath(source.path))
        try:
            self._check(str(source.path), real, self._readable)
        except OutsideRoot as refusal:
            return replace(source, refusal=refusal)
        return replace(source, path=real)

    def _check(self, path: str, found: Path, allowed: Sequence[Path]) -> None:
        if any(found.is_relative_to(each) for each in allowed):
            return
        leads = "" if Path(path) == found else f", which leads to {found},"
        where = " or ".join(map(str, allowed))
        raise OutsideRoot(f"{path}{leads} is not below {where}", path=path, allowed=[str(each) for each in allowed])


def _links(archive: Path) -> Iterator[Path]:
    """The links below an archive; those are not followed."""
    waiting = [archive]
    while waiting:
        for entry in _entries(waiting.pop()):
            if entry.is_symlink():
                yield Path(entry.path)
            elif entry.is_dir(follow_symlinks=False):
                waiting.append(Path(entry.path))


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """What is in a directory; nothing where there is none."""
    with named_faults(folder), suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
        return list(entries)
    return []
