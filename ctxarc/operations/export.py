"""``export``: the views of segments, as a model should see them, with an identity that has to come back."""

from __future__ import annotations

import json
from array import array
from dataclasses import dataclass
from hashlib import blake2b, sha256
from itertools import compress
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from ctxarc.auxiliary.projection import PROJECTION, RAW, raw_view, views
from ctxarc.auxiliary.vectors.corpus import corpora
from ctxarc.errors import BadUsage
from ctxarc.model import ByteRange, Coverage, ExportHeader, ExportRow, RedactedRow, as_json
from ctxarc.operations.corpora import pick
from ctxarc.operations.indexes import choose
from ctxarc.operations.segment_ids import segment_id
from ctxarc.operations.view import View
from ctxarc.preservation.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from ctxarc.auxiliary.segments.index import Index
    from ctxarc.operations.redact import Redactor
    from ctxarc.preservation.record import Turn

KIND = "ctxarc-export"
METHODS = ("spread", "random")
PROJECTIONS = (PROJECTION, RAW)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions:
    """What is exported.

    Attributes:
        scheme: the scheme whose segments; the only index there is where it is ``None``.
        projection: how bytes become text.
        sample: number of rows at most; all where it is ``None``.
        method: how they are chosen: ``spread`` evenly over the record, its first and last segment among them, or
            ``random``.
        seed: of the random choice, which is the same on any machine.
        distinct: whether each different text is exported once.
        missing: whether only segments without a vector are exported; all have none where nothing is attached.
        vectors: the first digits of the fingerprint of the vectors that ``missing`` is about; the only ones of the
            scheme where it is ``None``.

    """

    scheme: str | None = None
    projection: str = PROJECTION
    sample: int | None = None
    method: str = "spread"
    seed: int = 0
    distinct: bool = False
    missing: bool = False
    vectors: str | None = None


def export(archive: Path, options: ExportOptions | None = None) -> Iterator[ExportHeader | ExportRow]:
    """The header of an export, and then a row a segment: transcripts in order of names, each turn where it is first.

    Rows are made while they are taken: memory holds a pack of turns, and a number for each row that is chosen.

    Raises:
        NoSuchScheme, NoSuchVectors, Ambiguous: which index, see :func:`choose`, and which vectors.
        BadUsage: options that make no sense.
        Damage: of the record, or of the index.

    """
    options = options or ExportOptions()
    _check(options)
    with Record(archive) as record:
        job = _Job(record, choose(record, options.scheme), options)
        picked = job.picked()
        yield job.header(archive, picked)
        yield from job.rows(picked)


def export_redacted(
    archive: Path, options: ExportOptions | None = None, *, redactor: Redactor
) -> Iterator[ExportHeader | RedactedRow]:
    """The same as :func:`export` with secrets replaced in the texts, under a projection of another name.

    With ``distinct`` each different text of the record is exported once, as ``attach`` knows them without the rules.
    """
    options = options or ExportOptions()
    _check(options)
    with Record(archive) as record:
        job = _Job(record, choose(record, options.scheme), options)
        picked = job.picked()
        yield job.header(archive, picked, redactor.projection(options.projection))
        for row in job.rows(picked, redactor):
            yield RedactedRow(*row, redactions=redactor.last.within(row.start_byte, row.end_byte))


def _check(options: ExportOptions) -> None:
    if options.sample is not None and options.sample < 1:
        raise BadUsage(f"a sample of {options.sample} rows is none; give 1 or more", sample=options.sample)
    if options.method not in METHODS:
        raise BadUsage(f"{options.method!r} is no way to sample; there are {' and '.join(METHODS)}")
    if options.projection not in PROJECTIONS:
        raise BadUsage(f"{options.projection!r} is no projection; there are {' and '.join(PROJECTIONS)}")
    if options.vectors is not None and not options.missing:
        raise BadUsage("vectors are named, and not --missing, which is about them")


class _Picked(NamedTuple):
    """Which segments are exported.

    Attributes:
        numbers: their numbers among all, in order; ``None`` for all.
        firsts: for each segment the number of the first one with the same text; ``None`` where each stands for itself.
        rows: how many are exported.

    """

    numbers: array[int] | None
    firsts: array[int] | None
    rows: int


class _Job:
    def __init__(self, record: Record, index: Index, options: ExportOptions) -> None:
        self.record, self.index, self.options = record, index, options
        self.view = View(record)
        self.total = 0
        self._cuts = blake2b()
        for _, turn, ends in self._turns():
            self.total += len(ends)
            self._cuts.update(turn.digest + array("Q", ends).tobytes())
        self.wanted = self._missing() if options.missing else None
        if self.wanted is not None:
            self._cuts.update(self.wanted)

    def _turns(self) -> Iterator[tuple[str, Turn, Sequence[int]]]:
        """Every distinct turn of the newest states, with its transcript and its segments."""
        for state, turn in self.view.distinct():
            yield state.name.decode(), turn, self.index.ends(turn.object, turn.digest, turn.length)

    def _missing(self) -> bytearray | None:
        """A one for each segment that has no vector; ``None`` where nothing is attached.

        Raises:
            NoSuchVectors: vectors are named, and there are none.
            Ambiguous: there are several sets, and none is named.

        """
        scheme, named = self.index.scheme, self.options.vectors
        if named is None and scheme not in {name for name, _ in corpora(self.record.path)}:
            return None
        held: dict[tuple[int, bytes], set[tuple[int, int]]] = {}
        for each in pick(self.record.path, scheme, named).objects():
            held.setdefault((each.object, each.digest), set()).update(zip(each.starts, each.ends, strict=True))
        wanted = bytearray()
        for _, turn, ends in self._turns():
            there = held.get((turn.object, turn.digest), ())
            wanted += bytes(span not in there for span in zip([0, *ends], ends, strict=False))
        return wanted

    def _views(
        self, turn: Turn, ends: Sequence[int], redactor: Redactor | None = None
    ) -> Iterator[tuple[int, int, str]]:
        raw = bytes(self.record.turn_bytes(turn.object))
        if redactor:
            yield from redactor.turn(raw).views(ends, raw=self.options.projection == RAW)
            return
        if self.options.projection == PROJECTION:
            yield from views(raw, ends)
            return
        start = 0
        for end in ends:
            yield start, end, raw_view(raw[start:end])
            start = end

    def picked(self) -> _Picked:
        """Choose the rows."""
        firsts = self._firsts() if self.options.distinct else None
        different = None if firsts is None else array("Q", (at for at, first in enumerate(firsts) if at == first))
        if self.wanted is not None:
            numbers = range(self.total) if different is None else different
            different = array("Q", compress(numbers, map(self.wanted.__getitem__, numbers)))
        size = self.total if different is None else len(different)
        wanted = size if self.options.sample is None else min(self.options.sample, size)
        if wanted == size:
            return _Picked(different, firsts, size)
        is_spread = self.options.method == "spread"
        chosen = spread(size, wanted) if is_spread else drawn(size, wanted, self.options.seed)
        return _Picked(chosen if different is None else array("Q", (different[at] for at in chosen)), firsts, wanted)

    def _firsts(self) -> array[int]:
        """For each segment the number of the first one with the same text; its own where it is not wanted."""
        places: dict[bytes, int] = {}
        firsts = array("Q")
        for _, turn, ends in self._turns():
            for _, _, text in self._views(turn, ends):
                name = blake2b(text.encode(), digest_size=16).digest()
                is_left_out = self.wanted is not None and not self.wanted[len(firsts)]
                firsts.append(len(firsts) if is_left_out else places.setdefault(name, len(firsts)))
        return firsts

    def header(self, archive: Path, picked: _Picked, projection: str | None = None) -> ExportHeader:
        """The first line."""
        states = list(self.view.states())
        omitted: tuple[ByteRange, ...] = self.view.omitted(states[0]) if len(states) == 1 else ()
        options = self.options
        sample: dict[str, object] | None = None
        if options.sample is not None:
            seed = options.seed if options.method == "random" else None
            sample = {"rows": options.sample, "method": options.method, "seed": seed}
        header = ExportHeader(
            kind=KIND,
            export_id="",
            archive=str(archive),
            archive_digest=self.record.head.root.hex(),
            scheme=self.index.scheme,
            parameters=self.index.parameters,
            projection=projection or options.projection,
            segments=picked.rows,
            segments_in_index=self.total,
            distinct=options.distinct,
            missing=options.missing,
            sample=sample,
            coverage=self._coverage(picked),
            complete=all(state.complete for state in states),
            omitted=omitted,
        )
        return header._replace(export_id=self._id(header))

    def _id(self, header: ExportHeader) -> str:
        """A name for the very rows: the same archive, index and options have the same one."""
        said = as_json(header) | {"archive": "", "cuts": self._cuts.hexdigest()}
        return sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:32]

    def _coverage(self, picked: _Picked) -> Coverage:
        """What the rows stand for: themselves, and with ``distinct`` every segment of the same text."""
        chosen = bytearray(b"\1" if picked.numbers is None else b"\0") * self.total
        for number in picked.numbers or ():
            chosen[number] = 1
        number = segments = turns = all_turns = covered = all_bytes = 0
        held: list[int] = []
        for _, turn, ends in self._turns():
            all_turns += 1
            all_bytes += turn.length
            before, start = segments, 0
            for end in ends:
                if chosen[picked.firsts[number] if picked.firsts else number]:
                    segments += 1
                    covered += end - start
                start = end
                number += 1
            if segments > before:
                turns += 1
                held[1:] = [turn.number]
        return Coverage(
            segments=_share(segments, self.total),
            bytes=_share(covered, all_bytes),
            turns=_share(turns, all_turns),
            first_turn=held[0] if held else None,
            last_turn=held[-1] if held else None,
        )

    def rows(self, picked: _Picked, redactor: Redactor | None = None) -> Iterator[ExportRow]:
        """The rows."""
        numbers = None if picked.numbers is None else iter(picked.numbers)
        wanted = -1 if numbers is None else next(numbers, -1)
        number = 0
        for name, turn, ends in self._turns():
            if numbers is not None and not number <= wanted < number + len(ends):
                number += len(ends)
                continue
            digest = turn.digest.hex()
            for start, end, text in self._views(turn, ends, redactor):
                if numbers is None or number == wanted:
                    yield ExportRow(segment_id(digest, start, end), name, turn.number, start, end, digest, text)
                    wanted = -1 if numbers is None else next(numbers, -1)
                number += 1


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def spread(size: int, wanted: int) -> array[int]:
    """``wanted`` numbers below ``size``, an even stride apart, the first and the last among them."""
    if wanted == 1:
        return array("Q", [0])
    return array("Q", (each * (size - 1) // (wanted - 1) for each in range(wanted)))


def drawn(size: int, wanted: int, seed: int) -> array[int]:
    """``wanted`` numbers below ``size``, drawn at random, in order (Knuth, TAOCP 3.4.2, algorithm S)."""
    random = Random(seed)  # noqa: S311 - a sample, not a secret
    chosen = array("Q")
    for number in range(size):
        if (size - number) * random.random() < wanted - len(chosen):
            chosen.append(number)
    return chosen


def batch_request(row: ExportRow | RedactedRow, model: str) -> dict[str, object]:
    """A row as a line of the file that OpenAI's batch endpoint takes for embeddings."""
    body = {"model": model, "input": row.text, "encoding_format": "float"}
    return {"custom_id": row.id, "method": "POST", "url": "/v1/embeddings", "body": body}
