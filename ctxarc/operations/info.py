"""``info``: what an archive holds, in both planes, and what it costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxarc.auxiliary.edges import index as edge_index
from ctxarc.auxiliary.edges.index import Edges
from ctxarc.auxiliary.segments.index import Index, built
from ctxarc.auxiliary.vectors.corpus import Corpus, corpora
from ctxarc.auxiliary.words import index as word_index
from ctxarc.auxiliary.words.index import Words
from ctxarc.errors import Damage
from ctxarc.model import ArchiveInfo, IndexInfo, RelationsInfo, TranscriptState, VectorsInfo, WordsInfo
from ctxarc.operations.corpora import covered, share
from ctxarc.operations.indexes import measure
from ctxarc.operations.progress import quiet
from ctxarc.operations.scope import Scope, Segments
from ctxarc.operations.sizes import RECORD, archive_files
from ctxarc.operations.view import View
from ctxarc.preservation.layout import FORMAT_VERSION
from ctxarc.preservation.record import Record

if TYPE_CHECKING:
    from pathlib import Path

    from ctxarc.operations.progress import Progress


def info(archive: Path, progress: Progress = quiet) -> ArchiveInfo:
    """What the archive holds; turns and bytes are those of the newest states.

    Args:
        archive: the archive.
        progress: told how many bytes of turns were counted, for each index anew.

    """
    with Record(archive) as record:
        view = View(record)
        entries = [record.last_entry(number) for number in range(len(record.head.transcripts))]
        partial = [record.state(number) for number, entry in enumerate(entries) if entry.partial]
        incomplete = tuple(
            TranscriptState(state.name.decode(), state.entry.source_sha256.hex(), state.complete, view.omitted(state))
            for state in sorted(partial, key=lambda state: state.name)
        )
        left_out = sum(gap.end_byte - gap.start_byte for state in incomplete for gap in state.omitted)
        held = sum(entry.source_bytes for entry in entries) - left_out
        planes = _planes(archive)
        total = sum(kind["bytes"] for plane in planes for kind in plane.values())
        head = record.head
        return ArchiveInfo(
            archive=str(archive),
            archive_digest=head.root.hex(),
            format_version=FORMAT_VERSION,
            transcripts=len(entries),
            captures=head.captures,
            turns=sum(entry.turns for entry in entries),
            objects=head.objects,
            packs=len(head.packs),
            bytes=held,
            object_bytes=head.object_bytes,
            archive_bytes=total,
            ratio=round(held / total, 3) if total else 0.0,
            complete=not incomplete,
            omitted=incomplete[0].omitted if len(incomplete) == len(entries) == 1 else (),
            incomplete=incomplete,
            record=planes[0],
            auxiliary=planes[1],
            indexes=tuple(_index(record, archive, scheme, progress) for scheme in built(archive)),
            words=tuple(_words(record, archive, scheme, progress) for scheme in word_index.built(archive)),
            vectors=tuple(_vectors(record, archive, names, progress) for names in corpora(archive)),
            relations=tuple(_relations(record, archive, name, progress) for name in edge_index.built(archive)),
        )


def _index(record: Record, archive: Path, scheme: str, progress: Progress) -> IndexInfo:
    try:
        index = Index(archive, scheme)
        measured = measure(record, index, progress=progress)
    except Damage as damage:
        return IndexInfo(scheme, 0, 0.0, 0.0, 0, 0, damage.as_json())
    return IndexInfo(
        scheme, measured.segments, measured.coverage, measured.median, len(index.parts), index.stored_bytes
    )


def _words(record: Record, archive: Path, scheme: str, progress: Progress) -> WordsInfo:
    try:
        words = Words(archive, scheme)
        return WordsInfo(scheme, _turns(record, words, progress), len(words.parts), words.stored_bytes)
    except Damage as damage:
        return WordsInfo(scheme, 0.0, 0, 0, damage.as_json())


def _relations(record: Record, archive: Path, name: str, progress: Progress) -> RelationsInfo:
    try:
        edges = Edges(archive, name)
        return RelationsInfo(name, _turns(record, edges, progress), len(edges.parts), edges.stored_bytes)
    except Damage as damage:
        return RelationsInfo(name, 0.0, 0, 0, damage.as_json())


def _turns(record: Record, index: Index, progress: Progress) -> float:
    """The share of the distinct turns that an index holds."""
    turns = [index.holds(turn.object) for _, turn in View(record).distinct(progress)]
    return share(sum(turns), len(turns))


def _vectors(record: Record, archive: Path, names: tuple[str, str], progress: Progress) -> VectorsInfo:
    scheme, fingerprint = names
    try:
        corpus = Corpus(archive, scheme, fingerprint)
        found = covered(corpus, Scope(Segments(record, Index(archive, scheme)), progress=progress))
    except Damage as damage:
        return VectorsInfo(scheme, fingerprint, {}, 0, 0.0, 0, 0, damage.as_json())
    identity = corpus.identity.as_json()
    files = len(corpus.parts)
    return VectorsInfo(scheme, fingerprint, identity, found.rows, found.coverage.segments, files, corpus.stored_bytes)


def _planes(archive: Path) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, int]]]:
    record: dict[str, dict[str, int]] = {}
    auxiliary: dict[str, dict[str, int]] = {}
    for path, size in archive_files(archive):
        kind = path.split("/", 1)[0]
        counts = (record if kind in RECORD else auxiliary).setdefault(kind, {"files": 0, "bytes": 0})
        counts["files"] += 1
        counts["bytes"] += size
    return record, auxiliary
