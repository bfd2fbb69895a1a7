"""``drop_index``: remove an index of the auxiliary plane, sound or damaged, beside a record that stays as it is.

Files are known by their names alone and none is opened, so that what is damaged can be removed. What was made from an
index goes before it, and the parts of a set from the last to the first: a process that is ended in between leaves sets
that cover less, which is no fault of theirs, and the next run removes the rest.
"""

from __future__ import annotations

import re
import stat
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from ctxarc.auxiliary.edges import index as edge_index
from ctxarc.auxiliary.segments import index
from ctxarc.auxiliary.segments.index import NAME
from ctxarc.auxiliary.vectors import folders, origin
from ctxarc.auxiliary.words import index as words_index
from ctxarc.errors import Ambiguous, BadMagic, BadUsage, NoSuchScheme, NoSuchVectors
from ctxarc.model import DroppedSet, DropResult
from ctxarc.operations.side_files import KINDS
from ctxarc.operations.side_writer import SideWriter
from ctxarc.preservation.files import flush_directory, named_faults
from ctxarc.preservation.record import check_mark

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

SEGMENTS, WORDS, VECTORS, EDGES = index.FOLDER, words_index.FOLDER, folders.FOLDER, edge_index.FOLDER
_FINGERPRINT = re.compile(r"[0-9a-f]{1,32}")
_FULL = 32
"""Digits of a fingerprint."""

_IS_PART: dict[str, Callable[[str], bool]] = {kind.folder: kind.is_part for kind in KINDS}
"""Whether a path in an archive is the place of a file, finished or not, by the folder of its kind."""


class _Set(NamedTuple):
    """A set of side files: its kind, which is its folder, its scheme, and the fingerprint of vectors."""

    kind: str
    scheme: str
    fingerprint: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The parts of its path in an archive."""
        return (self.kind, self.scheme, *([self.fingerprint] if self.fingerprint else []))

    @property
    def label(self) -> str:
        """Its path in an archive."""
        return "/".join(self.names)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is to be dropped, as the arguments of :func:`drop_index` say it."""

    scheme: str | None
    words: bool
    fingerprint: str | None
    edges: bool
    dependents: bool

    def check(self) -> None:
        """Refuse what does not name one thing.

        Raises:
            BadUsage: nothing is named, or several things.

        """
        several = sum([self.words, self.fingerprint is not None, self.edges]) > 1 or (self.edges and self.scheme)
        if several or (self.words and not self.scheme):
            message = "one thing is dropped at a time: a scheme, its word index, vectors, or edges"
            raise BadUsage(message, hint="name a scheme, a scheme with words, a fingerprint, or edges")
        if self.scheme is None and self.fingerprint is None and not self.edges:
            raise BadUsage("nothing is named to be dropped", hint="name a scheme, a fingerprint, or edges")


@dataclass(slots=True)
class _Removed:
    """What was removed so far, and the files that stay."""

    sets: list[DroppedSet] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


def drop_index(  # noqa: PLR0913 - what is dropped, and how
    archive: Path,
    *,
    scheme: str | None = None,
    words: bool = False,
    fingerprint: str | None = None,
    edges: bool = False,
    dependents: bool = False,
    lock_wait: float = 10.0,
) -> DropResult:
    """Remove side files. The record is locked meanwhile, and proved to be the same behind it.

    Args:
        archive: the archive.
        scheme: the scheme whose index of segments is removed; with ``fingerprint``, the scheme of the vectors.
        words: whether only the word index of ``scheme`` is removed.
        fingerprint: the identity whose vectors are removed, or the first digits of its fingerprint.
        edges: whether the edges of relations are removed.
        dependents: whether what was made from the index of ``scheme`` goes with it: its word index and its vectors.
        lock_wait: seconds to wait for another writer of either plane.

    Raises:
        BadUsage: nothing is named, or several things.
        NoSuchScheme: there is no such index, or word index.
        NoSuchVectors: there are no such vectors.
        Ambiguous: several vectors could be meant, or something was made from the index.
        BadMagic: a link stands in the place of a directory.

    """
    asked = _Asked(scheme, words, fingerprint, edges, dependents)
    asked.check()
    check_mark(archive)
    with named_faults(archive):
        _chosen(archive, asked)
    with SideWriter(archive, lock_wait) as side:
        removed = _Removed()
        with side.writing():
            for each in _chosen(archive, asked):
                _remove(archive, each, removed)
            _tidy(archive)
        before, after = side.proof
        return DropResult(
            archive=str(archive),
            archive_digest=side.record.head.root.hex(),
            dropped=tuple(removed.sets),
            files=sum(each.files for each in removed.sets),
            bytes=sum(each.bytes for each in removed.sets),
            left=tuple(removed.left),
            preservation_digest_before=before,
            preservation_digest_after=after,
            preservation_unchanged=before == after,
        )


# ------------------------------------------------------------------------------------------------------- what is meant


def _chosen(archive: Path, asked: _Asked) -> list[_Set]:
    """The sets that are to be removed, in order."""
    if asked.edges:
        return _sets(archive, EDGES)
    if asked.fingerprint is not None:
        return [_vectors(archive, asked.scheme, asked.fingerprint)]
    scheme = asked.scheme or ""
    if asked.words:
        return _existing(archive, WORDS, scheme)
    made = [*_sets(archive, VECTORS, scheme), *_sets(archive, WORDS, scheme)]
    there = _existing(archive, SEGMENTS, scheme)
    if made and not asked.dependents:
        listed = ", ".join(each.label for each in made)
        message = f"{archive}: {listed} {'was' if len(made) == 1 else 'were'} made from the index of {scheme}"
        hint = "drop what was made from it too, with `dependents`, or first; `ctxarc segment ARCHIVE --scheme "
        hint += f"{scheme} --rebuild` makes the index anew, and leaves vectors as they are"
        raise Ambiguous(message, hint=hint, scheme=scheme, dependents=[each.label for each in made])
    return made + there


def _existing(archive: Path, kind: str, scheme: str) -> list[_Set]:
    found = _sets(archive, kind, scheme)
    if not found:
        others = [each.scheme for each in _sets(archive, kind)]
        what = "index of segments" if kind == SEGMENTS else "word index"
        listed = f"there is one of {', '.join(others)}" if others else "there is none"
        raise NoSuchScheme(f"{archive}: no {what} of the scheme {scheme}; {listed}", scheme=scheme, built=others)
    return found


def _vectors(archive: Path, scheme: str | None, fingerprint: str) -> _Set:
    everything = _sets(archive, VECTORS)
    digits = fingerprint.lower()
    known = [each for each in everything if scheme in {None, each.scheme}]
    found = [each for each in known if _FINGERPRINT.fullmatch(digits) and (each.fingerprint or "").startswith(digits)]
    if not found:
        listed = ", ".join(f"{(each.fingerprint or '')[:8]} of {each.scheme}" for each in everything)
        message = f"{archive} has no vectors" + (f" of {scheme}" if scheme else "")
        message += f" whose fingerprint begins with {fingerprint}" + (f"; there are {listed}" if listed else "")
        raise NoSuchVectors(message, scheme=scheme, vectors=[each.fingerprint for each in everything])
    if len(found) > 1:
        listed = ", ".join(each.label for each in found)
        hint = "write more digits of it, or name the scheme"
        message = f"{len(found)} sets of vectors could be meant: {listed}"
        raise Ambiguous(message, hint=hint, vectors=[each.fingerprint for each in found])
    return found[0]


def _sets(archive: Path, kind: str, scheme: str | None = None) -> list[_Set]:
    """The sets of a kind that there are, those that a dead process has emptied or begun included.

    Raises:
        BadMagic: a link stands in the place of a directory on the way to one.

    """
    schemes = [name for name in _folders(archive, kind) if scheme in {None, name} and NAME.fullmatch(name)]
    if kind != VECTORS:
        return [_Set(kind, name) for name in schemes if _is_there(archive, _Set(kind, name))]
    names = [(name, digits) for name in schemes for digits in _folders(archive, kind, name)]
    sets = (_Set(kind, name, digits) for name, digits in names if _FINGERPRINT.fullmatch(digits))
    return [each for each in sets if len(each.fingerprint or "") == _FULL and _is_there(archive, each)]


def _folders(archive: Path, *names: str) -> list[str]:
    """The names in a directory of an archive that are directories, or links, in order."""
    folder = _folder(archive, names)
    return sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []


def _folder(archive: Path, names: Sequence[str]) -> Path:
    at = archive
    for name in names:
        at /= name
        if at.is_symlink():
            label = at.relative_to(archive).as_posix()
            raise BadMagic(f"{label}: a link where a directory is due; links are not followed", path=label)
    return at


def _is_there(archive: Path, each: _Set) -> bool:
    """Whether a set has a file, or is the empty directory that a dead process left of it."""
    folder = _folder(archive, each.names)
    return not any(folder.iterdir()) or next(_parts(folder, each), None) is not None


# ------------------------------------------------------------------------------------------------------------ removing


def _parts(folder: Path, each: _Set) -> Iterator[Path]:
    """The files of a set: unfinished ones and the origin of vectors, then its parts from the last to the first."""
    is_part = _IS_PART[each.kind]
    paths = [path for path in folder.iterdir() if is_part(f"{each.label}/{path.name}")]
    yield from sorted(paths, key=lambda path: (_is_first(path), path.name), reverse=True)


def _is_first(path: Path) -> bool:
    """Whether a file alone would be taken for what a dead writer left."""
    return path.name.endswith(".tmp") or path.name == origin.NAME


def _remove(archive: Path, each: _Set, removed: _Removed) -> None:
    folder = _folder(archive, each.names)
    files = size = 0
    for path in _parts(folder, each):
        there = path.lstat()
        if stat.S_ISDIR(there.st_mode):
            with suppress(OSError):
                path.rmdir()
            continue
        path.unlink()
        files, size = files + 1, size + there.st_size
    flush_directory(folder)
    removed.sets.append(DroppedSet(each.kind, each.scheme, each.fingerprint, files, size))
    removed.left += sorted(f"{each.label}/{path.name}" for path in folder.iterdir())
    _remove_emptied(archive, folder)


def _remove_emptied(archive: Path, folder: Path) -> None:
    """Remove a directory and those above it that are empty: an archive keeps none."""
    while folder != archive and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent
        flush_directory(folder)


def _tidy(archive: Path) -> None:
    """Remove the empty directories that a process which died while it removed an index has left."""
    for top in (archive / kind for kind in _IS_PART):
        inside = sorted(path for path in top.iterdir() if NAME.fullmatch(path.name)) if _is_folder(top) else []
        for path in (*inside, top):
            if _is_folder(path):
                _remove_emptied(archive, path)


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()
