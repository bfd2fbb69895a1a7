"""``capture``: store transcripts whole, or with what is left out on purpose named, or refuse."""

from __future__ import annotations

import os
import platform
import time
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from ctxarc import __version__
from ctxarc.auxiliary.shape import Shape
from ctxarc.errors import Environment, HistoryRewritten, NameTaken, Refusal, Refused, SourceChanged
from ctxarc.model import (
    ByteRange,
    CapturePlan,
    CaptureReport,
    CaptureResult,
    IndexExtension,
    PlannedSource,
    RefusedSource,
)
from ctxarc.operations.growth import Growth, judge
from ctxarc.operations.progress import Progress, quiet
from ctxarc.operations.reading import SourceFault, SourceReader
from ctxarc.operations.relate import extend_relations
from ctxarc.operations.segment import extend
from ctxarc.operations.sizes import archive_bytes
from ctxarc.operations.sources import days_left
from ctxarc.operations.storing import ShapeTally, Stored, Storing, left_out_to, store
from ctxarc.preservation.entry import TEXT_LIMIT, Entry, Origin
from ctxarc.preservation.files import named_faults
from ctxarc.preservation.record import Record, is_vacant
from ctxarc.preservation.scratch import parent_of
from ctxarc.preservation.writer import DEFAULT_LEVEL, LostRace, RecordWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from ctxarc.operations.sources import Source
    from ctxarc.preservation.entry import Gap

_TRIES = 3
"""Times that a source is read which changes while it is read."""
_AS_BEFORE = ("the archive is as it was", "nothing was stored")
"""What hints say of an archive to which nothing was added."""
_RACY_NS = 2_000_000_000
"""A file changed less than this before its capture may change again without its time changing: it is read again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureOptions:
    """What a capture may do.

    Attributes:
        max_bytes: bytes of whole turns to keep at most, from the end; ``None`` for all.
        allow_truncation: whether bytes may be left out for ``max_bytes``.
        level: zstd level, 1 to 22.
        as_new_history: whether a rewritten source is stored as a new history of its name.
        reread: whether a source is read whose size and time are those of its last capture.
        lock_wait: seconds to wait for another writer.
        index: whether the indexes that the archive has are extended.

    """

    max_bytes: int | None = None
    allow_truncation: bool = False
    level: int = DEFAULT_LEVEL
    as_new_history: bool = False
    reread: bool = False
    lock_wait: float = 10.0
    index: bool = True


def capture(
    archive: Path,
    sources: Sequence[Source],
    options: CaptureOptions | None = None,
    progress: Progress = quiet,
    clock: Callable[[], int] = time.time_ns,
) -> CaptureResult:
    """Store ``sources``, one by one in byte order of their names.

    Args:
        archive: the archive, which is made where nothing is there.
        sources: what to store.
        options: what may be done.
        progress: told how far it is.
        clock: gives the time in nanoseconds since 1970 in UTC, for the acquisition record.

    Returns:
        a report for each source that is stored or unchanged, and the refusals of the others.

    Raises:
        Refusal: of the archive; or of the one source, where there is only one.

    """
    while True:
        try:
            return _capture(archive, sources, options or CaptureOptions(), progress, clock)
        except LostRace:
            continue


class _Call(NamedTuple):
    """What one call of :func:`capture` works with."""

    writer: RecordWriter
    options: CaptureOptions
    tally: ShapeTally
    progress: Progress
    clock: Callable[[], int]


def _capture(
    archive: Path, sources: Sequence[Source], options: CaptureOptions, progress: Progress, clock: Callable[[], int]
) -> CaptureResult:
    reports, refused = [], []
    with RecordWriter(archive, lock_wait=options.lock_wait, level=options.level) as writer, _what_stands(writer):
        call = _Call(writer, options, ShapeTally(), progress, clock)
        for source in in_order(sources):
            try:
                reports.append(_capture_one(call, source))
            except (Refused, SourceFault) as error:
                refusal = error.refusal if isinstance(error, SourceFault) else error
                if len(sources) == 1:
                    raise refusal from error
                refused.append(RefusedSource(source.name, source.label, refusal.as_json()))
        writer.seal()
        call.tally.finish()
        writer.commit()
        digest = writer.head.root.hex()
    stored = tuple(report() for report in reports)
    indexes: tuple[IndexExtension, ...] = ()
    if options.index:
        indexes = extend(archive, lock_wait=options.lock_wait) + extend_relations(archive, lock_wait=options.lock_wait)
    return CaptureResult(str(archive), digest, archive_bytes(archive), stored, tuple(refused), indexes)


@contextmanager
def _what_stands(writer: RecordWriter) -> Iterator[None]:
    """Have a fault of the machine say which captures stand, where some were committed before it."""
    before = writer.head.captures
    try:
        with named_faults(writer.path):
            yield
    except Environment as refusal:
        captures = writer.head.captures
        if captures > before:
            words = f"captures up to {captures} are stored"
            told = next((told for told in _AS_BEFORE if told in refusal.hint), None)
            refusal.hint = refusal.hint.replace(told, words) if told else f"{words}; {refusal.hint}"
            refusal.facts["captures"] = captures
        raise


def in_order(sources: Sequence[Source]) -> list[Source]:
    """``sources`` in byte order of their names."""
    return sorted(sources, key=lambda source: source.name.encode("utf-8", "surrogateescape"))


def _capture_one(call: _Call, source: Source) -> Callable[[], CaptureReport]:
    """Store one source, or raise why not; gives what makes the report once the tally is finished."""
    for _ in range(_TRIES):
        with SourceReader(source) as reader:
            report = None if call.options.reread else _unread(call.writer.record, source, reader)
            report = report or _read(call, source, reader)
        if report:
            return report
    message = f"{source.label}: changed while it was read, {_TRIES} times"
    raise SourceChanged(message, source=source.label, tries=_TRIES)


def _unread(record: Record | None, source: Source, reader: SourceReader) -> Callable[[], CaptureReport] | None:
    """The report where the source is that of its last capture, by its path, size and time."""
    number = record.number_of(source.name.encode()) if record else None
    if record is None or number is None or source.path is None or not reader.mtime_ns:
        return None
    row = record.head.transcripts[number]
    last = record.entry_at(row.last_entry)
    same = (last.source_bytes, last.mtime_ns) == (reader.size, reader.mtime_ns)
    settled = last.captured_ns - last.mtime_ns > _RACY_NS
    if last.partial or not same or not settled or record.origin_of(row.last_entry).path != _path_bytes(source):
        return None
    return partial(_unchanged, source, row.last_capture, last, [])


def _read(call: _Call, source: Source, reader: SourceReader) -> Callable[[], CaptureReport] | None:
    """Store what is new in the source; ``None`` where it changed meanwhile, and nothing was stored."""
    options, label = call.options, source.label
    growth = _judge(call.writer.record, reader, source, options)
    if growth.status == "same" and growth.before:
        if not reader.is_still(growth.before.source_sha256):
            return None
        return partial(_unchanged, source, growth.capture, growth.before, growth.gaps)
    border = left_out_to(reader, growth.start, options.max_bytes, allowed=options.allow_truncation, label=label)
    draft = call.writer.draft(source.name.encode(), reader.size - border)
    to = Storing(draft, call.tally, lambda done: call.progress(f"capturing {label}", done, reader.size))
    try:
        stored = store(reader, growth, border, to)
        digest = growth.source.digest()
        if stored.end != reader.size or not reader.is_still(digest):
            draft.abandon()
            return None
        number = draft.finish(
            keep=growth.keep,
            source=(reader.size, digest),
            held=(stored.held_bytes, growth.held.digest() if stored.gaps else digest),
            gaps=stored.gaps,
            origin=Origin(_path_bytes(source), platform.node().encode(), f"ctxarc {__version__}".encode()),
            captured_ns=call.clock(),
            mtime_ns=reader.mtime_ns,
        )
    except BaseException:
        draft.abandon()
        raise
    return partial(_new, source, number, reader.size, growth, stored)


def _judge(record: Record | None, reader: SourceReader, source: Source, options: CaptureOptions) -> Growth:
    fills = options.max_bytes is None or reader.size <= options.max_bytes
    return judge(record, reader, source.name, fills=fills, new_history=options.as_new_history)


def _new(source: Source, number: int, size: int, growth: Growth, stored: Stored) -> CaptureReport:
    left_out = sum(gap.turns for gap in stored.gaps if gap.first_turn >= growth.keep)
    return CaptureReport(
        transcript=source.name,
        capture=number,
        turns=growth.keep + left_out + stored.turns,
        new_turns=stored.turns - growth.stored_again,
        source_bytes=size,
        source_sha256=growth.source.hexdigest(),
        complete=not stored.gaps,
        omitted=omitted(stored.gaps),
        unchanged=False,
        not_json=stored.shapes[Shape.NOT_JSON],
        glued=stored.shapes[Shape.GLUED],
        torn=stored.shapes[Shape.TORN],
        blank=stored.shapes[Shape.BLANK],
        source=source.label,
    )


def _unchanged(source: Source, number: int, last: Entry, gaps: Sequence[Gap]) -> CaptureReport:
    return CaptureReport(
        transcript=source.name,
        capture=number,
        turns=last.turns,
        new_turns=0,
        source_bytes=last.source_bytes,
        source_sha256=last.source_sha256.hex(),
        complete=not last.partial,
        omitted=omitted(gaps),
        unchanged=True,
        not_json=0,
        glued=0,
        torn=0,
        blank=0,
        source=source.label,
    )


def omitted(gaps: Sequence[Gap]) -> tuple[ByteRange, ...]:
    """Gaps as byte ranges of the source."""
    return tuple(ByteRange(gap.start_byte, gap.end_byte) for gap in gaps)


def _path_bytes(source: Source) -> bytes:
    if source.path is None:
        return b""
    return os.fsencode(source.path.absolute())[:TEXT_LIMIT]


def plan(
    archive: Path, sources: Sequence[Source], options: CaptureOptions | None = None, *, claude_dir: Path, now: float
) -> CapturePlan:
    """What :func:`capture` would do with ``sources``; nothing is written.

    Args:
        archive: the archive, which need not be there.
        sources: what would be stored.
        options: what may be done.
        claude_dir: Claude Code's directory, whose clean-up deletes old sessions.
        now: the time in seconds since 1970.

    """
    options = options or CaptureOptions()
    if is_vacant(archive):
        parent_of(archive)
        rows = [_planned(None, source, options, claude_dir, now) for source in in_order(sources)]
    else:
        with Record(archive) as record:
            rows = [_planned(record, source, options, claude_dir, now) for source in in_order(sources)]
    return CapturePlan(str(archive), dry_run=True, transcripts=tuple(rows))


def _planned(
    record: Record | None, source: Source, options: CaptureOptions, claude_dir: Path, now: float
) -> PlannedSource:
    days = days_left(source.path, claude_dir, now) if source.path and not source.spool else None
    size = new_bytes = 0
    status, refusal = "refused", None
    try:
        with SourceReader(source) as reader:
            size = reader.size
            growth = _judge(record, reader, source, options)
            allowed = options.allow_truncation
            border = left_out_to(reader, growth.start, options.max_bytes, allowed=allowed, label=source.label)
            status, new_bytes = growth.status, size - border
    except (Refused, SourceFault) as error:
        refusal = error.refusal if isinstance(error, SourceFault) else error
        status = _STATUS_OF.get(type(refusal), "refused")
    return PlannedSource(
        source.name, source.label, status, size, new_bytes, days, refusal.as_json() if refusal else None
    )


_STATUS_OF: dict[type[Refusal], str] = {HistoryRewritten: "rewritten", NameTaken: "taken"}
