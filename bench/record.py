# ruff: noqa: T201 - this is a command, and prints its results
"""Measure ctxarc and write the results: ``python -m bench.record``, from the top of the repository."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from bench.common import Figure, NotMeasured, Result, machine, write_result
from bench.setting import FULL, MAIN_INPUT, QUICK, Setting
from bench.stages_embed import embed
from bench.stages_memory import memory
from bench.stages_segments import segments
from bench.stages_size import fork, size, turns
from bench.stages_time import capture, cat, startup, verify
from bench.stages_vectors import vectors
from bench.tools import CACHE, REPOSITORY, Tools, find_tools

STAGES: dict[str, Callable[[Setting], Result]] = {
    "size": size,
    "turns": turns,
    "fork": fork,
    "capture": capture,
    "cat": cat,
    "verify": verify,
    "memory": memory,
    "startup": startup,
    "segments": segments,
    "vectors": vectors,
    "embed": embed,
}
WITHOUT_CORPUS = frozenset({"startup"})
WITHOUT_PEER = frozenset({"turns", "fork", "memory", "embed"})
RESULTS = REPOSITORY / "bench" / "results"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen stages; 0 when every bar was kept, 1 when one was missed or could not be measured, 2 for usage."""
    options = _parser().parse_args(arguments)
    try:
        want_peer = not options.no_peer and not WITHOUT_PEER.issuperset(options.only)
        tools = find_tools(options.ctxarc, options.python, options.peer, want_peer=want_peer)
    except FileNotFoundError as reason:
        print(f"bench: {reason}", file=sys.stderr)
        return 2
    good = [_stage(name, tools, options) for name in STAGES if name in options.only]
    return 0 if all(good) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.record", description=__doc__)
    parser.add_argument(
        "--only",
        nargs="+",
        choices=list(STAGES),
        default=list(STAGES),
        metavar="STAGE",
        help=f"of {', '.join(STAGES)} (default: all)",
    )
    parser.add_argument("--ctxarc", metavar="PATH", help="default: the one in .venv, else the one on the PATH")
    parser.add_argument("--python", metavar="PATH", help="the Python that runs ctxarc (default: the one beside it)")
    parser.add_argument("--peer", metavar="PATH", help="an anla1 program (default: installed into bench/.cache)")
    parser.add_argument("--no-peer", action="store_true", help="leave the peer out")
    parser.add_argument(
        "--corpus",
        type=Path,
        default=REPOSITORY.parent / "shared" / "corpus",
        metavar="DIR",
        help="default: ../shared/corpus beside the repository",
    )
    parser.add_argument(
        "--scratch", type=Path, metavar="DIR", help="for temporary files, 3 GiB (default: the system's)"
    )
    parser.add_argument(
        "--results", type=Path, metavar="DIR", help="default: bench/results; bench/.cache/quick with --quick"
    )
    parser.add_argument("--turns", type=int, metavar="N", help="capture after each of the first N turns (default: all)")
    parser.add_argument("--runs", type=int, metavar="N", help="runs kept of each timed program")
    parser.add_argument("--quick", action="store_true", help="small inputs and few runs: a trial, not a result")
    return parser


def _stage(name: str, tools: Tools, options: argparse.Namespace) -> bool:
    """Run one stage, print a line a figure and write its JSON; False when a bar was missed or the stage failed."""
    corpus: Path = options.corpus.absolute()
    if name not in WITHOUT_CORPUS and not (corpus / MAIN_INPUT).is_file():
        print(f"{name:8} skipped: no {MAIN_INPUT} in the corpus folder (--corpus DIR)")
        return True
    start = time.perf_counter()
    amount = QUICK if options.quick else FULL
    if options.turns:
        amount = replace(amount, turns=options.turns)
    if options.scratch:
        options.scratch.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="ctxarc-bench-", dir=options.scratch) as scratch:
        setting = Setting(tools, corpus, Path(scratch).absolute(), amount, options.runs)
        try:
            result = STAGES[name](setting)
            surroundings = {
                "quick": options.quick,
                "machine": machine(setting.scratch),
                "versions": tools.versions(),
            }
        except (NotMeasured, OSError) as reason:
            print(f"{name:8} not measured: {reason}", flush=True)
            return False
    folder = options.results or (CACHE / "quick" if options.quick else RESULTS)
    write_result(folder, name, result, surroundings)
    for figure in result.figures:
        print(_line(name, figure), flush=True)
    print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
    return all(figure.verdict in ("ok", "") for figure in result.figures)


def _line(stage: str, figure: Figure) -> str:
    value = "-" if figure.value is None else f"{figure.value:g} {figure.unit}"
    bar = "no bar" if figure.bar is None else f"bar {figure.bar:g}"
    detail = f"  ({figure.detail})" if figure.detail else ""
    return f"{stage:8} {figure.name}: {value}, {bar}{', ' if figure.verdict else ''}{figure.verdict}{detail}"


if __name__ == "__main__":
    sys.exit(main())
