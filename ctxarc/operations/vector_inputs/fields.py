"""JSON of vectors: an object a line, its keys once each, and the fields of an identity that it states."""

from __future__ import annotations

import json
from typing import Any

from ctxarc.errors import MalformedVectors

FIELDS = ("model", "revision", "projection", "scheme", "dimensions")
"""The fields of an identity."""


def load(text: bytes | str, where: str) -> Any:  # noqa: ANN401 - any JSON value
    """A JSON value.

    Raises:
        MalformedVectors: it is none, or an object in it has a key twice.

    """
    try:
        return json.loads(text, object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        raise MalformedVectors(f"{where}: not JSON ({error})") from error


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The pairs of a JSON object as a dict.

    Raises:
        ValueError: a key stands twice, and means one thing to one reader and another to the next.

    """
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        message = f"the key {next(key for key in keys if keys.count(key) > 1)!r} stands twice in an object"
        raise ValueError(message)
    return found


def stated(fields: dict[str, Any], where: str) -> dict[str, object]:
    """The fields of an identity among ``fields``; those that are ``null`` are not stated.

    Raises:
        MalformedVectors: one is not of its kind.

    """
    said = {name: fields[name] for name in FIELDS if fields.get(name) is not None}
    for name, value in said.items():
        kind, word = (int, "number") if name == "dimensions" else (str, "text")
        if type(value) is not kind or not value:
            raise MalformedVectors(f"{where}: {name} is {value!r}, and no {word}", field=name)
    return said


def name_of(fields: dict[str, Any], key: str, where: str) -> bytes:
    """The id of a row, under ``key``.

    Raises:
        MalformedVectors: there is none.

    """
    name = fields.get(key)
    if not isinstance(name, str):
        what = f"{key} is {name!r}, and no text" if key in fields else f"no {key} in it"
        raise MalformedVectors(f"{where}: {what}")
    return name.encode("utf-8", "surrogatepass")


def flag(fields: dict[str, Any], name: str, where: str) -> bool:
    """Whether ``fields`` say that ``name`` is so."""
    value = fields.get(name, False)
    if not isinstance(value, bool):
        raise MalformedVectors(f"{where}: {name} is {value!r}, and neither true nor false", field=name)
    return value
