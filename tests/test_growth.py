"""Growth: what a capture does with a source of which something is held already, row by row and at random."""

from __future__ import annotations

import io
import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from archives import Parts
from cases import NS_A_DAY, digest_of, held, refused, said, session, sha, sound, stored, tree, turns_of
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ctxarc.errors import HistoryRewritten, NameTaken, Refusal
from ctxarc.model import ByteRange, CaptureReport
from ctxarc.operations import growth
from ctxarc.operations.capture import CaptureOptions, capture
from ctxarc.operations.info import info
from ctxarc.operations.ls import captures, ls
from ctxarc.operations.reading import SourceReader
from ctxarc.operations.sources import Source, spooled
from ctxarc.operations.verify import verify

FOUR = session(4)
TURNS = turns_of(FOUR)
ENDS = list(accumulate(map(len, TURNS), initial=0))


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return tmp_path / "a.ctxa"


def refuses(archive: Path, data: bytes, **options: Any) -> Refusal:  # noqa: ANN401 - options differ
    """The refusal of a source; the archive is as it was."""
    before = tree(archive)
    refusal = refused(lambda: stored(archive, data, **options))
    after = tree(archive)
    assert after == before
    return refusal


# ------------------------------------------------------------------------------------------------- rows of the table


def test_the_same_source_changes_nothing(archive: Path) -> None:
    first = stored(archive, FOUR)
    before = tree(archive)
    again = stored(archive, FOUR)
    assert tree(archive) == before
    assert (again.unchanged, again.new_turns, again.turns, again.capture) == (True, 0, 4, first.capture)
    assert again.source_sha256 == first.source_sha256 == sha(FOUR)


def test_of_a_source_that_grew_only_the_new_turns_are_stored(archive: Path) -> None:
    stored(archive, FOUR)
    more = FOUR + said("a fifth") + said("a sixth")
    report = stored(archive, more)
    assert (report.capture, report.turns, report.new_turns, report.unchanged) == (2, 6, 2, False)
    assert [(row.kept_turns, row.new_turns) for row in captures(archive)] == [(0, 4), (4, 2)]
    assert held(archive) == more
    assert held(archive, at=1) == FOUR
    sound(archive)


@pytest.mark.parametrize("rest", [b"\n", b"er words", b"er words\n", b"\nand more\n", b"\nand more", b"\n\n"])
def test_a_longer_line_takes_the_number_of_the_unfinished_one(rest: bytes, archive: Path) -> None:
    torn = FOUR + b'{"type":"assistant","mess'
    assert stored(archive, torn).torn == 1
    report = stored(archive, torn + rest)
    assert report.turns == len(turns_of(torn + rest))
    assert report.new_turns == report.turns - 4
    assert held(archive, "4") == turns_of(torn + rest)[4]
    assert held(archive, "4", at=1) == b'{"type":"assistant","mess'
    assert held(archive, at=1) == torn
    assert held(archive) == torn + rest
    sound(archive)


def test_an_unfinished_line_may_grow_again_and_again(archive: Path) -> None:
    line = said("slowly written, character by character")
    states = [FOUR + line[:end] for end in (1, 2, 10, len(line) - 1, len(line))]
    for state in states:
        stored(archive, state)
    for number, state in enumerate(states, 1):
        assert held(archive, at=number) == state
    assert {row.kept_turns for row in captures(archive)} == {0, 4}
    sound(archive)


def test_an_empty_source_grows_into_any(archive: Path) -> None:
    report = stored(archive, b"")
    assert (report.turns, report.source_bytes, report.complete, report.source_sha256) == (0, 0, True, sha(b""))
    assert stored(archive, b"").unchanged
    assert stored(archive, FOUR).new_turns == 4
    assert held(archive, at=1) == b""
    sound(archive)


def test_what_a_partial_capture_left_out_is_filled_in(archive: Path) -> None:
    report = stored(archive, FOUR, max_bytes=len(TURNS[3]), allow_truncation=True)
    assert (report.complete, report.omitted, report.turns, report.new_turns) == (False, (ByteRange(0, ENDS[3]),), 4, 1)
    assert held(archive) == TURNS[3]
    report = stored(archive, FOUR)
    assert (report.complete, report.omitted, report.turns, report.unchanged) == (True, (), 4, False)
    assert held(archive) == FOUR
    assert held(archive, at=1) == TURNS[3]
    assert stored(archive, FOUR).unchanged
    sound(archive)


def test_filling_in_stores_no_turn_twice(archive: Path) -> None:
    stored(archive, FOUR, max_bytes=ENDS[4] - ENDS[1], allow_truncation=True)
    report = stored(archive, FOUR + said("a fifth"))
    assert (report.complete, report.turns) == (True, 5)
    assert info(archive).objects == 5
    assert held(archive) == FOUR + said("a fifth")
    sound(archive)


def test_filling_in_counts_as_new_what_was_missing(archive: Path) -> None:
    stored(archive, FOUR, max_bytes=ENDS[4] - ENDS[1], allow_truncation=True)
    assert stored(archive, FOUR).new_turns == 1


def test_truncated_again_is_growth_and_the_omission_stays(archive: Path) -> None:
    stored(archive, FOUR, max_bytes=len(TURNS[3]), allow_truncation=True)
    fifth = said("a fifth")
    report = stored(archive, FOUR + fifth, max_bytes=len(TURNS[3]) + len(fifth), allow_truncation=True)
    assert (report.turns, report.new_turns, report.complete) == (5, 1, False)
    assert report.omitted == (ByteRange(0, ENDS[3]),)
    assert held(archive) == TURNS[3] + fifth
    assert held(archive, "4") == fifth
    again = stored(archive, FOUR + fifth, max_bytes=300, allow_truncation=True)
    assert (again.unchanged, again.complete, again.omitted) == (True, False, (ByteRange(0, ENDS[3]),))
    sound(archive)


def test_more_can_be_left_out_of_a_source_that_grew(archive: Path) -> None:
    stored(archive, FOUR)
    more = FOUR + session(6, "pears")
    last = turns_of(more)[-1]
    report = stored(archive, more, max_bytes=len(last), allow_truncation=True)
    assert (report.turns, report.new_turns) == (10, 1)
    assert report.omitted == (ByteRange(len(FOUR), len(more) - len(last)),)
    assert held(archive) == FOUR + last
    assert held(archive, "9") == last
    assert stored(archive, more).complete
    assert held(archive) == more
    sound(archive)


def test_another_conversation_of_that_name_is_refused(archive: Path) -> None:
    stored(archive, FOUR)
    refusal = refuses(archive, session(4, "pears"))
    assert (refusal.code, refusal.status) == ("NAME_TAKEN", 3)
    assert "--name" in refusal.hint
    assert refusal.facts["turn"] == 0


@pytest.mark.parametrize("turn", [1, 2, 3])
def test_an_edited_history_is_refused_with_its_place(turn: int, archive: Path) -> None:
    stored(archive, FOUR)
    at = ENDS[turn] + 30
    refusal = refuses(archive, FOUR[:at] + b"#" + FOUR[at + 1 :])
    assert (refusal.code, refusal.status) == ("HISTORY_REWRITTEN", 3)
    assert (refusal.facts["turn"], refusal.facts["byte"]) == (turn, at)
    assert "--as-new-history" in refusal.hint
    assert held(archive) == FOUR


def test_an_edit_beside_growth_is_refused_all_the_same(archive: Path) -> None:
    stored(archive, FOUR)
    at = ENDS[2]
    refusal = refuses(archive, FOUR[:at] + b"x" + FOUR[at + 1 :] + said("a fifth"))
    assert (refusal.code, refusal.facts["turn"], refusal.facts["byte"]) == ("HISTORY_REWRITTEN", 2, at)


@pytest.mark.parametrize("length", [ENDS[1], ENDS[2], ENDS[3], ENDS[1] + 1, ENDS[3] + 20, ENDS[4] - 1])
def test_a_source_cut_short_is_refused_with_where_it_ends(length: int, archive: Path) -> None:
    stored(archive, FOUR)
    refusal = refuses(archive, FOUR[:length])
    assert (refusal.code, refusal.facts["byte"]) == ("HISTORY_REWRITTEN", length)
    assert refusal.facts["turn"] == max(turn for turn in range(4) if ENDS[turn] <= length)


@pytest.mark.parametrize("length", [0, 1, ENDS[1] - 1])
def test_a_source_that_is_empty_or_cut_short_inside_turn_0_is_a_rewritten_history(length: int, archive: Path) -> None:
    stored(archive, FOUR)
    refusal = refuses(archive, FOUR[:length])
    assert (refusal.code, refusal.facts["turn"], refusal.facts["byte"]) == ("HISTORY_REWRITTEN", 0, length)


@pytest.mark.parametrize("at", [0, 5, ENDS[1] - 1])
def test_a_difference_anywhere_in_turn_0_is_another_conversation(at: int, archive: Path) -> None:
    stored(archive, FOUR)
    refusal = refuses(archive, FOUR[:at] + b"#" + FOUR[at + 1 :])
    assert (refusal.code, refusal.facts["byte"]) == ("NAME_TAKEN", at)


def test_an_unfinished_line_that_goes_on_otherwise_is_refused(archive: Path) -> None:
    stored(archive, FOUR + b'{"a":1')
    refusal = refuses(archive, FOUR + b'{"b":1}\n')
    assert (refusal.code, refusal.facts["turn"], refusal.facts["byte"]) == ("HISTORY_REWRITTEN", 4, len(FOUR) + 2)
    refusal = refuses(archive, FOUR + b'{"a"')
    assert (refusal.code, refusal.facts["byte"]) == ("HISTORY_REWRITTEN", len(FOUR) + 4)


def test_a_change_in_what_was_left_out_is_refused(archive: Path) -> None:
    stored(archive, FOUR, max_bytes=len(TURNS[3]), allow_truncation=True)
    refusal = refuses(archive, b"#" + FOUR[1:])
    assert refusal.code == "HISTORY_REWRITTEN"
    refusal = refuses(archive, b"#" + FOUR[1:], max_bytes=len(TURNS[3]), allow_truncation=True)
    assert refusal.code == "HISTORY_REWRITTEN"


def test_a_source_cut_short_inside_what_was_left_out_is_refused_with_where_it_ends(archive: Path) -> None:
    stored(archive, FOUR, max_bytes=len(TURNS[3]), allow_truncation=True)
    refusal = refuses(archive, FOUR[: ENDS[1]])
    assert (refusal.code, refusal.facts["byte"]) == ("HISTORY_REWRITTEN", ENDS[1])
    assert refusal.facts["turn"] in {0, 1}


# ------------------------------------------------------------------------------------------------------ new histories


def test_a_new_history_keeps_the_turns_that_are_the_same(archive: Path) -> None:
    stored(archive, FOUR)
    other = TURNS[0] + TURNS[1] + session(3, "pears")
    report = stored(archive, other, as_new_history=True)
    assert (report.turns, report.new_turns) == (5, 3)
    assert [(row.kept_turns, row.new_turns) for row in captures(archive)] == [(0, 4), (2, 3)]
    assert held(archive) == other
    assert held(archive, at=1) == FOUR
    sound(archive)


@pytest.mark.parametrize("length", [0, 10, ENDS[1], ENDS[2], ENDS[2] + 5])
def test_a_source_cut_short_can_be_a_new_history(length: int, archive: Path) -> None:
    stored(archive, FOUR)
    report = stored(archive, FOUR[:length], as_new_history=True)
    assert (report.turns, report.source_sha256) == (len(turns_of(FOUR[:length])), sha(FOUR[:length]))
    assert held(archive) == FOUR[:length]
    assert held(archive, at=1) == FOUR
    assert stored(archive, FOUR).turns == 4
    sound(archive)


def test_a_new_history_overrides_a_name_that_is_taken(archive: Path) -> None:
    stored(archive, FOUR)
    pears = session(4, "pears")
    assert stored(archive, pears, as_new_history=True).new_turns == 4
    assert (held(archive), held(archive, at=1)) == (pears, FOUR)
    sound(archive)


def test_a_new_history_is_no_new_history_where_the_source_only_grew(archive: Path) -> None:
    stored(archive, FOUR, as_new_history=True)
    report = stored(archive, FOUR + said("a fifth"), as_new_history=True)
    assert (report.turns, report.new_turns) == (5, 1)
    assert stored(archive, FOUR + said("a fifth"), as_new_history=True).unchanged


def test_a_new_history_of_a_partial_capture_is_whole(archive: Path) -> None:
    stored(archive, FOUR, max_bytes=len(TURNS[3]), allow_truncation=True)
    other = FOUR[: ENDS[3]] + session(2, "pears")
    report = stored(archive, other, as_new_history=True)
    assert (report.complete, report.turns) == (True, 5)
    assert (held(archive), held(archive, at=1)) == (other, TURNS[3])
    sound(archive)


def test_turns_of_an_old_history_answer_to_their_citation(archive: Path) -> None:
    stored(archive, FOUR)
    stored(archive, session(4, "pears"), as_new_history=True)
    assert held(archive, f"ctxa:{sha(TURNS[2])}") == TURNS[2]


# -------------------------------------------------------------------------------------- sources that are not read again

WRITTEN = 1_700_000_000 * 10**9


@dataclass
class Still:
    """A file whose bytes change while its size and time stay."""

    path: Path
    archive: Path
    captured_ns: int = WRITTEN + NS_A_DAY

    def put(self, data: bytes, mtime_ns: int = WRITTEN) -> None:
        self.path.write_bytes(data)
        os.utime(self.path, ns=(mtime_ns, mtime_ns))

    def capture(self, name: str = "s", **options: bool) -> CaptureReport:
        made = CaptureOptions(**options)
        result = capture(self.archive, [Source(name, self.path)], made, clock=lambda: self.captured_ns)
        return result.transcripts[0]


@pytest.fixture
def still(tmp_path: Path) -> Still:
    return Still(tmp_path / "s.jsonl", tmp_path / "a.ctxa")


CHANGED = FOUR[: ENDS[2]] + b"#" + FOUR[ENDS[2] + 1 :]


def test_a_source_of_the_same_size_and_time_is_not_read_again(still: Still) -> None:
    still.put(FOUR)
    still.capture()
    still.put(CHANGED)
    report = still.capture()
    assert (report.unchanged, report.turns, report.source_sha256) == (True, 4, sha(FOUR))


def test_reread_reads_it_again(still: Still) -> None:
    still.put(FOUR)
    still.capture()
    still.put(CHANGED)
    assert refused(lambda: still.capture(reread=True)).code == "HISTORY_REWRITTEN"
    still.put(FOUR)
    assert still.capture(reread=True).unchanged


@pytest.mark.parametrize("later_ns", [-NS_A_DAY, 0, 1_000_000, 1_000_000_000])
def test_a_source_written_about_when_it_was_captured_is_read_again(later_ns: int, still: Still) -> None:
    """It could have been written once more within the same tick of the file system's clock."""
    still.captured_ns = WRITTEN + later_ns
    still.put(FOUR)
    still.capture()
    still.put(CHANGED)
    assert refused(still.capture).code == "HISTORY_REWRITTEN"


def test_a_source_of_another_time_or_size_is_read_again(still: Still) -> None:
    still.put(FOUR)
    still.capture()
    still.put(CHANGED, WRITTEN + 1)
    assert refused(still.capture).code == "HISTORY_REWRITTEN"
    still.put(FOUR + said("more"))
    assert still.capture().new_turns == 1


def test_another_file_of_the_same_size_and_time_is_read(still: Still, tmp_path: Path) -> None:
    still.put(FOUR)
    still.capture()
    still.path = tmp_path / "other.jsonl"
    still.put(CHANGED)
    assert refused(still.capture).code == "HISTORY_REWRITTEN"


def test_a_source_that_was_captured_in_part_is_read_again(still: Still) -> None:
    still.put(FOUR)
    options = CaptureOptions(max_bytes=len(TURNS[3]), allow_truncation=True)
    capture(still.archive, [Source("s", still.path)], options, clock=lambda: still.captured_ns)
    assert still.capture().complete


def test_a_stream_is_always_read(archive: Path) -> None:
    for data, code in ((FOUR, ""), (CHANGED, "HISTORY_REWRITTEN")):
        source = spooled(io.BytesIO(data), "s")
        assert source.spool is not None
        with closing(source.spool):
            if code:
                assert refused(lambda: capture(archive, [source])).code == code  # noqa: B023 - called at once
            else:
                capture(archive, [source])


# ----------------------------------------------------------------------------------- sources that change while read

LARGE = b"".join(said(f"remark {n} {'word ' * 40}", second=n % 3000) for n in range(8000))
"""A source that takes several reads."""


def between_reads(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None], times: int = 1) -> None:
    """Do something to the source between its first read and the second, so many times."""
    pieces = SourceReader.pieces
    left = [times]

    def watched(self: SourceReader, start: int, end: int) -> Iterator[bytes]:
        for number, piece in enumerate(pieces(self, start, end)):
            if number == 1 and left[0]:
                left[0] -= 1
                act()
            yield piece

    monkeypatch.setattr(SourceReader, "pieces", watched)


@dataclass
class Changing:
    """A file of which a part is replaced, each time by something else."""

    path: Path
    count: int = 0
    at: list[int] = field(default_factory=lambda: [100])

    def edit(self) -> None:
        self.count += 1
        with self.path.open("r+b") as file:
            for at in self.at:
                file.seek(at)
                file.write(b"%06d" % self.count)

    def append(self) -> None:
        self.count += 1
        with self.path.open("ab") as file:
            file.write(said(f"appended {self.count}"))

    def cut(self) -> None:
        self.count += 1
        os.truncate(self.path, len(LARGE) - 1000 * self.count)

    def replace(self) -> None:
        other = self.path.with_suffix(".new")
        other.write_bytes(LARGE.replace(b"remark", b"saying"))
        other.replace(self.path)


@pytest.fixture
def changing(tmp_path: Path) -> Changing:
    path = tmp_path / "s.jsonl"
    path.write_bytes(LARGE)
    os.utime(path, (1e9, 1e9))
    return Changing(path)


def test_what_is_appended_meanwhile_is_left_for_the_next_capture(
    changing: Changing, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    between_reads(monkeypatch, changing.append, times=100)
    capture(archive, [Source("s", changing.path)])
    assert held(archive) == LARGE
    capture(archive, [Source("s", changing.path)])
    whole = changing.path.read_bytes()
    assert changing.count > 1
    assert whole.startswith(held(archive))
    assert held(archive).startswith(LARGE + said("appended 1"))
    sound(archive)


@pytest.mark.parametrize("place", ["behind the read", "ahead of the read", "both"])
def test_an_edit_meanwhile_is_captured_wholly(
    place: str, changing: Changing, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changing.at = {"behind the read": [50], "ahead of the read": [len(LARGE) - 50], "both": [50, len(LARGE) - 50]}[
        place
    ]
    between_reads(monkeypatch, changing.edit)
    capture(archive, [Source("s", changing.path)])
    assert changing.count == 1
    assert held(archive) == changing.path.read_bytes() != LARGE
    sound(archive)


def test_a_cut_meanwhile_is_captured_as_it_is_then(
    changing: Changing, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    between_reads(monkeypatch, changing.cut)
    capture(archive, [Source("s", changing.path)])
    assert held(archive) == LARGE[:-1000]
    sound(archive)


def test_a_file_put_in_its_place_meanwhile_is_captured_or_the_one_before_never_both(
    changing: Changing, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    between_reads(monkeypatch, changing.replace)
    capture(archive, [Source("s", changing.path)])
    assert held(archive) in {LARGE, LARGE.replace(b"remark", b"saying")}


@pytest.mark.parametrize("how", ["edit", "cut"])
def test_a_source_that_never_stands_still_is_refused(
    how: str, changing: Changing, archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    between_reads(monkeypatch, getattr(changing, how), times=100)
    refusal = refused(lambda: capture(archive, [Source("s", changing.path)]))
    assert (refusal.code, refusal.status) == ("SOURCE_CHANGED", 3)
    assert changing.count > 1
    assert [path.name for path in tmp_path.iterdir()] == ["s.jsonl"]


@pytest.mark.parametrize("at", [100, len(LARGE) - 100])
def test_a_source_that_changes_in_what_is_held_is_never_taken_for_growth(
    at: int, changing: Changing, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    capture(archive, [Source("s", changing.path)])
    before = digest_of(archive)
    changing.append()
    changing.at = [at]
    between_reads(monkeypatch, changing.edit)
    refusal = refused(lambda: capture(archive, [Source("s", changing.path)], CaptureOptions(reread=True)))
    assert refusal.code in {"HISTORY_REWRITTEN", "NAME_TAKEN", "SOURCE_CHANGED"}
    assert digest_of(archive) == before
    assert held(archive) == LARGE
    sound(archive)


def test_a_source_that_changes_is_never_said_to_be_unchanged(
    changing: Changing, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    capture(archive, [Source("s", changing.path)])
    changing.at = [len(LARGE) - 100]
    between_reads(monkeypatch, changing.edit)
    refusal = refused(lambda: capture(archive, [Source("s", changing.path)], CaptureOptions(reread=True)))
    assert refusal.code in {"HISTORY_REWRITTEN", "SOURCE_CHANGED"}


def test_a_source_that_changes_takes_none_of_the_others_with_it(tmp_path: Path, archive: Path) -> None:
    """It is longer than a pack, so that packs are written before its change shows."""
    sources = [Source(name, tmp_path / f"{name}.jsonl") for name in "abc"]
    data = {"a": session(30), "c": session(30, "cherries")}
    for name, content in data.items():
        (tmp_path / f"{name}.jsonl").write_bytes(content)
    long = Changing(tmp_path / "b.jsonl")
    long.path.write_bytes(LARGE * 9)
    os.utime(long.path, (1e9, 1e9))
    with pytest.MonkeyPatch.context() as patch:
        between_reads(patch, long.edit, times=100)
        result = capture(archive, sources)
    assert [(each.transcript, each.refusal["code"]) for each in result.refused] == [("b", "SOURCE_CHANGED")]
    assert [report.transcript for report in result.transcripts] == ["a", "c"]
    assert {name: held(archive, f"{name}#") for name in data} == data
    sound(archive)
    assert [row.transcript for row in ls(archive)] == ["a", "c"]


def test_a_source_that_grows_all_the_time_is_captured_to_a_consistent_point(tmp_path: Path, archive: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(LARGE)
    done = threading.Event()

    def grow() -> None:
        number = 0
        while not done.is_set():
            number += 1
            with path.open("ab") as file:
                file.write(said(f"number {number}")[: 150 + number % 40])

    writer = threading.Thread(target=grow)
    writer.start()
    try:
        states = []
        for _ in range(5):
            capture(archive, [Source("s", path)])
            states.append(held(archive))
    finally:
        done.set()
        writer.join()
    whole = path.read_bytes()
    assert all(whole.startswith(state) and state.startswith(LARGE) for state in states)
    assert states == sorted(states, key=len)
    sound(archive)


# ---------------------------------------------------------------------------------------------------------- at random


@dataclass
class Model:
    """What the archive should hold of one transcript: turns of its last source, and which of them are held."""

    turns: list[tuple[bytes, bool]] | None = None

    @property
    def source(self) -> bytes:
        return b"".join(turn for turn, _ in self.turns or [])

    @property
    def held(self) -> bytes:
        return b"".join(turn for turn, kept in self.turns or [] if kept)

    @property
    def partial(self) -> bool:
        return not all(kept for _, kept in self.turns or [])

    @property
    def omitted(self) -> set[int]:
        """Every byte of the source that is not held."""
        found: set[int] = set()
        at = 0
        for turn, kept in self.turns or []:
            found |= set() if kept else set(range(at, at + len(turn)))
            at += len(turn)
        return found

    def first_difference(self, data: bytes) -> tuple[int, int]:
        """The turn from which on the source differs, as far as what is held shows, and the byte it begins at."""
        at = 0
        for number, (turn, kept) in enumerate(self.turns or []):
            if kept and data[at : at + len(turn)] != turn:
                return number, at
            at += len(turn)
        at = 0
        for number, (turn, kept) in enumerate(self.turns or []):
            if not kept:
                return number, at
            at += len(turn)
        raise AssertionError("nothing differs")

    def after(self, data: bytes, options: CaptureOptions) -> Model | str:
        """The model after a capture, or the code of the refusal."""
        keep, start = 0, 0
        if self.turns is not None and data.startswith(self.source):
            fills = options.max_bytes is None or len(data) <= options.max_bytes
            if not (self.partial and fills):
                if data == self.source:
                    return self
                keep, start = len(self.turns), len(self.source)
                if self.turns and not self.turns[-1][0].endswith(b"\n"):
                    keep, start = keep - 1, start - len(self.turns[-1][0])
        elif self.turns is not None:
            keep, start = self.first_difference(data)
            if not options.as_new_history:
                return self.refusal(data)
            if not all(kept for _, kept in self.turns[:keep]):
                keep, start = 0, 0
        return self.stored(data, keep, start, options)

    def stored(self, data: bytes, keep: int, start: int, options: CaptureOptions) -> Model | str:
        new = turns_of(data[start:])
        left_out = 0
        most = options.max_bytes
        if most is not None and len(data) - start > most:
            if not options.allow_truncation:
                return "NOT_LOSSLESS"
            while sum(map(len, new[left_out:])) > most:
                left_out += 1
            if left_out == len(new):
                return "NOT_LOSSLESS"
        return Model([*(self.turns or [])[:keep], *((turn, index >= left_out) for index, turn in enumerate(new))])

    def refusal(self, data: bytes) -> str:
        turn, _ = self.first_difference(data)
        first, kept = (self.turns or [(b"", True)])[0]
        cut_short = first.startswith(data[: len(first)]) and len(data) < len(first)
        return "NAME_TAKEN" if turn == 0 and kept and not cut_short else "HISTORY_REWRITTEN"


PIECES = st.sampled_from(
    [b"\n", b"a", b"bc\n", b"\r\n", b'{"x":1}\n', b'{"x":', b"\xff\n", b"\n\n", b"ab\nab\nab\n", b"0123456789\n"]
)
BYTES = st.lists(PIECES, max_size=4).map(b"".join)
PLACES = st.integers(0, 60)
EDITS: st.SearchStrategy[Callable[[bytes], bytes]] = st.one_of(
    st.just(lambda data: data),
    BYTES.map(lambda more: lambda data: data + more),
    BYTES.map(lambda more: lambda data: data + more),
    PLACES.map(lambda at: lambda data: data[: max(0, len(data) - at)]),
    PLACES.map(lambda at: lambda data: data[:at]),
    st.tuples(PLACES, BYTES).map(lambda edit: lambda data: data[: edit[0]] + edit[1] + data[edit[0] :]),
    st.tuples(PLACES, PLACES).map(lambda cut: lambda data: data[: min(cut)] + data[max(cut) :]),
    BYTES.map(lambda new: lambda _: new),
)
OPTIONS = st.builds(
    CaptureOptions,
    max_bytes=st.one_of(st.none(), st.none(), st.integers(0, 40)),
    allow_truncation=st.sampled_from([True, True, False]),
    as_new_history=st.booleans(),
    reread=st.booleans(),
)


def capture_bytes(archive: Path, path: Path, data: bytes, options: CaptureOptions) -> CaptureReport | str:
    path.write_bytes(data)
    try:
        return capture(archive, [Source("s", path)], options).transcripts[0]
    except Refusal as refusal:
        return refusal.code


def as_modelled(archive: Path, report: CaptureReport, model: Model) -> None:
    """What a capture reports, and what can be read back, against the model."""
    assert report.turns == len(model.turns or [])
    assert (report.source_bytes, report.source_sha256) == (len(model.source), sha(model.source))
    assert report.complete != model.partial
    assert {byte for gap in report.omitted for byte in range(*gap)} == model.omitted
    assert sum(end - start for start, end in report.omitted) == len(model.omitted)
    assert held(archive) == model.held
    for number, (turn, kept) in enumerate(model.turns or []):
        if kept:
            assert held(archive, f"s#{number}") == turn
        else:
            assert refused(lambda at=number: held(archive, f"{at}")).code == "NO_SUCH_TURN"  # type: ignore[misc]
    (row,) = ls(archive)
    assert (row.bytes, row.turns, row.complete) == (len(model.held), report.turns, report.complete)


@settings(max_examples=120, deadline=None)
@given(st.lists(st.tuples(EDITS, OPTIONS), min_size=1, max_size=8))
def test_any_history_of_a_source_is_held_as_the_table_says(
    steps: list[tuple[Callable[[bytes], bytes], CaptureOptions]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        archive, path = Path(folder) / "a.ctxa", Path(folder) / "s.jsonl"
        model, data = Model(), b""
        states: list[bytes] = []
        digests: list[str] = []
        for edit, options in steps:
            data = edit(data)
            expected = model.after(data, options)
            report = capture_bytes(archive, path, data, options)
            if isinstance(expected, str) or isinstance(report, str):
                assert report == expected
                if not states:
                    assert not archive.exists()
                    continue
            else:
                assert report.unchanged == (expected is model)
                if expected is not model:
                    states.append(expected.held)
                assert report.capture == len(states)
                model = expected
                as_modelled(archive, report, model)
            result = verify(archive)
            assert result.findings == ()
            digests += [result.archive_digest] if len(digests) < len(states) else []
            assert result.archive_digest == digests[-1]
            assert [held(archive, at=number) for number in range(1, len(states) + 1)] == states
        for digest in digests:
            assert verify(archive, quick=True, extends=digest).ok


@settings(max_examples=60, deadline=None)
@given(BYTES, EDITS)
@example(b"", lambda _: b"a\n")
@example(b"a", lambda _: b"")
def test_a_refusal_names_the_first_byte_that_differs(before: bytes, edit: Callable[[bytes], bytes]) -> None:
    after = edit(before)
    if after.startswith(before):
        return
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "a.ctxa"
        stored(archive, before)
        refusal = refused(lambda: stored(archive, after))
    assert isinstance(refusal, (HistoryRewritten, NameTaken))
    differs = next(
        (at for at, (one, other) in enumerate(zip(before, after, strict=False)) if one != other),
        min(len(before), len(after)),
    )
    turn = before[:differs].count(b"\n")
    assert (refusal.facts["turn"], refusal.facts["byte"]) == (turn, differs)
    assert isinstance(refusal, NameTaken) == (turn == 0 and differs < len(after))


@settings(max_examples=40, deadline=None)
@given(st.lists(BYTES, min_size=1, max_size=6))
def test_a_source_captured_as_it_grew_has_the_digest_of_those_steps_anywhere(parts: list[bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        digests = set()
        for name in ("one", "two"):
            archive = Path(folder) / name / "a.ctxa"
            for length in range(1, len(parts) + 1):
                stored(archive, b"".join(parts[:length]))
            digests.add(digest_of(archive))
        assert len(digests) == 1


@pytest.mark.parametrize("left", [b"", FOUR[: ENDS[1]], b"x" * ENDS[2] + said("other")], ids=["empty", "cut", "edited"])
@pytest.mark.parametrize("first", [FOUR[: ENDS[2]], FOUR[: ENDS[2]] + said("other")], ids=["cut short", "rewritten"])
def test_a_rewritten_source_that_changes_behind_the_comparison_is_never_stored_under_another_s_digest(
    first: bytes, left: bytes, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(archive, FOUR)
    path = archive.parent / "sources" / "s.jsonl"
    path.write_bytes(first)
    compare = growth.first_difference

    def changing(*args: Any) -> tuple[int, int, int]:  # noqa: ANN401 - as they are
        place = compare(*args)
        path.write_bytes(left)
        monkeypatch.setattr(growth, "first_difference", compare)
        return place

    monkeypatch.setattr(growth, "first_difference", changing)
    result = capture(archive, [Source("s", path)], CaptureOptions(as_new_history=True))
    sound(archive)
    assert held(archive) in {first, left}
    assert result.transcripts[0].source_sha256 == sha(held(archive))


def test_a_forged_source_shorter_than_its_last_turn_is_damage_and_no_fault_of_the_source(archive: Path) -> None:
    stored(archive, FOUR[:-1])
    parts = Parts(archive)
    parts.change(0, source_bytes=10)
    parts.seal()
    refusal = refused(lambda: stored(archive, FOUR + said("more")))
    assert (refusal.code, refusal.status) == ("INDEX_MISMATCH", 4)
