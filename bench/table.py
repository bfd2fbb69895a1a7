"""Write the table of the committed results into the pages: ``python -m bench.table``; ``--check`` only compares."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from bench.record import RESULTS, STAGES
from bench.tools import REPOSITORY

PAGES = (Path(__file__).with_name("README.md"), REPOSITORY / "README.md")
BEGIN, END = "<!-- bench: record -->", "<!-- /bench -->"
HEADER = ["| stage | figure | measured | bar | | |", "|---|---|---|---|---|---|"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Rewrite the part between the markers, or with ``--check`` say whether it is what it should be."""
    parser = argparse.ArgumentParser(prog="python -m bench.table", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; end 1 when the page is out of date")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="DIR")
    parser.add_argument("--page", type=Path, action="append", metavar="FILE", help="default: both README.md")
    options = parser.parse_args(arguments)
    text = table(read_results(options.results))
    stale = [page for page in options.page or PAGES if not _written(page, text, check=options.check)]
    return 1 if stale else 0


def _written(path: Path, text: str, *, check: bool) -> bool:
    """Write the table into the page at ``path``; with ``check``, only say whether it is there."""
    page = path.read_text(encoding="utf-8")
    wanted = with_table(page, text)
    if not check:
        path.write_text(wanted, encoding="utf-8")
    return page == wanted or not check


def read_results(folder: Path) -> list[dict[str, Any]]:
    """The results there are, in the order of the stages; trials made with ``--quick`` are left out."""
    paths = [folder / f"{name}.json" for name in STAGES]
    records = [json.loads(path.read_text(encoding="utf-8")) for path in paths if path.is_file()]
    return [record for record in records if not record["quick"]]


def table(records: Sequence[dict[str, Any]]) -> str:
    """The results as Markdown: a row a figure, then the machines, versions and inputs they were taken with."""
    if not records:
        return "No results yet."
    rows = [_row(record["name"], figure) for record in records for figure in record["figures"]]
    machines = _distinct(_machine_text(record) for record in records)
    versions = _distinct(_pairs(record["versions"]) for record in records)
    inputs = _distinct(_input_text(facts) for record in records for facts in record["inputs"])
    notes = [f"Taken {text}." for text in machines] + [f"Versions: {text}." for text in versions]
    return "\n".join([*HEADER, *rows, "", *(f"* {text}" for text in [*notes, *(f"Input: {text}" for text in inputs)])])


def with_table(page: str, text: str) -> str:
    """The page with ``text`` between its two markers; ValueError where it does not have them."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no {BEGIN} ... {END}")
    return f"{before}{BEGIN}\n{text}\n{END}{after}"


def _row(stage: str, figure: dict[str, Any]) -> str:
    value = "-" if figure["value"] is None else f"{figure['value']:g} {figure['unit']}"
    bar = "" if figure["bar"] is None else f"{figure['bar']:g}"
    cells = [stage, figure["name"], value, bar, figure["verdict"], figure["detail"]]
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _machine_text(record: dict[str, Any]) -> str:
    facts = record["machine"]
    return (
        f"{record['taken']} on {facts['cpu']}, {facts['cores']} cores, {facts['memory_gib']:g} GiB, "
        f"{facts['system']} {facts['kernel']}, {facts['scratch_file_system']}, Python {facts['python']}"
    )


def _input_text(facts: dict[str, Any]) -> str:
    return f"{facts['name']}, {facts['bytes']:,} B, {facts['lines']:,} lines, SHA-256 `{facts['sha256']}`"


def _pairs(facts: dict[str, str]) -> str:
    return ", ".join(f"{name} {text}" for name, text in facts.items())


def _distinct(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))


if __name__ == "__main__":
    sys.exit(main())
