"""JSON schemas: of results, made of the classes of :mod:`ctxarc.model`, and of arguments, with what checks them."""

from __future__ import annotations

import types
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

from ctxarc import SCHEMA
from ctxarc.errors import BadUsage

Schema = dict[str, Any]

_SCALARS: dict[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    object: {},
}
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}
_SHOWN = 80
"""Characters of a wrong value that a message shows."""

REFUSAL: Schema = {
    "type": "object",
    "properties": {
        "code": {"type": "string"},
        "message": {"type": "string"},
        "hint": {"type": "string"},
        "facts": {"type": "object"},
    },
    "required": ["code", "message", "hint", "facts"],
}
CUT: Schema = {
    "total": {"type": ["integer", "null"]},
    "truncated": {"type": "boolean"},
    "next": {"type": ["string", "null"]},
}
"""What an answer that may be cut says of it: rows in all, whether some are left out, and `next` for those behind."""


# ---------------------------------------------------------------------------------------------------------- results


def result_schema(fields: Schema, required: list[str] | None = None) -> Schema:
    """The schema of an answer with ``fields``; or of a refusal, which has none of them."""
    needed = list(dict.fromkeys(fields if required is None else required))
    return {
        "type": "object",
        "properties": {
            "schema": {"const": SCHEMA},
            "ok": {"type": "boolean"},
            **fields,
            "refusal": REFUSAL,
        },
        "required": ["schema", "ok"],
        "anyOf": [{"required": needed}, {"required": ["refusal"]}],
    }


def fields_of(kind: type) -> Schema:
    """The schema of each field of a named tuple."""
    properties: Schema = schema_of(kind)["properties"]
    return properties


def needed_of(kind: type) -> list[str]:
    """The fields of a named tuple that are always there."""
    required: list[str] = schema_of(kind)["required"]
    return required


@cache
def schema_of(kind: Any) -> Schema:  # noqa: ANN401 - a type, as it stands in an annotation
    """The schema of values of ``kind`` as :func:`ctxarc.model.as_json` makes them."""
    if kind in _SCALARS:
        return dict(_SCALARS[kind])
    origin, inside = get_origin(kind), get_args(kind)
    if origin in {Union, types.UnionType}:
        return _one_of([each for each in inside if each is not type(None)], optional=type(None) in inside)
    if origin is tuple:
        if inside[1:] == (...,):
            return {"type": "array", "items": schema_of(inside[0])}
        return {"type": "array", "items": _one_of(list(dict.fromkeys(inside)), optional=False)}
    if origin is dict:
        values = schema_of(inside[1])
        return {"type": "object", "additionalProperties": values} if values else {"type": "object"}
    return _object(kind)


def _one_of(kinds: list[Any], *, optional: bool) -> Schema:
    schemas = [schema_of(kind) for kind in kinds]
    if len(schemas) > 1:
        return {"anyOf": [*schemas, *([{"type": "null"}] if optional else [])]}
    if not optional:
        return schemas[0]
    if "type" not in schemas[0]:
        return schemas[0]
    return schemas[0] | {"type": [schemas[0]["type"], "null"]}


def _object(kind: Any) -> Schema:  # noqa: ANN401 - a named tuple's class
    """A field whose value may be ``None`` may be left out."""
    hints = get_type_hints(kind)
    names = {field: field.removesuffix("_") for field in kind._fields}
    optional = {field for field in names if type(None) in get_args(hints[field])}
    return {
        "type": "object",
        "properties": {names[field]: schema_of(hints[field]) for field in names},
        "required": [names[field] for field in names if field not in optional],
    }


# -------------------------------------------------------------------------------------------------------- arguments


def arguments_schema(arguments: Schema, required: list[str]) -> Schema:
    """The schema of a call's arguments."""
    return {"type": "object", "properties": arguments, "required": required, "additionalProperties": False}


def check_arguments(tool: str, schema: Schema, arguments: dict[str, Any]) -> None:
    """Refuse arguments that are not of the schema; what is in lists of numbers or objects, operations judge.

    Raises:
        BadUsage: with the argument that is wrong.

    """
    known: Schema = schema["properties"]
    hint = f"{tool} takes {', '.join(known)}" if known else f"{tool} takes no argument"
    for name in arguments:
        if name not in known:
            raise BadUsage(f"{tool}: {name!r} is no argument of it", hint=hint, tool=tool, argument=name)
    for name in schema["required"]:
        if arguments.get(name) is None:
            raise BadUsage(f"{tool}: the argument {name} is missing", hint=hint, tool=tool, argument=name)
    for name, value in arguments.items():
        if value is not None:
            _check(tool, name, known[name], value)


def _check(tool: str, name: str, schema: Schema, value: object) -> None:
    fault = _fault(schema, value)
    if fault:
        shown = repr(value)
        shown = shown if len(shown) <= _SHOWN else shown[: _SHOWN - 3] + "..."
        raise BadUsage(
            f"{tool}: {name} is {shown}, and {fault}", hint=schema.get("description"), tool=tool, argument=name
        )


def _fault(schema: Schema, value: object) -> str | None:
    """What is wrong with a value, or ``None``."""
    wanted = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(_is(kind, value) for kind in wanted):
        return f"it has to be of type {' or '.join(wanted)}"
    if "enum" in schema and value not in schema["enum"]:
        return f"it has to be one of {', '.join(schema['enum'])}"
    if isinstance(value, (int, float)):
        return _out_of_range(schema, value)
    items = schema.get("items", {}).get("type")
    if items == "string" and isinstance(value, list) and not all(isinstance(each, str) for each in value):
        return "each of it has to be a string"
    return None


def _is(kind: str, value: object) -> bool:
    return isinstance(value, _TYPES[kind]) and not (isinstance(value, bool) and kind != "boolean")


def _out_of_range(schema: Schema, value: float) -> str | None:
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None and value < least:
        return f"the least is {least}"
    if most is not None and value > most:
        return f"the most is {most}"
    return None
