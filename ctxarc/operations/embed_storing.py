"""Vectors on their way from a model into an archive: attached now and then, so that little is lost when a run ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ctxarc.auxiliary.vectors import origin as origins
from ctxarc.auxiliary.vectors.corpus import Corpus, corpora
from ctxarc.operations.attach import AttachOptions, store
from ctxarc.operations.embed_plan import HeldRows
from ctxarc.operations.indexes import choose
from ctxarc.operations.side_writer import SideWriter
from ctxarc.operations.vector_inputs.rows import Given, Spool, Stated
from ctxarc.operations.view import View
from ctxarc.preservation.fingerprint import record_fingerprint
from ctxarc.preservation.record import Record

if TYPE_CHECKING:
    from array import array
    from collections.abc import Callable
    from pathlib import Path

    from ctxarc.auxiliary.vectors.identity import Identity
    from ctxarc.auxiliary.vectors.origin import Origin

_BETWEEN_SECONDS = 60.0
"""How long vectors wait at least until they are attached."""
_SHARE = 10
"""They wait this many times as long as attaching took, so that it never takes much of a run."""


class Held(NamedTuple):
    """What an archive holds of an identity: ``coverage`` is a share of the segments in the index."""

    archive_digest: str
    segments_in_index: int
    coverage: float
    vectors_bytes: int


class Storing:
    """Takes vectors and attaches them.

    Args:
        archive: the archive.
        identity: what makes them.
        origin: how they are made, to be written beside them; ``None`` where that is written.
        options: how they are attached.
        clock: seconds.

    Attributes:
        attached: the segments that have a vector now and had none.
        proof: SHA-256 over the record's files before the first writing and behind the last.

    """

    def __init__(
        self,
        archive: Path,
        identity: Identity,
        origin: Origin | None,
        options: AttachOptions,
        clock: Callable[[], float],
    ) -> None:
        self.archive, self.identity = archive, identity
        self._origin, self._options, self._clock = origin, options, clock
        self._last, self._between = clock(), _BETWEEN_SECONDS
        self.attached = 0
        self.proof = "", ""
        self._spool = self._empty()
        self._given: Given | None = None

    def _empty(self) -> Spool:
        spool = Spool(f"vectors of {self.identity.model}", "row")
        spool.state_width(self.identity.dimensions, "the identity")
        return spool

    def _keep(self) -> None:
        """Write how the vectors are made, before any of them."""
        if self._origin is None:
            return
        with SideWriter(self.archive, self._options.lock_wait) as side:
            with side.writing():
                origins.write(self.archive, self.identity, self._origin)
            self._prove(side.proof)
        self._origin = None

    def _prove(self, proof: tuple[str, str]) -> None:
        self.proof = self.proof[0] or proof[0], proof[1]

    def add(self, name: str, vector: array[float]) -> None:
        """Take the vector of a segment.

        Raises:
            MalformedVectors: it is of another width than those before.

        """
        self._spool.add(name.encode(), len(self._spool.ids), vector)

    @property
    def waits(self) -> bool:
        """Whether something was taken and is not attached."""
        return self._given is not None or bool(self._spool.ids)

    def due(self) -> bool:
        """Whether it is time to attach."""
        return self._clock() - self._last >= self._between

    def store(self) -> None:
        """Attach what was taken. Where it is interrupted, the next call attaches the same."""
        if self._given is None and self._spool.ids:
            stated = Stated("the model", self.identity.as_json())
            self._given, self._spool = self._spool.given((stated,)), self._empty()
        if self._given is not None:
            begin = self._clock()
            self._keep()
            result = store(self.archive, self._given, self._options)
            self._given = None
            self.attached += result.attached
            self._prove((result.preservation_digest_before, result.preservation_digest_after))
            self._between = max(_BETWEEN_SECONDS, _SHARE * (self._clock() - begin))
        self._last = self._clock()

    def drop(self) -> None:
        """Forget what was taken and is not attached."""
        self._given, self._spool = None, self._empty()

    def result(self) -> Held:
        """What the archive holds now."""
        if not self.proof[0]:
            digest = record_fingerprint(self.archive)
            self.proof = digest, digest
        corpus = self.corpus()
        with Record(self.archive) as record:
            index = choose(record, self.identity.scheme)
            rows = HeldRows(record, corpus) if corpus else None
            held = total = 0
            for _, turn in View(record).distinct():
                ends = index.ends(turn.object, turn.digest, turn.length)
                total += len(ends)
                held += rows.count(turn.digest, ends) if rows else 0
            share = held / total if total else 1.0
            return Held(record.head.root.hex(), total, share, corpus.stored_bytes if corpus else 0)

    def corpus(self) -> Corpus | None:
        """The vectors that are held; ``None`` where there are none."""
        name = self.identity.scheme, self.identity.fingerprint
        return Corpus(self.archive, *name) if name in corpora(self.archive) else None
