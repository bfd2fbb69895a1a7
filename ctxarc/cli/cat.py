"""``ctxarc cat``: raw bytes to stdout, each of them verified before it is written."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from ctxarc.cli.arguments import archive_argument, as_utf8, at_option
from ctxarc.cli.incomplete import note_incomplete
from ctxarc.cli.options import common_options
from ctxarc.cli.output import Output, printable
from ctxarc.cli.redaction import Place, RedactingCommand, note_redactions, redact_option, redactor_of
from ctxarc.errors import BadUsage
from ctxarc.model import as_json
from ctxarc.operations.cat import cat, cat_redacted, cat_rows
from ctxarc.operations.ls import names


@click.command("cat", cls=RedactingCommand)
@archive_argument
@click.argument("address", nargs=-1, type=as_utf8)
@click.option("--range", "span", metavar="START-END", help="Write these bytes of the whole transcript.")
@at_option
@redact_option
@common_options
def command(
    out: Output, archive: Path, address: tuple[str, ...], span: str | None, at: int | None, redact: str | None
) -> int:
    """Write raw bytes to stdout, verified.

    Every byte is verified against its SHA-256 first. Without an ADDRESS that is the whole transcript. To a file or a
    pipe the bytes go as they are; on a terminal, control characters and bytes that are no UTF-8 are shown as escapes.
    An ADDRESS is TURN, TURN:START-END, NAME#TURN, NAME# or a citation ctxa:DIGEST[:START-END].

    \b
      ctxarc cat work.ctxa > session.jsonl    the whole transcript
      ctxarc cat work.ctxa 42:10-90           bytes 10 to 89 of turn 42
      ctxarc cat work.ctxa --range 0-65536    the first 64 KiB
      ctxarc cat work.ctxa 42 --redact        turn 42 without its secrets
    """  # noqa: D301 - click reads the control character as "keep these lines"
    if span is not None and len(address) > 1:
        raise BadUsage("--range is a range of one transcript; name it with NAME#, and nothing else")
    if redact is not None:
        _redacted(out, archive, address, redact, span=span, at=at)
    elif out.json:
        for stretch in cat_rows(archive, address, span=span, at=at):
            out.object(as_json(stretch))
    else:
        _write(out, cat(archive, address, span=span, at=at))
    if not out.json and span is None and all(each.endswith("#") for each in address):
        note_incomplete(out, archive, [each[:-1] for each in address], at=at)
    return 0


def _redacted(
    out: Output, archive: Path, address: tuple[str, ...], redact: str, *, span: str | None, at: int | None
) -> None:
    """Print the same with secrets replaced, and say which."""
    places: list[Place] = []

    def shown() -> Iterator[bytes]:
        for row, data in rows:
            if row.redactions:
                places.append(Place(row.transcript, row.turn, row.redactions))
            yield data

    with redactor_of(redact) as redactor:
        rows = cat_redacted(archive, address, redactor=redactor, span=span, at=at)
        if out.json:
            for row, _ in rows:
                out.object(as_json(row))
            return
        _write(out, shown())
    note_redactions(out, places, several=len(names(archive, at=at)) > 1)


def _write(out: Output, pieces: Iterable[bytes | memoryview]) -> None:
    if out.terminal:
        _show(out, pieces)
    else:
        for piece in pieces:
            out.write(piece)


def _show(out: Output, pieces: Iterable[bytes | memoryview]) -> None:
    decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
    for piece in pieces:
        out.write(printable(decoder.decode(piece), "\n\t").encode())
    out.write(printable(decoder.decode(b"", final=True)).encode())
