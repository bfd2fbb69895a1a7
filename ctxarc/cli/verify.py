"""``ctxarc verify``: everything that is wrong with an archive, by name."""

from __future__ import annotations

from pathlib import Path

import click

from ctxarc.cli.arguments import SomePath, archive_argument
from ctxarc.cli.options import Command, common_options
from ctxarc.cli.output import Output, one_line, printable
from ctxarc.cli.progress import ProgressLine
from ctxarc.cli.terminal import gap_words, name_room, plural, shorten, size
from ctxarc.model import Finding, VerifyResult, as_json
from ctxarc.operations.verify import verify

_SHOWN = 20
"""Findings, and incomplete transcripts, that are listed; ``--json`` lists all."""
_HARMLESS = {
    "LEFTOVER": "harmless, left by a writer that died or put there by hand",
    "SOURCE_DIFFERS": "the archive is sound, and the source is not what was captured",
}
"""Findings that are no damage of the archive, and what a user should know of them."""
_MEANING = {
    "BAD_MAGIC": "this is no file of its kind",
    "CHECKSUM_MISMATCH": "the file has changed since it was written",
    "DIGEST_MISMATCH": "what it holds is not what was captured",
    "INDEX_MISMATCH": "two places of the archive disagree",
    "LIMIT_EXCEEDED": "it states a size beyond what the format allows",
    "TRUNCATED": "the file is gone, or a part of it",
}
"""Findings that are damage, in plain words."""


@click.command("verify", cls=Command)
@archive_argument
@click.option("--quick", is_flag=True, help="Check structure and headers; say what was not read.")
@click.option("--expect", metavar="DIGEST", help="Refuse any state of the archive but DIGEST.")
@click.option("--extends", metavar="DIGEST", help="Refuse an archive that is not DIGEST, or grown from it.")
@click.option(
    "--against",
    multiple=True,
    type=SomePath(),
    metavar="SOURCE",
    help="Compare with SOURCE as it is now; repeatable.",
)
@common_options
def command(
    out: Output, archive: Path, quick: bool, expect: str | None, extends: str | None, against: tuple[Path, ...]
) -> int:
    """Check every byte of an archive.

    Every file is read, every frame decoded, every SHA-256 computed again. The status is 0 where all is as it was
    written, and 1 where something was found.

    \b
      ctxarc verify work.ctxa
      ctxarc verify work.ctxa --against session.jsonl
      ctxarc verify work.ctxa --extends DIGEST    a digest noted earlier
    """  # noqa: D301 - click reads the control character as "keep these lines"
    with ProgressLine(out) as progress:
        result = verify(archive, quick=quick, expect=expect, extends=extends, against=against, progress=progress)
    if out.json:
        out.object(as_json(result), ok=result.ok)
    elif not (out.quiet and result.ok):
        _print(out, result)
    return 0 if result.ok else 1


def _print(out: Output, result: VerifyResult) -> None:
    verdict = out.paint("ok", "green") if result.ok else out.paint(plural(len(result.findings), "finding"), "red")
    out.line(f"{out.paint(printable(result.archive), bold=True)}: {verdict}")
    out.line(f"digest       {result.archive_digest or 'unknown, since HEAD cannot be read'}")
    out.line(f"checked      {_checked(result)}")
    for name, plane in result.planes.items():
        out.line(f"{printable(name):<12} {_files(plane)}")
    out.line(f"not checked  {_not_checked(result)}")
    _print_incomplete(out, result)
    _print_findings(out, result)


def _checked(result: VerifyResult) -> str:
    if not result.archive_digest:
        return "what can be read without HEAD"
    what = "every byte" if result.checked == "full" else "headers only"
    counts = (
        plural(len(result.transcripts), "transcript"),
        plural(result.turns, "turn"),
        size(result.bytes),
        plural(result.captures, "capture"),
    )
    return f"{what}: {', '.join(counts)}"


def _files(plane: dict[str, object]) -> str:
    files, count = plane.get("files"), plane.get("bytes")
    if not isinstance(files, int) or not isinstance(count, int):
        return ""
    return f"{plural(files, 'file')}, {size(count)}" if files else "nothing"


def _not_checked(result: VerifyResult) -> str:
    """One line: the first reason, and how many more there are."""
    if not result.not_checked:
        return "nothing"
    first, *more = map(one_line, result.not_checked)
    return f"{first}; and {len(more):,} more (--json lists all)" if more else first


def _print_incomplete(out: Output, result: VerifyResult) -> None:
    partial = [state for state in result.transcripts if not state.complete]
    for state in partial[:_SHOWN]:
        name = shorten(printable(state.transcript), name_room(out))
        out.line(out.paint(f"incomplete   {name}: {gap_words(state.omitted)}", "yellow"))
    if len(partial) > _SHOWN:
        out.line(out.paint(f"incomplete   and {len(partial) - _SHOWN:,} more (--json lists all)", "yellow"))


def _print_findings(out: Output, result: VerifyResult) -> None:
    for finding in result.findings[:_SHOWN]:
        out.line()
        out.line(f"{out.paint(finding.code, 'red', bold=True)}  {printable(finding.path)}")
        out.line(f"  {_words(finding)}")
    if len(result.findings) > _SHOWN:
        out.line()
        out.line(f"and {len(result.findings) - _SHOWN:,} more (--json lists all)")
    if any(finding.code not in _HARMLESS for finding in result.findings):
        out.note("hint: restore what is damaged from a copy of the archive, then verify again")


def _words(finding: Finding) -> str:
    """What a finding means, and what was met; not the path, which is said before."""
    words = one_line(finding.message.removeprefix(f"{finding.path}: "))
    meaning = _HARMLESS.get(finding.code) or _MEANING.get(finding.code)
    return f"{meaning}: {words}" if meaning else words
