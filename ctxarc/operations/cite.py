"""``cite``: whether a quotation stands in the record, exactly where, or what comes nearest and where it differs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from ctxarc.auxiliary.jsontext import ENVELOPE, mapped, strings
from ctxarc.auxiliary.records import read_record
from ctxarc.errors import BadUsage
from ctxarc.model import CiteDifference, CiteNearest, CitePlace, CiteResult
from ctxarc.operations.nearest import Nearest
from ctxarc.operations.progress import quiet, told
from ctxarc.operations.quoting import Loose, Quotation, spans_of_bytes, spans_of_text
from ctxarc.operations.view import View
from ctxarc.preservation.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ctxarc.auxiliary.jsontext import Mapped
    from ctxarc.operations.nearest import Near
    from ctxarc.operations.progress import Progress
    from ctxarc.operations.quoting import Span
    from ctxarc.preservation.record import State, Turn

RAW, TEXT, SPACING = "raw", "text", "spacing"
"""How a quotation can stand in the record, the closest first."""
PLACES = 10
"""Places that are listed unless said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CiteOptions:
    """Where a quotation is looked for.

    Attributes:
        names: transcripts to search; all where there is none.
        at: the capture after which the archive is looked at.
        most: places that are listed.

    """

    names: tuple[str, ...] = ()
    at: int | None = None
    most: int = PLACES


def cite(
    archive: Path, quote: str | bytes, options: CiteOptions | None = None, progress: Progress = quiet
) -> CiteResult:
    """Check a quotation against the record.

    Args:
        archive: the archive.
        quote: the quotation; bytes that are not UTF-8 can stand in the raw bytes of the record alone.
        options: where to look, and how many places to list.
        progress: told how many bytes of turns were searched.

    Raises:
        BadUsage: the quotation is empty, white space alone, or too long.

    """
    given = options or CiteOptions()
    if given.most < 1:
        raise BadUsage(f"{given.most} places cannot be listed", hint="list one at least")
    quotation = Quotation(quote)
    with Record(archive) as record:
        search = _Search(record, View(record, given.at), given, progress)
        if (found := search.raw(quotation)).counts:
            return search.result(quotation, RAW, found)
        for how, found in search.texts(quotation):
            if found.counts:
                return search.result(quotation, how, found)
        return search.result(quotation, None, found, search.nearest(quotation))


class _Found:
    """Places by the objects they are in: how many each has, and the first ones of all."""

    def __init__(self, most: int) -> None:
        self.counts: dict[int, int] = {}
        self.spans: dict[int, list[Span]] = {}
        self._left = most

    def add(self, number: int, count: int, spans: Iterator[Span]) -> None:
        """Count places of an object, and keep as many of their ``spans`` as may still be listed."""
        self.counts[number] = self.counts.get(number, 0) + count
        kept = list(islice(spans, self._left))
        self._left -= len(kept)
        self.spans.setdefault(number, []).extend(kept)


class _Search:
    """The turns that are searched, each of them hashed."""

    def __init__(self, record: Record, view: View, options: CiteOptions, progress: Progress) -> None:
        self._record = record
        self._progress = progress
        self._view = view
        self._states = view.chosen(options.names)
        self._most = options.most

    def _read(self, turn: Turn) -> bytes:
        return bytes(self._record.turn_bytes(turn.object))

    def _turns(self) -> Iterator[tuple[State, Turn]]:
        for state in self._states:
            for turn in told(self._record.turns(state), self._progress, "searching"):
                yield state, turn

    def _distinct(self) -> Iterator[tuple[State, Turn, bytes]]:
        """Every distinct turn at its first place, with its bytes."""
        seen = bytearray(self._record.head.objects)
        for state, turn in self._turns():
            if not seen[turn.object]:
                seen[turn.object] = 1
                yield state, turn, self._read(turn)

    def raw(self, quotation: Quotation) -> _Found:
        """Where the bytes of the quotation stand."""
        found = _Found(self._most)
        wanted = quotation.data
        for _, turn, raw in self._distinct():
            if count := raw.count(wanted):
                found.add(turn.object, count, spans_of_bytes(raw, wanted))
        return found

    def texts(self, quotation: Quotation) -> Iterator[tuple[str, _Found]]:
        """Where the quotation stands in the text, and where it does but for white space."""
        if not quotation.is_text:
            return
        found, loose = _Found(self._most), _Found(self._most)
        text, loosely = quotation.text, Loose(quotation.text)
        for _, turn, raw in self._distinct():
            for literal in strings(raw, ENVELOPE):
                if literal.end - literal.start < loosely.least_bytes:
                    continue
                inside = mapped(raw, literal)
                if count := inside.text.count(text):
                    found.add(turn.object, count, spans_of_text(inside, text))
                elif not found.counts and (count := loosely.count(inside.text)):
                    loose.add(turn.object, count, loosely.spans(inside))
        yield TEXT, found
        yield SPACING, loose

    def nearest(self, quotation: Quotation) -> CiteNearest | None:
        """What comes nearest."""
        search = Nearest(quotation.text)
        for state, turn, raw in self._distinct():
            search.look(state, turn, raw)
        near = search.best()
        return None if near is None else self._nearest(quotation, near)

    def _nearest(self, quotation: Quotation, near: Near) -> CiteNearest:
        (state, turn, literal), alignment = near.place, near.alignment
        raw = self._read(turn)
        text = mapped(raw, literal)
        said = read_record(raw)
        start, end = text.raw_range(alignment.start, alignment.end)
        digest = turn.digest.hex()
        return CiteNearest(
            transcript=state.name.decode(),
            turn=turn.number,
            role=said.role,
            time=said.time,
            start_byte=start,
            end_byte=end,
            turn_sha256=digest,
            digest_verified=True,
            cite=f"ctxa:{digest}:{start}-{end}",
            complete=state.complete,
            similarity=round(alignment.found / near.words, 4),
            words=near.words,
            words_in_order=alignment.found,
            differences=tuple(_differences(quotation, near, text)),
            text=text.text[alignment.start : alignment.end],
        )

    def result(
        self, quotation: Quotation, how: str | None, found: _Found, nearest: CiteNearest | None = None
    ) -> CiteResult:
        """The answer as data."""
        turns = size = places = 0
        hits: list[CitePlace] = []
        for state, turn in self._turns():
            turns += 1
            size += turn.length
            if turn.object in found.counts:
                places += found.counts[turn.object]
                hits += self._hits(state, turn, found.spans[turn.object][: self._most - len(hits)])
        return CiteResult(
            archive=str(self._record.path),
            archive_digest=self._record.head.root.hex(),
            quote_bytes=len(quotation.data),
            exact=how is not None,
            how=how,
            places=places,
            hits=tuple(hits),
            nearest=nearest,
            searched_turns=turns,
            searched_bytes=size,
            complete=all(state.complete for state in self._states),
            omitted=self._view.omitted(self._states[0]) if len(self._states) == 1 else (),
        )

    def _hits(self, state: State, turn: Turn, spans: list[Span]) -> Iterator[CitePlace]:
        if not spans:
            return
        said = read_record(self._read(turn))
        digest = turn.digest.hex()
        for span in spans:
            yield CitePlace(
                transcript=state.name.decode(),
                turn=turn.number,
                role=said.role,
                time=said.time,
                start_byte=span.start,
                end_byte=span.end,
                turn_sha256=digest,
                digest_verified=True,
                cite=f"ctxa:{digest}:{span.start}-{span.end}",
                complete=state.complete,
                text=span.text,
            )


def _differences(quotation: Quotation, near: Near, text: Mapped) -> Iterator[CiteDifference]:
    for hunk in near.alignment.hunks:
        quoted = quotation.text[hunk.quote_start : hunk.quote_end]
        found = text.text[hunk.start : hunk.end]
        start, end = text.raw_range(hunk.start, hunk.end)
        yield CiteDifference(
            kind="replaced" if quoted and found else "missing" if quoted else "added",
            quote_start=hunk.quote_start,
            quote_end=hunk.quote_end,
            quoted=quoted,
            found=found,
            text_start=hunk.start - near.alignment.start,
            text_end=hunk.end - near.alignment.start,
            start_byte=start,
            end_byte=end,
        )
