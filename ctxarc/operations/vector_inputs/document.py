"""Vectors as one JSON object: ``{"model", "dimensions", "vectors": [{"key", "vector"}]}``, read a row at a time."""

from __future__ import annotations

import json
import re
from typing import Any

from ctxarc.errors import MalformedVectors
from ctxarc.operations.vector_inputs.fields import flag, name_of, once, stated
from ctxarc.operations.vector_inputs.numbers import vector_of
from ctxarc.operations.vector_inputs.rows import Given, Spool, Stated, shown

_BLANK = re.compile(r"[ \t\r\n]*")
_ROWS = "vectors"


def read_document(text: str, label: str) -> Given:
    """The rows of a JSON object, whose other members state their identity.

    Raises:
        MalformedVectors: it is none, or a row is no vector.

    """
    try:
        return _Document(text, label).read()
    except (ValueError, RecursionError) as error:
        raise MalformedVectors(f"{label}: not JSON ({error})") from error


class _Document:
    """Walks over the members of one object; only a row at a time becomes Python numbers."""

    def __init__(self, text: str, label: str) -> None:
        self.text, self.label = text, label
        self.at = 0
        self.spool = Spool(label, "row")
        self._decode = json.JSONDecoder(object_pairs_hook=once).raw_decode

    def read(self) -> Given:
        """Read it all."""
        fields: dict[str, Any] = {}
        self._expect("{")
        if not self._is("}"):
            self._member(fields)
            while self._more("}"):
                self._member(fields)
        self._blank()
        if self.at != len(self.text):
            message = f"something follows the object, at character {self.at}"
            raise ValueError(message)
        if fields.get(_ROWS) is not True:
            raise MalformedVectors(f"{self.label}: a JSON object without a list {_ROWS}")
        said = stated(fields, self.label)
        given = self.spool.given((Stated(self.label, said),), distinct=flag(fields, "distinct", self.label))
        width = said.get("dimensions", given.width)
        if width != given.width:
            message = f"{given.place(0)}: the vector has {given.width:,} numbers, and the object says {width:,}"
            raise MalformedVectors(message, dimensions=given.width, expected=width)
        return given

    def _member(self, fields: dict[str, Any]) -> None:
        """Take a key and its value; the rows are read, and ``True`` stands for them."""
        key = self._value()
        if not isinstance(key, str) or key in fields:
            message = f"{key!r} is no key, or stands twice"
            raise ValueError(message)
        self._expect(":")
        fields[key] = self._rows() if key == _ROWS and self._is("[", take=False) else self._value()

    def _rows(self) -> bool:
        self._expect("[")
        if not self._is("]"):
            self._row()
            while self._more("]"):
                self._row()
        return True

    def _row(self) -> None:
        number = len(self.spool.ids)
        where = f"{self.label}, row {number}"
        row = self._value()
        if not isinstance(row, dict):
            raise MalformedVectors(f"{where}: no JSON object", row=number)
        name = name_of(row, "key" if "key" in row else "id", where)
        if "vector" not in row:
            raise MalformedVectors(f"{where}: no vector in it", row=number)
        self.spool.add(name, number, vector_of(row["vector"], f"{where}: {shown(name)}"))

    def _blank(self) -> None:
        match = _BLANK.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def _is(self, sign: str, *, take: bool = True) -> bool:
        self._blank()
        if self.text[self.at : self.at + 1] != sign:
            return False
        self.at += take
        return True

    def _expect(self, sign: str) -> None:
        if not self._is(sign):
            message = f"{sign!r} is due at character {self.at}"
            raise ValueError(message)

    def _more(self, end: str) -> bool:
        """Whether a comma follows; else ``end`` has to."""
        if self._is(","):
            return True
        self._expect(end)
        return False

    def _value(self) -> Any:  # noqa: ANN401 - any JSON value
        self._blank()
        value, self.at = self._decode(self.text, self.at)
        return value
