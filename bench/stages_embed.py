"""The stage about embedding: the whole loop with the local model, beside that model alone on the same texts."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from bench.common import Figure, NotMeasured, Program, Result, describe_input, run, run_in_turn
from bench.setting import Setting, ratio, remove, unmeasured

SCHEMES = ("boundary-v1", "changepoint-v1")
ALONE = """
import subprocess, sys
with open(sys.argv[1], "rb") as texts:
    done = subprocess.run([sys.executable, "-m", "ctxarc.local"], stdin=texts, stdout=subprocess.DEVNULL)
sys.exit(done.returncode)
"""


def embed(setting: Setting) -> Result:
    """``embed`` with ``ctxarc[local]``: how long it takes beside the model itself, and what it stores."""
    result = Result(inputs=[describe_input(setting.source)])
    archive = setting.captured("t.ctxa", setting.source)
    try:
        run([setting.tools.python, "-m", "ctxarc.local", "--query", "is it there?"])
    except NotMeasured as reason:
        result.figures += [
            unmeasured(f"embed, {scheme} : the model alone", "x", None, str(reason)) for scheme in SCHEMES
        ]
        return result
    for scheme in SCHEMES:
        run([setting.tools.ctxarc, "segment", archive, "--scheme", scheme])
        _scheme(setting, result, archive, scheme)
    return result


def _scheme(setting: Setting, result: Result, archive: Path, scheme: str) -> None:
    tools = setting.tools
    texts = setting.scratch / f"{scheme}.ndjson"
    texts.write_bytes(run([tools.ctxarc, "export", archive, "--scheme", scheme, "--distinct"], output=True))
    program = shlex.join([tools.python, "-m", "ctxarc.local"])
    ours = Program(
        f"ctxarc embed, {scheme}",
        (tools.ctxarc, "embed", str(archive), "--scheme", scheme, "--exec", program),
        before=lambda: remove(archive / "vectors"),
        shown=f"ctxarc embed t.ctxa --scheme {scheme} --exec 'python -m ctxarc.local'",
    )
    alone = Program(
        f"the model alone, {scheme}",
        (tools.python, "-c", ALONE, str(texts)),
        shown=f"python -m ctxarc.local < {scheme}.ndjson",
    )
    timings = run_in_turn([ours, alone], setting.runs(3))
    pair = [(each.label, timings[each.label]) for each in (ours, alone)]
    result.figures.append(ratio(f"embed, {scheme} : the model alone", pair[0], pair[1], None))
    done = json.loads(run([*ours.argv, "--json"], output=True))  # nothing is missing: it says what is there
    count = json.loads(texts.open(encoding="utf-8").readline())["segments"]
    seconds = timings[ours.label].median
    detail = f"{count:,} texts for {done['segments_in_index']:,} segments, {count / seconds:,.0f} texts/s"
    result.figures.append(Figure(f"vectors of {scheme}", round(done["vectors_bytes"] / 1e6, 1), "MB", None, detail))
    if done["coverage"] != 1:
        message = f"ctxarc embed covers {done['coverage']} of {scheme}"
        raise NotMeasured(message)
    result.raw |= {label: timing.record() for label, timing in timings.items()}
