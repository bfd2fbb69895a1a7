"""``ctxarc attach``: the vectors of a user's own model, stored beside the record."""

from __future__ import annotations

import io
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import IO

import click

from ctxarc.cli.arguments import archive_argument, as_utf8, lock_wait_option
from ctxarc.cli.options import Command, common_options
from ctxarc.cli.output import Output, printable
from ctxarc.cli.progress import ProgressLine
from ctxarc.cli.terminal import plural, size
from ctxarc.errors import BadUsage
from ctxarc.model import AttachResult, as_json
from ctxarc.operations.attach import AttachOptions, attach
from ctxarc.operations.vector_inputs.files import open_vectors, read_export
from ctxarc.preservation.record import check_mark


@click.command("attach", cls=Command)
@archive_argument
@click.argument("vectors", required=False, metavar="[VECTORS]")
@click.option("--export", "export", metavar="FILE", help="The export that VECTORS answer, row by row.")
@click.option("--model", type=as_utf8, metavar="MODEL", help="The model that made them, if VECTORS do not say.")
@click.option("--revision", type=as_utf8, metavar="REVISION", help="The digest of its weights, or `unstated`.")
@click.option("--projection", type=as_utf8, metavar="NAME", help="How segments became text; json-text-v1 unless said.")
@click.option("--scheme", metavar="SCHEME", help="They are of segments of SCHEME; without it, of the only index.")
@click.option("--distinct", is_flag=True, help="Give each to all segments of the same text.")
@lock_wait_option
@common_options
def command(
    out: Output,
    archive: Path,
    vectors: str | None,
    export: str | None,
    model: str | None,
    revision: str | None,
    projection: str | None,
    scheme: str | None,
    distinct: bool,
    lock_wait: float,
) -> int:
    """Store the vectors that your own model made.

    VECTORS is a file, or stdin. It has a JSON object a line, with the id of a segment and its vector, as numbers or as
    base64 of float32; a first line, or the options, say what made them. OpenAI's batch output is read too, and a NumPy
    .npy file beside the export that it answers. A segment that has a vector of the same identity keeps it.

    \b
      ctxarc export work.ctxa > views.ndjson
      ctxarc attach work.ctxa vectors.ndjson
      ctxarc attach work.ctxa v.npy --export views.ndjson --model m --revision r
    """  # noqa: D301 - click reads the control character as "keep these lines"
    check_mark(archive)
    options = AttachOptions(
        model=_said("--model", model),
        revision=_said("--revision", revision),
        projection=_said("--projection", projection),
        scheme=scheme,
        distinct=distinct,
        lock_wait=lock_wait,
    )
    answered = None if export is None else read_export(Path(export))
    label = "standard input" if vectors in {None, "-"} else vectors or ""
    source = nullcontext(_stdin()) if vectors in {None, "-"} else open_vectors(Path(label))
    with source as stream, ProgressLine(out) as progress:
        result = attach(archive, stream, label, answered=answered, options=options, progress=progress)
    _print(out, result)
    return 0


def _said(option: str, value: str | None) -> str | None:
    if value is not None and not value.strip():
        raise BadUsage(f"{option} says nothing", hint="leave it out where the file says it")
    return value


def _stdin() -> io.BufferedReader:
    stream: IO[bytes] = sys.stdin.buffer
    if stream.isatty():
        raise BadUsage("no file of vectors is given, and stdin is a terminal", hint="ctxarc attach ARCHIVE VECTORS")
    return stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(stream)  # type: ignore[arg-type]


def _print(out: Output, result: AttachResult) -> None:
    if out.json:
        out.object(as_json(result))
        return
    if out.quiet:
        return
    identity = result.identity
    again = f"; {result.already_attached:,} had one, which stays" if result.already_attached else ""
    out.line(f"attached  a vector to {plural(result.attached, 'segment')}{again}")
    share = f"{int(result.coverage * 1000) / 10:g} %"
    out.line(f"covers    {share} of {plural(result.segments_in_index, 'segment')} of {printable(result.scheme)}")
    words = f"{printable(str(identity['model']))}, revision {printable(str(identity['revision']))}"
    out.line(f"identity  {result.identity_fingerprint}")
    out.line(f"          {words}, {identity['dimensions']} dimensions, {printable(str(identity['projection']))}")
    out.line(f"vectors   {size(result.vectors_bytes)}")
    out.line(f"record    unchanged, {result.preservation_digest_after}")
