"""Content parts as Google's interface has them: no type, but a field that says what a part is."""

from __future__ import annotations

from ctxarc.auxiliary.records.blocks import image, image_at, texts, tool_call, tool_result
from ctxarc.auxiliary.records.fields import Fields, at, fields
from ctxarc.auxiliary.records.record import Part


def google_parts(content: object) -> list[Part]:
    """Return the parts of a content: a string, a part, or an array of either."""
    if isinstance(content, str):
        return texts(content)
    pieces = content if isinstance(content, list) else [content]
    return [part for piece in pieces for part in (texts(piece) if isinstance(piece, str) else _parts_of(fields(piece)))]


def response_of(call: Fields) -> object:
    """Return what a function gave back: its output where it is nothing but that."""
    response = call.get("response")
    output = at(response, "output")
    return output if isinstance(output, str) and len(fields(response)) == 1 else response


def _parts_of(piece: Fields) -> list[Part]:
    if isinstance(piece.get("functionCall"), dict):
        call = fields(piece["functionCall"])
        return [tool_call(call.get("name"), call.get("args"))]
    if isinstance(piece.get("functionResponse"), dict):
        response = fields(piece["functionResponse"])
        return tool_result(response.get("name"), response_of(response))
    if isinstance(piece.get("inlineData"), dict):
        data = fields(piece["inlineData"])
        return [image(data.get("mimeType"), data.get("data"))]
    if isinstance(piece.get("fileData"), dict):
        return [image_at(at(piece, "fileData", "fileUri"))]
    return texts(piece.get("text"), kind="thinking" if piece.get("thought") is True else "text")
