"""``verify``: whether an archive is what was written, and which state it is in."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING

from ctxarc.errors import BadUsage, DigestUnexpected, NoSuchTranscript
from ctxarc.model import ByteRange, Finding, TranscriptState, VerifyResult
from ctxarc.operations.growth import first_difference
from ctxarc.operations.progress import Progress
from ctxarc.operations.progress import quiet as no_progress
from ctxarc.operations.reading import SourceFault, SourceReader
from ctxarc.operations.side_files import check_side_files
from ctxarc.operations.sizes import RECORD, archive_files
from ctxarc.operations.sources import discover
from ctxarc.operations.view import View
from ctxarc.preservation.check import Checked, check_record
from ctxarc.preservation.record import Record

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ctxarc.operations.sources import Source
    from ctxarc.preservation.record import State

SOURCE_DIFFERS = "SOURCE_DIFFERS"
"""Code of a finding that is no damage: a source is not what the archive holds of it."""


def verify(  # noqa: PLR0913 - each is a question of its own
    archive: Path,
    *,
    quick: bool = False,
    expect: str | None = None,
    extends: str | None = None,
    against: Sequence[Path] = (),
    progress: Progress = no_progress,
) -> VerifyResult:
    """Check an archive in full: every byte read, every digest computed again.

    Args:
        archive: the archive.
        quick: whether packs are left unread; what was not checked is said.
        expect: the digest that the archive must have.
        extends: a digest that it must have, or have grown from.
        against: sources that must be what is held of them.
        progress: told how many bytes of turns were checked.

    Raises:
        DigestUnexpected: the archive is sound and in another state.
        NoSuchArchive, NotAnArchive, UnsupportedVersion, NoSuchSource, NoSuchTranscript, Ambiguous.

    """
    wanted = [_digest(each) for each in (expect, extends)]
    sources = [source for path in against for source in discover([str(path)]) if _is_meant(source, path)]
    checked = check_record(archive, quick=quick, tell=lambda done, total: progress("verifying", done, total))
    findings = [Finding(*finding) for finding in checked.findings]
    side = check_side_files(archive, record_is_sound=not findings, quick=quick)
    findings += side.findings
    if not findings:
        findings += _compared(archive, sources)
    if not findings:
        _expected(checked, *wanted)
    return _result(archive, checked, tuple(findings), side.not_checked, quick=quick)


def _is_meant(source: Source, path: Path) -> bool:
    """Whether a source is what the user named, and not what lies beside it."""
    return path.is_dir() or source.path == path


def _digest(text: str | None) -> bytes | None:
    if text is None:
        return None
    if not re.fullmatch("[0-9a-fA-F]{64}", text):
        raise BadUsage(f"{text!r} is no digest: 64 hexadecimal digits are due", digest=text)
    return bytes.fromhex(text)


def _expected(checked: Checked, expect: bytes | None, extends: bytes | None) -> None:
    root = _root(checked)
    if expect is not None and root != expect.hex():
        message = f"the archive's digest is {root}, and {expect.hex()} was expected"
        raise DigestUnexpected(message, found=root, expected=expect.hex(), grown=expect in checked.roots)
    if extends is not None and extends not in checked.roots:
        message = f"the archive was never in the state {extends.hex()}; its digest is {root}"
        raise DigestUnexpected(
            message, hint="it is another archive, or its log was rewritten", found=root, expected=extends.hex()
        )


def _root(checked: Checked) -> str:
    return checked.head.root.hex() if checked.head else ""


def _compared(archive: Path, sources: Sequence[Source]) -> list[Finding]:
    """A finding for each source that is not what is held of it."""
    found = []
    if sources:
        with Record(archive) as record:
            view = View(record)
            for source in sources:
                if source.refusal:
                    raise source.refusal
                words = _difference(record, _held_of(view, source), source)
                found += [Finding(SOURCE_DIFFERS, source.label, words)] if words else []
    return found


def _held_of(view: View, source: Source) -> State:
    """The transcript of a source's default name, else the only one."""
    if view.record.number_of(source.name.encode()) is not None or len(view.record.head.transcripts) == 1:
        return view.pick(source.name if view.record.number_of(source.name.encode()) is not None else None)
    message = f"{source.label}: no transcript is called {source.name}, and the archive holds several"
    raise NoSuchTranscript(message, transcript=source.name, source=source.label)


def _difference(record: Record, state: State, source: Source) -> str:
    try:
        with SourceReader(source) as reader:
            same = reader.size == state.entry.source_bytes and reader.digest() == state.entry.source_sha256
            if same:
                return ""
            name = state.name.decode()
            if _only_grew(state, reader):
                there = state.entry.source_bytes
                more = "1 byte" if reader.size - there == 1 else f"{reader.size - there} bytes"
                return f"{source.label}: {more} more than what is held of {name}, behind the {there} bytes that are"
            turn, _, byte = first_difference(record, state, reader)
            return f"{source.label}: differs from what is held of {name} from turn {turn}, byte {byte}, on"
    except SourceFault as fault:
        raise fault.refusal from fault


def _only_grew(state: State, reader: SourceReader) -> bool:
    """Whether a source begins with all that was captured of it, what was left out of that included, and goes on."""
    if reader.size <= state.entry.source_bytes:
        return False
    digest = sha256()
    for piece in reader.pieces(0, state.entry.source_bytes):
        digest.update(piece)
    return digest.digest() == state.entry.source_sha256


def _result(
    archive: Path, checked: Checked, findings: tuple[Finding, ...], not_checked: Sequence[str], *, quick: bool
) -> VerifyResult:
    states = [
        TranscriptState(
            state.name.decode(),
            state.entry.source_sha256.hex(),
            state.complete,
            _omitted(state, checked),
        )
        for state in checked.states.values()
    ]
    planes: dict[str, dict[str, object]] = {}
    counts = {"preservation": [0, 0], "auxiliary": [0, 0]}
    for path, size in archive_files(archive):
        plane = "preservation" if path.split("/", 1)[0] in RECORD else "auxiliary"
        counts[plane][0] += 1
        counts[plane][1] += size
    for plane, (files, size) in counts.items():
        planes[plane] = {"files": files, "bytes": size}
    return VerifyResult(
        archive=str(archive),
        archive_digest=_root(checked),
        ok=not findings,
        checked="quick" if quick else "full",
        turns=checked.turns,
        bytes=checked.bytes,
        captures=checked.captures,
        not_checked=(*checked.not_checked, *not_checked),
        findings=findings,
        planes=planes,
        complete=all(state.complete for state in states),
        transcripts=tuple(states),
    )


def _omitted(state: State, checked: Checked) -> tuple[ByteRange, ...]:
    return tuple(ByteRange(gap.start_byte, gap.end_byte) for gap in checked.gaps.get(state.name, ()))
