"""OpenHands: the events of its agent server (``kind``), and the actions and observations of earlier releases."""

from __future__ import annotations

from collections.abc import Iterator

from ctxarc.auxiliary.records.blocks import note, parts_of, texts, tool_call, tool_result
from ctxarc.auxiliary.records.fields import Fields, at, fields, first_string, rendered, string, time_of
from ctxarc.auxiliary.records.links import Link, link, numbered
from ctxarc.auxiliary.records.openai_chat import called, spoken
from ctxarc.auxiliary.records.record import Part, Record

NAME = "openhands"

_SOURCES = frozenset({"user", "agent", "environment", "hook"})
_SPEAKERS = {"user": "user", "agent": "assistant"}
_ERRORS = frozenset({"AgentErrorEvent", "UserRejectObservation"})
_BOOKKEEPING = frozenset({"change_agent_state", "agent_state_changed", "recall", "null", "condensation"})


def read(value: Fields) -> Record | None:
    """Return the record, or None if the shape is another's."""
    if string(value.get("source")) not in _SOURCES or "timestamp" not in value:
        return None
    if isinstance(value.get("kind"), str):
        role, parts = _event(string(value["kind"]), value)
    elif isinstance(value.get("action"), str):
        role, parts = _action(string(value["action"]), value)
    elif isinstance(value.get("observation"), str):
        role, parts = _observation(string(value["observation"]), value)
    else:
        return None
    return Record(NAME, role, time_of(value.get("timestamp")), None, tuple(parts))


def links(value: Fields) -> Iterator[Link]:
    """Yield the ids that an event states: an observation names its action, by the event and by the call.

    An event of a message repeats what went to the model, and is no call. Earlier releases count their events.
    """
    if value.get("kind") == "ActionEvent":
        yield from link("call", value, "id")
        yield from link("call", value, "tool_call_id")
    elif value.get("kind") in _ERRORS or ("kind" in value and isinstance(value.get("observation"), dict)):
        yield from link("result", value, "action_id")
        yield from link("result", value, "tool_call_id")
    elif "kind" not in value and "action" in value:
        yield from numbered("call", value, "id")
    elif "kind" not in value:
        yield from numbered("result", value, "cause")


def _event(kind: str, value: Fields) -> tuple[str, list[Part]]:
    name = value.get("tool_name")
    if kind == "MessageEvent":
        return spoken(fields(value.get("llm_message")))
    if kind == "SystemPromptEvent":
        return "system", parts_of(value.get("system_prompt"))
    if kind == "ActionEvent":
        return "assistant", _acting(value)
    if kind in _ERRORS:
        return "tool", tool_result(name, first_string(value.get("error"), value.get("rejection_reason")))
    if isinstance(value.get("observation"), dict):
        return "tool", _observed(name, fields(value["observation"]))
    return "event", [note(kind, value.get("key")), *texts(value.get("summary"))]


def _acting(value: Fields) -> list[Part]:
    thought = texts(value.get("reasoning_content"), kind="thinking")
    thought += [part for part in parts_of(value.get("thinking_blocks")) if part.kind == "thinking"]
    call = called(value["tool_call"]) if isinstance(value.get("tool_call"), dict) else None
    if call is None or not call.text:
        call = tool_call(value.get("tool_name"), value.get("action"))
    return [*thought, *parts_of(value.get("thought")), call]


def _observed(name: object, observation: Fields) -> list[Part]:
    for key in ("content", "output"):
        if observation.get(key):
            return tool_result(name, observation[key])
    printed = "\n".join(text for text in (string(observation.get(key)) for key in ("stdout", "stderr")) if text)
    return tool_result(name, printed or observation)


def _action(action: str, value: Fields) -> tuple[str, list[Part]]:
    of = fields(value.get("args"))
    thought = texts(of.get("thought"), kind="thinking")
    if action == "system":
        return "system", texts(of.get("content"))
    if action == "message":
        return _SPEAKERS.get(string(value.get("source")), "event"), parts_of(of.get("content"))
    if action in _BOOKKEEPING:
        return "event", [note(action, of.get("agent_state")), *texts(of.get("query"))]
    if action in {"think", "finish"}:
        said = first_string(of.get("final_thought"), value.get("message"))
        return "assistant", thought if action == "think" else [*thought, *texts(said)]
    rest = {key: item for key, item in of.items() if key != "thought"}
    return "assistant", [*thought, Part("tool-call", action, rendered(rest))]


def _observation(observation: str, value: Fields) -> tuple[str, list[Part]]:
    if observation in _BOOKKEEPING:
        return "event", [note(observation, at(value, "extras", "agent_state")), *texts(value.get("content"))]
    return "tool", tool_result(observation, value.get("content"))
