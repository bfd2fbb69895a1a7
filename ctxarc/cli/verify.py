"""``ctxarc verify``: everything that is wrong with an archive, by name."""

from __future__ import annotations

from pathlib import Path

import click

from ctxarc.cli.arguments import archive_argument
from ctxarc.cli.options import Command, common_options
from ctxarc.cli.output import Output, one_line, printable
from ctxarc.cli.terminal import plural, size
from ctxarc.model import VerifyResult, as_json
from ctxarc.operations.verify import verify


@click.command("verify", cls=Command)
@archive_argument
@click.option("--quick", is_flag=True, help="Check structure and headers, and say what was not read.")
@click.option("--expect", metavar="DIGEST", help="Refuse any state of the archive but this one.")
@click.option("--extends", metavar="DIGEST", help="Refuse an archive that is not this state, or grown from it.")
@click.option(
    "--against",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="SOURCE",
    help="Compare with a source as it is now; repeatable.",
)
@common_options
def command(
    out: Output, archive: Path, quick: bool, expect: str | None, extends: str | None, against: tuple[Path, ...]
) -> int:
    """Check every byte of an archive.

    Every file is read, every frame decoded, every SHA-256 computed again. The status is 0 where all is as it was
    written, and 1 where something was found.
    """
    result = verify(archive, quick=quick, expect=expect, extends=extends, against=against)
    if out.json:
        out.object(as_json(result), ok=result.ok)
    elif not (out.quiet and result.ok):
        _print(out, result)
    return 0 if result.ok else 1


def _print(out: Output, result: VerifyResult) -> None:
    verdict = out.paint("ok", "green") if result.ok else out.paint(plural(len(result.findings), "finding"), "red")
    out.line(f"{out.paint(printable(result.archive), bold=True)}  {verdict}")
    out.line(f"digest       {result.archive_digest}")
    out.line(
        f"checked      {result.checked}: {plural(len(result.transcripts), 'transcript')}, "
        f"{plural(result.turns, 'turn')}, {size(result.bytes)}, {plural(result.captures, 'capture')}"
    )
    for name, plane in result.planes.items():
        facts = ", ".join(f"{key.replace('_', ' ')} {_plain(value)}" for key, value in plane.items())
        out.line(f"{printable(name):<12} {one_line(facts)}")
    for state in result.transcripts:
        if not state.complete:
            left_out = sum(gap.end_byte - gap.start_byte for gap in state.omitted)
            out.line(out.paint(f"incomplete   {printable(state.transcript)} lacks {size(left_out)}", "yellow"))
    for reason in result.not_checked:
        out.line(f"not checked  {one_line(reason)}")
    for finding in result.findings:
        out.line(f"{out.paint(finding.code, 'red')}  {printable(finding.path)}: {one_line(finding.message)}")


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)
