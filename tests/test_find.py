"""``find``: exact text, regular expressions and the text as people read it, in raw byte ranges that are addresses."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cases import command, environment, held, objects, one, refused, run, said, session, sha, stored, turns_of
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ctxarc.model import Hit
from ctxarc.operations import matching
from ctxarc.operations.find import FindOptions, count, find

DATA = session(8) + said("the last remark, in which pears and Pears and PEARS are named; caf\u00e9, CAF\u00c9")


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    stored(tmp_path / "a.ctxa", DATA)
    return tmp_path / "a.ctxa"


def hits(archive: Path, *patterns: str, **options: bool | float | tuple[str, ...]) -> list[Hit]:
    made = FindOptions(patterns=patterns, **options)  # type: ignore[arg-type]
    return list(find(archive, made))


def places(archive: Path, *patterns: str, **options: bool | float | tuple[str, ...]) -> list[tuple[int, int, int]]:
    return [(hit.turn, hit.start_byte, hit.end_byte) for hit in hits(archive, *patterns, **options)]


def expected(data: bytes, pattern: bytes, flags: int = 0) -> list[tuple[int, int, int]]:
    """Where the expression matches, turn by turn; matches of nothing do not count."""
    return [
        (number, match.start(), match.end())
        for number, turn in enumerate(turns_of(data))
        for match in re.finditer(pattern, turn, flags)
        if match.end() > match.start()
    ]


# -------------------------------------------------------------------------------------------------------------- bytes


@pytest.mark.parametrize("text", ["remark", "remark 3", "apples, remark", "\u00e9", '"', "}", "\n", "\\u00e9", "."])
def test_exact_text_is_found_at_every_place(text: str, archive: Path) -> None:
    assert places(archive, text) == expected(DATA, re.escape(text.encode()))


def test_a_hit_says_where_it_stands_and_how_to_read_it_again(archive: Path) -> None:
    (hit,) = hits(archive, "remark 3")
    turn = turns_of(DATA)[3]
    at = turn.index(b"remark 3")
    assert hit == Hit(
        transcript="s",
        turn=3,
        start_byte=at,
        end_byte=at + 8,
        turn_sha256=sha(turn),
        digest_verified=True,
        cite=f"ctxa:{sha(turn)}:{at}-{at + 8}",
        complete=True,
        text=hit.text,
    )
    assert held(archive, hit.cite) == held(archive, f"{hit.turn}:{hit.start_byte}-{hit.end_byte}") == b"remark 3"
    assert "apples, remark 3" in hit.text


def test_matches_do_not_overlap(tmp_path: Path) -> None:
    stored(tmp_path / "a.ctxa", b"aaaaa\nabab\n")
    assert places(tmp_path / "a.ctxa", "aa") == [(0, 0, 2), (0, 2, 4)]
    assert places(tmp_path / "a.ctxa", "abab") == [(1, 0, 4)]


def test_bytes_that_are_not_utf8_can_be_found_and_searched_around(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    stored(archive, b"\xff\xfe needle \xc3\n\xffneedle\xff\n")
    assert places(archive, "needle") == [(0, 3, 9), (1, 1, 7)]
    assert places(archive, os.fsdecode(b"\xff")) == [(0, 0, 1), (1, 0, 1), (1, 7, 8)]
    done = run("find", archive, os.fsdecode(b"\xfe needle"), "--json")
    assert [(row["start_byte"], row["end_byte"]) for row in objects(done)] == [(1, 9)]


def test_no_match_spans_two_turns(tmp_path: Path) -> None:
    stored(tmp_path / "a.ctxa", b"one\ntwo\n")
    assert places(tmp_path / "a.ctxa", "one\ntwo") == []
    assert places(tmp_path / "a.ctxa", r"one\s+two", regex=True) == []


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.binary(max_size=20), min_size=1, max_size=4).map(b"\n".join),
    st.text(st.sampled_from("ab\u00e9\n."), min_size=1, max_size=3),
)
@example(b"\xc3\xa9a\xc3\n", "\u00e9")
def test_exact_text_is_found_in_any_bytes(data: bytes, text: str) -> None:
    archive = _scratch(data)
    assert places(archive, text) == expected(data, re.escape(text.encode()))


_SCRATCH: list[Path] = []


@pytest.fixture(autouse=True)
def _place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    _SCRATCH.append(tmp_path_factory.getbasetemp())
    yield
    _SCRATCH.clear()


def _scratch(data: bytes) -> Path:
    """A new archive of one transcript."""
    folder = _SCRATCH[-1] / f"find-{time.monotonic_ns()}"
    folder.mkdir()
    stored(folder / "a.ctxa", data)
    return folder / "a.ctxa"


# ------------------------------------------------------------------------------------------------ regular expressions


@pytest.mark.parametrize(
    "pattern",
    [
        r"remark \d",
        r'"[a-z]+"',
        r"^\{",
        r"\n$",
        r"(?i)APPLES",
        r"(?s).*",
        r"(a)(p)\2",
        r"x*",
        r"(?<=remark )\d",
        r"[^\x00-\x7f]+",
        r"pears|Pears",
        r"\bremark\b",
    ],
)
def test_an_expression_is_matched_as_in_python_over_bytes(pattern: str, archive: Path) -> None:
    assert places(archive, pattern, regex=True) == expected(DATA, pattern.encode())


@pytest.mark.parametrize(
    "pattern", ["caf\u00e9", "CAF[\u00c9\u00c8]", "\u00e9+", "[\u00e0-\u00ff]", ".\u00e9.", "\u00e9,? ?.{3}"]
)
def test_an_expression_that_is_not_ascii_is_matched_in_characters_and_answers_in_bytes(
    pattern: str, tmp_path: Path
) -> None:
    data = 'caf\u00e9 caf\u00e9\u00e9, "CAF\u00c9" \u6e2c\u8a66 \U0001f600\u00e9\n'.encode()
    data += b"\xff caf\xc3\xa9 \xc3\n"
    stored(tmp_path / "a.ctxa", data)
    wanted = []
    for number, turn in enumerate(turns_of(data)):
        text = turn.decode("utf-8", "surrogateescape")
        for match in re.finditer(pattern, text):
            start, end = (len(text[:at].encode("utf-8", "surrogateescape")) for at in match.span())
            wanted.append((number, start, end))
    assert wanted
    assert places(tmp_path / "a.ctxa", pattern, regex=True) == wanted


def test_small_and_capital_letters_are_one_where_that_is_asked(archive: Path) -> None:
    assert len(places(archive, "pears")) == 1
    assert places(archive, "pears", ignore_case=True) == expected(DATA, b"pears", re.IGNORECASE)
    assert len(places(archive, "pEARS", ignore_case=True, regex=True)) == 3
    assert len(places(archive, "caf\u00c9", ignore_case=True)) == 0


def test_case_is_known_of_every_alphabet(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    stored(archive, "caf\u00e9 CAF\u00c9 \u0436\u0416 \u03c9\u03a9\n".encode())
    for pattern in ("CAF\u00c9", "caf\u00e9", "\u0436\u0416", "\u03a9\u03c9"):
        for regex in (False, True):
            found = places(archive, pattern, ignore_case=True, regex=regex)
            assert len(found) == (2 if "af" in pattern.lower() else 1)
            assert all(end - start == len(pattern.encode()) for _, start, end in found)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.binary(max_size=30), min_size=1, max_size=3).map(b"\n".join),
    st.sampled_from(
        [r"a+", r"[^a]", r"\w+", r"(a|b)*c?", r"\W", r"a{2,}|b", r"(?i)B", r"$", r"(?m)^.", r"\x00+", r"\s"]
    ),
)
def test_offsets_of_expressions_equal_those_of_python(data: bytes, pattern: str) -> None:
    assert places(_scratch(data), pattern, regex=True) == expected(data, pattern.encode())


@pytest.mark.parametrize(
    "pattern", ["(", "[a", "a**", "(?P<x>a)(?P<x>b)", "\\", "(?z)", "a{99999999999999999999}", "(" * 300]
)
def test_what_is_no_expression_is_refused_with_the_reason(pattern: str, archive: Path) -> None:
    refusal = refused(lambda: hits(archive, pattern, regex=True))
    assert (refusal.code, refusal.status) == ("BAD_PATTERN", 2)
    assert refusal.facts["reason"]


@pytest.mark.parametrize("regex", [False, True])
@pytest.mark.parametrize("as_read", [False, True])
def test_an_empty_pattern_is_refused(regex: bool, as_read: bool, archive: Path) -> None:  # noqa: FBT001 - parametrized
    for patterns in (("",), ("a", "")):
        refusal = refused(lambda patterns=patterns: hits(archive, *patterns, regex=regex, as_read=as_read))  # type: ignore[misc]
        assert (refusal.code, refusal.status) == ("BAD_PATTERN", 2)


def test_any_of_several_patterns_counts(archive: Path) -> None:
    both = places(archive, "remark 1", "remark 2")
    assert both == expected(DATA, b"remark [12]")
    assert places(archive, "remark 1", "remark [45]", regex=True) == expected(DATA, b"remark [145]")


def test_of_patterns_that_begin_together_the_earlier_counts(tmp_path: Path) -> None:
    stored(tmp_path / "a.ctxa", b"abc\n")
    assert places(tmp_path / "a.ctxa", "ab", "abc") == [(0, 0, 2)]
    assert places(tmp_path / "a.ctxa", "abc", "ab") == [(0, 0, 3)]


def test_each_of_several_expressions_keeps_its_own_groups_and_flags(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    stored(archive, b"xy aa bb ABC\n")
    assert places(archive, "(x)y", r"([ab])\1", regex=True) == [(0, 0, 2), (0, 3, 5), (0, 6, 8)]
    assert places(archive, "(?i)abc", "xy", regex=True) == [(0, 0, 2), (0, 9, 12)]
    assert places(archive, "(?P<n>x)y", "(?P<n>a)a", regex=True) == [(0, 0, 2), (0, 3, 5)]


def test_each_of_several_expressions_must_be_one(archive: Path) -> None:
    assert refused(lambda: hits(archive, "a)|(?:b", "c", regex=True)).code == "BAD_PATTERN"


# --------------------------------------------------------------------------------------------- as people read the text


QUOTE = 'He said: "caf\u00e9 \u6e2c\u8a66",\r\n\tback\\slash / and \U0001f600 at last.'


def every_escaped(text: str) -> str:
    """The text with each of its UTF-16 units as an escape."""
    units = text.encode("utf-16-be").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def spellings() -> dict[str, bytes]:
    """One message, its text spelled in JSON in different ways."""
    record = {"type": "user", "sessionId": "x", "message": {"role": "user", "content": f"Before. {QUOTE} Behind."}}
    plain, escaped = json.dumps(record, ensure_ascii=False), json.dumps(record)
    return {
        "plain": plain.encode() + b"\n",
        "escaped": escaped.encode() + b"\n",
        "capitals": re.sub(r"\\u[0-9a-f]{4}", lambda match: "\\u" + match[0][2:].upper(), escaped).encode() + b"\n",
        "slashes": escaped.replace("/", "\\/").encode() + b"\n",
        "every character": f'{{"type":"user","content":"{every_escaped(QUOTE)}"}}\r\n'.encode(),
        "torn": escaped.encode()[:-8],
    }


@pytest.mark.parametrize("spelling", spellings())
def test_a_quotation_is_found_however_its_characters_are_escaped(spelling: str, tmp_path: Path) -> None:
    archive, data = tmp_path / "a.ctxa", said("first") + spellings()[spelling]
    stored(archive, data)
    for quote in (QUOTE, "\u6e2c\u8a66", "\U0001f600 at", '"caf\u00e9', "\r\n\tback\\slash /", QUOTE[3:20]):
        (hit,) = hits(archive, quote, as_read=True)
        assert hit.turn == 1
        raw = held(archive, hit.cite)
        assert json.loads(b'"' + raw + b'"') == quote
        assert quote in hit.text or len(quote) > 60 or "\r" in quote


def test_the_range_of_a_match_never_cuts_an_escape(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    stored(archive, b'{"text":"a\\n\\"\\ud83d\\ude00\\u00e9b"}\n')
    for quote, raw in (("\n", b"\\n"), ('"', b'\\"'), ("\U0001f600", b"\\ud83d\\ude00"), ("\u00e9b", b"\\u00e9b")):
        (hit,) = hits(archive, quote, as_read=True)
        assert held(archive, hit.cite) == raw


def test_the_envelope_is_not_searched(archive: Path) -> None:
    for text in ("0b7c1f3e", "2026-03-04", "/home/someone/orchard", "sessionId", "assistant", "user"):
        assert hits(archive, text, as_read=True) == []
        assert hits(archive, text)


def test_a_match_does_not_run_from_one_string_into_the_next(tmp_path: Path) -> None:
    stored(tmp_path / "a.ctxa", b'{"text":"one","more":"two"}\n')
    assert places(tmp_path / "a.ctxa", r"one.*two", regex=True, as_read=True) == []
    assert places(tmp_path / "a.ctxa", '","', as_read=True) == []
    assert len(places(tmp_path / "a.ctxa", "o", as_read=True)) == 2


def test_lines_that_are_not_json_are_read_as_they_stand(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    stored(archive, 'plain words, "caf\u00e9"\n'.encode() + b"\xff needle \xfe\n" + b'{"text":"in a torn needle')
    assert [hit.turn for hit in hits(archive, "needle", as_read=True)] == [1, 2]
    assert [hit.turn for hit in hits(archive, '"caf\u00e9"', as_read=True)] == [0]
    assert [held(archive, hit.cite) for hit in hits(archive, "needle", as_read=True)] == [b"needle", b"needle"]


def test_expressions_and_case_work_on_the_text_as_it_is_read(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    stored(archive, b'{"text":"Caf\\u00c9 one\\ntwo"}\n')
    (hit,) = hits(archive, "caf\u00e9", as_read=True, ignore_case=True)
    assert held(archive, hit.cite) == b"Caf\\u00c9"
    (hit,) = hits(archive, r"one\s+two", as_read=True, regex=True)
    assert held(archive, hit.cite) == b"one\\ntwo"
    (hit,) = hits(archive, r"^Caf.", as_read=True, regex=True)
    assert held(archive, hit.cite) == b"Caf\\u00c9"


@settings(max_examples=80, deadline=None)
@given(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40),
    st.booleans(),
    st.data(),
)
def test_any_part_of_any_text_is_found_as_it_is_read(text: str, ascii_only: bool, data: st.DataObject) -> None:  # noqa: FBT001 - drawn
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    archive = _scratch(json.dumps({"text": text}, ensure_ascii=ascii_only).encode() + b"\n")
    found = hits(archive, text[start:end], as_read=True)
    assert found
    for hit in found:
        assert json.loads(b'"' + held(archive, hit.cite) + b'"') == text[start:end]


# ---------------------------------------------------------------------------------------------- limits, names, --at, -m


def test_at_most_so_many_places_in_each_transcript(archive: Path) -> None:
    stored(archive, session(5, "plums"), "t")
    found = hits(archive, "remark", max_count=2)
    assert [(hit.transcript, hit.turn) for hit in found] == [("s", 0), ("s", 1), ("t", 0), ("t", 1)]


def test_transcripts_come_in_byte_order_and_may_be_chosen(archive: Path) -> None:
    for name in ("z", "a", "B"):
        stored(archive, session(1, name), name)
    assert list(dict.fromkeys(hit.transcript for hit in hits(archive, "remark"))) == ["B", "a", "s", "z"]
    assert {hit.transcript for hit in hits(archive, "remark", names=("z", "B"))} == {"B", "z"}
    assert refused(lambda: hits(archive, "remark", names=("absent",))).code == "NO_SUCH_TRANSCRIPT"


def test_older_states_are_searched_with_at(archive: Path) -> None:
    stored(archive, DATA + said("a newcomer"))
    assert places(archive, "newcomer", at=1) == []
    assert len(places(archive, "newcomer", at=2)) == 1
    assert refused(lambda: hits(archive, "x", at=3)).code == "NO_SUCH_CAPTURE"


def test_turns_that_stand_at_several_places_are_found_at_each(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    stored(archive, said("twice") + said("between") + said("twice"))
    stored(archive, said("twice"), "t")
    assert [(hit.transcript, hit.turn) for hit in hits(archive, "twice")] == [("s", 0), ("s", 2), ("t", 0)]


def test_turns_of_a_partial_capture_keep_their_numbers(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    turns = turns_of(session(6))
    stored(archive, session(6), max_bytes=len(turns[4]) + len(turns[5]), allow_truncation=True)
    assert [hit.turn for hit in hits(archive, "remark")] == [4, 5]


def test_counts_are_of_every_transcript(archive: Path) -> None:
    stored(archive, session(2, "plums"), "t")
    options = FindOptions(patterns=("remark",))
    assert [tuple(row) for row in count(archive, options)] == [("s", 9), ("t", 2)]
    assert [tuple(row) for row in count(archive, FindOptions(patterns=("plums",)))] == [("s", 0), ("t", 2)]


def test_an_excerpt_holds_the_match_and_has_at_most_200_characters(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    filler = "\u6e2c" * 900
    stored(archive, f'{{"text":"{filler} needle {filler}"}}\nneedle\n{"x" * 5000}needle'.encode())
    for as_read in (False, True):
        for hit in hits(archive, "needle", as_read=as_read):
            assert len(hit.text) <= 200
            assert "needle" in hit.text
    (hit,) = hits(archive, "x{3000}", regex=True)
    assert 0 < len(hit.text) <= 200


# ------------------------------------------------------------------------------------------- expressions that never end

NEVER = r"(a+)+$"


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """An archive on which the expression takes longer than anybody waits."""
    stored(tmp_path / "trap.ctxa", b"a" * 64 + b"b\n")
    return tmp_path / "trap.ctxa"


def children(process: int) -> set[int]:
    """The processes that a process has started."""
    return {
        int(number)
        for task in Path(f"/proc/{process}/task").glob("*/children")
        for number in task.read_text(encoding="ascii").split()
    }


def gone(process: int) -> bool:
    """Whether a process has ended, or waits only to be counted."""
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


linux = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="this system shows no processes under /proc")


@linux
@pytest.mark.parametrize("as_read", [False, True])
def test_an_expression_that_takes_too_long_is_refused_and_no_process_stays(as_read: bool, trap: Path) -> None:  # noqa: FBT001
    before = children(os.getpid())
    refusal = refused(lambda: hits(trap, NEVER, regex=True, as_read=as_read, time_limit=0.3))
    assert (refusal.code, refusal.status) == ("PATTERN_TIMEOUT", 3)
    assert refusal.facts["patterns"] == [NEVER]
    assert children(os.getpid()) <= before


@linux
def test_a_search_that_is_not_read_to_its_end_leaves_no_process(archive: Path) -> None:
    before = children(os.getpid())
    found = find(archive, FindOptions(patterns=("remark",), regex=True))
    assert isinstance(found, Iterator)
    next(found)
    found.close()  # type: ignore[attr-defined]
    assert children(os.getpid()) <= before


def test_the_command_says_which_limit_was_passed(trap: Path) -> None:
    done = run("find", trap, "-E", NEVER, "--time-limit", "0.3", "--json")
    refusal = one(done)["refusal"]
    assert (done.returncode, refusal["code"], refusal["facts"]["time_limit_seconds"]) == (3, "PATTERN_TIMEOUT", 0.3)
    assert "--time-limit" in refusal["hint"]


@linux
def test_an_interrupt_from_a_terminal_reaches_all_its_processes_and_prints_nothing(trap: Path) -> None:
    words = command("find", trap, "-E", NEVER, "--time-limit", "20")
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), start_new_session=True
    ) as process:
        while not (workers := children(process.pid)) and process.poll() is None:
            time.sleep(0.01)
        for worker in workers:
            while cpu_ticks(worker) < 20:  # it is past its start, and matches
                time.sleep(0.01)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, out, err) == (130, b"", b"")


def cpu_ticks(pid: int) -> int:
    """Time that a process has computed, in the system's ticks of mostly 10 ms."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return int(fields[11])


def test_few_strings_are_decoded_at_a_time_and_no_empty_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line may consist of millions of them."""
    given: list[list[bytes | memoryview]] = []
    spans = matching._Exact.spans

    def noting(self: matching._Exact, texts: list[bytes | memoryview]) -> list[matching.Span]:
        given.append(texts)
        return spans(self, texts)

    monkeypatch.setattr(matching._Exact, "spans", noting)
    monkeypatch.setattr("ctxarc.operations.find._LITERALS", 10)
    words = [f"w{number}" if number % 3 else "" for number in range(100)]
    stored(tmp_path / "a.ctxa", json.dumps({"words": words}).encode() + b"\n")
    got = hits(tmp_path / "a.ctxa", "w", as_read=True)
    assert [hit.text for hit in got] == [word for word in words if word]
    assert [bytes(text).decode() for texts in given for text in texts] == [word for word in words if word]
    assert max(map(len, given)) == 10


@linux
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_command_that_is_stopped_leaves_no_process_at_work(how: signal.Signals, trap: Path) -> None:
    words = command("find", trap, "-E", NEVER, "--time-limit", "2")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as process:
        workers: set[int] = set()
        for _ in range(500):
            workers = children(process.pid)
            if workers or process.poll() is not None:
                break
            time.sleep(0.01)
        assert workers
        time.sleep(0.2)
        process.send_signal(how)
        process.wait()
        try:
            for _ in range(400):
                if all(map(gone, workers)):
                    break
                time.sleep(0.02)
            assert [worker for worker in workers if not gone(worker)] == []
        finally:
            for worker in workers:
                if not gone(worker):
                    os.kill(worker, signal.SIGKILL)


def test_a_slow_expression_within_its_limit_is_answered(archive: Path) -> None:
    assert places(archive, r"(r+e+m+)+ark", regex=True, time_limit=30) == expected(DATA, rb"(r+e+m+)+ark")


# -------------------------------------------------------------------------------------------------------- the command


def test_the_status_is_0_where_something_is_found_and_1_where_nothing_is(archive: Path) -> None:
    for args in (["remark"], ["-E", "rem.rk"], ["-t", "remark"], ["-q", "remark"], ["-c", "remark"]):
        assert run("find", archive, *args).returncode == 0
    for args in (["absent"], ["-E", "abs.nt"], ["-t", "absent"], ["-q", "absent"], ["-c", "absent"]):
        done = run("find", archive, *args)
        assert (done.returncode, done.stderr) == (1, b"")
    done = run("find", archive, "absent", "--json")
    assert (done.returncode, done.stdout) == (1, b"")


def test_a_line_is_a_place_that_cat_takes(archive: Path) -> None:
    lines = run("find", archive, "remark 3").stdout.decode().splitlines()
    (address,) = [line.split(": ")[0] for line in lines]
    assert held(archive, address) == b"remark 3"
    stored(archive, session(5), "t")
    for line in run("find", archive, "remark 3").stdout.decode().splitlines():
        assert held(archive, line.split(": ")[0]) == b"remark 3"


def test_quiet_prints_nothing_and_stops_at_the_first(archive: Path) -> None:
    done = run("find", archive, "remark", "-q")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_counts_are_a_line_a_transcript(archive: Path) -> None:
    assert run("find", archive, "-c", "remark").stdout == b"9\n"
    stored(archive, session(2, "plums"), "t")
    assert run("find", archive, "-c", "remark").stdout == b"s#: 9\nt#: 2\n"
    rows = objects(run("find", archive, "-c", "plums", "--json"))
    assert [(row["transcript"], row["matches"]) for row in rows] == [("s", 0), ("t", 2)]


@pytest.mark.parametrize("pattern", ["-x", "--json", "-e", "--", "-"])
def test_a_pattern_may_begin_with_a_dash(pattern: str, tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    stored(archive, f"before {pattern} behind\n".encode())
    for args in (["-e", pattern], ["--", pattern]):
        done = run("find", archive, *args)
        assert done.returncode == 0
        assert done.stdout.startswith(f"0:7-{7 + len(pattern)}: ".encode())


def test_patterns_may_be_given_several_times(archive: Path) -> None:
    rows = objects(run("find", archive, "-e", "remark 1", "-e", "remark 4", "--json"))
    assert [row["turn"] for row in rows] == [1, 4]
    rows = objects(run("find", archive, "remark 2", "-e", "remark 5", "--json"))
    assert [row["turn"] for row in rows] == [2, 5]


def test_fixed_text_has_no_special_characters(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    stored(archive, b"a.b axb a\\d\n")
    assert places(archive, "a.b") == [(0, 0, 3)]
    assert [row["start_byte"] for row in objects(run("find", archive, "-F", "a\\d", "--json"))] == [8]
    assert run("find", archive, "-F", "a[.]b").returncode == 1
