"""Operations that read much say how far they are, and end where they are told to, with nothing half written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from cases import session, stored, tree

from ctxarc.operations.additions import additions
from ctxarc.operations.budget import within_budget
from ctxarc.operations.cite import cite
from ctxarc.operations.compare import compare
from ctxarc.operations.extract import extract
from ctxarc.operations.find import FindOptions, find
from ctxarc.operations.info import info
from ctxarc.operations.progress import Progress
from ctxarc.operations.searched import Target, searching
from ctxarc.operations.segment import segment


def searched(archive: Path, progress: Progress) -> None:
    with searching(archive, Target(), progress) as opened:
        assert opened.lexical.leading("remark", 1)


READING: dict[str, Callable[[Path, Progress], object]] = {
    "cite": lambda archive, progress: cite(archive, "apples that were never named", progress=progress),
    "compare": lambda archive, progress: compare(archive, archive, progress),
    "additions": lambda archive, progress: additions(archive, 1, progress=progress),
    "within_budget": lambda archive, progress: within_budget(archive, budget=2000, progress=progress),
    "extract": lambda archive, progress: extract(archive, [], archive.parent / "out", progress=progress),
    "searching": searched,
    "find": lambda archive, progress: list(find(archive, FindOptions(patterns=("pears",)), progress)),
    "info": info,
}


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    place = tmp_path / "a.ctxa"
    stored(place, session(20))
    segment(place, ["sized-900-v1"])
    return place


class Stop(BaseException):
    """What a caller that no longer waits raises."""


@pytest.mark.parametrize("name", READING)
def test_it_says_how_far_it_is(archive: Path, name: str) -> None:
    told: list[tuple[str, int]] = []
    READING[name](archive, lambda what, done, _total: told.append((what, done)))
    assert told
    assert 0 < max(done for _, done in told) <= len(session(20))


@pytest.mark.parametrize("name", READING)
def test_it_ends_where_it_is_told_to(archive: Path, name: str) -> None:
    def stop(_what: str, _done: int, _total: int | None) -> None:
        raise Stop

    before = tree(archive.parent)
    with pytest.raises(Stop):
        READING[name](archive, stop)
    after = tree(archive.parent)
    after.pop("out", None)
    assert after == before
