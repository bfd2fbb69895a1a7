"""What ``embed`` has to send: the segments that have no vector yet, each different text once."""

from __future__ import annotations

from array import array
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple, cast

from ctxarc.model import as_json
from ctxarc.operations.export import export
from ctxarc.operations.models.model import Text
from ctxarc.operations.progress import Progress, quiet

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from ctxarc.auxiliary.vectors.corpus import Corpus, Rows
    from ctxarc.auxiliary.vectors.projections import Projection
    from ctxarc.model import ExportHeader, ExportRow
    from ctxarc.operations.export import ExportOptions
    from ctxarc.preservation.record import Record

_SAMPLE = 1024
"""Texts that stand for all, at least half as many of them."""


class Plan(NamedTuple):
    """What is to be embedded.

    Attributes:
        header: the first line of the export that the texts are of.
        wanted: the numbers of the rows of the export whose texts are sent, in order.
        copies: rows whose text has a vector already, with the row of that in the corpus.
        characters, bytes: of the texts that are sent.
        held: segments that have a vector.
        sample: some of the texts, evenly spread.
        longest: the longest of them.

    """

    header: ExportHeader
    wanted: array[int]
    copies: dict[int, int]
    characters: int
    bytes: int
    held: int
    sample: list[str]
    longest: str


class Source:
    """The rows of an export as the texts that a model sees."""

    def __init__(self, archive: Path, options: ExportOptions, projection: Projection) -> None:
        self.archive, self.options, self.projection = archive, options, projection

    def header(self) -> ExportHeader:
        """The first line."""
        lines = export(self.archive, self.options)
        try:
            return cast("ExportHeader", next(lines))
        finally:
            lines.close()  # type: ignore[attr-defined]

    def rows(self) -> Iterator[tuple[ExportRow, str]]:
        """Every row, with its text as the model sees it."""
        lines = export(self.archive, self.options)
        next(lines)
        for line in lines:
            row = cast("ExportRow", line)
            yield row, self.projection.document(row.text)

    def texts(self, wanted: array[int]) -> Iterator[Text]:
        """The texts of the rows of these numbers, which ascend."""
        rest = iter(wanted)
        number = next(rest, -1)
        for at, (row, text) in enumerate(self.rows()):
            if at == number:
                about = as_json(row)
                del about["id"], about["text"]
                yield Text(row.id, text, about)
                number = next(rest, -1)
                if number < 0:
                    return


def plan(source: Source, record: Record, corpus: Corpus | None, *, distinct: bool, progress: Progress = quiet) -> Plan:
    """Go over all rows once, and choose."""
    planner = _Planner(record, corpus, distinct=distinct)
    done = 0
    for at, (row, text) in enumerate(source.rows()):
        planner.take(at, row, text)
        done += row.end_byte - row.start_byte
        progress("looking for texts", done, record.head.object_bytes)
    return planner.plan(source.header())


class _Planner:
    def __init__(self, record: Record, corpus: Corpus | None, *, distinct: bool) -> None:
        self._distinct = distinct
        self._rows_of = HeldRows(record, corpus) if corpus else None
        self._held: dict[bytes, int] = {}
        self._missing: dict[bytes, int] = {}
        self._rows = array("Q")
        self._sizes = array("Q")
        self._count = 0
        self._sample = _Spread()
        self._longest = ""

    def take(self, at: int, row: ExportRow, text: str) -> None:
        """Look at a row."""
        number = self._rows_of.row(row) if self._rows_of else None
        name = blake2b(text.encode(), digest_size=16).digest() if self._distinct else b""
        if number is not None:
            self._count += 1
            if self._distinct:
                self._held.setdefault(name, number)
            return
        if self._distinct:
            if name in self._missing:
                return
            self._missing[name] = len(self._rows)
        self._rows.append(at)
        self._sizes.extend((len(text), len(text.encode())))
        self._sample.take(text)
        self._longest = max(self._longest, text, key=len)

    def plan(self, header: ExportHeader) -> Plan:
        """What was chosen."""
        copied = {place: self._held[name] for name, place in self._missing.items() if name in self._held}
        sent = [place for place in range(len(self._rows)) if place not in copied]
        return Plan(
            header=header._replace(segments=len(sent), missing=True, distinct=self._distinct),
            wanted=array("Q", (self._rows[place] for place in sent)),
            copies={self._rows[place]: row for place, row in copied.items()},
            characters=sum(self._sizes[2 * place] for place in sent),
            bytes=sum(self._sizes[2 * place + 1] for place in sent),
            held=self._count,
            sample=self._sample.texts if sent else [],
            longest=self._longest if sent else "",
        )


class HeldRows:
    """The row of a segment in a corpus; quick where one turn is asked about after the other."""

    def __init__(self, record: Record, corpus: Corpus) -> None:
        self._objects: dict[str, list[Rows]] = {}
        for rows in corpus.objects():
            if rows.object < record.head.objects:
                self._objects.setdefault(rows.digest.hex(), []).append(rows)
        self._turn = ""
        self._spans: dict[tuple[int, int], int] = {}

    def row(self, row: ExportRow) -> int | None:
        """The row of the vector of an exported segment; ``None`` where it has none."""
        return self._of(row.turn_sha256).get((row.start_byte, row.end_byte))

    def count(self, digest: bytes, ends: Sequence[int]) -> int:
        """How many of the segments of a turn have a vector."""
        return len(self._of(digest.hex()).keys() & set(zip([0, *ends], ends, strict=False)))

    def _of(self, turn: str) -> dict[tuple[int, int], int]:
        if turn != self._turn:
            self._turn = turn
            self._spans = {
                span: number
                for rows in self._objects.get(turn, ())
                for number, span in enumerate(zip(rows.starts, rows.ends, strict=True), rows.first_row)
            }
        return self._spans


class _Spread:
    """Keeps some of many texts, evenly spread, whose number is not known before."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._stride, self._at = 1, 0

    def take(self, text: str) -> None:
        """Keep every so many."""
        if self._at % self._stride == 0:
            self.texts.append(text)
            if len(self.texts) > _SAMPLE:
                self.texts = self.texts[::2]
                self._stride *= 2
        self._at += 1
