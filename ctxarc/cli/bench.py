"""``ctxarc bench``: measure an archive of one's own; numbers as a table, as JSON, and as a page made from that JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ctxarc.bench import relations, retrieval
from ctxarc.bench.page import page
from ctxarc.bench.questions import read_questions
from ctxarc.bench.subject import archive_of
from ctxarc.cli.arguments import SomePath
from ctxarc.cli.options import Command, CommandSet, common_options, global_options
from ctxarc.cli.output import Output, printable
from ctxarc.cli.terminal import table
from ctxarc.errors import NoSuchSource, WouldOverwrite
from ctxarc.operations.extract import check_no_archive
from ctxarc.preservation.files import named_faults

_Show = Callable[[Output, dict[str, Any]], None]
"""Prints a result as a table."""

source_argument = click.argument("source", type=SomePath())
out_option = click.option(
    "--out", "folder", type=SomePath(), metavar="DIR", help="Write the JSON, and the page made from it, into DIR."
)


@click.group("bench", cls=CommandSet, context_settings={"help_option_names": ["-h", "--help"]})
@global_options
def command() -> None:
    """Measure an archive of your own: JSON, and a page.

    Nothing is written into an archive. With --out each measurement is written as JSON, and as a page made from that
    JSON alone.

    \b
      ctxarc bench relations work.ctxa
      ctxarc bench retrieval work.ctxa --questions mine.ndjson --out results
    """  # noqa: D301 - click reads the control character as "keep these lines"


@command.command("relations", cls=Command)
@source_argument
@click.option("--vectors", metavar="FINGERPRINT", help="Use those vectors of whole-turn-v1; its first digits do.")
@out_option
@common_options
def relations_command(out: Output, source: Path, vectors: str | None, folder: Path | None) -> int:
    """Measure what edges add to the order of a conversation.

    For each kind: how many edges there are, how many join neighbours anyway, how far they reach, and how close the
    turns are that they join, as the cosine from the mean of the vectors attached for whole-turn-v1, beside adjacent
    turns, random pairs, and pairs that are as far apart. SOURCE is an archive, or a transcript, which has no vectors.

    \b
      ctxarc bench relations work.ctxa --out results
    """  # noqa: D301 - click reads the control character as "keep these lines"
    _check(folder)
    with archive_of(source) as archive:
        result = relations.measure(archive, fingerprint=vectors)
    return _finish(out, result, folder, "relations", _print_relations)


@command.command("retrieval", cls=Command)
@source_argument
@click.option(
    "--questions",
    required=True,
    type=SomePath(),
    metavar="FILE",
    help="A JSON object a line: question, and spans or an anchor.",
)
@click.option("--scheme", "schemes", multiple=True, metavar="SCHEME", help="Ask SCHEME only; repeatable.")
@click.option("--graph", is_flag=True, help="Measure a bonus for turns one edge from the first hits, too.")
@out_option
@common_options
def retrieval_command(
    out: Output, source: Path, questions: Path, schemes: tuple[str, ...], graph: bool, folder: Path | None
) -> int:
    """Measure whether a scheme helps to find answers.

    Each question is put to the whole record by words, for each scheme that has an index. spans are the bytes that
    answer, as [turn, start, end]; an anchor is a text that stands there, and shares no words with its question.

    \b
      ctxarc bench retrieval work.ctxa --questions mine.ndjson --graph
    """  # noqa: D301 - click reads the control character as "keep these lines"
    if not questions.is_file():
        raise NoSuchSource(f"{questions}: no such file", source=str(questions))
    _check(folder)
    with archive_of(source) as archive:
        asked = read_questions(questions, archive)
        result = retrieval.measure(archive, asked, schemes=schemes, graph=graph, tell=out.note)
    return _finish(out, result, folder, "retrieval", _print_retrieval)


def _check(folder: Path | None) -> None:
    """Refuse a place for results before anything is measured."""
    if folder is not None:
        check_no_archive(folder, "--out DIR")


def _finish(out: Output, result: dict[str, Any], folder: Path | None, name: str, show: _Show) -> int:
    """Write what was asked for, and print the result."""
    if folder is not None:
        with named_faults(folder):
            folder.mkdir(parents=True, exist_ok=True)
            for suffix, text in (("json", json.dumps(result, indent=1) + "\n"), ("html", page([result]))):
                path = folder / f"{name}.{suffix}"
                if path.exists() and not path.is_file():
                    raise WouldOverwrite(f"{path} is there, and no file", path=str(path))
                path.write_text(text, encoding="utf-8")
    if out.json:
        out.object(result)
    elif not out.quiet:
        show(out, result)
        if folder is not None:
            out.note(f"written: {folder / name}.json, {folder / name}.html")
    return 0


def _print_relations(out: Output, result: dict[str, Any]) -> None:
    measured = result["baselines"] is not None
    rows = []
    for each in [*result["kinds"], result["all"]]:
        row = [each["kind"], f"{each['edges']:,}", _share(each["share_of_neighbours"])]
        row += [f"{each['beyond_neighbours']:,}", _number(each["longest_reach"])]
        if measured:
            row += [_mean(each["cosine"]), _mean(each["cosine_beyond_neighbours"])]
            row += [_mean(each["cosine_at_the_same_distance"]), _number(each["ratio_to_adjacent"])]
        rows.append(tuple(row))
    head = ("kind", "edges", "neighbours", "beyond", "longest", "cosine", "beyond", "as far apart", ": adjacent")
    table(out, head[: len(rows[0])], rows, right=frozenset(range(1, len(rows[0]))))
    if not measured:
        out.line(f"closeness not measured: {printable(result['vectors']['not_measured'])}")
        return
    for name, each in result["baselines"].items():
        out.line(f"{name.replace('_', ' ')}: {_mean(each)}")


def _print_retrieval(out: Output, result: dict[str, Any]) -> None:
    names = ("r_at_1", "r_at_5", "mrr", "recall_1000", "recall_4000")
    rows = [
        (printable(row["scheme"]), row["channel"], *(f"{row[name]['mean']:.3f}" for name in names))
        for row in result["rows"]
    ]
    head = ("scheme", "channel", "R@1", "R@5", "MRR", "1 kB", "4 kB")
    table(out, head, rows, right=frozenset(range(2, 7)))
    for row in result["rows"]:
        best = max(row.get("graph", ()), key=lambda each: each["mrr"]["mean"], default=None)
        if best is not None:
            gain = best["mrr"]["mean"] - row["mrr"]["mean"]
            kinds = ", ".join(best["kinds"])
            said = f"bonus {best['bonus']:g} of {kinds} from the first {best['first_hits']}" if gain else "no bonus"
            out.line(
                f"{printable(row['scheme'])}: best with edges is {said}: MRR {gain:+.4f}; "
                f"one question is {best['smallest_step']}"
            )


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,}"


def _mean(measured: dict[str, Any] | None) -> str:
    return f"{measured['mean']:.3f} ± {measured['sd']:.3f}" if measured else "-"
