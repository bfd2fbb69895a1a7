"""Claude Code: session files, and what ``--output-format stream-json`` prints."""

from __future__ import annotations

from collections.abc import Iterator

from ctxarc.auxiliary.records.blocks import note, parts_of, role_of, texts, tool_result
from ctxarc.auxiliary.records.fields import Fields, at, fields, first_string, project_of, string, time_of
from ctxarc.auxiliary.records.links import Link, block_links, link
from ctxarc.auxiliary.records.record import Part, Record

NAME = "claude-code"

_SPEAKERS = frozenset({"user", "assistant"})
_SESSION_KEYS = ("sessionId", "session_id", "leafUuid")


def read(value: Fields) -> Record | None:
    """Return the record, or None if the shape is another's."""
    kind = string(value.get("type"))
    if not kind or not _is_ours(kind, value):
        return None
    message = fields(value.get("message"))
    role, parts = _spoken(kind, value, message) if kind in _SPEAKERS and message else ("event", _event(kind, value))
    return Record(NAME, role, _time(value), project_of(value.get("cwd")), tuple(parts))


def links(value: Fields) -> Iterator[Link]:
    """Yield the ids that a record states; behind a compaction the parent stands under a key of its own."""
    yield from link("name", value, "uuid")
    yield from link("parent", value, "parentUuid" if value.get("parentUuid") is not None else "logicalParentUuid")
    yield from block_links(value, "message", "content")


def _is_ours(kind: str, value: Fields) -> bool:
    if kind in _SPEAKERS and at(value, "message", "role") == kind and "content" in fields(value.get("message")):
        return True
    if kind == "file-history-snapshot":
        return isinstance(value.get("snapshot"), dict)
    return any(isinstance(value.get(key), str) for key in _SESSION_KEYS)


def _time(value: Fields) -> str | None:
    return time_of(value.get("timestamp")) or time_of(at(value, "snapshot", "timestamp"))


def _spoken(kind: str, value: Fields, message: Fields) -> tuple[str, list[Part]]:
    parts = parts_of(message.get("content"))
    role = role_of(parts, kind)
    # What the client put into the conversation in the user's name: caveats, skills, the summary of what was dropped.
    if role == "user" and (value.get("isMeta") is True or value.get("isCompactSummary") is True):
        role = "system"
    return role, parts


def _event(kind: str, value: Fields) -> list[Part]:
    data = fields(value.get("data"))
    named = first_string(value.get("subtype"), value.get("operation"), data.get("type"))
    head = note(kind, named, data.get("hookName"), data.get("toolName"))
    if kind == "progress":
        return [head, *_progress(data)]
    said = first_string(
        value.get("summary"),
        value.get("content"),
        value.get("result"),
        *(value.get(key) for key in ("lastPrompt", "customTitle", "aiTitle", "agentName", "prUrl")),
    )
    return [head, *texts(said)]


def _progress(data: Fields) -> list[Part]:
    """Return what a subagent says, or what a command has printed so far."""
    said = parts_of(at(data, "message", "message", "content"))
    printed = first_string(data.get("fullOutput"), data.get("output"))
    return [*said, *(tool_result("", printed) if printed else []), *texts(data.get("command"), kind="note")]
