"""Projections: which text stands for a segment, that there always is one, and that it never changes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from itertools import pairwise

import pytest
from cases import sha
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxarc.auxiliary.jsontext import decode
from ctxarc.auxiliary.projection import BLANK, PROJECTION, RAW, raw_view, views
from ctxarc.auxiliary.segments import SCHEMES

OPENING, CLOSING = b'{"type":"user","message":{"role":"user","content":"', b'"}}\n'

PIECES = [
    *(
        rb"\n",
        rb"\\",
        rb"\"",
        rb"\/",
        rb"\t",
        rb"\r\n",
        rb"\u00e9",
        rb"\u4e2d\u6587",
        rb"\ud83c\udf4e",
        rb"\\n",
        rb"\\u00e9",
    ),
    *(
        rb"\ud83d",
        rb"\ude00",
        rb"\ud83d\ud83d\ude00",
        rb"\x",
        rb"\u12",
        rb"\u0000",
        rb"\u0022",
        rb"\u2028",
        rb"{\"a\":",
    ),
    *(b"a word ", b"word", b". ", b", ", b"x.", b" ", b"# ", b"- ", b"[", b"}", b"QUJD" * 600, b"\t", b"\x00", b"\x85"),
    *("\u4e2d\u6587".encode(), "\u00e9".encode(), "\U0001f34e".encode(), "\u3002".encode(), "\u3000".encode()),
    *(
        b"\xff",
        b"\xe6",
        b"\xe6\xb8",
        b"\xf0\x9f\x98",
        b"\x80",
        b"\xed\xa0\x80",
        b"\xf8\x88\x80\x80",
        b"\xf4\x90\x80\x80",
    ),
]
"""What may stand in a JSON string, valid or not; none of them ends it."""


def runs(pieces: list[bytes]) -> st.SearchStrategy[bytes]:
    """Texts of pieces, each some times over, so that they are long enough to be cut."""
    piece = st.tuples(st.sampled_from(pieces), st.sampled_from([1, 1, 2, 3, 13, 60, 120]))
    return st.lists(piece.map(lambda run: run[0] * run[1]), max_size=20).map(b"".join)


TEXTS = runs(PIECES)
ANY = st.one_of(
    st.binary(max_size=500),
    runs([*PIECES, b'"', b"\\", b"\n", b"\r\n", b'{"', b'":"', b"{", b",", b'"text":"', b'"id":"']),
    TEXTS.map(lambda raw: OPENING + raw + CLOSING),
)


def seen(turn: bytes, *ends: int) -> list[str]:
    """The texts of the segments that end there; the last one ends with the turn."""
    found = list(views(turn, [*ends, len(turn)]))
    assert [(start, end) for start, end, _ in found] == list(pairwise([0, *ends, len(turn)]))
    return [text for _, _, text in found]


def enclosed(raw: bytes) -> bytes:
    return OPENING + raw + CLOSING


# ------------------------------------------------------------------------------------------------ json-text-v1


def test_the_names_are_those_that_identities_hold() -> None:
    assert (PROJECTION, RAW, BLANK) == ("json-text-v1", "raw-v1", "[blank]")


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (rb"two\nlines", "two\nlines"),
        (rb"say \"yes\"\ton C:\\dir\/", 'say "yes"\ton C:\\dir/'),
        (rb"C:\\new", r"C:\new"),  # a backslash and an n, as they were said
        (rb"\\\n", "\\\n"),
        (rb"caf\u00e9", "caf\u00e9"),
        (rb"\ud83c\udf4e apple", "\U0001f34e apple"),
        (rb"half \ud83c of it", "half \ufffd of it"),
        (rb"\udf4e\ud83c", "\ufffd\ufffd"),
        (b"not \xff UTF-8 \xe6\xb8", "not \ufffd UTF-8 \ufffd"),
        (rb"\x \u12", r"\x \u12"),
        ("\u4e2d\u6587\u3002".encode(), "\u4e2d\u6587\u3002"),
        (rb" leading and trailing \n", " leading and trailing \n"),
        (b"a raw \t tab", "a raw \t tab"),
    ],
)
def test_a_segment_is_the_decoded_text_that_it_holds_without_what_stands_around(raw: bytes, text: str) -> None:
    assert seen(enclosed(raw)) == [text]


def test_a_segment_inside_a_text_is_that_part_of_it() -> None:
    turn = enclosed(rb"one\ntwo \ud83c\udf4e\\n three")
    middle, end = turn.index(b"two"), turn.index(b" three")
    assert seen(turn, middle, end) == ["one\n", "two \U0001f34e\\n", " three"]
    assert seen(turn, middle, middle + 3, end) == ["one\n", "two", " \U0001f34e\\n", " three"]


def test_a_segment_that_touches_many_strings_has_a_line_for_each() -> None:
    turn = b'{"type":"user","uuid":"0b7c","content":[{"text":"one"},{"text":"two"}],"name":"","title":"three"}\n'
    assert seen(turn) == ["one\ntwo\nthree"]
    assert seen(turn, turn.index(b"wo")) == ["one\nt", "wo\nthree"]
    assert seen(turn, turn.index(b'one"') + 3, turn.index(b"two") + 3) == ["one", "two", "three"]


def test_the_envelope_is_left_out_where_there_is_text_and_is_its_raw_bytes_where_there_is_none() -> None:
    turn = b'{"type":"user","timestamp":"2026-01-02","content":"said","cwd":"/home/x","n":[1]}\n'
    before, behind = turn.index(b"said"), turn.index(b"said") + 4
    assert seen(turn) == ["said"]
    assert seen(turn, before, behind) == [turn[:before].decode(), "said", turn[behind:].decode()]
    assert seen(turn, before - 4, behind + 9) == [turn[: before - 4].decode(), "said", turn[behind + 9 :].decode()]
    for line in (b'{"type":"user","role":"x\\u00e9"}\n', b'{"n":[1,2]}\n', b"[]\n", b'{"text":""}\n', b'{"a":1}'):
        assert seen(line) in ([line.decode()], [line.decode().removesuffix("\n")])


def test_keys_are_no_text() -> None:
    assert seen(b'{"a key":{"another":"said"}}\n') == ["said"]
    turn = b'{"a key":{"another":1},"k":"said"}\n'
    assert seen(turn, 12) == ['{"a key":{"a', "said"]


@pytest.mark.parametrize("turn", [b"", b"\n", b"\r\n", b" \t\n", "\u3000\u00a0\u2028".encode()])
def test_a_blank_turn_is_said_to_be_blank(turn: bytes) -> None:
    assert [text for _, _, text in views(turn, [len(turn)])] == [BLANK]


def test_a_segment_of_white_space_is_never_empty() -> None:
    turn = enclosed(b"one" + b" " * 20 + rb"\n\n\t" + b"two")
    start, stop, end = turn.index(b" "), turn.index(b"\\"), turn.index(b"two")
    assert seen(turn, start, stop, end) == ["one", BLANK, r"\n\n\t", "two"]
    assert seen(enclosed(b" ")) == [enclosed(b" ").decode()]


@pytest.mark.parametrize("ending", [b"", b"\n", b"\r\n"])
@pytest.mark.parametrize(
    "line", [b"plain words", b"C:\\new \\u00e9", b'[INFO] said "yes"', b"42", b"indented  too ", b"\x1b[1m"]
)
def test_a_plain_line_is_its_text_as_it_stands(line: bytes, ending: bytes) -> None:
    assert seen(line + ending) == [line.decode()]
    assert "".join(seen(line + ending, 1)) == line.decode()


def test_a_plain_line_that_is_no_utf8_is_replaced_where_it_is_broken() -> None:
    assert seen(b"a\xff\xe6\xb8b\n") == ["a\ufffd\ufffdb"]


def test_a_torn_line_is_its_text_to_the_end() -> None:
    assert seen(OPENING + rb"half \u00e9 sent") == ["half \u00e9 sent"]
    assert seen(OPENING + b"half\\") == ["half\\"]
    assert seen(OPENING + b"half" + enclosed(b"whole")) == ["half\nwhole"]


# ------------------------------------------------------------------------------------------------ raw-v1


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (rb'{"text":"a\nb \ud83c\udf4e"}', r'{"text":"a\nb \ud83c\udf4e"}'),
        ("\u4e2d\u6587".encode(), "\u4e2d\u6587"),
        (b"\xff|\xe6\xb8|\xed\xa0\x80", "\ufffd|\ufffd|\ufffd\ufffd\ufffd"),
        (b"words\r\n", "words\r\n"),
        (b"\x00", "\x00"),
        (b"", BLANK),
        (b" \t\r\n", BLANK),
        ("\u3000\u2028\u00a0".encode(), BLANK),
    ],
)
def test_raw_bytes_are_utf8_with_replacements_and_never_empty(raw: bytes, text: str) -> None:
    assert raw_view(raw) == text


# ------------------------------------------------------------------------------------------------ what always holds


@settings(max_examples=200, deadline=None)
@given(ANY, st.data())
def test_any_segments_of_any_bytes_have_texts_that_are_not_blank_and_encode(turn: bytes, data: st.DataObject) -> None:
    chosen = data.draw(st.sets(st.integers(1, max(len(turn) - 1, 1)), max_size=8)) if len(turn) > 1 else set()
    for ends in [sorted({*chosen, len(turn)}), *(scheme.cut(turn) for scheme in SCHEMES.values())]:
        found = list(views(turn, ends))
        assert [end for _, end, _ in found] == ends
        assert [start for start, _, _ in found] == [0, *ends[:-1]]
        for start, end, text in found:
            assert text.strip()
            assert text.encode().decode() == text
            assert raw_view(turn[start:end]).strip()
            assert raw_view(turn[start:end]).encode()
        assert found == list(views(bytes(bytearray(turn)), tuple(ends)))


def joined(turn: bytes, ends: list[int], start: int, stop: int) -> str:
    """The texts of the segments that touch the string [start, stop); blank ones are as they lie in the string."""
    said = []
    for first, last, text in views(turn, ends):
        if last > start and first < stop:
            part = decode(turn[max(first, start) : min(last, stop)])
            said.append(text if part.strip() else part)
            assert part.strip() or text == raw_view(turn[first:last])
    return "".join(said)


@settings(max_examples=250, deadline=None)
@given(TEXTS)
def test_the_segments_of_a_text_joined_are_the_text(raw: bytes) -> None:
    turn = enclosed(raw)
    for name, scheme in SCHEMES.items():
        found = joined(turn, scheme.cut(turn), len(OPENING), len(OPENING) + len(raw))
        assert found == decode(raw), name


@settings(max_examples=100, deadline=None)
@given(st.text(), st.text(), st.sampled_from([1, 9, 60]))
def test_the_segments_of_valid_json_joined_are_what_json_reads(one: str, two: str, times: int) -> None:
    text = (one + "\n" + two + "\\n") * times
    for ascii_only in (False, True):
        turn = json.dumps({"role": "user", "content": text}, ensure_ascii=ascii_only).encode()
        start = turn.index(b'"content": "') + 12
        for name, scheme in SCHEMES.items():
            assert joined(turn, scheme.cut(turn), start, len(turn) - 2) == text, name


@settings(max_examples=150, deadline=None)
@given(runs([piece for piece in PIECES if b"\xff" not in piece]))
def test_the_segments_of_a_plain_line_joined_are_the_line(raw: bytes) -> None:
    turn = b"said: " + raw
    for name, scheme in SCHEMES.items():
        parts = [
            turn[start:end].decode("utf-8", "replace") if text == BLANK else text
            for start, end, text in views(turn, scheme.cut(turn))
        ]
        assert "".join(parts) == turn.decode("utf-8", "replace"), name


@pytest.mark.parametrize("flood", [b'"a",', b'"",', b'"a":"b",', b"\\", b'"', rb"\n", b'{"', b" "])
def test_many_segments_of_many_strings_are_seen_in_one_pass(flood: bytes) -> None:
    turn = b'{"text":["' + flood * (400_000 // len(flood))
    ends = [*range(8, len(turn), 8), len(turn)]  # quadratic work on this would take hours
    assert sum(end - start for start, end, _ in views(turn, ends)) == len(turn)


# ------------------------------------------------------------------------------------------------ pinned


def pinned_turns() -> Iterator[tuple[bytes, list[int]]]:
    """Turns of every kind, each with ends at made-up places, always the same ones."""
    raw = b"".join(int(sha256(b"%d" % n).hexdigest(), 16) % 5 * PIECES[n % len(PIECES)] for n in range(400))
    records = [
        enclosed(raw),
        enclosed(rb"\n\n" * 30 + b" " * 90),
        b'{"type":"x","content":[{"text":"one \\u00e9"},{"id":"7","text":"\\ud83c\\udf4e"}],"n":[1,2.5e3,null]}\r\n',
        b'{"a":"torn \xe6\xb8{"b":"and \\"on\\"","uuid":"0b7c"}\n',
        b"plain C:\\new \xff words \\u00e9\n",
        b"\x00\x00\n",
        b" \t\r\n",
        OPENING + "caf\u00e9 \u4e2d\u6587".encode() * 20 + b"\\",
    ]
    for number, turn in enumerate(records):
        places = {int(sha256(b"%d/%d" % (number, n)).hexdigest(), 16) % len(turn) for n in range(9)}
        yield turn, sorted({*places, len(turn)} - {0})
        yield turn, [len(turn)]


# A digest that changes here means that a projection gives other texts than before, and needs a new name: vectors of
# other texts lie in another space.
PINNED = "3756a40b13ab376198cf2a90d393eaef53cc881c12b363fedd09ee6bff21bb8b"
PINNED_RAW = "2abeb29b82bbfc5b3453b1219fbe8b2357a77952183e8cc4847861b08aec67c1"


def test_the_texts_of_the_projections_never_change() -> None:
    found = [list(views(turn, ends)) for turn, ends in pinned_turns()]
    assert sha(json.dumps(found).encode()) == PINNED
    raws = [raw_view(turn[start:end]) for turn, ends in pinned_turns() for start, end in pairwise([0, *ends])]
    assert sha(json.dumps(raws).encode()) == PINNED_RAW
