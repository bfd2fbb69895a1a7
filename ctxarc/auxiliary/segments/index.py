"""The index of a scheme: its parts in ``segments/SCHEME``, what they cover, and how they grow.

Parts are gathered as packs are: a new part takes in those before it that are smaller than twice what follows. Where a
writer died between writing a gathered part and removing the old ones, the larger one counts.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from contextlib import suppress
from operator import lt
from typing import TYPE_CHECKING, Self

from ctxarc.auxiliary.segments import SCHEMES
from ctxarc.auxiliary.segments.part import About, Cuts, Part, part_name
from ctxarc.errors import BadMagic, Damage, IndexMismatch, NoSuchScheme, Truncated
from ctxarc.preservation.files import flush_directory, replace_file
from ctxarc.preservation.objects import digests_of, lengths_of
from ctxarc.preservation.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

FOLDER = "segments"
NAME = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?")
"""Names of schemes, which are names of directories."""
_PART = re.compile(r"([0-9]{12})-([0-9]{12})\.[a-z]{3}")
_ROWS = 8192
"""Rows of the table of objects that are read at a time."""
_TRIES = 5
"""Times that the parts are listed again since a writer has gathered them meanwhile."""


def _number_span(name: str, suffix: str) -> tuple[int, int] | None:
    """The first and the last object that a file's name says, if it is the name of a part."""
    match = _PART.fullmatch(name) if name.endswith(suffix) else None
    return (int(match[1]), int(match[2])) if match else None


def is_part(path: str, kind: type[Index] | None = None) -> bool:
    """Whether ``path``, in an archive, is the place of a part of an index, finished or not."""
    of = kind or Index
    folder, _, rest = path.partition("/")
    scheme, _, name = rest.partition("/")
    known = NAME.fullmatch(scheme) and _number_span(name.removesuffix(".tmp"), of.suffix)
    return folder == of.folder and bool(known)


def built(archive: Path, kind: type[Index] | None = None) -> list[str]:
    """The schemes that have an index in the archive, in order of names."""
    of = kind or Index
    folder = archive / of.folder
    if folder.is_symlink() or not folder.is_dir():
        return []
    names = (path for path in folder.iterdir() if NAME.fullmatch(path.name))
    return sorted(path.name for path in names if _may_be_index(path, of.suffix))


def _may_be_index(folder: Path, suffix: str) -> bool:
    """Whether there are parts in ``folder``, or it is a link, which is no place of an index and has to be said."""
    return folder.is_symlink() or (
        folder.is_dir() and any(_number_span(path.name, suffix) for path in folder.iterdir())
    )


def _check_folders(archive: Path, scheme: str, kind: type[Index]) -> None:
    for path in (archive / kind.folder, archive / kind.folder / scheme):
        label = path.relative_to(archive).as_posix()
        if path.is_symlink():
            raise BadMagic(f"{label}: a link where a directory is due; links are not followed", path=label)
        if path.exists() and not path.is_dir():
            raise BadMagic(f"{label}: a file where a directory is due", path=label)


class Index:
    """The index of ``scheme`` in an archive, open for reading; empty where there is none.

    Args:
        archive: the archive.
        scheme: the scheme's name.

    Attributes:
        parts: its parts, in order of objects; they do not overlap.

    Raises:
        Damage: a part is damaged, or of another scheme.

    """

    folder = FOLDER
    suffix = ".seg"
    part_type: type[Part] = Part

    def __init__(self, archive: Path, scheme: str) -> None:
        self.scheme = scheme
        self.path = archive / self.folder / scheme
        for tries in range(_TRIES):
            try:
                self._open()
            except Damage as damage:
                # A part that was listed and is not there has been gathered into another.
                gone = isinstance(damage, Truncated) and damage.facts.get("found") is None
                if gone and tries < _TRIES - 1:
                    continue
                damage.hint = self.remedy
                raise
            break
        self._firsts = [part.first for part in self.parts]

    @classmethod
    def existing(cls, archive: Path, scheme: str) -> Self:
        """The index of ``scheme``, which has to be there.

        Raises:
            NoSuchScheme: it is not.

        """
        index = cls(archive, scheme)
        if not index.parts:
            raise no_index(archive, scheme)
        return index

    def _open(self) -> None:
        self.parts: list[Part] = []
        _check_folders(self.path.parent.parent, self.scheme, type(self))
        if not self.path.is_dir():
            return
        spans = (_number_span(path.name, self.suffix) for path in self.path.iterdir())
        end = 0
        for first, last in sorted((span[0], -span[1]) for span in spans if span):
            name = part_name(first, 1 - last - first, self.suffix)
            if -last < end:  # taken in by a larger part
                continue
            label = f"{self.folder}/{self.scheme}/{name}"
            part = self.part_type(self.path / name, label)
            _check_name(part, self.scheme, name)
            if first < end:
                raise IndexMismatch(f"{label}: overlaps the part before it", path=label)
            self.parts.append(part)
            end = 1 - last

    @property
    def remedy(self) -> str:
        """What to do where it is damaged or does not fit."""
        return f"`ctxarc segment ARCHIVE --scheme {self.scheme} --rebuild` makes it anew; the record is not touched"

    @property
    def parameters(self) -> dict[str, int]:
        """The numbers that its scheme works with; none where it has no part."""
        return dict(self.parts[-1].about.parameters) if self.parts else {}

    @property
    def own(self) -> bool:
        """Whether a user brought its cuts."""
        return bool(self.parts) and self.parts[-1].about.own

    @property
    def stored_bytes(self) -> int:
        """Bytes of its files."""
        return sum(part.stored_bytes for part in self.parts)

    def part_of(self, number: int) -> Part | None:
        """The part that object ``number`` is in."""
        at = bisect_right(self._firsts, number) - 1
        return self.parts[at] if at >= 0 and self.parts[at].holds(number) else None

    def holds(self, number: int) -> bool:
        """Whether the index has seen object ``number``."""
        return self.part_of(number) is not None

    def ends(self, number: int, digest: bytes, length: int) -> Sequence[int]:
        """Where the segments of object ``number`` end; empty where it is not covered.

        Raises:
            IndexMismatch: they were computed on other bytes, or do not cover its ``length`` bytes once each.

        """
        part = self.part_of(number)
        if part is None:
            return ()
        if part.digest(number) != digest:
            message = (
                f"{part.label}: object {number} was {part.digest(number).hex()} when it was cut, and is {digest.hex()}"
            )
            raise IndexMismatch(message, hint=self.remedy, path=part.label, object=number)
        ends = part.ends(number)
        if ends and not is_partition(ends, length):
            message = f"{part.label}: the segments of object {number} do not cover its {length} bytes once each"
            raise IndexMismatch(message, hint=self.remedy, path=part.label, object=number)
        return ends

    def missing(self, objects: int) -> Iterator[int]:
        """Numbers below ``objects`` that the index has not seen."""
        at = 0
        for part in self.parts:
            yield from range(at, min(part.first, objects))
            at = part.first + part.objects
        yield from range(at, objects)


def is_partition(ends: Sequence[int], length: int) -> bool:
    """Whether segments that end at ``ends`` cover ``length`` bytes once each."""
    if not ends:
        return length == 0
    return ends[0] > 0 and ends[-1] == length and all(map(lt, ends, ends[1:]))


def no_index(archive: Path, scheme: str) -> NoSuchScheme:
    """The refusal of an index that is not there."""
    there = built(archive)
    message = f"{archive}: no index of the scheme {scheme}; " + (
        f"there is {', '.join(there)}" if there else "there is none"
    )
    return NoSuchScheme(message, hint=f"ctxarc segment ARCHIVE --scheme {scheme}", scheme=scheme, built=there)


def _check_name(part: Part, scheme: str, name: str) -> None:
    if part.about.scheme != scheme or part_name(part.first, part.objects, name[-4:]) != name:
        message = f"{part.label}: says that it is of {part.about.scheme}, objects {part.first} to "
        message += f"{part.first + part.objects - 1}"
        raise IndexMismatch(message, path=part.label, scheme=part.about.scheme)


def add(archive: Path, cuts: Cuts, about: About, before: Index | None) -> None:
    """Write new cuts, flushed, and then remove what they stand for and what a dead writer left.

    Args:
        archive: the archive.
        cuts: the cuts of the objects behind those of ``before``.
        about: what their part says of itself.
        before: the index as it is; ``None`` where the new cuts are all of it.

    """
    whole = gathered(before, cuts) if before and cuts.objects else cuts
    new = {whole.name: whole.pack(about)} if cuts.objects else {}
    kept = [part for part in before.parts if part.first < whole.first or not new] if before else []
    put(archive, about.scheme, new, kept, Index)


def put(archive: Path, scheme: str, new: Mapping[str, bytes], kept: Sequence[Part], kind: type[Index]) -> None:
    """Write files of new parts, flushed; then remove all others but those of the parts that are ``kept``."""
    _check_folders(archive, scheme, kind)
    folder = archive / kind.folder / scheme
    for name, data in new.items():
        folder.mkdir(parents=True, exist_ok=True)
        if (folder / name).is_dir():
            (folder / name).rmdir()
        replace_file(folder / name, data)
    for each in (folder, folder.parent, archive) if new else ():
        flush_directory(each)
    names = {*new, *(part_name(part.first, part.objects, kind.suffix) for part in kept)}
    for path in folder.iterdir() if folder.is_dir() else ():
        if is_part(f"{kind.folder}/{scheme}/{path.name}", kind) and path.name not in names:
            with suppress(FileNotFoundError):
                path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()


def gathered(index: Index, cuts: Cuts) -> Cuts:
    """``cuts`` behind the parts before them that are smaller than twice what follows."""
    taken = smaller(index, cuts.first, cuts.objects + len(cuts.ends))
    if not taken:
        return cuts
    whole = Cuts.empty(taken[0].first)
    for part in taken:
        part.copy_to(whole)
    whole.extend(cuts)
    return whole


def smaller(index: Index, first: int, size: int) -> list[Part]:
    """The parts right before object ``first`` that are each smaller than twice what follows, in order.

    Args:
        index: the index.
        first: the first object that a new part holds.
        size: objects and segments of the new part.

    """
    taken: list[Part] = []
    for part in reversed([part for part in index.parts if part.first < first]):
        weight = part.objects + part.segments
        if part.first + part.objects != first or weight >= 2 * size:
            break
        taken.insert(0, part)
        first, size = part.first, size + weight
    return taken


def check(archive: Path, scheme: str, *, quick: bool) -> Iterator[tuple[str, str]]:
    """What is wrong with an index that opens: (path, message). ``quick`` leaves the cuts of the turns unread."""
    index = Index(archive, scheme)
    with Record(archive) as record:  # opened behind the index, which never covers more than there is
        for part in index.parts:
            message = misfit(record, part)
            if message:
                yield part.label, f"{part.label}: {message}"
            elif not quick:
                yield from _wrong_cuts(record, part)


def misfit(record: Record, part: Part, *, of_scheme: bool = True) -> str:
    """Why a part cannot be one of this record, cut by its scheme; empty where it can. Reads two rows of objects.

    Args:
        record: the archive's record.
        part: the part.
        of_scheme: whether it has the parameters of its scheme, as those of an index of segments do.

    """
    end = part.first + part.objects
    if end > record.head.objects:
        message = (
            f"covers {end} objects, and the archive has {record.head.objects}: it was replaced by an older state, "
        )
        return message + "or by another archive"
    scheme = SCHEMES.get(part.about.scheme) if of_scheme else None
    if scheme and (part.about.own or part.about.parameters != scheme.parameters):
        cut = "by a user" if part.about.own else f"with {part.about.parameters}"
        return f"was cut {cut}, and {scheme.name} cuts with {scheme.parameters}"
    for number in {part.first, end - 1} if part.objects else ():
        if part.digest(number) != record.objects.row(number).sha256:
            return f"object {number} was another turn when it was cut: it is the index of another archive"
    return ""


def _wrong_cuts(record: Record, part: Part) -> Iterator[tuple[str, str]]:
    for first in range(part.first, part.first + part.objects, _ROWS):
        rows = record.objects.rows(first, min(_ROWS, part.first + part.objects - first))
        for number, (digest, length) in enumerate(zip(digests_of(rows), lengths_of(rows), strict=True), first):
            message = _wrong(part, number, digest, length)
            if message:
                yield part.label, f"{part.label}: {message}"


def _wrong(part: Part, number: int, digest: bytes, length: int) -> str:
    if part.digest(number) != digest:
        return f"object {number} was another turn when it was cut"
    try:
        ends = part.ends(number)
    except IndexMismatch as mismatch:
        return mismatch.message.removeprefix(f"{part.label}: ")
    if (ends or not part.about.own) and not is_partition(ends, length):
        return f"the segments of object {number} do not cover its {length} bytes once each"
    return ""
