"""What is read out of a turn: who speaks, when, where, and the parts that a person reads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

ROLES = frozenset({"user", "assistant", "system", "tool", "event", "unknown"})
KINDS = frozenset({"text", "thinking", "tool-call", "tool-result", "image", "note"})

_SURROGATE = re.compile("[\ud800-\udfff]")
_ELLIPSIS = "\u2026"
_FIRST_KINDS = (("text",), ("tool-call", "tool-result"), ("thinking",), ("note", "image"))
"""What an excerpt is taken from: the first row of which the record has any words."""


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of what a person reads in a turn."""

    kind: str
    """One of ``KINDS``; a note is what a client notes for itself, or the type of what is not shown."""
    name: str
    """The tool's name, an image's media type, or ""."""
    text: str
    """The decoded text. Of an image: its size in bytes, or its address where it is not held in the turn."""


@dataclass(frozen=True, slots=True)
class Record:
    """What one turn says, whatever client wrote it."""

    dialect: str
    """The client whose shape the record has, or "unknown"."""
    role: str
    """One of ``ROLES``. Tool results are "tool", also where a client files them under the user's name."""
    time: str | None
    """When, in UTC, as 2026-01-02T03:04:05.678Z; None where the record does not say, or says nonsense."""
    project: str | None
    """The working directory that the record states."""
    parts: tuple[Part, ...]


def excerpt(record: Record, limit: int = 200) -> str:
    """Return the first words of a record: at most ``limit`` characters on one line.

    White space is folded to single spaces. What is cut ends with an ellipsis, which counts. Texts come first; without
    any, tool calls and results, then thinking, then notes and images. The excerpt always encodes as UTF-8.
    """
    for kinds in _FIRST_KINDS:
        words = _first_words(record.parts, kinds, limit)
        if words:
            return words if len(words) <= limit else words[: max(limit - 1, 0)].rstrip() + _ELLIPSIS[:limit]
    return ""


def _first_words(parts: Iterable[Part], kinds: tuple[str, ...], limit: int) -> str:
    """Return the first words of parts of some kinds: more than ``limit`` characters if there are more."""
    found: list[str] = []
    length = 0
    for part in parts:
        if part.kind in kinds and length <= limit:
            for word in _words(part, limit):
                found.append(word)
                length += len(word) + 1
    return clean(" ".join(found))


def _words(part: Part, limit: int) -> Iterator[str]:
    """Yield a part's first words, none longer than it takes to see that it is cut: a word may be megabytes long."""
    named = part.name if part.kind in {"tool-call", "image"} else ""
    for text in (named, part.text):
        for word in text.split(None, limit + 1)[: limit + 1]:
            yield word[: limit + 1]


def clean(text: str) -> str:
    """Return a text with each lone surrogate replaced by U+FFFD, so that it encodes as UTF-8."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def cleaned(record: Record) -> Record:
    """Return a record with every text of it cleaned."""
    return replace(
        record,
        project=None if record.project is None else clean(record.project),
        parts=tuple(Part(part.kind, clean(part.name), clean(part.text)) for part in record.parts),
    )
