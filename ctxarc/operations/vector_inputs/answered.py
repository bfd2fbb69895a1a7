"""The export that rows of vectors answer: the ids of its rows, in order, and what its first line says."""

from __future__ import annotations

from typing import IO, Any, NamedTuple

from ctxarc.errors import MalformedVectors
from ctxarc.operations.vector_inputs.fields import flag, load, name_of, stated
from ctxarc.operations.vector_inputs.rows import Stated

_KINDS = ("ctxarc-export", "ctxarc-vectors")
_ROW = b'{"id": "ctxa:'
_REQUEST = b'{"custom_id": "ctxa:'
_HINT = "--export takes the lines that `ctxarc export` wrote"


class Answered(NamedTuple):
    """What an export says.

    Attributes:
        stated: the fields of an identity that its first line has.
        ids: of its rows.
        distinct: whether each row stands for all segments of its text.
        export_id: its own name; empty where it has none.

    """

    stated: Stated
    ids: list[bytes]
    distinct: bool
    export_id: str


def read_answered(stream: IO[bytes], label: str) -> Answered:
    """The rows of an export, in either of its formats.

    An id is taken from the beginning of its line where it stands there as ``export`` writes it, which spares reading
    the texts; any other line is read as JSON.

    Raises:
        MalformedVectors: a line is no row of an export.

    """
    ids: list[bytes] = []
    first: dict[str, Any] = {}
    for number, line in enumerate(stream, 1):
        if line.startswith(_ROW):
            ids.append(line[8 : line.index(b'"', 13)])
        elif line.startswith(_REQUEST):
            ids.append(line[15 : line.index(b'"', 20)])
        elif line.strip():
            where = f"{label}, line {number}"
            fields = load(line, where)
            if not isinstance(fields, dict):
                raise MalformedVectors(f"{where}: no JSON object", hint=_HINT)
            if fields.get("kind") in _KINDS and not ids and not first:
                first = fields
            else:
                ids.append(name_of(fields, "custom_id" if "custom_id" in fields else "id", where))
    return Answered(
        Stated("the export", stated(first, label)),
        ids,
        flag(first, "distinct", label),
        first["export_id"] if isinstance(first.get("export_id"), str) else "",
    )
