"""A second process does half of much cutting; whatever becomes of it, the indexes are as one process makes them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from archives import findings, lines, store

from ctxarc.operations import halves
from ctxarc.operations.address import AddressOptions, address
from ctxarc.operations.segment import segment

SCHEMES = ["boundary-v1", "changepoint-v1"]
DATA = lines(0, 60, size=700)


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
        "import sys, pickle; sys.path[:] = {path!r}; from ctxarc.operations.cut_worker import done; "
        f"order = pickle.load(sys.stdin.buffer)._replace(archive={str(other)!r}); "
        "pickle.dump(done(order), sys.stdout.buffer)"
    )
    monkeypatch.setattr(halves, "_START", forged)
    place = anew(alone)
    assert cuts_of(place) == cuts_of(alone)
    assert findings(place) == []


def test_growth_behind_indexes_that_are_there_is_shared_too(alone: Path) -> None:
    more = DATA + lines(60, 120, size=700)
    store(alone, more)
    place = anew(alone)
    assert cuts_of(place).keys() == {f"segments/{scheme}/000000000000-000000000119.seg" for scheme in SCHEMES}
    assert answers(place) == answers(alone)
    assert findings(alone) == findings(place) == []
