"""Stages about time, each side a whole process: start-up, capture, one turn, verify."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench.common import (
    NotMeasured,
    Program,
    Result,
    describe_input,
    file_sha256,
    run,
    run_in_turn,
)
from bench.generate import write_distinct
from bench.setting import Setting, ratio, remove, unmeasured
from bench.tools import zstd

MIDDLE_TURN = 1775
CAPTURE_PEER_BAR = round(1 / 6, 4)


def _compared(
    setting: Setting,
    result: Result,
    programs: list[Program],
    runs: int,
    figures: Sequence[tuple[str, str, str, float | None]],
) -> None:
    """Run the programs in turn and add a figure for each (name, our label, other label, bar) that was measured."""
    timings = run_in_turn(programs, setting.runs(runs))
    for name, ours, other, bar in figures:
        if other in timings:
            result.figures.append(ratio(name, (ours, timings[ours]), (other, timings[other]), bar))
        else:
            result.figures.append(unmeasured(name, "x", bar, setting.tools.peer_missing))
    result.raw |= {label: timing.record() for label, timing in timings.items()}


def startup(setting: Setting) -> Result:
    """``ctxarc --help`` beside the least that a click program costs."""
    tools, result = setting.tools, Result()
    programs = [
        Program("ctxarc --help", (tools.ctxarc, "--help")),
        Program("import click", tools.import_click()),
    ]
    if tools.peer:
        programs.append(Program("anla1 --help", (tools.peer, "--help")))
    figures = [
        ("ctxarc --help : python -c 'import click'", "ctxarc --help", "import click", 1.8),
        ("ctxarc --help : anla1 --help", "ctxarc --help", "anla1 --help", None),
    ]
    _compared(setting, result, programs, 31, figures)
    return result


def capture(setting: Setting) -> Result:
    """Capture into a new archive beside the peer's capture and zstd, each time into nothing."""
    tools, source, scratch = setting.tools, setting.source, setting.scratch
    result = Result(inputs=[describe_input(source)])
    setting.captured("proof.ctxa", source)
    packed = (*zstd("-9", "--long=27", "-T2", "-f", "-o"), str(scratch / "t.zst"), str(source))
    programs = [
        Program("ctxarc capture", tools.capture(scratch / "t.ctxa", source), setting.fresh("t.ctxa")),
        Program("zstd -9 --long=27 -T2", packed, setting.fresh("t.zst")),
    ]
    if tools.peer:
        programs.append(
            Program("anla1 context capture", tools.peer_capture(scratch / "t.anla", source), setting.fresh("t.anla"))
        )
    figures = [
        ("capture : anla1 context capture", "ctxarc capture", "anla1 context capture", CAPTURE_PEER_BAR),
        ("capture : zstd -9 --long=27 -T2", "ctxarc capture", "zstd -9 --long=27 -T2", 3.0),
    ]
    _compared(setting, result, programs, 9, figures)
    return result


def cat(setting: Setting) -> Result:
    """One turn, from the middle and the last, beside the least that a click program costs and beside the peer."""
    tools, source = setting.tools, setting.source
    archive = setting.captured("t.ctxa", source)
    result = Result(inputs=[describe_input(source)])
    last = int(str(result.inputs[0]["lines"])) - 1
    labels = {turn: f"ctxarc cat, turn {turn}" for turn in (MIDDLE_TURN, last)}
    for turn in labels:
        _need_turn(setting, archive, turn)
    programs = [Program(label, (tools.ctxarc, "cat", str(archive), str(turn))) for turn, label in labels.items()]
    programs.append(Program("import click", tools.import_click()))
    if tools.peer:
        kept = setting.scratch / "t.anla"
        run(tools.peer_capture(kept, source))
        path = tools.peer_turn_path(kept, MIDDLE_TURN)
        programs.append(Program("anla1 context expand", (tools.peer, "context", "expand", str(kept), path)))
    figures = [
        *(
            (f"cat, turn {turn} : python -c 'import click'", label, "import click", 2.2)
            for turn, label in labels.items()
        ),
        (f"cat, turn {MIDDLE_TURN} : anla1 context expand", labels[MIDDLE_TURN], "anla1 context expand", None),
    ]
    _compared(setting, result, programs, 21, figures)
    return result


def _need_turn(setting: Setting, archive: Path, turn: int) -> None:
    with setting.source.open("rb") as lines:
        wanted = next(line for number, line in enumerate(lines) if number == turn)
    if run([setting.tools.ctxarc, "cat", archive, str(turn)], output=True) != wanted:
        raise NotMeasured(f"ctxarc cat does not give turn {turn} back")


def verify(setting: Setting) -> Result:
    """A full verify beside unpacking and hashing the same bytes with stock tools, and beside the peer's verify."""
    joined = setting.scratch / "joined.jsonl"
    write_distinct(setting.corpus, joined, setting.amount.joined)
    result = Result(inputs=[describe_input(joined, "the corpus joined over and over, each turn distinct")])
    archive = setting.captured("joined.ctxa", joined)
    packed = setting.scratch / "joined.zst"
    run([*zstd("-9", "--long=27", "-f", "-o"), str(packed), str(joined)])
    shell = ("/bin/sh", "-c", '"$0" -dc "$1" | sha256sum', zstd()[0], str(packed))
    if run(shell, output=True).split()[0].decode() != file_sha256(joined):
        raise NotMeasured("zstd -dc | sha256sum does not give the source's digest")
    remove(joined)
    ours = f"ctxarc verify, {setting.amount.joined // 1_000_000} MB"
    programs = [
        Program(ours, (setting.tools.ctxarc, "verify", str(archive))),
        Program("zstd -dc | sha256sum", shell, shown="zstd -dc joined.zst | sha256sum"),
    ]
    _compared(
        setting,
        result,
        programs,
        9,
        [("verify : zstd -dc | sha256sum, the same bytes", ours, "zstd -dc | sha256sum", 2.0)],
    )
    _verify_beside_the_peer(setting, result)
    return result


def _verify_beside_the_peer(setting: Setting, result: Result) -> None:
    tools, source = setting.tools, setting.source
    result.inputs.append(describe_input(source))
    programs = [Program("ctxarc verify", (tools.ctxarc, "verify", str(setting.captured("t.ctxa", source))))]
    if tools.peer:
        kept = setting.scratch / "t.anla"
        run(tools.peer_capture(kept, source))
        programs.append(Program("anla1 verify", (tools.peer, "verify", str(kept))))
    _compared(setting, result, programs, 9, [("verify : anla1 verify, 16 MiB", "ctxarc verify", "anla1 verify", None)])
