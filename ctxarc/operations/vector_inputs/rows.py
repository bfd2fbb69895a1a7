"""Rows of vectors on their way into an archive: float32 as they will lie there, in memory or in a temporary file."""

from __future__ import annotations

import mmap
from array import array
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, NamedTuple

from ctxarc.errors import MalformedVectors
from ctxarc.operations.vector_inputs.numbers import check_width, little

if TYPE_CHECKING:
    from collections.abc import Mapping

_IN_MEMORY = 32 << 20
"""Bytes of rows that are kept in memory; more go to a temporary file, which is mapped."""


class Stated(NamedTuple):
    """Fields of an identity, and what messages call the place that states them."""

    where: str
    fields: Mapping[str, object]


class Given(NamedTuple):
    """Vectors as they were given.

    Attributes:
        label: what messages call their file.
        stated: what is said of their identity, place by place.
        ids: whose each row is.
        lines: the line of each row; ``None`` where rows have none.
        width: numbers of a vector.
        data: the rows, float32, little-endian, ``4 * width`` bytes each.
        checked: whether each row is known to be finite and not all zero.
        distinct: whether the place that names the ids says that a vector stands for every segment of its text.
        export_ids: the export that each place says it answers.

    """

    label: str
    stated: tuple[Stated, ...]
    ids: list[bytes]
    lines: array[int] | None
    width: int
    data: memoryview
    checked: bool
    distinct: bool = False
    export_ids: tuple[str, ...] = ()

    def place(self, row: int) -> str:
        """What messages call a row."""
        name = shown(self.ids[row])
        if self.lines is None:
            return f"{self.label}, row {row}: {name}"
        return f"{self.label}, line {self.lines[row]}: {name}"


def shown(name: bytes) -> str:
    """An id as a message shows it."""
    text = name.decode("utf-8", "replace")
    return text if len(text) <= 120 else text[:117] + "..."  # noqa: PLR2004 - what fits into a message


class Spool:
    """Takes rows of one width, and keeps a few in memory and many in a temporary file.

    Attributes:
        ids, lines: of each row so far.
        unit: what messages call the number of a row.
        width: numbers of a row; 0 while there is none.

    """

    def __init__(self, label: str, unit: str = "line") -> None:
        self.label = label
        self.unit = unit
        self.ids: list[bytes] = []
        self.lines = array("Q")
        self.width = 0
        self._kept = bytearray()
        self._file: IO[bytes] | None = None
        self._stated = ""

    def state_width(self, width: int, where: str) -> None:
        """Take rows of that width only, since ``where`` says so."""
        check_width(width, where)
        self.width, self._stated = width, where

    def add(self, name: bytes, line: int, vector: array[float]) -> None:
        """Append a row.

        Raises:
            MalformedVectors: it is of another width.

        """
        self.check_width(len(vector), name, line)
        self.ids.append(name)
        self.lines.append(line)
        self.extend(little(vector))

    def check_width(self, width: int, name: bytes, line: int) -> None:
        """Refuse a row of another width than the others, or than is stated."""
        if width == self.width:
            return
        place = f"{self.label}, {self.unit} {line}: {shown(name)}"
        if self.width:
            said = f"{self._stated} says {self.width:,}" if self._stated else f"those before have {self.width:,}"
            message = f"{place}: the vector has {width:,} numbers, and {said}"
            raise MalformedVectors(message, row=line, dimensions=width, expected=self.width)
        check_width(width, place)
        self.width = width

    def extend(self, data: bytes | memoryview) -> None:
        """Append the bytes of rows, whose ids are in already or come next."""
        self._kept += data
        if len(self._kept) > _IN_MEMORY:
            self._file = self._file or TemporaryFile(prefix="ctxarc-")  # noqa: SIM115 - it is mapped, and then closed
            self._file.write(self._kept)
            self._kept = bytearray()

    def view(self) -> memoryview:
        """All rows."""
        if self._file is None:
            return memoryview(self._kept)
        self._file.write(self._kept)
        self._file.flush()
        self._kept = bytearray()
        with self._file as file:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))

    def given(self, stated: tuple[Stated, ...], *, distinct: bool = False, export_ids: tuple[str, ...] = ()) -> Given:
        """Everything, with what is said of it.

        Raises:
            MalformedVectors: there is no row.

        """
        if not self.ids:
            raise MalformedVectors(f"{self.label}: no vector in it")
        lines = self.lines if self.unit == "line" else None
        return Given(
            label=self.label,
            stated=stated,
            ids=self.ids,
            lines=lines,
            width=self.width,
            data=self.view(),
            checked=True,
            distinct=distinct,
            export_ids=export_ids,
        )
