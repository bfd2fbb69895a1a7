"""ctxarc as a library: an archive as an object, with the operations of the command line as methods."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ctxarc.operations import (
    additions,
    address,
    attach,
    cat,
    cite,
    compare,
    drop_index,
    embed,
    export,
    extract,
    find,
    info,
    log,
    ls,
    relate,
    relations,
    repack,
    scan,
    segment,
    show,
    verify,
)
from ctxarc.operations import budget as budget_
from ctxarc.operations.address import AddressOptions
from ctxarc.operations.attach import AttachOptions
from ctxarc.operations.capture import CaptureOptions, capture
from ctxarc.operations.cite import CiteOptions
from ctxarc.operations.embed import EmbedOptions
from ctxarc.operations.export import ExportOptions
from ctxarc.operations.find import FindOptions
from ctxarc.operations.repack import REPACK_LEVEL
from ctxarc.operations.scan import ScanOptions
from ctxarc.operations.sources import discover
from ctxarc.operations.vector_inputs.files import open_vectors, read_export
from ctxarc.preservation.record import check_mark, is_vacant

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from ctxarc import model
    from ctxarc.operations.query_vectors import Query
    from ctxarc.operations.redact import Redactor


def open_archive(path: str | os.PathLike[str], *, create: bool = False) -> Archive:
    """The archive at ``path``.

    Args:
        path: the archive's directory.
        create: whether the archive need not be there yet; the first :meth:`Archive.capture` makes it.

    Raises:
        ctxarc.errors.NoSuchArchive: nothing is there.
        ctxarc.errors.NotAnArchive: something else is there.

    """
    where = Path(path)
    if not (create and is_vacant(where)):
        check_mark(where)
    return Archive(where)


class Archive:
    """An archive. Each method opens it anew, so that it sees what other processes have captured meanwhile.

    Every method raises :class:`ctxarc.errors.Refusal`, one subclass a code, where the command line refuses. Iterators
    hold the archive's files open until they are exhausted or closed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def capture(
        self, *sources: str | os.PathLike[str], name: str | None = None, options: CaptureOptions | None = None
    ) -> model.CaptureResult:
        """Store files, and the transcripts in directories; ``name`` is for exactly one file."""
        return capture(self.path, discover([os.fspath(source) for source in sources], name=name), options)

    def ls(self, *, at: int | None = None) -> Iterator[model.TranscriptRow]:
        """The transcripts, in byte order of their names."""
        return ls.ls(self.path, at=at)

    def captures(self) -> Iterator[model.CaptureRow]:
        """The captures, in order."""
        return ls.captures(self.path)

    def log(
        self, name: str | None = None, *, at: int | None = None, role: str | None = None, last: int | None = None
    ) -> Iterator[model.TurnRow]:
        """The turns of one transcript, or of all."""
        return log.log(self.path, name, at=at, role=role, last=last)

    def show(self, *addresses: str, at: int | None = None) -> Iterator[model.TurnText]:
        """Turns as a person reads them."""
        return show.show(self.path, addresses, at=at)

    def cat(self, *addresses: str, span: str | None = None, at: int | None = None) -> Iterator[memoryview]:
        """The very bytes at ``addresses``, proved, in pieces."""
        return cat.cat(self.path, addresses, span=span, at=at)

    def read(self, *addresses: str, span: str | None = None, at: int | None = None) -> bytes:
        """The very bytes at ``addresses``, proved, in one piece."""
        return b"".join(self.cat(*addresses, span=span, at=at))

    def stretches(self, *addresses: str, span: str | None = None, at: int | None = None) -> Iterator[model.Stretch]:
        """The bytes at ``addresses`` with their digests and citations, as data."""
        return cat.cat_rows(self.path, addresses, span=span, at=at)

    def redacted(
        self, *addresses: str, redactor: Redactor, span: str | None = None, at: int | None = None
    ) -> Iterator[tuple[model.RedactedStretch, bytes]]:
        """The same with secrets replaced, and beside each row the bytes that are shown of it."""
        return cat.cat_redacted(self.path, addresses, redactor=redactor, span=span, at=at)

    def scan(self, options: ScanOptions | None = None) -> Iterator[model.SecretPlace]:
        """Where secrets are likely to stand, without the secrets."""
        return scan.scan(self.path, options)

    def find(self, *patterns: str, options: FindOptions | None = None) -> Iterator[model.Hit]:
        """Where any of ``patterns`` stands; with ``options``, whose patterns are looked for too, more can be said."""
        given = options or FindOptions(patterns=())
        fields = {name: getattr(given, name) for name in FindOptions.__slots__}
        return find.find(self.path, FindOptions(**fields | {"patterns": (*given.patterns, *patterns)}))

    def cite(self, quote: str | bytes, *, options: CiteOptions | None = None) -> model.CiteResult:
        """Where a quotation stands, or the nearest place and where it differs."""
        return cite.cite(self.path, quote, options)

    def segment(
        self, *schemes: str, words: bool = True, rebuild: bool = False, lock_wait: float = 10.0
    ) -> tuple[model.SegmentResult, ...]:
        """Build or extend indexes of segments, and of their words; without a scheme, those that there are."""
        return segment.segment(self.path, schemes, words=words, rebuild=rebuild, lock_wait=lock_wait)

    def schemes(self) -> tuple[model.SchemeRow, ...]:
        """The schemes that can be built, and what the archive has of each."""
        return segment.schemes(self.path)

    def segments(
        self, scheme: str, name: str | None = None, *, at: int | None = None, last: int | None = None
    ) -> Iterator[model.SegmentRow]:
        """The segments of the turns of one transcript, or of all."""
        return log.log_segments(self.path, name, scheme=scheme, at=at, last=last)

    def export(self, options: ExportOptions | None = None) -> Iterator[model.ExportHeader | model.ExportRow]:
        """A header, and then the segments with the texts that a model should see."""
        return export.export(self.path, options)

    def attach(
        self,
        vectors: str | os.PathLike[str],
        *,
        export: str | os.PathLike[str] | None = None,
        options: AttachOptions | None = None,
    ) -> model.AttachResult:
        """Store the vectors in a file, beside the ``export`` that they answer where they do not name their segments."""
        answered = None if export is None else read_export(Path(export))
        with open_vectors(Path(vectors)) as stream:
            return attach.attach(self.path, stream, os.fspath(vectors), answered=answered, options=options)

    def address(self, question: str, *, options: AddressOptions | None = None) -> model.AddressResult:
        """The places that answer a question by its words; ``options`` may say more."""
        asked = replace(options or AddressOptions(), question=question)
        return next(address.address(self.path, asked))

    def answers(self, *queries: Query, options: AddressOptions | None = None) -> Iterator[model.AddressResult]:
        """The places that answer each of several questions as vectors."""
        return address.address(self.path, replace(options or AddressOptions(), queries=queries))

    def embed(self, options: EmbedOptions) -> model.EmbedResult:
        """Have the user's own model embed every segment that has no vector yet."""
        return embed.embed(self.path, options)

    def relate(self, *, rebuild: bool = False, lock_wait: float = 10.0) -> model.RelateResult:
        """Derive the edges between turns that the records state."""
        return relate.relate(self.path, rebuild=rebuild, lock_wait=lock_wait)

    def relations(
        self, address: str | None = None, *, kinds: Sequence[str] = (), at: int | None = None
    ) -> model.RelationsResult:
        """The edges of a turn, of a range of it, or of a whole transcript."""
        return relations.relations(self.path, address, kinds=kinds, at=at)

    def compare(self, other: str | os.PathLike[str]) -> model.CompareResult:
        """This archive and another one, transcript by transcript."""
        return compare.compare(self.path, Path(other))

    def additions(
        self, capture: int | None = None, *, since: int | None = None, limit: int = additions.LIMIT
    ) -> model.AdditionsResult:
        """What a capture added, the last one or another, or all those behind the capture ``since``."""
        return additions.additions(self.path, capture, since=since, limit=limit)

    def within_budget(
        self,
        transcript: str | None = None,
        *,
        budget: int,
        roles: Collection[str] | None = None,
        around: str | None = None,
        at: int | None = None,
    ) -> model.BudgetView:
        """A view of a transcript in ``budget`` bytes of JSON, with the addresses of all that it leaves out."""
        return budget_.within_budget(self.path, transcript, budget=budget, roles=roles, around=around, at=at)

    def drop_index(  # noqa: PLR0913 - what is dropped, and how
        self,
        *,
        scheme: str | None = None,
        words: bool = False,
        fingerprint: str | None = None,
        edges: bool = False,
        dependents: bool = False,
        lock_wait: float = 10.0,
    ) -> model.DropResult:
        """Remove an index of a scheme, its words, the vectors of an identity, or edges."""
        return drop_index.drop_index(
            self.path,
            scheme=scheme,
            words=words,
            fingerprint=fingerprint,
            edges=edges,
            dependents=dependents,
            lock_wait=lock_wait,
        )

    def extract(
        self, directory: str | os.PathLike[str], names: Sequence[str] = (), *, at: int | None = None
    ) -> model.ExtractResult:
        """Write transcripts to files below ``directory``, never over one."""
        return extract.extract(self.path, names, Path(directory), at=at)

    def info(self) -> model.ArchiveInfo:
        """What the archive holds and costs."""
        return info.info(self.path)

    def verify(
        self,
        *,
        quick: bool = False,
        expect: str | None = None,
        extends: str | None = None,
        against: Sequence[str | os.PathLike[str]] = (),
    ) -> model.VerifyResult:
        """Check the archive; ``ok`` says whether nothing was found."""
        return verify.verify(
            self.path, quick=quick, expect=expect, extends=extends, against=[Path(source) for source in against]
        )

    def repack(self, *, level: int = REPACK_LEVEL, lock_wait: float = 10.0) -> model.RepackResult:
        """Put all turns into as few packs as hold them."""
        return repack.repack(self.path, level=level, lock_wait=lock_wait)
