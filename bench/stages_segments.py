"""The stage about segments: cutting beside the peer's functions, the whole command, the index, and the export."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

from bench.common import Figure, NotMeasured, Program, Result, Timing, bytes_of, describe_input, run, run_in_turn
from bench.setting import Setting, ratio, unmeasured

TURNS = """
import sys, time
turns = list(dict.fromkeys(line + b"\\n" for line in open(sys.argv[1], "rb").read().split(b"\\n") if line))
"""
CUT = """
best, begun = 1e9, time.perf_counter()
while time.perf_counter() - begun < 1:
    start = time.perf_counter()
    for turn in turns:
        cut(turn)
    best = min(best, time.perf_counter() - start)
print(best)
"""
OURS = TURNS + "from ctxarc.auxiliary.segments import SCHEMES\ncut = SCHEMES[sys.argv[2]].cut\n" + CUT
PEERS = TURNS + "from anla1.segment import SCHEMES\ncut = SCHEMES[sys.argv[2]]\n" + CUT
OUR_VIEWS = """
from ctxarc.auxiliary.projection import views
from ctxarc.auxiliary.segments import SCHEMES
cuts = [(turn, SCHEMES[sys.argv[2]].cut(turn)) for turn in turns]
start = time.perf_counter()
for turn, ends in cuts:
    for view in views(turn, ends):
        pass
print(time.perf_counter() - start)
"""
PEERS_VIEWS = """
from anla1.segment import build_index, project_segment
named = {str(number): turn for number, turn in enumerate(turns)}
segments = build_index(named.items(), sys.argv[2]).segments
start = time.perf_counter()
for segment in segments:
    project_segment(segment, named[segment.source_turn], **{check})
print(time.perf_counter() - start)
"""
OPEN = """
import sys, time
from pathlib import Path
from ctxarc.auxiliary.segments.index import Index
start = time.perf_counter()
Index(Path(sys.argv[1]), sys.argv[2])
print(time.perf_counter() - start)
"""
CHANGEPOINT, STRUCTURAL, SIZED, BOUNDARY = "changepoint-v1", "structural-v1", "sized-900-v1", "boundary-v1"
BOUNDARY_BAR = round(206 / 150, 4)
"""The least that is asked of boundary-v1, 150 MB/s, where the peer's structural scheme does 206."""
OPEN_BAR = 5.0
"""Milliseconds."""


class Script:
    """A program that measures itself: it prints its best pass in seconds; start-up and reading are no part of it."""

    def __init__(self, label: str, python: str, code: str, *arguments: str | Path) -> None:
        self.label = label
        self._command = (python, "-c", code, *map(str, arguments))

    def seconds(self) -> float:
        """Run it once."""
        return float(run(self._command, output=True))


def _in_turn(scripts: Sequence[Script], runs: int) -> dict[str, Timing]:
    seconds: dict[str, list[float]] = {script.label: [] for script in scripts}
    for _ in range(runs):
        for script in scripts:
            seconds[script.label].append(script.seconds())
    return {label: Timing(f"{label}, in process", tuple(taken)) for label, taken in seconds.items()}


def segments(setting: Setting) -> Result:
    """Cutting, indexing and exporting the main transcript, in process and as whole commands."""
    source = setting.source
    result = Result(inputs=[describe_input(source)])
    archive = setting.captured("t.ctxa", source)
    _functions(setting, result)
    _command(setting, result)
    run([setting.tools.ctxarc, "segment", archive, "--scheme", CHANGEPOINT])
    _index(setting, result, archive)
    _export(setting, result, archive)
    return result


def _peer_python(setting: Setting) -> str:
    return str(Path(setting.tools.need_peer()).with_name("python"))


def _compare(
    setting: Setting,
    result: Result,
    scripts: list[Script],
    runs: int,
    figures: Sequence[tuple[str, str, str, float | None]],
) -> None:
    timings = _in_turn(scripts, setting.runs(runs))
    for name, ours, other, bar in figures:
        result.figures.append(ratio(name, (ours, timings[ours]), (other, timings[other]), bar))
    result.raw |= {label: timing.record() for label, timing in timings.items()}


def _functions(setting: Setting, result: Result) -> None:
    """The functions that cut, beside the peer's of the same name; boundary-v1 beside the peer's structural one."""
    pairs = [(CHANGEPOINT, CHANGEPOINT, round(1 / 6, 4)), (STRUCTURAL, STRUCTURAL, 1.0), (SIZED, SIZED, 1.0)]
    pairs.append((BOUNDARY, STRUCTURAL, BOUNDARY_BAR))
    if setting.tools.peer is None:
        result.figures += [unmeasured(f"cut by {ours}", "x", bar, setting.tools.peer_missing) for ours, _, bar in pairs]
        return
    scripts = [Script(name, setting.tools.python, OURS, setting.source, name) for name, _, _ in pairs]
    scripts += [
        Script(f"anla1 {name}", _peer_python(setting), PEERS, setting.source, name)
        for name in (CHANGEPOINT, STRUCTURAL, SIZED)
    ]
    figures = [(f"cut by {ours} : anla1 {theirs}", ours, f"anla1 {theirs}", bar) for ours, theirs, bar in pairs]
    _compare(setting, result, scripts, 5, figures)


def _command(setting: Setting, result: Result) -> None:
    """``segment`` as a whole process beside the peer's, each time anew: with the words, as it is unless said, and not.

    The peer looks up no words.
    """
    tools, scratch = setting.tools, setting.scratch
    anew = (tools.ctxarc, "segment", str(scratch / "t.ctxa"), "--scheme", CHANGEPOINT, "--rebuild")
    ours = [Program("ctxarc segment", anew), Program("ctxarc segment --no-words", (*anew, "--no-words"))]
    bars = (0.2, None)
    peer = "anla1 context segment"
    if tools.peer is None:
        result.figures.append(unmeasured(f"segment : {peer}", "x", bars[0], tools.peer_missing))
        return
    kept = scratch / "t.anla"
    run(tools.peer_capture(kept, setting.source))
    theirs = Program(peer, (tools.peer, "context", "segment", str(kept), "--scheme", CHANGEPOINT))
    timings = run_in_turn([*ours, theirs], setting.runs(5))
    for program, bar in zip(ours, bars, strict=True):
        name = f"{program.label.removeprefix('ctxarc ')} : {peer}"
        result.figures.append(ratio(name, (program.label, timings[program.label]), (peer, timings[peer]), bar))
    result.raw |= {label: timing.record() for label, timing in timings.items()}


def _index(setting: Setting, result: Result, archive: Path) -> None:
    """What an index weighs beside the peer's JSON, its words beside the transcript, and the time to open it."""
    size = bytes_of(archive / "segments" / CHANGEPOINT)
    theirs = setting.scratch / f"t.segments-{CHANGEPOINT}.json"
    name = "index : anla1 index"
    if theirs.is_file():
        detail = f"{size:,} B, {bytes_of(theirs):,} B"
        result.figures.append(Figure(name, round(size / bytes_of(theirs), 4), "x", 0.1, detail))
    else:
        result.figures.append(unmeasured(name, "x", 0.1, setting.tools.peer_missing or "the peer wrote no index"))
    words = bytes_of(archive / "words" / CHANGEPOINT)
    source = setting.source.stat().st_size
    result.figures.append(
        Figure("word index : transcript", round(words / source, 4), "x", None, f"{words:,} B, {source:,} B")
    )
    script = Script("open", setting.tools.python, OPEN, archive, CHANGEPOINT)
    taken = [1000 * script.seconds() for _ in range(setting.runs(15))]
    result.figures.append(Figure("open an index", round(statistics.median(taken), 3), "ms", OPEN_BAR))
    result.raw["open an index, ms"] = [round(each, 3) for each in taken]


def _export(setting: Setting, result: Result, archive: Path) -> None:
    """The whole export, and the projection alone, beside the peer's projection of its own segments."""
    bar = round(1 / 3, 4)
    if setting.tools.peer is None:
        result.figures.append(unmeasured("export : anla1 project_segment", "x", bar, setting.tools.peer_missing))
        return
    python = _peer_python(setting)
    checked = TURNS + PEERS_VIEWS.replace("{check}", "{}")
    unchecked = TURNS + PEERS_VIEWS.replace("{check}", "{'check': False}")
    scripts = [
        Script("views", setting.tools.python, TURNS + OUR_VIEWS, setting.source, CHANGEPOINT),
        Script("anla1 project_segment", python, checked, setting.source, CHANGEPOINT),
        Script("anla1 project_segment, digests unchecked", python, unchecked, setting.source, CHANGEPOINT),
    ]
    export = Program("ctxarc export", (setting.tools.ctxarc, "export", str(archive), "--scheme", CHANGEPOINT))
    if not run(export.argv, output=True):
        raise NotMeasured("ctxarc export prints nothing")
    timings = _in_turn(scripts, setting.runs(5)) | run_in_turn([export], setting.runs(5))
    peer = "anla1 project_segment"
    for ours, theirs, most in (
        ("ctxarc export", peer, bar),
        ("views", peer, bar),
        ("views", f"{peer}, digests unchecked", None),
    ):
        result.figures.append(ratio(f"{ours} : {theirs}", (ours, timings[ours]), (theirs, timings[theirs]), most))
    result.raw |= {label: timing.record() for label, timing in timings.items()}
