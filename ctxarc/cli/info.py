"""``ctxarc info``: what an archive holds, in both planes, and what it cost."""

from __future__ import annotations

from pathlib import Path

import click

from ctxarc.cli.arguments import archive_argument
from ctxarc.cli.options import Command, common_options
from ctxarc.cli.output import Output, printable
from ctxarc.cli.terminal import cell_width, columns, fit, gap_words, name_room, pad, plural, shorten, size
from ctxarc.model import ArchiveInfo, VectorsInfo, as_json
from ctxarc.operations.info import info

_BAR_CELLS = 24
_NAMES_SHOWN = 5
_ROWS_SHOWN = 12


@click.command("info", cls=Command)
@archive_argument
@click.option("--digest", is_flag=True, help="Print DIGEST  ARCHIVE and nothing else.")
@common_options
def command(out: Output, archive: Path, digest: bool) -> int:
    """Say what an archive holds and what it costs.

    Two planes: the preservation plane, which holds every byte, and the auxiliary plane, which was computed from it and
    can be computed again. The digest names the state of the archive: note it elsewhere, and `ctxarc verify --expect`
    or `--extends` tells whether an archive is that state, or has grown from it.

    \b
      ctxarc info work.ctxa
      ctxarc info work.ctxa --digest >> digests.txt
    """  # noqa: D301 - click reads the control character as "keep these lines"
    held = info(archive)
    if out.json:
        out.object(as_json(held))
    elif digest:
        out.line(f"{held.archive_digest}  {printable(held.archive)}")
    else:
        _print_summary(out, held)
        _print_plane(out, held, "preservation plane", held.record)
        _print_plane(out, held, "auxiliary plane", held.auxiliary)
        _print_indexes(out, held)
    return 0


def _print_summary(out: Output, held: ArchiveInfo) -> None:
    out.line(out.paint(printable(held.archive), bold=True))
    out.line(f"format       {held.format_version}")
    out.line(f"digest       {held.archive_digest}")
    out.line(f"transcripts  {held.transcripts:,}, in {plural(held.captures, 'capture')}")
    out.line(f"turns        {held.turns:,}; {held.objects:,} different ones are stored, each once")
    ratio = f", {held.ratio:.1f} : 1" if held.bytes else ""
    out.line(f"size         {size(held.bytes)} of transcripts in {size(held.archive_bytes)}{ratio}")
    for state in held.incomplete[:_NAMES_SHOWN]:
        name = shorten(printable(state.transcript), name_room(out))
        out.line(out.paint(f"incomplete   {name}: {gap_words(state.omitted)}", "yellow"))
    if len(held.incomplete) > _NAMES_SHOWN:
        out.line(out.paint(f"incomplete   and {len(held.incomplete) - _NAMES_SHOWN} more", "yellow"))


def _print_indexes(out: Output, held: ArchiveInfo) -> None:
    for each in held.indexes:
        if each.refusal is not None:
            words = f"damaged: {each.refusal['code']}"
        else:
            words = f"{plural(each.segments, 'segment')}, median {each.median_segment_bytes:g} B, "
            words += f"{size(each.bytes)}, covers {_exact(each.coverage)} of the bytes"
        out.line(f"index    {printable(each.scheme)}: {words}")
    for index in held.words:
        damaged = f"damaged: {index.refusal['code']}" if index.refusal else ""
        words = damaged or f"{size(index.bytes)}, of {_exact(index.coverage)} of the turns"
        out.line(f"words    {printable(index.scheme)}: {words}")
    for vectors in held.vectors:
        _print_vectors(out, vectors)
    for edges in held.relations:
        damaged = f"damaged: {edges.refusal['code']}" if edges.refusal else ""
        words = damaged or f"{size(edges.bytes)}, of {_exact(edges.coverage)} of the turns"
        out.line(f"edges    {printable(edges.relations)}: {words}")


def _print_vectors(out: Output, vectors: VectorsInfo) -> None:
    name = f"vectors  {vectors.identity_fingerprint[:8]} of {printable(vectors.scheme)}"
    if vectors.refusal:
        out.line(f"{name}: damaged: {vectors.refusal['code']}")
        return
    identity = vectors.identity
    out.line(
        f"{name}: {printable(str(identity['model']))}, {identity['dimensions']} dimensions, {size(vectors.bytes)}, of "
        f"{_exact(vectors.coverage)} of the segments"
    )
    out.line(
        f"         revision {printable(str(identity['revision']))}, projection {printable(str(identity['projection']))}"
    )


def _exact(share: float) -> str:
    """A share in per cent, never rounded up."""
    return f"{int(share * 1000) / 10:g} %"


def _percent(share: float) -> str:
    return " <1%" if 0 < share < 0.005 else f"{share:4.0%}"  # noqa: PLR2004 - what would be rounded to 0%


def _print_plane(out: Output, held: ArchiveInfo, title: str, kinds: dict[str, dict[str, int]]) -> None:
    """A tree of kinds of files, each with its share of the archive as a bar."""
    total = size(sum(kind["bytes"] for kind in kinds.values())) if kinds else "nothing"
    out.line()
    out.line(f"{out.paint(title, bold=True)}: {total}")
    shown = list(kinds.items())[:_ROWS_SHOWN]
    names = [shorten(printable(name), name_room(out)) for name, _ in shown]
    width = max(map(cell_width, names), default=0)
    for number, (name, (_, kind)) in enumerate(zip(names, shown, strict=True), 1):
        branch = "└── " if number == len(kinds) else "├── "
        share = kind["bytes"] / held.archive_bytes if held.archive_bytes else 0.0
        bar = "█" * round(share * _BAR_CELLS)
        facts = (
            f"{pad(size(kind['bytes']), 8, right=True)}  {pad(plural(kind['files'], 'file'), 10)}  {_percent(share)}  "
        )
        line = fit(f"{branch}{pad(name, width)}  {facts}", columns(out))
        out.line((line + out.paint(bar, "cyan")).rstrip())
    if len(kinds) > len(shown):
        out.line(f"└── and {len(kinds) - len(shown)} more; --json lists all")
