"""The command line as a whole: help, version, global options, refusals, and how a process ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import click
import pytest

from ctxarc import __version__
from ctxarc.cli.main import COMMANDS, group, main

HEAVY = {"numpy", "zstandard", "rich", "xxhash", "mcp", "httpx"}


def run(*args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ctxarc", *args],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, **environment},
        check=False,
    )


def refusal(done: subprocess.CompletedProcess[str]) -> dict[str, object]:
    """The refusal that a call printed as its one line of JSON."""
    (line,) = done.stdout.splitlines()
    value = json.loads(line)
    assert (value["schema"], value["ok"], set(value)) == (1, False, {"schema", "ok", "refusal"})
    assert set(value["refusal"]) == {"code", "message", "hint", "facts"}
    found: dict[str, object] = value["refusal"]
    return found


def test_help_names_every_command() -> None:
    done = run("--help")
    assert (done.returncode, done.stderr) == (0, "")
    for name, entry in COMMANDS.items():
        assert f"  {name:<7}  {entry.help}\n" in done.stdout


def test_help_imports_no_command_and_nothing_heavy() -> None:
    code = "import sys; from ctxarc.cli.main import main; main(['--help']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    loaded = set(done.stderr.split())
    assert "click" in loaded
    assert not loaded & {entry.module for entry in COMMANDS.values()}
    assert not {name.partition(".")[0] for name in loaded} & HEAVY
    assert not {name for name in loaded if name.startswith("ctxarc.operations")}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_says_what_the_command_says(name: str) -> None:
    with click.Context(group) as context:
        command = group.get_command(context, name)
    assert command is not None
    assert command.name == name
    assert command.get_short_help_str(limit=200).rstrip(".") == COMMANDS[name].help.rstrip(".")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_the_global_options(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main([name, "-h"]) == 0
    printed = capfd.readouterr().out
    assert all(option in printed for option in ("--json", "-q, --quiet", "--no-color", "--version", "-h, --help"))


@pytest.mark.parametrize("name", ["cat", "log", "find"])
def test_a_command_that_reads_starts_without_rich_and_numpy(name: str) -> None:
    code = f"import sys; from ctxarc.cli.main import main; main([{name!r}, '-h']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    assert not {module.partition(".")[0] for module in done.stderr.split()} & {"rich", "numpy"}


@pytest.mark.parametrize("args", [["--version"], ["ls", "--version"], ["-q", "--version"]])
def test_version(args: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(args) == 0
    assert capfd.readouterr().out == f"ctxarc {__version__}\n"


@pytest.mark.parametrize("args", [["--json", "--version"], ["--version", "--json"], ["ls", "--version", "--json"]])
def test_version_as_json(args: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(args) == 0
    assert json.loads(capfd.readouterr().out) == {"schema": 1, "ok": True, "version": __version__}


def test_the_bare_name_shows_the_help_and_is_a_usage_error() -> None:
    done = run()
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == run("--help").stdout


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["lo", "a.ctxa"], "no such command 'lo'. Did you mean"),
        (["log"], "missing argument 'ARCHIVE'"),
        (["log", "a.ctxa", "-n", "none"], "'none' is not a valid integer range"),
        (["repack", "a.ctxa", "--level", "23"], "23 is not in the range"),
        (["capture", "a.ctxa", "b.jsonl", "--max-bytes", "12q"], "'12q' is no size"),
        (["find", "a.ctxa"], "no pattern to look for"),
        (["find", "a.ctxa", "-F", "-E", "x"], "-F says"),
        (["capture", "a.ctxa"], "no source to capture"),
        (["capture", "a.ctxa", "b.jsonl", "--latest"], "SOURCE and --latest each say what to capture"),
        (["capture", "a.ctxa", "-"], "needs a name"),
        (["capture", "a.ctxa", "b.jsonl", "c.jsonl", "--name", "n"], "--name names one source"),
        (["ls", "a.ctxa", "--captures", "--at", "1"], "--at chooses a state"),
    ],
)
def test_a_usage_error_is_a_refusal(args: list[str], message: str, tmp_path: Path) -> None:
    plain = subprocess.run(
        [sys.executable, "-m", "ctxarc", *args],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (plain.returncode, plain.stdout) == (2, "")
    said, hint = plain.stderr.splitlines()
    assert said.startswith("ctxarc: USAGE: ")
    assert message in said
    assert hint.startswith("hint: ")
    for placed in (["--json", *args], [*args, "--json"]):
        found = refusal(run(*placed))
        assert (found["code"], f"hint: {found['hint']}") == ("USAGE", hint)
        assert message in str(found["message"])
    assert list(tmp_path.iterdir()) == []


def test_a_forgotten_archive_has_a_hint_of_its_own(tmp_path: Path) -> None:
    source = tmp_path / "my session.jsonl"
    source.write_bytes(b"{}\n")
    found = refusal(run("capture", str(source), "--json"))
    assert found["hint"] == f"ctxarc capture 'my session.ctxa' '{source}'"
    found = refusal(run("capture", str(tmp_path / "new.jsonl"), str(source), "--json"))
    assert str(found["hint"]).startswith("ctxarc capture new.ctxa ")
    assert list(tmp_path.iterdir()) == [source]


@pytest.mark.parametrize("placed", [["--json", "log"], ["log", "--json"], ["-q", "log", "--json"]])
def test_an_archive_that_is_not_there(placed: list[str], tmp_path: Path) -> None:
    done = run(*placed, str(tmp_path / "absent.ctxa"))
    assert done.returncode == 5
    assert refusal(done)["code"] == "NO_SUCH_ARCHIVE"
    assert done.stderr == ""


def test_after_two_dashes_json_is_an_argument(tmp_path: Path) -> None:
    done = run("find", str(tmp_path / "absent.ctxa"), "--", "--json")
    assert (done.returncode, done.stdout) == (5, "")


def test_control_characters_in_a_message_are_escaped(tmp_path: Path) -> None:
    done = run("log", str(tmp_path / "a\x1b[31m\n.ctxa"))
    assert "\x1b" not in done.stderr
    assert r"a\x1b[31m\n.ctxa" in done.stderr


@pytest.mark.parametrize("locale", ["C", "POSIX", "C.UTF-8", "en_US.ISO-8859-1"])
def test_output_is_utf8_in_any_locale(locale: str, tmp_path: Path) -> None:
    done = run(
        "log", str(tmp_path / "x.ctxa"), "測試", "--json", LC_ALL=locale, PYTHONUTF8="0", PYTHONCOERCECLOCALE="0"
    )
    assert refusal(done)["code"] == "NO_SUCH_ARCHIVE"


@pytest.mark.parametrize("payload", [b"", b"not json", b"[]", b'{"transcript_path": "/no/such/file.jsonl"}'])
def test_a_hook_never_stops_its_client(payload: bytes, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ctxarc", "capture", str(tmp_path / "a.ctxa"), "--hook", "--json"],
        input=payload,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, b"")
    assert len(done.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_hook_with_a_wrong_option_does_not_stop_its_client_either() -> None:
    done = run("capture", "--hook", "--no-such-option")
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, "", 1)


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_closed_pipe_ends_quietly(unbuffered: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "ctxarc", "--help"],
            stdout=writer,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            check=False,
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("args", [["--version"], ["--version", "--json"], ["lo", "--json"]])
def test_a_full_disk_behind_stdout_is_a_refusal(args: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "ctxarc", *args], stdout=full, stderr=subprocess.PIPE, encoding="utf-8", check=False
        )
    expected = "USAGE" if args[0] == "lo" else "NO_SPACE"
    assert done.returncode == (2 if args[0] == "lo" else 6)
    assert done.stderr.startswith(f"ctxarc: {expected}: ")
    assert len(done.stderr.splitlines()) == 2


def test_a_closed_stdout_is_a_refusal() -> None:
    command = f'exec "{sys.executable}" -m ctxarc --version >&-'
    done = subprocess.run(["/bin/sh", "-c", command], stderr=subprocess.PIPE, encoding="utf-8", check=False)
    assert done.returncode == 6
    assert done.stderr.startswith("ctxarc: IO_FAILED: standard output: ")


FAULTS = {
    "KeyboardInterrupt()": (130, ""),
    "MemoryError()": (6, "ctxarc: NO_MEMORY: "),
    "OSError(28, 'No space left on device', 'a/b')": (6, "ctxarc: NO_SPACE: a/b: No space left on device\nhint: "),
    "RecursionError('deep\\x1b')": (70, "ctxarc: INTERNAL: RecursionError: deep\\x1b\nhint: "),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_no_traceback_reaches_a_user(fault: str) -> None:
    code = f"""
        import sys
        import click
        from ctxarc.cli import main

        @click.command("fault")
        def command():
            raise {fault}

        sys.modules["fault"] = sys.modules[__name__]
        main.COMMANDS["fault"] = main.Entry("fault", "")
        sys.exit(main.main(["fault"]))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, encoding="utf-8", check=False
    )
    status, said = FAULTS[fault]
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr.startswith(said)
    assert len(done.stderr.splitlines()) == (2 if said else 0)


def test_the_demo_shows_every_step_and_ends_well(tmp_path: Path) -> None:
    done = run("demo", "--no-color", TMPDIR=str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    for line in ("$ ctxarc verify work.ctxa", "ctxarc: HISTORY_REWRITTEN: "):
        assert f"\n{line}" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_the_demo_as_json_is_one_object() -> None:
    done = run("demo", "--json")
    value = json.loads(done.stdout)
    assert (done.returncode, done.stderr, value["ok"]) == (0, "", True)
    assert {step["status"] for step in value["steps"]} == {0, 3}
    assert all(step["command"].startswith("ctxarc ") for step in value["steps"])
