"""Questions as vectors: what a user's own model made of them, with the identity that they state."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from ctxarc.errors import IdentityUnstated, Incomparable, MalformedVectors
from ctxarc.operations.vector_inputs import vector_of

if TYPE_CHECKING:
    from array import array
    from collections.abc import Mapping

_STATED = ("model", "revision", "projection", "scheme")
"""Fields of an identity that a query states in words; its width is the vector's own."""
_LIMIT = 10_000
"""Queries of one call."""


class Query(NamedTuple):
    """A question as a vector.

    Attributes:
        vector: float32 numbers.
        stated: the fields of its identity that are stated, its dimensions among them.
        id: what the caller calls it.
        question: the same in words, where they are given.

    """

    vector: array[float]
    stated: dict[str, object]
    id: str | None = None
    question: str | None = None


def read_queries(data: bytes, label: str, given: Mapping[str, str | None]) -> list[Query]:
    """The queries in ``data``: one JSON value, or one a line.

    A query is an object with ``vector`` (numbers, or base64 of float32), ``model`` and ``revision``, and with
    ``projection``, ``scheme``, ``id`` and ``question`` where they are known; or the vector alone.

    Args:
        data: the bytes of a file.
        label: what messages call it.
        given: fields of the identity that the caller states beside.

    Raises:
        MalformedVectors: something else is in it.
        IdentityUnstated: a vector does not say what made it.
        Incomparable: it says something else than the caller.

    """
    queries = [_query(value, where, given) for value, where in _values(data, label)]
    if not queries:
        raise MalformedVectors(f"{label}: no vector in it", hint=_HINT)
    if len(queries) > _LIMIT:
        raise MalformedVectors(
            f"{label}: {len(queries):,} vectors, and the limit of one call is {_LIMIT:,}", hint=_HINT
        )
    return queries


_HINT = 'a query is {"model": ..., "revision": ..., "vector": [numbers]}, one a line where there are several'


def _values(data: bytes, label: str) -> list[tuple[Any, str]]:
    try:
        return [(json.loads(data), label)]
    except (ValueError, RecursionError):
        pass
    found = []
    for number, line in enumerate(data.splitlines(), 1):
        where = f"{label}, line {number}"
        if line.strip():
            try:
                found.append((json.loads(line), where))
            except (ValueError, RecursionError) as error:
                raise MalformedVectors(f"{where}: not JSON ({error})", hint=_HINT) from error
    return found


def _query(value: Any, where: str, given: Mapping[str, str | None]) -> Query:  # noqa: ANN401 - any JSON value
    fields = value if isinstance(value, dict) else {"vector": value}
    if "vector" not in fields:
        raise MalformedVectors(f"{where}: no vector in it", hint=_HINT)
    vector = vector_of(fields["vector"], where)
    stated: dict[str, object] = {}
    for name in _STATED:
        said = _one_of(name, _text(fields, name, where), given.get(name), where)
        if said is not None:
            stated[name] = said
    for name in ("model", "revision"):
        if name not in stated:
            raise IdentityUnstated(f"{where}: the vector does not say its {name}", field=name)
    stated["dimensions"] = len(vector)
    called = fields.get("id")
    return Query(vector, stated, None if called is None else str(called), _text(fields, "question", where))


def _text(fields: dict[str, Any], name: str, where: str) -> str | None:
    said = fields.get(name)
    if said is not None and not isinstance(said, str):
        raise MalformedVectors(f"{where}: {name} is {said!r}, and no text", hint=_HINT)
    return said


def _one_of(name: str, said: str | None, given: str | None, where: str) -> str | None:
    if said is not None and given is not None and said != given:
        message = f"{name} differs — {said} in {where} against {given} given beside it"
        raise Incomparable(message, hint="state it once", field=name, given=given, stated=said)
    return given if said is None else said
