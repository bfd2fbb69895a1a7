"""Vectors as JSON, one a line: rows of ``id`` and ``vector``, or the answers of OpenAI's batch endpoint."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from ctxarc.errors import Incomparable, MalformedVectors
from ctxarc.operations.vector_inputs import decimals
from ctxarc.operations.vector_inputs.fields import flag, load, name_of, stated
from ctxarc.operations.vector_inputs.numbers import vector_of
from ctxarc.operations.vector_inputs.rows import Given, Spool, Stated, shown

if TYPE_CHECKING:
    from collections.abc import Iterable

KIND = "ctxarc-vectors"
_OK = 200
_ROW = re.compile(rb'[ \t]*\{ ?"id" ?: ?"([ !#-\[\]-~]{1,200})" ?, ?"vector" ?: ?\[')
"""The beginning of a row as programs write it. A row that is written otherwise is read in the general way."""
_BATCH = 512 << 10
"""Bytes of rows that are read at once."""


def read_rows(lines: Iterable[tuple[int, bytes]], label: str) -> Given:
    """Rows, behind a first line that states their identity where there is one.

    Args:
        lines: the lines of a file with their numbers, blank ones left out.
        label: what messages call the file.

    Raises:
        MalformedVectors: a line is no row, or its vector none.

    """
    rows = _Rows(label)
    for number, line in lines:
        rows.take(number, line)
    rows.flush()
    return rows.spool.given(tuple(rows.stated), distinct=rows.distinct, export_ids=tuple(rows.export_ids))


class _Pending(NamedTuple):
    """A row that waits: its line, its id, and what stands between the brackets of its vector."""

    number: int
    line: bytes
    name: bytes
    body: bytes


class _Rows:
    def __init__(self, label: str) -> None:
        self.label = label
        self.spool = Spool(label)
        self.stated: list[Stated] = []
        self.export_ids: list[str] = []
        self.distinct = False
        self._pending: list[_Pending] = []
        self._bytes = 0

    def take(self, number: int, line: bytes) -> None:
        """Take a line."""
        match = _ROW.match(line) if decimals.AVAILABLE else None
        tail = line.rstrip(b" \t\r\n") if match else b""
        if match is None or not tail.endswith(b"]}"):
            self.flush()
            self._slow(number, line)
            return
        self._pending.append(_Pending(number, line, match[1], tail[match.end() : -2]))
        self._bytes += len(line)
        if self._bytes >= _BATCH:
            self.flush()

    def flush(self) -> None:
        """Read the rows that wait: all at once, or one by one where something is wrong with one of them."""
        pending, self._pending, self._bytes = self._pending, [], 0
        found = decimals.parse([each.body for each in pending]) if pending else None
        if found is None:
            for each in pending:
                self._slow(each.number, each.line)
            return
        numbers, counts = found
        for each, count in zip(pending, counts, strict=True):
            self.spool.check_width(count, each.name, each.number)
            self.spool.ids.append(each.name)
            self.spool.lines.append(each.number)
        self.spool.extend(memoryview(numbers).cast("B"))

    def _slow(self, number: int, line: bytes) -> None:
        where = f"{self.label}, line {number}"
        fields = load(line, where)
        if not isinstance(fields, dict):
            raise MalformedVectors(f"{where}: no JSON object", line=number)
        if "kind" in fields and "vector" not in fields:
            self._first_line(fields, where)
            return
        name = name_of(fields, "id", where)
        if "vector" not in fields:
            raise MalformedVectors(f"{where}: no vector in it", line=number)
        self.spool.add(name, number, vector_of(fields["vector"], f"{where}: {shown(name)}"))

    def _first_line(self, fields: dict[str, Any], where: str) -> None:
        if fields["kind"] != KIND:
            hint = f"its first line has the kind {KIND!r}; a file that `ctxarc export` wrote is for a model to read"
            raise MalformedVectors(f"{where}: kind is {fields['kind']!r}, and no {KIND}", hint=hint)
        if self.spool.ids or self.stated:
            raise MalformedVectors(f"{where}: a first line behind others")
        said = stated(fields, where)
        self.stated.append(Stated("the first line", said))
        self.distinct = flag(fields, "distinct", where)
        if isinstance(fields.get("export_id"), str):
            self.export_ids.append(fields["export_id"])
        if isinstance(width := said.get("dimensions"), int):
            self.spool.state_width(width, "the first line")


def read_answers(lines: Iterable[tuple[int, bytes]], label: str) -> Given:
    """The output file of OpenAI's batch endpoint for embeddings, which says the model and no revision.

    Raises:
        MalformedVectors: a line is none, or its request failed.
        Incomparable: the answers are of several models.

    """
    spool = Spool(label)
    model: str | None = None
    for number, line in lines:
        where = f"{label}, line {number}"
        fields = load(line, where)
        if not isinstance(fields, dict):
            raise MalformedVectors(f"{where}: no JSON object", line=number)
        name = name_of(fields, "custom_id", where)
        body = _body(fields, f"{where}: {shown(name)}")
        vector, said = _answer(body, f"{where}: {shown(name)}")
        if model is not None and said is not None and said != model:
            raise Incomparable(f"model differs — {said} against {model} before, {where}", hint="", field="model")
        model = said or model
        spool.add(name, number, vector_of(vector, f"{where}: {shown(name)}"))
    return spool.given((Stated("the answers", {"model": model} if model else {}),))


def _body(fields: dict[str, Any], where: str) -> dict[str, Any]:
    """The body of the answer to a request.

    Raises:
        MalformedVectors: the request failed.

    """
    answer = fields.get("response")
    error = fields.get("error")
    if not isinstance(answer, dict) or error is not None:
        raise _failed(where, error)
    body = answer.get("body")
    if answer.get("status_code", _OK) != _OK or not isinstance(body, dict):
        said = body.get("error") if isinstance(body, dict) else body
        raise _failed(where, said or f"status {answer.get('status_code')}")
    return body


def _failed(where: str, error: Any) -> MalformedVectors:  # noqa: ANN401 - any JSON value
    said = error.get("message", error) if isinstance(error, dict) else error
    hint = "nothing was stored; leave failed lines out and attach the others: `export --missing` gives theirs again"
    return MalformedVectors(f"{where}: the request failed — {str(said or 'no answer')[:200]}", hint=hint)


def _answer(body: dict[str, Any], where: str) -> tuple[Any, str | None]:
    """The one vector of an answer, as JSON has it, and its model."""
    data = body.get("data")
    one = data[0] if isinstance(data, list) and len(data) == 1 else None
    if not isinstance(one, dict) or "embedding" not in one or one.get("index", 0) != 0:
        raise MalformedVectors(f"{where}: the answer holds no one vector")
    return one["embedding"], stated({"model": body.get("model")}, where).get("model")  # type: ignore[return-value]
