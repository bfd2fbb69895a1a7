"""Content blocks: the pieces of a message, whose shapes most clients share.

``{"type": "text", "text": ...}`` and its kin of the Anthropic, OpenAI and Kimi interfaces; Google's own, which have no
type, are in ``google``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from ctxarc.auxiliary.records.fields import Fields, at, fields, first_string, items, rendered, string
from ctxarc.auxiliary.records.record import Part

_DATA_URL = re.compile(r"data:([^;,]{0,100})[^,]{0,200},")


def parts_of(content: object) -> list[Part]:
    """Return the parts of a message's content: a string, a block, or an array of either."""
    if isinstance(content, str):
        return texts(content)
    blocks = content if isinstance(content, list) else [content] if isinstance(content, dict) else []
    return [part for block in blocks for part in _parts_of_block(block)]


def texts(*values: object, kind: str = "text", name: str = "") -> list[Part]:
    """Return a part for each value that is a string with anything in it."""
    return [Part(kind, name, value) for value in values if isinstance(value, str) and value]


def tool_call(name: object, arguments: object) -> Part:
    """Return the call of a tool, its arguments as they were given or as JSON."""
    return Part("tool-call", string(name), rendered(arguments))


def tool_result(name: object, content: object) -> list[Part]:
    """Return what a tool gave back, at least one part: blocks, a string, or any JSON."""
    called = string(name)
    if not _is_content(content):
        return [Part("tool-result", called, rendered(content))]
    parts = [Part("tool-result", called, p.text) if p.kind == "text" else p for p in parts_of(content)]
    return parts if any(p.kind == "tool-result" for p in parts) else [Part("tool-result", called, ""), *parts]


def note(*said: object) -> Part:
    """Return a note of the strings among some values."""
    return Part("note", "", " ".join(value for value in said if isinstance(value, str) and value))


def image(media_type: object, base64_text: object) -> Part:
    """Return an image that is held in the turn, by its size in bytes."""
    data = string(base64_text)
    return Part("image", string(media_type), f"{_base64_bytes(data)} bytes")


def image_at(url: object) -> Part:
    """Return an image by its address; a ``data:`` address holds the image itself."""
    text = string(url)
    head = _DATA_URL.match(text)
    if head is None:
        return Part("image", "", text)
    return Part("image", head[1], f"{_base64_bytes(text, head.end())} bytes")


def role_of(parts: Iterable[Part], role: str) -> str:
    """Return the role of a message: "tool" if it is tool results and no words of its sender."""
    kinds = {part.kind for part in parts}
    return "tool" if "tool-result" in kinds and not kinds & {"text", "thinking", "tool-call"} else role


def _is_content(value: object) -> bool:
    """Whether a value is text or blocks, and not any other JSON."""
    if isinstance(value, list):
        return all(isinstance(item, str) or "type" in fields(item) for item in value)
    return isinstance(value, str) or fields(value).get("type") in _TEXT_TYPES


def _base64_bytes(text: str, start: int = 0) -> int:
    length = len(text) - start
    return max(length * 3 // 4 - text.count("=", max(start, len(text) - 2)), 0)


def _parts_of_block(block: object) -> list[Part]:
    if isinstance(block, str):
        return texts(block)
    of = fields(block)
    kind = string(of.get("type"))
    reader = _READERS.get(kind)
    if reader is not None:
        return reader(of)
    return texts(of.get("text")) or ([note(kind)] if kind else [])


def _text(block: Fields) -> list[Part]:
    return texts(block.get("text"))


def _thinking(block: Fields) -> list[Part]:
    said = first_string(block.get("thinking"), block.get("think"), block.get("text"), block.get("reasoning"))
    return texts(said, kind="thinking")


def _tool_use(block: Fields) -> list[Part]:
    return [tool_call(block.get("name"), block.get("input"))]


def _tool_result(block: Fields) -> list[Part]:
    return tool_result(block.get("name"), block.get("content"))


def _image(block: Fields) -> list[Part]:
    urls = items(block.get("image_urls"))
    if urls:
        return [image_at(url) for url in urls]
    source = fields(block.get("source")) or block
    if isinstance(source.get("data"), str):
        return [image(first_string(source.get("media_type"), source.get("mimeType")), source["data"])]
    return [image_at(source.get("url"))]


def _image_url(block: Fields) -> list[Part]:
    url = block.get("image_url", block.get("imageUrl"))
    return [image_at(first_string(url, at(url, "url")))]


_TEXT_TYPES = ("text", "input_text", "output_text", "summary_text", "inputText", "outputText")
_READERS: dict[str, Callable[[Fields], list[Part]]] = {
    **dict.fromkeys(_TEXT_TYPES, _text),
    **dict.fromkeys(("thinking", "think", "reasoning", "reasoning_text"), _thinking),
    **dict.fromkeys(("tool_use", "server_tool_use", "mcp_tool_use"), _tool_use),
    **dict.fromkeys(("tool_result", "mcp_tool_result", "web_search_tool_result"), _tool_result),
    **dict.fromkeys(("image_url", "input_image", "inputImage"), _image_url),
    "image": _image,
}
