"""``ctxarc address``: a question in, places of the record out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import click

from ctxarc.cli.arguments import LONGEST, InWords, Seconds, archive_argument, as_utf8
from ctxarc.cli.incomplete import note_incomplete
from ctxarc.cli.options import Command, common_options
from ctxarc.cli.output import Output, one_line, printable
from ctxarc.cli.redaction import Place, RedactingCommand, note_redactions, redact_option, redactor_of
from ctxarc.cli.terminal import columns, fit, plural
from ctxarc.errors import BadUsage, NoSuchSource
from ctxarc.model import AddressHit, AddressResult, as_json
from ctxarc.operations.address import BUDGET_SECONDS, AddressOptions, address
from ctxarc.operations.ls import names
from ctxarc.operations.query_vectors import Query, read_queries
from ctxarc.operations.redacted_hits import redacted_hits
from ctxarc.preservation.files import named_faults

_EXCERPT = 300
"""Characters of a text that a line shows where no terminal's width says how many."""


@click.command("address", cls=RedactingCommand)
@archive_argument
@click.argument("question", required=False, type=as_utf8)
@click.option("--vector", metavar="FILE", help="Ask by the vector, or vectors, in FILE; - is stdin.")
@click.option("--model", metavar="MODEL", help="The model that made the vector in FILE.")
@click.option("--revision", metavar="REVISION", help="The digest of its weights, or `unstated`.")
@click.option("--embed", "embedded", is_flag=True, help="Have the vectors' own model embed QUESTION.")
@click.option("--hybrid", is_flag=True, help="Ask by words and by vector, and fuse the ranks.")
@click.option("--scheme", metavar="SCHEME", help="Search its segments; else the only index's.")
@click.option("--vectors", metavar="FINGERPRINT", help="Compare with this set of vectors.")
@click.option(
    "-k",
    "limit",
    cls=InWords,
    type=click.IntRange(min=1, max=1000),
    default=10,
    help="Give K hits; 10 unless said.",
    metavar="K",
)
@click.option("--no-centre", is_flag=True, help="Do not take the mean of all vectors off first.")
@click.option("--role", type=as_utf8, metavar="ROLE", help="Search turns of user, assistant, tool, ... only.")
@click.option("--transcript", type=as_utf8, metavar="NAME", help="Search this transcript only.")
@click.option(
    "--require-coverage",
    cls=InWords,
    type=click.FloatRange(min=0, max=1),
    metavar="SHARE",
    help="Refuse where fewer segments can be searched.",
)
@click.option(
    "--budget",
    cls=InWords,
    type=Seconds(min=0, max=LONGEST),
    default=BUDGET_SECONDS,
    metavar="SECONDS",
    help="Take so long at most without NumPy; 30 unless said.",
)
@click.option("--server", type=as_utf8, metavar="URL", help="That model's server, if not where it was.")
@click.option(
    "--exec", "program", type=as_utf8, metavar="PROGRAM", help="That model's program, as `ctxarc embed` runs it."
)
@click.option("--key-env", metavar="NAME", help="The variable with the server's key.")
@redact_option
@common_options
def command(
    out: Output,
    archive: Path,
    question: str | None,
    vector: str | None,
    model: str | None,
    revision: str | None,
    embedded: bool,
    hybrid: bool,
    scheme: str | None,
    vectors: str | None,
    limit: int,
    no_centre: bool,
    role: str | None,
    transcript: str | None,
    require_coverage: float | None,
    budget: float,
    server: str | None,
    program: str | None,
    key_env: str | None,
    redact: str | None,
) -> int:
    """Find the places that answer a question.

    QUESTION is looked up by its words; a vector, from FILE or of the model that --embed asks, is compared with those
    attached, if their identity agrees. Hits are addresses for `ctxarc cat`, and their turns were hashed.

    \b
      ctxarc address work.ctxa 'why did the build fail'
      ctxarc address work.ctxa --vector question.json -k 5
      ctxarc address work.ctxa 'why did the build fail' --embed --hybrid
    """  # noqa: D301 - click reads the control character as "keep these lines"
    if vector is None and (model or revision):
        raise BadUsage("--model and --revision say what made a vector, and there is no --vector FILE")
    queries = _queries(vector, model, revision) if vector is not None else []
    if embedded:
        if question is None or vector is not None:
            raise BadUsage("--embed makes the vector of QUESTION, so give one, and no --vector FILE")
        reach = {"server": server, "program": program, "key_env": key_env}
        queries = _embedded(archive, question, reach, scheme=scheme, vectors=vectors)
    elif server or program or key_env:
        raise BadUsage("--server, --exec and --key-env are for --embed")
    options = AddressOptions(
        question=question,
        queries=queries,
        hybrid=hybrid,
        scheme=scheme,
        vectors=vectors,
        limit=limit,
        centre=not no_centre,
        role=role,
        transcript=transcript,
        require_coverage=require_coverage,
        budget=budget,
    )
    several = not out.json and len(names(archive)) > 1
    results = address(archive, options)
    if redact is not None:
        _redacted(out, archive, results, redact, several=several)
    else:
        for result in results:
            if out.json:
                out.object(as_json(result))
            elif not out.quiet:
                _print(out, result, several=several)
    if not out.json:
        note_incomplete(out, archive, [transcript] if transcript else [])
    return 0


def _redacted(out: Output, archive: Path, results: Iterator[AddressResult], redact: str, *, several: bool) -> None:
    """Print the results with secrets replaced, and say which."""
    places: list[Place] = []
    with redactor_of(redact) as redactor:
        for each in results:
            result, replaced = redacted_hits(archive, each, redactor)
            if out.json:
                fields = as_json(result) | {"redacted": redactor.digest}
                for hit, redactions in zip(fields["hits"], replaced, strict=True):
                    hit["redactions"] = as_json(redactions)
                out.object(fields)
                continue
            if not out.quiet:
                _print(out, result, several=several)
            pairs = zip(result.hits, replaced, strict=True)
            places += [Place(hit.transcript, hit.turn, redactions) for hit, redactions in pairs]
    if not out.json:
        note_redactions(out, places, several=several)


def _embedded(archive: Path, question: str, reach: dict[str, str | None], **choice: str | None) -> list[Query]:
    """The question as a vector, by what `embed` offers: what speaks to servers is loaded for that alone."""
    context = click.get_current_context()
    embed = cast("click.Group", context.find_root().command).get_command(context, "embed")
    offer = cast("Callable[..., list[Query]]", cast("Command", embed).offer)
    return offer(archive, question, reach, **choice)


def _queries(vector: str, model: str | None, revision: str | None) -> list[Query]:
    if vector == "-":
        data = sys.stdin.buffer.read()
    else:
        path = Path(vector)
        if not path.exists():
            raise NoSuchSource(f"{vector}: no such file", hint="it holds a vector and its identity", source=vector)
        with named_faults(path):
            data = path.read_bytes()
    label = "standard input" if vector == "-" else vector
    return read_queries(data, label, {"model": model, "revision": revision})


def _print(out: Output, result: AddressResult, *, several: bool) -> None:
    if result.id is not None:
        out.line(out.paint(printable(result.id), bold=True))
    for hit in result.hits:
        _print_hit(out, hit, several=several)
    if not result.hits:
        out.line("nothing found")
    searched = f"{plural(result.searched, 'segment')} of {printable(result.scheme)}, {result.channel}"
    if result.identity:
        searched += f", {printable(str(result.identity['model']))}"
    out.note(searched)
    if result.echoes:
        out.note(f"{plural(result.echoes, 'text')} of turns that contain the question itself come last")
    for warning in result.warnings:
        out.note(printable(warning))


def _print_hit(out: Output, hit: AddressHit, *, several: bool) -> None:
    name = f"{printable(hit.transcript)}#" if several else ""
    place = f"{name}{hit.turn}:{hit.start_byte}-{hit.end_byte}"
    more = f"  +{plural(hit.places - 1, 'place')}" if hit.places > 1 else ""
    echo = "  the question itself" if hit.echo else ""
    width = columns(out)
    head = f"{hit.rank:3}  {hit.score:.4f}  "
    if width is None:
        out.line(f"{head}{place}{more}{echo}  {fit(one_line(hit.text), _EXCERPT)}")
        return
    out.line(head + out.paint(place, "green") + more + echo)
    out.line("     " + fit(one_line(hit.text), width - 5))
