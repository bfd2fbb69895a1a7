"""Nothing that could act on a terminal gets out, JSON loses nothing, and every byte is written."""

from __future__ import annotations

import errno
import io
import json
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxarc.cli.excerpts import marked
from ctxarc.cli.output import Output, one_line, printable, to_json, write_all
from ctxarc.cli.terminal import cell_width, fit, gap_words, pad, shorten, size, table, when
from ctxarc.errors import IoFailed, NoSpace
from ctxarc.model import ByteRange

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer as Buffer

ANY_TEXT = st.text(st.characters(exclude_categories=()))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 測試 → 😀", "plain é 測試 → 😀"),
        ("\x1b[31mred\x07", r"\x1b[31mred\x07"),
        ("a\nb\tc\rd", r"a\nb\tc\rd"),
        ("\x00\x7f\x85\x9b", r"\x00\x7f\x85\x9b"),
        ("a\u2028b\u2029c", r"a\u2028b\u2029c"),
        ("gpj.\u202efdp", r"gpj.\u202efdp"),
        ("\u2066x\u2069\u200e\u200f\u061c", r"\u2066x\u2069\u200e\u200f\u061c"),
        ("in\u200bvisible\ufeff\u00ad", r"in\u200bvisible\ufeff\xad"),
        ("tag\U000e0041", r"tag\U000e0041"),
        ("lone \ud800 and byte \udcff", r"lone \ud800 and byte \udcff"),
        ("heart \u2764\ufe0f", "heart \u2764\ufe0f"),
    ],
)
def test_what_acts_on_a_terminal_is_shown_as_an_escape(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(ANY_TEXT)
def test_printable_text_has_no_control_character_and_can_be_encoded(text: str) -> None:
    shown = printable(text)
    assert not any(ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0 for char in shown)
    assert printable(shown.encode().decode()) == shown


def test_the_caller_says_which_line_ends_stay() -> None:
    assert printable("a\n\tb\r\x1b", "\n\t") == "a\n\tb\\r\\x1b"
    assert one_line("  a\n\n\tb \r\n c\x0bd ") == r"a b c\x0bd"


@given(ANY_TEXT)
def test_json_loses_nothing_and_holds_nothing_that_deceives(text: str) -> None:
    line = to_json({"text": text})
    assert json.loads(line)["text"].encode("utf-16", "surrogatepass") == text.encode("utf-16", "surrogatepass")
    assert printable(line) == line


def test_json_keeps_scripts_readable() -> None:
    assert to_json({"text": "測試 é"}) == '{"text": "測試 é"}'
    assert to_json("\x7f\u202e\U000e0041\ud800\x1b") == r'"\u007f\u202e\udb40\udc41\ud800\u001b"'


class OneByteAtATime(io.RawIOBase):
    """An unbuffered stream that takes a byte a call, and now and then none."""

    def __init__(self) -> None:
        super().__init__()
        self.taken = bytearray()
        self.calls = 0

    def write(self, data: Buffer, /) -> int | None:
        self.calls += 1
        if self.calls % 3 == 0:
            return None
        self.taken += memoryview(data)[:1]
        return 1


def test_every_byte_is_written_where_a_write_takes_few() -> None:
    stream = OneByteAtATime()
    write_all(stream, b"0123456789")
    write_all(stream, memoryview(b"abc"))
    assert stream.taken == b"0123456789abc"


class Broken(io.RawIOBase):
    """A stream whose writes fail as told."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    def writable(self) -> bool:
        return True

    def write(self, _data: Buffer, /) -> int:
        raise OSError(self.number, "told to")


def _broken_stdout(monkeypatch: pytest.MonkeyPatch, number: int) -> Output:
    stdout = io.TextIOWrapper(io.BufferedWriter(Broken(number), 1), write_through=True)
    monkeypatch.setattr(sys, "stdout", stdout)
    return Output()


def test_a_full_disk_behind_stdout_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NoSpace, match="standard output: told to"):
        _broken_stdout(monkeypatch, errno.ENOSPC).write(b"xyz")


def test_a_closed_pipe_is_not_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BrokenPipeError):
        _broken_stdout(monkeypatch, errno.EPIPE).write(b"xyz")


def test_a_stdout_that_is_gone_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(IoFailed, match="standard output"):
        Output().write(b"x")


class Terminal(io.TextIOWrapper):
    """A stdout that says it is a terminal."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="ascii", write_through=True)

    def isatty(self) -> bool:
        return True

    def shown(self) -> str:
        buffer = self.buffer
        assert isinstance(buffer, io.BytesIO)
        return buffer.getvalue().decode()


def _on_terminal(monkeypatch: pytest.MonkeyPatch, **environment: str) -> tuple[Output, Terminal]:
    stdout = Terminal()
    monkeypatch.setattr(sys, "stdout", stdout)
    monkeypatch.delenv("NO_COLOR", raising=False)
    for variable, value in {"TERM": "xterm", **environment}.items():
        monkeypatch.setenv(variable, value)
    return Output(), stdout


def test_a_line_passes_colours_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    out, stdout = _on_terminal(monkeypatch)
    out.line(out.paint("é", "red") + "\x1b]0;title\x07\x1b[2J")
    assert stdout.shown() == "\x1b[31mé\x1b[0m\\x1b]0;title\\x07\\x1b[2J\n"


@pytest.mark.parametrize(("variable", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_colours_can_be_declined(monkeypatch: pytest.MonkeyPatch, variable: str, value: str) -> None:
    out, stdout = _on_terminal(monkeypatch, **{variable: value})
    out.line(out.paint("é", "red") + "\x1b[31m")
    assert stdout.shown() == "é\\x1b[31m\n"


def test_there_are_no_colours_with_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    out, stdout = _on_terminal(monkeypatch)
    out.no_color = True
    out.line(out.paint("é", "red"))
    assert stdout.shown() == "é\n"


def test_there_are_no_colours_where_stdout_is_no_terminal(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    out = Output()
    out.line(out.paint("é", "red"))
    assert capsysbinary.readouterr().out == "é\n".encode()


@pytest.mark.parametrize(
    ("text", "cells"), [("abc", 3), ("測試", 4), ("ｆ", 2), ("e\u0301", 1), ("é→", 2), ("😀", 2), ("", 0)]
)
def test_width_is_counted_in_cells(text: str, cells: int) -> None:
    assert cell_width(text) == cells


@given(st.text(), st.integers(0, 30))
def test_fitted_text_fits(text: str, cells: int) -> None:
    fitted = fit(text, cells)
    assert cell_width(fitted) <= cells
    assert fitted == text or fitted.endswith("…") or not cells


def test_wide_characters_do_not_break_columns() -> None:
    assert fit("測試測試", 5) == "測試…"
    assert fit("測試", 4) == "測試"
    assert pad("測試", 6) == "測試  "
    assert pad("測試", 6, right=True) == "  測試"


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (102_300, "99.9 KiB"),
        (1_023_949, "1.0 MiB"),
        (17_459_075, "16.7 MiB"),
        (5 << 40, "5.0 TiB"),
        (5000 << 40, "5000 TiB"),
    ],
)
def test_sizes_are_short(count: int, shown: str) -> None:
    assert size(count) == shown


def test_times_lose_their_fraction_and_nothing_is_made_up() -> None:
    assert when("2025-03-04T09:10:27.100Z") == "2025-03-04 09:10:27"
    assert when(None) == ""
    assert when("yesterday\x1b") == "yesterday\\x1b"


@given(st.text(), st.integers(0, 30))
def test_a_shortened_name_fits_and_keeps_both_ends(text: str, cells: int) -> None:
    short = shorten(text, cells)
    assert cell_width(short) <= cells
    if short != text and cells > 1:
        head, _, tail = short.rpartition("…")
        assert text.startswith(head)
        assert text.endswith(tail)


def test_a_name_is_cut_in_its_middle() -> None:
    assert shorten("projects/orchard/0d5e1c52", 16) == "projects/o…e1c52"
    assert shorten("測試測試測試", 7) == "測試…試"
    assert shorten("short", 36) == "short"
    assert shorten("any length", None) == "any length"


def test_what_was_left_out_is_said_in_bytes() -> None:
    one = [ByteRange(0, 302_297)]
    assert gap_words(one) == "bytes 0 to 302,297 of the source were left out (295 KiB)"
    many = [ByteRange(number * 10, number * 10 + 5) for number in range(5)]
    assert gap_words(many) == "bytes 0 to 5, 10 to 15, 20 to 25, 2 more ranges of the source were left out (25 B)"


def test_a_table_fits_the_terminal_and_is_whole_elsewhere(
    monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    rows = [("a", "12", "x" * 90), ("測試", "3", "y")]
    table(Output(), ("name", "n", "words"), rows, right=frozenset({1}))
    assert capsysbinary.readouterr().out.decode().splitlines() == [
        "name   n  words",
        f"a     12  {'x' * 90}",
        "測試   3  y",
    ]
    out, stdout = _on_terminal(monkeypatch, COLUMNS="30", NO_COLOR="1")
    table(out, ("name", "n", "words"), rows, right=frozenset({1}))
    assert stdout.shown().splitlines()[1] == f"a     12  {'x' * 19}…"


def test_a_match_is_marked_where_there_are_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    out, _ = _on_terminal(monkeypatch)
    assert marked(out, "one two\n three", [(4, 7)], 80) == "one \x1b[31m\x1b[1mtwo\x1b[0m three"
    out, _ = _on_terminal(monkeypatch, NO_COLOR="1")
    assert marked(out, "one two\n three", [(4, 7)], 80) == "one two three"


@given(ANY_TEXT, st.integers(16, 120), st.data())
def test_a_marked_line_fits_and_shows_the_match(text: str, room: int, data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(text)))
    last = data.draw(st.integers(first, len(text)))
    line = marked(Output(), text, [(first, last)] if first < last else [], room)
    assert cell_width(line) <= room
    assert printable(line) == line


def test_a_long_excerpt_is_cut_around_its_match(monkeypatch: pytest.MonkeyPatch) -> None:
    out, _ = _on_terminal(monkeypatch, NO_COLOR="1")
    text = "a" * 60 + "MATCH" + "b" * 100
    assert marked(out, text, [(60, 65)], 24) == "…aaaaaaaaMATCHbbbbbbbbb…"
    assert marked(out, "a" * 60 + "MATCH", [(60, 65)], 24) == "…" + "a" * 18 + "MATCH"
    assert marked(out, "two MATCH " * 20, [(4, 9), (54, 59)], 30).count("MATCH") >= 2
