"""What a question is put to, open: segments of a record, the index of their words, and vectors of one identity.

Opening it takes longer than a search, so that what answers many questions keeps it open.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from ctxarc.auxiliary.segments.index import Index, built
from ctxarc.auxiliary.vectors.ranking import open_ranking
from ctxarc.model import ShareOfRecord
from ctxarc.operations.corpora import agreeing, covered, share
from ctxarc.operations.indexes import check_fit, choose
from ctxarc.operations.lexical import Lexical
from ctxarc.operations.progress import quiet
from ctxarc.operations.scope import Scope, Segments
from ctxarc.preservation.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ctxarc.auxiliary.vectors.corpus import Corpus
    from ctxarc.auxiliary.vectors.ranking import Ranking
    from ctxarc.operations.corpora import Covered
    from ctxarc.operations.progress import Progress


class Target(NamedTuple):
    """What is searched: all of a question that is the same for the next one.

    Attributes:
        scheme: the scheme whose segments answer; the only index there is where it is ``None``.
        vectors: the first digits of the fingerprint of the vectors' identity.
        transcript, role: only turns of a transcript, or of a role.
        stated: the fields of its identity that a query vector states; ``None`` where words alone are asked.

    """

    scheme: str | None = None
    vectors: str | None = None
    transcript: str | None = None
    role: str | None = None
    stated: tuple[tuple[str, object], ...] | None = None


class Vectors(NamedTuple):
    """The vectors that queries are compared with, what they cover of the scope, and what ranks them."""

    corpus: Corpus
    covered: Covered
    ranking: Ranking


class Searched:
    """What is searched, open; for one thread at a time.

    Args:
        record: the archive's record.
        target: what of it is searched.
        progress: told how much has been opened.

    Attributes:
        record, scope: where it lies, and the turns with their segments.
        progress: told the same of what is opened when it is first wanted.

    Raises:
        NoSuchVectors, Incomparable, Ambiguous, NoSuchScheme: what is searched, see :func:`agreeing` and
            :func:`choose`.
        Damage: of the record, the index or the vectors.

    """

    def __init__(self, record: Record, target: Target, progress: Progress = quiet) -> None:
        self.record = record
        self.progress = progress
        corpus = None if target.stated is None else _corpus(record.path, target, dict(target.stated))
        index = Index.existing(record.path, corpus.identity.scheme) if corpus else _index(record, target.scheme)
        if index:
            check_fit(record, index)
        segments = Segments(record, index)
        self.scope = Scope(segments, transcript=target.transcript, role=target.role, progress=progress)
        self._vectors = Vectors(corpus, covered(corpus, self.scope), open_ranking(corpus)) if corpus else None

    @property
    def vectors(self) -> Vectors:
        """The vectors; there are none where the target states nothing of them."""
        if self._vectors is None:
            raise ValueError("nothing is stated of vectors")
        return self._vectors

    @cached_property
    def lexical(self) -> Lexical:
        """The words of the segments."""
        return Lexical(self.scope, self.progress)

    @cached_property
    def coverage(self) -> ShareOfRecord:
        """What the index covers of the scope: all that the words are of."""
        scope = self.scope
        covers = [turn for _, turn in scope.firsts.values() if scope.segments.ends(turn)]
        return ShareOfRecord(
            segments=1.0,
            bytes=share(sum(turn.length for turn in covers), scope.bytes),
            turns=share(len(covers), len(scope.firsts)),
        )


@contextmanager
def searching(archive: Path, target: Target, progress: Progress = quiet) -> Iterator[Searched]:
    """``target`` in an archive, open for as long as the ``with`` statement lasts; see :class:`Searched`."""
    with Record(archive) as record:
        yield Searched(record, target, progress)


def _corpus(archive: Path, target: Target, stated: dict[str, object]) -> Corpus:
    scheme = target.scheme
    if scheme is None and len(there := built(archive)) == 1:
        scheme = there[0]
    return agreeing(archive, scheme, target.vectors, stated)


def _index(record: Record, scheme: str | None) -> Index | None:
    return choose(record, scheme) if scheme or built(record.path) else None
