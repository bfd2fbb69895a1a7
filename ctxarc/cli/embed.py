"""``ctxarc embed``: export, the user's own model, and attach, in one go."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ctxarc.cli.arguments import InWords, archive_argument, as_utf8, lock_wait_option
from ctxarc.cli.models import reach_options, reached
from ctxarc.cli.options import Command, common_options
from ctxarc.cli.output import Output, printable
from ctxarc.cli.progress import ProgressLine
from ctxarc.cli.terminal import plural, size
from ctxarc.model import EmbedEstimate, EmbedResult, as_json
from ctxarc.operations.embed import EmbedOptions, embed, estimate
from ctxarc.operations.embed_question import embedded_queries
from ctxarc.operations.export import PROJECTIONS
from ctxarc.operations.query_vectors import Query
from ctxarc.preservation.record import check_mark

_MINUTE = 60


@click.command("embed", cls=Command)
@archive_argument
@reach_options
@click.option("--model", type=as_utf8, metavar="MODEL", help="What the server calls the model.")
@click.option("--scheme", metavar="SCHEME", help="Embed its segments; else the only index's.")
@click.option(
    "--projection",
    type=click.Choice(PROJECTIONS),
    default=PROJECTIONS[0],
    metavar="NAME",
    help="Make text as `ctxarc export` does by NAME.",
)
@click.option("--missing", is_flag=True, help="Embed what has no vector yet, as always.")
@click.option("--distinct/--no-distinct", default=True, help="Send equal texts once; done unless said.")
@click.option(
    "--sample",
    cls=InWords,
    type=click.IntRange(min=1),
    metavar="N",
    help="Embed N texts, spread over the record.",
)
@click.option(
    "--cut-views",
    cls=InWords,
    type=click.IntRange(min=1),
    metavar="N",
    help="Cut texts at N characters.",
)
@click.option("--document-prefix", type=as_utf8, metavar="TEXT", help="Put TEXT before each text.")
@click.option("--query-prefix", type=as_utf8, metavar="TEXT", help="Put TEXT before each question, later.")
@click.option("--revision", type=as_utf8, metavar="REVISION", help="The digest of weights that no server tells.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and how long it takes.")
@click.option(
    "--batch", cls=InWords, type=click.IntRange(min=1, max=4096), default=32, metavar="N", help="Texts of a call; 32."
)
@lock_wait_option
@common_options
def command(
    out: Output,
    /,
    archive: Path,
    model: str | None,
    scheme: str | None,
    projection: str,
    missing: bool,
    distinct: bool,
    sample: int | None,
    cut_views: int | None,
    document_prefix: str | None,
    query_prefix: str | None,
    revision: str | None,
    dry_run: bool,
    batch: int,
    lock_wait: float,
    **reach: Any,  # noqa: ANN401 - what reach_options adds
) -> int:
    """Have your own model embed what has no vector yet.

    The model is behind a server (Ollama, or any that has /v1/embeddings), or is a PROGRAM that reads the lines of
    `ctxarc export` and writes those of `ctxarc attach`. Run it again, and it goes on. What is too long is left out.

    \b
      ctxarc embed work.ctxa --server http://localhost:11434 --model bge-m3
      ctxarc embed work.ctxa --exec 'python -m ctxarc.local'
    """  # noqa: D301 - click reads the control character as "keep these lines"
    del missing  # it is what happens anyway
    check_mark(archive)
    options = EmbedOptions(
        model=replace(reached(**reach), model=model, revision=revision, batch=batch),
        scheme=scheme,
        projection=projection,
        sample=sample,
        distinct=distinct,
        cut=cut_views,
        document_prefix=document_prefix,
        query_prefix=query_prefix,
        lock_wait=lock_wait,
    )
    with ProgressLine(out) as progress:
        if dry_run:
            found = estimate(archive, options, progress=progress)
        else:
            result = _embed(out, archive, options, progress)
    if dry_run:
        if out.json:
            out.object(as_json(found) | {"dry_run": True})
        elif not out.quiet:
            _tell(out, found)
        return 0
    return _print(out, result)


def _embed(out: Output, archive: Path, options: EmbedOptions, progress: ProgressLine) -> EmbedResult:
    try:
        return embed(archive, options, progress=progress, tell=lambda found: _tell(out, found))
    except KeyboardInterrupt:
        out.note("interrupted; what was embedded is stored, and the same command goes on from there")
        raise


def _tell(out: Output, found: EmbedEstimate) -> None:
    """What is going to be done, before it is."""
    identity = found.identity
    where = f"{found.api} at {found.server}" if found.server else "a program"
    out.note(f"{printable(str(identity['model']))}, {identity['dimensions']} dimensions, by {printable(where)}")
    out.note(f"  revision {printable(str(identity['revision']))}" + (", watched by canaries" if found.canaries else ""))
    for what, prefix in (("each text", found.document_prefix), ("a question", found.query_prefix)):
        if prefix:
            out.note(f"  {json.dumps(prefix, ensure_ascii=False)} stands before {what}")
    if not found.texts:
        out.note("  nothing to send: every segment of the scheme has its vector, or one of the same text")
        return
    chars, calls = f"{found.characters:,} characters", plural(found.calls, "call")
    out.note(
        f"  {plural(found.texts, 'text')} of {found.scheme}, {chars}, {calls}, about {_time(found.estimated_seconds)}"
    )


def _time(seconds: float) -> str:
    if seconds < _MINUTE:
        return f"{max(seconds, 0.1):.1f} s" if seconds < _MINUTE / 6 else f"{seconds:.0f} s"
    minutes = round(seconds / _MINUTE)
    return f"{minutes} min" if minutes < _MINUTE else f"{minutes // _MINUTE} h {minutes % _MINUTE} min"


def _print(out: Output, result: EmbedResult) -> int:
    if out.json:
        out.object(as_json(result))
        return 0
    if out.quiet:
        return 0
    share = f"{int(result.coverage * 1000) / 10:g} %"
    out.line(f"embedded {plural(result.texts - result.too_long - result.skipped, 'text')} in {_time(result.seconds)}")
    if result.too_long:
        out.line(f"too long {plural(result.too_long, 'text')}, left out; --cut-views N cuts them")
    if result.skipped:
        out.line(f"skipped  {plural(result.skipped, 'text')}: the model gave no vector that can be compared")
    attached = f"{plural(result.attached, 'segment')} of {printable(result.scheme)}"
    out.line(f"attached {attached}, {share} have a vector now, {size(result.vectors_bytes)}")
    out.line(f"identity {result.identity_fingerprint}")
    out.line(f"record   unchanged, {result.preservation_digest_after}")
    return 0


def _question(archive: Path, question: str, reach: dict[str, Any], **choice: str | None) -> list[Query]:
    """A question as the vector of the model that made those of the archive; for `address`."""
    return embedded_queries(archive, [question], reached(**reach), **choice)


command.offer = _question
