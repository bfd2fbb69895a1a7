"""The stage about memory: what capture, cat and verify hold at most, on a long transcript and on one long line."""

from __future__ import annotations

from pathlib import Path

from bench.common import Figure, Result, describe_input, peak_memory
from bench.generate import write_distinct, write_long_line
from bench.setting import Setting, need_output, remove

LARGE_BAR = 250.0


def memory(setting: Setting) -> Result:
    """Peak resident memory on a transcript of many turns (with a bar) and on one of a single line (without)."""
    result, amount = Result(), setting.amount
    large, line = setting.scratch / "large.jsonl", setting.scratch / "line.jsonl"
    write_distinct(setting.corpus, large, amount.large)
    _peaks(setting, result, large, f"a transcript of {amount.large >> 20:,} MiB", LARGE_BAR)
    write_long_line(line, amount.line)
    _peaks(setting, result, line, f"one line of {amount.line >> 20:,} MiB", None)
    return result


def _peaks(setting: Setting, result: Result, source: Path, what: str, bar: float | None) -> None:
    """Measure the three commands on one input, check what cat printed, and make room again."""
    program, archive = setting.tools.ctxarc, setting.scratch / f"{source.stem}.ctxa"
    facts = describe_input(source, what)
    result.inputs.append(facts)
    peaks = {
        "capture": peak_memory(setting.tools.capture(archive, source)),
        "cat": need_output(peak_memory([program, "cat", archive]), str(facts["sha256"]), f"ctxarc cat of {what}"),
        "verify": peak_memory([program, "verify", archive]),
    }
    for verb, peak in peaks.items():
        result.figures.append(Figure(f"{verb}, {what}", peak.mib, "MiB", bar))
        result.raw[f"{verb}, {what}"] = {"peak_resident_mib": peak.mib}
    remove(source)
    remove(archive)
