"""What one turn states that can join it to another: ids of records and of tool calls, and paths of files.

A function of the turn's bytes alone, fixed for ever by the name RELATIONS: what is derived otherwise has another name.
"""

from __future__ import annotations

from enum import IntEnum
from hashlib import blake2b
from typing import NamedTuple

from ctxarc.auxiliary.edges.paths import mentions
from ctxarc.auxiliary.jsontext import located
from ctxarc.auxiliary.records import NOT_JSON, UNKNOWN, read_links

RELATIONS = "relations-v1"
"""The name of what is derived, with its version."""
DIALECTS = {
    NOT_JSON: 0,
    UNKNOWN: 1,
    "claude-code": 2,
    "codex": 3,
    "openai-chat": 4,
    "openhands": 5,
    "gemini": 6,
    "qwen": 7,
    "copilot": 8,
    "kimi": 9,
}
"""The number of each dialect in a file."""


class Kind(IntEnum):
    """What a statement is: the number stands in files."""

    NAME = 0
    PARENT = 1
    CALL = 2
    RESULT = 3
    PATH = 4
    ODD = 5
    """An id that is no string, or an empty one."""


class Statement(NamedTuple):
    """One statement: two turns that make one of the same name can be joined.

    Attributes:
        kind: one of :class:`Kind`.
        name: 64 bits that stand for the id or path; 0 of what is none.
        start, end: the bytes of the turn where it stands.

    """

    kind: int
    name: int
    start: int
    end: int


class Stated(NamedTuple):
    """All that a turn states: its dialect, its statements, and the id or path of each."""

    dialect: str
    statements: tuple[Statement, ...]
    texts: tuple[str, ...]


def stated(turn: bytes) -> Stated:
    """What a turn states; raises for no content. Linear in the turn."""
    dialect, links = read_links(turn)
    places = located(turn, [link.path for link in links]) if links else {}
    statements, texts = [], []
    for link in links:
        kind = Kind.ODD if link.id is None else Kind[link.kind.upper()]
        statements.append(Statement(kind, name_of(link.id) if link.id else 0, *places.get(link.path, (0, 0))))
        texts.append(link.id or "")
    for mention in mentions(turn):
        statements.append(Statement(Kind.PATH, name_of(mention.path), mention.start, mention.end))
        texts.append(mention.path)
    return Stated(dialect, tuple(statements), tuple(texts))


def name_of(text: str) -> int:
    """The name of an id or a path: the first 64 bits of its BLAKE2b, little-endian."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
