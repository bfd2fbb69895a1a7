"""Real transcripts of many clients, where they are at hand: lossless, small, growing as they really grew."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from cases import digest_of, drain, held, one, refused, run, sha, sound, stored, turns_of

from ctxarc.auxiliary.projection import views
from ctxarc.auxiliary.segments import SCHEMES
from ctxarc.auxiliary.segments.index import is_partition
from ctxarc.operations.capture import CaptureOptions, capture
from ctxarc.operations.extract import extract
from ctxarc.operations.find import FindOptions, find
from ctxarc.operations.info import info
from ctxarc.operations.log import log
from ctxarc.operations.ls import captures, ls
from ctxarc.operations.repack import repack
from ctxarc.operations.segment import segment
from ctxarc.operations.show import show
from ctxarc.operations.sources import Source, discover

CORPUS = Path(__file__).resolve().parent.parent.parent / "shared" / "corpus"
pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason=f"no real transcripts at {CORPUS}")
SOURCES = sorted(CORPUS.rglob("*.jsonl"))
LARGE = CORPUS / "claude-code-16MiB.jsonl"
FAMILIES = ("growing", "codex-growing", "glued")


def saves(family: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted((CORPUS / family).glob("*.jsonl"))]


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return tmp_path / "a.ctxa"


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.relative_to(CORPUS).as_posix())
def test_every_file_comes_back_byte_for_byte(source: Path, archive: Path) -> None:
    data = source.read_bytes()
    (report,) = capture(archive, [Source("s", source)]).transcripts
    turns = turns_of(data)
    assert (report.turns, report.source_bytes, report.source_sha256) == (len(turns), len(data), sha(data))
    assert report.complete
    assert held(archive) == data
    for number in {0, len(turns) // 2, len(turns) - 1}:
        assert held(archive, str(number)) == turns[number]
    sound(archive)


@pytest.mark.parametrize(
    "source", [path for path in SOURCES if path.parent.name == "other"], ids=lambda path: path.name
)
def test_every_client_s_turns_can_be_listed_shown_and_searched(source: Path, archive: Path) -> None:
    capture(archive, [Source("s", source)])
    turns = turns_of(source.read_bytes())
    rows = list(log(archive))
    assert [(row.turn, row.bytes) for row in rows] == [(number, len(turn)) for number, turn in enumerate(turns)]
    assert all(len(row.text) <= 200 for row in rows)
    drain(show(archive, ["0", str(len(turns) - 1)]))
    drain(ls(archive))
    for hit in find(archive, FindOptions(patterns=("the",), as_read=True, max_count=20)):
        assert held(archive, hit.cite) == b"the"


def test_all_of_them_live_in_one_archive_and_leave_it_as_files(archive: Path, tmp_path: Path) -> None:
    sources = discover([str(CORPUS / "fleet"), str(CORPUS / "other")])
    result = capture(archive, sources, CaptureOptions(level=3))
    assert result.refused == ()
    extract(archive, [], tmp_path / "out")
    back = {path.read_bytes() for path in (tmp_path / "out").rglob("*.jsonl")}
    assert back == {path.read_bytes() for path in SOURCES if path.parent.name in {"fleet", "other"}}
    sound(archive)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_session_captured_as_it_grew_is_held_in_every_state(family: str, archive: Path) -> None:
    states = saves(family)
    for number, state in enumerate(states, 1):
        report = stored(archive, state, name="session")
        assert (report.capture, report.unchanged) == (number, False)
        assert stored(archive, state, name="session", reread=True).unchanged
    assert [held(archive, at=number) for number in range(1, len(states) + 1)] == states
    kept = [row.kept_turns for row in captures(archive)]
    assert kept == sorted(kept)
    sound(archive)


@pytest.mark.parametrize("family", FAMILIES)
def test_growth_costs_little_more_than_one_capture(family: str, archive: Path, tmp_path: Path) -> None:
    states = saves(family)
    for state in states:
        stored(archive, state)
    stored(tmp_path / "once.ctxa", states[-1])
    grown, once = info(archive), info(tmp_path / "once.ctxa")
    assert grown.archive_bytes < 1.5 * once.archive_bytes
    assert grown.objects <= once.objects + len(states)


def test_a_session_that_was_edited_is_refused_where_it_was(archive: Path) -> None:
    states = saves("diverging")
    for state in states[:3]:
        stored(archive, state)
    before = digest_of(archive)
    refusal = refused(lambda: stored(archive, states[3]))
    differs = next(at for at, (one_, other) in enumerate(zip(states[2], states[3], strict=False)) if one_ != other)
    assert refusal.code == "HISTORY_REWRITTEN"
    assert (refusal.facts["turn"], refusal.facts["byte"]) == (states[2][:differs].count(b"\n"), differs)
    assert digest_of(archive) == before
    stored(archive, states[3], as_new_history=True)
    assert [held(archive, at=number) for number in range(1, 5)] == states
    sound(archive)


def test_glued_lines_are_counted_and_kept(archive: Path) -> None:
    reports = [stored(archive, state) for state in saves("glued")]
    assert sum(report.glued for report in reports) > 0


def test_two_captures_after_every_turn_and_at_once_hold_the_same(archive: Path) -> None:
    turns = turns_of(saves("growing")[0])[:60]
    for end in range(1, len(turns) + 1):
        stored(archive, b"".join(turns[:end]))
    assert held(archive) == b"".join(turns)
    assert info(archive).packs <= 12
    sound(archive)


def zstd(path: Path, *options: str) -> int:
    """Bytes of a file compressed by the stock program."""
    program = shutil.which("zstd")
    if program is None:
        pytest.skip("the zstd program is not installed, and nothing else says what is small")
    return len(subprocess.run([program, *options, "-c", str(path)], capture_output=True, check=True).stdout)


def test_an_archive_is_about_as_small_as_the_compressed_file(archive: Path) -> None:
    stored_bytes = zstd(LARGE, "-9", "--long=27")
    (report,) = capture(archive, [Source("s", LARGE)]).transcripts
    assert info(archive).archive_bytes < 1.2 * stored_bytes
    repack(archive, level=12)
    assert info(archive).archive_bytes < 1.2 * stored_bytes
    assert sha(held(archive)) == report.source_sha256


def test_the_stock_program_reads_the_packs(archive: Path) -> None:
    program = shutil.which("zstd")
    if program is None:
        pytest.skip("the zstd program is not installed to read a pack with")
    source = CORPUS / "fleet" / "01.jsonl"
    capture(archive, [Source("s", source)])
    packs = sorted((archive / "pack").glob("*.zst"))
    data = b"".join(subprocess.run([program, "-dc", p], capture_output=True, check=True).stdout for p in packs)
    assert list(dict.fromkeys(turns_of(source.read_bytes()))) == turns_of(data)


def test_a_partial_capture_of_a_large_session_keeps_its_end(archive: Path) -> None:
    (report,) = capture(
        archive, [Source("s", LARGE)], CaptureOptions(max_bytes=1_000_000, allow_truncation=True)
    ).transcripts
    ((start, end),) = report.omitted
    data = LARGE.read_bytes()
    assert start == 0
    assert data[end - 1 : end] == b"\n"
    assert held(archive) == data[end:]
    assert len(data) - end <= 1_000_000 < len(data) - data.rindex(b"\n", 0, end - 1) - 1
    assert report.turns == len(turns_of(data))


def test_a_command_reads_the_large_session_whole(archive: Path) -> None:
    got = one(run("capture", archive, LARGE, "--json"))
    assert got["source_sha256"] == sha(LARGE.read_bytes())
    assert run("cat", archive).stdout == LARGE.read_bytes()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_client_s_turns_are_cut_whole_and_their_views_are_readable(scheme: str) -> None:
    for path in (path for path in SOURCES if path.parent.name == "other"):
        for turn in dict.fromkeys(turns_of(path.read_bytes())):
            ends = SCHEMES[scheme].cut(turn)
            assert is_partition(ends, len(turn)), path.name
            texts = [text for _, _, text in views(turn, ends)]
            assert all(texts), path.name
            assert "".join(texts).encode().decode() == "".join(texts)


def test_a_real_session_has_segments_of_the_sizes_that_the_schemes_promise(archive: Path) -> None:
    capture(archive, [Source("s", LARGE)])
    results = {result.scheme: result for result in segment(archive, list(SCHEMES))}
    medians = {scheme: result.median_segment_bytes for scheme, result in results.items()}
    assert 200 <= medians["changepoint-v1"] <= 300
    assert 300 <= medians["boundary-v1"] <= 500
    assert 850 <= medians["sized-900-v1"] <= 950
    assert results["whole-turn-v1"].segments == len(set(turns_of(LARGE.read_bytes())))
    assert all(result.coverage == 1.0 and not result.bytes_covered_twice for result in results.values())
    sound(archive)
