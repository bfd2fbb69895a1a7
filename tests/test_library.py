"""The library: an archive as an object, and every operation of the command line as a method of it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cases import held, refused, said, session, sha, turns_of

import ctxarc
from ctxarc import Archive, model, open_archive
from ctxarc.errors import NoSuchArchive, NotAnArchive, Refusal, UnsupportedVersion
from ctxarc.model import ExportHeader, ExportRow
from ctxarc.operations.capture import CaptureOptions
from ctxarc.operations.export import ExportOptions
from ctxarc.operations.find import FindOptions

DATA = session(4)
TURNS = turns_of(DATA)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "s.jsonl"
    path.write_bytes(DATA)
    return path


@pytest.fixture
def archive(source: Path) -> Archive:
    made = open_archive(source.parent / "a.ctxa", create=True)
    made.capture(source)
    return made


def test_an_archive_that_is_not_there_is_refused_unless_it_may_be_made(tmp_path: Path, source: Path) -> None:
    with pytest.raises(NoSuchArchive):
        open_archive(tmp_path / "a.ctxa")
    made = open_archive(tmp_path / "a.ctxa", create=True)
    assert not (tmp_path / "a.ctxa").exists()
    with pytest.raises(NoSuchArchive):
        list(made.ls())
    made.capture(source)
    assert open_archive(str(tmp_path / "a.ctxa")).read() == DATA


@pytest.mark.parametrize("create", [False, True])
def test_what_is_no_archive_is_refused(create: bool, tmp_path: Path, source: Path) -> None:  # noqa: FBT001 - parametrized
    with pytest.raises(NotAnArchive):
        open_archive(source, create=create)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_bytes(b"x")
    with pytest.raises(NotAnArchive):
        open_archive(tmp_path / "mine", create=create)


def test_an_empty_directory_can_become_an_archive(tmp_path: Path, source: Path) -> None:
    (tmp_path / "empty.ctxa").mkdir()
    made = open_archive(tmp_path / "empty.ctxa", create=True)
    made.capture(source)
    assert made.read() == DATA


def test_a_newer_format_is_refused(archive: Archive) -> None:
    (archive.path / "CTXA").write_bytes(b"ctxarc archive, format 2\n")
    with pytest.raises(UnsupportedVersion):
        open_archive(archive.path)


def test_capture_gives_the_reports(archive: Archive, source: Path) -> None:
    source.write_bytes(DATA + said("more"))
    result = archive.capture(source)
    assert isinstance(result, model.CaptureResult)
    assert (result.transcripts[0].new_turns, result.archive_digest) == (1, archive.info().archive_digest)
    assert archive.capture(str(source)).transcripts[0].unchanged
    result = archive.capture(source, name="again", options=CaptureOptions(level=3))
    assert result.transcripts[0].transcript == "again"
    with pytest.raises(Refusal) as caught:
        archive.capture(source, source.parent / "other.jsonl", name="two")
    assert caught.value.code == "USAGE"


def test_capture_of_nothing_stores_nothing(tmp_path: Path) -> None:
    made = open_archive(tmp_path / "a.ctxa", create=True)
    result = refused_or_empty(made)
    assert result == ()
    assert not (tmp_path / "a.ctxa").exists()


def refused_or_empty(made: Archive) -> tuple[model.CaptureReport, ...]:
    try:
        return made.capture().transcripts
    except Refusal:
        return ()


def test_reading_methods_give_what_is_held(archive: Archive) -> None:
    assert archive.read() == b"".join(archive.cat()) == DATA
    assert archive.read("1", "2:0-5") == TURNS[1] + TURNS[2][:5]
    assert archive.read(span="3-20") == DATA[3:20]
    assert [row.text for row in archive.stretches("1")] == [TURNS[1].decode()]
    assert [row.turn_sha256 for row in archive.log()] == list(map(sha, TURNS))
    assert [row.turn for row in archive.log("s", role="assistant", last=1)] == [3]
    assert [row.transcript for row in archive.ls()] == ["s"]
    assert [row.capture for row in archive.captures()] == [1]
    assert next(archive.show("0")).parts[0][2] == "apples, remark 0"


def test_reading_methods_are_iterators_or_plain_data(archive: Archive, tmp_path: Path) -> None:
    for value in (archive.ls(), archive.captures(), archive.log(), archive.show("0"), archive.cat(), archive.find("x")):
        assert isinstance(value, Iterator)
    assert isinstance(archive.stretches("0"), Iterator)
    assert isinstance(archive.info(), model.ArchiveInfo)
    assert isinstance(archive.verify(), model.VerifyResult)
    assert isinstance(archive.repack(level=3), model.RepackResult)
    assert isinstance(archive.extract(tmp_path / "out"), model.ExtractResult)
    assert (tmp_path / "out" / "s.jsonl").read_bytes() == DATA


def test_older_states_are_read_with_at(archive: Archive, source: Path, tmp_path: Path) -> None:
    source.write_bytes(DATA + said("more"))
    archive.capture(source)
    assert archive.read(at=1) == DATA
    assert len(list(archive.log(at=1))) == 4
    assert next(archive.ls(at=1)).turns == 4
    assert [row.turn for row in archive.stretches(at=1)] == [0, 1, 2, 3]
    assert len(list(archive.show("s#", at=1))) == 4
    archive.extract(tmp_path / "out", ["s"], at=1)
    assert (tmp_path / "out" / "s.jsonl").read_bytes() == DATA


def test_find_takes_patterns_and_options(archive: Archive) -> None:
    assert [hit.turn for hit in archive.find("remark 1", "remark 3")] == [1, 3]
    options = FindOptions(patterns=("remark 2",), regex=True, max_count=5)
    assert [hit.turn for hit in archive.find(options=options)] == [2]
    assert [hit.turn for hit in archive.find(r"remark [01]", options=options)] == [0, 1, 2]
    assert refused(archive.find).code in {"BAD_PATTERN", "USAGE"}


def test_segments_are_built_listed_and_exported(archive: Archive) -> None:
    (built,) = archive.segment("boundary-v1")
    assert (built.scheme, built.coverage, built.preservation_unchanged) == ("boundary-v1", 1.0, True)
    assert [row.scheme for row in archive.schemes() if row.built] == ["boundary-v1"]
    rows = list(archive.segments("boundary-v1"))
    header, *views = archive.export(ExportOptions(scheme="boundary-v1"))
    assert isinstance(header, ExportHeader)
    assert header.segments == len(views) == built.segments == len(rows)
    assert {row.id for row in rows} == {view.id for view in views if isinstance(view, ExportRow)}
    assert archive.read(*(row.id for row in rows)) == archive.read(*(f"{row.transcript}#{row.turn}" for row in rows))


def test_verify_takes_states_and_sources(archive: Archive, source: Path) -> None:
    digest = archive.info().archive_digest
    assert archive.verify(expect=digest, extends=digest, against=[source]).ok
    assert archive.verify(quick=True).checked == "quick"
    assert not archive.verify(against=[str(write_other(source))]).ok
    assert refused(lambda: archive.verify(expect="0" * 64)).code == "DIGEST_UNEXPECTED"


def write_other(source: Path) -> Path:
    source.write_bytes(DATA + b"x")
    return source


def test_methods_see_what_others_captured_meanwhile(archive: Archive, source: Path) -> None:
    source.write_bytes(DATA + said("more"))
    open_archive(archive.path).capture(source)
    assert archive.read("4") == said("more")
    assert archive.info().captures == 2


def test_every_refusal_of_a_method_is_one_class_a_code(archive: Archive) -> None:
    refusals = {
        refused(lambda: archive.read("99")).code,
        refused(lambda: archive.read("x#")).code,
        refused(lambda: archive.read("nonsense")).code,
        refused(lambda: archive.read("0:0-9999")).code,
        refused(lambda: archive.capture("/no/such/file")).code,
        refused(lambda: archive.ls(at=7)).code,
    }
    assert refusals == {
        "NO_SUCH_TURN",
        "NO_SUCH_TRANSCRIPT",
        "BAD_ADDRESS",
        "NO_SUCH_RANGE",
        "NO_SUCH_SOURCE",
        "NO_SUCH_CAPTURE",
    }


def test_an_iterator_that_is_dropped_closes_its_files(archive: Archive) -> None:
    rows = archive.log()
    next(rows)
    del rows
    assert held(archive.path) == DATA


def test_results_become_json_by_the_names_of_their_fields(archive: Archive) -> None:
    row = next(archive.stretches("0:0-4"))
    fields = {name: value for name, value in row._asdict().items() if name != "base64"}
    assert model.as_json(row) == fields
    assert model.as_json(archive.info())["omitted"] == []


def test_the_package_is_light_until_it_is_used() -> None:
    code = "import sys, ctxarc; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True).stdout
    assert not {name.partition(".")[0] for name in loaded.split()} & {"click", "zstandard", "numpy", "xxhash"}
    assert set(ctxarc.__all__) == {"Archive", "__version__", "open_archive"}


def test_types_travel_with_the_package() -> None:
    assert (Path(ctxarc.__file__).parent / "py.typed").exists()
