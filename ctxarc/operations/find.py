"""``find``: where a pattern stands, as (turn, start, end) in raw bytes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from ctxarc.auxiliary.jsontext import ENVELOPE, Mapped, strings
from ctxarc.model import FindCount, Hit
from ctxarc.operations.matching import Matcher, matcher
from ctxarc.operations.progress import quiet, told
from ctxarc.operations.view import View
from ctxarc.preservation.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from ctxarc.operations.progress import Progress
    from ctxarc.preservation.record import Pack, Turn

_EXCERPT = 200
_BEFORE = 60
"""Characters of an excerpt that stand before the match."""
_LITERALS = 4096
"""Strings that are decoded at a time: a line may consist of millions of short ones."""
_BATCH = 16 << 20
"""Bytes of turns that are matched at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FindOptions:
    """What to find, and where.

    Attributes:
        patterns: one or more; any of them counts.
        regex: whether they are regular expressions.
        as_read: whether the text as people read it is searched: strings of the record, escapes decoded.
        ignore_case: whether upper and lower case are one.
        max_count: most hits in a transcript; ``None`` for all.
        names: transcripts to search; all where there is none.
        time_limit: seconds that a regular expression may take on a stretch of at most 16 MiB, or one longer turn.
        at: the capture after which the archive is looked at.

    """

    patterns: tuple[str, ...]
    regex: bool = False
    as_read: bool = False
    ignore_case: bool = False
    max_count: int | None = None
    names: tuple[str, ...] = ()
    time_limit: float = 10.0
    at: int | None = None


class _Place(NamedTuple):
    """A match in a turn: raw range, and the excerpt around it."""

    turn: Turn
    start: int
    end: int
    text: str


def find(archive: Path, options: FindOptions, progress: Progress = quiet) -> Iterator[Hit]:
    """Every place of the patterns: transcripts in byte order of names, turns in order.

    Args:
        archive: the archive.
        options: what to look for, and where.
        progress: told how many bytes of a transcript were searched.

    Raises:
        BadPattern: a pattern is empty, or no regular expression.
        PatternTimeout: a regular expression took longer than its limit.

    """
    with Record(archive) as record, _matcher(options) as search:
        for state in View(record, options.at).chosen(options.names):
            name = state.name.decode()
            for place in _limited(
                _places(record, told(record.turns(state), progress, "searching"), search, options), options.max_count
            ):
                record.turn_bytes(place.turn.object)
                digest = place.turn.digest.hex()
                yield Hit(
                    transcript=name,
                    turn=place.turn.number,
                    start_byte=place.start,
                    end_byte=place.end,
                    turn_sha256=digest,
                    digest_verified=True,
                    cite=f"ctxa:{digest}:{place.start}-{place.end}",
                    complete=state.complete,
                    text=place.text,
                )


def count(archive: Path, options: FindOptions) -> list[FindCount]:
    """How often the patterns stand in each transcript."""
    counts = Counter(hit.transcript for hit in find(archive, options))
    with Record(archive) as record:
        return [
            FindCount(state.name.decode(), counts[state.name.decode()])
            for state in View(record, options.at).chosen(options.names)
        ]


def _matcher(options: FindOptions) -> Matcher:
    return matcher(
        options.patterns,
        regex=options.regex,
        as_text=_as_text(options),
        ignore_case=options.ignore_case,
        time_limit=options.time_limit,
    )


def _as_text(options: FindOptions) -> bool:
    """Whether characters are matched: in bytes, ``é+`` would repeat one byte, and case is known of ASCII alone."""
    special = options.regex or options.ignore_case
    return options.as_read or (special and not all(pattern.isascii() for pattern in options.patterns))


def _limited(places: Iterator[_Place], most: int | None) -> Iterator[_Place]:
    for number, place in enumerate(places):
        if most is not None and number >= most:
            return
        yield place


def _places(record: Record, turns: Iterable[Turn], search: Matcher, options: FindOptions) -> Iterator[_Place]:
    for batch in _batches(record, turns):
        taken = [turn for turn, _ in batch]
        texts = [text for _, text in batch]
        if options.as_read:
            yield from _in_strings(taken, texts, search)
        else:
            yield from _in_bytes(taken, texts, search, as_text=_as_text(options))


def _batches(record: Record, turns: Iterable[Turn]) -> Iterator[list[tuple[Turn, memoryview]]]:
    """Turns with their bytes, some at a time, as they lie together in a pack."""
    batch: list[tuple[Turn, memoryview]] = []
    pack: Pack | None = None
    size = 0
    for turn in turns:
        if batch and pack and not (pack.holds(turn.object) and size + turn.length <= _BATCH):
            yield batch
            batch, size = [], 0
        pack = record.pack_of(turn.object)
        start, end = pack.span(turn.object)
        batch.append((turn, pack.data[start:end]))
        size += turn.length
    if batch:
        yield batch


def _in_bytes(
    turns: Sequence[Turn], texts: Sequence[memoryview], search: Matcher, *, as_text: bool
) -> Iterator[_Place]:
    offsets = _Bytes()
    for index, first, last in search.spans(texts):
        start, end = offsets.span(index, texts[index], first, last) if as_text else (first, last)
        yield _Place(turns[index], start, end, _around_bytes(texts[index], start, end))


class _Bytes:
    """Turns spans of characters into spans of bytes, going on from the span before."""

    def __init__(self) -> None:
        self._index, self._text, self._at, self._byte = -1, "", 0, 0

    def span(self, index: int, data: memoryview, first: int, last: int) -> tuple[int, int]:
        if index != self._index:
            self._index, self._text, self._at, self._byte = index, str(data, "utf-8", "surrogateescape"), 0, 0
        start = self._byte + len(self._text[self._at : first].encode("utf-8", "surrogateescape"))
        end = start + len(self._text[first:last].encode("utf-8", "surrogateescape"))
        self._at, self._byte = last, end
        return start, end


def _in_strings(turns: Sequence[Turn], texts: Sequence[memoryview], search: Matcher) -> Iterator[_Place]:
    waiting: list[tuple[Turn, Mapped]] = []
    for turn, text in zip(turns, texts, strict=True):
        raw = bytes(text)
        for literal in strings(raw):
            if literal.end > literal.start and literal.key not in ENVELOPE:
                inside = raw[literal.start : literal.end]
                waiting.append((turn, Mapped(inside, offset=literal.start, plain=literal.plain)))
            if len(waiting) == _LITERALS:
                yield from _matched(waiting, search)
                waiting = []
    yield from _matched(waiting, search)


def _matched(literals: Sequence[tuple[Turn, Mapped]], search: Matcher) -> Iterator[_Place]:
    for index, first, last in search.spans([each.text.encode() for _, each in literals]):
        turn, text = literals[index]
        start, end = text.raw_range(first, last)
        yield _Place(turn, start, end, _around(text.text, first, last))


def _around(text: str, first: int, last: int) -> str:
    """At most 200 characters of ``text`` with the match among them."""
    start = max(0, min(first - _BEFORE, len(text) - _EXCERPT))
    return text[start : min(start + _EXCERPT, max(last + _EXCERPT, len(text)))]


def _around_bytes(data: memoryview, start: int, end: int) -> str:
    before = str(data[max(0, start - 2 * _BEFORE) : start], "utf-8", "replace")[-_BEFORE:]
    behind = str(data[start : min(end, start + 4 * _EXCERPT) + 4 * _EXCERPT], "utf-8", "replace")
    return (before + behind)[:_EXCERPT]
