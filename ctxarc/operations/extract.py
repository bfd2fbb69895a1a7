"""``extract``: transcripts back as files, proved before they get their names, never over a file that is there."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ctxarc.errors import BadName, BadUsage, WouldOverwrite
from ctxarc.model import ExtractedFile, ExtractResult
from ctxarc.operations.cat import whole
from ctxarc.operations.names import check_name, file_of_name
from ctxarc.operations.progress import quiet
from ctxarc.operations.view import View
from ctxarc.preservation.files import named_faults, write_all
from ctxarc.preservation.record import Record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctxarc.operations.progress import Progress
    from ctxarc.preservation.record import State


def extract(
    archive: Path, names: Sequence[str], directory: Path, *, at: int | None = None, progress: Progress = quiet
) -> ExtractResult:
    """Write the transcripts ``names``, or all, to files below ``directory``.

    Args:
        archive: the archive.
        names: names, or beginnings of names.
        directory: where ``NAME.jsonl`` is written; folders are made.
        at: the capture after which the archive is looked at.
        progress: told how many bytes of a transcript were written.

    Raises:
        BadUsage: ``directory`` lies in an archive, and reading writes nothing into one.
        WouldOverwrite: a file is in the way; nothing was written.
        DigestMismatch: a transcript is damaged; those before it are there, it and those behind it are not.

    """
    with Record(archive) as record, named_faults(directory):
        view = View(record, at)
        states = view.chosen([name.removesuffix("#") for name in names])
        targets = [directory / file_of_name(check_name(state.name.decode())) for state in states]
        _check(targets, directory)
        files = tuple(_write(view, state, target, progress) for state, target in zip(states, targets, strict=True))
        complete = all(file.complete for file in files)
        return ExtractResult(str(archive), record.head.root.hex(), str(directory), complete, files)


def _check(targets: Sequence[Path], directory: Path) -> None:
    """Refuse, before anything is written, what cannot be written in full."""
    for target in targets:
        _check_encoding(target)
    folders = {folder: target for target in targets for folder in target.parents}
    for folder in sorted({directory, *(target.parent for target in targets)}):
        check_no_archive(folder)
    for folder in sorted(folders):
        if os.path.lexists(folder) and not folder.is_dir():
            message = f"{folder} is there already, and is no directory to write in; nothing was written"
            raise WouldOverwrite(message, path=str(folder))
    for target in targets:
        if target in folders:
            message = f"{target} would be a file, and the directory of {folders[target]}; nothing was written"
            hint = "extract the two one by one, each by its NAME and into a directory of its own with -C DIR"
            raise WouldOverwrite(message, hint=hint, path=str(target))
        if os.path.lexists(target):
            raise WouldOverwrite(f"{target} is there already; nothing was written", path=str(target))


def check_no_archive(folder: Path, option: str = "-C DIR") -> None:
    """Refuse a directory that is an archive or lies in one: whatever reads leaves archives as they are."""
    real = Path(os.path.realpath(folder))  # which takes loops of links as they are
    for place in (real, *real.parents):
        if os.path.lexists(place / "CTXA") and os.path.lexists(place / "HEAD"):
            message = f"{folder}: lies in the archive {place}, and what reads writes nothing into an archive"
            raise BadUsage(message, hint=f"name a directory outside of it with {option}", path=str(folder))


def _check_encoding(target: Path) -> None:
    try:
        os.fsencode(target)
    except UnicodeEncodeError as error:
        message = f"{target}: this locale's encoding, {error.encoding}, cannot write the name of the file"
        raise BadName(message, hint="run it in a UTF-8 locale; nothing was written", path=str(target)) from error


def _write(view: View, state: State, target: Path, progress: Progress) -> ExtractedFile:
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.parent / f".ctxarc-{os.getpid()}-{os.urandom(4).hex()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(temporary, flags, 0o666)
    try:
        try:
            size = 0
            for stretch in whole(view.record, state):
                write_all(descriptor, stretch)
                size += len(stretch)
                progress("writing", size, state.entry.source_bytes)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        _name(temporary, target)
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()
    return ExtractedFile(
        transcript=state.name.decode(),
        path=str(target),
        bytes=size,
        sha256=state.entry.held_sha256.hex(),
        complete=state.complete,
        omitted=view.omitted(state),
        digest_verified=True,
    )


def _name(temporary: Path, target: Path) -> None:
    """Give the finished file its name, unless one of that name appeared meanwhile."""
    try:
        os.link(temporary, target)
    except FileExistsError as error:
        raise WouldOverwrite(f"{target} is there already", path=str(target)) from error
    except OSError:  # a file system without hard links
        if os.path.lexists(target):
            raise WouldOverwrite(f"{target} is there already", path=str(target)) from None
        temporary.rename(target)
