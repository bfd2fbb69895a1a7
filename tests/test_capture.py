"""Capturing: several sources at once, plans, sizes, counts, hooks, and archives that cannot be written."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
from itertools import accumulate
from pathlib import Path

import pytest
from cases import (
    command,
    digest_of,
    drain,
    environment,
    held,
    modes_count,
    noise,
    one,
    own_mounts,
    refused,
    run,
    said,
    session,
    sha,
    sound,
    stored,
    tree,
    turns_of,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxarc.model import ByteRange
from ctxarc.operations.capture import CaptureOptions, capture, plan
from ctxarc.operations.info import info
from ctxarc.operations.log import log
from ctxarc.operations.ls import captures, ls
from ctxarc.operations.sources import Source, discover
from ctxarc.operations.verify import verify
from ctxarc.preservation import writer
from ctxarc.preservation.files import replace_file
from ctxarc.preservation.lock import Lock

NOW = 2_000_000_000.0
DAY = 86_400


def write(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return tmp_path / "a.ctxa"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three sessions."""
    for name in ("a", "b", "c"):
        write(tmp_path / "d" / f"{name}.jsonl", session(3, name))
    return tmp_path / "d"


# ----------------------------------------------------------------------------------------------------------- reports


def test_a_report_says_what_was_stored(archive: Path) -> None:
    data = session(5)
    path = write(archive.parent / "s.jsonl", data)
    result = capture(archive, discover([str(path)]))
    (report,) = result.transcripts
    assert report._asdict() == {
        "transcript": "s",
        "capture": 1,
        "turns": 5,
        "new_turns": 5,
        "source_bytes": len(data),
        "source_sha256": sha(data),
        "complete": True,
        "omitted": (),
        "unchanged": False,
        "not_json": 0,
        "glued": 0,
        "torn": 0,
        "blank": 0,
        "source": str(path),
    }
    assert (result.archive, result.refused) == (str(archive), ())
    assert result.archive_digest == digest_of(archive)
    assert result.archive_bytes == sum(len(data) for data in tree(archive).values() if data is not None)


def test_odd_turns_are_counted_and_kept(archive: Path) -> None:
    data = b'{"a":1}\n\n  \t\n{"a":1}{"b":2}\nplain words\n\xff\xfe\n[1]\n{"type":"user","mess'
    report = stored(archive, data)
    assert (report.turns, report.blank, report.glued, report.not_json, report.torn) == (8, 2, 1, 2, 1)
    assert held(archive) == data
    report = stored(archive, data + b'age":{}}\n\nmore words\n')
    assert (report.new_turns, report.blank, report.glued, report.not_json, report.torn) == (3, 1, 0, 1, 0)
    assert stored(archive, data + b'age":{}}\n\nmore words\n').not_json == 0


NASTY = {
    "nothing": b"",
    "a line feed": b"\n",
    "blank lines": b"\n\n\n",
    "carriage returns": b'{"a":1}\r{"b":2}\r\n{"c":3}\r',
    "other line separators": '{"x":"a\u2028b\u2029c\u0085d\x0b\x0c\x1c"}\n'.encode() * 2,
    "no text": bytes(range(256)) * 3,
    "NUL bytes": b"\0\0\n\0\n\0",
    "a byte order mark": b"\xef\xbb\xbf" + said("first"),
    "lone surrogates": b'{"x":"\\ud800"}\n',
    "deep nesting": b"[" * 20_000 + b"]" * 20_000 + b"\n",
    "a long number": b'{"n":' + b"9" * 10_000 + b"}\n",
    "the same turn often": said("again") * 500,
    "a long line": b'{"x":"' + b"QUJD" * 500_000 + b'"}\n' + said("after it"),
    "random bytes": noise(7).randbytes(300_000),
}


@pytest.mark.parametrize("kind", NASTY)
def test_any_bytes_come_back_as_they_were(kind: str, archive: Path) -> None:
    data = NASTY[kind]
    report = stored(archive, data)
    assert (report.turns, report.source_sha256, report.complete) == (len(turns_of(data)), sha(data), True)
    assert held(archive) == data
    for number, turn in list(enumerate(turns_of(data)))[:5]:
        assert held(archive, str(number)) == turn
    drain(log(archive))
    drain(ls(archive))
    sound(archive)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.binary(max_size=40), max_size=6).map(b"\n".join))
def test_turns_are_cut_at_line_feeds_and_nowhere_else(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as place:
        archive = Path(place) / "a.ctxa"
        stored(archive, data)
        assert [held(archive, str(row.turn)) for row in log(archive)] == turns_of(data)
        assert held(archive) == data


# ---------------------------------------------------------------------------------------------------- several sources


def test_one_bad_source_is_refused_and_the_good_ones_are_stored(folder: Path, archive: Path) -> None:
    capture(archive, discover([str(folder)]))
    write(folder / "b.jsonl", session(2, "b") + b"edited\n")
    write(folder / "c.jsonl", session(5, "c"))
    write(folder / "d.jsonl", session(1, "d"))
    result = capture(archive, discover([str(folder)]))
    assert [(each.transcript, each.unchanged, each.new_turns) for each in result.transcripts] == [
        ("a", True, 0),
        ("c", False, 2),
        ("d", False, 1),
    ]
    (bad,) = result.refused
    assert (bad.transcript, bad.source) == ("b", str(folder / "b.jsonl"))
    assert set(bad.refusal) == {"code", "message", "hint", "facts"}
    assert bad.refusal["code"] == "HISTORY_REWRITTEN"
    assert held(archive, "b#") == session(3, "b")
    assert result.archive_digest == digest_of(archive)
    sound(archive)


def test_the_command_ends_with_3_where_any_of_several_was_refused(folder: Path, archive: Path) -> None:
    run("capture", archive, folder)
    write(folder / "b.jsonl", session(3, "other"))
    done = run("capture", archive, folder, "--json")
    got = one(done)
    assert (done.returncode, got["ok"]) == (3, False)
    assert {each["transcript"] for each in got["transcripts"]} == {"a", "c"}
    assert [(set(each) >= {"transcript", "refusal"}, each["refusal"]["code"]) for each in got["refused"]] == [
        (True, "NAME_TAKEN")
    ]
    done = run("capture", archive, folder)
    assert done.returncode == 3
    assert b"2 transcripts unchanged" in done.stdout
    assert done.stderr.startswith(b"ctxarc: NAME_TAKEN: b: ")


def test_where_every_source_is_refused_nothing_changes(folder: Path, archive: Path) -> None:
    capture(archive, discover([str(folder)]))
    before = tree(archive)
    for name in ("a", "b", "c"):
        write(folder / f"{name}.jsonl", session(3, "other"))
    result = capture(archive, discover([str(folder)]))
    assert (len(result.refused), result.transcripts) == (3, ())
    assert tree(archive) == before


def test_the_one_source_s_refusal_is_raised(archive: Path) -> None:
    stored(archive, session(3))
    assert refused(lambda: stored(archive, session(3, "pears"))).code == "NAME_TAKEN"
    source = archive.parent / "sources" / "s.jsonl"
    done = run("capture", archive, source, "--json")
    assert (done.returncode, set(one(done))) == (3, {"schema", "ok", "refusal"})


def test_sources_are_stored_in_byte_order_of_their_names(tmp_path: Path, archive: Path) -> None:
    order = ["B", "a", "a b", "a-b", "a/b", "\u00e9"]
    sources = [Source(name, write(tmp_path / "d" / f"{number}.jsonl", said(name))) for number, name in enumerate(order)]
    noise(3).shuffle(sources)
    capture(archive, sources)
    assert [row.transcript for row in captures(archive)] == order


def test_the_order_in_which_sources_are_given_does_not_show(folder: Path, tmp_path: Path) -> None:
    paths = [str(folder / f"{name}.jsonl") for name in ("a", "b", "c")]
    results = [
        capture(tmp_path / f"{number}.ctxa", discover(given)) for number, given in enumerate((paths, paths[::-1]))
    ]
    assert results[0].archive_digest == results[1].archive_digest


def test_turns_that_several_transcripts_share_are_stored_once(tmp_path: Path, archive: Path) -> None:
    shared = session(200)
    stored(archive, shared, "one")
    once = info(archive)
    report = stored(archive, shared + said("and on"), "fork")
    after = info(archive)
    assert (report.turns, after.objects - once.objects) == (201, 1)
    assert after.archive_bytes - once.archive_bytes < 2000
    assert (tmp_path / "a.ctxa") == archive
    sound(archive)


def test_many_sources_that_fill_several_packs_are_all_there(tmp_path: Path, archive: Path) -> None:
    made = noise(1)
    data = {}
    for number in range(6):
        lines = [made.randbytes(3000).replace(b"\n", b"") + b"\n" for _ in range(1500)]
        data[f"n{number}"] = b"".join(lines)
    for name, content in data.items():
        write(tmp_path / "d" / f"{name}.jsonl", content)
    capture(archive, discover([str(tmp_path / "d")]), CaptureOptions(level=1))
    assert info(archive).packs > 1
    assert all(held(archive, f"{name}#") == content for name, content in data.items())
    sound(archive)


# -------------------------------------------------------------------------------------------------- nothing is created


@pytest.mark.parametrize("args", [[], ["--as-new-history"], ["--level", "1"]])
def test_a_source_that_is_not_there_creates_nothing(args: list[str], tmp_path: Path) -> None:
    done = run("capture", tmp_path / "a.ctxa", tmp_path / "absent.jsonl", "--json", *args)
    assert (done.returncode, one(done)["refusal"]["code"]) == (5, "NO_SUCH_SOURCE")
    assert list(tmp_path.iterdir()) == []


def test_a_capture_that_would_leave_bytes_out_creates_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", session(5))
    done = run("capture", tmp_path / "a.ctxa", path, "--max-bytes", "200", "--json")
    refusal = one(done)["refusal"]
    assert (done.returncode, refusal["code"]) == (3, "NOT_LOSSLESS")
    assert (refusal["facts"]["max_bytes"], refusal["facts"]["new_bytes"]) == (200, len(session(5)))
    assert "200" in refusal["message"]
    assert str(len(session(5))) in refusal["message"]
    assert list(tmp_path.iterdir()) == [path]


def test_an_archive_in_a_directory_that_is_not_there_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", session(2))
    done = run("capture", tmp_path / "no" / "where" / "a.ctxa", path, "--json")
    refusal = one(done)["refusal"]
    assert (done.returncode, refusal["code"]) == (5, "NO_SUCH_ARCHIVE")
    assert f"mkdir -p {tmp_path}/no/where" in refusal["hint"]
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("kind", ["file", "transcript", "directory", "dangling link", "archive of another kind"])
def test_something_else_in_the_archive_s_place_is_left_alone(kind: str, tmp_path: Path) -> None:
    place = tmp_path / "a.ctxa"
    source = write(tmp_path / "s.jsonl", session(2))
    if kind == "directory":
        write(place / "mine.txt", b"mine")
    elif kind == "archive of another kind":
        write(place / "CTXA", b"something of ours\n")
    elif kind == "dangling link":
        place.symlink_to("nowhere")
    else:
        write(place, session(2) if kind == "transcript" else b"mine")
    before = tree(tmp_path)
    for name, *args in (["capture", source], ["capture", source, "--dry-run"], ["ls"], ["repack"]):
        done = run(str(name), place, *args, "--json")
        expected = (4, "BAD_MAGIC") if kind == "archive of another kind" else (3, "NOT_AN_ARCHIVE")
        assert (done.returncode, one(done)["refusal"]["code"]) == expected
    assert tree(tmp_path) == before


def test_an_empty_directory_becomes_the_archive(tmp_path: Path) -> None:
    place = tmp_path / "a.ctxa"
    place.mkdir()
    stored(place, session(3))
    assert held(place) == session(3)
    sound(place)


def test_a_refused_capture_leaves_an_empty_directory_empty(tmp_path: Path) -> None:
    place = tmp_path / "a.ctxa"
    place.mkdir()
    assert refused(lambda: stored(place, session(3), max_bytes=10)).code == "NOT_LOSSLESS"
    assert list(place.iterdir()) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.ctxa", "sources"]


def test_a_dry_run_takes_an_empty_directory_as_a_capture_does(tmp_path: Path) -> None:
    place = tmp_path / "a.ctxa"
    place.mkdir()
    path = write(tmp_path / "s.jsonl", session(3))
    got = plan(place, discover([str(path)]), claude_dir=tmp_path, now=NOW)
    assert [each.status for each in got.transcripts] == ["new"]
    assert list(place.iterdir()) == []


def test_an_archive_reached_through_a_link_is_the_archive(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    stored(tmp_path / "real" / "a.ctxa", session(2))
    link = tmp_path / "link.ctxa"
    link.symlink_to("real/a.ctxa")
    path = write(tmp_path / "s.jsonl", session(3))
    assert capture(link, discover([str(path)])).transcripts[0].new_turns == 1
    assert held(tmp_path / "real" / "a.ctxa") == session(3)


def test_a_transcript_in_the_archive_s_place_alone_gets_the_whole_command_as_a_hint(tmp_path: Path) -> None:
    write(tmp_path / "s.jsonl", session(2))
    done = run("capture", "s.jsonl", "--json", cwd=tmp_path)
    refusal = one(done)["refusal"]
    assert (done.returncode, refusal["code"], refusal["hint"]) == (2, "USAGE", "ctxarc capture s.ctxa s.jsonl")
    assert [path.name for path in tmp_path.iterdir()] == ["s.jsonl"]


@pytest.mark.parametrize("name", ["ls", "log", "info", "verify", "cat", "find", "extract", "repack", "show", "capture"])
def test_an_archive_of_a_newer_format_is_refused_by_every_command(name: str, archive: Path) -> None:
    stored(archive, session(2))
    (archive / "CTXA").write_bytes(b"ctxarc archive, format 2\n")
    before = tree(archive)
    rest = {"find": ["x"], "show": ["0"], "capture": [str(archive.parent / "sources" / "s.jsonl")]}
    done = run(name, archive, *rest.get(name, []), "--json")
    refusal = one(done)["refusal"]
    assert (done.returncode, refusal["code"]) == (4, "UNSUPPORTED_VERSION")
    assert "format 2" in refusal["message"]
    assert "newer" in refusal["hint"]
    assert tree(archive) == before


# -------------------------------------------------------------------------------------------------------- --max-bytes

TURNS = turns_of(session(6))
SESSION = b"".join(TURNS)
ENDS = list(accumulate(map(len, TURNS), initial=0))


@pytest.mark.parametrize(
    ("most", "first"),
    [
        (len(SESSION), 0),
        (len(SESSION) - 1, 1),
        (len(SESSION) - ENDS[1], 1),
        (len(SESSION) - ENDS[1] - 1, 2),
        (len(SESSION) - ENDS[3] + 1, 3),
        (len(TURNS[5]), 5),
        (len(TURNS[5]) + len(TURNS[4]) - 1, 5),
    ],
)
def test_whole_turns_are_kept_from_the_end(most: int, first: int, archive: Path) -> None:
    report = stored(archive, SESSION, max_bytes=most, allow_truncation=True)
    assert report.omitted == ((ByteRange(0, ENDS[first]),) if first else ())
    assert (report.complete, report.turns, report.new_turns) == (first == 0, 6, 6 - first)
    assert (report.source_bytes, report.source_sha256) == (len(SESSION), sha(SESSION))
    assert held(archive) == SESSION[ENDS[first] :]
    assert held(archive, str(first)) == TURNS[first]
    sound(archive)


@pytest.mark.parametrize("most", [0, 1, len(TURNS[5]) - 1])
def test_a_last_turn_that_is_too_long_by_itself_is_refused(most: int, archive: Path) -> None:
    refusal = refused(lambda: stored(archive, SESSION, max_bytes=most, allow_truncation=True))
    assert (refusal.code, refusal.facts["max_bytes"]) == ("NOT_LOSSLESS", most)
    assert not archive.exists()


def test_truncation_that_is_allowed_and_not_needed_leaves_nothing_out(archive: Path) -> None:
    assert stored(archive, SESSION, max_bytes=len(SESSION), allow_truncation=True).complete
    assert stored(archive, b"", "empty", max_bytes=0, allow_truncation=True).complete


def test_an_unfinished_last_line_is_a_turn_to_be_kept(archive: Path) -> None:
    report = stored(archive, SESSION + b'{"to', max_bytes=4, allow_truncation=True)
    assert (report.omitted, report.torn) == ((ByteRange(0, len(SESSION)),), 1)
    assert held(archive, "6") == b'{"to'


def test_an_omitted_turn_is_named_with_the_range_that_was_left_out(archive: Path) -> None:
    stored(archive, SESSION, max_bytes=len(TURNS[5]), allow_truncation=True)
    for turn in (0, 4):
        refusal = refused(lambda turn=turn: held(archive, str(turn)))  # type: ignore[misc]
        assert (refusal.code, refusal.status) == ("NO_SUCH_TURN", 5)
        assert refusal.facts["omitted"] == [{"start_byte": 0, "end_byte": ENDS[5]}]
    assert "omitted" not in refused(lambda: held(archive, "6")).facts


def test_an_incomplete_transcript_is_said_to_be_so_everywhere(archive: Path) -> None:
    stored(archive, SESSION, max_bytes=len(TURNS[5]), allow_truncation=True)
    gap = (ByteRange(0, ENDS[5]),)
    (row,) = ls(archive)
    assert (row.complete, row.omitted, row.turns, row.bytes) == (False, gap, 6, len(TURNS[5]))
    (taken,) = captures(archive)
    assert (taken.complete, taken.omitted) == (False, gap)
    whole = info(archive)
    assert (whole.complete, whole.omitted) == (False, gap)
    result = verify(archive)
    assert (result.ok, result.complete) == (True, False)
    assert (result.transcripts[0].complete, result.transcripts[0].omitted) == (False, gap)
    assert any(sha(SESSION) in reason for reason in result.not_checked)
    (turn,) = log(archive)
    assert (turn.turn, turn.transcript_start_byte) == (5, ENDS[5])


@pytest.mark.parametrize(
    ("text", "size"), [("512", 512), ("1K", 1024), ("1KiB", 1024), ("1kB", 1000), ("1 MiB", 1 << 20), ("1m", 1 << 20)]
)
def test_sizes_are_typed_with_units(text: str, size: int, tmp_path: Path) -> None:
    lines = [b"x" * 99 + b"\n"] * (size // 100 + 1)
    path = write(tmp_path / "s.jsonl", b"".join(lines))
    got = one(run("capture", tmp_path / "a.ctxa", path, "--max-bytes", text, "--allow-truncation", "--json"))
    assert got["new_turns"] == size // 100
    assert got["omitted"] == [{"start_byte": 0, "end_byte": 100}]


# ---------------------------------------------------------------------------------------------------------- --dry-run


def test_a_dry_run_says_what_would_happen_and_does_nothing(folder: Path, archive: Path, tmp_path: Path) -> None:
    capture(archive, discover([str(folder)]))
    write(folder / "b.jsonl", session(3, "b") + said("more"))
    write(folder / "c.jsonl", session(2, "c") + b"edited\n")
    write(folder / "d.jsonl", session(1, "d"))
    write(folder / "e.jsonl", b"")
    write(folder / "f.jsonl", session(1, "f"))
    stored(archive, session(1, "other"), "f")
    before = tree(tmp_path)
    got = plan(archive, discover([str(folder)]), claude_dir=tmp_path / "claude", now=NOW)
    assert got.dry_run
    assert [(each.transcript, each.status, each.new_bytes) for each in got.transcripts] == [
        ("a", "same", 0),
        ("b", "grown", len(said("more"))),
        ("c", "rewritten", 0),
        ("d", "new", len(session(1, "d"))),
        ("e", "new", 0),
        ("f", "taken", 0),
    ]
    assert [each.source_bytes for each in got.transcripts] == [
        (folder / f"{name}.jsonl").stat().st_size for name in "abcdef"
    ]
    codes = {each.transcript: each.refusal["code"] for each in got.transcripts if each.refusal}
    assert codes == {"c": "HISTORY_REWRITTEN", "f": "NAME_TAKEN"}
    assert all(each.days_left is None for each in got.transcripts)
    assert tree(tmp_path) == before


def test_a_dry_run_for_an_archive_that_is_not_there_makes_none(folder: Path, archive: Path, tmp_path: Path) -> None:
    got = plan(archive, discover([str(folder)]), claude_dir=tmp_path, now=NOW)
    assert {each.status for each in got.transcripts} == {"new"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d"]


def test_a_dry_run_agrees_with_the_options(folder: Path, archive: Path, tmp_path: Path) -> None:
    capture(archive, discover([str(folder)]))
    other = write(folder / "a.jsonl", session(3, "other"))

    def status(**options: bool | int) -> tuple[str, int]:
        made = CaptureOptions(**options)  # type: ignore[arg-type]
        (row,) = plan(archive, discover([str(other)]), made, claude_dir=tmp_path, now=NOW).transcripts
        return row.status, row.new_bytes

    assert status() == ("taken", 0)
    assert status(as_new_history=True) == ("rewritten", len(session(3, "other")))
    assert status(as_new_history=True, max_bytes=100) == ("refused", 0)


def test_a_dry_run_counts_the_bytes_that_truncation_would_keep(archive: Path, tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", SESSION)
    options = CaptureOptions(max_bytes=len(TURNS[5]), allow_truncation=True)
    (row,) = plan(archive, discover([str(path)]), options, claude_dir=tmp_path, now=NOW).transcripts
    assert (row.status, row.new_bytes) == ("new", len(TURNS[5]))


def test_a_dry_run_says_how_long_the_client_keeps_a_session(archive: Path, tmp_path: Path) -> None:
    claude = tmp_path / "claude"
    path = write(claude / "projects" / "p" / "s.jsonl", session(1))
    os.utime(path, (NOW - 25 * DAY, NOW - 25 * DAY))
    outside = write(tmp_path / "t.jsonl", session(1))

    def days() -> list[int | None]:
        sources = discover([str(path), str(outside)])
        return [each.days_left for each in plan(archive, sources, claude_dir=claude, now=NOW).transcripts]

    assert days() == [5, None]
    write(claude / "settings.json", b'{"cleanupPeriodDays": 365}')
    assert days() == [340, None]
    write(claude / "settings.json", b'{"cleanupPeriodDays": 1}')
    assert days() == [0, None]


def test_the_command_s_dry_run_in_json_and_in_words(folder: Path, archive: Path) -> None:
    got = one(run("capture", archive, folder, "--dry-run", "--json"))
    assert (got["ok"], got["dry_run"], got["archive"]) == (True, True, str(archive))
    assert [set(each) for each in got["transcripts"]] == [
        {"transcript", "source", "status", "source_bytes", "new_bytes"}
    ] * 3
    done = run("capture", archive, folder, "--dry-run")
    assert done.stderr.startswith(b"dry run: ")
    assert [sorted({b"new", b"a", b"b", b"c"} & set(line.split())) for line in done.stdout.splitlines()[1:]] == [
        [name, b"new"] for name in (b"a", b"b", b"c")
    ]
    assert not archive.exists()


# --------------------------------------------------------------------------------------------------------------- hooks


def hook(archive: Path, payload: object, *more: str) -> subprocess.CompletedProcess[bytes]:
    data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    return run("capture", archive, "--hook", *more, stdin=data)


def test_a_hook_stores_the_session_and_prints_nothing(tmp_path: Path, archive: Path) -> None:
    path = write(tmp_path / "s.jsonl", session(3))
    for turns in (3, 3, 5):
        write(path, session(turns))
        done = hook(archive, {"session_id": "s", "transcript_path": str(path), "hook_event_name": "Stop"})
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        assert held(archive, "s#") == session(turns)
    sound(archive)


def test_a_hook_stores_a_rewritten_session_and_another_conversation_as_new_histories(
    tmp_path: Path, archive: Path
) -> None:
    path = tmp_path / "s.jsonl"
    states = [session(4), session(2) + session(2, "pears"), session(3, "plums"), b"", session(1)]
    for state in states:
        write(path, state)
        done = hook(archive, {"transcript_path": str(path)})
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert [held(archive, "s#", at=number) for number in range(1, 6)] == states
    sound(archive)


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"no json",
        b"[]",
        b"\xff\xfe\xfd",
        b"{}",
        {"transcript_path": "/no/such/file.jsonl"},
        {"transcript_path": "~nobody-of-that-name/x.jsonl"},
        {"transcript_path": "/lone-\ud800.jsonl"},
        {"transcript_path": 5},
    ],
)
def test_a_hook_that_cannot_capture_says_a_line_and_ends_with_1(payload: object, tmp_path: Path, archive: Path) -> None:
    done = hook(archive, payload)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, b"", 1)
    assert b"INTERNAL" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_hook_whose_archive_is_damaged_ends_with_1(tmp_path: Path, archive: Path) -> None:
    path = write(tmp_path / "s.jsonl", session(3))
    stored(archive, session(3))
    (archive / "HEAD").write_bytes(b"")
    done = hook(archive, {"transcript_path": str(path)})
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"TRUNCATED" in done.stderr


def test_a_hook_with_a_sub_agent_that_is_refused_stores_the_rest(tmp_path: Path, archive: Path) -> None:
    path = write(tmp_path / "s.jsonl", session(3))
    (tmp_path / "s" / "subagents").mkdir(parents=True)
    write(tmp_path / "s" / "subagents" / ("\x01" * 90 + ".jsonl"), session(1))
    done = hook(archive, {"transcript_path": str(path)})
    assert done.returncode in {0, 1}
    assert held(archive, "s#") == session(3)


def test_a_hook_is_no_dry_run(tmp_path: Path, archive: Path) -> None:
    path = write(tmp_path / "s.jsonl", session(3))
    done = hook(archive, {"transcript_path": str(path)}, "--dry-run")
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, b"", 1)
    assert done.stderr.startswith(b"ctxarc: USAGE: ")
    assert b"--hook" in done.stderr
    assert b"--dry-run" in done.stderr
    assert list(tmp_path.iterdir()) == [path]


def test_twenty_hooks_at_once_on_a_new_archive_lose_nothing(tmp_path: Path, archive: Path) -> None:
    data = {f"s{number:02}": session(3 + number, f"topic {number}") for number in range(20)}
    running = []
    for name, content in data.items():
        payload = write(tmp_path / f"{name}.json", b"")
        payload.write_text(json.dumps({"transcript_path": str(write(tmp_path / f"{name}.jsonl", content))}))
        with payload.open("rb") as stdin:
            running.append(
                subprocess.Popen(
                    command("capture", archive, "--hook"),
                    stdin=stdin,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    env=environment(),
                )
            )
    ends = [(each.communicate(timeout=120), each.returncode) for each in running]
    assert ends == [((b"", b""), 0)] * 20
    assert {row.transcript: held(archive, f"{row.transcript}#") for row in ls(archive)} == data
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    sound(archive)


def test_hooks_of_one_session_at_once_leave_its_newest_state(tmp_path: Path, archive: Path) -> None:
    path = write(tmp_path / "s.jsonl", session(30))
    payload = json.dumps({"transcript_path": str(path)}).encode()
    (tmp_path / "payload").write_bytes(payload)
    running = []
    for _ in range(8):
        with (tmp_path / "payload").open("rb") as stdin:
            running.append(subprocess.Popen(command("capture", archive, "--hook"), stdin=stdin, env=environment()))
    assert [each.wait(120) for each in running] == [0] * 8
    assert held(archive) == session(30)
    assert info(archive).captures == 1
    sound(archive)


# -------------------------------------------------------------------------------- locks, media, space, interrupted work


def test_a_writer_waits_for_the_lock_and_then_says_so(archive: Path) -> None:
    stored(archive, session(2))
    before = tree(archive)
    with Lock(archive / "record.lock", 0.0):
        refusal = refused(lambda: stored(archive, session(3), lock_wait=0.05))
        assert (refusal.code, refusal.status) == ("ARCHIVE_LOCKED", 6)
        assert refusal.facts["archive"] == str(archive)
        assert held(archive) == session(2)
        assert verify(archive).ok
        source = archive.parent / "sources" / "s.jsonl"
        done = run("capture", archive, source, "--lock-wait", "0", "--json")
        assert (done.returncode, one(done)["refusal"]["code"]) == (6, "ARCHIVE_LOCKED")
    assert tree(archive) == before
    assert stored(archive, session(3)).new_turns == 1


def test_a_lock_dies_with_its_process(archive: Path) -> None:
    stored(archive, session(2))
    code = "import sys,time;from pathlib import Path;from ctxarc.preservation.lock import Lock;"
    code += "Lock(Path(sys.argv[1]),0);print('held',flush=True);time.sleep(600)"
    words = [sys.executable, "-c", code, str(archive / "record.lock")]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert refused(lambda: stored(archive, session(3), lock_wait=0.0)).code == "ARCHIVE_LOCKED"
        holder.kill()
        holder.wait()
    assert stored(archive, session(3), lock_wait=5.0).new_turns == 1


def test_an_archive_that_may_not_be_written_is_refused_and_stays(archive: Path) -> None:
    before_command = modes_count()
    stored(archive, session(2))
    source = write(archive.parent / "s.jsonl", session(3))
    for path in (archive, archive / "pack", *archive.glob("[a-z]*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = tree(archive)
    done = run("capture", archive, source, "--json", before=before_command)
    assert (done.returncode, one(done)["refusal"]["code"]) == (6, "PERMISSION_DENIED")
    assert run("verify", archive, before=before_command).returncode == 0
    assert run("cat", archive, before=before_command).stdout == session(2)
    assert tree(archive) == before
    archive.chmod(0o755)
    (archive / "pack").chmod(0o755)


def test_an_archive_on_a_read_only_medium_can_be_read_and_not_written(archive: Path, tmp_path: Path) -> None:
    mounts = own_mounts()
    stored(archive, session(2))
    source = write(tmp_path / "s.jsonl", session(3))
    before = tree(archive)
    script = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && shift && exec "$@"'

    def on_medium(*args: str | Path) -> subprocess.CompletedProcess[bytes]:
        return run(*args, "--json", before=[*mounts, "sh", "-c", script, "sh", str(archive)])

    for done in (on_medium("capture", archive, source), on_medium("repack", archive)):
        assert (done.returncode, one(done)["refusal"]["code"]) == (6, "PERMISSION_DENIED")
    for name, *rest in (["verify"], ["info"], ["ls"], ["log"], ["cat"], ["show", "0"], ["find", "remark"]):
        assert on_medium(name, archive, *rest).returncode == 0
    assert on_medium("extract", archive, "-C", tmp_path / "out").returncode == 0
    assert (tmp_path / "out" / "s.jsonl").read_bytes() == session(2)
    assert tree(archive) == before


FULL = """
mount -t tmpfs -o size=1m none "$1" && cd "$1" || exit 99
shift
"$@" capture a.ctxa "$SMALL" --name s --json || exit 98
find . -type f | sort | xargs sha256sum > "$OUT/before"
"$@" capture a.ctxa "$LARGE" --name t --json; echo "$?" > "$OUT/status"
find . -type f | sort | xargs sha256sum > "$OUT/after"
"$@" capture b.ctxa "$LARGE" --name t --json; echo "$?" >> "$OUT/status"
"$@" verify a.ctxa --json
"$@" cat a.ctxa > "$OUT/held"
"$@" capture a.ctxa "$GROWN" --name s --json; echo "$?" >> "$OUT/status"
"$@" verify a.ctxa --json
ls -A > "$OUT/names"
"""


def test_a_full_disk_is_named_and_the_archive_is_as_it_was(tmp_path: Path) -> None:
    mounts = own_mounts()
    place = tmp_path / "disk"
    place.mkdir()
    env = environment(
        OUT=str(tmp_path),
        SMALL=str(write(tmp_path / "small.jsonl", session(50))),
        LARGE=str(write(tmp_path / "large.jsonl", noise(2).randbytes(3 << 20))),
        GROWN=str(write(tmp_path / "grown.jsonl", session(60))),
    )
    words = [*mounts, "sh", "-c", FULL, "sh", str(place), sys.executable, "-m", "ctxarc"]
    done = subprocess.run(words, capture_output=True, env=env, check=False)
    assert done.returncode == 0, done.stderr.decode()
    first, full, new, after, grown, last = (json.loads(line) for line in done.stdout.splitlines())
    assert first["ok"]
    assert [value["refusal"]["code"] for value in (full, new)] == ["NO_SPACE", "NO_SPACE"]
    assert (tmp_path / "status").read_text().split() == ["6", "6", "0"]
    assert (tmp_path / "before").read_text() == (tmp_path / "after").read_text()
    assert (after["ok"], after["archive_digest"]) == (True, first["archive_digest"])
    assert (tmp_path / "held").read_bytes() == session(50)
    assert (grown["new_turns"], last["ok"]) == (10, True)
    assert (tmp_path / "names").read_text() == "a.ctxa\n"


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, ("NO_SPACE", "make room and run the command again")),
        (errno.EACCES, ("PERMISSION_DENIED", "check the owner and the mode")),
        (errno.EIO, ("IO_FAILED", "look at the medium")),
    ],
)
def test_a_fault_in_the_middle_of_several_says_which_captures_stand(
    number: int, words: tuple[str, str], folder: Path, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(archive, session(2), "earlier")
    times: list[Path] = []

    def failing(path: Path, data: bytes) -> None:
        times.append(path)
        if len(times) == 3:
            raise OSError(number, os.strerror(number), str(path))
        replace_file(path, data)

    monkeypatch.setattr(writer, "FRAME_LIMIT", 1)  # so that each source is a step of its own
    monkeypatch.setattr(writer, "replace_file", failing)
    refusal = refused(lambda: capture(archive, discover([str(folder)])))
    assert (refusal.code, refusal.facts["captures"]) == (words[0], 3)
    assert refusal.hint.startswith("captures up to 3 are stored; ")
    assert words[1] in refusal.hint
    assert [(row.capture, row.transcript) for row in captures(archive)] == [(1, "earlier"), (2, "a"), (3, "b")]
    assert held(archive, "b#") == session(3, "b")
    sound(archive)


def test_a_fault_before_anything_was_stored_says_that_the_archive_is_as_it_was(
    folder: Path, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(path: Path, _: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    stored(archive, session(2))
    before = tree(archive)
    monkeypatch.setattr(writer, "replace_file", failing)
    refusal = refused(lambda: capture(archive, discover([str(folder)])))
    assert (refusal.code, "captures" in refusal.facts) == ("NO_SPACE", False)
    assert refusal.hint.startswith("the archive is as it was; ")
    assert tree(archive) == before


@pytest.mark.parametrize("left", ["pack/leftover.zst", "HEAD.tmp"])
def test_what_a_dead_writer_left_is_gone_after_the_next_capture(left: str, archive: Path) -> None:
    stored(archive, session(2))
    (archive / left).write_bytes(b"left")
    assert [finding.code for finding in verify(archive).findings] == ["LEFTOVER"]
    assert held(archive) == session(2)
    stored(archive, session(3))
    sound(archive)


@pytest.mark.parametrize("name", ["objects", "log"])
def test_bytes_behind_what_is_committed_are_gone_after_the_next_capture(name: str, archive: Path) -> None:
    stored(archive, session(2))
    with (archive / name).open("ab") as file:
        file.write(b"left by a dead writer")
    assert [finding.code for finding in verify(archive).findings] == ["LEFTOVER"]
    assert held(archive) == session(2)
    stored(archive, session(3))
    assert held(archive) == session(3)
    sound(archive)


@pytest.mark.parametrize("after_ms", [0, 5, 10, 20, 40, 80, 120])
def test_a_killed_capture_leaves_the_archive_as_before_or_as_after(
    after_ms: int, archive: Path, tmp_path: Path
) -> None:
    """The instants fall where they fall; whichever it is, the promise holds."""
    made = noise(after_ms)
    small = session(20)
    large = small + b"".join(made.randbytes(900).replace(b"\n", b" ") + b"\n" for _ in range(4000))
    stored(archive, small)
    path = write(tmp_path / "s.jsonl", large)
    with subprocess.Popen(command("capture", archive, path, "-q"), env=environment()) as writer:
        try:
            writer.wait(0.06 + after_ms / 1000)
        except subprocess.TimeoutExpired:
            writer.kill()
    assert held(archive) in {small, large}
    stored(archive, large)
    assert held(archive) == large
    sound(archive)


def test_an_archive_survives_being_copied_without_times_and_modes(archive: Path, tmp_path: Path) -> None:
    stored(archive, session(20))
    stored(archive, session(30))
    copy = tmp_path / "copy.ctxa"
    shutil.copytree(archive, copy, copy_function=shutil.copyfile)
    for path in copy.rglob("*"):
        os.utime(path, (0, 0))
    assert verify(copy, expect=digest_of(archive)).ok
    assert stored(copy, session(31), "s").new_turns == 1
