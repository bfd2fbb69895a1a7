"""Checking the auxiliary plane: the side files that this release knows, the others named."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ctxarc.auxiliary.segments import index
from ctxarc.auxiliary.segments.index import Index, built
from ctxarc.errors import Damage, IndexMismatch
from ctxarc.model import Finding
from ctxarc.operations.sizes import RECORD, archive_files
from ctxarc.preservation.check import LEFTOVER
from ctxarc.preservation.lock import is_held
from ctxarc.preservation.scratch import AUXILIARY_LOCK

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(slots=True)
class SideFiles:
    """What a check of the auxiliary plane found, and what it did not check, in words."""

    findings: list[Finding] = field(default_factory=list)
    not_checked: list[str] = field(default_factory=list)


def check_side_files(archive: Path, *, record_is_sound: bool, quick: bool) -> SideFiles:
    """Check every side file; those of an archive whose record is damaged are opened and not compared with it."""
    out = SideFiles()
    if not (archive / "CTXA").is_file():
        return out
    known: set[str] = set()
    for scheme in built(archive):
        known |= _check_index(archive, scheme, out, compared=record_is_sound, quick=quick)
    if built(archive) and not record_is_sound:
        out.not_checked.append("indexes of segments were not compared with the record, which is damaged")
    elif built(archive) and quick:
        out.not_checked.append("the cuts in indexes of segments: only their checksums were compared")
    _others(archive, known, out)
    return out


def _check_index(archive: Path, scheme: str, out: SideFiles, *, compared: bool, quick: bool) -> set[str]:
    """Check one index; the paths of its files."""
    folder = archive / index.FOLDER / scheme
    try:
        there = Index(archive, scheme)
        if compared:
            found = index.check(archive, scheme, quick=quick)
            out.findings += [Finding(IndexMismatch.code, path, message) for path, message in found]
    except Damage as damage:
        path = str(damage.facts.get("path", f"{index.FOLDER}/{scheme}"))
        out.findings.append(Finding(damage.code, path, damage.message))
        return {f"{index.FOLDER}/{scheme}/{path.name}" for path in folder.iterdir() if path.suffix == ".seg"}
    return {part.label for part in there.parts}


def _others(archive: Path, known: set[str], out: SideFiles) -> None:
    """Files in the places of the auxiliary plane that no index is made of."""
    busy = is_held(archive / AUXILIARY_LOCK)
    for path, _ in archive_files(archive):
        if path in known or "/" not in path or path.split("/", 1)[0] in RECORD:
            continue
        if not index.is_part(path):
            out.not_checked.append(f"{path}: a side file that this release does not know")
        elif not busy:
            out.findings.append(Finding(LEFTOVER, path, f"{path}: left by a writer of an index that died"))
