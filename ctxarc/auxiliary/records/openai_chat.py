"""Chat messages as OpenAI's interface has them, one a line or a whole conversation under ``messages``."""

from __future__ import annotations

from collections.abc import Iterator

from ctxarc.auxiliary.records.blocks import note, parts_of, role_of, texts, tool_call, tool_result
from ctxarc.auxiliary.records.fields import Fields, at, fields, first_string, items, project_of, string, time_of
from ctxarc.auxiliary.records.links import Link, chat_links
from ctxarc.auxiliary.records.record import Part, Record

NAME = "openai-chat"

_ROLES = {
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}
_CLOCKS = ("timestamp", "time", "created_at", "created", "ts")


def read(value: Fields) -> Record | None:
    """Return the record, or None if the shape is another's."""
    if is_message(value):
        role, parts = spoken(value)
    elif items(value.get("messages")) and all(is_message(message) for message in items(value.get("messages"))):
        role, parts = _conversation([fields(message) for message in items(value.get("messages"))])
    else:
        return None
    time = next((found for found in (time_of(value.get(key)) for key in _CLOCKS) if found), None)
    return Record(NAME, role, time, project_of(value.get("cwd")), tuple(parts))


def links(value: Fields) -> Iterator[Link]:
    """Yield the ids of calls that a message, or a whole conversation, states. Messages name no parent."""
    if is_message(value):
        yield from chat_links(value)
    else:
        for index in range(len(items(value.get("messages")))):
            yield from chat_links(value, "messages", index)


def is_message(value: object) -> bool:
    """Whether a value is a chat message: a role that the interface knows, and content or calls."""
    message = fields(value)
    if string(message.get("role")) not in _ROLES:
        return False
    content = message.get("content")
    if isinstance(content, list):
        return all(isinstance(block, str) or isinstance(at(block, "type"), str) for block in content)
    called = isinstance(message.get("tool_calls"), list) or isinstance(message.get("function_call"), dict)
    return isinstance(content, str) or (content is None and called)


def spoken(message: Fields) -> tuple[str, list[Part]]:
    """Return the role and the parts of a message that ``is_message`` accepts, or that is much like one."""
    role = _ROLES.get(string(message.get("role")), "unknown")
    if role == "tool":
        return role, tool_result(message.get("name"), message.get("content"))
    thought = first_string(message.get("reasoning_content"), message.get("reasoning"))
    parts = [*texts(thought, kind="thinking"), *parts_of(message.get("content"))]
    calls = [*items(message.get("tool_calls")), *items(message.get("toolCalls"))]
    parts += [called(call) for call in calls]
    if isinstance(message.get("function_call"), dict):
        parts.append(called(message["function_call"]))
    return role_of(parts, role), parts


def called(call: object) -> Part:
    """Return one of a message's tool calls: ``{"function": {"name", "arguments"}}``, or that function alone."""
    of = fields(at(call, "function")) or fields(call)
    return tool_call(of.get("name"), of.get("arguments"))


def _conversation(messages: list[Fields]) -> tuple[str, list[Part]]:
    """Return all that is said, each message after a note of who says it; the role only if it is everyone's."""
    read_ones = [spoken(message) for message in messages]
    roles = {role for role, _ in read_ones}
    parts = [part for role, said in read_ones for part in (note(role), *said)]
    return roles.pop() if len(roles) == 1 else "unknown", parts
