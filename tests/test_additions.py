"""What captures added: the new turns, what they took the place of, and rows of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from archives import digest_of, lines, read, store, store_all
from cases import refused, said, sha, tree, turns_of

from ctxarc import open_archive
from ctxarc.model import ByteRange, ReplacedTurns
from ctxarc.operations.additions import LIMIT, additions
from ctxarc.operations.log import log
from ctxarc.operations.ls import captures

TURNS = [said(f"remark {n}", ("user", "assistant")[n % 2], second=n) for n in range(8)]


def joined(start: int, end: int) -> bytes:
    return b"".join(TURNS[start:end])


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Three captures: two transcripts, and then the first one has grown."""
    path = tmp_path / "a.ctxa"
    store_all(path, {"s": joined(0, 3), "t": joined(4, 6)})
    store(path, joined(0, 8), "s")
    return path


def test_the_last_capture_is_meant_where_none_is_named(archive: Path) -> None:
    result = additions(archive)
    assert (result.since, result.capture, result.archive_digest) == (2, 3, digest_of(archive))
    (row,) = result.transcripts
    assert (row.transcript, row.captures, row.turns, row.kept_turns) == ("s", (3,), 8, 3)
    assert (row.new_turns, row.first_new_turn, row.last_new_turn, row.bytes) == (5, 3, 7, len(joined(3, 8)))
    assert (row.replaced, row.complete, row.omitted) == ((), True, ())
    assert (result.new_turns, result.bytes, result.total, result.complete) == (5, row.bytes, 5, True)
    assert [each.turn_sha256 for each in result.rows] == [sha(turn) for turn in TURNS[3:]]
    assert result.rows == tuple(log(archive, "s", last=5))
    assert (result.rows[0].role, result.rows[0].text, result.rows[0].bytes) == ("assistant", "remark 3", len(TURNS[3]))


def test_a_capture_is_looked_at_as_it_was(archive: Path) -> None:
    result = additions(archive, 1)
    assert [row.transcript for row in result.transcripts] == ["s"]
    assert (result.since, result.new_turns, result.rows) == (0, 3, tuple(log(archive, "s", at=1)))
    assert additions(archive, 2).transcripts[0].transcript == "t"
    for each in captures(archive):
        row = additions(archive, each.capture).transcripts[0]
        assert (row.transcript, row.kept_turns, row.new_turns) == (each.transcript, each.kept_turns, each.new_turns)


def test_all_since_a_capture_is_given_in_order_of_names(archive: Path) -> None:
    result = additions(archive, since=0)
    assert [(row.transcript, row.captures, row.new_turns) for row in result.transcripts] == [
        ("s", (1, 3), 8),
        ("t", (2,), 2),
    ]
    assert result.rows == tuple(log(archive))
    assert (result.since, result.capture, result.total, result.replaced_turns) == (0, 3, 10, 0)
    assert [row.transcript for row in additions(archive, since=1).transcripts] == ["s", "t"]
    assert [row.transcript for row in additions(archive, 2, since=1).transcripts] == ["t"]
    nothing = additions(archive, since=3)
    assert (nothing.transcripts, nothing.total, nothing.rows) == ((), 0, ())


def test_rows_are_capped_and_counted(archive: Path) -> None:
    result = additions(archive, since=0, limit=9)
    assert (len(result.rows), result.total) == (9, 10)
    assert result.rows == tuple(log(archive))[:9]
    assert additions(archive, limit=0).rows == ()
    store(archive, lines(0, LIMIT + 5), "long")
    assert (len(additions(archive).rows), additions(archive).total) == (LIMIT, LIMIT + 5)


def test_a_finished_line_replaces_the_unfinished_one_which_stays_readable(archive: Path) -> None:
    store(archive, joined(0, 3)[:-20], "u")
    store(archive, joined(0, 5), "u")
    (row,) = additions(archive).transcripts
    assert (row.kept_turns, row.new_turns, row.first_new_turn, row.last_new_turn) == (2, 3, 2, 4)
    assert row.replaced == (ReplacedTurns(2, 2, 1, len(TURNS[2]) - 20, 4),)
    assert read(archive, f"u#{row.replaced[0].first_turn}", at=row.replaced[0].at) == TURNS[2][:-20]
    both = additions(archive, since=3).transcripts[0]
    assert (both.captures, both.kept_turns, both.new_turns, both.replaced) == ((4, 5), 0, 5, row.replaced)


def test_a_new_history_says_what_it_replaced(archive: Path) -> None:
    other = [TURNS[0], said("another"), *TURNS[2:4]]
    store(archive, b"".join(other), "s", as_new_history=True)
    result = additions(archive)
    (row,) = result.transcripts
    assert (row.kept_turns, row.new_turns, row.first_new_turn, row.last_new_turn, row.turns) == (1, 1, 1, 1, 4)
    (replaced,) = row.replaced
    assert (replaced.first_turn, replaced.last_turn, replaced.turns, replaced.at) == (1, 7, 5, 3)
    assert replaced.bytes == len(TURNS[1]) + len(joined(4, 8))
    assert result.replaced_turns == 5
    assert [each.turn for each in result.rows] == [1]
    assert read(archive, "s#7", at=replaced.at) == TURNS[7]


def test_what_was_left_out_is_named_and_filling_it_in_adds_only_that(tmp_path: Path) -> None:
    path = tmp_path / "a.ctxa"
    store(path, joined(0, 6), max_bytes=len(joined(4, 6)), allow_truncation=True)
    first = additions(path)
    assert (first.new_turns, first.complete) == (2, False)
    assert first.transcripts[0].omitted == (ByteRange(0, len(joined(0, 4))),)
    assert (first.transcripts[0].first_new_turn, first.transcripts[0].turns) == (4, 6)
    store(path, joined(0, 8))
    (row,) = additions(path).transcripts
    assert (row.kept_turns, row.new_turns, row.first_new_turn, row.last_new_turn) == (0, 6, 0, 7)
    assert (row.replaced, row.complete, row.omitted) == ((), True, ())
    assert [each.turn for each in additions(path).rows] == [0, 1, 2, 3, 6, 7]
    assert row.bytes == len(joined(0, 4)) + len(joined(6, 8))


def test_excerpts_are_short_and_of_every_turn_that_the_record_has(tmp_path: Path) -> None:
    path = tmp_path / "a.ctxa"
    data = said("long " * 500) + b"\xff\x00 no json\n\n" + b'{"glued":1}{"glued":2}\n' + b"torn"
    store(path, data)
    rows = additions(path).rows
    assert [row.turn_sha256 for row in rows] == [sha(turn) for turn in turns_of(data)]
    assert all(len(row.text) <= 200 for row in rows)


def test_what_is_not_there_or_means_nothing_is_refused(archive: Path) -> None:
    for options in ({"capture": 4}, {"capture": 0}, {"since": 4}, {"since": -1}, {"capture": -1}):
        assert refused(lambda options=options: additions(archive, **options)).code == "NO_SUCH_CAPTURE"  # type: ignore[misc]
    assert refused(lambda: additions(archive, 1, since=2)).code == "USAGE"
    assert refused(lambda: additions(archive, limit=-1)).code == "USAGE"
    assert refused(lambda: additions(archive.with_name("b.ctxa"))).code == "NO_SUCH_ARCHIVE"


def test_the_library_gives_the_same_and_nothing_is_written(archive: Path) -> None:
    before = tree(archive)
    assert open_archive(archive).additions(since=1, limit=3) == additions(archive, since=1, limit=3)
    assert tree(archive) == before
