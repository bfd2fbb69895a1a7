"""Where vectors lie in an archive: ``vectors/SCHEME/FINGERPRINT/FIRST-LAST.vec``, named by serial numbers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ctxarc.auxiliary.segments.index import NAME
from ctxarc.errors import BadMagic, IndexMismatch

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = "vectors"
_FINGERPRINT = re.compile(r"[0-9a-f]{32}")
_PART = re.compile(r"([0-9]{8})-([0-9]{8})\.vec")


def is_part(path: str) -> bool:
    """Whether ``path``, in an archive, is the place of a part of a corpus, finished or not."""
    parts = path.split("/")
    if len(parts) != 4 or parts[0] != FOLDER:  # noqa: PLR2004 - vectors, scheme, fingerprint, file
        return False
    scheme, fingerprint, name = parts[1:]
    return bool(NAME.fullmatch(scheme) and _FINGERPRINT.fullmatch(fingerprint) and is_part_name(name))


def is_part_name(name: str) -> bool:
    """Whether a file of that name is a part, finished or not."""
    return bool(_PART.fullmatch(name.removesuffix(".tmp")))


def part_name(first: int, last: int) -> str:
    """The name of a part that stands for the serial numbers ``first`` to ``last``."""
    return f"{first:08d}-{last:08d}.vec"


def corpora(archive: Path) -> list[tuple[str, str]]:
    """Scheme and fingerprint of every corpus in the archive, in order."""
    folder = archive / FOLDER
    if folder.is_symlink() or not folder.is_dir():
        return []
    return sorted(
        (scheme.name, corpus.name)
        for scheme in folder.iterdir()
        if NAME.fullmatch(scheme.name) and scheme.is_dir() and not scheme.is_symlink()
        for corpus in scheme.iterdir()
        if _FINGERPRINT.fullmatch(corpus.name) and _may_be_corpus(corpus)
    )


def _may_be_corpus(folder: Path) -> bool:
    """Whether there are parts in ``folder``, or it is a link, which is no place of vectors and has to be said."""
    return folder.is_symlink() or (folder.is_dir() and any(_PART.fullmatch(path.name) for path in folder.iterdir()))


def check_folders(archive: Path, scheme: str, fingerprint: str) -> None:
    """Refuse a link, or a file, where a directory of vectors is due.

    Raises:
        BadMagic: there is one.

    """
    at = archive
    for name in (FOLDER, scheme, fingerprint):
        at /= name
        label = at.relative_to(archive).as_posix()
        if at.is_symlink():
            raise BadMagic(f"{label}: a link where a directory is due; links are not followed", path=label)
        if at.exists() and not at.is_dir():
            raise BadMagic(f"{label}: a file where a directory is due", path=label)


def spans(folder: Path, label: str) -> list[tuple[int, int]]:
    """The serial numbers of the parts in ``folder`` that count, in order: what lies within another's is left out.

    Raises:
        IndexMismatch: some lie in two, and neither within the other.

    """
    names = (_PART.fullmatch(path.name) for path in folder.iterdir()) if folder.is_dir() else ()
    found: list[tuple[int, int]] = []
    end = 0
    for first, last in sorted(((int(name[1]), int(name[2])) for name in names if name), key=lambda s: (s[0], -s[1])):
        path = f"{label}/{part_name(first, last)}"
        if not 0 < first <= last or first <= end < last:
            raise IndexMismatch(f"{path}: its name overlaps that of the part before it", path=path)
        if first > end:
            found.append((first, last))
            end = last
    return found
