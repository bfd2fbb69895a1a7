"""A second process does half of much cutting; whatever becomes of it, the indexes are as one process makes them."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from archives import findings, lines, store
from cases import refused

from ctxarc.operations import halves
from ctxarc.operations.address import AddressOptions, address
from ctxarc.operations.segment import segment
from ctxarc.operations.spool import Spool

SCHEMES = ["boundary-v1", "changepoint-v1"]
DATA = lines(0, 60, size=700)
ANSWER = (
    "import io, os, pickle, sys; sys.path[:] = {path!r}; from ctxarc.operations.cut_worker import answer; "
    "file = io.BytesIO(); answer(pickle.load(sys.stdin.buffer), file); out = made = file.getvalue(); code = 0; {end}; "
    "sys.stdout.buffer.write(out); sys.stdout.flush(); os.kill(os.getpid(), 9) if code < 0 else sys.exit(code)"
)
"""A process that answers, and then does not: in what comes of its answer, and in how it ends."""


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An archive whose indexes one process has made."""
    place = tmp_path / "alone.ctxa"
    store(place, DATA)
    monkeypatch.setattr(halves, "_processors", lambda: 1)
    segment(place, SCHEMES)
    monkeypatch.setattr(halves, "_processors", lambda: 2)
    monkeypatch.setattr(halves, "_MUCH", 1)
    return place


def cuts_of(archive: Path) -> dict[str, bytes]:
    """The files of the indexes of segments."""
    return {path.relative_to(archive).as_posix(): path.read_bytes() for path in (archive / "segments").rglob("*.seg")}


def words_files(archive: Path) -> list[str]:
    """The names of the parts of one word index."""
    return sorted(path.name for path in (archive / "words" / SCHEMES[0]).iterdir())


def answers(archive: Path) -> list[tuple[int, int, float]]:
    """Where a question leads."""
    (result,) = address(archive, AddressOptions(question="user text 4 7", scheme=SCHEMES[0], limit=20))
    return [(hit.turn, hit.start_byte, hit.score) for hit in result.hits]


def anew(alone: Path) -> Path:
    """The same record without an index."""
    place = alone.with_name("anew.ctxa")
    shutil.copytree(alone, place, ignore=shutil.ignore_patterns("segments", "words", "*.lock"))
    segment(place, SCHEMES)
    return place


def test_two_processes_make_the_same_cuts_and_find_the_same(alone: Path) -> None:
    place = anew(alone)
    assert len(words_files(place)) == 2
    assert len(words_files(alone)) == 1
    assert cuts_of(place) == cuts_of(alone)
    assert answers(place) == answers(alone)
    assert findings(place) == []


@pytest.mark.parametrize(
    "program",
    [
        "raise SystemExit(1)",
        "import os; os.kill(os.getpid(), 9)",
        "pass",
        "import pickle, sys; pickle.dump({{}}, sys.stdout.buffer)",
        "import sys; sys.stdin.close(); raise SystemExit(0)",
        "print('no pickle')",
        *(ANSWER.replace("{end}", end) for end in ("out = made[:-1]", "out = made[:400]", "code = 1", "code = -1")),
    ],
)
def test_what_a_process_that_fails_leaves_is_done_here(
    program: str, alone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(halves, "_START", program)
    place = anew(alone)
    assert len(words_files(place)) == 2
    assert cuts_of(place) == cuts_of(alone)
    assert answers(place) == answers(alone)


def test_a_half_that_is_of_other_turns_is_not_taken(alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = alone.with_name("other.ctxa")
    store(other, lines(0, 60, size=700, salt="other"))
    forged = (
        "import sys, pickle; sys.path[:] = {path!r}; from ctxarc.operations.cut_worker import answer; "
        f"answer(pickle.load(sys.stdin.buffer)._replace(archive={str(other)!r}), sys.stdout.buffer)"
    )
    monkeypatch.setattr(halves, "_START", forged)
    place = anew(alone)
    assert cuts_of(place) == cuts_of(alone)
    assert findings(place) == []


def test_parts_that_leave_turns_out_are_not_taken(alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forged = (
        "import io, pickle, sys; sys.path[:] = {path!r}; from ctxarc.operations.cut_worker import answer; "
        "file = io.BytesIO(); answer(pickle.load(sys.stdin.buffer), file); file.seek(0); half = pickle.load(file); "
        f"half.words[{SCHEMES[0]!r}].clear(); pickle.dump(half, sys.stdout.buffer); "
        "sys.stdout.buffer.write(file.read())"
    )
    monkeypatch.setattr(halves, "_START", forged)
    place = anew(alone)
    assert len(words_files(place)) == 2
    assert answers(place) == answers(alone)
    assert findings(place) == []


def test_little_is_cut_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(halves, "_processors", lambda: 2)
    monkeypatch.setattr(halves, "_START", f"open({str(tmp_path / 'started')!r}, 'w').close()")
    place = tmp_path / "a.ctxa"
    store(place, DATA)
    segment(place, SCHEMES)
    assert len(words_files(place)) == 1
    monkeypatch.setattr(halves, "_MUCH", 1)
    segment(place, SCHEMES, rebuild=True)
    assert (tmp_path / "started").exists()


def test_words_alone_are_shared_too(alone: Path) -> None:
    place = alone.with_name("words.ctxa")
    shutil.copytree(alone, place, ignore=shutil.ignore_patterns("words", "*.lock"))
    segment(place, SCHEMES)
    assert len(words_files(place)) == 2
    assert cuts_of(place) == cuts_of(alone)
    assert answers(place) == answers(alone)
    assert findings(place) == []


def test_new_files_wait_in_memory_or_in_a_temporary_file() -> None:
    for limit in (1, 1 << 20):
        spool = Spool(limit)
        for name, data in (("b", b"one"), ("a", b""), ("c", b"three" * 100)):
            spool.put(name, data)
        assert list(spool.items()) == [("b", b"one"), ("a", b""), ("c", b"three" * 100)]
        spool.put("d", spool["b"])
        assert spool.lengths() == {"b": 3, "a": 0, "c": 500, "d": 3}
        assert (spool["d"], len(spool)) == (b"one", 4)


def test_a_system_without_room_for_temporary_files_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "absent"))
    few, many = Spool(100), Spool(1)
    few.put("a", b"one")
    assert few["a"] == b"one"
    refusal = refused(lambda: many.put("a", b"one"))
    assert (refusal.status, str(tmp_path / "absent") in refusal.message) == (6, True)


def test_growth_behind_indexes_that_are_there_is_shared_too(alone: Path) -> None:
    more = DATA + lines(60, 120, size=700)
    store(alone, more)
    place = anew(alone)
    assert cuts_of(place).keys() == {f"segments/{scheme}/000000000000-000000000119.seg" for scheme in SCHEMES}
    assert answers(place) == answers(alone)
    assert findings(alone) == findings(place) == []
