"""Gemini CLI: chat recordings, as one document or as appended records, and its log of prompts."""

from __future__ import annotations

from collections.abc import Iterator

from ctxarc.auxiliary.records.blocks import note, texts, tool_call, tool_result
from ctxarc.auxiliary.records.fields import Fields, at, fields, first_string, items, project_of, string, time_of
from ctxarc.auxiliary.records.google import google_parts, response_of
from ctxarc.auxiliary.records.links import Link, google_links, link
from ctxarc.auxiliary.records.record import Part, Record

NAME = "gemini"

_ROLES = {"user": "user", "gemini": "assistant", "info": "event", "warning": "event", "error": "event"}


def read(value: Fields) -> Record | None:
    """Return the record, or None if the shape is another's."""
    if _is_message(value):
        role, parts = _message(value)
    elif isinstance(value.get("sessionId"), str) and isinstance(value.get("projectHash"), str):
        role, parts = "event", _recording(value)
    elif isinstance(value.get("messageId"), int) and isinstance(value.get("message"), str):
        role, parts = _ROLES.get(string(value.get("type")), "event"), texts(value["message"])
    elif set(value) in ({"$set"}, {"$rewindTo"}):
        role, parts = "event", _change(value)
    else:
        return None
    time = time_of(first_string(value.get("timestamp"), value.get("startTime"), at(value, "$set", "lastUpdated")))
    return Record(NAME, role, time, _project(value), tuple(parts))


def links(value: Fields) -> Iterator[Link]:
    """Yield the ids of calls that a message states. It names no parent, and mostly has its results in itself."""
    if not _is_message(value):
        return
    for index, call in enumerate(items(value.get("toolCalls"))):
        yield from link("call", value, "toolCalls", index, "id")
        for at_result in range(len(items(at(call, "result")))):
            yield from link("result", value, "toolCalls", index, "result", at_result, "functionResponse", "id")
    yield from google_links(value, "content")


def _is_message(value: object) -> bool:
    of = fields(value)
    if string(of.get("type")) not in _ROLES or "sessionId" in of or "uuid" in of:
        return False
    return isinstance(of.get("id"), str) and "timestamp" in of and isinstance(of.get("content"), str | list)


def _project(value: Fields) -> str | None:
    directories = items(value.get("directories"))
    return project_of(directories[0]) if directories else None


def _message(value: Fields) -> tuple[str, list[Part]]:
    parts: list[Part] = []
    for thought in items(value.get("thoughts")):
        said = [text for text in (string(at(thought, key)) for key in ("subject", "description")) if text]
        parts += texts("\n".join(said), kind="thinking")
    parts += google_parts(value.get("content"))
    for call in items(value.get("toolCalls")):
        parts += _called(fields(call))
    return _ROLES[string(value.get("type"))], parts


def _called(call: Fields) -> list[Part]:
    """Return a call and, as this client keeps them together, its results."""
    parts = [tool_call(call.get("name"), call.get("args"))]
    for result in items(call.get("result")):
        response = at(result, "functionResponse")
        if isinstance(response, dict):
            parts += tool_result(call.get("name"), response_of(response))
    return parts


def _recording(value: Fields) -> list[Part]:
    parts = [note("session"), *texts(value.get("summary"))]
    for message in items(value.get("messages")):
        if _is_message(message):
            role, said = _message(fields(message))
            parts += [note(role), *said]
    return parts


def _change(value: Fields) -> list[Part]:
    key = next(iter(value))
    return [note(key, value[key]), *texts(at(value[key], "summary"))]
