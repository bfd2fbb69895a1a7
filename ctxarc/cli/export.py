"""``ctxarc export``: the texts of segments, for a model that makes vectors of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import click

from ctxarc.cli.arguments import InWords, SomePath, archive_argument
from ctxarc.cli.incomplete import note_incomplete
from ctxarc.cli.options import common_options
from ctxarc.cli.output import Output, to_json
from ctxarc.cli.redaction import Place, RedactingCommand, note_redactions, redact_option, redactor_of
from ctxarc.cli.terminal import plural
from ctxarc.errors import BadUsage
from ctxarc.model import ExportHeader, ExportRow, RedactedRow, as_json
from ctxarc.operations.export import METHODS, PROJECTIONS, ExportOptions, batch_request, export, export_redacted
from ctxarc.operations.ls import names
from ctxarc.operations.redact import Redactor
from ctxarc.operations.vectors_out import export_vectors

_BATCH_LIMIT = 50_000
"""Requests that OpenAI's batch endpoint takes in one file."""


@click.command("export", cls=RedactingCommand)
@archive_argument
@click.option("--scheme", metavar="SCHEME", help="Export segments of SCHEME; without it, of the only index there is.")
@click.option("--sample", type=int, metavar="N", help="Export N rows only.")
@click.option(
    "--method",
    type=click.Choice(METHODS),
    default=METHODS[0],
    help="Sample evenly (spread), or at random.",
)
@click.option("--seed", type=int, metavar="N", help="Seed of a random sample; 0 unless said.")
@click.option("--missing", is_flag=True, help="Export segments that have no vector only.")
@click.option("--vectors", metavar="FINGERPRINT", help="Of these vectors; without --missing: give them back.")
@click.option("-o", "--output", type=SomePath(), metavar="FILE", help="Write those vectors to FILE, as .npy.")
@click.option("--distinct", is_flag=True, help="Export each different text once.")
@click.option(
    "--projection",
    type=click.Choice(PROJECTIONS),
    help="Text of messages without escapes (json-text-v1, unless said), or bytes as they are.",
)
@click.option(
    "--format",
    "form",
    cls=InWords,
    type=click.Choice(["ndjson", "openai-batch"]),
    default="ndjson",
    help="A header and a row a segment (ndjson, unless said), or requests for OpenAI's batch endpoint.",
)
@click.option("--model", metavar="MODEL", help="The model that openai-batch asks for.")
@redact_option
@common_options
def command(
    out: Output,
    archive: Path,
    scheme: str | None,
    sample: int | None,
    method: str,
    seed: int | None,
    missing: bool,
    vectors: str | None,
    output: Path | None,
    distinct: bool,
    projection: str | None,
    form: str,
    model: str | None,
    redact: str | None,
) -> int:
    """Export the texts of segments, to be embedded.

    The first line says what the rows are of. A row has the segment's id, its place and its text. A turn that stands at
    many places is exported once. --vectors with -o gives attached vectors back, with the ids of FILE's rows.

    \b
      ctxarc export work.ctxa > views.ndjson
      ctxarc export work.ctxa --sample 500 --distinct
      ctxarc export work.ctxa --format openai-batch --model text-embedding-3-small
      ctxarc export work.ctxa --vectors 5f0c -o vectors.npy > ids.ndjson
    """  # noqa: D301 - click reads the control character as "keep these lines"
    if (form == "openai-batch") != (model is not None):
        raise BadUsage("--format openai-batch and --model MODEL go together")
    if seed is not None and (sample is None or method != "random"):
        raise BadUsage("--seed is for --sample N --method random")
    if (vectors is not None and not missing) != (output is not None):
        raise BadUsage("--vectors FINGERPRINT without --missing and -o FILE go together")
    if vectors is not None and output is not None:
        if sample is not None or distinct or projection or model or redact is not None:
            raise BadUsage("vectors are given back as they are, all of them; only --scheme goes with that")
        return _give_back(out, archive, scheme, vectors, output)
    options = ExportOptions(
        scheme=scheme,
        projection=projection or PROJECTIONS[0],
        sample=sample,
        method=method,
        seed=seed or 0,
        distinct=distinct,
        missing=missing,
        vectors=vectors,
    )
    if redact is not None:
        with redactor_of(redact) as redactor:
            _redacted(out, archive, options, redactor, model)
    else:
        lines = export(archive, options)
        header = cast("ExportHeader", next(lines))
        _write(out, header, as_json(header), cast("Iterator[ExportRow]", lines), model)
    note_incomplete(out, archive, [])
    return 0


def _write(
    out: Output,
    header: ExportHeader,
    fields: dict[str, object],
    rows: Iterator[ExportRow] | Iterator[RedactedRow],
    model: str | None,
) -> None:
    if model is not None:
        for row in rows:
            out.write((to_json(batch_request(row, model)) + "\n").encode())
        _note_batch(out, header)
    else:
        out.object(fields)
        for row in rows:
            fields = row._asdict() if isinstance(row, ExportRow) else as_json(row)
            out.write((to_json(fields) + "\n").encode())


def _redacted(out: Output, archive: Path, options: ExportOptions, redactor: Redactor, model: str | None) -> None:
    """Export the same with secrets replaced, and say which."""
    places: list[Place] = []
    lines = export_redacted(archive, options, redactor=redactor)
    header = cast("ExportHeader", next(lines))

    def rows() -> Iterator[RedactedRow]:
        for row in cast("Iterator[RedactedRow]", lines):
            if row.redactions:
                places.append(Place(row.transcript, row.turn, row.redactions))
            yield row

    _write(out, header, as_json(header) | {"redacted": redactor.digest}, rows(), model)
    note_redactions(out, places, several=len(names(archive)) > 1)


def _give_back(out: Output, archive: Path, scheme: str | None, vectors: str, output: Path) -> int:
    header, rows = export_vectors(archive, scheme, vectors, output)
    out.object(header)
    for row in rows:
        out.write((to_json(row) + "\n").encode())
    return 0


def _note_batch(out: Output, header: ExportHeader) -> None:
    """What no line of a batch can say."""
    out.note(f"{plural(header.segments, 'request')} of {header.scheme}, {header.projection}, export {header.export_id}")
    if header.segments > _BATCH_LIMIT:
        out.note(f"OpenAI takes {_BATCH_LIMIT:,} requests in a file: split this one with `split -l {_BATCH_LIMIT}`")
