"""Every command as a program of its own: fields, statuses, refusals, streams, terminals, locales."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from archives import Parts, write_head
from cases import (
    command,
    digest_of,
    environment,
    modes_count,
    noise,
    objects,
    one,
    run,
    said,
    session,
    sha,
    stored,
    turns_of,
)

from ctxarc import __version__
from ctxarc.preservation.lock import Lock
from ctxarc.preservation.record import read_head

DATA = session(6)
TURNS = turns_of(DATA)
TEXT = "apples, remark"


@pytest.fixture(scope="module")
def still(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive that no test changes: two transcripts, one of them incomplete."""
    archive = tmp_path_factory.mktemp("still") / "a.ctxa"
    stored(archive, DATA)
    stored(archive, session(3, "pears"), "t", max_bytes=200, allow_truncation=True)
    return archive


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    stored(tmp_path / "a.ctxa", DATA)
    return tmp_path / "a.ctxa"


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive whose listing fills any pipe, in several packs."""
    archive = tmp_path_factory.mktemp("long") / "a.ctxa"
    made = noise(11)
    stored(
        archive, b"".join(said(f"{TEXT} {made.randbytes(4000).hex()}", second=n % 3000) for n in range(2500)), level=1
    )
    return archive


# ------------------------------------------------------------------------------------------------------------- fields

PLACE = {"transcript", "turn", "start_byte", "end_byte", "turn_sha256", "cite"}
CAPTURED = {
    "transcript",
    "capture",
    "turns",
    "new_turns",
    "source_bytes",
    "source_sha256",
    "complete",
    "omitted",
    "unchanged",
    "not_json",
    "glued",
    "torn",
    "blank",
}
FIELDS: dict[str, tuple[list[str], set[str]]] = {
    "ls": (
        [],
        {
            "transcript",
            "turns",
            "bytes",
            "source_sha256",
            "complete",
            "omitted",
            "first_time",
            "last_time",
            "project",
            "text",
        },
    ),
    "ls --captures": (
        [],
        {"capture", "transcript", "turns", "new_turns", "source_bytes", "source_sha256", "complete", "omitted"},
    ),
    "log": (["s"], {"transcript", "turn", "role", "time", "bytes", "transcript_start_byte", "turn_sha256", "text"}),
    "cat": (["s#1:3-9"], PLACE | {"range_sha256", "digest_verified", "text"}),
    "show": (["s#1"], {"transcript", "turn", "turn_sha256", "digest_verified", "cite"}),
    "find": ([TEXT], PLACE | {"text"}),
    "info": ([], {"archive", "archive_digest", "complete", "omitted"}),
    "verify": (
        [],
        {
            "archive_digest",
            "turns",
            "bytes",
            "checked",
            "not_checked",
            "findings",
            "planes",
            "transcripts",
            "complete",
            "archive",
        },
    ),
}


@pytest.mark.parametrize("name", FIELDS)
def test_a_command_s_json_has_every_field_of_the_contract(name: str, still: Path) -> None:
    args, wanted = FIELDS[name]
    command_, *options = name.split()
    done = run(command_, still, *args, *options, "--json")
    assert done.returncode == 0
    assert not [line for line in done.stderr.splitlines() if b" is incomplete: bytes " not in line]
    rows = objects(done)
    assert rows
    for row in rows:
        assert (row["schema"], row["ok"]) == (1, True)
        assert wanted <= set(row)
        for gap in row.get("omitted", []):
            assert set(gap) == {"start_byte", "end_byte"}


def test_a_capture_of_one_source_has_every_field_of_the_contract(tmp_path: Path) -> None:
    source = tmp_path / "s.jsonl"
    source.write_bytes(DATA)
    got = one(run("capture", tmp_path / "a.ctxa", source, "--json"))
    assert {"schema", "ok", "archive", "archive_digest", "archive_bytes"} | CAPTURED <= set(got)
    assert (got["archive"], got["archive_digest"]) == (str(tmp_path / "a.ctxa"), digest_of(tmp_path / "a.ctxa"))
    assert got["archive_bytes"] == sum(
        path.stat().st_size for path in (tmp_path / "a.ctxa").rglob("*") if path.is_file()
    )
    assert "transcripts" not in got


def test_a_capture_of_several_sources_lists_them(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.jsonl").write_bytes(session(2, name))
    got = one(run("capture", tmp_path / "x.ctxa", tmp_path / "a.jsonl", tmp_path / "b.jsonl", "--json"))
    assert {"schema", "ok", "archive", "archive_digest", "archive_bytes", "transcripts", "refused"} <= set(got)
    assert all(set(each) >= CAPTURED for each in got["transcripts"])
    assert got["refused"] == []


def test_verify_s_lists_have_their_fields(still: Path) -> None:
    got = one(run("verify", still, "--json"))
    assert all(set(each) >= {"transcript", "source_sha256", "complete", "omitted"} for each in got["transcripts"])
    assert got["checked"] == "full"
    assert one(run("verify", still, "--quick", "--json"))["checked"] == "quick"


def test_digests_are_lower_case_hex(still: Path) -> None:
    printed = b"".join(run(name, still, "--json").stdout for name in ("ls", "log", "info", "verify"))
    values = re.findall(rb'"(?:\w*sha256|archive_digest)": "([^"]*)"', printed)
    assert values
    assert all(re.fullmatch(rb"[0-9a-f]{64}", value) for value in values)


@pytest.mark.parametrize("name", ["ls", "log", "info", "verify"])
def test_global_options_stand_before_or_after_the_command(name: str, still: Path) -> None:
    printed = {run(*args).stdout for args in (["--json", name, str(still)], [name, "--json", str(still)])}
    printed.add(run(name, still, "--json").stdout)
    assert len(printed) == 1


def test_the_same_arguments_mean_the_same_by_the_installed_name(still: Path) -> None:
    program = Path(sys.executable).with_name("ctxarc")
    if not program.exists():
        pytest.skip("the program is not installed beside this Python")
    done = subprocess.run([program, "log", still, "--json"], capture_output=True, env=environment(), check=False)
    assert done.stdout == run("log", still, "--json").stdout
    assert run("--version").stdout == f"ctxarc {__version__}\n".encode()


# ----------------------------------------------------------------------------------------------------------- refusals


def damaged(place: str) -> Callable[[Path], list[str]]:
    """Damage the archive, and read it."""

    def make(archive: Path) -> list[str]:
        (pack,) = (archive / "pack").iterdir()
        if place == "mark":
            (archive / "CTXA").write_bytes(b"something else\n")
        elif place == "cut":
            (archive / "objects").write_bytes((archive / "objects").read_bytes()[:-5])
        elif place == "gone":
            pack.unlink()
        else:
            data = bytearray(pack.read_bytes())
            data[len(data) // 2] ^= 1
            pack.write_bytes(data)
        return ["cat", str(archive)]

    return make


def forged(place: str) -> Callable[[Path], list[str]]:
    """Change what the archive says under right checksums, and read it."""

    def make(archive: Path) -> list[str]:
        parts = Parts(archive)
        if place == "turn":
            parts.packs[0] = parts.packs[0].replace(b"remark", b"demark", 1)
            parts.seal()
        elif place == "count":
            head = read_head(archive)
            write_head(archive, head._replace(packs=(head.packs[0]._replace(objects=5),), objects=6))
        elif place == "size":
            head = read_head(archive)
            rows = (head.packs[0]._replace(raw_bytes=1 << 40),)
            write_head(archive, head._replace(packs=rows, object_bytes=1 << 40))
        else:
            later = bytearray((archive / "log").read_bytes())
            later[8] = 2
            (archive / "log").write_bytes(later)
        return ["cat", str(archive)]

    return make


def source(data: bytes, *args: str, name: str = "s") -> Callable[[Path], list[str]]:
    def make(archive: Path) -> list[str]:
        path = archive.parent / f"{name}.jsonl"
        path.write_bytes(data)
        return ["capture", str(archive), str(path), *args]

    return make


def reading(name: str, *args: str) -> Callable[[Path], list[str]]:
    return lambda archive: [name, str(archive), *args]


def twice(archive: Path) -> list[str]:
    stored(archive, session(1), "s-two")
    return ["cat", str(archive), "0"]


def same_name(archive: Path) -> list[str]:
    for folder in ("1", "2"):
        (archive.parent / folder).mkdir()
        (archive.parent / folder / "x.jsonl").write_bytes(folder.encode())
    return ["capture", str(archive), *(str(archive.parent / folder / "x.jsonl") for folder in ("1", "2"))]


def in_the_way(archive: Path) -> list[str]:
    (archive.parent / "s.jsonl").write_bytes(b"mine")
    return ["extract", str(archive), "-C", str(archive.parent)]


def no_archive(archive: Path) -> list[str]:
    return ["log", str(archive.parent / "sources" / "s.jsonl")]


def never_ending(archive: Path) -> list[str]:
    stored(archive, b"a" * 64 + b"b\n", "trap")
    return ["find", str(archive), "-E", "(a+)+$", "--time-limit", "0.2"]


def looping(archive: Path) -> list[str]:
    (archive.parent / "loop.jsonl").symlink_to("loop.jsonl")
    return ["capture", str(archive), str(archive.parent / "loop.jsonl")]


REFUSALS: dict[str, tuple[int, Callable[[Path], list[str]]]] = {
    "USAGE": (2, reading("log", "-n", "none")),
    "BAD_ADDRESS": (2, reading("cat", "nonsense")),
    "BAD_PATTERN": (2, reading("find", "-E", "(")),
    "NOT_LOSSLESS": (3, source(session(9), "--max-bytes", "10")),
    "HISTORY_REWRITTEN": (3, source(DATA[:-5])),
    "NAME_TAKEN": (3, source(session(3, "pears"))),
    "BAD_NAME": (3, source(DATA, "--name", "../s")),
    "DUPLICATE_NAME": (3, same_name),
    "NOT_AN_ARCHIVE": (3, no_archive),
    "AMBIGUOUS": (3, twice),
    "WOULD_OVERWRITE": (3, in_the_way),
    "DIGEST_UNEXPECTED": (3, reading("verify", "--expect", "0" * 64)),
    "PATTERN_TIMEOUT": (3, never_ending),
    "BAD_MAGIC": (4, damaged("mark")),
    "TRUNCATED": (4, damaged("cut")),
    "CHECKSUM_MISMATCH": (4, damaged("flip")),
    "DIGEST_MISMATCH": (4, forged("turn")),
    "INDEX_MISMATCH": (4, forged("count")),
    "LIMIT_EXCEEDED": (4, forged("size")),
    "UNSUPPORTED_VERSION": (4, forged("log")),
    "NO_SUCH_ARCHIVE": (5, lambda archive: ["info", str(archive.parent / "absent")]),
    "NO_SUCH_TRANSCRIPT": (5, reading("log", "absent")),
    "NO_SUCH_TURN": (5, reading("cat", "6")),
    "NO_SUCH_RANGE": (5, reading("cat", "0:5-99999")),
    "NO_SUCH_CAPTURE": (5, reading("ls", "--at", "2")),
    "NO_SUCH_SOURCE": (5, lambda archive: ["capture", str(archive), str(archive.parent / "absent.jsonl")]),
    "IO_FAILED": (6, looping),
}


@pytest.mark.parametrize("code", REFUSALS)
def test_a_refusal_has_its_code_and_status_in_json_and_in_words(code: str, archive: Path) -> None:
    status, make = REFUSALS[code]
    args = make(archive)
    done = run(*args, "--json")
    last = objects(done)[-1]
    assert (done.returncode, done.stderr) == (status, b"")
    assert (set(last), last["ok"]) == ({"schema", "ok", "refusal"}, False)
    refusal = last["refusal"]
    assert (set(refusal), refusal["code"]) == ({"code", "message", "hint", "facts"}, code)
    assert refusal["message"]
    assert not refusal["message"].startswith(code)
    assert isinstance(refusal["facts"], dict)
    done = run(*args)
    said_, *hint = done.stderr.decode().splitlines()
    assert done.returncode == status
    assert said_.startswith(f"ctxarc: {code}: ")
    assert [line.startswith("hint: ") for line in hint] == ([True] if refusal["hint"] else [])
    assert run(*args, "-q").stderr.decode().startswith(f"ctxarc: {code}: ")


def test_a_missing_pack_is_damage_that_names_the_file(archive: Path) -> None:
    done = run(*damaged("gone")(archive), "--json")
    refusal = objects(done)[-1]["refusal"]
    assert (done.returncode, refusal["code"]) == (4, "TRUNCATED")
    assert "pack/" in refusal["message"]


def test_a_lock_that_is_held_is_a_refusal_of_the_environment(archive: Path) -> None:
    with Lock(archive / "record.lock", 0.0):
        done = run("repack", archive, "--lock-wait", "0", "--json")
    assert (done.returncode, one(done)["refusal"]["code"]) == (6, "ARCHIVE_LOCKED")


def test_an_archive_that_may_not_be_read_is_a_refusal_of_the_environment(archive: Path) -> None:
    before = modes_count()
    (archive / "HEAD").chmod(0)
    done = run("ls", archive, "--json", before=before)
    assert (done.returncode, one(done)["refusal"]["code"]) == (6, "PERMISSION_DENIED")


def test_an_archive_below_a_directory_that_may_not_be_entered_is_not_said_to_be_absent(archive: Path) -> None:
    before = modes_count()
    archive.parent.chmod(0o600)
    done = run("ls", archive, "--json", before=before)
    archive.parent.chmod(0o700)
    assert (done.returncode, one(done)["refusal"]["code"]) == (6, "PERMISSION_DENIED")


def test_a_dry_run_refuses_the_place_that_a_capture_would_refuse(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_bytes(DATA)
    for more in ([], ["--dry-run"]):
        done = run("capture", tmp_path / "no" / "such" / "a.ctxa", tmp_path / "s.jsonl", "--json", *more)
        assert (done.returncode, one(done)["refusal"]["code"]) == (5, "NO_SUCH_ARCHIVE")


@pytest.mark.parametrize("args", [["log"], ["cat"], ["find", TEXT], ["show", "s#"]])
def test_rows_that_were_found_come_first_and_the_refusal_last(args: list[str], long: Path, tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    shutil.copytree(long, archive)
    packs = sorted((archive / "pack").iterdir())
    assert len(packs) > 1
    bad = bytearray(packs[-1].read_bytes())
    bad[len(bad) // 2] ^= 1
    packs[-1].write_bytes(bad)
    name, *more = args
    done = run(name, archive, *more, "--json")
    rows = objects(done)
    assert done.returncode == 4
    assert [row["ok"] for row in rows] == [True] * (len(rows) - 1) + [False]
    assert rows[-1]["refusal"]["code"] == "CHECKSUM_MISMATCH"
    if name != "show":
        assert len(rows) > 1
        assert [row["turn"] for row in rows[:-1]] == list(range(len(rows) - 1))
    done = run(name, archive, *more)
    assert (done.returncode, len(done.stderr.splitlines())) == (4, 2)


# ------------------------------------------------------------------------------------------------------------ streams

PRINTING: dict[str, list[str]] = {
    "cat": [],
    "log": [],
    "find": [TEXT],
    "show": ["s#"],
    "cat --json": [],
    "log --json": [],
    "find --json": [TEXT],
}


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("name", PRINTING)
def test_a_reader_that_goes_away_ends_the_command_quietly(name: str, unbuffered: str, long: Path) -> None:
    command_, *options = name.split()
    words = command(command_, long, *PRINTING[name], *options)
    env = environment(PYTHONUNBUFFERED=unbuffered)
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(10)
        process.stdout.close()
        errors = process.stderr.read()
        assert (process.wait(), errors) == (141, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "args", [["cat"], ["log"], ["ls"], ["info"], ["verify"], ["show", "s#"], ["find", TEXT], ["extract", "-C", "out"]]
)
def test_a_full_disk_behind_stdout_is_no_space(args: list[str], unbuffered: str, archive: Path, tmp_path: Path) -> None:
    name, *more = args
    for as_json in ([], ["--json"]):
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        with Path("/dev/full").open("wb") as full:
            done = subprocess.run(
                command(name, archive, *more, *as_json),
                stdout=full,
                stderr=subprocess.PIPE,
                env=environment(PYTHONUNBUFFERED=unbuffered),
                cwd=tmp_path,
                check=False,
            )
        assert done.returncode == 6
        assert done.stderr.startswith(b"ctxarc: NO_SPACE: standard output: ")
        assert len(done.stderr.splitlines()) == 2


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_large_output_through_a_pipe_is_whole(unbuffered: str, long: Path) -> None:
    done = run("cat", long, env={"PYTHONUNBUFFERED": unbuffered})
    digests = {row["source_sha256"] for row in objects(run("ls", long, "--json"))}
    assert {sha(done.stdout)} == digests


def test_standard_input_that_is_closed_is_no_such_source(tmp_path: Path) -> None:
    words = " ".join(command("capture", "a.ctxa", "-", "--name", "x", "--json"))
    done = subprocess.run(
        ["/bin/sh", "-c", f"exec {words} <&-"], capture_output=True, env=environment(), cwd=tmp_path, check=False
    )
    assert (done.returncode, json.loads(done.stdout)["refusal"]["code"]) == (5, "NO_SUCH_SOURCE")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["ls", "log", "info", "verify", "cat", "extract", "capture"])
def test_an_empty_archive_s_name_is_not_the_current_directory(name: str, archive: Path) -> None:
    rest = [str(archive.parent / "sources" / "s.jsonl")] if name == "capture" else []
    done = run(name, "", *rest, "--json", cwd=archive)
    refusal = one(done)["refusal"]
    assert (done.returncode, refusal["code"]) == (2, "USAGE")
    assert "''" in refusal["message"]


@pytest.mark.parametrize("name", ["ls", "log", "info", "verify", "cat"])
def test_a_closed_stderr_changes_nothing(name: str, archive: Path) -> None:
    words = " ".join(command(name, archive))
    done = subprocess.run(["/bin/sh", "-c", f"exec {words} 2>&-"], capture_output=True, env=environment(), check=False)
    assert (done.returncode, done.stdout) == (0, run(name, archive).stdout)


# -------------------------------------------------------------------------------------------------- locales, terminals


def test_without_any_environment_everything_works(archive: Path, tmp_path: Path) -> None:
    stored(archive, '{"text":"\u6e2c\u8a66 caf\u00e9"}\n'.encode(), "\u6e2c\u8a66")
    for env in ({}, {"LC_ALL": "C"}, {"LANG": "xx_YY.nonsense"}, {"LC_ALL": "POSIX", "PYTHONUTF8": "0"}):
        for args in (
            ["ls"],
            ["log"],
            ["cat", "\u6e2c\u8a66#"],
            ["find", "caf\u00e9"],
            ["find", "-E", "caf."],
            ["info"],
        ):
            name, *more = args
            done = subprocess.run(
                [os.fsencode(word) if word.isascii() else word.encode() for word in command(name, archive, *more)],
                capture_output=True,
                env=env,
                cwd=tmp_path,
                check=False,
            )
            assert (done.returncode, done.stderr) == (0, b""), (env, args)
            done.stdout.decode("utf-8")
            if name in {"ls", "cat"}:
                assert "\u6e2c\u8a66".encode() in done.stdout


def test_names_typed_in_any_locale_are_utf8(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_bytes(DATA)
    env = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    words = command("capture", "a.ctxa", "s.jsonl", "--name")
    done = subprocess.run(
        [*map(os.fsencode, words), "\u6e2c\u8a66".encode(), b"--json"],
        capture_output=True,
        env=environment(**env),
        cwd=tmp_path,
        check=False,
    )
    assert json.loads(done.stdout)["transcript"] == "\u6e2c\u8a66"


def on_terminal(*args: str | Path, **more: str) -> str:
    """What a command writes to a terminal of 80 columns that is its stdout."""
    ours, theirs = pty.openpty()
    env = environment(TERM="xterm", COLUMNS="80", **more)
    with subprocess.Popen(command(*args), stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, env=env) as process:
        os.close(theirs)
        written = bytearray()
        while select.select([ours], [], [], 60)[0]:
            try:
                part = os.read(ours, 65536)
            except OSError:
                break
            if not part:
                break
            written += part
        os.close(ours)
        assert process.wait() == 0
    return written.decode()


COLOUR = re.compile("\x1b\\[[0-9;]*m")
SHOWN: dict[str, list[str]] = {
    "log": [],
    "ls": [],
    "ls --captures": [],
    "show": ["s#"],
    "cat": [],
    "find": ["remark"],
    "find -t": ["remark"],
    "find -E": ["rem.rk"],
    "info": [],
    "verify": [],
}
HOSTILE = (
    said("\x1b[31mred remark\x07 \x9b2J \u202egpj.exe")
    + b"\x1b]0;remark\x07 raw \x9b\xff line\r\n"
    + said("wide \u6e2c\u8a66 remark " * 40, "assistant")
)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    archive = tmp_path_factory.mktemp("hostile") / "a.ctxa"
    stored(archive, HOSTILE)
    return archive


def acting(text: str) -> set[str]:
    """Characters of what a terminal was sent that act on it."""
    controls = {chr(code) for code in (*range(0x20), *range(0x7F, 0xA0))} - {"\n", "\r", "\t"}
    return set(text) & (controls | {"\u202e", "\u200b"})


@pytest.mark.parametrize("name", SHOWN)
def test_on_a_terminal_nothing_of_a_transcript_acts(name: str, hostile: Path) -> None:
    command_, *options = name.split()
    plain = on_terminal(command_, hostile, *options, *SHOWN[name], NO_COLOR="1")
    assert acting(plain) == set()
    coloured = on_terminal(command_, hostile, *options, *SHOWN[name])
    assert acting(COLOUR.sub("", coloured)) == set()
    shown = [[line.rstrip() for line in COLOUR.sub("", text).splitlines()] for text in (plain, coloured)]
    assert shown[0] == shown[1]


@pytest.mark.parametrize("name", SHOWN)
def test_colours_are_for_terminals_that_want_them(name: str, hostile: Path) -> None:
    command_, *options = name.split()
    args: list[Any] = [command_, hostile, *options, *SHOWN[name]]
    assert name == "cat" or b"\x1b" not in run(*args).stdout
    assert "\x1b" not in on_terminal(*args, "--no-color")
    assert "\x1b" not in on_terminal("--no-color", *args)
    assert "\x1b" not in on_terminal(*args, NO_COLOR="1")
    if name in {"log", "find", "info", "verify"}:
        assert "\x1b[" in on_terminal(*args)


@pytest.mark.parametrize("name", ["log", "ls", "ls --captures", "find"])
def test_a_line_fits_the_terminal(name: str, hostile: Path) -> None:
    command_, *options = name.split()
    shown = on_terminal(command_, hostile, *options, *SHOWN[name], NO_COLOR="1")
    for line in shown.splitlines():
        wide = sum(2 if "\u2e80" <= char <= "\uffef" else 1 for char in line)
        assert wide <= 80


def test_json_on_a_terminal_is_json(hostile: Path) -> None:
    rows = [json.loads(line) for line in on_terminal("log", hostile, "--json").splitlines()]
    assert [row["turn"] for row in rows] == [0, 1, 2]


def test_progress_is_for_a_terminal_alone(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_bytes(DATA)
    done = run("capture", tmp_path / "a.ctxa", tmp_path / "s.jsonl", "-q")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    done = run("capture", tmp_path / "a.ctxa", tmp_path / "s.jsonl", "--json")
    assert done.stderr == b""


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e+300", "-1", "soon", ""])
@pytest.mark.parametrize(("words", "option"), [(["find", "A", "x"], "--time-limit"), (["repack", "A"], "--lock-wait")])
def test_what_is_no_length_of_time_is_a_usage_error_that_says_the_value(
    words: list[str], option: str, value: str, still: Path
) -> None:
    args = [str(still) if word == "A" else word for word in words]
    refusal = one(run(*args, f"{option}={value}", "--json"))["refusal"]
    assert refusal["code"] == "USAGE"
    assert value in refusal["message"]
    assert option in refusal["message"]


def test_no_expression_can_be_matched_in_no_time(still: Path) -> None:
    assert run("find", still, "-E", "x", "--time-limit", "0").returncode == 2


def test_more_rows_than_there_can_be_are_all_rows(still: Path) -> None:
    assert run("log", still, "-n", "9" * 20).stdout == run("log", still).stdout != b""
