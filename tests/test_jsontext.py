"""JSON text and its place in the raw bytes: what is decoded, what is found, and that every range leads back."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxarc.auxiliary.jsontext import ENVELOPE, Literal, Mapped, decode, mapped, strings

CORPUS = Path(__file__).resolve().parents[2] / "shared" / "corpus"

FRAGMENTS = st.sampled_from(
    [
        *(
            b"a",
            b"Zz ",
            b"\n",
            b'"',
            b"\\",
            b"\\\\",
            b'\\"',
            b"\\/",
            b"\\n",
            b"\\t",
            b"\\x",
            b"\\u",
            b"\\u00e",
            b"u0041",
        ),
        *(b"\\u0041", b"\\u00E9", b"\\ud83d\\ude00", b"\\uD83D", b"\\uDE00", b"\\ud83d\\ud83d\\ude00", b"\\u2028"),
        *("\u00e9".encode(), "\u6e2c\u8a66".encode(), "\U0001f600".encode(), b"\xed\xa0\x80", b"\xf4\x90\x80\x80"),
        *(
            b"\xff",
            b"\xc3",
            b"\xe6",
            b"\xe6\xb8",
            b"\xf0\x9f",
            b"\xf0\x9f\x98",
            b"\x80",
            b"\xc0\xaf",
            b"\x00",
            b"{",
            b"}",
        ),
    ],
)
RAW = st.one_of(st.binary(max_size=60), st.lists(FRAGMENTS, max_size=30).map(b"".join))


def inside(raw: bytes) -> list[tuple[bytes, bytes]]:
    return [(found.key, raw[found.start : found.end]) for found in strings(raw)]


# ------------------------------------------------------------------------------------------------ decode


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (rb"plain", "plain"),
        (rb"line\nbreak", "line\nbreak"),
        (rb"C:\\new", "C:\\new"),  # an escaped backslash, then an n
        (rb"\\\n", "\\\n"),
        (rb"\\\\n", "\\\\n"),
        (rb"\u00e9\u00E9", "\u00e9\u00e9"),
        (rb"\ud83d\ude00", "\U0001f600"),
        (rb"\ud800 \udfff", "\ufffd \ufffd"),
        (rb"\ud83d\ud83d\ude00", "\ufffd\U0001f600"),
        (rb"\x41 \q", r"\x41 \q"),
        (rb"\u12", r"\u12"),
        (b"end\\", "end\\"),
        (b'bare " and \\n', 'bare " and \n'),
        (b'a\\\\"b', 'a\\"b'),
        (b"\xe6\xb8|\xff|\\n", "\ufffd|\ufffd|\n"),
        (b"\xed\xa0\x80\\t", "\ufffd\ufffd\ufffd\t"),
        (b"", ""),
    ],
)
def test_decode_takes_each_escape_once(raw: bytes, text: str) -> None:
    assert decode(raw) == text


@given(st.text(), st.booleans())
def test_decode_agrees_with_json_on_valid_literals(text: str, ascii_only: bool) -> None:  # noqa: FBT001 - given
    written = json.dumps(text, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    read = json.loads(written)
    assert decode(written[1:-1]) == read.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@given(RAW)
def test_decode_always_gives_text_that_encodes(raw: bytes) -> None:
    assert decode(raw).encode("utf-8").decode("utf-8") == decode(raw)


# ------------------------------------------------------------------------------------------------ raw ranges


@given(RAW, st.booleans(), st.data())
def test_a_range_decodes_to_the_characters_it_was_asked_for(raw: bytes, plain: bool, data: st.DataObject) -> None:  # noqa: FBT001 - given
    text = Mapped(raw, plain=plain)
    start = data.draw(st.integers(0, len(text.text)))
    end = data.draw(st.integers(start, len(text.text)))
    low, high = text.raw_range(start, end)
    assert Mapped(raw[low:high], plain=plain).text == text.text[start:end]


@given(RAW, st.booleans())
def test_single_characters_cover_the_raw_bytes_exactly_once(raw: bytes, plain: bool) -> None:  # noqa: FBT001 - given
    text = Mapped(raw, plain=plain)
    at = 0
    for i in range(len(text.text)):
        low, high = text.raw_range(i, i + 1)
        assert low == at < high
        at = high
    assert at == len(raw)


def test_ranges_are_right_far_into_a_long_text_in_any_order() -> None:
    piece = 'a\u00e9\u6e2c\U0001f600\\n\\u00e9\\ud83d\\ude00"tail'.encode()
    text = Mapped(piece * 2000, offset=100)
    size = len(decode(piece))
    for turn in (1999, 0, 1234, 3):
        low, high = text.raw_range(turn * size, (turn + 1) * size)
        assert (low, high) == (100 + turn * len(piece), 100 + (turn + 1) * len(piece))


def test_an_empty_range_is_empty_and_one_outside_is_refused() -> None:
    text = Mapped(b"\\n\\n")
    assert text.raw_range(1, 1) == (2, 2)
    assert text.raw_range(2, 2) == (4, 4)
    assert Mapped(b"").raw_range(0, 0) == (0, 0)
    for start, end in ((-1, 1), (0, 3), (2, 1)):
        with pytest.raises(IndexError):
            text.raw_range(start, end)


def test_a_plain_text_keeps_its_backslashes() -> None:
    text = Mapped(rb"C:\new \u0041", plain=True)
    assert text.text == r"C:\new \u0041"
    assert text.raw_range(3, 6) == (3, 6)


# ------------------------------------------------------------------------------------------------ strings


def test_values_are_found_with_their_keys_and_keys_are_not_values() -> None:
    raw = b'{"a":"1","b" : [ "2", {"c":"3","d":{"e":"4"}}, "5", [["6"]]],"f":{"g":7},"h":""}\n'
    assert inside(raw) == [
        (b"a", b"1"),
        (b"b", b"2"),
        (b"c", b"3"),
        (b"e", b"4"),
        (b"b", b"5"),
        (b"b", b"6"),
        (b"h", b""),
    ]
    assert not any(found.plain for found in strings(raw))


def test_quotation_marks_behind_backslashes_end_nothing() -> None:
    raw = rb'{"a":"say \"hi\" \\","b":"\\\"","c\"d":"x"}'
    assert inside(raw) == [(b"a", rb"say \"hi\" \\"), (b"b", rb"\\\""), (rb"c\"d", b"x")]


def test_a_torn_literal_reaches_to_the_end_without_the_line_ending() -> None:
    assert inside(b'{"a":"cut of') == [(b"a", b"cut of")]
    assert inside(b'{"a":"cut of\r\n') == [(b"a", b"cut of")]
    assert inside(b'{"a":"cut\\') == [(b"a", b"cut\\")]


def test_a_second_record_is_found_behind_one_that_breaks_off() -> None:
    second = b'{"role":"user","text":"and \\"on\\""}\n'
    for first in (
        b'{"a":"b","c":"half a sent',
        b'{"a":"b","c":"half a sent\\',
        b'{"a":"b","half a ke',
        b'{"a":"b"}',
        b'{"a":1',
    ):
        assert inside(first + second)[-2:] == [(b"role", b"user"), (b"text", rb"and \"on\"")]
    assert (b"c", b"half a sent") in inside(b'{"a":"b","c":"half a sent' + second)


def test_a_brace_at_the_end_of_a_string_begins_no_record() -> None:
    assert inside(b'{"a":"if (x) {","b":"}","{":"c"}') == [(b"a", b"if (x) {"), (b"b", b"}"), (b"{", b"c")]


@pytest.mark.parametrize(
    "line",
    [
        b'he said "yes"',
        b"\\n is not a line feed here",
        b'[INFO] got "x"',
        b"{x: 'y'}",
        b"42",
        b"[1, 2]",
        b'{"n":1}',
        b"{}",
    ],
)
def test_a_line_without_strings_is_one_plain_literal(line: bytes) -> None:
    for ending in (b"", b"\n", b"\r\n"):
        assert list(strings(line + ending)) == [Literal(0, len(line), b"", plain=True)]


@pytest.mark.parametrize("line", [b"", b"\n", b" \t\r\n", b"\r"])
def test_a_blank_line_has_nothing(line: bytes) -> None:
    assert list(strings(line)) == []


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (b'  "text": "two\\nlines",\n', [(b"text", b"two\\nlines")]),
        (b'    "an element"\r\n', [(b"", b"an element")]),
        (b'"alone"', [(b"", b"alone")]),
        (b'{ "first": "member",\n', [(b"first", b"member")]),
    ],
)
def test_a_line_of_a_document_over_many_lines_is_json(line: bytes, found: list[tuple[bytes, bytes]]) -> None:
    assert inside(line) == found
    assert not any(literal.plain for literal in strings(line))


def test_invalid_utf8_nul_and_bom_do_not_stop_the_scan() -> None:
    assert inside(b'\xef\xbb\xbf{"a":"\xff\xfe","b":"\x00","c":"d"}') == [
        (b"a", b"\xff\xfe"),
        (b"b", b"\x00"),
        (b"c", b"d"),
    ]


@given(
    st.recursive(
        st.text() | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_the_strings_of_any_json_document_are_its_values_in_order(document: object) -> None:
    raw = json.dumps([document, "last"]).encode()
    expected = [*values_of(document), "last"]
    assert [json.loads(b'"' + raw[found.start : found.end] + b'"') for found in strings(raw)] == expected


def values_of(document: object) -> Iterator[str]:
    if isinstance(document, str):
        yield document
    inner = document.values() if isinstance(document, dict) else document if isinstance(document, list) else ()
    for item in inner:
        yield from values_of(item)


@given(
    st.one_of(RAW, st.lists(st.sampled_from([b'{"', b'"', b":", b",", b"[", b"}", b"\\", b" ", b"x"])).map(b"".join))
)
def test_scanning_any_bytes_gives_ordered_disjoint_ranges(raw: bytes) -> None:
    at = 0
    for found in strings(raw):
        assert at <= found.start <= found.end <= len(raw)
        at = found.end
        mapped(raw, found).raw_range(0, 0)


@pytest.mark.parametrize("flood", [b'"', b"\\", b'"\\', b'{"', b'{ "', b'{"a{', b"[", b"{[", b'"a":', b'{"x":"y{'])
def test_floods_are_scanned_in_one_pass(flood: bytes) -> None:
    raw = b'{"a":"' + flood * 200_000  # quadratic work on this would take hours
    assert sum(found.end - found.start for found in strings(raw)) <= len(raw)


def test_envelope_keys_hold_no_words_of_people() -> None:
    assert {b"type", b"role", b"uuid", b"timestamp", b"cwd", b"signature"} <= ENVELOPE
    shown = {
        b"text",
        b"content",
        b"thinking",
        b"input",
        b"arguments",
        b"output",
        b"command",
        b"message",
        b"summary",
        b"name",
    }
    assert not shown & ENVELOPE


def test_quotations_from_a_real_transcript_are_found_in_their_exact_bytes() -> None:
    source = CORPUS / "claude-code-16MiB.jsonl"
    if not source.exists():
        pytest.skip(f"no real transcripts at {CORPUS}")
    rng = random.Random(300)  # noqa: S311 - a choice of samples
    turns = source.read_bytes().splitlines(keepends=True)
    wanted = [(turn, text) for turn, raw in enumerate(turns) for text in message_texts(raw) if len(text) > 200]
    for turn, text in rng.choices(wanted, k=300):
        at = rng.randrange(len(text) - 120)
        quotation = text[at : at + 120]
        ranges = [span for found in strings(turns[turn]) for span in ranges_of(turns[turn], found, quotation)]
        assert ranges
        for start, end in ranges:
            assert json.loads(b'"' + turns[turn][start:end] + b'"') == quotation


def message_texts(raw: bytes) -> Iterator[str]:
    message = json.loads(raw).get("message")
    content = message.get("content") if isinstance(message, dict) else None
    for block in content if isinstance(content, list) else [{"text": content}]:
        text = block.get("text")
        if isinstance(text, str):
            yield text


def ranges_of(raw: bytes, found: Literal, quotation: str) -> Iterator[tuple[int, int]]:
    if found.key in ENVELOPE:
        return
    text = mapped(raw, found)
    at = text.text.find(quotation)
    if at >= 0:
        yield text.raw_range(at, at + len(quotation))
