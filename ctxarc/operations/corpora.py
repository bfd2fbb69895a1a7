"""Which vectors a command reads, and what they cover of what is searched."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ctxarc.auxiliary.vectors.corpus import Corpus, corpora, foreign
from ctxarc.auxiliary.vectors.identity import Identity
from ctxarc.errors import Ambiguous, NoSuchVectors
from ctxarc.model import ShareOfRecord

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ctxarc.auxiliary.vectors.corpus import Rows
    from ctxarc.operations.scope import Scope


def pick(archive: Path, scheme: str | None, fingerprint: str | None) -> Corpus:
    """The vectors of ``scheme`` whose fingerprint begins with ``fingerprint``; the only ones, where it is ``None``.

    Raises:
        NoSuchVectors: there are none.
        Ambiguous: several could be meant.

    """
    found = _there(archive, scheme, fingerprint)
    if len(found) > 1:
        raise _ambiguous(found)
    return found[0]


def agreeing(archive: Path, scheme: str | None, fingerprint: str | None, stated: Mapping[str, object]) -> Corpus:
    """The vectors that a query can be compared with.

    Args:
        archive: the archive.
        scheme: the scheme whose vectors; any where it is ``None``.
        fingerprint: what their fingerprint begins with, where that is said.
        stated: the fields of its identity that the query states.

    Raises:
        NoSuchVectors: there are none.
        Incomparable: there are, of other identities: the first field that differs from the nearest.
        Ambiguous: several agree.

    """
    found = _there(archive, scheme, fingerprint)
    differences = [_differences(corpus, stated) for corpus in found]
    fitting = [corpus for corpus, count in zip(found, differences, strict=True) if not count]
    if len(fitting) > 1:
        raise _ambiguous(fitting)
    nearest = fitting[0] if fitting else found[differences.index(min(differences))]
    nearest.identity.check(Identity(**nearest.identity.as_json() | dict(stated)))
    return nearest


def _differences(corpus: Corpus, stated: Mapping[str, object]) -> int:
    return sum(getattr(corpus.identity, name) != value for name, value in stated.items())


def _there(archive: Path, scheme: str | None, fingerprint: str | None) -> list[Corpus]:
    everything = corpora(archive)
    chosen = [
        (name, print_)
        for name, print_ in everything
        if scheme in {None, name} and print_.startswith((fingerprint or "").lower())
    ]
    if not chosen:
        what = f" of {scheme}" if scheme else ""
        what += f" whose fingerprint begins with {fingerprint}" if fingerprint else ""
        others = ", ".join(f"{print_[:8]} of {name}" for name, print_ in everything)
        message = f"{archive} has no vectors{what}" + (f"; there are {others}" if others else "")
        raise NoSuchVectors(message, scheme=scheme, vectors=[print_ for _, print_ in everything])
    return [Corpus(archive, name, print_) for name, print_ in chosen]


def _ambiguous(found: Sequence[Corpus]) -> Ambiguous:
    listed = ", ".join(_said(corpus) for corpus in found)
    hint = "say which with --vectors FINGERPRINT; its first digits are enough"
    fingerprints = [corpus.identity.fingerprint for corpus in found]
    return Ambiguous(f"{len(found)} sets of vectors could be meant: {listed}", hint=hint, vectors=fingerprints)


def _said(corpus: Corpus) -> str:
    identity = corpus.identity
    return f"{identity.fingerprint[:8]} ({identity.model}, {identity.dimensions} dimensions, {identity.scheme})"


class Covered(NamedTuple):
    """What of a corpus lies in a scope.

    Attributes:
        live: half-open ranges of the rows to be searched, in order; ``None`` for all rows.
        rows: how many those are.
        coverage: what they are of the scope.

    """

    live: list[tuple[int, int]] | None
    rows: int
    coverage: ShareOfRecord


def covered(corpus: Corpus, scope: Scope) -> Covered:
    """The rows of ``corpus`` that are segments of ``scope``.

    Raises:
        IndexMismatch: vectors were made of other bytes than the record has.

    """
    live: list[tuple[int, int]] = []
    rows = covered_bytes = 0
    turns: set[int] = set()
    for each in corpus.objects():
        first = scope.firsts.get(each.object)
        if first is None:
            continue
        if each.digest != first.turn.digest:
            raise foreign(each)
        for start, end in _held(each, scope.segments.ends(first.turn)):
            turns.add(each.object)
            rows += end - start
            covered_bytes += sum(each.ends[start:end]) - sum(each.starts[start:end])
            begin = each.first_row + start
            if live and live[-1][1] == begin:
                live[-1] = live[-1][0], begin + end - start
            else:
                live.append((begin, begin + end - start))
    shares = ShareOfRecord(
        segments=share(rows, scope.segments_in_index),
        bytes=share(covered_bytes, scope.bytes),
        turns=share(len(turns), len(scope.firsts)),
    )
    return Covered(None if rows == corpus.rows else live, rows, shares)


def _held(rows: Rows, ends: Sequence[int]) -> list[tuple[int, int]]:
    """The ranges of an object's rows whose segments the index has; all of them, most of the time."""
    if len(rows.ends) == len(ends) and list(rows.ends) == list(ends):
        return [(0, len(ends))]
    cuts = set(zip([0, *ends], ends, strict=False))
    spans = zip(rows.starts, rows.ends, strict=True)
    return [(at, at + 1) for at, span in enumerate(spans) if span in cuts]


def share(part: int, whole: int) -> float:
    """``part`` of ``whole``; all of nothing."""
    return part / whole if whole else 1.0
