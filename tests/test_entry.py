"""Entries of the log: numbers, runs, and a capture as it lies there."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxarc.errors import Damage, IndexMismatch, LimitExceeded, UnsupportedVersion
from ctxarc.preservation.entry import (
    ENTRY,
    ENTRY_LIMIT,
    TEXT_LIMIT,
    Entry,
    Origin,
    Run,
    Runs,
    entry_size,
)
from ctxarc.preservation.layout import COUNT_LIMIT
from ctxarc.preservation.naming import NAME_LIMIT
from ctxarc.preservation.varint import Cursor, encode

COUNTS = st.integers(0, COUNT_LIMIT - 2)
TIMES = st.integers(-(2**63) + 1, 2**63 - 1)
HASHES = st.binary(min_size=32, max_size=32)


# ----------------------------------------------------------------------------------------------------------- varints


@given(st.lists(st.one_of(COUNTS, st.integers(0, 300))))
def test_numbers_are_read_back_one_behind_another(numbers: list[int]) -> None:
    cursor = Cursor(b"".join(map(encode, numbers)), 0, "x")
    assert [cursor.varint() for _ in numbers] == numbers
    assert cursor.at == len(cursor.data)


@pytest.mark.parametrize(
    ("number", "data"), [(0, "00"), (1, "01"), (127, "7f"), (128, "8001"), (300, "ac02"), (2**47, "80808080808020")]
)
def test_a_number_is_unsigned_leb128(number: int, data: str) -> None:
    assert encode(number).hex() == data


def test_a_number_that_does_not_end_is_refused() -> None:
    for data in (b"", b"\x80", b"\xff\xff"):
        with pytest.raises(IndexMismatch):
            Cursor(data, 0, "x").varint()


@pytest.mark.parametrize("data", [encode(COUNT_LIMIT + 1), encode(2**64), b"\x80" * 9 + b"\x01", b"\x80" * 1000])
def test_a_number_beyond_the_limit_is_refused_without_reading_on(data: bytes) -> None:
    cursor = Cursor(data, 0, "x")
    with pytest.raises(LimitExceeded):
        cursor.varint()
    assert cursor.at <= 10


def test_bytes_beyond_the_end_of_an_entry_are_refused() -> None:
    assert Cursor(b"abc", 1, "x").take(2) == b"bc"
    for length in (3, 2**47):
        with pytest.raises(IndexMismatch):
            Cursor(b"abc", 1, "x").take(length)


# ----------------------------------------------------------------------------------------------------------- entries

SOME = st.integers(1, COUNT_LIMIT - 1)
FEW = st.integers(1, 1 << 24)
RUN = st.tuples(COUNTS, SOME, st.just(0)) | st.tuples(st.just(-1), FEW, st.integers(1 << 24, COUNT_LIMIT - 1))
TEXTS = st.binary(max_size=40)
NAMES = st.text("aé漢😀- .x", min_size=3, max_size=20)


@st.composite
def entries(draw: st.DrawFn) -> Entry:
    back, origin_back = draw(st.sampled_from([0, 1, 200, 2**40])), draw(st.sampled_from([0, 1, 2**40]))
    partial = draw(st.booleans())
    digest = draw(HASHES)
    return Entry(
        transcript=draw(COUNTS),
        back=back,
        keep=draw(COUNTS),
        runs=tuple(Run(*run) for run in draw(st.lists(RUN, max_size=5))),
        source_bytes=draw(COUNTS),
        source_sha256=digest,
        partial=partial,
        held_sha256=draw(HASHES) if partial else digest,
        name=b"" if back else draw(NAMES).encode(),
        captured_ns=draw(TIMES),
        mtime_ns=draw(TIMES),
        origin_back=origin_back,
        origin=None if origin_back else Origin(draw(TEXTS), draw(TEXTS), draw(TEXTS)),
    )


@given(entries())
def test_an_entry_that_is_packed_is_unpacked_the_same(entry: Entry) -> None:
    data = entry.pack()
    assert Entry.unpack(data, "x") == entry
    assert entry_size(data, "x") == len(data)
    assert entry.turns == entry.keep + sum(run.turns for run in entry.runs)


@given(entries(), st.data())
def test_a_changed_or_cut_entry_is_unpacked_or_refused_and_nothing_else(entry: Entry, data: st.DataObject) -> None:
    content = bytearray(entry.pack())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(content[: data.draw(st.integers(ENTRY.size, len(content)))])
    for each in (bytes(content), cut, len(cut).to_bytes(4, "little") + cut[4:]):
        try:
            assert entry_size(each, "x") >= ENTRY.size
            Entry.unpack(each, "x")
        except Damage:
            pass


PLAIN = Entry(
    transcript=0,
    back=0,
    keep=0,
    runs=(Run(0, 3),),
    source_bytes=9,
    source_sha256=bytes(32),
    partial=False,
    held_sha256=bytes(32),
    name=b"name",
    captured_ns=1,
    mtime_ns=2,
    origin_back=0,
    origin=Origin(b"/p", b"h", b"t"),
)


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"name": b"n" * (NAME_LIMIT + 1)}, LimitExceeded),
        ({"name": b"\xff"}, IndexMismatch),
        ({"name": b"\xed\xa0\x80"}, IndexMismatch),
        ({"origin": Origin(b"p" * (TEXT_LIMIT + 1))}, LimitExceeded),
        ({"runs": (Run(3, 0),)}, IndexMismatch),
        ({"runs": (Run(-1, 0, 5),)}, IndexMismatch),
        ({"runs": (Run(-1, 5, 4),)}, IndexMismatch),
        ({"source_bytes": COUNT_LIMIT + 1}, LimitExceeded),
    ],
)
def test_an_entry_that_says_what_cannot_be_is_refused(changes: dict[str, Any], kind: type[Damage]) -> None:
    with pytest.raises(kind):
        Entry.unpack(PLAIN._replace(**changes).pack(), "x")


def test_a_time_beyond_what_an_entry_can_hold_is_held_as_the_nearest() -> None:
    entry = Entry.unpack(PLAIN._replace(captured_ns=2**70, mtime_ns=-(2**70)).pack(), "x")
    assert entry.captured_ns == 2**63 - 1
    assert entry.mtime_ns <= -(2**63) + 1


def test_reserved_flags_of_an_entry_are_refused_as_another_version() -> None:
    data = bytearray(PLAIN.pack())
    data[4] |= 0x80
    with pytest.raises(UnsupportedVersion):
        Entry.unpack(bytes(data), "x")


def test_an_entry_with_bytes_too_many_or_too_few_is_refused() -> None:
    data = PLAIN.pack()
    for changed in (data + b"\0", data[:-1]):
        with pytest.raises(IndexMismatch):
            Entry.unpack(changed, "x")
        with pytest.raises(IndexMismatch):
            Entry.unpack(len(changed).to_bytes(4, "little") + changed[4:], "x")


@pytest.mark.parametrize("size", [0, ENTRY.size - 1, ENTRY_LIMIT + 1, 2**32 - 1])
def test_a_size_that_no_entry_has_is_refused(size: int) -> None:
    with pytest.raises(Damage):
        entry_size(size.to_bytes(4, "little") + bytes(ENTRY.size), "x")


def test_a_log_that_ends_inside_an_entry_is_refused() -> None:
    with pytest.raises(IndexMismatch):
        entry_size(PLAIN.pack()[: ENTRY.size - 1], "x")


# -------------------------------------------------------------------------------------------------------------- runs

TURNS = st.lists(st.one_of(st.integers(0, 12), st.none()), max_size=30)
"""The objects of turns; ``None`` is a turn that is left out."""


def runs_of(turns: list[int | None]) -> list[Run]:
    """A run a turn."""
    return [Run(-1, 1, 5) if turn is None else Run(turn, 1) for turn in turns]


def spelled(runs: Runs) -> list[int | None]:
    found: list[int | None] = []
    for run in runs.runs:
        found += [None] * run.turns if run.first < 0 else range(run.first, run.first + run.turns)
    return found


@given(TURNS)
def test_runs_say_the_same_turns_however_they_are_joined(turns: list[int | None]) -> None:
    runs = Runs(runs_of(turns))
    assert spelled(runs) == turns
    assert runs.count == len(turns)
    assert Runs(runs.runs).runs == runs.runs


@given(TURNS)
def test_objects_that_follow_each_other_are_one_run(turns: list[int | None]) -> None:
    runs = Runs(runs_of(turns)).runs
    for one, next_one in pairwise(runs):
        assert one.first < 0 or next_one.first != one.first + one.turns


@given(TURNS, TURNS, st.data())
def test_keeping_and_extending_is_what_it_is_on_lists(
    turns: list[int | None], more: list[int | None], data: st.DataObject
) -> None:
    runs = Runs(runs_of(turns))
    keep = data.draw(st.integers(0, len(turns)))
    runs.keep(keep)
    assert spelled(runs) == turns[:keep]
    runs.extend(runs_of(more))
    assert spelled(runs) == turns[:keep] + more
    assert runs.count == keep + len(more)


def test_keeping_leaves_the_runs_of_another_state_alone() -> None:
    shared = [Run(0, 5), Run(9, 5)]
    runs = Runs(shared)
    runs.keep(2)
    assert (runs.runs, shared) == ([Run(0, 2)], [Run(0, 5), Run(9, 5)])


def test_more_turns_than_there_are_cannot_be_kept() -> None:
    with pytest.raises(IndexMismatch):
        Runs([Run(0, 5)]).keep(6)


def test_a_gap_is_kept_whole_or_not_at_all() -> None:
    for keep in (0, 2, 6):
        runs = Runs([Run(0, 2), Run(-1, 4, 99)])
        runs.keep(keep)
        assert runs.count == keep
    with pytest.raises(IndexMismatch):
        Runs([Run(0, 2), Run(-1, 4, 99)]).keep(3)
