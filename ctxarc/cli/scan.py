"""``ctxarc scan``: where secrets are likely to stand, never the secrets themselves."""

from __future__ import annotations

from pathlib import Path

import click

from ctxarc.cli.arguments import SomePath, archive_argument, at_option, time_limit_option, transcripts_option
from ctxarc.cli.incomplete import note_incomplete
from ctxarc.cli.options import Command, common_options
from ctxarc.cli.output import Output, printable
from ctxarc.cli.terminal import plural
from ctxarc.model import SecretPlace, as_json
from ctxarc.operations.ls import names
from ctxarc.operations.redact import read_rules
from ctxarc.operations.scan import ScanOptions, scan, scan_count


@click.command("scan", cls=Command)
@archive_argument
@click.option(
    "--rules",
    type=SomePath(),
    metavar="FILE",
    help="Look by the rules in FILE (TOML, as gitleaks'), not those built in.",
)
@transcripts_option
@at_option
@click.option("-c", "--count", "counts", is_flag=True, help="Print how many places each transcript has.")
@time_limit_option
@common_options
def command(
    out: Output,
    archive: Path,
    rules: Path | None,
    only: tuple[str, ...],
    at: int | None,
    counts: bool,
    time_limit: float,
) -> int:
    """List places where secrets are likely to stand.

    A line a place: TURN:START-END, an address for `ctxarc cat`; the rule; the length; and a fingerprint, which equal
    secrets share. The secret itself is not printed. The status is 0 where something is found, 1 where nothing is.

    \b
      ctxarc scan work.ctxa
      ctxarc scan work.ctxa --rules gitleaks.toml --json
      ctxarc scan work.ctxa -q && echo 'secrets inside'
    """  # noqa: D301 - click reads the control character as "keep these lines"
    options = ScanOptions(rules=read_rules(rules), names=only, at=at, time_limit=time_limit)
    found = _counts(out, archive, options) if counts else _places(out, archive, options)
    note_incomplete(out, archive, only, at=at)
    return 0 if found else 1


def _several(archive: Path, at: int | None) -> bool:
    return len(names(archive, at=at)) > 1


def _places(out: Output, archive: Path, options: ScanOptions) -> bool:
    total, fingerprints = 0, set()
    several = not out.json and _several(archive, options.at)
    for place in scan(archive, options):
        total += 1
        fingerprints.add(place.fingerprint)
        if out.json:
            out.object(as_json(place))
        elif out.quiet:
            return True  # the status is all that was asked for
        else:
            out.line(_line(place, several=several))
    if not out.json:
        found = f"{plural(total, 'place')}, {plural(len(fingerprints), 'different secret')}"
        out.note(found if total else "no secret was recognised, which does not prove that there is none")
    return total > 0


def _line(place: SecretPlace, *, several: bool) -> str:
    name = f"{printable(place.transcript)}#" if several else ""
    address = f"{name}{place.turn}:{place.start_byte}-{place.end_byte}"
    return f"{address}  {place.rule}  {plural(place.bytes, 'byte')}  {place.fingerprint}"


def _counts(out: Output, archive: Path, options: ScanOptions) -> bool:
    found = False
    several = not out.json and _several(archive, options.at)
    for row in scan_count(archive, options):
        found = found or row.secrets > 0
        if out.json:
            out.object(as_json(row))
        elif not out.quiet:
            out.line(f"{printable(row.transcript)}#: {row.secrets}" if several else str(row.secrets))
    return found
