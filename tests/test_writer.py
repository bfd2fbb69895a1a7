"""Writing: small captures, several writers, readers beside them, and whatever ends a writer before its time."""

from __future__ import annotations

import errno
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest
from archives import (
    ACTIONS,
    DIED,
    NOON,
    add,
    die_at,
    digest_of,
    do,
    fail_at,
    files_of,
    findings,
    in_child,
    line,
    lines,
    lose_power_at,
    pack_sizes,
    prepare,
    read,
    source_of,
    store,
    store_all,
    turns_of,
)

from ctxarc.errors import ArchiveLocked, ArchiveMoved, NoSuchArchive, NotAnArchive, Refusal
from ctxarc.operations.capture import CaptureOptions, capture
from ctxarc.operations.cat import cat
from ctxarc.operations.repack import repack
from ctxarc.operations.verify import verify
from ctxarc.preservation import frames, packing, writer
from ctxarc.preservation.record import Record, read_head
from ctxarc.preservation.writer import LostRace, RecordWriter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ctxarc.operations.sources import Source
    from ctxarc.preservation.layout import PackRow

LIMIT = 6000


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return tmp_path / "a.ctxa"


@pytest.fixture
def small_packs(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (packing, writer):
        monkeypatch.setattr(module, "FRAME_LIMIT", LIMIT)


# ------------------------------------------------------------------------------------------------- packs stay few


def merged(sizes: Sequence[int]) -> bool:
    """Whether every pack is at least twice as large as the next one, or too large to be joined with it."""
    return all(one >= 2 * two or one + two > LIMIT for one, two in pairwise(sizes))


def most_packs(sizes: Sequence[int]) -> int:
    """The most packs that there can be where every two neighbours are :func:`merged`.

    Of two neighbours that are too large together one has more than half the limit, and a pack is neighbour of two, so
    that such pairs lie at most ``2 * total / limit`` times; between them sizes halve, from the limit down to the least.
    """
    large = 2 * sum(sizes) // (LIMIT // 2)
    return int(large + (LIMIT // min(sizes)).bit_length() + 1)


@pytest.mark.usefixtures("small_packs")
@pytest.mark.parametrize("steps", [[60] * 130, [300, 60, 60, 900, 60, 2500, 60, 60, 60, 4000, 60, 60, 9000, 60] * 2])
def test_packs_stay_few_however_many_small_captures_there_are(archive: Path, steps: list[int]) -> None:
    source = b""
    for number, size in enumerate(steps):
        source += line(number, size)
        store(archive, source)
        sizes = pack_sizes(archive)
        assert merged(sizes), sizes
        assert len(sizes) <= most_packs(sizes)
        assert all(size <= LIMIT or size > LIMIT - 60 for size in sizes)
    assert len(steps) > 3 * len(pack_sizes(archive))
    assert read(archive) == source
    assert not findings(archive)


def test_small_captures_write_each_turn_few_times(archive: Path) -> None:
    """A turn is packed again only into a pack that is half as large again at least, and so as often as sizes double."""
    source, written = b"", 0
    for number in range(128):
        source += line(number)
        before = files_of(archive / "pack") if number else {}
        store(archive, source)
        head = read_head(archive)
        names = [path for path in files_of(archive / "pack") if path not in before]
        sizes = dict(zip(sorted(files_of(archive / "pack")), (row.raw_bytes for row in head.packs), strict=True))
        written += sum(sizes[name] for name in names)
    assert written <= len(source) * (1 + math.ceil(math.log(128, 1.5)))
    assert len(pack_sizes(archive)) <= 8


@pytest.mark.usefixtures("small_packs")
def test_a_small_capture_leaves_the_large_packs_before_it_alone(archive: Path) -> None:
    store(archive, lines(0, 400))
    before = files_of(archive / "pack")
    store(archive, lines(0, 401))
    assert set(before) - set(files_of(archive / "pack")) <= {max(before)}
    assert len(before) > 3


@pytest.mark.usefixtures("small_packs")
def test_a_pack_holds_whole_turns_up_to_the_limit_and_a_longer_turn_alone(archive: Path) -> None:
    sizes = [100, LIMIT - 50, 100, 3 * LIMIT, 100, LIMIT, 100]
    store(archive, b"".join(line(number, size) for number, size in enumerate(sizes)))
    head = read_head(archive)
    assert [row.objects for row in head.packs if row.raw_bytes > LIMIT] == [1]
    assert sum(row.objects for row in head.packs) == len(sizes)
    assert not findings(archive)


@pytest.mark.usefixtures("small_packs")
def test_a_large_capture_is_spread_evenly(archive: Path) -> None:
    store(archive, lines(0, 210))
    sizes = pack_sizes(archive)
    assert len(sizes) == -(-sum(sizes) // LIMIT)
    assert max(sizes) - min(sizes) <= 120


# ------------------------------------------------------------------------------------- what the digest depends on


STEPS = [lines(0, 30), lines(0, 31), lines(0, 31) + b"torn", lines(0, 31) + b"torn no more\n" + lines(31, 90)]


def captured(archive: Path, **options: Any) -> list[str]:  # noqa: ANN401 - as they are
    digests = []
    for step in STEPS:
        store(archive, step, **options)
        digests.append(store(archive, step[: len(step) // 2 + 900], "u", as_new_history=True, **options).archive_digest)
    return digests


def test_the_digest_is_the_same_at_every_level_and_for_every_size_of_packs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = captured(tmp_path / "a.ctxa", level=1)
    assert captured(tmp_path / "b.ctxa", level=19) == first
    for module in (packing, writer):
        monkeypatch.setattr(module, "FRAME_LIMIT", 500)
    assert captured(tmp_path / "c.ctxa") == first
    assert len(pack_sizes(tmp_path / "c.ctxa")) > len(pack_sizes(tmp_path / "a.ctxa"))
    assert len(set(first)) == len(first)


def test_the_digest_depends_on_neither_path_nor_time_nor_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = captured(tmp_path / "a.ctxa")
    monkeypatch.setattr("platform.node", lambda: "elsewhere")
    (tmp_path / "far" / "away").mkdir(parents=True)
    other = tmp_path / "far" / "away" / "b.ctxa"
    for step in STEPS:
        for name, data in (("t", step), ("u", step[: len(step) // 2 + 900])):
            source = source_of(other, name, data)
            capture(other, [source], CaptureOptions(as_new_history=True), clock=lambda: NOON + 10**15)
    assert digest_of(other) == first[-1]
    assert (other / "log").read_bytes() != (tmp_path / "a.ctxa" / "log").read_bytes()


def test_the_digest_depends_on_the_steps_the_names_and_the_bytes(tmp_path: Path) -> None:
    digests = [
        store(tmp_path / "a.ctxa", lines(0, 9)).archive_digest,
        store(tmp_path / "b.ctxa", lines(0, 9), "u").archive_digest,
        store(tmp_path / "c.ctxa", lines(0, 8) + line(9)).archive_digest,
    ]
    store(tmp_path / "d.ctxa", lines(0, 5))
    digests.append(store(tmp_path / "d.ctxa", lines(0, 9)).archive_digest)
    assert len(set(digests)) == 4


@pytest.mark.usefixtures("small_packs")
def test_repacking_changes_packs_and_nothing_else(archive: Path) -> None:
    for end in range(5, 400, 45):
        store(archive, lines(0, end))
        store(archive, lines(end, end + 5) + lines(0, 7), "u", as_new_history=True)
    digest, before = digest_of(archive), files_of(archive)
    for level in (1, 12, 12, 3):
        done = repack(archive, level=level)
        after = files_of(archive)
        assert done.archive_digest == digest_of(archive) == digest
        assert {name for name in after if before.get(name) != after[name]} - {"HEAD"} == {
            name for name in after if name.startswith("pack/") and name not in before
        }
        assert len(pack_sizes(archive)) == -(-sum(pack_sizes(archive)) // LIMIT)
        assert (read(archive, "t#"), read(archive, "t#", at=1)) == (lines(0, 365), lines(0, 5))
        assert not findings(archive)


def test_an_unchanged_source_changes_no_file(archive: Path) -> None:
    store(archive, lines(0, 9))
    before = files_of(archive)
    result = store(archive, lines(0, 9))
    assert result.transcripts[0].unchanged
    assert files_of(archive) == before


# ------------------------------------------------------------------------------------------- every turn stored once


def test_turns_are_stored_once_across_transcripts_captures_and_histories(archive: Path) -> None:
    store_all(archive, {"a": lines(0, 50), "b": lines(20, 70), "c": lines(0, 10) * 3})
    store(archive, lines(0, 20) + lines(40, 60), "a", as_new_history=True)
    store(archive, lines(0, 300), "d")
    head = read_head(archive)
    assert (head.objects, head.object_bytes) == (300, len(lines(0, 300)))
    assert read(archive, "c#") == lines(0, 10) * 3
    assert (read(archive, "a#"), read(archive, "a#", at=3)) == (lines(0, 20) + lines(40, 60), lines(0, 50))
    assert not findings(archive)


def test_many_new_turns_and_few_find_the_same_turns_that_are_held(archive: Path) -> None:
    store(archive, lines(0, 500), "a")
    store(archive, lines(490, 495), "few")
    store(archive, lines(100, 450) + lines(900, 1000), "many")
    assert read_head(archive).objects == 600


# ------------------------------------------------------------------------------------------------- taking things back


def test_an_abandoned_draft_leaves_no_trace(archive: Path) -> None:
    with RecordWriter(archive) as one:
        add(one, b"a", turns_of(lines(0, 20)))
        add(one, b"b", turns_of(lines(10, 40)), finish=False)
        add(one, b"c", turns_of(lines(15, 45)))
        one.commit()
    with RecordWriter(archive.with_name("b.ctxa")) as other:
        add(other, b"a", turns_of(lines(0, 20)))
        add(other, b"c", turns_of(lines(15, 45)))
        other.commit()
    assert files_of(archive) == files_of(archive.with_name("b.ctxa"))


def test_an_archive_of_which_all_was_abandoned_is_never_made(archive: Path) -> None:
    with RecordWriter(archive) as one:
        add(one, b"a", turns_of(lines(0, 20)), finish=False)
        one.commit()
    with RecordWriter(archive) as one:
        add(one, b"a", turns_of(lines(0, 20)))
    assert list(archive.parent.iterdir()) == []


@pytest.mark.usefixtures("small_packs")
def test_a_draft_that_is_abandoned_after_packs_were_sealed_leaves_no_trace(archive: Path) -> None:
    store(archive, lines(0, 20))
    before = files_of(archive)
    with RecordWriter(archive) as one:
        add(one, b"b", turns_of(lines(100, 500)), finish=False)
    assert files_of(archive) == before
    assert not findings(archive)
    with RecordWriter(archive) as one:
        add(one, b"b", turns_of(lines(100, 500)), finish=False)
        add(one, b"c", turns_of(lines(15, 45)))
        one.commit()
    assert read(archive, "c#") == lines(15, 45)
    assert not findings(archive)


@pytest.mark.usefixtures("small_packs")
@pytest.mark.parametrize("turns", [80, 140, 300])
@pytest.mark.parametrize("more", [1, 60, 400])
def test_a_capture_that_was_finished_stays_when_the_next_draft_is_abandoned(
    archive: Path, turns: int, more: int
) -> None:
    """However many packs either of them fills."""
    with RecordWriter(archive) as one:
        assert add(one, b"one", turns_of(lines(0, turns))) == 1
        add(one, b"two", turns_of(lines(1000, 1000 + more)), finish=False)
        assert add(one, b"three", turns_of(lines(2000, 2002))) == 2
        one.commit()
    assert read(archive, "one#") == lines(0, turns)
    assert read(archive, "three#") == lines(2000, 2002)
    assert read_head(archive).captures == 2
    assert not findings(archive)


@pytest.mark.usefixtures("small_packs")
def test_a_source_that_cannot_be_read_to_its_end_takes_nothing_else_with_it(
    archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ctxarc.preservation.turns.TURN_LIMIT", 50_000)
    data = {"a": lines(0, 150), "b": lines(200, 203) + b"x" * 60_000, "c": lines(300, 303)}
    result = store_all(archive, data)
    assert [report.transcript for report in result.transcripts] == ["a", "c"]
    assert [(each.transcript, each.refusal["code"]) for each in result.refused] == [("b", "TURN_TOO_LARGE")]
    assert (read(archive, "a#"), read(archive, "c#")) == (data["a"], data["c"])
    assert not findings(archive)


def test_two_captures_in_one_transaction_are_committed_in_one_step(archive: Path) -> None:
    with RecordWriter(archive) as one:
        numbers = [add(one, b"a", turns_of(lines(0, 9))), add(one, b"b", turns_of(lines(5, 15)))]
        assert not archive.exists()
        one.commit()
        assert numbers == [1, 2]
        first = digest_of(archive)
        held = turns_of(lines(0, 9))
        numbers = [add(one, b"b", [line(20)], keep=turns_of(lines(5, 15))), add(one, b"a", [line(20)], keep=held)]
        assert digest_of(archive) == first
        one.commit()
    assert numbers == [3, 4]
    assert (read(archive, "a#"), read(archive, "b#")) == (lines(0, 9) + line(20), lines(5, 15) + line(20))
    assert len(pack_sizes(archive)) == 2
    assert not findings(archive)


# --------------------------------------------------------------------------------------------- what dead writers leave


def litter(archive: Path) -> set[str]:
    """Put beside the record what a writer leaves that dies before its HEAD; the paths that it touched."""
    for name in ("objects", "log"):
        with (archive / name).open("ab") as stream:
            stream.write(b"torn" * 1500)
    packs = sorted((archive / "pack").iterdir())
    extra = ["pack/000000000900-000000000905-0123456789abcdef.zst", "pack/000000000000-000000000000-00.zst", "HEAD.tmp"]
    for name in extra:
        (archive / name).write_bytes(packs[0].read_bytes()[:-3])
    return {"objects", "log", *extra}


def test_what_a_dead_writer_left_is_harmless_named_and_removed_by_the_next_capture(archive: Path) -> None:
    store(archive, lines(0, 50))
    undisturbed = shutil.copytree(archive, archive.with_name("b.ctxa"))
    shutil.copytree(archive.parent / "sources", archive.parent / "kept")
    left = litter(archive)
    assert read(archive) == lines(0, 50)
    assert set(findings(archive)) == {("LEFTOVER", path) for path in left}
    assert set(findings(archive, quick=True)) == {("LEFTOVER", path) for path in left}
    store(archive, lines(0, 80))
    store(undisturbed, lines(0, 80))
    assert files_of(archive) == files_of(undisturbed)
    assert not findings(archive)


def test_leftovers_are_no_finding_while_a_writer_holds_the_lock(archive: Path) -> None:
    store(archive, lines(0, 50))
    left = litter(archive)
    with RecordWriter(archive):
        assert not findings(archive)
    assert len(findings(archive)) == len(left)


def test_leftovers_are_removed_by_a_capture_that_finds_nothing_new(archive: Path) -> None:
    store(archive, lines(0, 50))
    litter(archive)
    assert store(archive, lines(0, 50)).transcripts[0].unchanged
    assert not findings(archive)


def test_leftovers_are_removed_by_repack_too(archive: Path) -> None:
    store(archive, lines(0, 50))
    litter(archive)
    repack(archive, level=3)
    assert not findings(archive)


def test_a_directory_that_a_dead_maker_left_is_removed_once_it_is_old_and_no_other_ones(archive: Path) -> None:
    with RecordWriter(archive) as living:
        add(living, b"a", turns_of(lines(0, 9)))
        living.seal()
        (mine,) = archive.parent.glob(".ctxarc-new-*")
        while not list(mine.glob("pack/*.zst")):  # it is written beside us
            time.sleep(0.01)
        dead = shutil.copytree(mine, mine.with_name(".ctxarc-new-1-0123abcd"))
        young = shutil.copytree(mine, mine.with_name(".ctxarc-new-1-4567abcd"))
        theirs = [archive.with_name(name) for name in (".ctxarc-new-design", ".ctxarc-new-2-89abcdef")]
        for path in theirs:
            path.mkdir()
            (path / "notes.md").write_text("not a writer's")
        for path in (mine, dead, *theirs):
            os.utime(path, (1, 1))
        store(archive.with_name("b.ctxa"), b"x\n")
        assert (mine.exists(), dead.exists(), young.exists()) == (True, False, True)
        assert all((path / "notes.md").exists() for path in theirs)
        living.commit()
    assert read(archive) == lines(0, 9)


# ------------------------------------------------------------------------------------------------------------- locks

HOLD = """
import sys
from pathlib import Path
from ctxarc.preservation.writer import RecordWriter
with RecordWriter(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def held(archive: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the lock of an archive of ten turns until its input ends."""
    store(archive, lines(0, 10))
    command = [sys.executable, "-c", HOLD, str(archive)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_writer_that_waited_in_vain_is_refused_and_has_changed_nothing(
    archive: Path, held: subprocess.Popen[str]
) -> None:
    before = files_of(archive)
    for wait in (0.0, 0.05):
        with pytest.raises(ArchiveLocked) as caught:
            store(archive, lines(0, 20), lock_wait=wait)
        assert (caught.value.code, caught.value.facts["waited_seconds"]) == ("ARCHIVE_LOCKED", wait)
    with pytest.raises(ArchiveLocked):
        repack(archive, lock_wait=0)
    assert files_of(archive) == before
    assert held.poll() is None


def test_readers_never_wait(archive: Path, held: subprocess.Popen[str]) -> None:
    assert read(archive) == lines(0, 10)
    assert not findings(archive)
    assert held.poll() is None


def test_a_writer_waits_for_another_and_then_sees_what_it_did(archive: Path, held: subprocess.Popen[str]) -> None:
    waiting = Thread(target=store, args=(archive, lines(0, 20)), kwargs={"lock_wait": 60})
    waiting.start()
    time.sleep(0.2)
    assert waiting.is_alive()
    assert held.stdin
    held.stdin.close()
    waiting.join(60)
    assert read(archive) == lines(0, 20)


def test_a_lock_dies_with_its_process(archive: Path, held: subprocess.Popen[str]) -> None:
    held.send_signal(signal.SIGKILL)
    held.wait()
    store(archive, lines(0, 20), lock_wait=0)
    assert read(archive) == lines(0, 20)
    assert not findings(archive)


def test_a_refused_capture_gives_the_lock_up(archive: Path) -> None:
    store(archive, lines(0, 10))
    with pytest.raises(Refusal):
        store(archive, lines(5, 10))
    (archive / "HEAD").rename(archive / "HEAD.away")
    with pytest.raises(Refusal):
        store(archive, lines(0, 11))
    (archive / "HEAD.away").rename(archive / "HEAD")
    store(archive, lines(0, 11), lock_wait=0)


# ----------------------------------------------------------------------------------------------- making an archive


def test_a_race_to_make_an_archive_is_lost_by_name_and_the_winner_stays(archive: Path) -> None:
    with RecordWriter(archive) as loser:
        add(loser, b"a", turns_of(lines(0, 9)))
        store(archive, lines(50, 60), "b")
        won = files_of(archive)
        with pytest.raises(LostRace):
            loser.commit()
    assert files_of(archive) == won
    assert not list(archive.parent.glob(".ctxarc-new-*"))


def test_who_loses_the_race_to_make_an_archive_adds_to_the_winners(archive: Path) -> None:
    source = source_of(archive, "a", lines(0, 9))
    others = ["b"]

    def clock() -> int:
        if others:
            store(archive, lines(50, 60), others.pop())
        return NOON

    assert capture(archive, [source], clock=clock).transcripts[0].capture == 2
    assert (read(archive, "a#"), read(archive, "b#")) == (lines(0, 9), lines(50, 60))
    assert not findings(archive)


def test_processes_that_make_the_same_archive_at_once_all_have_their_transcripts_in_it(archive: Path) -> None:
    names = [f"t{number}" for number in range(6)]
    files: list[Source] = [source_of(archive, name, lines(0, 9) + line(ord(name[1]))) for name in names]
    command = [sys.executable, "-m", "ctxarc", "capture", str(archive), "-q"]
    running = [subprocess.Popen([*command, str(file.path)], stdout=subprocess.DEVNULL) for file in files]
    assert [process.wait(60) for process in running] == [0] * 6
    assert {name: read(archive, f"{name}#") for name in names} == {
        name: lines(0, 9) + line(ord(name[1])) for name in names
    }
    assert read_head(archive).captures == 6
    assert not findings(archive)
    assert not list(archive.parent.glob(".ctxarc-new-*"))


@pytest.mark.parametrize("instead", ["nothing", "an archive", "the same archive, copied"])
def test_an_archive_that_is_moved_under_its_writer_is_not_written_and_neither_is_another_in_its_place(
    archive: Path, instead: str
) -> None:
    store(archive, lines(0, 9))
    other, moved = archive.with_name("other.ctxa"), archive.with_name("moved.ctxa")
    store(other, lines(50, 70), "other")
    if instead.startswith("the same"):
        shutil.rmtree(other)
        shutil.copytree(archive, other)
    with RecordWriter(archive) as one:
        add(one, b"a", turns_of(lines(20, 30)))
        archive.rename(moved)
        if instead != "nothing":
            other.rename(archive)
        before = files_of(archive.parent)
        with pytest.raises(ArchiveMoved) as caught:
            one.commit()
        assert caught.value.facts["archive"] == str(archive)
    assert files_of(archive.parent) == before
    assert read(moved) == lines(0, 9)
    assert not findings(moved)
    assert archive.exists() == (instead != "nothing")


@pytest.mark.parametrize("instead", ["nothing", "an archive", "a file"])
def test_a_pack_that_was_compressed_while_the_archive_moved_is_not_written(
    archive: Path, instead: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(archive, lines(0, 9))
    other, moved = archive.with_name("other.ctxa"), archive.with_name("moved.ctxa")
    store(other, lines(50, 70), "other")
    before = files_of(other)
    encode = frames.encode

    def slow(turns: list[bytes], level: int) -> tuple[PackRow, bytes]:
        made = encode(turns, level)
        archive.rename(moved)
        if instead == "an archive":
            other.rename(archive)
        elif instead == "a file":
            archive.write_bytes(b"mine")
        return made

    with RecordWriter(archive) as one:
        add(one, b"a", turns_of(lines(20, 30)))
        monkeypatch.setattr(frames, "encode", slow)
        with pytest.raises(ArchiveMoved):
            one.commit()
    assert read(moved) == lines(0, 9)
    if instead == "an archive":
        assert files_of(archive) == before
        assert not findings(archive)


def test_an_empty_directory_becomes_the_archive(archive: Path) -> None:
    archive.mkdir()
    store(archive, lines(0, 9))
    assert read(archive) == lines(0, 9)


@pytest.mark.parametrize("what", ["file", "full directory"])
def test_what_is_no_archive_is_left_alone(archive: Path, what: str) -> None:
    if what == "file":
        archive.write_bytes(b"mine")
    else:
        archive.mkdir()
        (archive / "mine").write_bytes(b"mine")
    with pytest.raises(NotAnArchive):
        store(archive, lines(0, 9))
    assert (archive if what == "file" else archive / "mine").read_bytes() == b"mine"
    assert not list(archive.parent.glob(".ctxarc-new-*"))


def test_no_folder_to_make_an_archive_in_is_a_refusal_that_makes_none(tmp_path: Path) -> None:
    source = source_of(tmp_path / "x", "t", b"x\n")
    with pytest.raises(NoSuchArchive):
        capture(tmp_path / "not" / "there" / "a.ctxa", [source])
    assert not (tmp_path / "not").exists()


def test_an_archive_survives_the_loss_of_its_empty_folders_and_of_its_lock(archive: Path) -> None:
    """As git and zip lose them."""
    for name, data in (("a", b""), ("b", b""), ("c", b"x\n")):
        store(archive, data, name)
        for path in (archive / "record.lock", archive / "pack"):
            if path.is_file():
                path.unlink()
            elif not any(path.iterdir()):
                path.rmdir()
        assert not findings(archive)
        assert read(archive, f"{name}#") == data


# ------------------------------------------------------------------------------------------- readers beside a writer


@pytest.mark.usefixtures("small_packs")
def test_a_reader_goes_on_after_a_writer_merged_and_repacked(archive: Path) -> None:
    for end in (80, 90, 95, 97):
        store(archive, lines(0, end))
    with Record(archive) as reader:
        state = reader.state(0)
        packs = files_of(archive / "pack")
        for end in range(98, 400, 20):
            store(archive, lines(0, end))
        repack(archive, level=2)
        assert not set(packs) & set(files_of(archive / "pack"))
        assert b"".join(reader.stretches(state.runs)) == lines(0, 97)
        assert [bytes(reader.turn_bytes(turn.object)) for turn in reader.turns(state)] == turns_of(lines(0, 97))
        assert reader.state(0).turns == 97


@pytest.mark.usefixtures("small_packs")
def test_a_stream_that_was_begun_goes_on_after_every_merge(archive: Path) -> None:
    store(archive, lines(0, 300))
    found = b""
    level = 1
    for piece in cat(archive):
        found += piece
        repack(archive, level=level)
        level = 3 - level
    assert found == lines(0, 300)


@pytest.mark.usefixtures("small_packs")
def test_verify_finds_nothing_beside_a_writer_that_merges_and_one_that_repacks(archive: Path) -> None:
    for end in (200, 300, 330, 335):
        store(archive, lines(0, end))
    changes: list[Any] = [lambda: repack(archive, level=1), lambda: store(archive, lines(0, 340))]
    changes += [lambda: store(archive, lines(0, 400)), lambda: repack(archive, level=2)]
    told = 0

    def tell(_what: str, _done: int, _total: int | None) -> None:
        nonlocal told
        told += 1
        if changes and told % 2:
            changes.pop(0)()

    for _ in range(3):
        assert verify(archive, progress=tell).findings == ()
    assert not changes
    assert (verify(archive).turns, read(archive)) == (400, lines(0, 400))


def test_readers_in_other_processes_see_a_whole_state_at_every_moment(archive: Path) -> None:
    store(archive, lines(0, 1))
    stop = archive.with_name("stop")
    code = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from archives import findings, lines, read
archive, seen = Path(sys.argv[1]), set()
while not archive.with_name("stop").exists():
    data = read(archive)
    assert data == lines(0, data.count(b"\\n")), data
    found = findings(archive)
    assert not found, found
    seen.add(data.count(b"\\n"))
print(len(seen))
"""
    command = [sys.executable, "-c", code, str(archive), str(Path(__file__).parent)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        end = 1
        while process.poll() is None and end < 400:
            end += 1
            store(archive, lines(0, end), level=1)
        stop.touch()
        seen, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert int(seen) > 1


# ------------------------------------------------------------------------------------------------- untimely endings

CONTENT = {
    "make": lines(0, 80),
    "grow": lines(0, 80),
    "several": lines(0, 70),
    "rewrite": lines(0, 20) + lines(100, 140),
    "repack": lines(0, 65),
}


class Case:
    """An action on an archive: the state before it and the one behind it."""

    def __init__(self, top: Path, action: str) -> None:
        self.action = action
        self._top = top / "case"
        self._before = top / "before"
        self._top.mkdir()
        archive = self._top / "a.ctxa"
        if action != "make":
            prepare(archive)
        self.before = digest_of(archive) if archive.exists() else ""
        self._top.rename(self._before)
        do(action, self.copy())
        self.files, self.after = files_of(archive), digest_of(archive)

    def copy(self) -> Path:
        """The archive before the action, to do it on."""
        shutil.rmtree(self._top, ignore_errors=True)
        shutil.copytree(self._before, self._top)
        return self._top / "a.ctxa"

    def check(self, archive: Path) -> None:
        """The archive is as before or behind the action, and doing it (again) ends as if nothing had been."""
        if self.before or archive.exists():
            assert digest_of(archive) in {self.before, self.after}
            assert read(archive, "t#") in {lines(0, 65), CONTENT[self.action]}
            assert {code for code, _ in findings(archive)} <= {"LEFTOVER"}
        do(self.action, archive)
        assert digest_of(archive) == self.after
        left = {path for _, path in findings(archive)}
        files = files_of(archive)
        assert {name: data for name, data in files.items() if name not in left} == self.files
        assert all(name.startswith("pack/") for name in left)
        store(archive, b"more\n", "more")
        assert read(archive, "t#") == CONTENT[self.action]
        assert not findings(archive)


@pytest.fixture(params=ACTIONS)
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Case:
    return Case(tmp_path, request.param)


def test_a_writer_that_is_killed_at_any_call_leaves_the_archive_as_before_or_behind(case: Case) -> None:
    number = 0
    while True:
        archive = case.copy()
        status, said = in_child(die_at, number, case.action, archive)
        if status == 0:
            assert said == case.after
            break
        assert status == DIED
        case.check(archive)
        number += 1
    assert number > 10


def test_a_power_cut_at_any_call_leaves_the_archive_as_before_or_behind(case: Case) -> None:
    number = 0
    while True:
        archive = case.copy()
        status, said = in_child(lose_power_at, number, case.action, archive)
        if status == 0:
            assert said == case.after
            break
        assert status == DIED
        case.check(archive)
        number += 1
    assert number > 10


@pytest.mark.parametrize(
    ("fault", "names", "code"),
    [
        (errno.ENOSPC, ("write",), "NO_SPACE"),
        (errno.EIO, ("write", "fsync", "ftruncate"), "IO_FAILED"),
        (errno.EACCES, ("open", "rename", "replace"), "PERMISSION_DENIED"),
    ],
)
def test_a_fault_of_the_system_at_any_call_is_refused_by_name_and_the_archive_is_as_before_or_behind(
    case: Case, fault: int, names: tuple[str, ...], code: str
) -> None:
    number = 0
    while True:
        archive = case.copy()
        before = files_of(archive)
        there = {path.name for path in archive.parent.iterdir()}
        status, said = in_child(fail_at, number, fault, names, case.action, archive)
        assert status == 0
        outcome, calls = said
        if calls <= number:
            assert outcome == case.after
            break
        assert outcome == code, outcome
        if case.action == "make" and not archive.exists():
            assert {path.name for path in archive.parent.iterdir()} <= there | {"sources"}
        elif (archive / "HEAD").read_bytes() == before.get("HEAD"):
            assert files_of(archive) == before
        case.check(archive)
        number += 1
    assert number > 1
