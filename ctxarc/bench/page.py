"""A page made of measurements: one HTML file that loads nothing, and in which every number comes from the JSON."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from ctxarc.bench import charts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_STYLE = """
:root{color-scheme:light dark;--ink:#1c1e21;--paper:#fff;--dim:#5d646c;--rule:#d9dde2;--a:#2f6fb3;
--b:#b3642f;--c:#3c8a4b}
@media (prefers-color-scheme:dark){:root{--ink:#e6e8ea;
--paper:#15171a;--dim:#9aa3ad;--rule:#343a41;--a:#6aa9e9;--b:#e39a63;
--c:#74c285}}
*{box-sizing:border-box}body{margin:0 auto;max-width:60rem;padding:1rem;font:16px/1.5 system-ui,sans-serif;
color:var(--ink);background:var(--paper)}h1{font-size:1.5rem;margin:.5rem 0}h2{font-size:1.2rem;margin:2rem 0 .5rem;
border-top:1px solid var(--rule);padding-top:1rem}p,dd{margin:.3rem 0;color:var(--dim)}
code{font:13px ui-monospace,monospace;
overflow-wrap:anywhere}.scroll{overflow-x:auto}table{border-collapse:collapse;margin:.8rem 0;font-size:14px;
font-variant-numeric:tabular-nums}caption{text-align:left;color:var(--dim);padding:.2rem 0}th,td{padding:.25rem .7rem;
border-bottom:1px solid var(--rule);text-align:right;white-space:nowrap}th:first-child,td:first-child{text-align:left}
figure{margin:1rem 0}figcaption{color:var(--dim);font-size:14px}
svg{width:100%;height:auto;max-width:40rem;display:block}
.label{fill:var(--ink);font:12px system-ui,sans-serif}.value{fill:var(--dim);font:11px system-ui,sans-serif}
.bar,.s0{fill:var(--a)}.s1{fill:var(--b)}.s2{fill:var(--c)}
"""


def page(results: Sequence[dict[str, Any]]) -> str:
    """The page of results of one source, each a section.

    Raises:
        KeyError: a result is of no known kind.

    """
    source = results[0]["source"]
    sections = "".join(SECTIONS[each["kind"]](each) for each in results)
    names = ", ".join(each["transcript"] for each in source["transcripts"][:5])
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
        'content="width=device-width,initial-scale=1"><meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none';style-src 'unsafe-inline'\"><title>ctxarc bench</title>"
        f"<style>{_STYLE}</style></head><body><h1>{escape(names)}</h1>"
        f"<p>{source['turns']:,} turns, {source['bytes']:,} bytes. Archive digest "
        f"<code>{escape(source['archive_digest'])}</code>.</p>"
        f"<p>Measured by ctxarc {escape(results[0]['version'])} on {escape(results[0]['system'])}, "
        f"Python {escape(results[0]['python'])}.</p>{sections}</body></html>\n"
    )


def table(caption: str, head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table that scrolls sideways where the screen is narrow; ``None`` is shown as a dash."""
    cells = "".join("<tr>" + "".join(f"<td>{_said(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    titles = "".join(f'<th scope="col">{escape(title)}</th>' for title in head)
    return (
        f'<div class="scroll"><table><caption>{escape(caption)}</caption><thead><tr>{titles}</tr></thead>'
        f"<tbody>{cells}</tbody></table></div>"
    )


def figure(chart: str, caption: str) -> str:
    """A chart with its caption."""
    return f"<figure>{chart}<figcaption>{escape(caption)}</figcaption></figure>"


def _said(cell: object) -> str:
    if cell is None:
        return "&ndash;"
    return escape(f"{cell:,}" if isinstance(cell, int) and not isinstance(cell, bool) else str(cell))


def _mean(measured: dict[str, Any] | None) -> str | None:
    return f"{measured['mean']:.4f} ± {measured['sd']:.4f}" if measured else None


def _relations(result: dict[str, Any]) -> str:
    rows = [*result["kinds"], result["all"]]
    head = ("kind", "edges", "of neighbours", "beyond", "median reach", "longest reach")
    cells = [
        (
            each["kind"],
            each["edges"],
            each["share_of_neighbours"],
            each["beyond_neighbours"],
            each["median_reach"],
            each["longest_reach"],
        )
        for each in rows
    ]
    parts = ["<h2>Relations</h2>", table("Edges by kind; reach in turns", head, cells)]
    return "".join([*parts, *_reach(result)]) + _closeness(result, rows)


def _reach(result: dict[str, Any]) -> list[str]:
    """How far edges reach: a chart of the shares of each kind, and a table of the numbers."""
    longest: list[dict[str, Any]] = max((each["reach"] for each in result["kinds"]), key=len, default=[])
    if not longest:
        return []
    series = [
        (each["kind"], [bin_["edges"] for bin_ in each["reach"]] + [0] * (len(longest) - len(each["reach"])))
        for each in result["kinds"]
    ]
    shares = [(kind, [number / (sum(numbers) or 1) for number in numbers]) for kind, numbers in series]
    chart = charts.columns("How far edges reach", [f"{bin_['from']:,}" for bin_ in longest], shares)
    labels = [f"{each['from']:,}" + (f" to {each['to']:,}" if each["to"] > each["from"] else "") for each in longest]
    rows = [(label, *(numbers[at] for _, numbers in series)) for at, label in enumerate(labels)]
    return [
        figure(chart, "The share of each kind's edges that reach so many turns back, up to the next column"),
        table("Edges by their reach, in turns", ("reach", *(kind for kind, _ in series)), rows),
    ]


def _closeness(result: dict[str, Any], rows: Sequence[dict[str, Any]]) -> str:
    if result["baselines"] is None:
        return f"<p>Closeness was not measured: {escape(result['vectors']['not_measured'])}.</p>"
    base = result["baselines"]
    head = ("pairs", "all", "beyond neighbours", "others as far apart", "all : adjacent", "beyond : adjacent")
    cells = [
        (
            each["kind"],
            _mean(each["cosine"]),
            _mean(each["cosine_beyond_neighbours"]),
            _mean(each["cosine_at_the_same_distance"]),
            each["ratio_to_adjacent"],
            each["ratio_to_adjacent_beyond_neighbours"],
        )
        for each in rows
    ]
    cells.append(("adjacent turns", _mean(base["adjacent"]), None, None, None, None))
    cells.append(("random pairs", _mean(base["random"]), _mean(base["random_beyond_neighbours"]), None, None, None))
    model = result["vectors"]
    caption = f"Mean centred cosine ± standard deviation, by {model['model']}, {model['dimensions']} dimensions"
    shown = [(each["kind"], each["cosine_beyond_neighbours"]) for each in rows]
    shown.append(("random pairs", base["random_beyond_neighbours"]))
    bars = [(name, each["mean"], f"{each['mean']:.4f}") for name, each in shown if each]
    chart = charts.bars("Closeness of turns beyond neighbours", bars)
    return table(caption, head, cells) + figure(chart, "Mean centred cosine of pairs that are not neighbours")


def _retrieval(result: dict[str, Any]) -> str:
    measures = ("r_at_1", "r_at_5", "mrr", "span_iou", "recall_1000", "recall_2000", "recall_4000", "recall_8000")
    cells = [
        (row["scheme"], row["channel"], *(f"{row[name]['mean']:.4f}" for name in measures), row["median_rank"])
        for row in result["rows"]
    ]
    head = ("scheme", "channel", "R@1", "R@5", "MRR", "IoU", "1 kB", "2 kB", "4 kB", "8 kB", "median rank")
    caption = f"{result['questions']} questions over the whole record; recall of answering bytes within returned bytes"
    parts = ["<h2>Retrieval</h2>", table(caption, head, cells)]
    return "".join([*parts, *(_graph(row) for row in result["rows"] if "graph" in row)])


def _graph(row: dict[str, Any]) -> str:
    head = ("kinds", "bonus", "first hits", "R@1", "R@5", "MRR", "4 kB", "up", "down", "left the first 5", "came in")
    cells = [
        (
            "control" if each["control"] else ", ".join(each["kinds"]),
            each["bonus"],
            each["first_hits"],
            *(f"{each[name]['mean']:.4f}" for name in ("r_at_1", "r_at_5", "mrr", "recall_4000")),
            len(each["moved_up"]),
            len(each["moved_down"]),
            each["left_the_first_five"],
            each["came_into_the_first_five"],
        )
        for each in row["graph"]
    ]
    step = row["graph"][0]["smallest_step"]
    caption = f"Edges as a bonus: {row['scheme']}, {row['channel']}; the smallest step that can be seen is {step}"
    return table(caption, head, cells)


SECTIONS: dict[str, Callable[[dict[str, Any]], str]] = {
    "ctxarc-bench-relations": _relations,
    "ctxarc-bench-retrieval": _retrieval,
}
"""What makes a section of each kind of result."""
