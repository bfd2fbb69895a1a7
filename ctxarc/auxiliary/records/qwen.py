"""Qwen Code: Claude Code's envelope around Google's content parts."""

from __future__ import annotations

from collections.abc import Iterator

from ctxarc.auxiliary.records.blocks import note, role_of, texts
from ctxarc.auxiliary.records.fields import Fields, at, fields, first_string, project_of, string, time_of
from ctxarc.auxiliary.records.google import google_parts
from ctxarc.auxiliary.records.links import Link, google_links, link
from ctxarc.auxiliary.records.record import Part, Record

NAME = "qwen"

_ROLES = {"user": "user", "assistant": "assistant", "tool_result": "tool"}
_THE_USERS_OWN = frozenset({"", "mid_turn_user_message", "realtime_message"})


def read(value: Fields) -> Record | None:
    """Return the record, or None if the shape is another's."""
    kind = string(value.get("type"))
    if kind not in {*_ROLES, "system"} or not isinstance(value.get("sessionId"), str):
        return None
    pieces = at(value, "message", "parts")
    if isinstance(pieces, list):
        parts = google_parts(pieces)
        role = role_of(parts, _role(kind, string(value.get("subtype"))))
    elif "systemPayload" in value or kind == "tool_result":
        role, parts = ("tool" if kind == "tool_result" else "event"), _payload(kind, value)
    else:
        return None
    return Record(NAME, role, time_of(value.get("timestamp")), project_of(value.get("cwd")), tuple(parts))


def links(value: Fields) -> Iterator[Link]:
    """Yield the ids that a record states."""
    yield from link("name", value, "uuid")
    yield from link("parent", value, "parentUuid")
    yield from google_links(value, "message", "parts")


def _role(kind: str, subtype: str) -> str:
    """Return who speaks: what the client says in the user's name has a subtype."""
    return "system" if kind == "user" and subtype not in _THE_USERS_OWN else _ROLES.get(kind, "event")


def _payload(kind: str, value: Fields) -> list[Part]:
    payload = fields(value.get("systemPayload"))
    named = first_string(at(payload, "uiEvent", "event.name"), payload.get("rawCommand"))
    return [note(kind, value.get("subtype"), named), *texts(payload.get("text"))]
