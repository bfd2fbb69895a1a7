"""The plain data that operations return: what a command prints as JSON, field for field.

Field names are the names of the JSON contract. Every class here is frozen and holds only JSON types, tuples of them, or
other classes of this module, so that :func:`as_json` can turn any of them into what ``json.dumps`` takes. A field whose
value is ``None`` and whose name is in ``OPTIONAL`` of its class is left out.

Offsets and lengths are bytes; ranges are half-open; digests are SHA-256 in lower-case hex; times are ISO 8601 in UTC.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

SCHEMA = 1
"""Version of the JSON contract: the value of ``schema`` in every object printed."""


@dataclass(frozen=True, slots=True)
class ByteRange:
    """A half-open range of bytes of a source."""

    start_byte: int
    end_byte: int


@dataclass(frozen=True, slots=True)
class CaptureReport:
    """What one capture of one transcript stored.

    ``not_json``, ``glued``, ``torn`` and ``blank`` count the new turns that are not one JSON value: something else,
    several values on a line, an unfinished last line, and white space alone.
    """

    transcript: str
    capture: int
    turns: int
    new_turns: int
    source_bytes: int
    source_sha256: str
    complete: bool
    omitted: tuple[ByteRange, ...]
    unchanged: bool
    not_json: int
    glued: int
    torn: int
    blank: int
    source: str


@dataclass(frozen=True, slots=True)
class RefusedSource:
    """A source that was not stored, with the refusal as JSON."""

    OPTIONAL: ClassVar[frozenset[str]] = frozenset()

    transcript: str
    source: str
    refusal: dict[str, object]


@dataclass(frozen=True, slots=True)
class CaptureResult:
    """What a call of ``capture`` did with all its sources."""

    archive: str
    archive_digest: str
    archive_bytes: int
    transcripts: tuple[CaptureReport, ...]
    refused: tuple[RefusedSource, ...]


@dataclass(frozen=True, slots=True)
class PlannedSource:
    """What a capture would do with one source: ``new``, ``grown``, ``same``, ``rewritten``, ``taken`` or ``refused``.

    ``days_left`` is the number of whole days until the client's own clean-up deletes the file, where that is known.
    """

    OPTIONAL: ClassVar[frozenset[str]] = frozenset({"days_left", "refusal"})

    transcript: str
    source: str
    status: str
    source_bytes: int
    new_bytes: int
    days_left: int | None = None
    refusal: dict[str, object] | None = None


@dataclass(frozen=True, slots=True)
class CapturePlan:
    """What a call of ``capture`` would do; nothing was written."""

    archive: str
    dry_run: bool
    transcripts: tuple[PlannedSource, ...]


@dataclass(frozen=True, slots=True)
class TranscriptRow:
    """A transcript as ``ls`` lists it. ``text`` is the first words of the conversation."""

    transcript: str
    turns: int
    bytes: int
    source_sha256: str
    complete: bool
    omitted: tuple[ByteRange, ...]
    first_time: str | None
    last_time: str | None
    project: str | None
    text: str


@dataclass(frozen=True, slots=True)
class CaptureRow:
    """A capture as ``ls --captures`` lists it.

    ``not_proved`` is the acquisition record: it is kept beside the record and is in no digest.
    """

    capture: int
    transcript: str
    kept_turns: int
    new_turns: int
    turns: int
    source_bytes: int
    source_sha256: str
    complete: bool
    omitted: tuple[ByteRange, ...]
    not_proved: dict[str, object]


@dataclass(frozen=True, slots=True)
class TurnRow:
    """A turn as ``log`` lists it. ``text`` is an excerpt of at most 200 characters."""

    transcript: str
    turn: int
    role: str
    time: str | None
    bytes: int
    transcript_start_byte: int
    turn_sha256: str
    cite: str
    text: str


@dataclass(frozen=True, slots=True)
class TurnText:
    """A turn as a person reads it: ``parts`` are (kind, name, text), escapes decoded."""

    transcript: str
    turn: int
    start_byte: int
    end_byte: int
    role: str
    time: str | None
    dialect: str
    bytes: int
    turn_sha256: str
    digest_verified: bool
    cite: str
    parts: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class Stretch:
    """Verified bytes of one turn, as ``cat --json`` prints them: ``text``, or ``base64`` where they are not UTF-8."""

    OPTIONAL: ClassVar[frozenset[str]] = frozenset({"text", "base64"})

    transcript: str
    turn: int
    start_byte: int
    end_byte: int
    turn_sha256: str
    range_sha256: str
    cite: str
    digest_verified: bool
    text: str | None = None
    base64: str | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """A place where a pattern stands. ``text`` is an excerpt of at most 200 characters around it."""

    transcript: str
    turn: int
    start_byte: int
    end_byte: int
    turn_sha256: str
    digest_verified: bool
    cite: str
    text: str


@dataclass(frozen=True, slots=True)
class FindCount:
    """How often a pattern stands in one transcript, as ``find -c`` prints it."""

    transcript: str
    count: int


@dataclass(frozen=True, slots=True)
class ExtractedFile:
    """A transcript written to a file."""

    transcript: str
    path: str
    bytes: int
    sha256: str
    complete: bool
    omitted: tuple[ByteRange, ...]
    digest_verified: bool


@dataclass(frozen=True, slots=True)
class ExtractResult:
    """What ``extract`` wrote."""

    archive: str
    archive_digest: str
    directory: str
    complete: bool
    files: tuple[ExtractedFile, ...]


@dataclass(frozen=True, slots=True)
class TranscriptState:
    """A transcript and whether it is whole."""

    transcript: str
    source_sha256: str
    complete: bool
    omitted: tuple[ByteRange, ...]


@dataclass(frozen=True, slots=True)
class ArchiveInfo:
    """What an archive holds, in both planes, and what it cost.

    ``record`` and ``auxiliary`` map a kind of file to its count and bytes; ``ratio`` is bytes of all transcripts to
    bytes of the archive.
    """

    archive: str
    archive_digest: str
    format_version: int
    transcripts: int
    captures: int
    turns: int
    objects: int
    packs: int
    bytes: int
    object_bytes: int
    archive_bytes: int
    ratio: float
    complete: bool
    omitted: tuple[ByteRange, ...]
    incomplete: tuple[TranscriptState, ...]
    record: dict[str, dict[str, int]]
    auxiliary: dict[str, dict[str, int]]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that ``verify`` found: a code, the file it stands in, and what is wrong."""

    code: str
    path: str
    message: str


@dataclass(frozen=True, slots=True)
class VerifyResult:
    """What was checked, what was not, and what was found. ``ok`` is false where there is a finding."""

    archive: str
    archive_digest: str
    ok: bool
    checked: str
    turns: int
    bytes: int
    captures: int
    not_checked: tuple[str, ...]
    findings: tuple[Finding, ...]
    planes: dict[str, dict[str, object]]
    complete: bool
    transcripts: tuple[TranscriptState, ...]


@dataclass(frozen=True, slots=True)
class RepackResult:
    """What ``repack`` did: sizes of all packs before and after, in bytes and files; the digest is the same."""

    archive: str
    archive_digest: str
    level: int
    packs_before: int
    packs_after: int
    bytes_before: int
    bytes_after: int
    archive_bytes: int


def as_json(value: Any) -> Any:  # noqa: ANN401 - any class of this module, or a value of one of its fields
    """``value`` as dicts, lists and JSON scalars."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        optional: frozenset[str] = getattr(value, "OPTIONAL", frozenset())
        pairs = ((field.name, getattr(value, field.name)) for field in dataclasses.fields(value))
        return {name: as_json(item) for name, item in pairs if not (item is None and name in optional)}
    if isinstance(value, (tuple, list)):
        return [as_json(item) for item in value]
    if isinstance(value, dict):
        return {key: as_json(item) for key, item in value.items()}
    return value
