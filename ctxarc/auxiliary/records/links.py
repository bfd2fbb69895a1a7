"""What a record states of other records by id: its own name, its parent's, tool calls, and what they gave back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from ctxarc.auxiliary.records.fields import fields, items

if TYPE_CHECKING:
    from collections.abc import Iterator

Kind = Literal["name", "parent", "call", "result"]
Path = tuple[str | int, ...]
"""Keys and indexes from a JSON value down to a value in it."""

_CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
_RESULTS = frozenset({"tool_result", "mcp_tool_result", "web_search_tool_result"})


class Link(NamedTuple):
    """One id that a record states.

    Attributes:
        kind: ``name`` (the record's own), ``parent``, ``call`` (of a tool) or ``result`` (of the call of that id).
        id: the id, or ``None`` where what stands there is none: no string, or an empty one.
        path: where it stands.

    """

    kind: Kind
    id: str | None
    path: Path


def link(kind: Kind, value: object, *path: str | int) -> Iterator[Link]:
    """Yield what stands at ``path`` of a record; nothing where that is absent or null."""
    found = _at(value, path)
    if found is not None:
        yield Link(kind, found if isinstance(found, str) and found else None, path)


def numbered(kind: Kind, value: object, *path: str | int) -> Iterator[Link]:
    """Yield what :func:`link` does, for a client that counts its records: an integer is an id too."""
    found = _at(value, path)
    if isinstance(found, int) and not isinstance(found, bool):
        yield Link(kind, str(found), path)
    else:
        yield from link(kind, value, *path)


def block_links(value: object, *path: str | int) -> Iterator[Link]:
    """Yield the calls and results among the content blocks at ``path``."""
    for index, block in enumerate(items(_at(value, path))):
        kind = fields(block).get("type")
        if kind in _CALLS:
            yield from link("call", value, *path, index, "id")
        elif kind in _RESULTS:
            yield from link("result", value, *path, index, "tool_use_id")


def chat_links(value: object, *path: str | int) -> Iterator[Link]:
    """Yield the calls and results of the chat message at ``path``."""
    for index in range(len(items(_at(value, (*path, "tool_calls"))))):
        yield from link("call", value, *path, "tool_calls", index, "id")
    yield from link("result", value, *path, "tool_call_id")
    yield from block_links(value, *path, "content")


def google_links(value: object, *path: str | int) -> Iterator[Link]:
    """Yield the calls and results among Google's content parts at ``path``."""
    for index in range(len(items(_at(value, path)))):
        yield from link("call", value, *path, index, "functionCall", "id")
        yield from link("result", value, *path, index, "functionResponse", "id")


def _at(value: object, path: Path) -> object:
    for step in path:
        if isinstance(step, str):
            value = fields(value).get(step)
        else:
            there = items(value)
            value = there[step] if step < len(there) else None
    return value
