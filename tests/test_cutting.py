"""Schemes that cut turns: where they may cut, where each of them does, and what may never change about it.

Where they may cut is told by an oracle that walks a line from its first byte, in the plainest way there is. Work is
counted in lines and calls of Python, never by a clock.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from hashlib import sha256
from itertools import pairwise
from types import FrameType
from typing import TYPE_CHECKING

import pytest
from cases import sha
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxarc.auxiliary.segments import SCHEMES
from ctxarc.auxiliary.segments.places import backslashes, is_escaped, safe
from ctxarc.auxiliary.segments.units import BETWEEN, BLOB, BLOB_PIECE, LEAST, texts
from ctxarc.auxiliary.segments.vocabulary import blanked

if TYPE_CHECKING:
    from _typeshed import TraceFunction

NAMES = sorted(SCHEMES)
CUTTERS = [name for name in NAMES if name != "whole-turn-v1"]
every_scheme = pytest.mark.parametrize("name", NAMES)
every_cutter = pytest.mark.parametrize("name", CUTTERS)

OPENING, CLOSING = b'{"type":"user","message":{"role":"user","content":"', b'"}}\n'


# ------------------------------------------------------------------------------------------------ made-up content


def letters(count: int, salt: str) -> str:
    """So many characters of base64, always the same ones for the same salt."""
    digits = "".join(sha256(f"{salt}/{part}".encode()).hexdigest() for part in range(count // 32 + 1))
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    return "".join(alphabet[int(digits[at : at + 2], 16) % 64] for at in range(0, 2 * count, 2))


def words(count: int, salt: str, choice: int = 40) -> str:
    """So many words of a vocabulary of ``choice``, always the same ones for the same salt."""
    syllables = ("ka", "lo", "mir", "ten", "su", "vel", "pra", "dun", "ose", "il")
    said = []
    for n in range(count):
        number = int(sha256(f"{salt}/{n}".encode()).hexdigest()[:8], 16) % choice
        own = int(sha256(f"{salt}:{number}".encode()).hexdigest()[:8], 16)
        said.append(syllables[own % 10] + syllables[own // 10 % 10] + syllables[own // 100 % 10])
    return " ".join(said)


def chinese(count: int, salt: str) -> str:
    """So many Chinese characters without a blank or a mark between them."""
    return "".join(chr(0x4E00 + int(sha256(f"{salt}/{n}".encode()).hexdigest()[:8], 16) % 20_000) for n in range(count))


def prose(salt: str) -> str:
    ends = (". ", "? ", ".\n", ", and so on! ", ".\n\n")
    return "".join(words(9 + n, f"{salt}{n}", 200).capitalize() + ends[n % 5] for n in range(12))


def code(salt: str) -> str:
    names = words(40, salt, 90).split()
    return "".join(
        f'def {first}(value: str) -> str:\r\n\treturn "\\\\{second}\\n" + value  # {first}\r\n\r\n'
        for first, second in zip(names[::2], names[1::2], strict=True)
    )


def listing(salt: str) -> str:
    return (
        f"## {salt}\n"
        + "".join(f"- {words(14, salt + str(n), 300)}\n" for n in range(9))
        + "\n```sh\nls -l\n```\n"
        + "".join(f"{n}. {words(18, str(n) + salt, 300)}\n" for n in range(5))
    )


def mixed(salt: str) -> str:
    return "".join(
        chinese(23, f"{salt}{n}") + "\uff0c\u3002\uff01\u3001\n"[n % 5] + "\U0001f34e" * (n % 3) for n in range(30)
    )


def nested(salt: str) -> str:
    return json.dumps(
        [{"name": words(3, f"{salt}{n}"), "path": f"C:\\new\\{n}", "list": [n, [n, None]]} for n in range(25)]
    )


TEXTS_WITHOUT_BLOBS = [
    *(make(f"s{n}") for n in range(2) for make in (prose, code, listing, mixed, nested)),
    *(words(150, "w"), words(30, "short"), "x" * 1500, "a, " * 100),
]
VARIED = [*TEXTS_WITHOUT_BLOBS, prose("a") + letters(4000, "b") + " " + listing("c"), letters(2500, "d")]


def literal(text: str, *, ascii_only: bool = False) -> bytes:
    """A text as it lies in a JSON string, without the quotation marks."""
    return json.dumps(text, ensure_ascii=ascii_only).encode()[1:-1]


def enclosed(raw: bytes) -> bytes:
    return OPENING + raw + CLOSING


def cuts(name: str, raw: bytes) -> list[int]:
    """Where a scheme cuts the raw bytes of a text, which stands in a message, counted from the text's beginning."""
    return inside(SCHEMES[name].cut(enclosed(raw)), len(OPENING), len(raw))


def inside(ends: list[int], start: int, length: int) -> list[int]:
    return [end - start for end in ends if start < end < start + length]


# ------------------------------------------------------------------------------------------------ the oracle


ESCAPES = [
    re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"),
    re.compile(rb"\\u[0-9a-fA-F]{4}"),
    re.compile(rb"\\r\\n"),
    re.compile(rb"\\."),
]


def indivisible(turn: bytes, *, in_string: bool = False) -> set[int]:
    """Every place of a turn that lies within a character, an escape, a surrogate pair or a line's end."""
    within: set[int] = set()
    at = 0
    while at < len(turn):
        size = 1
        if in_string and turn[at] == ord("\\"):
            size = next((len(found[0]) for escape in ESCAPES if (found := escape.match(turn, at))), 1)
        elif turn[at : at + 2] == b"\r\n":
            size = 2
        elif turn[at] == ord('"'):
            in_string = not in_string
        elif turn[at] >= 0xC0:
            size = next(length for length in (2, 3, 4, 1) if length == 1 or is_text(turn[at : at + length]))
        within.update(range(at + 1, at + size))
        at += size
    return within


def is_text(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


VALID = [
    *(rb"\n", rb"\\", rb"\"", rb"\/", rb"\t", rb"\r\n", rb"\r", rb"\u00e9", rb"\u4e2d\u6587", rb"\ud83c\udf4e"),
    *(rb"\ud83d", rb"\ude00", rb"\ud83d\ud83d\ude00", rb"\\n", rb"\\\n", rb"\\u00e9", rb"\n\n", rb"{\"a\":", rb"\"},"),
    *("\u4e2d\u6587".encode(), "\u00e9".encode(), "\U0001f34e".encode(), "\u3002".encode(), "\u0e01\u0e02".encode()),
    *(
        b"\r\n",
        b"a word ",
        b"word",
        b". ",
        b", ",
        b"x",
        b"# ",
        b"- ",
        b"1. ",
        b"```",
        b"[",
        b"{",
        b"}",
        b"],",
        b"0" * 76,
    ),
]
INVALID = [
    b"\xff",
    b"\xe6",
    b"\xe6\xb8",
    b"\xf0\x9f\x98",
    b"\x80",
    b"\xed\xa0\x80",
    b"\xf8\x88\x80\x80",
    rb"\x",
    rb"\u12",
    b"\x00",
]
BASE64 = letters(5000, "base64").encode()


def runs(pieces: list[bytes]) -> st.SearchStrategy[bytes]:
    """Texts of pieces, each some times over, so that they are long enough to be cut."""
    piece = st.tuples(st.sampled_from(pieces), st.sampled_from([1, 1, 2, 3, 12, 13, 50, 199])).map(
        lambda run: run[0] * run[1]
    )
    blob = st.sampled_from([900, 1999, 2000, 2001, 2999, 5000]).map(lambda length: BASE64[:length])
    return st.lists(st.one_of(*([piece] * 9), blob), max_size=24).map(b"".join)


TEXTS = runs(VALID)
LINES = st.one_of(
    TEXTS.map(enclosed),
    TEXTS.map(lambda raw: b'{"a" : "' + raw),
    st.lists(TEXTS, max_size=4).map(
        lambda raws: b'{"list":["' + b'","'.join(raws) + b'"],"n":[' + b"1," * 300 + b"1]}\n"
    ),
    st.lists(TEXTS, max_size=3).map(
        lambda raws: b"".join(b'{ "' + raw + b'": {"b": "' + raw[:40] + b'"} }' for raw in raws)
    ),
)
"""Lines whose strings begin and end where quotation marks say, whatever stands in them."""
ANY = st.one_of(
    st.binary(max_size=2000),
    st.tuples(st.binary(max_size=40), st.integers(1, 100)).map(lambda run: run[0] * run[1]),
    runs([*VALID, *INVALID, b'"', b"\\", b"\n", b'{"', b'":"']),
    runs([*VALID, *INVALID]).map(enclosed),
    LINES,
)


# ------------------------------------------------------------------------------------------------ every scheme


def test_schemes_are_known_by_their_names() -> None:
    assert NAMES == ["boundary-v1", "changepoint-v1", "sized-900-v1", "structural-v1", "whole-turn-v1"]
    assert all(scheme.name == name and scheme.about for name, scheme in SCHEMES.items())
    assert all(value > 0 for scheme in SCHEMES.values() for value in scheme.parameters.values())


@settings(max_examples=250, deadline=None)
@given(ANY)
def test_every_scheme_covers_each_byte_of_any_bytes_once_and_cuts_them_the_same_way_again(turn: bytes) -> None:
    for name, scheme in SCHEMES.items():
        ends = scheme.cut(turn)
        assert ends[-1] == len(turn), name
        assert all(before < behind for before, behind in pairwise([0, *ends])) or not turn, name
        assert ends == scheme.cut(bytes(bytearray(turn))), name


@settings(max_examples=250, deadline=None)
@given(LINES)
def test_no_scheme_cuts_a_character_an_escape_a_pair_or_the_end_of_a_line(turn: bytes) -> None:
    within = indivisible(turn)
    for name, scheme in SCHEMES.items():
        assert not within.intersection(scheme.cut(turn)), name


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(["\u00e9", "\u4e2d\u6587", "\U0001f34e", "\r\n", "\\n", "word ", ". "]), max_size=40))
def test_no_scheme_cuts_a_character_of_a_line_that_is_no_json(pieces: list[str]) -> None:
    turn = "".join(piece * 13 for piece in pieces).encode()
    within = indivisible(turn)
    for name, scheme in SCHEMES.items():
        assert not within.intersection(scheme.cut(turn)), name


@every_scheme
@pytest.mark.parametrize(
    "turn", [b"", b"\n", b"x", b'{"a":"b"}\n', b"\xff" * 399, enclosed(b"x" * 399)[: 2 * LEAST - 1]]
)
def test_a_short_turn_is_one_segment(name: str, turn: bytes) -> None:
    assert SCHEMES[name].cut(turn) == [len(turn)]


def test_the_baseline_cuts_nothing() -> None:
    turn = enclosed(literal(prose("p") * 20))
    assert SCHEMES["whole-turn-v1"].cut(turn) == [len(turn)]


@every_cutter
def test_a_blob_does_not_end_within_a_surrogate_pair(name: str) -> None:
    raw = b" " + BASE64[: BLOB - 2] + rb"\ud83c\udf4e" + b" word" * 200
    assert not indivisible(raw, in_string=True).intersection(cuts(name, raw))


@every_cutter
@pytest.mark.parametrize("shift", range(8))
def test_no_cell_of_what_is_no_blob_makes_a_place_within_an_escape(name: str, shift: int) -> None:
    # A run of base64 that is too short for a blob, an escape across the border of a cell, and a blob behind it.
    for escape in (rb"\\", rb"\n", rb"\/", rb"\u0041", rb"\ud83c\udf4e", rb"\\u0041", rb"\\\n"):
        raw = b"A" * (BLOB // 2 - shift) + escape + b"B" * 2 * BLOB
        assert not indivisible(raw, in_string=True).intersection(cuts(name, raw)), (name, escape)


# ------------------------------------------------------------------------------------------------ places


@pytest.mark.parametrize(
    ("turn", "at", "place"),
    [
        (b"abcdef", 3, 3),
        (rb"ab\ncd", 2, 2),
        (rb"ab\ncd", 3, 2),
        (rb"ab\ncd", 4, 4),
        (rb"\\nx", 1, 0),
        (rb"\\nx", 2, 2),  # an escaped backslash, then an n
        (rb"\\\nx", 3, 2),
        (rb"\\\\\\\\\\\\\\\nx", 15, 14),
        (rb"\"x", 1, 0),
        (rb"\u00e9x", 1, 0),
        (rb"\u00e9x", 5, 0),
        (rb"\u00e9x", 6, 6),
        (rb"\\u00e9x", 4, 4),
        (rb"\u12x", 3, 3),
        (rb"\ud83c\udf4ex", 1, 0),
        (rb"\ud83c\udf4ex", 6, 0),
        (rb"\ud83c\udf4ex", 11, 0),
        (rb"\ud83c\udf4ex", 12, 12),
        (rb"\uD83C\uDF4Ex", 6, 0),
        (rb"\ud83c\ud83c\udf4ex", 6, 6),
        (rb"\ud83c\ud83c\udf4ex", 12, 6),
        (rb"\udf4e\ud83cx", 6, 6),
        (rb"\\ud83c\udf4ex", 7, 7),
        (rb"a\r\nx", 3, 1),
        (rb"a\r\nx", 4, 1),
        (rb"a\r\nx", 5, 5),
        (rb"a\n\rx", 3, 3),
        (rb"\\r\nx", 3, 3),
        (b"a\r\nx", 2, 1),
        (b"a\r\nx", 1, 1),
        (b"a\n\rx", 2, 2),
        (b"\n\n", 1, 1),
        (b"\\\\\r\nx", 3, 2),
        ("a\u00e9x".encode(), 2, 1),
        ("\u4e2dx".encode(), 1, 0),
        ("\u4e2dx".encode(), 2, 0),
        ("\u4e2dx".encode(), 3, 3),
        ("\U0001f34e\U0001f34e".encode(), 3, 0),
        ("\U0001f34e\U0001f34e".encode(), 4, 4),
        ("\U0001f34e\U0001f34e".encode(), 7, 4),
        (b"a\x80\x80\x80", 2, 2),
        (b"\xc3\x80\x80x", 2, 2),
        (b"\xe6\xb8x", 1, 0),
        (b"\xe6\xb8x", 2, 2),
        (b"\xf0\x9f\x98\x80\x80x", 4, 4),
    ],
)
def test_the_safe_place_is_the_last_one_outside_all_that_is_whole(turn: bytes, at: int, place: int) -> None:
    assert safe(turn, at, 0) == place
    assert safe(b"word " + turn, at + 5, 0) == place + 5
    assert safe(b"word " + turn, at + 5, 5) == place + 5


@given(TEXTS, st.data())
def test_the_safe_place_is_the_one_that_a_walk_from_the_beginning_finds(raw: bytes, data: st.DataObject) -> None:
    raw += b"x"
    free = sorted(set(range(len(raw))) - indivisible(raw, in_string=True))
    floor = data.draw(st.sampled_from(free))
    for at in {data.draw(st.integers(floor, len(raw) - 1)), *range(floor, min(floor + 40, len(raw)))}:
        assert safe(raw, at, floor) == max(place for place in free if place <= at)


@given(ANY, st.data())
def test_the_safe_place_is_never_before_the_floor_and_never_behind(raw: bytes, data: st.DataObject) -> None:
    raw += b"x"
    floor = data.draw(st.integers(0, len(raw) - 1))
    at = data.draw(st.integers(floor, len(raw) - 1))
    assert floor <= safe(raw, at, floor) <= at


def test_a_backslash_before_a_line_end_does_not_part_it() -> None:
    assert safe(b"C:\\\r\nx", 4, 0) < 4


def test_backslashes_are_counted_down_to_the_floor() -> None:
    raw = rb"a\\\nb"
    assert backslashes(raw, 4, 0) == 1
    assert backslashes(raw, 4, 2) == 2
    assert backslashes(raw, 1, 0) == 1
    assert [is_escaped(raw, at, 0) for at in range(6)] == [False, False, True, False, True, False]
    assert not is_escaped(raw, 4, 2)


# ------------------------------------------------------------------------------------------------ units


def test_texts_are_the_strings_of_200_bytes_and_more_wherever_they_stand() -> None:
    long, short = b"y" * LEAST, b"y" * (LEAST - 1)
    for raw in (long, rb"\"" * 150, rb"\\" * 150, b", " * 150, b"]" * 300, b": {" * 90, rb"\\\"" * 80 + rb"\\"):
        for before in (b'{"a":"', b'{"a": "', b'["', b'["b","', b'["b", "', b'{"' + short + b'":"'):
            for behind in (b'"}\n', b'","c":"d"}', b'" , "c" : "d" }\n', b'","' + short + b'"]'):
                turn = before + raw + behind
                assert texts(turn) == [(len(before), len(before) + len(raw))], turn
    assert texts(b'{"a":"' + short + b'","b":"' + short + b'"}') == []
    assert texts(b'{"a":"' + long + b'","b":"' + long + b'"}') == [(6, 206), (213, 413)]
    assert texts(b'{"a":"' + long) == [(6, 206)]
    assert texts(b'{"n":[' + b"1," * 300 + b'1],"a":"b","m":[' + b"2," * 300 + b"2]}") == []
    assert texts(b"plain words") == [(0, 11)]


@pytest.mark.parametrize("said", [b"so ", b"so:", b"so,", b"[", b"{"])
def test_what_follows_a_string_is_no_text_whatever_the_string_ends_with(said: bytes) -> None:
    assert texts(b'["' + said + b'",' + b"1," * 300 + b"1]") == []
    assert texts(b'{"' + said + b'":[' + b"1," * 300 + b"1]}") == []


def around() -> Iterator[tuple[bytes, bytes]]:
    """What may stand before and behind a string."""
    ids = b'"id":"0b7c1f3e","n":[' + b"1, " * 40 + b"1],"
    yield OPENING, CLOSING
    yield b'{"a" : "', b'" }\r\n'
    yield b'{"cut off":"', b""
    yield b'["', b'"]'
    yield b"{" + ids * 9 + b'"a":"', b'",' + ids * 9 + b'"z":0}\n'
    yield b'{"so: ":[' + b"1," * 200 + b'"so, ",' + b"2," * 200 + b'"', b'",' + b"3," * 200 + b'"x, "]}\n'
    yield b'{"a":["' + literal(prose("before")) + b'","', b'","' + literal(code("behind")) + b'"]}\n'
    yield b'{"a":["' + rb"\\" * 333 + b'","' + rb"\"" * 333 + b'","', b'",' + b'"\\"",' * 100 + b'"z"]}\n'
    yield b'{"blob":"' + BASE64 + b'","a":"', b'","blob":"' + BASE64 + b'"}\n'
    yield b'{"a":' * 300 + b'"', b'"' + b"}" * 300
    yield b'{"type":"assistant","text":"half a sent' + OPENING, CLOSING
    yield b'{"' + b"key" * 100 + b'":{"' + "\u4e2d".encode() * 100 + b'":"', b'"}}\n'


@every_scheme
@pytest.mark.parametrize("text", VARIED)
def test_a_long_text_is_cut_at_the_same_places_wherever_it_stands(name: str, text: str) -> None:
    for raw in (literal(text), literal(text, ascii_only=True)):
        expected = cuts(name, raw)
        for before, behind in around():
            turn = before + raw + behind
            assert inside(SCHEMES[name].cut(turn), len(before), len(raw)) == expected, before


@every_scheme
def test_a_text_that_begins_like_the_json_around_it_is_cut_as_any_other(name: str) -> None:
    for first in (b",", b"]", b"}", b":", b"{", b"[", b" ", rb"\"", rb"\\", rb"\\\""):
        raw = first + literal(prose("p") + listing("l"))
        (start, end), expected = (len(OPENING), len(OPENING) + len(raw)), cuts(name, raw)
        assert texts(enclosed(raw)) == [(start, end)]
        for before, behind in around():
            if first == b"," and before.startswith(b'{"so: "'):
                continue  # the test below
            assert inside(SCHEMES[name].cut(before + raw + behind), len(before), len(raw)) == expected, (first, before)


@every_cutter
def test_a_comma_at_the_beginning_of_a_text_stays_with_it(name: str) -> None:
    raw = b", and so on" * 60
    before = b'["so: ",' + b"1," * 200 + b'"'
    assert len(before) + 1 not in SCHEMES[name].cut(before + raw + b'"]')


@every_cutter
def test_what_stands_between_goes_with_the_text_behind_it_and_with_the_last_one(name: str) -> None:
    raw = b"y." * 100
    before, between, behind = b'{"a":"b","c":"', b'","d":"', b'","e":[1,2]}\n'
    turn = before + raw + between + raw + between + raw + behind
    first = len(before) + len(raw) + 2  # behind the quotation mark and the comma
    assert SCHEMES[name].cut(turn) == [first, first + len(raw + between), len(turn)]


@every_cutter
def test_a_long_stretch_between_is_a_segment_of_its_own_and_cut_like_a_text(name: str) -> None:
    raw, stretch = b"y." * 200, b'"k":"v",' * 200
    assert len(stretch) > BETWEEN
    turn = b'{"a":"' + raw + b'",' + stretch + b'"b":"' + raw + b'",' + stretch + b'"z":0}\n'
    ends = SCHEMES[name].cut(turn)
    assert 6 + len(raw) + 2 in ends
    assert turn.rindex(raw) + len(raw) + 2 in ends
    if name in {"boundary-v1", "sized-900-v1"}:
        start = 6 + len(raw) + 2
        assert inside(ends, start, len(stretch))


# ------------------------------------------------------------------------------------------------ boundary-v1


BORDERS = [
    [rb"\n\n"],
    [b". ", b"! ", b"? ", *(mark.encode() for mark in "\u3002\uff1f\uff01\u0964\u061f")],
    [rb"\n"],
    [rb"\",", b"},", b"],"],
    [b", ", "\uff0c".encode(), "\u3001".encode()],
    [b" ", b","],
]
"""Ends of paragraphs, sentences, lines, values, parts of sentences and words: the better before the worse."""


def filled(length: int, borders: dict[int, bytes]) -> bytes:
    """A text of that length with the given bytes at the given places, and one word between them."""
    raw = b"x" * length
    for at, border in borders.items():
        raw = raw[:at] + border + raw[at + len(border) :]
    return raw


@pytest.mark.parametrize("better", range(len(BORDERS)))
def test_boundary_prefers_ends_of_paragraphs_to_sentences_to_lines_to_values_to_words(better: int) -> None:
    for border in BORDERS[better]:
        for worse in (other for rank in BORDERS[better + 1 :] for other in rank):
            for places in ({230: border, 330: worse}, {330: border, 230: worse}, {330: border, 230: worse, 380: worse}):
                at = next(at for at, found in places.items() if found == border)
                assert cuts("boundary-v1", filled(640, places)) == [at + len(border)], (border, worse)


@pytest.mark.parametrize("border", [border for rank in BORDERS for border in rank])
def test_boundary_takes_the_last_border_in_its_window(border: bytes) -> None:
    size = len(border)
    assert cuts("boundary-v1", filled(640, {150: border, 250: border, 350: border, 450: border})) == [350 + size]
    assert cuts("boundary-v1", filled(640, {200 - size: border})) == [200]
    assert cuts("boundary-v1", filled(640, {199 - size: border})) == [440]
    assert cuts("boundary-v1", filled(640, {440 - size: border})) == [440]
    assert cuts("boundary-v1", filled(900, {500 - size: border})) == [500]
    assert cuts("boundary-v1", filled(900, {501: border})) == [500]
    assert cuts("boundary-v1", filled(1200, {300: border, 600: border, 900: border})) == [
        300 + size,
        600 + size,
        900 + size,
    ]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"x" * 500, []),
        (b"x" * 501, [301]),
        (b"x" * 650, [450]),
        (b"x" * 1200, [500, 1000]),
        (b"x" * 499 + rb"\n" * 200, [499]),
        (b"x" * 499 + rb"\"" * 200, [499]),
        (b"x" * 490 + rb"\ud83c\udf4e" + b"x" * 490, [490, 792]),
        ("\u4e2d".encode() * 300, [498]),
        ("\U0001f34e".encode() * 200, [500]),
        (b"x" * 300 + rb"\\n" + b"x" * 300, [303]),  # the n ends no line, but a cut behind it harms nothing
    ],
)
def test_boundary_cuts_at_the_end_of_its_window_where_there_is_no_border(raw: bytes, expected: list[int]) -> None:
    assert cuts("boundary-v1", raw) == expected


@settings(max_examples=150, deadline=None)
@given(runs(VALID))
def test_boundary_makes_no_segment_of_a_text_longer_than_500_bytes_or_shorter_than_200(raw: bytes) -> None:
    if len(raw) < LEAST or len(raw) >= BLOB:
        raw = (raw + b"a b, " * 40)[: BLOB - 1 - len(raw) % 7]
        raw = raw[: safe(raw + b"x", len(raw), 0)]
    sizes = [behind - before for before, behind in pairwise([0, *cuts("boundary-v1", raw), len(raw)])]
    assert max(sizes) <= 500
    assert min(sizes) >= LEAST


@pytest.mark.parametrize("text", TEXTS_WITHOUT_BLOBS)
def test_boundary_adds_at_most_500_bytes_of_what_stands_around_at_either_end(text: str) -> None:
    raw = literal(text.strip()) + b"y" * LEAST
    for before, behind in ((b'{"a":[' + b"1," * 240 + b'"', b'",' + b"2," * 240 + b"0]}\n"), (OPENING, CLOSING)):
        ends = SCHEMES["boundary-v1"].cut(before + raw + behind)
        assert max(there - here for here, there in pairwise([0, *ends])) <= 500 + 2 * BETWEEN
        assert ends[:-1] == [len(before) + place for place in cuts("boundary-v1", raw)]


# ------------------------------------------------------------------------------------------------ structural-v1, sized


@pytest.mark.parametrize(
    ("end", "start"),
    [
        (rb"\n", b"# Title"),
        (rb"\n", b"###### Title"),
        (rb"\n", b"- an item"),
        (rb"\n", b"* an item"),
        (rb"\n", b"+ an item"),
        (rb"\n", b"7. an item"),
        (rb"\n", b"123) an item"),
        (rb"\n", b"```python"),
        (rb"\n\n", b"A paragraph"),
        (rb"\r\n\r\n", b"A paragraph"),
        (rb"\n\r\n", b"A paragraph"),
        (rb"\r\n", b"# Title"),
        (rb"\\\n", b"# Title"),
    ],
)
def test_structural_cuts_before_headings_items_and_fences_and_behind_blank_lines(end: bytes, start: bytes) -> None:
    before = b"word " * 50 + end
    assert cuts("structural-v1", before + start + b" word" * 50) == [len(before)]
    assert cuts("structural-v1", before + start + b" word" * 50 + end + start + b" word" * 50) == [
        len(before),
        2 * len(before) + len(start),
    ]


@pytest.mark.parametrize(
    "between",
    [
        rb"\\n# Title",  # an escaped backslash, and an n
        rb"\\n\\n",
        rb"\\\\n- item",
        rb"\n#Title",
        rb"\n####### Title",
        rb"\n-item",
        rb"\n1234. item",
        rb"\n1.item",
        rb"\n``code``",
        rb"\n  - item",
        rb"\nline\nline",
        b"# Title",
        b"\\u000a# Title",
    ],
)
def test_structural_does_not_cut_where_no_structure_is(between: bytes) -> None:
    assert cuts("structural-v1", b"word " * 50 + between + b" word" * 50) == []


def test_structural_looks_for_the_first_border_200_bytes_on() -> None:
    item = rb"\n- " + b"x" * 56  # 60 bytes
    raw = b"y" * 58 + item * 20 + rb"\n"
    assert cuts("structural-v1", raw) == [240, 480, 720, 960]
    assert cuts("structural-v1", b"y" * 198 + rb"\n\n" + b"z" * 200) == [202]
    assert cuts("structural-v1", b"y" * 195 + rb"\n\n" + b"z" * 300) == []
    assert cuts("structural-v1", b"y" * 300 + rb"\n\n" + b"z" * 199) == []


def test_structural_sees_a_heading_behind_a_backslash_and_an_n() -> None:
    before = b"word " * 50 + rb"prints \\n\n"
    assert cuts("structural-v1", before + b"# Title" + b" word" * 50) == [len(before)]


def dotted(length: int, borders: tuple[int, ...] = ()) -> bytes:
    """A text without a blank that is no blob; behind each given place stands a heading."""
    raw = b"x." * (length // 2)
    for at in borders:
        raw = raw[: at - 2] + rb"\n# " + raw[at + 2 :]
    return raw


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (dotted(1098), []),
        (dotted(1100), [900]),
        (dotted(3000), [900, 1800, 2700]),
        (dotted(3000, (600,)), [600, 1500, 2400]),
        (dotted(3000, (598,)), [900, 1800, 2700]),
        (dotted(3000, (1200,)), [1200, 2100]),
        (dotted(3000, (1202,)), [900, 1800, 2700]),
        (dotted(3000, (750, 1000)), [1000, 1900, 2800]),
        (dotted(3000, (850, 1000)), [850, 1750, 2650]),
        (dotted(3000, (100, 400, 880, 2200)), [880, 1780, 2680]),
        (b"x." * 449 + rb"\u4e2d" * 100, [898]),
    ],
)
def test_sized_cuts_about_every_900_bytes_and_at_a_border_that_is_near(raw: bytes, expected: list[int]) -> None:
    assert cuts("sized-900-v1", raw) == expected


@pytest.mark.parametrize("text", TEXTS_WITHOUT_BLOBS)
def test_sized_makes_segments_of_600_to_1200_bytes(text: str) -> None:
    raw = literal(text)
    *sizes, last = [behind - before for before, behind in pairwise([0, *cuts("sized-900-v1", raw), len(raw)])]
    assert all(600 - 11 <= size <= 1200 for size in sizes)  # an escaped pair may stand before the place aimed at
    assert last < 1100


# ------------------------------------------------------------------------------------------------ changepoint-v1


def told(vocabulary: list[str], count: int) -> str:
    return "".join(vocabulary[n % len(vocabulary)] + " " for n in range(count))


APPLES = ["apple", "pear", "orchard", "ladder", "basket", "cider", "press", "bloom", "graft", "prune", "oak", "crate"]
BOATS = ["harbour", "sail", "rudder", "anchor", "tide", "keel", "mast", "rope", "captain", "deck", "pilot", "lantern"]
FRUIT_CHINESE = "\u82f9\u679c\u68a8\u6811\u82b1\u56ed\u68af\u5b50\u7bee\u5b50\u6536\u5272"
BOATS_CHINESE = "\u6e2f\u53e3\u5e06\u8239\u8235\u624b\u951a\u94fe\u6f6e\u6c34\u706f\u5854"


def test_changepoint_cuts_where_one_vocabulary_follows_another() -> None:
    for first, second in ((APPLES, BOATS), (BOATS, APPLES)):
        before, behind = told(first, 120), told(second, 120)
        assert cuts("changepoint-v1", (before + behind).encode()) == [len(before)]
        assert cuts("changepoint-v1", (before + behind.upper() + before).encode()) == [
            len(before),
            len(before + behind),
        ]


def test_changepoint_does_not_cut_a_text_of_one_vocabulary() -> None:
    for text in (told(APPLES, 600), told(APPLES, 300) + told(APPLES[::-1], 300).upper(), words(600, "one", 12)):
        assert cuts("changepoint-v1", literal(text)) == []
    assert cuts("changepoint-v1", literal(FRUIT_CHINESE * 60)) == []


def test_changepoint_keeps_200_bytes_between_cuts() -> None:
    text = "".join(told([word + str(n) for word in APPLES], 12) for n in range(30))
    ends = cuts("changepoint-v1", text.encode())
    assert len(ends) > 5
    assert all(behind - before >= LEAST for before, behind in pairwise([0, *ends, len(text)]))


def test_changepoint_sees_the_change_from_one_chinese_vocabulary_to_another() -> None:
    text = FRUIT_CHINESE * 20 + BOATS_CHINESE * 20
    raw = literal(text)
    (place,) = cuts("changepoint-v1", raw)
    assert abs(place - len(raw) // 2) <= 3


def test_changepoint_sees_that_change_in_escapes_too() -> None:
    raw = literal(FRUIT_CHINESE * 20 + BOATS_CHINESE * 20, ascii_only=True)
    (place,) = cuts("changepoint-v1", raw)
    assert abs(place - len(raw) // 2) <= 6


def test_changepoint_cuts_chinese_without_blanks_in_pieces() -> None:
    for n in range(3):
        raw = literal(chinese(2000, str(n)))
        assert len(raw) // 1000 < len(cuts("changepoint-v1", raw)) < len(raw) // LEAST


def test_changepoint_cuts_escaped_chinese_in_as_many_pieces() -> None:
    # An escape takes twice the bytes, so that 200 of them are half the characters.
    text = "".join(chinese(40, f"{n}") * 6 for n in range(20))
    plain, escaped = (len(cuts("changepoint-v1", literal(text, ascii_only=only))) for only in (False, True))
    assert plain > 10
    assert plain <= escaped <= 2 * plain + 2


def test_changepoint_looks_at_a_long_text_piece_by_piece_and_forgets_no_change() -> None:
    # Every word is new, and twelve of them are 108 bytes: there is a cut behind every second step.
    raw = b"".join(b"w%07d " % n for n in range(150_000))
    assert len(raw) > 1 << 20
    assert cuts("changepoint-v1", raw) == list(range(216, len(raw) - LEAST + 1, 216))


# ------------------------------------------------------------------------------------------------ vocabulary


@pytest.mark.parametrize(
    ("raw", "words_at_their_places"),
    [
        (b"Two Words", b"two words"),
        (b"a-b.c,d_e;f(9)", b"a b c d_e f 9 "),
        (rb"one\ntwo", b"one  two"),
        (rb"C:\\new\tab", b"c   new  ab"),
        (rb"\\\n\\n", b"       n"[1:]),
        (rb"\r\b\f\"x\"\/", b"         x    "[1:]),
        (rb"caf\u00e9 x", b"caf000ue9 x"),
        (rb"\u0041b \u002d", b"000u41b       "),
        (rb"\ud83c\udf4e apple", b" " * 13 + b"apple"),
        (rb"\ud83c x", b" " * 7 + b"x"),
        ("wei\u00df ist es".encode(), "wei\u00df ist es".encode()),
        ("\u043c\u0438\u0440 \u2014 \u043c\u0438\u0440".encode(), "\u043c\u0438\u0440     \u043c\u0438\u0440".encode()),
        ("\U0001f34e".encode(), b"    "),
        (b"\xff\xfex", b"  x"),
        ("a long text with one \u00e9 of few".encode(), b"a long text with one    of few"),
        (b"", b""),
    ],
)
def test_words_stay_at_their_places_without_case_and_all_else_is_blank(
    raw: bytes, words_at_their_places: bytes
) -> None:
    assert blanked(raw) == words_at_their_places


def test_a_character_without_blanks_around_it_is_a_word_with_the_one_behind_it() -> None:
    one, two, other = (
        blanked(text.encode()).split() for text in ("\u4e2d\u6587\u5b57", "\u6587\u5b57", "\u4e2d\u5b57")
    )
    assert len(one) == 3
    assert one[1:] == two
    assert other[0] != one[0]
    assert other[1] == two[1]


@settings(max_examples=300)
@given(st.one_of(ANY, st.text().map(lambda text: literal(text, ascii_only=True)), st.text(min_size=1).map(str.encode)))
def test_the_copy_is_as_long_as_the_text_and_the_same_again(raw: bytes) -> None:
    assert len(blanked(raw)) == len(raw)
    assert blanked(raw) == blanked(bytes(bytearray(raw)))


@given(
    st.lists(st.sampled_from([b"word", b"Two", b"x1_", b"ein"]), max_size=30),
    st.sampled_from([b" ", rb"\n", b"(", rb"\\", rb"\"", b"\x00", b"\r\n"]),
)
def test_words_are_found_whatever_parts_them(said: list[bytes], between: bytes) -> None:
    assert blanked(between.join(said)).split() == [word.lower() for word in said]


# ------------------------------------------------------------------------------------------------ blobs


def wrapped(blob: bytes) -> bytes:
    return rb"\n".join(blob[at : at + 76] for at in range(0, len(blob), 76))


MEGABYTES = BASE64 * 600


@every_cutter
@pytest.mark.parametrize("blob", [MEGABYTES, wrapped(MEGABYTES)], ids=["one line", "lines of 76"])
def test_three_megabytes_of_base64_are_few_segments_and_the_text_around_is_cut(name: str, blob: bytes) -> None:
    text = (told(APPLES, 120) + "\n\n" + told(BOATS, 120) + "\n\n" + told(APPLES, 120)).strip()
    before = literal(text + ": ")
    raw = before + blob + literal(" " + text)
    found = cuts(name, raw)
    within = [place for place in found if len(before) < place < len(before) + len(blob)]
    assert 1 <= len(within) <= len(blob) // BLOB_PIECE
    assert all(behind - before >= BLOB_PIECE // 2 for before, behind in pairwise(within))
    assert len(before) in found
    assert len(before) + len(blob) in found
    assert any(place < len(before) for place in found)
    assert any(place > len(before) + len(blob) for place in found)
    assert not indivisible(raw, in_string=True).intersection(found)


@every_cutter
@pytest.mark.parametrize("blob", [BASE64[:2200], wrapped(BASE64[:2200]), b"-_" * 1000 + b"=="])
def test_a_blob_is_found_wherever_in_the_string_it_begins(name: str, blob: bytes) -> None:
    for length in (*range(0, 1100, 61), 198, 199, 200, 201, 999, 1000, 1001):
        before = (b"w. " * 400)[-length:] if length else b""
        found = cuts(name, before + blob + b" w." * 400)
        assert not [place for place in found if length < place < length + len(blob)], length
        assert (length in found) == (length >= LEAST), length
        assert length + len(blob) in found, length


@every_cutter
def test_base64_of_less_than_2000_bytes_is_cut_like_a_text(name: str) -> None:
    raw = b"w. " * 200 + BASE64[: BLOB - 1] + b" w." * 200
    ends = inside(SCHEMES[name].cut(enclosed(raw)), len(OPENING) + 600, BLOB - 1)
    assert bool(ends) == (name != "structural-v1")


# ------------------------------------------------------------------------------------------------ work


def work(do: Callable[[], object]) -> int:
    """The lines that Python runs and the calls it makes, of its own functions and of others."""
    count = 0

    def traced(_frame: FrameType, _event: str, _value: object) -> TraceFunction:
        nonlocal count
        count += 1
        return traced

    def profiled(_frame: FrameType, event: str, _value: object) -> None:
        nonlocal count
        count += event == "c_call"

    before = sys.gettrace(), sys.getprofile()
    sys.settrace(traced)
    sys.setprofile(profiled)
    try:
        do()
    finally:
        sys.settrace(before[0])
        sys.setprofile(before[1])
    return count


FLOODS = {
    "backslashes": b"\\",
    "escaped quotation marks": rb"\"",
    "quotation marks": b'"',
    "backslashes and quotation marks": rb"\\\"" + b'"',
    "line feeds": rb"\n",
    "backslashes and n": rb"\\n",
    "a giant word": b"x",
    "a giant word that is no blob": b"x.",
    "opening brackets": b"[",
    "opening braces": b'{"',
    "members": b'"a":',
    "elements": b'"a",',
    "blanks": b" ",
    "words": b"word ",
    "borders that are none": rb"\\n\n",
    "headings": rb"\n# ",
    "backslashes, then a border": b"\\" * 333 + rb"\n\n",
    "escapes": rb"\u4e2d",
    "halves of pairs": rb"\ud83d",
    "Chinese": "\u4e2d".encode(),
    "bytes that continue nothing": b"\x80",
    "bytes that begin something": b"\xe6",
    "line ends": b"\r\n",
    "few words between giant ones": b"a " * 60 + b"x." * 4000,
}


@every_scheme
@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS.keys())
def test_work_grows_in_proportion_to_length(name: str, flood: bytes) -> None:
    for before in (OPENING, b"plain: "):
        turns = [before + flood * (size // len(flood) + 1) for size in (8_000, 32_000)]
        few, many = (work(partial(SCHEMES[name].cut, turn)) for turn in turns)
        assert many <= 5 * few + 100, (few, many)


@every_scheme
@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS.keys())
def test_a_flood_is_cut_in_one_pass(name: str, flood: bytes) -> None:
    turn = OPENING + flood * (300_000 // len(flood))  # quadratic work on this would take hours
    assert SCHEMES[name].cut(turn)[-1] == len(turn)


# ------------------------------------------------------------------------------------------------ pinned


def pinned_turns() -> Iterator[bytes]:
    """Lines of every kind, always the same ones."""
    for n, make in enumerate((prose, code, listing, mixed, nested)):
        text = make(f"pinned {n}") * 3
        yield enclosed(literal(text))
        yield enclosed(literal(text, ascii_only=True))
        yield (
            json.dumps({"content": [{"text": text}, {"n": list(range(300))}, {"text": make("second")}]}).encode()
            + b"\r\n"
        )
    yield literal(prose("plain") + code("plain")) + b"\n"
    yield enclosed(literal(prose("before")) + BASE64 + literal("\n" + prose("behind")))
    yield enclosed(wrapped(BASE64))
    yield b'{"a":[' * 400 + b'"' + literal(listing("deep")) + b'"' + b"]}" * 400 + b"\n"
    yield enclosed(literal(mixed("broken"))[1:-1].replace(b"\x80", b"") + b"\xff\xfe" * 300)
    yield b"\xe6\xb8" * 700
    yield OPENING + literal(told(APPLES, 200) + told(BOATS, 200) + prose("torn"))
    yield enclosed(literal("\U0001f34e\u00e9\\n\r\n" * 90, ascii_only=True))
    yield b"short\n"
    yield b""


def test_pinned_turns_are_the_ones_that_were_pinned() -> None:
    assert sha(b"\x00".join(pinned_turns())) == "d6375f1218e33491b659fe4b4e27633085b48c5f621f69d56c1a5dd7843fbea4"


# A digest that changes here means that the scheme cuts otherwise than before, and needs a new name: archives hold
# indexes and vectors under the old one.
PINNED = {
    "boundary-v1": "a5bf0a4ec6717cb4d6e8242a257a7d3d1f7f3160135584844b6bace78ed71368",
    "changepoint-v1": "28f3c865ad5d37ef111509449340eb4a9cfac026dfaf1768d603889a05639b1b",
    "sized-900-v1": "badfde17fe27d1a70e5b5d58d7d0e18a8ebb11be2bddb7f77f2022d594ba6e16",
    "structural-v1": "99910599a6cff6e44c84a24e56426539bad57d441aef4d2dcf92c2ce9cf5a074",
    "whole-turn-v1": "e1a449d8ce797aa6cdd535a1824634726fca2a6e14403bc51f2f525cfbe357a2",
}


@every_scheme
def test_the_cuts_of_a_scheme_never_change(name: str) -> None:
    assert sha(json.dumps([SCHEMES[name].cut(turn) for turn in pinned_turns()]).encode()) == PINNED[name]
