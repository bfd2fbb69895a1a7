"""Small corpora of made-up vectors, beside no record, and what an exact ranking of them is."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence
from fractions import Fraction
from hashlib import sha256
from itertools import accumulate, pairwise
from pathlib import Path

from ctxarc.auxiliary.vectors.corpus import Corpus, NewRows, add
from ctxarc.auxiliary.vectors.identity import Identity

SCHEME = "boundary-v1"
Matrix = Sequence[Sequence[float]]
Live = Sequence[tuple[int, int]] | None


def identity(width: int, **fields: str) -> Identity:
    """What made vectors of that width."""
    said = {"model": "m", "revision": "r", "projection": "json-text-v1", "scheme": SCHEME} | fields
    return Identity(said["model"], said["revision"], width, said["projection"], said["scheme"])


def float32(rows: Matrix) -> list[list[float]]:
    """The same numbers as float32 has them."""
    return [array("f", row).tolist() for row in rows]


def digest(number: int) -> bytes:
    return sha256(b"object %d" % number).digest()


def new_rows(rows: Matrix, objects: Mapping[int, Sequence[tuple[int, int]]], size: int = 1) -> NewRows:
    """Rows for the segments of objects, in pieces of ``size`` rows."""
    spans = [span for number in sorted(objects) for span in objects[number]]
    assert len(spans) == len(rows)
    chunks = [array("f", [x for row in rows[at : at + size] for x in row]) for at in range(0, len(rows), size)]
    return NewRows(
        array("I", sorted(objects)),
        b"".join(map(digest, sorted(objects))),
        array("I", accumulate((len(objects[number]) for number in sorted(objects)), initial=0)),
        array("I", (start for start, _ in spans)),
        array("I", (end for _, end in spans)),
        (chunk.tobytes() for chunk in chunks),
    )


def put(archive: Path, rows: Matrix, first: int = 0, **fields: str) -> Identity:
    """Attach rows to objects of one segment each, from object ``first`` on."""
    made = identity(len(rows[0]), **fields)
    objects = {number: [(0, 10)] for number in range(first, first + len(rows))}
    add(archive, made, new_rows(rows, objects, size=7), "00" * 32)
    return made


def opened(archive: Path, made: Identity) -> Corpus:
    return Corpus(archive, made.scheme, made.fingerprint)


def stored(archive: Path, rows: Matrix, cuts: Sequence[int] = ()) -> Corpus:
    """A corpus of the rows, in parts that begin at ``cuts``."""
    borders = sorted({0, len(rows), *cuts})
    for start, end in pairwise(borders):
        made = put(archive, rows[start:end], start)
    return opened(archive, made)


def exact_mean(rows: Matrix) -> list[float]:
    """The mean of float32 rows: of each column the float64 number nearest to it."""
    return [float(sum(map(Fraction, column)) / len(rows)) for column in zip(*rows, strict=True)]


def exact_ranking(rows: Matrix, query: Sequence[float], live: Live = None, *, centre: bool) -> list[tuple[int, float]]:
    """Every row that is searched, best first, equal ones by number, by the definition of a score."""
    mean = exact_mean(rows) if centre else [0.0] * len(query)
    wanted = [x - m for x, m in zip(array("f", query), mean, strict=True)]
    length = math.sqrt(math.fsum(x * x for x in wanted))
    found = []
    for number, row in enumerate(rows):
        if live is None or any(start <= number < end for start, end in live):
            apart = [x - m for x, m in zip(row, mean, strict=True)]
            below = math.sqrt(math.fsum(x * x for x in apart)) * length
            above = math.fsum(x * y for x, y in zip(apart, wanted, strict=True))
            found.append((number, above / below if below > 0 else 0.0))
    return sorted(found, key=lambda each: (-each[1], each[0]))


def leading(ranking: list[tuple[int, float]], count: int) -> list[tuple[int, float]]:
    """The first ``count`` of an exact ranking, and all that tie with the last of them."""
    if count < 1 or not ranking:
        return []
    last = ranking[min(count, len(ranking)) - 1][1]
    return [each for at, each in enumerate(ranking) if at < count or each[1] == last]
