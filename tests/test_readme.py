"""The README's commands print what it shows, its Python runs, its other snippets parse, and its tables are complete.

In a ``console`` block a line that begins with ``$ `` is a command, lines with ``> `` continue it, and the rest is what
it prints, stdout and stderr, letter for letter; a line ``...`` stands for any lines. All blocks run in one folder, in
order. The transcript they begin with is made here, since its lines are too long to read well.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest
from archives import store

from ctxarc.cli.main import COMMANDS
from ctxarc.errors import every_refusal

README = Path(__file__).resolve().parent.parent / "README.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BASH = shutil.which("bash")
SEPARATOR = "\x1e"


class Block(NamedTuple):
    language: str
    text: str


class Call(NamedTuple):
    """A command of a console block, and the lines that it prints."""

    command: str
    printed: list[str]


BLOCKS = [Block(*match) for match in BLOCK.findall(README.read_text(encoding="utf-8"))]


def blocks(*languages: str) -> list[str]:
    return [block.text for block in BLOCKS if block.language in languages]


def calls(text: str) -> list[Call]:
    found: list[Call] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append(Call(line[2:], []))
        elif line.startswith("> ") and not found[-1].printed:
            found[-1] = Call(f"{found[-1].command}\n{line[2:]}", [])
        else:
            found[-1].printed.append(line)
    return found


def as_shown(shown: list[str], printed: str) -> bool:
    """Whether lines are what a block shows."""
    lines = ["(?:.*\n)*" if line == "..." else re.escape(line) + "\n" for line in shown]
    return re.fullmatch("".join(lines), printed) is not None


def said(role: str, time: str, text: str) -> str:
    message = {"role": role, "content": text}
    return json.dumps({"type": role, "timestamp": f"2026-03-04T{time}Z", "message": message}, separators=(",", ":"))


def make_transcript(folder: Path) -> None:
    """The session as it is first captured: its last line is still being written."""
    lines = [
        said("user", "09:10:00", "The import fails on 31/01/2025. Why?"),
        said("assistant", "09:10:09", 'It reads the month first:\n\n    "%m/%d/%Y"'),
        said("user", "09:11:30", "Then read the day first."),
        '{"type":"assistant","timestamp":"2026-03-04T09:1',
    ]
    (folder / "session.jsonl").write_bytes("\n".join(lines).encode())


def environment(home: Path, locale: str) -> dict[str, str]:
    scripts = sysconfig.get_path("scripts")
    return {"PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}", "HOME": str(home), "LC_ALL": locale, "TERM": "dumb"}


def run(text: str, folder: Path, locale: str) -> list[str]:
    """What each command of a console block prints, run in one shell; ``$?`` is that of the command before."""
    steps = [f"{call.command}\ns=$?; printf '\\036'; (exit $s)\n" for call in calls(text)]
    done = subprocess.run(
        [str(BASH), "-c", "exec 2>&1\n" + "".join(steps)],
        cwd=folder,
        env=environment(folder, locale),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return done.stdout.split(SEPARATOR)[:-1]


def go_through(folder: Path, locale: str) -> list[str]:
    """Run every console block in ``folder``; what differs from the page."""
    make_transcript(folder)
    found = []
    for text in blocks("console"):
        printed = run(text, folder, locale)
        assert len(printed) == len(calls(text)), text
        for call, lines in zip(calls(text), printed, strict=True):
            if not as_shown(call.printed, lines):
                found.append(f"$ {call.command}\n{lines}")
    return found


needs_bash = pytest.mark.skipif(BASH is None, reason="the README's commands are for a POSIX shell")


@needs_bash
@pytest.mark.parametrize("locale", ["C.UTF-8", "C"])
def test_the_commands_print_what_the_page_shows(locale: str, tmp_path: Path) -> None:
    assert len(blocks("console")) >= 4
    assert "\n".join(go_through(tmp_path, locale)) == ""


@needs_bash
def test_the_python_runs_on_the_archive_that_the_commands_made(tmp_path: Path) -> None:
    go_through(tmp_path, "C.UTF-8")
    (text,) = blocks("python")
    done = subprocess.run(
        [sys.executable, "-c", text], cwd=tmp_path, capture_output=True, encoding="utf-8", check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "HISTORY_REWRITTEN" in done.stdout


@needs_bash
@pytest.mark.parametrize("text", blocks("sh"))
def test_other_shell_snippets_parse(text: str) -> None:
    commands = re.sub(r"^(?:[\d*]+ ){5}", "", text, flags=re.MULTILINE)  # the five fields of a line of cron
    done = subprocess.run([str(BASH), "-n"], input=commands, capture_output=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_hooks_are_json_and_call_the_command_that_reads_them() -> None:
    hooks = next(found["hooks"] for found in map(json.loads, blocks("json")) if "hooks" in found)
    assert set(hooks) == {"Stop", "PreCompact", "SessionEnd"}
    for event in hooks.values():
        ((hook,),) = (entry["hooks"] for entry in event)
        assert hook["type"] == "command"
        assert re.fullmatch(r"ctxarc capture \S+ --hook", hook["command"])


def registrations() -> list[list[str]]:
    """The commands by which clients start the server, as the page tells each of three clients."""
    (toml,) = (tomllib.loads(text)["mcp_servers"]["ctxarc"] for text in blocks("toml"))
    (other,) = (found["mcpServers"]["ctxarc"] for found in map(json.loads, blocks("json")) if "mcpServers" in found)
    (typed,) = re.findall(r"^claude mcp add ctxarc -- (.*)$", README.read_text(encoding="utf-8"), re.MULTILINE)
    return [shlex.split(typed), [toml["command"], *toml["args"]], [other["command"], *other["args"]]]


@pytest.mark.parametrize("number", range(3))
def test_a_client_that_is_registered_as_shown_reaches_the_archive(number: int, tmp_path: Path) -> None:
    pytest.importorskip("mcp", reason="the package mcp is not installed: pip install 'ctxarc[mcp]'")
    from mcp_client import connected, portal  # noqa: PLC0415 - only where the package is there

    archive = tmp_path / "sessions.ctxa"
    store(archive, said("user", "09:10:00", "Where is the harbour pilot?").encode() + b"\n")
    program, *args = registrations()[number]
    assert (program, args[0]) == ("ctxarc", "mcp")
    here = [re.sub(r"^(?:~|/home/me)(?:/archives$)?", str(tmp_path), arg) for arg in args[1:]]
    with portal() as running, connected(running, *here, cwd=tmp_path) as client:
        named = {} if str(archive) in here else {"archive": "sessions.ctxa"}
        answer = client.call("context_address", query="harbour pilot", **named)
        assert [hit["turn"] for hit in answer["hits"]] == [0]
        assert ("context_capture" in client.tools) == ("--read-only" not in here)
        assert (len(client.tools) == 5) == ("loop" in here)


def test_no_block_goes_untested() -> None:
    assert {block.language for block in BLOCKS} <= {"console", "python", "sh", "json", "toml"}
    assert README.read_text(encoding="utf-8").count("```") == 2 * len(BLOCKS)


def test_every_refusal_is_listed_with_its_status() -> None:
    rows = re.findall(r"^\| (\d+) \|.*\|(.*)\|$", README.read_text(encoding="utf-8"), re.MULTILINE)
    listed = {code: int(status) for status, codes in rows for code in re.findall("`([A-Z_]+)`", codes)}
    assert {"LEFTOVER": 1, "SOURCE_DIFFERS": 1} | {kind.code: kind("").status for kind in every_refusal()} == listed


def test_every_command_is_mentioned() -> None:
    text = README.read_text(encoding="utf-8")
    assert [name for name in COMMANDS if not re.search(rf"(?:ctxarc (?:-q )?|`){name}\b", text)] == []


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        (["a", "..."], "a\n", True),
        (["a", "...", "d"], "a\nb\nc\nd\n", True),
        (["a"], "a\nb\n", False),
        (["a."], "ab\n", False),
        (["a"], "a", False),
    ],
)
def test_lines_are_compared_letter_for_letter(shown: list[str], printed: str, *, same: bool) -> None:
    assert as_shown(shown, printed) is same
