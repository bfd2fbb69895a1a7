"""Cutting a source into turns: at the byte 0x0A and nowhere else, whatever the bytes and the pieces they come in."""

from __future__ import annotations

import pytest
from archives import turns_of
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ctxarc.errors import TurnTooLarge
from ctxarc.preservation import turns
from ctxarc.preservation.turns import TurnCutter


def cut(pieces: list[bytes]) -> list[bytes]:
    cutter = TurnCutter()
    found = [turn for piece in pieces for turn in cutter.feed(piece)]
    return found + cutter.finish()


BYTES = st.lists(st.sampled_from([b"\n", b"\r", b"\r\n", b"\0", b"{}", b"\xff", b"\xc2\x85", b"\xe2\x80\xa8", b"abc"]))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(BYTES.map(b"".join), st.binary())))
@example([])
@example([b""])
@example([b"a", b"", b"\n", b"", b"b"])
@example([b"\n\n\n"])
def test_any_bytes_in_any_pieces_give_the_lines_and_joined_the_source(pieces: list[bytes]) -> None:
    source = b"".join(pieces)
    found = cut(pieces)
    assert b"".join(found) == source
    assert found == turns_of(source)
    assert all(turn.endswith(b"\n") and turn.count(b"\n") == 1 for turn in found[:-1])
    assert all(found)


@given(st.binary(max_size=200), st.integers(1, 7))
def test_the_size_of_pieces_changes_nothing(source: bytes, size: int) -> None:
    assert cut([source[at : at + size] for at in range(0, len(source), size)]) == cut([source])


@pytest.mark.parametrize(
    "border",
    [b"\r", b"\x0b", b"\x0c", b"\x1c", b"\x1d", b"\x1e", b"\x85", b"\xc2\x85", b"\xe2\x80\xa8", b"\xe2\x80\xa9"],
)
def test_no_other_line_border_of_any_kind_cuts(border: bytes) -> None:
    assert cut([b"a" + border + b"b\n", border, b"c"]) == [b"a" + border + b"b\n", border + b"c"]


def test_carriage_returns_stay_with_their_turn() -> None:
    assert cut([b"a\r", b"\nb\r\n\r\n"]) == [b"a\r\n", b"b\r\n", b"\r\n"]


def test_blank_lines_and_an_unfinished_last_line_are_turns() -> None:
    assert cut([b"\n\n{} {}\n \n{"]) == [b"\n", b"\n", b"{} {}\n", b" \n", b"{"]


def test_an_empty_source_has_no_turns() -> None:
    assert cut([]) == cut([b"", b""]) == []


def test_turns_are_given_as_soon_as_they_end() -> None:
    cutter = TurnCutter()
    assert cutter.feed(b"a") == []
    assert cutter.feed(b"b\nc") == [b"ab\n"]
    assert cutter.feed(b"\n") == [b"c\n"]
    assert cutter.finish() == []


def test_a_turn_beyond_the_limit_is_refused_before_it_is_gathered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "TURN_LIMIT", 10)
    assert cut([b"123456789\n", b"123456789", b"\n", b"1234567890"]) == [b"123456789\n", b"123456789\n", b"1234567890"]
    for pieces in ([b"1234567890", b"\n"], [b"12345", b"678901"], [b"1234567890", b"1"]):
        with pytest.raises(TurnTooLarge):
            cut(pieces)
