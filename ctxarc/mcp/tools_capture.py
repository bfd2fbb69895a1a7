"""Tools that bring transcripts into an archive, and one out of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ctxarc import model
from ctxarc.errors import Refusal, every_refusal
from ctxarc.mcp.answers import Fields, fitted
from ctxarc.mcp.arguments import ARCHIVE, AT, NEXT, TRANSCRIPT, flag, limit_of, text
from ctxarc.mcp.schemas import CUT, fields_of, needed_of, result_schema, schema_of
from ctxarc.mcp.tool import Call, Tool
from ctxarc.model import as_json
from ctxarc.operations.capture import CaptureOptions, capture
from ctxarc.operations.extract import extract
from ctxarc.operations.ls import captures

if TYPE_CHECKING:
    from ctxarc.model import CaptureResult


def _capture(call: Call) -> Fields:
    sources, own = call.places.sources(call.get("transcript"))
    options = CaptureOptions(
        max_bytes=call.get("max_bytes"), allow_truncation=bool(call.get("allow_truncation", default=False))
    )
    result = capture(call.archive(), sources, options, call.progress)
    fields = as_json(result)
    if own is not None:
        fields = _own(result, own) | fields
    return {"ok": not result.refused} | fitted(fields, "transcripts")


def _own(result: CaptureResult, own: str) -> dict[str, Any]:
    """What stands for the one file that was named; what lies beside a session is captured with it."""
    for refused in result.refused:
        if refused.transcript == own:
            raise _again(refused.refusal)
    fields: dict[str, Any] = next(as_json(report) for report in result.transcripts if report.transcript == own)
    return fields


def _again(said: dict[str, Any]) -> Refusal:
    """The refusal of a source, as it was before it became data."""
    kind = next(kind for kind in every_refusal() if kind.code == said["code"])
    return kind(said["message"], hint=said["hint"], **said["facts"])


def _captures(call: Call) -> Fields:
    archive = call.archive()
    cursor = call.cursor()
    return call.pages(cursor, "").take({"archive": str(archive)}, call.rows(captures(archive)), "captures")


def _export(call: Call) -> Fields:
    archive, at = call.archive(), call.get("at")
    directory, name = call.places.target(archive, call.get("transcript"), call.get("directory", "."), at)
    return fitted(as_json(extract(archive, [name], directory, at=at, progress=call.progress)), "files")


CAPTURE = Tool(
    name="context_capture",
    title="Capture a transcript",
    about=(
        "Store an agent's transcript (a JSONL session file, or a directory of them) in an archive, byte for byte. Use "
        "it first, and again whenever the session has grown: only what is new is stored, and indexes that are there "
        "are extended. A source whose past was edited is refused. The archive is made where there is none. "
        "`max_bytes` with `allow_truncation` keeps only the last turns, and records what is left out."
    ),
    arguments={
        "archive": ARCHIVE,
        "transcript": text("The file or directory to capture: below the root, or in a folder of sessions."),
        "max_bytes": {"type": "integer", "minimum": 0, "description": "Keep so many bytes of whole turns, the last."},
        "allow_truncation": flag("Let `max_bytes` leave turns out."),
    },
    required=("archive", "transcript"),
    result=result_schema(
        fields_of(model.CaptureResult) | CUT | fields_of(model.CaptureReport), needed_of(model.CaptureResult)
    ),
    run=_capture,
    writes=True,
    of_loop=True,
)
CAPTURES = Tool(
    name="archive_captures",
    title="List captures",
    about=(
        "List what was captured when: the number of each capture (for `at`), its transcript, how many turns it kept "
        "and added, the SHA-256 of the source, and the acquisition record, which nothing proves."
    ),
    arguments={"archive": ARCHIVE, "limit": limit_of("Captures"), "next": NEXT},
    required=("archive",),
    result=result_schema(
        {"archive": {"type": "string"}, "captures": {"type": "array", "items": schema_of(model.CaptureRow)}} | CUT
    ),
    run=_captures,
)
EXPORT = Tool(
    name="archive_export",
    title="Write a transcript to a file",
    about=(
        "Write a transcript back to DIRECTORY/NAME.jsonl below the root, verified, never over a file that is there. "
        "Use it where a program needs the file; to read turns yourself, use context_expand."
    ),
    arguments={
        "archive": ARCHIVE,
        "transcript": TRANSCRIPT | {"description": "The transcript's name; the only one there is without it."},
        "directory": text("The directory, below the root; the root itself unless said."),
        "at": AT,
    },
    required=("archive",),
    result=result_schema(fields_of(model.ExtractResult) | CUT, needed_of(model.ExtractResult)),
    run=_export,
    writes=True,
    repeatable=False,
)
TOOLS = (CAPTURE, CAPTURES, EXPORT)
