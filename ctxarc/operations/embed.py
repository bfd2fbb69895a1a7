"""``embed``: export, the user's own model, and attach, in one go.

What has a vector under the same identity is not sent again, so that a run that was ended goes on where it was. Vectors
are attached as they come. Which weights made them is proved as far as the model lets it: by a digest that it tells, or
by canaries, texts of ctxarc's own that are embedded each time.
"""

from __future__ import annotations

from contextlib import closing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctxarc.auxiliary.projection import PROJECTION
from ctxarc.auxiliary.vectors import origin as origins
from ctxarc.auxiliary.vectors.corpus import Corpus, corpora
from ctxarc.auxiliary.vectors.identity import Identity
from ctxarc.auxiliary.vectors.origin import CANARIES, OPENAI, PROGRAM, Origin, check_canaries
from ctxarc.auxiliary.vectors.projections import Projection
from ctxarc.errors import BadUsage, Incomparable, MalformedVectors, Refusal, ServerRefused, ServerUnreachable
from ctxarc.model import EmbedEstimate, EmbedResult, as_json
from ctxarc.operations.attach import AttachOptions
from ctxarc.operations.embed_asking import ask, check_whole, identity_of
from ctxarc.operations.embed_plan import Plan, Source, plan
from ctxarc.operations.embed_storing import Storing
from ctxarc.operations.export import ExportOptions
from ctxarc.operations.indexes import check_fit, choose
from ctxarc.operations.models.known import prefixes_of
from ctxarc.operations.models.model import NO_VECTOR, TOO_LONG, Answers, Model, Text
from ctxarc.operations.models.opening import ModelOptions, api_of, open_model
from ctxarc.operations.progress import Progress, quiet
from ctxarc.preservation.record import Record

if TYPE_CHECKING:
    from array import array
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

SCHEMA = 1
_PART = 8
"""How many times the texts that show the speed there have to be: they are embedded twice."""

_PASSES = 2
"""How often the texts are gone over while they are embedded and attached, as they are to plan it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedOptions:
    """What is embedded, and by what.

    Attributes:
        model: which model, and how it is reached.
        scheme: the scheme whose segments; the only index there is where it is ``None``.
        projection: how bytes become text.
        sample: number of segments at most, evenly spread; all where it is ``None``.
        distinct: whether each different text is sent once, and its vector given to all segments that have it.
        cut: characters that a text is cut at; none is cut where it is ``None``.
        document_prefix, query_prefix: what stands before texts and questions; what the model is known to want where it
            is ``None``.
        lock_wait: seconds to wait for another writer of either plane.

    """

    model: ModelOptions
    scheme: str | None = None
    projection: str = PROJECTION
    sample: int | None = None
    distinct: bool = True
    cut: int | None = None
    document_prefix: str | None = None
    query_prefix: str | None = None
    lock_wait: float = 10.0


def estimate(archive: Path, options: EmbedOptions, *, progress: Progress = quiet) -> EmbedEstimate:
    """What :func:`embed` would do; the model is asked for some vectors, and nothing is stored.

    Raises:
        Refusal: as :func:`embed`.

    """
    return _Job(archive, options, progress).estimate()


def embed(
    archive: Path,
    options: EmbedOptions,
    *,
    progress: Progress = quiet,
    tell: Callable[[EmbedEstimate], None] | None = None,
) -> EmbedResult:
    """Embed every segment that has no vector yet.

    Args:
        archive: the archive.
        options: what is embedded, and by what.
        progress: told how many bytes of texts have their vectors.
        tell: told what is going to be done, before it is.

    Raises:
        ServerUnreachable, ServerRefused, ProgramFailed: the model fails; what came before is attached.
        Incomparable: it is another one than made the vectors that are there.
        MalformedVectors: what it gives are no vectors.
        NoSuchScheme, Ambiguous, BadUsage: what is to be embedded.

    """
    job = _Job(archive, options, progress)
    estimated = job.estimate(measured=tell is not None)
    if tell:
        tell(estimated)
    return job.run()


class _Job:
    def __init__(self, archive: Path, options: EmbedOptions, progress: Progress) -> None:
        self.archive, self.options, self.progress = archive, options, progress
        self.api = api_of(options.model)
        self.projection = _projection(options)
        with Record(archive) as record:
            index = choose(record, options.scheme)
            check_fit(record, index)
            self.scheme = index.scheme
        chosen = ExportOptions(
            scheme=self.scheme,
            projection=options.projection,
            sample=options.sample,
            distinct=options.distinct and options.sample is not None,
        )
        self.source = Source(archive, chosen, self.projection)
        header = self._line(as_json(self.source.header()))
        self.model: Model = open_model(options.model, header)
        self.identity, canaries, self.probe_seconds = self._ask()
        self.origin = Origin(
            api=self.api,
            server=self.model.address if self.api != PROGRAM else "",
            model=options.model.model or self.identity.model,
            document_prefix=self.projection.document_prefix,
            query_prefix=self.projection.query_prefix,
            canaries=tuple(canaries) if self._told.revision is None else (),
        )
        self._check_origin(canaries)
        begin = options.model.waits.clock()
        self.plan: Plan = self._plan()
        self.plan_seconds = _PASSES * (options.model.waits.clock() - begin)

    def _line(self, header: dict[str, object]) -> dict[str, object]:
        """The first line of an export, with what is done to its texts."""
        return {"schema": SCHEMA, "ok": True, **header, "projection": self.projection.name}

    def _ask(self) -> tuple[Identity, list[array[float]], float]:
        """Who the model is, the vectors of the canaries, and how long it took."""
        clock = self.options.model.waits.clock
        begin = clock()
        self._told, canaries = ask(self.model, CANARIES)
        seconds = clock() - begin
        identity = identity_of(self._told, self.options.model, len(canaries[0]), self.projection.name, self.scheme)
        return identity, canaries, seconds

    def _check_origin(self, canaries: Sequence[array[float]]) -> None:
        """Refuse a model that is not the one that made the vectors that are there."""
        there = origins.read(self.archive, self.scheme, self.identity.fingerprint)
        if there is None:
            self.is_new = True
            return
        self.is_new = False
        check_canaries(there, canaries, self.identity.model)

    def _corpus(self) -> Corpus | None:
        name = self.scheme, self.identity.fingerprint
        return Corpus(self.archive, *name) if name in corpora(self.archive) else None

    def _plan(self) -> Plan:
        with Record(self.archive) as record:
            return plan(self.source, record, self._corpus(), distinct=self.options.distinct, progress=self.progress)

    def estimate(self, *, measured: bool = True) -> EmbedEstimate:
        """What is going to be done."""
        header = self.plan.header
        if self.api == OPENAI:  # Ollama is told not to cut
            check_whole(self.model, self.plan.longest)
        return EmbedEstimate(
            archive=str(self.archive),
            archive_digest=header.archive_digest,
            scheme=self.scheme,
            segments_in_index=header.segments_in_index,
            with_vector=self.plan.held,
            texts=len(self.plan.wanted),
            known_texts=len(self.plan.copies),
            characters=self.plan.characters,
            calls=self.model.calls_for(len(self.plan.wanted)),
            estimated_seconds=round(self._seconds(measured=measured), 3),
            identity=self.identity.as_json(),
            identity_fingerprint=self.identity.fingerprint,
            api=self.api,
            server=self.origin.server or None,
            document_prefix=self.projection.document_prefix,
            query_prefix=self.projection.query_prefix,
            canaries=bool(self.origin.canaries),
        )

    def _seconds(self, *, measured: bool) -> float:
        """About how long the texts will take, by an eighth of them at most; by the canaries where there are few."""
        wanted = len(self.plan.wanted)
        number = min(self.model.sample, wanted // _PART, len(self.plan.sample)) if measured else 0
        if not number:
            return self.plan_seconds + self.probe_seconds * self.model.calls_for(wanted)
        stride = len(self.plan.sample) // number
        texts = self.plan.sample[:: stride or 1][:number]
        clock = self.options.model.waits.clock
        begin = clock()
        for _ in self.model.answers([Text(f"sample:{at}", text) for at, text in enumerate(texts)]):
            pass
        seconds = clock() - begin
        start = self.model.start_seconds if self.model.start_seconds < seconds / 2 else 0.0
        rate = (seconds - start) / max(sum(map(len, texts)), 1)
        return self.plan_seconds + start + rate * self.plan.characters

    def run(self) -> EmbedResult:
        """Do it."""
        clock = self.options.model.waits.clock
        if self.api == PROGRAM:
            self.model = open_model(self.options.model, self._line(as_json(self.plan.header)))
        begin, calls = clock(), self.model.calls
        counts = {TOO_LONG: 0, NO_VECTOR: 0}
        origin = self.origin if self.is_new else None
        storing = Storing(self.archive, self.identity, origin, self._attach_options(), clock)
        try:
            self._take(storing, counts)
        except BaseException as error:
            self._rescue(storing, error)
            raise
        return self._result(storing, counts, self.model.calls - calls, clock() - begin)

    def _take(self, storing: Storing, counts: dict[str, int]) -> None:
        """Attach what comes, now and then and at the end, each time only if the model is still the same."""
        self._copy(storing)
        with closing(self._answers()) as answers:
            for answer in answers:
                if answer.vector is None:
                    counts[answer.why] += 1
                    continue
                storing.add(answer.id, answer.vector)
                if storing.due():
                    self._check_model()
                    storing.store()
        self._check_model()
        storing.store()

    def _rescue(self, storing: Storing, error: BaseException) -> None:
        """Attach what came before a run ended; nothing where it came of who knows which model."""
        if isinstance(error, (Incomparable, MalformedVectors)):
            storing.drop()
        elif storing.waits and not isinstance(error, Refusal):  # a user's interrupt: the model can still be asked
            self.model.hurry()
            with suppress(ServerUnreachable, ServerRefused):
                self._check_model()
        storing.store()
        if isinstance(error, Refusal) and storing.attached:
            kept = f"{storing.attached:,} segments have their vectors now, and the same command goes on from there"
            error.hint = f"{error.hint}; {kept}" if error.hint else kept

    def _attach_options(self) -> AttachOptions:
        return AttachOptions(distinct=self.options.distinct, lock_wait=self.options.lock_wait)

    def _copy(self, storing: Storing) -> None:
        """Give the vector of a text to the segments that have the same text."""
        corpus = self._corpus() if self.plan.copies else None
        if corpus is None:
            return
        for at, (row, _) in enumerate(self.source.rows()):
            if at in self.plan.copies:
                storing.add(row.id, corpus.vector(self.plan.copies[at]))

    def _answers(self) -> Answers:
        """What comes of the texts; tells how far it is."""
        if not self.plan.wanted:
            return
        sizes: dict[str, int] = {}
        done = 0

        def texts() -> Iterator[Text]:
            for text in self.source.texts(self.plan.wanted):
                sizes[text.id] = len(text.text.encode())
                yield text

        with closing(self.model.answers(texts())) as answers:
            for answer in answers:
                done += sizes.pop(answer.id)
                self.progress("embedding", done, self.plan.bytes)
                yield answer

    def _check_model(self) -> None:
        """Refuse a model that became another one meanwhile."""
        if not self.plan.wanted:
            return
        calls = self.model.calls
        if self.origin.canaries and self.api != PROGRAM:
            told, canaries = ask(self.model, CANARIES)
            check_canaries(self.origin, canaries, self.identity.model)
        else:
            told = self.model.told()
        self.model.calls = calls
        width = self.identity.dimensions
        self.identity.check(identity_of(told, self.options.model, width, self.projection.name, self.scheme))

    def _result(self, storing: Storing, counts: dict[str, int], calls: int, seconds: float) -> EmbedResult:
        last = storing.result()
        return EmbedResult(
            archive=str(self.archive),
            archive_digest=last.archive_digest,
            scheme=self.scheme,
            texts=len(self.plan.wanted),
            attached=storing.attached,
            too_long=counts[TOO_LONG],
            skipped=counts[NO_VECTOR],
            calls=calls,
            seconds=round(seconds, 3),
            segments_in_index=last.segments_in_index,
            coverage=last.coverage,
            identity=self.identity.as_json(),
            identity_fingerprint=self.identity.fingerprint,
            vectors_bytes=last.vectors_bytes,
            api=self.api,
            server=self.origin.server or None,
            document_prefix=self.projection.document_prefix,
            query_prefix=self.projection.query_prefix,
            preservation_digest_before=storing.proof[0],
            preservation_digest_after=storing.proof[1],
            preservation_unchanged=storing.proof[0] == storing.proof[1],
        )


def _projection(options: EmbedOptions) -> Projection:
    if options.cut is not None and options.cut < 1:
        raise BadUsage(f"a text cut at {options.cut} characters is none", cut=options.cut)
    known = prefixes_of(options.model.model or "")
    document = known.document if options.document_prefix is None else options.document_prefix
    query = known.query if options.query_prefix is None else options.query_prefix
    return Projection(options.projection, document, query, options.cut)
