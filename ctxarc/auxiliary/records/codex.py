"""Codex: rollout files, as ``{"type", "timestamp", "payload"}`` and, before September 2025, as bare items."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from ctxarc.auxiliary.records.blocks import image, image_at, note, parts_of, texts, tool_call, tool_result
from ctxarc.auxiliary.records.fields import (
    Fields,
    at,
    fields,
    first_string,
    items,
    project_of,
    rendered,
    string,
    time_of,
)
from ctxarc.auxiliary.records.links import Link, Path, link
from ctxarc.auxiliary.records.record import Part, Record

NAME = "codex"

_ENVELOPES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state"})
_ENVELOPE_KEYS = frozenset({"type", "timestamp", "payload", "ordinal"})
_ROLES = {"user": "user", "assistant": "assistant", "developer": "system", "system": "system"}
# A message in the user's name that the client wrote begins with one of these.
_CLIENT_WROTE = ("<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<INSTRUCTIONS>")


def read(value: Fields) -> Record | None:
    """Return the record, or None if the shape is another's."""
    kind = string(value.get("type"))
    payload = value.get("payload")
    if isinstance(payload, dict):
        if not kind or not (kind in _ENVELOPES or ("timestamp" in value and set(value) <= _ENVELOPE_KEYS)):
            return None
        role, parts = _item(payload) if kind == "response_item" else ("event", _event(kind, payload))
        return Record(NAME, role, time_of(value.get("timestamp")), project_of(payload.get("cwd")), tuple(parts))
    if _is_bare_item(kind, value):
        role, parts = _item(value)
        return Record(NAME, role, time_of(value.get("timestamp")), None, tuple(parts))
    return None


def links(value: Fields) -> Iterator[Link]:
    """Yield the ids that a record states: of a call, or of the call that a result is of. It names no parent.

    What the client notes of a call beside the conversation is no result.
    """
    path: Path = ("payload",) if isinstance(value.get("payload"), dict) else ()
    if path and value.get("type") != "response_item":
        return
    kind = at(value, "payload", "type") if path else value.get("type")
    if kind in _ITEMS:
        role, _ = _ITEMS[string(kind)]
        yield from link("result" if role == "tool" else "call", value, *path, "call_id")


def _is_bare_item(kind: str, value: Fields) -> bool:
    if kind == "message":
        content = items(value.get("content"))
        return bool(content) and all(string(at(c, "type")).startswith(("input_", "output_")) for c in content)
    return (kind in _ITEMS and "call_id" in value) or (kind == "reasoning" and isinstance(value.get("summary"), list))


def _item(item: Fields) -> tuple[str, list[Part]]:
    kind = string(item.get("type"))
    if kind == "message":
        return _message(item)
    reader = _ITEMS.get(kind)
    if reader is None:
        return "event", [note(kind)]
    role, read_parts = reader
    return role, read_parts(item)


def _message(item: Fields) -> tuple[str, list[Part]]:
    parts = parts_of(item.get("content"))
    role = _ROLES.get(string(item.get("role")), "unknown")
    written = [part.text for part in parts if part.kind == "text"]
    if role == "user" and written and all(text.lstrip().startswith(_CLIENT_WROTE) for text in written):
        role = "system"
    return role, parts


def _reasoning(item: Fields) -> list[Part]:
    said = [*parts_of(item.get("summary")), *parts_of(item.get("content"))]
    return [Part("thinking", "", part.text) for part in said if part.kind in {"text", "thinking"}]


def _call(item: Fields) -> list[Part]:
    arguments = next((item[key] for key in ("arguments", "input", "action") if item.get(key) is not None), None)
    return [tool_call(first_string(item.get("name"), item.get("type")), arguments)]


def _output(item: Fields) -> list[Part]:
    given = item.get("output", item.get("tools"))
    return tool_result("", _unwrapped(given) if isinstance(given, str) else given)


def _unwrapped(given: str) -> str:
    """Return the output that a shell's result holds, as JSON within a string, beside its exit code."""
    if not given.startswith('{"output":'):
        return given
    try:
        return first_string(at(json.loads(given), "output"), given)
    except (ValueError, RecursionError):
        return given


def _drawn(item: Fields) -> list[Part]:
    return [tool_call("image_generation", item.get("revised_prompt")), image("", item.get("result"))]


def _said(item: Fields) -> list[Part]:
    return parts_of(item.get("content"))


_ITEMS: dict[str, tuple[str, Callable[[Fields], list[Part]]]] = {
    "reasoning": ("assistant", _reasoning),
    "agent_message": ("assistant", _said),
    "image_generation_call": ("assistant", _drawn),
    **dict.fromkeys(
        ("function_call", "custom_tool_call", "local_shell_call", "web_search_call", "tool_search_call"),
        ("assistant", _call),
    ),
    **dict.fromkeys(
        ("function_call_output", "custom_tool_call_output", "local_shell_call_output", "tool_search_output"),
        ("tool", _output),
    ),
}


def _event(kind: str, payload: Fields) -> list[Part]:
    """Return what the client noted; what it repeats of the conversation is repeated here too."""
    named = string(payload.get("type")) if kind == "event_msg" else ""
    said = first_string(payload.get("message"), payload.get("text"), payload.get("last_agent_message"))
    parts = [note(named or kind), *texts(said, kind="thinking" if "reasoning" in named else "text")]
    parts += [image_at(url) for url in items(payload.get("images"))]
    for key in ("aggregated_output", "stdout"):
        if payload.get(key):
            return [*parts, Part("tool-result", "", rendered(payload[key]))]
    return [*parts, *texts(at(fields(payload.get("item")), "text"))]
