"""Checking the auxiliary plane: the side files that this release knows, the others named."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from ctxarc.auxiliary.edges import index as edges
from ctxarc.auxiliary.edges.index import Edges
from ctxarc.auxiliary.segments import index
from ctxarc.auxiliary.segments.index import Index
from ctxarc.auxiliary.vectors import corpus, origin
from ctxarc.auxiliary.vectors.corpus import Corpus
from ctxarc.auxiliary.words import index as words
from ctxarc.auxiliary.words.index import Words
from ctxarc.errors import Damage, IndexMismatch
from ctxarc.model import Finding
from ctxarc.operations.sizes import RECORD, archive_files
from ctxarc.preservation.check import LEFTOVER
from ctxarc.preservation.lock import is_held
from ctxarc.preservation.scratch import AUXILIARY_LOCK


@dataclass(slots=True)
class SideFiles:
    """What a check of the auxiliary plane found, and what it did not check, in words."""

    findings: list[Finding] = field(default_factory=list)
    not_checked: list[str] = field(default_factory=list)


class _Kind(NamedTuple):
    """A kind of side files.

    Attributes:
        name: what they are called.
        inside: what is in them, which a quick check does not compare with the record.
        folder: the directory of the archive that they are in.
        sets: the names below ``folder`` under which there are some, as parts of a path.
        open: opens a set; it has ``parts``, each with its ``label``.
        check: compares a set with the record.
        is_part: whether a path is the place of a file of this kind, finished or not.

    """

    name: str
    inside: str
    folder: str
    sets: Callable[[Path], Iterable[tuple[str, ...]]]
    open: Callable[..., Index | Corpus]
    check: Callable[..., Iterator[tuple[str, str]]]
    is_part: Callable[[str], bool]


def _check_vectors(archive: Path, scheme: str, fingerprint: str, *, quick: bool) -> Iterator[tuple[str, str]]:
    return chain(corpus.check(archive, scheme, fingerprint, quick=quick), origin.check(archive, scheme, fingerprint))


KINDS = (
    _Kind(
        "indexes of segments",
        "cuts",
        index.FOLDER,
        lambda archive: ((scheme,) for scheme in index.built(archive)),
        Index,
        index.check,
        index.is_part,
    ),
    _Kind(
        "word indexes",
        "words",
        words.FOLDER,
        lambda archive: ((scheme,) for scheme in words.built(archive)),
        Words,
        words.check,
        words.is_part,
    ),
    _Kind(
        "vectors",
        "places",
        corpus.FOLDER,
        corpus.corpora,
        Corpus,
        _check_vectors,
        lambda path: corpus.is_part(path) or origin.is_origin(path),
    ),
    _Kind(
        "relations",
        "statements",
        edges.FOLDER,
        lambda archive: ((name,) for name in edges.built(archive)),
        Edges,
        edges.check,
        edges.is_part,
    ),
)


def check_side_files(archive: Path, *, record_is_sound: bool, quick: bool) -> SideFiles:
    """Check every side file; those of an archive whose record is damaged are opened and not compared with it."""
    out = SideFiles()
    if not (archive / "CTXA").is_file():
        return out
    known: set[str] = set()
    for kind in KINDS:
        sets = list(kind.sets(archive))
        check = partial(kind.check, archive, quick=quick) if record_is_sound else _nothing
        for names in sets:
            known |= _check_set(archive, kind, names, out, check)
        if sets and not record_is_sound:
            out.not_checked.append(f"{kind.name} were not compared with the record, which is damaged")
        elif sets and quick:
            out.not_checked.append(f"the {kind.inside} in {kind.name}: only their checksums were compared")
    _others(archive, known, out)
    return out


def _nothing(*_names: str) -> Iterator[tuple[str, str]]:
    """No comparison with a record that is damaged itself."""
    return iter(())


def _check_set(
    archive: Path,
    kind: _Kind,
    names: tuple[str, ...],
    out: SideFiles,
    check: Callable[..., Iterator[tuple[str, str]]],
) -> set[str]:
    """Check one set; the paths of its files."""
    folder = "/".join((kind.folder, *names))
    try:
        there = kind.open(archive, *names)
        out.findings += [Finding(IndexMismatch.code, path, message) for path, message in check(*names)]
    except Damage as damage:
        out.findings.append(Finding(damage.code, str(damage.facts.get("path", folder)), damage.message))
        paths = (f"{folder}/{path.name}" for path in (archive / folder).iterdir() if path.is_file())
        return {path for path in paths if kind.is_part(path) and not path.endswith(".tmp")}
    labels = {part.label for part in there.parts}
    if isinstance(there, Corpus) and (archive / folder / origin.NAME).is_file():
        labels.add(f"{folder}/{origin.NAME}")
    return labels


def _others(archive: Path, known: set[str], out: SideFiles) -> None:
    """Files in the places of the auxiliary plane that no set is made of."""
    busy = is_held(archive / AUXILIARY_LOCK)
    for path, _ in archive_files(archive):
        if path in known or "/" not in path or path.split("/", 1)[0] in RECORD:
            continue
        if not any(kind.is_part(path) for kind in KINDS):
            out.not_checked.append(f"{path}: a side file that this release does not know")
        elif not busy:
            out.findings.append(Finding(LEFTOVER, path, f"{path}: left by a writer of an index that died"))
