"""``export --vectors``: vectors that were attached, back out as ``.npy``, with the ids of their rows."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from ctxarc.auxiliary.vectors.corpus import check, foreign
from ctxarc.errors import IndexMismatch, WouldOverwrite
from ctxarc.operations.corpora import pick
from ctxarc.operations.segment_ids import segment_id
from ctxarc.operations.vector_inputs.npy import npy_header
from ctxarc.preservation.files import named_faults
from ctxarc.preservation.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ctxarc.auxiliary.vectors.corpus import Corpus

KIND = "ctxarc-vectors"


def export_vectors(
    archive: Path, scheme: str | None, fingerprint: str, output: Path
) -> tuple[dict[str, object], Iterator[dict[str, object]]]:
    """Write vectors to the file ``output``, and give the line that states their identity, and a row an id.

    ``attach`` takes the file, and these lines as the export that it answers. All vectors are given, those of turns that
    a longer line or a new history replaced too, in the order in which they are held.

    Raises:
        NoSuchVectors, Ambiguous: which vectors.
        WouldOverwrite: there is something at ``output``.
        Damage: the vectors are damaged, or not of this record.

    """
    with Record(archive) as record:
        corpus = pick(archive, scheme, fingerprint)
        _check(record, corpus)
        root = record.head.root.hex()
    with named_faults(output):
        _write(corpus, output)
    identity = corpus.identity
    header = {
        "kind": KIND,
        "archive": str(archive),
        "archive_digest": root,
        **identity.as_json(),
        "identity_fingerprint": identity.fingerprint,
        "segments": corpus.rows,
        "output": str(output),
    }
    return header, _rows(corpus)


def _check(record: Record, corpus: Corpus) -> None:
    for path, message in check(record.path, corpus.identity.scheme, corpus.identity.fingerprint, quick=False):
        raise IndexMismatch(message, path=path)
    for each in corpus.objects():
        if each.object >= record.head.objects or record.objects.row(each.object).sha256 != each.digest:
            raise foreign(each)


def _write(corpus: Corpus, output: Path) -> None:
    try:
        stream = output.open("xb")
    except FileExistsError as error:
        hint = "move it away, or give another -o FILE"
        raise WouldOverwrite(f"{output}: there is something already", hint=hint, path=str(output)) from error
    try:
        with stream:
            stream.write(npy_header(corpus.rows, corpus.identity.dimensions))
            for part in corpus.parts:
                stream.write(part.data)
    except BaseException:
        with suppress(OSError):
            output.unlink()
        raise


def _rows(corpus: Corpus) -> Iterator[dict[str, object]]:
    for each in corpus.objects():
        digest = each.digest.hex()
        for start, end in zip(each.starts, each.ends, strict=True):
            yield {"id": segment_id(digest, start, end), "start_byte": start, "end_byte": end, "turn_sha256": digest}
