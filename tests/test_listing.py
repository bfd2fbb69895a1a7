"""``log``, ``ls`` and ``show``: what an archive holds, line by line, now and as it was, safe to look at."""

from __future__ import annotations

import base64
import json
from itertools import accumulate
from pathlib import Path

import pytest
from cases import objects, one, refused, run, said, session, sha, stored, turns_of

from ctxarc.model import ByteRange
from ctxarc.operations.capture import CaptureOptions, capture
from ctxarc.operations.log import log
from ctxarc.operations.ls import captures, ls, names
from ctxarc.operations.show import show
from ctxarc.operations.sources import discover

DATA = session(6)
TURNS = turns_of(DATA)
ENDS = list(accumulate(map(len, TURNS), initial=0))
HOSTILE = (
    said("\x1b[31mred\x07 \x9b2J \u202egpj.exe\u200b and \x00 nul", "user")
    + b"\x1b]0;title\x07 raw \x9b line\r\n"
    + said("two\nlines\r\nand\ttabs", "assistant")
    + b'{"type":"user","role":"\\u001b[2J","message":{"role":"user","content":"\\u001b[1m"}}\n'
)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    stored(tmp_path / "a.ctxa", DATA)
    return tmp_path / "a.ctxa"


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    stored(tmp_path / "h.ctxa", HOSTILE, "a b\u202e")
    stored(tmp_path / "h.ctxa", HOSTILE, "plain")
    return tmp_path / "h.ctxa"


# ---------------------------------------------------------------------------------------------------------------- log


def test_log_has_a_row_a_turn_with_what_addresses_it(archive: Path) -> None:
    rows = list(log(archive))
    assert [row.turn for row in rows] == list(range(6))
    assert [(row.bytes, row.transcript_start_byte, row.turn_sha256) for row in rows] == [
        (len(turn), start, sha(turn)) for turn, start in zip(TURNS, ENDS, strict=False)
    ]
    assert {row.transcript for row in rows} == {"s"}
    assert [row.role for row in rows] == ["user", "assistant"] * 3
    assert rows[3].time == "2026-03-04T05:00:03.000Z"
    assert rows[3].text == "apples, remark 3"
    assert rows[3].cite == f"ctxa:{sha(TURNS[3])}"


def test_the_last_turns_only(archive: Path) -> None:
    assert [row.turn for row in log(archive, last=2)] == [4, 5]
    assert [row.turn for row in log(archive, last=100)] == list(range(6))
    assert [row["turn"] for row in objects(run("log", archive, "-n", "1", "--json"))] == [5]
    done = run("log", archive, "-n", "0", "--json")
    assert (done.returncode, one(done)["refusal"]["code"]) == (2, "USAGE")


def test_turns_of_one_role_only(archive: Path) -> None:
    assert [row.turn for row in log(archive, role="assistant")] == [1, 3, 5]
    assert [row.turn for row in log(archive, role="assistant", last=2)] == [3, 5]
    assert list(log(archive, role="nobody")) == []
    assert [row["turn"] for row in objects(run("log", archive, "--role", "user", "-n", "1", "--json"))] == [4]


def test_a_role_that_no_turn_can_have_is_refused_with_those_that_turns_have(archive: Path) -> None:
    for role in ("nobody", "User", ""):
        done = run("log", archive, "--role", role, "--json")
        refusal = one(done)["refusal"]
        assert (done.returncode, refusal["code"], refusal["facts"]["role"]) == (2, "USAGE", role)
        assert repr(role) in refusal["message"]
        assert "assistant, event, system, tool, unknown, user" in refusal["hint"]
    for role in ("assistant", "event", "system", "tool", "unknown", "user"):
        assert run("log", archive, "--role", role).returncode == 0


@pytest.mark.parametrize("name", ["", "#"])
def test_an_empty_name_is_not_the_beginning_of_any(name: str, archive: Path) -> None:
    done = run("log", archive, name, "--json")
    assert (done.returncode, one(done)["refusal"]["code"]) == (2, "USAGE")
    stored(archive, session(2, "pears"), "r")
    for more in ([], ["--at", "2"]):
        assert run("log", archive, name, *more).returncode == 2


def test_an_excerpt_is_one_line_of_at_most_200_characters(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    stored(archive, said("word \n\t " * 500) + said("x" * 5000) + b"\n" + b"y" * 900 + b"\n")
    texts = [row.text for row in log(archive)]
    assert all(len(text) <= 200 and "\n" not in text for text in texts)
    assert texts[0].startswith("word word word")
    assert texts[1].startswith("xxx")
    assert texts[2] == ""


def test_log_of_one_transcript_or_of_all_in_order(archive: Path) -> None:
    stored(archive, session(2, "pears"), "r")
    assert [(row.transcript, row.turn) for row in log(archive)] == [
        ("r", 0),
        ("r", 1),
        *(("s", number) for number in range(6)),
    ]
    assert [row.transcript for row in log(archive, "r")] == ["r", "r"]
    assert [row.transcript for row in log(archive, "r#")] == ["r", "r"]
    assert next((row.transcript, row.turn) for row in log(archive, last=7)) == ("r", 1)
    assert refused(lambda: log(archive, "q")).code == "NO_SUCH_TRANSCRIPT"


def test_log_of_older_states(archive: Path) -> None:
    stored(archive, DATA + b'{"torn":')
    stored(archive, DATA[: ENDS[2]] + session(1, "pears"), as_new_history=True)
    assert len(list(log(archive, at=1))) == 6
    assert [row.bytes for row in log(archive, at=2)][-1] == len(b'{"torn":')
    assert [row.turn_sha256 for row in log(archive)] == [*map(sha, TURNS[:2]), sha(session(1, "pears"))]
    assert refused(lambda: log(archive, at=4)).code == "NO_SUCH_CAPTURE"


def test_the_role_of_what_is_no_record_is_unknown(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    stored(archive, b"words\n\n\xff\n" + b'{"a":1}\n' + b"[" * 3000 + b"\n")
    assert [row.role for row in log(archive)] == ["unknown"] * 5
    assert [row.time for row in log(archive)] == [None] * 5


# ----------------------------------------------------------------------------------------------------------------- ls


def test_ls_has_a_row_a_transcript(archive: Path) -> None:
    (row,) = ls(archive)
    assert row._asdict() == {
        "transcript": "s",
        "turns": 6,
        "bytes": len(DATA),
        "source_sha256": sha(DATA),
        "complete": True,
        "omitted": (),
        "first_time": "2026-03-04T05:00:00.000Z",
        "last_time": "2026-03-04T05:00:05.000Z",
        "project": "/home/someone/orchard",
        "text": "apples, remark 0",
    }


def test_the_first_words_are_the_user_s(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    stored(archive, b"\n" + said("an answer", "assistant") + said("a question"))
    assert next(ls(archive)).text == "a question"


def test_a_transcript_of_nothing_has_a_row_too(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    stored(archive, b"")
    (row,) = ls(archive)
    assert (row.turns, row.bytes, row.first_time, row.last_time, row.project, row.text) == (0, 0, None, None, None, "")
    assert run("ls", archive).returncode == 0
    assert list(log(archive)) == []


def test_ls_of_older_states(archive: Path) -> None:
    stored(archive, session(2, "pears"), "r")
    stored(archive, DATA + said("more"))
    assert [(row.transcript, row.turns) for row in ls(archive)] == [("r", 2), ("s", 7)]
    assert [(row.transcript, row.turns) for row in ls(archive, at=1)] == [("s", 6)]
    assert [(row.transcript, row.turns) for row in ls(archive, at=2)] == [("r", 2), ("s", 6)]
    assert (names(archive), names(archive, at=1)) == (["r", "s"], ["s"])
    assert refused(lambda: ls(archive, at=0)).code == "NO_SUCH_CAPTURE"


def test_captures_are_listed_with_their_acquisition_record(archive: Path) -> None:
    stored(archive, DATA + b'{"torn":')
    stored(archive, session(3, "pears"), "r", max_bytes=200, allow_truncation=True)
    first, second, third = captures(archive)
    assert (first.capture, first.transcript, first.kept_turns, first.new_turns, first.turns) == (1, "s", 0, 6, 6)
    assert (second.capture, second.kept_turns, second.new_turns, second.turns) == (2, 6, 1, 7)
    assert (second.source_bytes, second.source_sha256) == (len(DATA) + 8, sha(DATA + b'{"torn":'))
    assert (third.complete, third.new_turns, third.turns) == (False, 1, 3)
    pears = turns_of(session(3, "pears"))
    assert third.omitted == (ByteRange(0, len(pears[0]) + len(pears[1])),)
    assert set(first.not_proved) == {"path", "modified", "captured", "host", "tool"}
    assert first.not_proved["path"] == str(archive.parent / "sources" / "s.jsonl")
    assert str(first.not_proved["tool"]).startswith("ctxarc ")
    assert str(first.not_proved["captured"]).endswith("Z")


# --------------------------------------------------------------------------------------------------------------- show


def test_show_decodes_escapes_and_names_the_speaker(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    stored(archive, said('caf\u00e9 "quoted"\nsecond line', "assistant", second=9))
    (turn,) = show(archive, ["0"])
    assert (turn.role, turn.time, turn.turn) == ("assistant", "2026-03-04T05:00:09.000Z", 0)
    assert turn.parts == (("text", "", 'caf\u00e9 "quoted"\nsecond line'),)
    assert turn.digest_verified
    shown = run("show", archive, "0").stdout.decode()
    assert 'caf\u00e9 "quoted"\nsecond line\n' in shown
    assert "assistant" in shown
    assert "2026-03-04 05:00:09" in shown


def test_show_of_a_range_shows_the_text_of_its_bytes(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    stored(archive, said("first line\nsecond"))
    start = said("first line\nsecond").index(b"first")
    (turn,) = show(archive, [f"0:{start}-{start + 18}"])
    assert turn.parts == (("text", "", "first line\nsecond"[:17]),)
    assert (turn.start_byte, turn.end_byte) == (start, start + 18)


def test_show_of_a_transcript_shows_its_turns_in_order(archive: Path) -> None:
    assert [turn.turn for turn in show(archive, ["s#"])] == list(range(6))
    assert [turn.turn for turn in show(archive, ["4", "1", "4"])] == [4, 1, 4]


def test_show_of_older_states(archive: Path) -> None:
    stored(archive, session(6, "pears"), as_new_history=True)
    assert next(show(archive, ["0"], at=1)).parts[0][2] == "apples, remark 0"
    assert next(show(archive, ["0"])).parts[0][2] == "pears, remark 0"


def test_show_needs_an_address(archive: Path) -> None:
    done = run("show", archive, "--json")
    assert (done.returncode, one(done)["refusal"]["code"]) == (2, "USAGE")


def test_show_as_json_is_one_object(archive: Path) -> None:
    assert len(objects(run("show", archive, "1", "--json"))) == 1
    assert len(objects(run("show", archive, "1", "2", "--json"))) == 1
    done = run("show", archive, "1", "99", "--json")
    assert (done.returncode, one(done)["refusal"]["code"]) == (5, "NO_SUCH_TURN")


# ------------------------------------------------------------------------------------------------------- hostile text


def deceives(printed: bytes) -> set[str]:
    """Characters in what was printed that could act on a terminal or hide."""
    text = printed.decode()
    hidden = "\u202e\u200b\u2028\x7f"
    controls = {chr(code) for code in (*range(0x20), *range(0x7F, 0xA0))} - {"\n", "\t"}
    return {char for char in text if char in controls or char in hidden}


@pytest.mark.parametrize(
    "args",
    [
        ["log"],
        ["log", "plain"],
        ["ls"],
        ["ls", "--captures"],
        ["show", "plain#"],
        ["show", "plain#0", "plain#1"],
        ["show", "plain#0:5-90"],
        ["find", "red"],
        ["find", "title"],
        ["find", "-t", "red"],
        ["find", "-E", "[^\\x00]{40}"],
        ["find", "-c", "red"],
        ["info"],
        ["verify"],
    ],
)
@pytest.mark.parametrize("as_json", [False, True])
def test_text_of_a_transcript_never_acts_on_a_terminal(args: list[str], as_json: bool, hostile: Path) -> None:  # noqa: FBT001
    name, *more = args
    done = run(name, hostile, *more, *(["--json"] if as_json else []))
    assert done.returncode == 0
    assert deceives(done.stdout) == set()
    assert deceives(done.stderr) == set()
    if as_json:
        rows = objects(done)
        named = {row.get("transcript") for row in rows} - {None}
        assert not named or named <= {"a b\u202e", "plain"}


def test_a_line_stays_a_line(hostile: Path) -> None:
    lines = run("log", hostile, "plain").stdout.decode().splitlines()
    assert len(lines) == 4
    assert len(run("ls", hostile).stdout.decode().splitlines()) == 3


def test_json_gives_the_text_as_it_was(hostile: Path) -> None:
    done = run("show", hostile, "plain#0", "--json")
    assert "\x1b[31mred\x07 \x9b2J \u202egpj.exe\u200b and \x00 nul" in strings(json.loads(done.stdout))
    done = run("cat", hostile, "plain#1", "--json")
    assert base64.b64decode(one(done)["base64"]) == b"\x1b]0;title\x07 raw \x9b line\r\n"


def strings(value: object) -> list[str]:
    """Every string in a JSON value."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [string for item in value for string in strings(item)]
    return [value] if isinstance(value, str) else []


def test_refusals_escape_what_they_quote(hostile: Path) -> None:
    done = run("show", hostile, "\x1b[31m\u202e#0")
    assert done.returncode == 5
    assert deceives(done.stderr) == set()
    done = run("log", hostile, "\x1b]0;x\x07", "--json")
    assert deceives(done.stdout) == set()
    assert one(done)["refusal"]["facts"]["transcript"] == "\x1b]0;x\x07"


def test_what_was_left_out_is_said_with_rows_and_beside_them(tmp_path: Path) -> None:
    archive, source = tmp_path / "a.ctxa", tmp_path / "s.jsonl"
    source.write_bytes(b'{"first":1}\n{"second":2}\n')
    capture(archive, discover([str(source)]), CaptureOptions(max_bytes=13, allow_truncation=True))
    assert [row.complete for row in log(archive)] == [False]
    for command_ in (["log"], ["cat"], ["find", "nowhere"], ["find", "second", "--json"]):
        done = run(command_[0], archive, *command_[1:])
        assert b"s is incomplete: bytes 0 to 12 of its source were left out" in done.stderr
    capture(archive, discover([str(source)]))
    assert [row.complete for row in log(archive)] == [True, True]
    assert run("find", archive, "nowhere").stderr == b""
