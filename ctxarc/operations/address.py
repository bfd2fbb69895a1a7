"""``address``: a question, or its vector, in; places of the record out, each proved, with what was searched."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from ctxarc.auxiliary.projection import RAW
from ctxarc.auxiliary.records import ROLES
from ctxarc.auxiliary.vectors.identity import UNSTATED
from ctxarc.errors import BadUsage, OverBudget, PartialCoverage
from ctxarc.model import AddressResult, ShareOfRecord
from ctxarc.operations.folding import Ranked, Reader, Text, fold, hits
from ctxarc.operations.searched import Target, searching

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from ctxarc.auxiliary.vectors.ranking import Ranked as RankedRows
    from ctxarc.operations.query_vectors import Query
    from ctxarc.operations.searched import Searched, Vectors

    Opening = Callable[[Path, Target], AbstractContextManager[Searched]]

SEMANTIC, LEXICAL, HYBRID = "semantic", "lexical", "hybrid"
_RANK_CONSTANT = 60
"""k of reciprocal rank fusion: Cormack, Clarke, Buettcher, SIGIR 2009."""
_DEPTH = 100
"""Texts of each channel that are fused at least."""
BUDGET_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressOptions:
    """What is asked, and of what.

    Attributes:
        question: in words.
        queries: as vectors.
        hybrid: whether both are used, fused by reciprocal rank.
        scheme: the scheme whose segments answer; the only index there is where it is ``None``.
        vectors: the first digits of the fingerprint of the vectors' identity.
        limit: hits at most.
        centre: whether vectors are compared from the middle of all of them.
        role, transcript: only turns of a role, or of a transcript.
        require_coverage: the least share of the segments that must have a vector.
        budget: seconds that a search without NumPy may take.

    """

    question: str | None = None
    queries: Sequence[Query] = ()
    hybrid: bool = False
    scheme: str | None = None
    vectors: str | None = None
    limit: int = 10
    centre: bool = True
    role: str | None = None
    transcript: str | None = None
    require_coverage: float | None = None
    budget: float = BUDGET_SECONDS


def address(archive: Path, options: AddressOptions, opening: Opening = searching) -> Iterator[AddressResult]:
    """The answer to each query, or to the question.

    Args:
        archive: the archive.
        options: what is asked.
        opening: gives what is searched, open; one that keeps it open spares the next question that.

    Raises:
        NoSuchVectors, Incomparable, Ambiguous, NoSuchScheme: what is searched, see :class:`Searched`.
        PartialCoverage: fewer segments than required have a vector.
        OverBudget: the search would take too long.
        Damage: of the record, the index or the vectors.

    """
    _check(options)
    if not options.queries:
        with opening(archive, _target(options, None)) as searched:
            yield _Answers(searched, options).to_question()
        return
    for _, group in groupby(options.queries, key=lambda query: query.stated):
        queries = list(group)
        with opening(archive, _target(options, queries[0])) as searched:
            yield from _Answers(searched, options).to_queries(queries)


def _target(options: AddressOptions, query: Query | None) -> Target:
    stated = None if query is None else tuple(sorted(query.stated.items()))
    return Target(options.scheme, options.vectors, options.transcript, options.role, stated)


def _check(options: AddressOptions) -> None:
    if options.question is not None and not options.question.strip():
        raise BadUsage("the question is empty", hint="ctxarc address ARCHIVE 'what was it about?'")
    if options.question is None and not options.queries:
        raise BadUsage("nothing is asked", hint="ctxarc address ARCHIVE QUESTION, or --vector FILE")
    if options.hybrid and not (
        options.queries and (options.question or all(each.question for each in options.queries))
    ):
        raise BadUsage("--hybrid needs a question in words, and its vector", hint="give QUESTION and --vector FILE")
    if options.vectors is not None and not options.queries:
        raise BadUsage("--vectors chooses what a vector is compared with, and none is given", hint="add --vector FILE")
    if options.role is not None and options.role not in ROLES:
        hint = f"a role is one of {', '.join(sorted(ROLES))}"
        raise BadUsage(f"{options.role!r} is no role of a turn", hint=hint, role=options.role)


class _Found(NamedTuple):
    """What a channel found, and how it looked."""

    channel: str
    texts: Sequence[Text]
    searched: int
    coverage: ShareOfRecord
    backend: str | None = None
    centred: bool | None = None


class _Answers:
    """The answers from what is searched."""

    def __init__(self, searched: Searched, options: AddressOptions) -> None:
        self._searched, self._options = searched, options
        self._scope = searched.scope

    def to_question(self) -> AddressResult:
        """The answer to the question, by words alone."""
        coverage = self._searched.coverage
        _require(self._options, coverage)
        question = self._options.question or ""
        reader = Reader(self._scope, raw=False, question=question)
        texts = self._by_words(reader, question, self._options.limit)
        found = _Found(LEXICAL, texts, self._scope.segments_in_index, coverage)
        return self._result(reader, found, None, None)

    def to_queries(self, queries: Sequence[Query]) -> Iterator[AddressResult]:
        """The answers to queries, which are compared with all rows together."""
        vectors = self._searched.vectors
        _require(self._options, vectors.covered.coverage)
        if vectors.ranking.name == "python":
            self._check_budget(vectors, len(queries))
        ranked = vectors.ranking.rank_many(
            [query.vector for query in queries], vectors.covered.live, centre=self._options.centre
        )
        for query, each in zip(queries, ranked, strict=True):
            yield self._answer(vectors, query, each)

    def _check_budget(self, vectors: Vectors, queries: int) -> None:
        estimate, budget = vectors.ranking.estimate_seconds(queries), self._options.budget
        if estimate > budget:
            message = (
                f"{queries} of {vectors.corpus.rows:,} vectors without NumPy take {estimate:.2g} s, and the budget is "
            )
            raise OverBudget(f"{message}{budget:g} s", estimate_seconds=estimate, budget_seconds=budget)

    def _answer(self, vectors: Vectors, query: Query, ranked: RankedRows) -> AddressResult:
        options, corpus = self._options, vectors.corpus
        question = query.question or options.question
        reader = Reader(self._scope, raw=corpus.identity.projection.partition("+")[0] == RAW, question=question)
        depth = max(_DEPTH, 5 * options.limit) if options.hybrid else options.limit

        def leading(number: int) -> list[Ranked]:
            return [Ranked(*corpus.place(row), score) for row, score in ranked.top(number)]

        texts = fold(reader, leading, depth, SEMANTIC)
        if options.hybrid and question:
            texts = fused(reader, texts, self._by_words(reader, question, depth))
        found = _Found(
            HYBRID if options.hybrid else SEMANTIC,
            texts,
            vectors.covered.rows,
            vectors.covered.coverage,
            vectors.ranking.name,
            options.centre,
        )
        return self._result(reader, found, vectors, query.id)

    def _by_words(self, reader: Reader, question: str, wanted: int) -> list[Text]:
        """What the lexical channel finds."""
        lexical = self._searched.lexical
        return fold(reader, lambda number: lexical.leading(question, number), wanted, LEXICAL)

    def _result(self, reader: Reader, found: _Found, vectors: Vectors | None, id_: str | None) -> AddressResult:
        """The answer as data."""
        scope, record = self._scope, self._searched.record
        identity = vectors.corpus.identity if vectors else None
        own = [text for text in found.texts if not text.echo]
        shown = [*own, *(text for text in found.texts if text.echo)][: self._options.limit]
        return AddressResult(
            archive=str(record.path),
            archive_digest=record.head.root.hex(),
            channel=found.channel,
            scheme=scope.segments.scheme,
            identity=identity.as_json() if identity else None,
            identity_fingerprint=identity.fingerprint if identity else None,
            searched=found.searched,
            segments_in_index=scope.segments_in_index,
            coverage=found.coverage,
            backend=found.backend,
            centred=found.centred,
            role=scope.role,
            transcript=scope.transcript,
            echoes=len(found.texts) - len(own),
            warnings=tuple(self._warnings(found, vectors)),
            complete=scope.complete,
            omitted=scope.omitted,
            hits=hits(reader, shown),
            id=id_,
        )

    def _warnings(self, found: _Found, vectors: Vectors | None) -> Iterator[str]:
        if self._scope.segments.index is None:
            yield "there is no index of segments, so whole turns were searched; `ctxarc segment ARCHIVE` makes one"
        if vectors and vectors.corpus.identity.revision == UNSTATED:
            yield f"the weights of {vectors.corpus.identity.model} are not pinned: its revision is not stated"
        if found.coverage.segments < 1 or found.coverage.bytes < 1:
            shares = f"{found.coverage.segments:.1%} of the segments and {found.coverage.bytes:.1%} of the bytes"
            yield f"{shares} were searched"


def _require(options: AddressOptions, coverage: ShareOfRecord) -> None:
    least = options.require_coverage
    if least is None:
        return
    for name, found in coverage._asdict().items():
        if found < least:
            message = f"{found:.4f} of the {name} can be searched, and {least:g} is required"
            raise PartialCoverage(message, coverage=found, required=least)


def fused(reader: Reader, one: Sequence[Text], other: Sequence[Text]) -> list[Text]:
    """Two rankings as one, by reciprocal rank: a text's score is the sum of 1 / (60 + rank) over both."""
    both: dict[tuple[int, str], Text] = {}
    for text in (*one, *other):
        key = text.name, text.text
        before = both.get(key, text._replace(ranks={}))
        ranks = before.ranks | text.ranks
        score = sum(1 / (_RANK_CONSTANT + rank) for rank in ranks.values())
        best = before.best._replace(words=before.best.words or text.best.words, score=score)
        both[key] = before._replace(ranks=ranks, best=best)
    return sorted(both.values(), key=lambda text: (text.echo, reader.order(text.best)))
