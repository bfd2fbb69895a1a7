"""Kimi: the wire files of Kimi Code (flat records with ``time``), and those of the Python client before it."""

from __future__ import annotations

from ctxarc.auxiliary.records.blocks import note, parts_of, texts, tool_call, tool_result
from ctxarc.auxiliary.records.fields import Fields, at, fields, first_string, project_of, string, time_of
from ctxarc.auxiliary.records.openai_chat import called, spoken
from ctxarc.auxiliary.records.record import Part, Record

NAME = "kimi"

_FAMILIES = frozenset(
    {"context", "turn", "llm", "config", "tools", "permission", "profile", "plugin", "runtime", "usage"}
    | {"token_counting", "full_compaction", "micro_compaction", "plan_mode", "swarm_mode", "goal", "mcp", "cron"}
    | {"file_history"},
)
_BEFORE = frozenset({"_checkpoint", "_usage", "_system_prompt"})


def read(value: Fields) -> Record | None:
    """Return the record, or None if the shape is another's."""
    kind = string(value.get("type"))
    clock = value.get("time", value.get("created_at"))
    family, dot, _ = kind.partition(".")
    if dot and family in _FAMILIES and "time" in value:
        role, parts = _flat(kind, value)
    elif kind == "metadata" and isinstance(value.get("protocol_version"), str):
        role, parts = "event", [note(kind)]
    elif string(value.get("role")) in _BEFORE:
        role, parts = _context(string(value["role"]), value)
    elif set(value) == {"timestamp", "message"} and isinstance(at(value, "message", "payload"), dict):
        role, parts = _wired(fields(value["message"]))
        clock = value["timestamp"]
    else:
        return None
    return Record(NAME, role, time_of(clock), project_of(at(value, "environmentDisclosure", "cwd")), tuple(parts))


def _flat(kind: str, value: Fields) -> tuple[str, list[Part]]:
    if kind == "context.append_message":
        return _message(fields(value.get("message")))
    if kind == "context.append_loop_event":
        return _step(fields(value.get("event")))
    if isinstance(value.get("systemPrompt"), str):
        return "system", [note(kind), *texts(value["systemPrompt"])]
    said = [*parts_of(value.get("input")), *texts(value.get("summary"), value.get("content"))]
    return "event", [note(kind, value.get("mode"), value.get("reason")), *said]


def _message(message: Fields) -> tuple[str, list[Part]]:
    role, parts = spoken(message)
    origin = string(at(message, "origin", "kind"))
    return ("system" if role == "user" and origin not in {"", "user"} else role), parts


def _step(event: Fields) -> tuple[str, list[Part]]:
    kind = string(event.get("type"))
    if kind == "content.part":
        return "assistant", parts_of(event.get("part"))
    if kind == "tool.call":
        return "assistant", [tool_call(event.get("name"), event.get("args"))]
    if kind == "tool.result":
        result = event.get("result")
        return "tool", tool_result("", at(result, "output") if isinstance(result, dict) else result)
    return "event", [note(kind, event.get("finishReason"))]


def _context(role: str, value: Fields) -> tuple[str, list[Part]]:
    if role == "_system_prompt":
        return "system", parts_of(value.get("content"))
    return "event", [note(role)]


def _wired(message: Fields) -> tuple[str, list[Part]]:
    kind, payload = string(message.get("type")), fields(message.get("payload"))
    if kind == "TurnBegin":
        return "user", parts_of(payload.get("user_input"))
    if kind == "ContentPart":
        return "assistant", parts_of(payload)
    if kind == "ToolCall":
        return "assistant", [called(payload)]
    if kind == "ToolResult":
        given = fields(payload.get("return_value"))
        return "tool", tool_result("", given.get("output") or first_string(given.get("message")))
    return "event", [note(kind)]
