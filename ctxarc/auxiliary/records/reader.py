"""From the bytes of a turn to a record, by the first dialect that knows its shape."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from ctxarc.auxiliary.records import claude_code, codex, copilot, gemini, kimi, openai_chat, openhands, qwen
from ctxarc.auxiliary.records.blocks import note
from ctxarc.auxiliary.records.fields import Fields, at, first_string
from ctxarc.auxiliary.records.links import Link
from ctxarc.auxiliary.records.record import Part, Record, cleaned

Reader = Callable[[Fields], Record | None]
"""What a dialect is: the record that it reads out of a JSON object, or None where the shape is not its own."""

DIALECTS: dict[str, Reader] = {
    module.NAME: module.read for module in (codex, copilot, kimi, qwen, gemini, openhands, claude_code, openai_chat)
}
"""Every dialect, in the order of asking: the most telling shapes first. A new one is a file and a place here."""

LINKS: dict[str, Callable[[Fields], Iterator[Link]]] = {
    module.NAME: module.links for module in (claude_code, codex, copilot, gemini, openai_chat, openhands, qwen)
}
"""The dialects whose records state ids that are understood, each with what yields them."""

UNKNOWN = "unknown"
NOT_JSON = "not-json"

_TOLERANT = json.JSONDecoder(strict=False)
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")
_MOST_DIGITS = 600  # below the least limit that Python's conversion can be set to
_MOST_LEVELS = 100
"""Of nesting: so many are read whatever the stack of the caller, so that a record is read alike everywhere."""


def read_record(raw: bytes) -> Record:
    """Return what a turn says; raises for no content.

    ``raw`` is one turn with its line feed. Reading is tolerant: invalid UTF-8 becomes U+FFFD, a byte order mark and
    bare control characters are accepted. A turn that is no JSON object, or one nested deeper than 100 levels, or whose
    shape no dialect knows, is "unknown", with the line itself (its line ending left out) as its text.
    """
    text = raw.decode("utf-8", "replace")
    value = _object(text)
    record = None if value is None else _known(value)
    if record is None:
        return _unknown(text)
    return cleaned(record) if _SURROGATE_ESCAPE.search(raw) else record


def read_links(raw: bytes) -> tuple[str, list[Link]]:
    """Return the dialect of a turn, and the ids that it states; raises for no content.

    The dialect is "not-json" for what is no JSON object, or one nested deeper than 100 levels, "unknown" for one whose
    shape no dialect knows.
    """
    value = _object(raw.decode("utf-8", "replace"))
    if value is None:
        return NOT_JSON, []
    record = _known(value)
    if record is None:
        return UNKNOWN, []
    links = LINKS.get(record.dialect)
    return record.dialect, [] if links is None else list(links(value))


def _object(text: str) -> Fields | None:
    """Return the JSON object of a text, or None if it is none, or nested beyond what is read."""
    try:
        value = _parsed(text)
    except RecursionError:
        return None
    return value if isinstance(value, dict) and not _is_deep(value) else None


def _is_deep(value: Fields) -> bool:
    """Whether a JSON object is nested beyond what is read."""
    level: list[Fields | list[object]] = [value]
    for _ in range(_MOST_LEVELS):
        inside = (item for outer in level for item in (outer.values() if isinstance(outer, dict) else outer))
        level = [item for item in inside if isinstance(item, dict | list)]
        if not level:
            return False
    return True


def _known(value: Fields) -> Record | None:
    for read in DIALECTS.values():
        record = read(value)
        if record is not None:
            # A record of which nothing can be shown (say, encrypted reasoning) still says what it is.
            return record if record.parts else replace(record, parts=(note(_kind_of(value)),))
    return None


def _kind_of(value: Fields) -> str:
    return first_string(at(value, "payload", "type"), value.get("type"), value.get("kind"), value.get("role"))


def _parsed(text: str) -> object:
    """Return the JSON value of a text, or None if it is none."""
    whole = text.removeprefix("\ufeff")
    try:
        return _TOLERANT.decode(whole)
    except json.JSONDecodeError:
        return None
    except ValueError:  # an integer of more digits than Python converts
        return _decoded_with_long_numbers(whole)


def _decoded_with_long_numbers(text: str) -> object:
    try:
        return json.JSONDecoder(strict=False, parse_int=_integer).decode(text)
    except json.JSONDecodeError:
        return None


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) <= _MOST_DIGITS else digits


def _unknown(text: str) -> Record:
    line = text.removesuffix("\n").removesuffix("\r")
    return Record(UNKNOWN, UNKNOWN, None, None, (Part("text", "", line),) if line.strip() else ())
