"""Addresses: turns, ranges, names and their beginnings, citations; what each means and how each is refused."""

from __future__ import annotations

import os
from itertools import accumulate
from pathlib import Path

import pytest
from cases import held, objects, one, refused, run, said, session, sha, stored, turns_of
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxarc.errors import Refusal
from ctxarc.operations.cat import cat_rows
from ctxarc.operations.show import show

DATA = session(6)
TURNS = turns_of(DATA)
ENDS = list(accumulate(map(len, TURNS), initial=0))
PEARS = session(3, "pears")
THIRD = f"ctxa:{sha(TURNS[2])}"


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive of one transcript."""
    archive = tmp_path_factory.mktemp("alone") / "a.ctxa"
    stored(archive, DATA)
    return archive


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive of several transcripts, one of whose names begins another."""
    archive = tmp_path_factory.mktemp("several") / "a.ctxa"
    for name, data in (("s", DATA), ("s-two", PEARS), ("other/pears", PEARS + said("more")), ("7", said("seven"))):
        stored(archive, data, name)
    return archive


@pytest.mark.parametrize(
    ("address", "start", "end"),
    [
        ("2", 0, None),
        ("002", 0, None),
        ("2:0-5", 0, 5),
        ("2:5-40", 5, 40),
        ("2:5+35", 5, 40),
        ("2:5-", 5, None),
        ("2:0-", 0, None),
        ("2:7-7", 7, 7),
        ("2:7+0", 7, 7),
        (f"2:0-{len(TURNS[2])}", 0, None),
        (f"2:{len(TURNS[2])}-", len(TURNS[2]), None),
        ("s#2:5-40", 5, 40),
        (f"{THIRD}:5-40", 5, 40),
        (f"{THIRD}:5+35", 5, 40),
        (f"{THIRD}:5-", 5, None),
        (THIRD, 0, None),
        (THIRD[:21], 0, None),
        (f"{THIRD[:22]}:5-40", 5, 40),
        (f"{THIRD[:37]}:0-9", 0, 9),
        (f"ctxa:{sha(TURNS[2]).upper()}", 0, None),
    ],
)
def test_an_address_means_bytes_of_a_turn(address: str, start: int, end: int | None, alone: Path) -> None:
    assert held(alone, address) == TURNS[2][start:end]
    (row,) = cat_rows(alone, [address])
    span = (start, len(TURNS[2]) if end is None else end)
    assert (row.transcript, row.turn, (row.start_byte, row.end_byte)) == ("s", 2, span)


@pytest.mark.parametrize(
    ("address", "data"),
    [
        ("s#", DATA),
        ("s#0", TURNS[0]),
        ("s-two#", PEARS),
        ("s-#", PEARS),
        ("o#1", turns_of(PEARS)[1]),
        ("other/pears#", PEARS + said("more")),
        ("7#", said("seven")),
        ("7#0", said("seven")),
    ],
)
def test_a_name_or_a_beginning_that_only_one_has_chooses_the_transcript(
    address: str, data: bytes, several: Path
) -> None:
    assert held(several, address) == data


def test_addresses_come_in_their_order_and_as_often_as_given(several: Path) -> None:
    assert held(several, "s#1", "7#", "s#1", "s-two#0") == TURNS[1] + said("seven") + TURNS[1] + turns_of(PEARS)[0]


@pytest.mark.parametrize(
    ("address", "code", "status"),
    [
        ("", "BAD_ADDRESS", 2),
        ("#", "BAD_ADDRESS", 2),
        ("#3", "BAD_ADDRESS", 2),
        ("-1", "BAD_ADDRESS", 2),
        ("s", "BAD_ADDRESS", 2),
        ("1.5", "BAD_ADDRESS", 2),
        ("1:", "BAD_ADDRESS", 2),
        ("1:-5", "BAD_ADDRESS", 2),
        ("1:a-b", "BAD_ADDRESS", 2),
        ("1:0-5:7", "BAD_ADDRESS", 2),
        ("s#1#2", "BAD_ADDRESS", 2),
        (" 1", "BAD_ADDRESS", 2),
        ("1\n", "BAD_ADDRESS", 2),
        ("\u0661", "BAD_ADDRESS", 2),
        ("1" * 40, "BAD_ADDRESS", 2),
        ("ctxa:", "BAD_ADDRESS", 2),
        ("ctxa:0123456789abcde", "BAD_ADDRESS", 2),
        ("ctxa:0123456789abcdeg", "BAD_ADDRESS", 2),
        (f"ctxa:{'0' * 65}", "BAD_ADDRESS", 2),
        (f"{THIRD}:", "BAD_ADDRESS", 2),
        ("6", "NO_SUCH_TURN", 5),
        ("999999999999999", "NO_SUCH_TURN", 5),
        (f"ctxa:{'0' * 64}", "NO_SUCH_TURN", 5),
        ("ctxa:0123456789abcdef", "NO_SUCH_TURN", 5),
        (f"0:0-{len(TURNS[0]) + 1}", "NO_SUCH_RANGE", 5),
        (f"0:{len(TURNS[0]) + 1}-", "NO_SUCH_RANGE", 5),
        ("0:5-4", "NO_SUCH_RANGE", 5),
        ("0:5+999999999999999", "NO_SUCH_RANGE", 5),
        (f"{THIRD}:0-99999", "NO_SUCH_RANGE", 5),
        ("t#", "NO_SUCH_TRANSCRIPT", 5),
        ("t#0", "NO_SUCH_TRANSCRIPT", 5),
        ("s/#0", "NO_SUCH_TRANSCRIPT", 5),
        ("\x1b[31m#0", "NO_SUCH_TRANSCRIPT", 5),
    ],
)
def test_what_means_nothing_is_refused_by_name(address: str, code: str, status: int, alone: Path) -> None:
    for read in (lambda: held(alone, address), lambda: show(alone, [address]), lambda: cat_rows(alone, [address])):
        refusal = refused(read)
        assert (refusal.code, refusal.status) == (code, status)


def test_a_turn_that_is_not_there_is_refused_with_how_many_there_are(alone: Path) -> None:
    refusal = refused(lambda: held(alone, "6"))
    assert (refusal.facts["turn"], refusal.facts["turns"], refusal.facts["transcript"]) == (6, 6, "s")


def test_a_range_that_is_not_there_is_refused_with_the_length(alone: Path) -> None:
    refusal = refused(lambda: held(alone, "0:3-9999"))
    length = len(TURNS[0])
    assert (refusal.facts["start_byte"], refusal.facts["end_byte"], refusal.facts["length"]) == (3, 9999, length)
    assert str(length) in refusal.message


@pytest.mark.parametrize("address", ["0", "0:1-2"])
def test_among_several_transcripts_a_turn_needs_a_name(address: str, several: Path) -> None:
    refusal = refused(lambda: held(several, address))
    assert (refusal.code, refusal.status) == ("AMBIGUOUS", 3)
    assert refusal.facts["transcripts"] == ["7", "other/pears", "s", "s-two"]
    assert "NAME#" in refusal.hint


def test_a_beginning_that_several_names_have_is_refused_with_the_names(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    for number in range(12):
        stored(archive, said(str(number)), f"day-{number:02}")
    refusal = refused(lambda: held(archive, "day-0#"))
    assert (refusal.code, refusal.facts["transcripts"]) == ("AMBIGUOUS", [f"day-0{n}" for n in range(10)])
    assert "day-00" in refusal.message
    assert held(archive, "day-07#") == said("7")


@pytest.mark.parametrize("typed", [b"\xff#0", b"\xff", b"caf\xe9#"])
@pytest.mark.parametrize("name", ["cat", "log", "show", "extract"])
def test_a_name_that_is_not_utf8_is_no_transcript_s(name: str, typed: bytes, alone: Path, tmp_path: Path) -> None:
    more = ["-C", str(tmp_path)] if name == "extract" else []
    done = run(name, alone, os.fsdecode(typed), *more, "--json")
    (last,) = objects(done)
    assert last["refusal"]["code"] in {"NO_SUCH_TRANSCRIPT", "BAD_ADDRESS"}
    assert done.returncode in {2, 5}


def test_find_in_a_transcript_whose_name_is_not_utf8_is_refused(alone: Path) -> None:
    done = run("find", alone, "remark", "--transcript", os.fsdecode(b"\xff"), "--json")
    assert (done.returncode, one(done)["refusal"]["code"]) == (5, "NO_SUCH_TRANSCRIPT")


def test_a_citation_means_the_same_bytes_in_every_archive(alone: Path, several: Path) -> None:
    assert held(alone, THIRD) == held(several, THIRD) == TURNS[2]


def test_a_citation_answers_after_any_growth(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    torn = b'{"type":"assis'
    stored(archive, DATA + torn)
    stored(archive, DATA + torn + b'tant"}\n')
    stored(archive, PEARS, as_new_history=True)
    stored(archive, said("else"), "else")
    for turn in (*TURNS, torn, torn + b'tant"}\n'):
        assert held(archive, f"ctxa:{sha(turn)}") == turn
    (row,) = cat_rows(archive, [f"ctxa:{sha(torn)}:3-7"])
    assert (row.transcript, row.turn, row.text) == ("s", 6, 'ype"')
    (row,) = cat_rows(archive, [f"ctxa:{sha(torn)}"], at=1)
    assert (row.turn, row.end_byte) == (6, len(torn))


def test_a_citation_s_place_is_where_the_turn_stands_now(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    stored(archive, TURNS[0] + TURNS[1])
    stored(archive, TURNS[1] + TURNS[0], as_new_history=True)
    (row,) = cat_rows(archive, [f"ctxa:{sha(TURNS[1])}"])
    assert row.turn == 0
    (row,) = cat_rows(archive, [f"ctxa:{sha(TURNS[1])}"], at=1)
    assert row.turn == 1


def test_the_printed_citation_is_an_address_of_the_same_bytes(alone: Path) -> None:
    for address in ("0", "1:4-30", "2:5-5", "3:0-"):
        (row,) = cat_rows(alone, [address])
        assert held(alone, row.cite) == held(alone, address)
        assert row.cite.startswith(f"ctxa:{row.turn_sha256}")


# ----------------------------------------------------------------------------------------------------------- --range


@pytest.mark.parametrize(
    ("span", "start", "end"),
    [
        ("0-", 0, None),
        ("0-1", 0, 1),
        (f"{ENDS[1]}-{ENDS[2]}", ENDS[1], ENDS[2]),
        (f"{ENDS[1] - 1}-{ENDS[2] + 1}", ENDS[1] - 1, ENDS[2] + 1),
        (f"{ENDS[1]}+5", ENDS[1], ENDS[1] + 5),
        (f"{len(DATA)}-", len(DATA), None),
        ("3-3", 3, 3),
        (f"0-{len(DATA)}", 0, None),
    ],
)
def test_a_range_counts_bytes_of_the_whole_transcript(span: str, start: int, end: int | None, alone: Path) -> None:
    assert held(alone, span=span) == held(alone, "s#", span=span) == DATA[start:end]
    rows = list(cat_rows(alone, span=span))
    assert b"".join((row.text or "").encode() for row in rows) == DATA[start:end]
    assert [row.turn for row in rows] == [
        turn for turn in range(6) if max(start, ENDS[turn]) < min(len(DATA) if end is None else end, ENDS[turn + 1])
    ]


@pytest.mark.parametrize(
    ("span", "addresses", "code"),
    [
        ("", (), "BAD_ADDRESS"),
        ("5", (), "BAD_ADDRESS"),
        ("a-b", (), "BAD_ADDRESS"),
        ("-5", (), "BAD_ADDRESS"),
        ("5-4", (), "NO_SUCH_RANGE"),
        (f"0-{len(DATA) + 1}", (), "NO_SUCH_RANGE"),
        (f"{len(DATA) + 1}-", (), "NO_SUCH_RANGE"),
        ("0-5", ("1",), "USAGE"),
        ("0-5", ("s#", "s#"), "USAGE"),
        ("0-5", ("t#",), "NO_SUCH_TRANSCRIPT"),
    ],
)
def test_a_range_that_means_nothing_is_refused(span: str, addresses: tuple[str, ...], code: str, alone: Path) -> None:
    assert refused(lambda: held(alone, *addresses, span=span)).code == code


def test_a_range_that_touches_what_was_left_out_is_refused_with_the_omitted_range(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    stored(archive, DATA, max_bytes=len(DATA) - ENDS[2], allow_truncation=True)
    assert held(archive, span=f"{ENDS[2]}-") == DATA[ENDS[2] :]
    assert held(archive, span=f"{ENDS[3] + 2}-{ENDS[3] + 9}") == DATA[ENDS[3] + 2 : ENDS[3] + 9]
    for span in ("0-", "0-1", f"{ENDS[2] - 1}-{ENDS[2] + 1}"):
        refusal = refused(lambda span=span: held(archive, span=span))  # type: ignore[misc]
        assert refusal.code == "NO_SUCH_RANGE"
        assert refusal.facts["omitted"] == [{"start_byte": 0, "end_byte": ENDS[2]}]


@settings(max_examples=150, deadline=None)
@given(text=st.text(st.sampled_from("0123456789:-+#sctxa/ \u00e9\n"), max_size=24))
def test_any_text_is_an_address_or_refused_by_name(text: str, alone: Path) -> None:
    code = ""
    try:
        held(alone, text)
    except Refusal as refusal:
        code = refusal.code
    assert code in {"", "BAD_ADDRESS", "NO_SUCH_TRANSCRIPT", "NO_SUCH_TURN", "NO_SUCH_RANGE"}
