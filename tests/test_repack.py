"""``repack``: fewer and smaller packs, the same digest and the same bytes."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from cases import digest_of, held, noise, one, refused, run, said, session, sound, stored, tree
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxarc.operations.info import info
from ctxarc.operations.ls import captures, ls
from ctxarc.operations.repack import repack
from ctxarc.operations.verify import verify
from ctxarc.preservation.lock import Lock


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """An archive of many captures of several transcripts, histories and a gap among them."""
    archive = tmp_path / "a.ctxa"
    made = noise(8)
    lines = [made.randbytes(2000).hex().encode() + b"\n" for _ in range(40)]
    for end in range(4, 41, 4):
        stored(archive, b"".join(lines[:end]))
    stored(archive, session(4), "t")
    stored(archive, session(2) + said("edited"), "t", as_new_history=True)
    stored(archive, session(6, "pears"), "u", max_bytes=400, allow_truncation=True)
    return archive


def states(archive: Path) -> dict[tuple[int, str], bytes]:
    """Every state of every transcript."""
    found = {}
    for number in range(1, info(archive).captures + 1):
        for name in ("s", "t", "u"):
            if any(row.transcript == name and row.capture <= number for row in captures(archive)):
                found[number, name] = held(archive, f"{name}#", at=number)
    return found


def test_nothing_changes_but_the_packs(archive: Path) -> None:
    before, digest = states(archive), digest_of(archive)
    rows = list(captures(archive))
    result = repack(archive)
    assert result.archive_digest == digest == digest_of(archive)
    assert states(archive) == before
    assert list(captures(archive)) == rows
    sound(archive)
    assert verify(archive, expect=digest).ok


def test_the_result_says_what_was_saved(archive: Path) -> None:
    sizes = [path.stat().st_size for path in (archive / "pack").iterdir()]
    result = repack(archive, level=12)
    after = [path.stat().st_size for path in (archive / "pack").iterdir()]
    assert (result.packs_before, result.bytes_before) == (len(sizes), sum(sizes))
    assert (result.packs_after, result.bytes_after) == (len(after), sum(after)) == (1, sum(after))
    assert (result.level, result.archive) == (12, str(archive))
    assert result.archive_bytes == sum(len(data) for data in tree(archive).values() if data is not None)


def test_turns_that_are_alike_come_to_lie_together(tmp_path: Path) -> None:
    """A fork with every id changed shares no turn with its origin, and nearly all of its bytes."""
    archive = tmp_path / "a.ctxa"
    made = noise(9)
    one_ = b"".join(b'{"id":"first","n":"%s"}\n' % made.randbytes(400).hex().encode() for _ in range(200))
    stored(archive, one_, "one")
    repack(archive)
    alone = info(archive).archive_bytes
    stored(archive, one_.replace(b"first", b"other"), "two")
    repack(archive)
    assert info(archive).archive_bytes - alone < 0.25 * alone
    assert held(archive, "two#") == one_.replace(b"first", b"other")
    sound(archive)


def test_it_can_be_done_again_and_captures_go_on(archive: Path) -> None:
    first = repack(archive)
    second = repack(archive)
    assert second.bytes_after == first.bytes_after
    report = stored(archive, session(4) + said("after it"), "v")
    assert report.turns == 5
    before = states(archive)
    repack(archive, level=1)
    assert states(archive) == before
    sound(archive)


def test_an_archive_without_a_turn_can_be_repacked(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    stored(archive, b"")
    result = repack(archive)
    assert (result.packs_before, result.packs_after, result.bytes_after) == (0, 0, 0)
    sound(archive)


@pytest.mark.parametrize("place", ["absent", "empty"])
def test_what_is_no_archive_is_refused_and_not_made(place: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    refusal = refused(lambda: repack(tmp_path / place))
    assert refusal.code == {"absent": "NO_SUCH_ARCHIVE", "empty": "NOT_AN_ARCHIVE"}[place]
    assert [path.name for path in tmp_path.rglob("*")] == ["empty"]


def test_it_waits_for_the_lock(archive: Path) -> None:
    before = tree(archive)
    with Lock(archive / "record.lock", 0.0):
        assert refused(lambda: repack(archive, lock_wait=0.0)).code == "ARCHIVE_LOCKED"
    assert tree(archive) == before


def test_damage_is_refused_and_stays_as_it_is(archive: Path) -> None:
    pack = max((archive / "pack").iterdir(), key=lambda path: path.stat().st_size)
    data = bytearray(pack.read_bytes())
    data[len(data) // 2] ^= 1
    pack.write_bytes(data)
    before = tree(archive)
    refusal = refused(lambda: repack(archive))
    assert (refusal.code, refusal.status) == ("CHECKSUM_MISMATCH", 4)
    assert tree(archive) == before


def test_more_than_a_pack_holds_becomes_several(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    data = b"".join(b"%07d " % number + b"x" * 4000 + b"\n" for number in range(4500))
    stored(archive, data[: 4009 * 2000], level=1)
    stored(archive, data, level=1)
    result = repack(archive, level=1)
    assert result.packs_after == 2
    assert held(archive) == data
    assert held(archive, at=1) == data[: 4009 * 2000]
    sound(archive)


PIECES = st.sampled_from([b"a\n", b"b\n", b"\n", b"\xff\n", b"torn", b"longer than the others\n"])
STEPS = st.one_of(
    st.none(),
    st.tuples(st.sampled_from("stu"), st.lists(PIECES, max_size=5).map(b"".join)),
    st.tuples(st.sampled_from("stu"), st.lists(PIECES, max_size=5).map(b"".join)),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(STEPS, min_size=1, max_size=10))
def test_any_captures_of_transcripts_that_share_turns_are_held_with_repacks_between(
    steps: list[tuple[str, bytes] | None],
) -> None:
    """A step is a capture, or a repack where it is none."""
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "a.ctxa"
        newest: dict[str, bytes] = {}
        after: list[dict[str, bytes]] = []
        for step in steps:
            if step is not None:
                report = stored(archive, step[1], step[0], as_new_history=True)
                newest[step[0]] = step[1]
                after += [] if report.unchanged else [dict(newest)]
            elif newest:
                digest = digest_of(archive)
                repack(archive, level=1)
                assert digest_of(archive) == digest
        for number, there in enumerate(after, 1):
            assert {
                row.transcript: held(archive, f"{row.transcript}#", at=number) for row in ls(archive, at=number)
            } == there
        if newest:
            assert {row.transcript: held(archive, f"{row.transcript}#") for row in ls(archive)} == newest
            sound(archive)


def test_the_command_says_how_much_was_saved(archive: Path) -> None:
    digest = digest_of(archive)
    got = one(run("repack", archive, "--json"))
    assert (got["ok"], got["archive_digest"]) == (True, digest)
    assert set(got) == {
        "schema",
        "ok",
        "archive",
        "archive_digest",
        "level",
        "packs_before",
        "packs_after",
        "bytes_before",
        "bytes_after",
        "archive_bytes",
    }
    shown = run("repack", archive, "--level", "3").stdout.decode()
    assert digest in shown
    assert run("repack", archive, "-q").stdout == b""
