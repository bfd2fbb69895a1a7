"""What a server keeps open between questions: the same answers as without, and never those of an older state."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from cases import one, refused, run, session, stored

from ctxarc.mcp import kept
from ctxarc.mcp.kept import Kept
from ctxarc.model import AddressResult
from ctxarc.operations.address import AddressOptions, address
from ctxarc.operations.searched import Target
from ctxarc.operations.segment import segment

SCHEME = "boundary-v1"
QUESTION = "which remark 3"


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    place = tmp_path / "a.ctxa"
    stored(place, session(8))
    segment(place, [SCHEME])
    return place


def asked(keep: Kept, archive: Path, question: str = QUESTION) -> AddressResult:
    (answer,) = address(archive, AddressOptions(question=question), keep.searching)
    return answer


def unkept(archive: Path, question: str = QUESTION) -> AddressResult:
    (answer,) = address(archive, AddressOptions(question=question))
    return answer


def test_the_second_answer_is_of_what_the_first_one_opened_and_the_same(archive: Path) -> None:
    keep = Kept()
    with keep.searching(archive, Target()) as first:
        pass
    with keep.searching(archive, Target()) as second:
        assert second is first
    with keep.searching(archive, Target(role="user")) as narrowed:
        assert narrowed is not first
    assert asked(keep, archive) == asked(keep, archive) == unkept(archive)


def grown(archive: Path) -> None:
    stored(archive, session(8) + session(3, "pears"))


def rewritten(archive: Path) -> None:
    stored(archive, session(5, "pears"), as_new_history=True)


def cut_otherwise(archive: Path) -> None:
    one(run("segment", archive, "--scheme", SCHEME, "--rebuild", "--no-words", "--json"))


def put_in_its_place(archive: Path) -> None:
    archive.rename(archive.with_name("old.ctxa"))
    stored(archive, session(8, "plums"))
    segment(archive, [SCHEME])


@pytest.mark.parametrize("change", [grown, rewritten, cut_otherwise, put_in_its_place])
def test_a_change_on_disk_is_seen_by_the_next_question(archive: Path, change: Callable[[Path], None]) -> None:
    keep = Kept()
    before = asked(keep, archive)
    change(archive)
    after = asked(keep, archive)
    assert after == unkept(archive)
    assert (after.archive_digest == before.archive_digest) == (change is cut_otherwise)


def test_an_archive_that_is_gone_is_gone(archive: Path) -> None:
    keep = Kept()
    asked(keep, archive)
    archive.rename(archive.with_name("moved.ctxa"))
    assert refused(lambda: asked(keep, archive)).code == "NO_SUCH_ARCHIVE"


@pytest.mark.parametrize("folder", ["segments", "words"])
def test_a_file_that_is_damaged_meanwhile_is_refused_though_its_length_and_time_stay(
    archive: Path, folder: str
) -> None:
    keep = Kept()
    asked(keep, archive)
    (file,) = (archive / folder / SCHEME).iterdir()
    times = file.stat()
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert refused(lambda: asked(keep, archive)).family == "damage"
    data[-1] ^= 1
    file.write_bytes(data)
    assert asked(keep, archive) == unkept(archive)


def test_what_failed_is_opened_anew(archive: Path) -> None:
    keep = Kept()
    with keep.searching(archive, Target()) as first:
        pass
    with pytest.raises(ZeroDivisionError), keep.searching(archive, Target()):
        raise ZeroDivisionError
    with keep.searching(archive, Target()) as again:
        assert again is not first


def test_a_caller_that_waits_is_told_and_may_give_up(archive: Path) -> None:
    keep = Kept()
    said: list[str] = []

    def give_up(what: str, _done: int, _total: int | None) -> None:
        said.append(what)
        raise KeyboardInterrupt

    def second() -> None:
        with pytest.raises(KeyboardInterrupt), keep.searching(archive, Target(), give_up):
            raise AssertionError

    with keep.searching(archive, Target()) as first:
        other = threading.Thread(target=second)
        other.start()
        other.join()
        assert said == ["waiting for a question before"]
    with keep.searching(archive, Target()) as again:
        assert again is first


def test_many_at_once_get_their_own_answers(archive: Path) -> None:
    keep = Kept()
    questions = [f"which remark {number}" for number in range(8)] * 3
    found: dict[int, AddressResult] = {}
    threads = [
        threading.Thread(target=lambda at=at, text=text: found.__setitem__(at, asked(keep, archive, text)))
        for at, text in enumerate(questions)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[at] for at in range(len(questions))] == [unkept(archive, text) for text in questions]


@pytest.mark.parametrize(("segments", "targets", "stays"), [(10**6, 8, True), (10**6, 1, False), (10, 8, False)])
def test_no_more_is_kept_than_there_is_room_for(
    archive: Path, monkeypatch: pytest.MonkeyPatch, segments: int, targets: int, *, stays: bool
) -> None:
    monkeypatch.setattr(kept, "_SEGMENTS", segments)
    monkeypatch.setattr(kept, "_TARGETS", targets)
    keep = Kept()
    with keep.searching(archive, Target()) as first:
        pass
    with keep.searching(archive, Target(role="user")) as other:
        pass
    with keep.searching(archive, Target(role="user")) as again:
        assert again is other
    with keep.searching(archive, Target()) as last:
        assert (last is first) == stays
