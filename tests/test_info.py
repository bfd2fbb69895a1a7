"""``info``: what an archive holds, what it cost, and its digest as other tools take it."""

from __future__ import annotations

from pathlib import Path

import pytest
from cases import digest_of, one, run, said, session, stored, tree, turns_of

from ctxarc.model import ByteRange
from ctxarc.operations.info import info
from ctxarc.operations.repack import repack


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    stored(tmp_path / "a.ctxa", session(5))
    return tmp_path / "a.ctxa"


def test_info_counts_what_is_held_and_what_it_costs(archive: Path) -> None:
    stored(archive, session(7))
    stored(archive, session(7) + said("a fork's own"), "fork")
    held = info(archive)
    total = sum(len(data) for data in tree(archive).values() if data is not None)
    assert (held.transcripts, held.captures, held.turns, held.objects) == (2, 3, 15, 8)
    assert held.bytes == 2 * len(session(7)) + len(said("a fork's own"))
    assert held.object_bytes == len(session(7)) + len(said("a fork's own"))
    assert held.archive_bytes == total
    assert held.ratio == round(held.bytes / total, 3)
    assert (held.format_version, held.complete, held.omitted, held.incomplete) == (1, True, (), ())
    assert held.archive_digest == digest_of(archive)


def test_the_planes_add_up_to_the_archive(archive: Path) -> None:
    held = info(archive)
    kinds = [*held.record.values(), *held.auxiliary.values()]
    assert sum(kind["bytes"] for kind in kinds) == held.archive_bytes
    assert sum(kind["files"] for kind in kinds) == sum(data is not None for data in tree(archive).values())
    assert {"CTXA", "HEAD", "objects", "log", "pack"} <= set(held.record)
    assert held.auxiliary == {}
    assert held.record["pack"]["files"] == held.packs


def test_an_incomplete_archive_says_which_transcripts_lack_what(archive: Path) -> None:
    turns = turns_of(session(4, "pears"))
    for name in ("t", "r"):
        stored(archive, session(4, "pears"), name, max_bytes=len(turns[3]), allow_truncation=True)
    held = info(archive)
    gap = (ByteRange(0, sum(map(len, turns[:3]))),)
    assert held.complete is False
    assert [(state.transcript, state.complete, state.omitted) for state in held.incomplete] == [
        ("r", False, gap),
        ("t", False, gap),
    ]
    assert held.bytes == len(session(5)) + 2 * len(turns[3])
    assert b"incomplete" in run("info", archive).stdout
    got = one(run("info", archive, "--json"))
    assert (got["complete"], [each["transcript"] for each in got["incomplete"]]) == (False, ["r", "t"])


def test_an_archive_of_nothing_has_no_ratio_to_divide_by(tmp_path: Path) -> None:
    stored(tmp_path / "a.ctxa", b"")
    held = info(tmp_path / "a.ctxa")
    assert (held.bytes, held.turns, held.objects, held.packs, held.ratio) == (0, 0, 0, 0, 0.0)
    assert run("info", tmp_path / "a.ctxa").returncode == 0


def test_the_digest_alone_is_printed_as_a_checksum_tool_does(archive: Path) -> None:
    done = run("info", "a.ctxa", "--digest", cwd=archive.parent)
    assert done.stdout.decode() == f"{digest_of(archive)}  a.ctxa\n"
    assert run("info", "a.ctxa", "--digest", "-q", cwd=archive.parent).stdout == done.stdout
    assert one(run("info", archive, "--digest", "--json"))["archive_digest"] == digest_of(archive)


def test_the_digest_changes_with_what_is_captured_and_with_nothing_else(archive: Path) -> None:
    digest = info(archive).archive_digest
    stored(archive, session(5))
    repack(archive)
    assert info(archive).archive_digest == digest
    stored(archive, session(6))
    assert info(archive).archive_digest != digest


def test_info_for_people_names_the_archive_the_counts_and_the_digest(archive: Path) -> None:
    shown = run("info", archive).stdout.decode()
    for words in (str(archive), digest_of(archive), "record", "pack"):
        assert words in shown


def test_files_of_others_are_counted_outside_the_record(archive: Path) -> None:
    (archive / "words").mkdir()
    (archive / "words" / "index").write_bytes(b"12345")
    held = info(archive)
    assert held.auxiliary == {"words": {"files": 1, "bytes": 5}}
