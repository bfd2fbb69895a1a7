"""The command line as a whole: help, version, global options, refusals, and how a process ends."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import click
import pytest

from ctxarc import __version__
from ctxarc.cli.main import COMMANDS, group, main
from ctxarc.cli.terminal import cell_width

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
    width = max(map(len, COMMANDS))
    for name, entry in COMMANDS.items():
        assert f"  {name:<{width}}  {entry.help}\n" in done.stdout


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
    'RuntimeError("can\'t start new thread")': (6, "ctxarc: NO_MEMORY: "),
    "type('ZstdError', (Exception,), {})('cannot compress: Allocation error : not enough memory')": (
        6,
        "ctxarc: NO_MEMORY: ",
    ),
    "RuntimeError('something else')": (70, "ctxarc: INTERNAL: RuntimeError: something else\nhint: "),
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


# ------------------------------------------------------------------------------------------- what people see


def _help(name: str) -> list[str]:
    with click.Context(group) as parent:
        command = group.get_command(parent, name)
    assert command is not None
    with click.Context(command, info_name=f"ctxarc {name}", max_content_width=80) as context:
        return command.get_help(context).splitlines()


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_fits_a_screen(name: str) -> None:
    lines = _help(name)
    assert lines[0].startswith(f"Usage: ctxarc {name} [OPTIONS]")
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    assert "Global options:" in lines
    if name != "demo":
        assert [line for line in lines if line.startswith(f"    ctxarc {name} ")], "no example"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_a_sentence(name: str) -> None:
    with click.Context(group) as parent:
        command = group.get_command(parent, name)
    assert command is not None
    for option in command.params:
        if isinstance(option, click.Option):
            assert option.help, option.name
            assert option.help[0].isupper(), option.help
            assert option.help.endswith("."), option.help
    assert not [line for line in _help(name) if "<=" in line or "x>" in line]


def on_terminal(*args: str, columns: int = 80, cwd: Path, **environment: str) -> tuple[int, str]:
    """One call whose stdout is a terminal of that width; its status, and what the terminal got."""
    ours, theirs = pty.openpty()
    variables = {"COLUMNS": str(columns), "TERM": "xterm", "NO_COLOR": "1", **environment}
    with subprocess.Popen(
        [sys.executable, "-m", "ctxarc", *args],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **variables},
    ) as process:
        os.close(theirs)
        got = b""
        with contextlib.suppress(OSError):  # Linux reports the end of a terminal so
            while piece := os.read(ours, 65536):
                got += piece
    os.close(ours)
    return process.returncode, got.decode().replace("\r\n", "\n")


def turn(text: str, role: str = "user") -> str:
    message = {"role": role, "content": text}
    record = {"type": role, "sessionId": "s", "timestamp": "2026-03-04T05:06:07.000Z", "message": message}
    return json.dumps(record, ensure_ascii=False) + "\n"


LONG = "projects/-home-someone-orchard/0d5e1c52-7f3a-4c6e-9b1d-2a4f6c8e0b13"


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    """A folder with an archive ``a.ctxa`` of two transcripts, and their sources below ``src``."""
    long = tmp_path / "src" / f"{LONG}.jsonl"
    long.parent.mkdir(parents=True)
    long.write_text(turn("蘋果的收成 " * 30) + turn("about pears " * 30, "assistant"), encoding="utf-8")
    (tmp_path / "src" / "odd.jsonl").write_text(turn("plums") + "\nno json\n" + '{"type":"us', encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "ctxarc", "capture", "a.ctxa", "src"],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert done.stderr == "next: ctxarc ls a.ctxa\n"
    assert "last line unfinished, 1 line not JSON, 1 blank line" in done.stdout
    return tmp_path


@pytest.mark.parametrize("columns", [80, 100, 200])
@pytest.mark.parametrize(
    "args", [["ls"], ["ls", "--captures"], ["log"], ["info"], ["find", "e"], ["find", "-t", "蘋果"]]
)
def test_on_a_terminal_every_line_fits(args: list[str], columns: int, shelf: Path) -> None:
    status, shown = on_terminal(args[0], "a.ctxa", *args[1:], columns=columns, cwd=shelf)
    assert status == 0
    assert [line for line in shown.splitlines() if cell_width(line) > columns] == []
    assert "odd" in shown or args[-1] == "蘋果" or args == ["info"]


def test_a_session_name_stays_whole_at_80_columns(tmp_path: Path) -> None:
    name = "0d5e1c52-7f3a-4c6e-9b1d-2a4f6c8e0b13"
    (tmp_path / f"{name}.jsonl").write_text(turn("plums"), encoding="utf-8")
    status, shown = on_terminal("capture", "a.ctxa", f"{name}.jsonl", cwd=tmp_path)
    assert (status, name in shown) == (0, True)
    assert name in on_terminal("ls", "a.ctxa", cwd=tmp_path)[1]


def test_a_pipe_gets_whole_lines(shelf: Path) -> None:
    done = run("ls", str(shelf / "a.ctxa"))
    assert LONG in done.stdout
    assert "…" not in run("find", str(shelf / "a.ctxa"), "pears", "-m", "1").stdout


def test_find_marks_matches_on_a_terminal_only(shelf: Path) -> None:
    red = "\x1b[31m\x1b[1m"
    for args in (["pears"], ["-i", "PEARS"], ["-E", "p[aeiou]+rs"], ["-t", "pears"]):
        status, shown = on_terminal("find", "a.ctxa", *args, "-m", "1", cwd=shelf, NO_COLOR="")
        assert status == 0
        assert f"{red}pears\x1b[0m" in shown
        assert "\x1b" not in on_terminal("find", "a.ctxa", *args, "-m", "1", cwd=shelf)[1]
        assert "\x1b" not in run("find", str(shelf / "a.ctxa"), *args).stdout
    assert on_terminal("find", "a.ctxa", "-E", "(?L)pears", "-m", "1", cwd=shelf)[0] == 0


def test_find_on_a_terminal_refuses_what_it_refuses_elsewhere(shelf: Path) -> None:
    assert on_terminal("find", "a.ctxa", "-E", "(", cwd=shelf) == (2, "")
    assert on_terminal("find", "a.ctxa", "cherries", cwd=shelf) == (1, "")


def test_verify_says_in_words_what_it_found_and_did_not_check(shelf: Path) -> None:
    archive = shelf / "a.ctxa"
    lines = run("verify", str(archive)).stdout.splitlines()
    assert lines[0] == f"{archive}: ok"
    assert lines[2].startswith("checked      every byte: 2 transcripts, 6 turns, ")
    assert lines[-1] == "not checked  nothing"
    assert "headers only" in run("verify", str(archive), "--quick").stdout
    (archive / "stray").write_bytes(b"x")
    done = run("verify", str(archive))
    assert done.returncode == 1
    assert "LEFTOVER  stray\n  harmless, " in done.stdout
    assert done.stderr == ""
    (pack,) = (archive / "pack").iterdir()
    data = bytearray(pack.read_bytes())
    data[len(data) // 2] ^= 1
    pack.write_bytes(data)
    done = run("verify", str(archive))
    assert (done.returncode, done.stdout.splitlines()[0]) == (1, f"{archive}: 2 findings")
    assert f"\nCHECKSUM_MISMATCH  pack/{pack.name}\n  the file has changed since it was written" in done.stdout
    assert done.stderr.startswith("hint: restore ")
    assert run("verify", str(archive), "-q").stderr == ""


def test_a_damaged_head_does_not_pass_for_an_empty_archive(shelf: Path) -> None:
    (shelf / "a.ctxa" / "HEAD").write_bytes(b"garbage")
    done = run("verify", str(shelf / "a.ctxa"))
    assert done.returncode == 1
    assert (
        "digest       unknown, since HEAD cannot be read\nchecked      what can be read without HEAD\n" in done.stdout
    )


def test_what_was_left_out_is_said_by_every_report(tmp_path: Path) -> None:
    source, archive = tmp_path / "s.jsonl", str(tmp_path / "a.ctxa")
    source.write_text("".join(turn(f"apple {number}") for number in range(9)), encoding="utf-8")
    done = run("capture", archive, str(source), "--max-bytes", "400", "--allow-truncation")
    words = next(line for line in done.stdout.splitlines() if line.startswith("incomplete  bytes 0 to "))
    said = words.removeprefix("incomplete  ")
    assert run("info", archive).stdout.count(f"incomplete   s: {said}\n") == 1
    verified = run("verify", archive).stdout
    assert f"incomplete   s: {said}\n" in verified
    assert "not checked  bytes 0 to " in verified
    assert "(incomplete)" in run("ls", archive).stdout
    assert said in run("extract", archive, "-C", str(tmp_path / "out")).stderr


def test_refused_sources_come_last_with_their_hints(shelf: Path) -> None:
    (shelf / "src" / "odd.jsonl").write_text(turn("cherries"), encoding="utf-8")
    (shelf / "src" / "new.jsonl").write_text(turn("quinces"), encoding="utf-8")
    planned = run("capture", str(shelf / "a.ctxa"), str(shelf / "src"), "--dry-run")
    assert planned.returncode == 0
    done = run("capture", str(shelf / "a.ctxa"), str(shelf / "src"))
    assert done.returncode == 3
    said, hint, last = done.stderr.splitlines()
    assert said.startswith("ctxarc: NAME_TAKEN: odd: ")
    assert hint.startswith("hint: ")
    assert last == "1 of 3 sources refused, for the reasons above; the others are stored"
    assert planned.stderr.splitlines()[:2] == [said, hint]
    assert "1 transcript unchanged" in done.stdout


def test_a_dry_run_shows_the_days_that_are_left(tmp_path: Path) -> None:
    session = tmp_path / "claude" / "projects" / "p" / "s.jsonl"
    session.parent.mkdir(parents=True)
    session.write_text(turn("plums"), encoding="utf-8")
    args = ("capture", str(tmp_path / "a.ctxa"), str(session.parent.parent), "--dry-run")
    head, row = run(*args, CLAUDE_CONFIG_DIR=str(tmp_path / "claude")).stdout.splitlines()
    assert head.split() == ["transcript", "status", "size", "new", "days", "left"]
    assert (row.split()[:2], int(row.split()[-1]) in {29, 30}) == (["p/s", "new"], True)
    assert "days" not in run(*args, CLAUDE_CONFIG_DIR=str(tmp_path / "other")).stdout
    assert not (tmp_path / "a.ctxa").exists()


def test_what_is_noted_comes_behind_what_is_printed(shelf: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ctxarc", "extract", "a.ctxa", "-C", "out"],
        cwd=shelf,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=True,
    )
    assert done.stdout.splitlines()[-1].startswith("2 files, ")


def test_an_interrupt_ends_quietly(shelf: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "ctxarc", "capture", "a.ctxa", "-", "--name", "n"],
        cwd=shelf,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        process.stdin.write(b"x" * (1 << 20))  # more than a pipe holds: when this returns, it is being read
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, out, err) == (130, b"", b"")


def test_an_interrupt_while_the_program_is_loaded_ends_quietly_too(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("raise KeyboardInterrupt\n", encoding="utf-8")
    words = [sys.executable, "-m", "ctxarc", "--version"]
    done = subprocess.run(words, env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")
