"""``verify``: statuses, states that are expected or grown from, sources compared, and what was not checked."""

from __future__ import annotations

import errno
import os
from itertools import accumulate
from pathlib import Path

import pytest
from cases import digest_of, modes_count, noise, one, refused, run, said, session, sha, stored, tree, turns_of

from ctxarc.operations.verify import verify
from ctxarc.preservation import files

DATA = session(5)
TURNS = turns_of(DATA)
ENDS = list(accumulate(map(len, TURNS), initial=0))


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    stored(tmp_path / "a.ctxa", DATA)
    return tmp_path / "a.ctxa"


def damage(archive: Path) -> Path:
    """Flip a bit in a pack."""
    (pack,) = (archive / "pack").iterdir()
    data = bytearray(pack.read_bytes())
    data[len(data) // 2] ^= 1
    pack.write_bytes(data)
    return pack


def test_a_sound_archive_is_said_to_be_so_with_what_was_checked(archive: Path) -> None:
    stored(archive, session(2, "pears"), "t")
    result = verify(archive)
    assert (result.ok, result.findings, result.checked, result.not_checked) == (True, (), "full", ())
    assert (result.turns, result.bytes, result.captures) == (7, len(DATA) + len(session(2, "pears")), 2)
    assert [(state.transcript, state.source_sha256, state.complete, state.omitted) for state in result.transcripts] == [
        ("s", sha(DATA), True, ()),
        ("t", sha(session(2, "pears")), True, ()),
    ]
    assert set(result.planes) == {"preservation", "auxiliary"}
    assert result.complete


def test_a_quick_check_says_what_it_did_not_read(archive: Path) -> None:
    result = verify(archive, quick=True)
    assert (result.ok, result.checked) == (True, "quick")
    assert result.not_checked
    assert result.archive_digest == digest_of(archive)
    damage(archive)
    assert verify(archive, quick=True).ok
    assert not verify(archive).ok


def test_found_damage_is_status_1_and_named_with_its_file(archive: Path) -> None:
    pack = damage(archive)
    done = run("verify", archive, "--json")
    got = one(done)
    assert (done.returncode, got["ok"]) == (1, False)
    assert [(each["code"], each["path"]) for each in got["findings"]] == [("CHECKSUM_MISMATCH", f"pack/{pack.name}")]
    assert all(set(each) == {"code", "path", "message"} for each in got["findings"])
    assert any("1" in reason for reason in got["not_checked"])
    done = run("verify", archive)
    assert done.returncode == 1
    assert b"CHECKSUM_MISMATCH" in done.stdout


@pytest.mark.parametrize("name", ["HEAD", "objects", "log", "pack", "CTXA"])
def test_a_file_that_is_gone_is_found(name: str, archive: Path) -> None:
    path = next((archive / "pack").iterdir()) if name == "pack" else archive / name
    path.unlink()
    done = run("verify", archive, "--json")
    assert (done.returncode, one(done)["ok"]) == (1, False)


def test_damage_comes_before_any_expectation(archive: Path) -> None:
    damage(archive)
    for args in (["--expect", "0" * 64], ["--extends", "0" * 64]):
        done = run("verify", archive, *args, "--json")
        assert (done.returncode, one(done)["findings"][0]["code"]) == (1, "CHECKSUM_MISMATCH")


def test_the_expected_state_and_no_other(archive: Path) -> None:
    first = digest_of(archive)
    assert verify(archive, expect=first).ok
    assert verify(archive, expect=first.upper()).ok
    stored(archive, DATA + said("more"))
    refusal = refused(lambda: verify(archive, expect=first))
    assert (refusal.code, refusal.status) == ("DIGEST_UNEXPECTED", 3)
    assert (refusal.facts["found"], refusal.facts["expected"]) == (digest_of(archive), first)
    assert refusal.facts["grown"] is True
    assert refused(lambda: verify(archive, expect="0" * 64)).facts["grown"] is False
    assert verify(archive, expect=digest_of(archive)).ok


def test_a_state_that_is_held_or_was_grown_from(archive: Path) -> None:
    states = [digest_of(archive)]
    for data, name in ((DATA + said("more"), "s"), (session(2, "pears"), "t"), (session(3, "plums"), "s")):
        stored(archive, data, name, as_new_history=True)
        states.append(digest_of(archive))
    for state in states:
        assert verify(archive, extends=state).ok
        assert verify(archive, extends=state, quick=True).ok
    refusal = refused(lambda: verify(archive, extends="0" * 64))
    assert (refusal.code, refusal.status, refusal.facts["expected"]) == ("DIGEST_UNEXPECTED", 3, "0" * 64)
    other = archive.parent / "other.ctxa"
    stored(other, DATA)
    assert verify(other, expect=states[0]).ok
    assert refused(lambda: verify(other, extends=states[1])).code == "DIGEST_UNEXPECTED"


@pytest.mark.parametrize("option", ["--expect", "--extends"])
@pytest.mark.parametrize("digest", ["", "0" * 63, "0" * 65, "g" * 64, "short"])
def test_what_is_no_digest_is_a_usage_error(option: str, digest: str, archive: Path) -> None:
    done = run("verify", archive, option, digest, "--json")
    assert (done.returncode, one(done)["refusal"]["code"]) == (2, "USAGE")


# ------------------------------------------------------------------------------------------------------------ --against


def source(archive: Path, data: bytes, name: str = "s") -> Path:
    path = archive.parent / "now" / f"{name}.jsonl"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    return path


def test_a_source_that_is_what_is_held(archive: Path) -> None:
    assert verify(archive, against=[source(archive, DATA)]).ok
    assert run("verify", archive, "--against", source(archive, DATA)).returncode == 0


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (DATA + said("more"), "more than what is held"),
        (DATA[: ENDS[2]] + b"#" + DATA[ENDS[2] + 1 :], f"turn 2, byte {ENDS[2]}"),
        (DATA[: ENDS[3]], f"byte {ENDS[3]}"),
        (b"", "byte 0"),
        (session(5, "pears"), "turn 0"),
    ],
)
def test_a_source_that_differs_is_a_finding_that_says_where(data: bytes, words: str, archive: Path) -> None:
    path = source(archive, data)
    result = verify(archive, against=[path])
    (finding,) = result.findings
    assert (result.ok, finding.code, finding.path) == (False, "SOURCE_DIFFERS", str(path))
    assert words in finding.message
    done = run("verify", archive, "--against", path, "--json")
    assert (done.returncode, one(done)["ok"]) == (1, False)


def test_a_source_is_compared_with_the_transcript_of_its_default_name(archive: Path) -> None:
    stored(archive, session(2, "pears"), "t")
    assert verify(archive, against=[source(archive, DATA), source(archive, session(2, "pears"), "t")]).ok
    result = verify(archive, against=[source(archive, DATA, "t"), source(archive, DATA)])
    assert [finding.path for finding in result.findings] == [str(archive.parent / "now" / "t.jsonl")]


def test_a_source_of_another_name_is_compared_with_the_only_transcript(archive: Path) -> None:
    assert verify(archive, against=[source(archive, DATA, "renamed")]).ok
    assert not verify(archive, against=[source(archive, DATA + b"x", "renamed")]).ok


def test_a_source_of_another_name_is_compared_with_none_of_several(archive: Path) -> None:
    stored(archive, session(2, "pears"), "renamed-since")
    refusal = refused(lambda: verify(archive, against=[source(archive, DATA, "absent")]))
    assert (refusal.code, refusal.status) == ("NO_SUCH_TRANSCRIPT", 5)
    refusal = refused(lambda: verify(archive, against=[source(archive, session(2, "pears"), "renamed")]))
    assert refusal.code == "NO_SUCH_TRANSCRIPT"


def test_a_directory_is_compared_file_by_file(archive: Path) -> None:
    stored(archive, session(2, "pears"), "t")
    source(archive, DATA)
    path = source(archive, session(3, "pears"), "t")
    (finding,) = verify(archive, against=[path.parent]).findings
    assert finding.path == str(path)


def test_a_source_that_is_not_there_is_no_such_source(archive: Path) -> None:
    done = run("verify", archive, "--against", archive.parent / "absent.jsonl", "--json")
    assert (done.returncode, one(done)["refusal"]["code"]) == (5, "NO_SUCH_SOURCE")


def test_a_partial_capture_can_be_compared_with_its_whole_source(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    stored(archive, DATA, max_bytes=len(TURNS[4]), allow_truncation=True)
    assert verify(archive, against=[source(archive, DATA)]).ok
    assert not verify(archive, against=[source(archive, b"#" + DATA[1:])]).ok


def test_a_source_that_only_grew_behind_a_partial_capture_is_said_to_have_grown(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    stored(archive, DATA, max_bytes=len(TURNS[4]), allow_truncation=True)
    more = said("more")
    (finding,) = verify(archive, against=[source(archive, DATA + more)]).findings
    assert f"{len(more)} bytes more than what is held of s, behind the {len(DATA)} bytes that are" in finding.message
    (finding,) = verify(archive, against=[source(archive, b"#" + DATA[1:] + more)]).findings
    assert "more than" not in finding.message


def test_a_folder_that_may_not_be_listed_is_said_by_its_own_name(archive: Path) -> None:
    before = modes_count()
    folder = source(archive, DATA).parent
    (folder / "shut").mkdir(mode=0)
    refusal = one(run("verify", archive, "--against", folder, "--json", before=before))["refusal"]
    assert (refusal["code"], refusal["facts"]["path"]) == ("PERMISSION_DENIED", str(folder / "shut"))


def test_an_empty_source_is_not_the_current_directory(archive: Path) -> None:
    source(archive, DATA)
    done = run("verify", archive, "--against", "", "--json", cwd=archive.parent / "now")
    assert (done.returncode, one(done)["refusal"]["code"]) == (2, "USAGE")
    assert run("verify", archive, "--against", ".", cwd=archive.parent / "now").returncode == 0


# ------------------------------------------------------------------------------------------------ what was not checked


def test_what_a_partial_capture_cannot_prove_is_said(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    stored(archive, DATA, max_bytes=len(TURNS[4]), allow_truncation=True)
    result = verify(archive)
    assert (result.ok, result.complete) == (True, False)
    (reason,) = result.not_checked
    for words in ("0", str(ENDS[4]), "s", sha(DATA)):
        assert words in reason
    assert result.bytes == len(TURNS[4])
    stored(archive, DATA)
    assert verify(archive).not_checked == ()


def test_side_files_that_are_not_known_are_said_to_be_unchecked(archive: Path) -> None:
    (archive / "words").mkdir()
    (archive / "words" / "later").write_bytes(b"of another release")
    result = verify(archive)
    assert result.ok
    assert any("words/later" in reason for reason in result.not_checked)


@pytest.mark.parametrize("name", ["stray.txt", "pack/stray", "pack/000000000009-000000000009-0.zst"])
def test_a_file_that_nothing_names_is_a_finding(name: str, archive: Path) -> None:
    (archive / name).write_bytes(b"left")
    (finding,) = verify(archive).findings
    assert (finding.code, finding.path) == ("LEFTOVER", name)
    assert run("verify", archive).returncode == 1
    assert run("cat", archive).stdout == DATA


@pytest.mark.parametrize("what", ["directory", "link", "content"])
def test_a_lock_that_is_no_empty_plain_file_is_a_finding(what: str, archive: Path) -> None:
    lock = archive / "record.lock"
    lock.unlink()
    if what == "directory":
        lock.mkdir()
    elif what == "link":
        lock.symlink_to("HEAD")
    else:
        lock.write_bytes(b"held by nobody")
    (finding,) = verify(archive).findings
    assert (finding.code, finding.path) == ("LEFTOVER", "record.lock")
    lock.rmdir() if what == "directory" else lock.unlink()
    assert verify(archive).ok  # a record without a lock is whole


def test_a_directory_that_a_later_writer_did_not_finish_is_a_finding(archive: Path) -> None:
    (archive / "segments.tmp").mkdir()
    assert [finding.path for finding in verify(archive).findings] == ["segments.tmp"]


@pytest.mark.parametrize("name", ["log", "objects", "pack"])
def test_a_file_that_may_not_be_read_is_no_damage(name: str, archive: Path) -> None:
    before = modes_count()
    path = archive / name if name != "pack" else next((archive / "pack").iterdir())
    path.chmod(0)
    done = run("verify", archive, "--json", before=before)
    assert (done.returncode, one(done)["refusal"]["code"]) == (6, "PERMISSION_DENIED")


def test_a_fault_of_the_machine_is_no_damage(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fault(*_: object) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(files, "_pread", fault)
    refusal = refused(lambda: verify(archive))
    assert (refusal.code, refusal.status) == ("IO_FAILED", 6)


def test_a_verified_archive_is_as_it_was(archive: Path) -> None:
    before = tree(archive)
    times = {path: os.stat(path).st_mtime_ns for path in archive.rglob("*")}  # noqa: PTH116 - times alone
    verify(archive)
    verify(archive, quick=True)
    assert tree(archive) == before
    assert {path: os.stat(path).st_mtime_ns for path in archive.rglob("*")} == times  # noqa: PTH116 - the same


def test_quiet_prints_findings_alone(archive: Path) -> None:
    done = run("verify", archive, "-q")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    damage(archive)
    done = run("verify", archive, "-q")
    assert done.returncode == 1
    assert b"CHECKSUM_MISMATCH" in done.stdout


def test_every_state_is_checked_and_not_the_newest_alone(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    made = noise(6)
    old = b"".join(made.randbytes(400).replace(b"\n", b" ") + b"\n" for _ in range(300))
    stored(archive, old)
    stored(archive, session(3), as_new_history=True)
    for pack in (archive / "pack").iterdir():
        data = bytearray(pack.read_bytes())
        if len(data) > 50_000:
            data[len(data) // 2] ^= 1
            pack.write_bytes(data)
    result = verify(archive)
    assert not result.ok
    assert any("capture 1" in reason for reason in result.not_checked)


@pytest.mark.parametrize(
    ("place", "status", "code"),
    [("absent", 5, "NO_SUCH_ARCHIVE"), ("file", 3, "NOT_AN_ARCHIVE"), ("directory", 3, "NOT_AN_ARCHIVE")],
)
def test_what_is_no_archive_is_refused(place: str, status: int, code: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "directory").mkdir()
    done = run("verify", tmp_path / place, "--json")
    assert (done.returncode, one(done)["refusal"]["code"]) == (status, code)
