"""``ctxarc demo``: the whole loop on a small built-in transcript, in a temporary directory.

Every step is a command as a user types it, run by the same ``main``; what is shown is what it printed.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import shlex
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import click

from ctxarc.cli import main
from ctxarc.cli.demo_transcript import SESSION, first_save, rewritten_save, second_save
from ctxarc.cli.options import Command, common_options
from ctxarc.cli.output import Output

_FILE = f"{SESSION}.jsonl"


class Step(NamedTuple):
    """A command, why it is run, the status it must end with, and the bytes that the session's file has by then."""

    why: str
    command: str
    status: int = 0
    save: bytes | None = None
    digest: bool = False


STEPS = (
    Step("An agent is at work. Store its transcript as it is now, half-written last line included.",
         f"capture work.ctxa {_FILE}", save=first_save()),
    Step("The agent went on. Capture the same file again: only what is new is stored.",
         f"capture work.ctxa {_FILE}", save=second_save()),
    Step("A line a turn. The first column is an address.", "log work.ctxa"),
    Step("Turns as people read them.", "show work.ctxa 7 9"),
    Step("The raw bytes of a turn, verified; their SHA-256 is the turn's digest.", "cat work.ctxa 9", digest=True),
    Step("Find text as people read it: the line breaks and quotes are escapes in the file.",
         """find work.ctxa -t 'first:\n\n    "%m'"""),
    Step("Somebody edits the past. That is refused, and the archive stays as it was.",
         f"capture work.ctxa {_FILE}", status=3, save=rewritten_save()),
    Step("The state after the first capture is still there, torn last line and all.", "log work.ctxa --at 1 -n 2"),
    Step("Check every byte.", "verify work.ctxa"),
)  # fmt: skip


@click.command("demo", cls=Command)
@common_options
def command(out: Output) -> int:
    """Show the whole loop on a small built-in transcript.

    Every step is a real command, run in a temporary directory that is removed afterwards.
    """
    rows, ok = [], True
    with tempfile.TemporaryDirectory(prefix="ctxarc-demo-") as folder, contextlib.chdir(folder):
        for step in STEPS:
            if step.save is not None:
                Path(_FILE).write_bytes(step.save)
            row = _silent(step) if out.json else _narrated(out, step)
            rows.append(row)
            ok = ok and row["status"] == step.status
    if out.json:
        out.object({"steps": rows}, ok=ok)
    elif not ok:
        out.complain("ctxarc demo: a step did not end as it should")
    return 0 if ok else 1


def _narrated(out: Output, step: Step) -> dict[str, object]:
    out.line(out.paint(f"# {step.why}", dim=True))
    out.line(out.paint(f"$ ctxarc {step.command}", bold=True) + (" | sha256sum" if step.digest else ""))
    out.flush()
    if step.digest:
        status, data = _captured(shlex.split(step.command))
        out.line(hashlib.sha256(data).hexdigest())
    else:
        with contextlib.redirect_stderr(sys.stdout):  # one story, in one place
            status = main.main(shlex.split(step.command) + (["--no-color"] if out.no_color else []))
    out.line()
    return {"status": status}


def _silent(step: Step) -> dict[str, object]:
    status, data = _captured([*shlex.split(step.command), "--json"])
    objects = [json.loads(line) for line in data.splitlines()]
    return {"why": step.why, "command": f"ctxarc {step.command}", "status": status, "printed": objects}


def _captured(arguments: list[str]) -> tuple[int, bytes]:
    """Run a command; its status, and what it wrote to stdout."""
    stdout = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(stdout):
        status = main.main(arguments)
    return status, stdout.detach().getvalue()
