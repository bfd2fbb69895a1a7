"""Two archives, transcript by transcript: the same, grown, diverged, or in one of them only."""

from __future__ import annotations

from pathlib import Path

import pytest
from archives import digest_of, line, lines, store, store_all
from cases import refused, sha, tree
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxarc import open_archive
from ctxarc.errors import Refusal
from ctxarc.model import CompareResult, TranscriptComparison, TurnRange
from ctxarc.operations.compare import STATUSES, compare
from ctxarc.preservation.record import Record

WHOLE = lines(0, 12)


@pytest.fixture
def one(tmp_path: Path) -> Path:
    return tmp_path / "one" / "a.ctxa"


@pytest.fixture
def other(tmp_path: Path) -> Path:
    return tmp_path / "other" / "b.ctxa"


@pytest.fixture(autouse=True)
def places(one: Path, other: Path) -> None:
    one.parent.mkdir()
    other.parent.mkdir()


def only_row(result: CompareResult) -> TranscriptComparison:
    (row,) = result.transcripts
    assert result.totals == {status: int(status == row.status) for status in STATUSES}
    return row


def both(one: Path, other: Path, first: bytes, second: bytes) -> TranscriptComparison:
    """How two sources of one name stand to each other, which has to be the same from the other side."""
    store(one, first)
    store(other, second)
    row, back = only_row(compare(one, other)), only_row(compare(other, one))
    assert (row.status, row.turn, row.byte) == (back.status, back.turn, back.byte)
    assert (row.first, row.second) == (back.second, back.first)
    assert {row.longer, back.longer} in ({None}, {"first", "second"})
    return row


def test_the_same_transcripts_are_the_same_however_they_were_captured(one: Path, other: Path) -> None:
    store_all(one, {"s": WHOLE, "t": lines(20, 23)})
    store(other, lines(0, 5), "s")
    store_all(other, {"s": WHOLE, "t": lines(20, 23)})
    result = compare(one, other)
    assert result.same
    assert result.totals["same"] == len(result.transcripts) == 2
    assert (result.first.archive_digest, result.second.archive_digest) == (digest_of(one), digest_of(other))
    assert result.first.archive_digest != result.second.archive_digest
    assert (result.first.turns, result.second.source_bytes) == (15, len(WHOLE) + len(lines(20, 23)))
    row = result.transcripts[0]
    assert (row.compared_turns, row.proved, row.not_compared, row.matched_by) == (12, True, (), "name")


def test_more_turns_are_growth(one: Path, other: Path) -> None:
    row = both(one, other, lines(0, 5), WHOLE)
    assert (row.status, row.longer, row.turn, row.byte) == ("grown", "second", 5, len(lines(0, 5)))
    assert row.proved
    assert row.first
    assert row.second
    assert (row.first.turns, row.second.turns, row.first.turn_sha256) == (5, 12, None)


@pytest.mark.parametrize("rest", [b"", line(6)], ids=["still the last", "more behind it"])
@pytest.mark.parametrize("cut", [1, 30])
def test_an_unfinished_last_line_that_became_longer_is_growth(rest: bytes, cut: int, one: Path, other: Path) -> None:
    row = both(one, other, lines(0, 6)[:-cut], lines(0, 6) + rest)
    assert (row.status, row.longer, row.turn, row.byte) == ("grown", "second", 5, len(lines(0, 6)) - cut)
    assert row.first
    assert row.second
    assert (row.first.turn_sha256, row.second.turn_sha256) == (sha(line(5)[:-cut]), sha(line(5)))
    longer = both(one.with_name("c.ctxa"), other.with_name("c.ctxa"), lines(0, 6)[:-50], lines(0, 6)[:-cut])
    assert (longer.status, longer.longer, longer.turn) == ("grown", "second", 5)


def test_the_first_byte_that_differs_is_named(one: Path, other: Path) -> None:
    changed = bytearray(WHOLE)
    at = len(lines(0, 7)) + 11
    changed[at] ^= 1
    row = both(one, other, WHOLE, bytes(changed) + line(40))
    assert (row.status, row.longer, row.turn, row.byte) == ("diverged", None, 7, at)
    assert row.first
    assert row.second
    assert (row.first.turn_sha256, row.second.turn_sha256) == (
        sha(line(7)),
        sha(bytes(changed)[len(lines(0, 7)) : len(lines(0, 8))]),
    )
    assert (row.compared_turns, row.proved) == (7, True)


def test_a_finished_line_that_begins_a_longer_one_has_diverged(one: Path, other: Path) -> None:
    row = both(one, other, b"abc\n", b"abcd\n")
    assert (row.status, row.turn, row.byte) == ("diverged", 0, 3)
    row = both(one.with_name("c.ctxa"), other.with_name("c.ctxa"), b"abc\n", b"abc\nd")
    assert (row.status, row.turn, row.byte) == ("grown", 1, 4)
    row = both(one.with_name("d.ctxa"), other.with_name("d.ctxa"), b"", b"x\n")
    assert (row.status, row.turn, row.byte, row.proved) == ("grown", 0, 0, True)
    row = both(one.with_name("e.ctxa"), other.with_name("e.ctxa"), b"", b"")
    assert row.status == "same"


def test_what_only_one_holds_is_named(one: Path, other: Path) -> None:
    store_all(one, {"s": WHOLE, "mine": lines(30, 33)})
    store_all(other, {"s": WHOLE, "theirs": lines(40, 43)})
    result = compare(one, other)
    assert not result.same
    assert [(row.status, row.matched_by) for row in result.transcripts] == [
        ("only_in_first", None),
        ("same", "name"),
        ("only_in_second", None),
    ]
    mine, _, theirs = result.transcripts
    assert mine.first
    assert theirs.second
    assert (mine.first.transcript, mine.second) == ("mine", None)
    assert (theirs.second.transcript, theirs.first) == ("theirs", None)


def test_another_name_is_found_by_the_turns(one: Path, other: Path) -> None:
    store_all(one, {"old": WHOLE, "short": lines(20, 23), "fork": lines(50, 52) + line(60)})
    store_all(other, {"new": WHOLE, "long": lines(20, 28), "knife": lines(50, 52) + line(61)})
    result = compare(one, other)
    found = {row.first.transcript: row for row in result.transcripts if row.first}
    assert (found["old"].status, found["old"].matched_by) == ("same", "turns")
    assert (found["short"].status, found["short"].longer, found["short"].turn) == ("grown", "second", 3)
    assert found["short"].second
    assert found["short"].second.transcript == "long"
    assert found["fork"].status == "only_in_first"
    assert not result.same
    assert result.totals["only_in_second"] == 1


def test_turns_that_one_side_omits_are_named_and_not_compared(one: Path, other: Path) -> None:
    store(one, WHOLE)
    store(other, WHOLE, max_bytes=len(lines(8, 12)), allow_truncation=True)
    result = compare(one, other)
    row = only_row(result)
    assert (row.status, row.compared_turns, row.not_compared) == ("same", 4, (TurnRange(0, 7),))
    assert row.proved, "the sources have one SHA-256"
    assert not result.same, "they do not hold the same"
    assert row.first
    assert row.second
    assert (row.first.complete, row.second.complete) == (True, False)
    assert row.second.omitted[0].end_byte == len(lines(0, 8))


def test_growth_is_said_to_be_unproved_where_turns_are_omitted(one: Path, other: Path) -> None:
    store(one, lines(0, 10))
    store(other, WHOLE, max_bytes=len(lines(8, 12)), allow_truncation=True)
    row = only_row(compare(one, other))
    assert (row.status, row.turn, row.compared_turns, row.proved) == ("grown", 10, 2, False)
    assert row.not_compared == (TurnRange(0, 7),)
    store(one.with_name("c.ctxa"), lines(0, 5))
    row = only_row(compare(one.with_name("c.ctxa"), other))
    assert (row.status, row.longer, row.compared_turns, row.proved) == ("not_compared", None, 0, False)


def test_a_difference_in_omitted_bytes_is_found_by_the_places_and_the_sources(one: Path, other: Path) -> None:
    changed = b"X" + WHOLE[1:]
    store(one, WHOLE)
    store(other, changed, max_bytes=len(lines(8, 12)), allow_truncation=True)
    row = only_row(compare(one, other))
    assert (row.status, row.turn, row.byte) == ("diverged", 0, 0)
    longer = WHOLE[:9] + b"more" + WHOLE[9:] + line(44)
    store(other.with_name("c.ctxa"), longer, max_bytes=len(lines(8, 12) + line(44)), allow_truncation=True)
    row = only_row(compare(one, other.with_name("c.ctxa")))
    assert (row.status, row.turn, row.byte, row.proved) == ("diverged", 0, 0, True)


def test_nothing_is_decompressed_where_digests_are_the_same(
    one: Path, other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_all(one, {"s": WHOLE, "t": lines(20, 23)})
    store_all(other, {"s": WHOLE + line(12), "t": lines(20, 23)})

    def no_pack(*_: object) -> None:
        raise AssertionError("a pack was read")

    monkeypatch.setattr(Record, "load_pack", no_pack)
    assert compare(one, other).totals["grown"] == 1


def test_reading_writes_nothing_and_what_is_not_there_is_refused(one: Path, other: Path) -> None:
    store(one, WHOLE)
    store(other, lines(0, 3) + line(90))
    before = tree(one.parent), tree(other.parent)
    result = open_archive(one).compare(str(other))
    assert result == compare(one, other)
    assert (tree(one.parent), tree(other.parent)) == before
    for pair in ((one, one.with_name("none.ctxa")), (one.with_name("none.ctxa"), one)):
        assert refused(lambda pair=pair: compare(*pair)).code == "NO_SUCH_ARCHIVE"  # type: ignore[misc]
    with pytest.raises(Refusal):
        compare(one, one.parent)


_BYTES = st.lists(st.sampled_from([b"a\n", b"b\n", b"\n", b"a", b"ab\n"]), max_size=6).map(b"".join)


@settings(max_examples=60, deadline=None)
@given(first=_BYTES, second=_BYTES)
def test_the_answer_is_that_of_the_bytes(first: bytes, second: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("pair")
    store(folder / "a.ctxa", first)
    store(folder / "b.ctxa", second)
    row = only_row(compare(folder / "a.ctxa", folder / "b.ctxa"))
    same = next(
        (at for at, (x, y) in enumerate(zip(first, second, strict=False)) if x != y), min(len(first), len(second))
    )
    prefix = same == min(len(first), len(second))
    whole = first[:same].endswith(b"\n") or not same or not min(first, second, key=len).endswith(b"\n")
    expected = "same" if first == second else "grown" if prefix and whole else "diverged"
    assert row.status == expected
    if first != second:
        assert row.byte == same
        assert row.turn == first[:same].count(b"\n")
