"""GitHub Copilot's command line: events as ``{"type", "data", "id", "timestamp", "parentId"}``."""

from __future__ import annotations

from collections.abc import Iterator

from ctxarc.auxiliary.records.blocks import note, texts, tool_call, tool_result
from ctxarc.auxiliary.records.fields import Fields, at, fields, first_string, items, project_of, string, time_of
from ctxarc.auxiliary.records.links import Link, link
from ctxarc.auxiliary.records.record import Part, Record

NAME = "copilot"


def read(value: Fields) -> Record | None:
    """Return the record, or None if the shape is another's."""
    kind, data = string(value.get("type")), value.get("data")
    if not kind or not isinstance(data, dict) or not {"id", "timestamp", "parentId"} <= set(value):
        return None
    role, parts = _spoken(kind, data)
    project = first_string(at(data, "context", "cwd"), at(data, "input", "cwd"))
    return Record(NAME, role, time_of(value["timestamp"]), project_of(project), tuple(parts))


def links(value: Fields) -> Iterator[Link]:
    """Yield the ids that an event states; that a call was begun is noted, and is neither a call nor a result."""
    yield from link("name", value, "id")
    yield from link("parent", value, "parentId")
    for index in range(len(items(at(value, "data", "toolRequests")))):
        yield from link("call", value, "data", "toolRequests", index, "toolCallId")
    if value.get("type") == "tool.execution_complete":
        yield from link("result", value, "data", "toolCallId")


def _spoken(kind: str, data: Fields) -> tuple[str, list[Part]]:
    said = texts(data.get("content"))
    if kind == "user.message":
        return "user", said
    if kind == "system.message":
        return "system", said
    if kind == "assistant.message":
        calls = [fields(call) for call in items(data.get("toolRequests"))]
        thought = texts(data.get("reasoningText"), kind="thinking")
        return "assistant", [*thought, *said, *(tool_call(c.get("name"), c.get("arguments")) for c in calls)]
    if kind == "assistant.reasoning":
        return "assistant", texts(data.get("content"), kind="thinking")
    if kind == "tool.execution_complete":
        return "tool", tool_result(data.get("toolName"), _result(data))
    return "event", [note(kind, data.get("toolName"), data.get("agentName")), *said, *_noted(data)]


def _result(data: Fields) -> object:
    result = data.get("result", data.get("error"))
    return first_string(at(result, "content"), at(result, "message")) or result


def _noted(data: Fields) -> list[Part]:
    if "arguments" in data and "toolName" in data:
        return [tool_call(data["toolName"], data["arguments"])]
    return texts(data.get("message"), data.get("reason"))
