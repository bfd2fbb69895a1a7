"""``address``: a question, or its vector, in; places of the record out, each proved, with what was searched."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from ctxarc.auxiliary.projection import RAW
from ctxarc.auxiliary.records import ROLES
from ctxarc.auxiliary.segments.index import Index, built
from ctxarc.auxiliary.vectors.identity import UNSTATED
from ctxarc.auxiliary.vectors.ranking import open_ranking
from ctxarc.errors import BadUsage, OverBudget, PartialCoverage
from ctxarc.model import AddressResult, ShareOfRecord
from ctxarc.operations.corpora import agreeing, covered, share
from ctxarc.operations.folding import Ranked, Reader, Text, fold, hits
from ctxarc.operations.indexes import check_fit, choose
from ctxarc.operations.lexical import Lexical
from ctxarc.operations.scope import Scope, Segments
from ctxarc.preservation.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from ctxarc.auxiliary.vectors.corpus import Corpus
    from ctxarc.auxiliary.vectors.ranking import Ranked as RankedRows
    from ctxarc.auxiliary.vectors.ranking import Ranking
    from ctxarc.operations.query_vectors import Query

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


def address(archive: Path, options: AddressOptions) -> Iterator[AddressResult]:
    """The answer to each query, or to the question.

    Raises:
        NoSuchVectors, Incomparable, Ambiguous, NoSuchScheme: what is searched, see :func:`agreeing` and
            :func:`choose`.
        PartialCoverage: fewer segments than required have a vector.
        OverBudget: the search would take too long.
        Damage: of the record, the index or the vectors.

    """
    _check(options)
    with Record(archive) as record:
        if not options.queries:
            yield _Words(record, options).answer()
            return
        for _, group in groupby(options.queries, key=lambda query: query.stated):
            queries = list(group)
            yield from _Vectors(record, _corpus(archive, queries[0], options), options).answers(queries)


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


def _corpus(archive: Path, query: Query, options: AddressOptions) -> Corpus:
    scheme = options.scheme
    if scheme is None and len(there := built(archive)) == 1:
        scheme = there[0]
    return agreeing(archive, scheme, options.vectors, query.stated)


class _Found(NamedTuple):
    """What a channel found, and how it looked."""

    channel: str
    texts: Sequence[Text]
    searched: int
    coverage: ShareOfRecord
    backend: str | None = None
    centred: bool | None = None


class _Answers:
    """Everything that the answers to several queries share."""

    def __init__(self, record: Record, segments: Segments, options: AddressOptions) -> None:
        self.record = record
        self.options = options
        self.scope = Scope(segments, transcript=options.transcript, role=options.role)
        self._lexical: Lexical | None = None

    def words(self, reader: Reader, question: str, wanted: int) -> list[Text]:
        """What the lexical channel finds."""
        if self._lexical is None:
            self._lexical = Lexical(self.scope)
        lexical = self._lexical
        return fold(reader, lambda number: lexical.leading(question, number), wanted, LEXICAL)

    def whole(self) -> ShareOfRecord:
        """What the index covers of the scope: all that the words are of."""
        scope = self.scope
        covers = [turn for _, turn in scope.firsts.values() if scope.segments.ends(turn)]
        return ShareOfRecord(
            segments=1.0,
            bytes=share(sum(turn.length for turn in covers), scope.bytes),
            turns=share(len(covers), len(scope.firsts)),
        )

    def result(self, reader: Reader, found: _Found, corpus: Corpus | None, id_: str | None) -> AddressResult:
        """The answer as data."""
        scope = self.scope
        identity = corpus.identity if corpus else None
        own = [text for text in found.texts if not text.echo]
        shown = [*own, *(text for text in found.texts if text.echo)][: self.options.limit]
        return AddressResult(
            archive=str(self.record.path),
            archive_digest=self.record.head.root.hex(),
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
            warnings=tuple(self._warnings(found, corpus)),
            complete=scope.complete,
            omitted=scope.omitted,
            hits=hits(reader, shown),
            id=id_,
        )

    def _warnings(self, found: _Found, corpus: Corpus | None) -> Iterator[str]:
        if self.scope.segments.index is None:
            yield "there is no index of segments, so whole turns were searched; `ctxarc segment ARCHIVE` makes one"
        if corpus and corpus.identity.revision == UNSTATED:
            yield f"the weights of {corpus.identity.model} are not pinned: its revision is not stated"
        if found.coverage.segments < 1 or found.coverage.bytes < 1:
            shares = f"{found.coverage.segments:.1%} of the segments and {found.coverage.bytes:.1%} of the bytes"
            yield f"{shares} were searched"


class _Words(_Answers):
    """Answers from words alone."""

    def __init__(self, record: Record, options: AddressOptions) -> None:
        index = choose(record, options.scheme) if options.scheme or built(record.path) else None
        if index:
            check_fit(record, index)
        super().__init__(record, Segments(record, index), options)
        _require(options, self.whole())

    def answer(self) -> AddressResult:
        """The answer to the question."""
        question = self.options.question or ""
        reader = Reader(self.scope, raw=False, question=question)
        texts = self.words(reader, question, self.options.limit)
        found = _Found(LEXICAL, texts, self.scope.segments_in_index, self.whole())
        return self.result(reader, found, None, None)


class _Vectors(_Answers):
    """Answers from the vectors of one corpus, and from words too where that is asked."""

    def __init__(self, record: Record, corpus: Corpus, options: AddressOptions) -> None:
        index = Index.existing(record.path, corpus.identity.scheme)
        check_fit(record, index)
        super().__init__(record, Segments(record, index), options)
        self.corpus = corpus
        self.covered = covered(corpus, self.scope)
        _require(options, self.covered.coverage)
        self._ranking: Ranking = open_ranking(corpus)
        if self._ranking.name == "python":
            self._check_budget(len(options.queries))

    def _check_budget(self, queries: int) -> None:
        estimate, budget = self._ranking.estimate_seconds(queries), self.options.budget
        if estimate > budget:
            message = (
                f"{queries} of {self.corpus.rows:,} vectors without NumPy take {estimate:.2g} s, and the budget is "
            )
            raise OverBudget(f"{message}{budget:g} s", estimate_seconds=estimate, budget_seconds=budget)

    def answers(self, queries: Sequence[Query]) -> Iterator[AddressResult]:
        """The answers to queries, which are compared with all rows together."""
        ranked = self._ranking.rank_many(
            [query.vector for query in queries], self.covered.live, centre=self.options.centre
        )
        for query, each in zip(queries, ranked, strict=True):
            yield self._answer(query, each)

    def _answer(self, query: Query, ranked: RankedRows) -> AddressResult:
        options = self.options
        question = query.question or options.question
        reader = Reader(self.scope, raw=self.corpus.identity.projection.partition("+")[0] == RAW, question=question)
        depth = max(_DEPTH, 5 * options.limit) if options.hybrid else options.limit

        def leading(number: int) -> list[Ranked]:
            return [Ranked(*self.corpus.place(row), score) for row, score in ranked.top(number)]

        texts = fold(reader, leading, depth, SEMANTIC)
        if options.hybrid and question:
            texts = fused(reader, texts, self.words(reader, question, depth))
        found = _Found(
            HYBRID if options.hybrid else SEMANTIC,
            texts,
            self.covered.rows,
            self.covered.coverage,
            self._ranking.name,
            options.centre,
        )
        return self.result(reader, found, self.corpus, query.id)


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
