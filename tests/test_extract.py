"""``extract``: transcripts back as files, verified, never over one, never outside the directory, never by halves."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from archives import Parts
from cases import (
    command,
    environment,
    modes_count,
    noise,
    one,
    refused,
    run,
    said,
    session,
    sha,
    stored,
    tree,
    turns_of,
)

from ctxarc.operations.capture import capture
from ctxarc.operations.extract import extract
from ctxarc.operations.sources import Source, discover
from ctxarc.operations.verify import verify

HELD = {
    "a": session(3),
    "deep/er/b": session(2, "pears"),
    "deep/c d": b"\xff\xfe\n\n" + said("odd"),
    "empty": b"",
    "s/tool-results/out.txt": b"basket\n",
    "s/subagents/x.meta.json": b"{}",
}
FILES = {
    "a.jsonl": HELD["a"],
    "deep/er/b.jsonl": HELD["deep/er/b"],
    "deep/c d.jsonl": HELD["deep/c d"],
    "empty.jsonl": b"",
    "s/tool-results/out.txt": b"basket\n",
    "s/subagents/x.meta.json": b"{}",
}


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    for name, data in HELD.items():
        stored(tmp_path / "a.ctxa", data, name)
    return tmp_path / "a.ctxa"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def files(root: Path) -> dict[str, bytes]:
    return {path: data for path, data in tree(root).items() if data is not None}


def test_all_transcripts_become_files_below_the_directory(archive: Path, out: Path) -> None:
    result = extract(archive, [], out)
    assert files(out) == FILES
    assert [file.transcript for file in result.files] == sorted(HELD)
    assert [Path(file.path).read_bytes() for file in result.files] == [HELD[name] for name in sorted(HELD)]
    assert all(file.digest_verified and file.complete and file.omitted == () for file in result.files)
    assert [(file.bytes, file.sha256) for file in result.files] == [
        (len(HELD[name]), sha(HELD[name])) for name in sorted(HELD)
    ]
    assert (result.complete, result.directory, result.archive) == (True, str(out), str(archive))
    assert result.archive_digest == verify(archive).archive_digest


def test_what_was_extracted_is_what_the_archive_holds_of_it(archive: Path, out: Path) -> None:
    extract(archive, [], out)
    assert verify(archive, against=[out]).ok
    assert len(discover([str(out)])) >= 4


def test_chosen_transcripts_only(archive: Path, out: Path) -> None:
    extract(archive, ["a", "deep/er#", "emp"], out)
    assert set(files(out)) == {"a.jsonl", "deep/er/b.jsonl", "empty.jsonl"}


def test_a_transcript_named_twice_is_written_once(archive: Path, out: Path) -> None:
    assert len(extract(archive, ["a", "a#", "a"], out).files) == 1


def test_names_that_mean_none_or_several_write_nothing(archive: Path, out: Path) -> None:
    assert refused(lambda: extract(archive, ["a", "absent"], out)).code == "NO_SUCH_TRANSCRIPT"
    assert refused(lambda: extract(archive, ["a", "deep"], out)).code == "AMBIGUOUS"
    assert not out.exists()


def test_an_older_state_is_extracted_with_at(tmp_path: Path, out: Path) -> None:
    archive = tmp_path / "a.ctxa"
    stored(archive, session(2))
    stored(archive, session(4))
    stored(archive, session(1, "pears"), "later")
    extract(archive, [], out, at=1)
    assert files(out) == {"s.jsonl": session(2)}
    assert refused(lambda: extract(archive, [], out, at=9)).code == "NO_SUCH_CAPTURE"


def test_a_partial_transcript_is_said_to_be_so(tmp_path: Path, out: Path) -> None:
    archive = tmp_path / "a.ctxa"
    turns = turns_of(session(4))
    stored(archive, session(4), max_bytes=len(turns[3]), allow_truncation=True)
    result = extract(archive, [], out)
    (file,) = result.files
    assert (result.complete, file.complete, file.sha256) == (False, False, sha(turns[3]))
    assert [tuple(gap) for gap in file.omitted] == [(0, sum(map(len, turns[:3])))]
    assert (out / "s.jsonl").read_bytes() == turns[3]
    done = run("extract", archive, "-C", out.parent / "other")
    assert b"incomplete" in done.stderr or b"left out" in done.stderr


# ----------------------------------------------------------------------------------------------- nothing written over


@pytest.mark.parametrize("kind", ["file", "directory", "link", "dangling link"])
def test_whatever_has_the_file_s_name_is_left_alone_and_nothing_is_written(kind: str, archive: Path, out: Path) -> None:
    target = out / "deep" / "er" / "b.jsonl"
    target.parent.mkdir(parents=True)
    if kind == "file":
        target.write_bytes(b"mine")
    elif kind == "directory":
        target.mkdir()
    else:
        other = out.parent / "elsewhere"
        if kind == "link":
            other.write_bytes(b"mine")
        target.symlink_to(other)
    before = tree(out.parent)
    refusal = refused(lambda: extract(archive, [], out))
    assert (refusal.code, refusal.status, refusal.facts["path"]) == ("WOULD_OVERWRITE", 3, str(target))
    assert tree(out.parent) == before


def test_the_same_again_is_refused_even_where_the_files_are_the_same(archive: Path, out: Path) -> None:
    extract(archive, [], out)
    before = tree(out)
    assert refused(lambda: extract(archive, [], out)).code == "WOULD_OVERWRITE"
    assert refused(lambda: extract(archive, ["a"], out)).code == "WOULD_OVERWRITE"
    assert tree(out) == before


def test_a_file_where_a_folder_is_due_is_refused_by_name(archive: Path, out: Path) -> None:
    out.mkdir()
    (out / "deep").write_bytes(b"mine")
    refusal = refused(lambda: extract(archive, ["deep/er/b"], out))
    assert refusal.code in {"WOULD_OVERWRITE", "IO_FAILED"}
    assert str(out / "deep") in refusal.message
    assert (out / "deep").read_bytes() == b"mine"


def test_a_transcript_whose_file_is_the_folder_of_another_is_refused_before_anything_is_written(
    tmp_path: Path, out: Path
) -> None:
    archive = tmp_path / "a.ctxa"
    for number, name in enumerate(("0", "a", "a.jsonl/b/c")):
        path = tmp_path / f"{number}.jsonl"
        path.write_bytes(said(name))
        capture(archive, [Source(name, path)])
    refusal = refused(lambda: extract(archive, [], out))
    assert (refusal.code, refusal.facts["path"]) == ("WOULD_OVERWRITE", str(out / "a.jsonl"))
    assert str(out / "a.jsonl" / "b" / "c.jsonl") in refusal.message
    assert "one by one" in refusal.hint
    assert not out.exists()
    extract(archive, ["a"], out / "1")
    extract(archive, ["a.jsonl"], out / "2")
    assert files(out) == {"1/a.jsonl": said("a"), "2/a.jsonl/b/c.jsonl": said("a.jsonl/b/c")}


@pytest.mark.parametrize("kind", ["file", "dangling link", "loop"])
@pytest.mark.parametrize("below", [".", "deeper"])
def test_a_directory_that_is_something_else_is_refused_before_anything_is_written(
    kind: str, below: str, archive: Path, out: Path
) -> None:
    if kind == "file":
        out.write_bytes(b"mine")
    else:
        out.symlink_to("nowhere" if kind == "dangling link" else out)
    before = tree(out.parent)
    refusal = refused(lambda: extract(archive, [], out / below))
    assert (refusal.code, refusal.facts["path"]) == ("WOULD_OVERWRITE", str(out))
    assert tree(out.parent) == before


def test_one_folder_of_several_that_is_in_the_way_leaves_the_others_unwritten(archive: Path, out: Path) -> None:
    out.mkdir()
    (out / "s").write_bytes(b"mine")
    assert refused(lambda: extract(archive, [], out)).code == "WOULD_OVERWRITE"
    assert files(out) == {"s": b"mine"}


@pytest.mark.parametrize("place", ["a.ctxa", "a.ctxa/pack", "a.ctxa/new/below", "link", "link/new", "other.ctxa"])
def test_nothing_is_extracted_into_an_archive(place: str, archive: Path, tmp_path: Path) -> None:
    stored(tmp_path / "other.ctxa", session(1))
    (tmp_path / "link").symlink_to("a.ctxa")
    before = tree(tmp_path)
    done = run("extract", archive, "-C", tmp_path / place, "--json")
    refusal = one(done)["refusal"]
    assert (done.returncode, refusal["code"]) == (2, "USAGE")
    assert str(tmp_path / place) in refusal["message"]
    assert "-C" in refusal["hint"]
    assert tree(tmp_path) == before


def test_no_name_and_no_working_directory_leads_into_an_archive(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    stored(archive, said("x"), "a.ctxa/x")
    before = tree(tmp_path)
    assert refused(lambda: extract(archive, [], tmp_path)).code == "USAGE"
    assert run("extract", archive, cwd=archive).returncode == 2
    assert tree(tmp_path) == before


def test_an_empty_directory_s_name_is_not_the_current_directory(archive: Path, tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    done = run("extract", archive, "-C", "", "--json", cwd=here)
    assert (done.returncode, one(done)["refusal"]["code"]) == (2, "USAGE")
    assert run("extract", archive, "", cwd=here).returncode == 2
    assert list(here.iterdir()) == []
    assert run("extract", archive, "-C", ".", cwd=here).returncode == 0


def test_a_directory_that_may_not_be_written_is_refused(archive: Path, out: Path) -> None:
    before = modes_count()
    out.mkdir(mode=0o555)
    done = run("extract", archive, "-C", out, "--json", before=before)
    assert (done.returncode, one(done)["refusal"]["code"]) == (6, "PERMISSION_DENIED")
    assert list(out.iterdir()) == []


# --------------------------------------------------------------------------------------------------- hostile archives


@pytest.mark.parametrize(
    "name",
    [
        b"../escaped",
        b"a/../../escaped",
        b"/nowhere-of-ctxarc/x",
        b"./x",
        b"a//b",
        b"x/",
        b"..",
        b"a\0b",
        b"a\nb",
        b"\x1b[31m",
        b"z" * 900,
        b"a#b",
    ],
)
def test_a_forged_name_leads_nowhere(name: bytes, tmp_path: Path, out: Path) -> None:
    """The archive is sound in every other way, digest and checksums included: who wrote it wanted that name."""
    archive = tmp_path / "forged" / "a.ctxa"
    archive.parent.mkdir()
    stored(archive, said("bad"), "here")
    forged = Parts(archive)
    forged.change(0, name=name)
    forged.relink()
    forged.rehash()
    forged.seal()
    before = tree(tmp_path)
    for names in ([], [os.fsdecode(name)]):
        refusal = refused(lambda names=names: extract(archive, names, out))  # type: ignore[misc]
        assert refusal.status in {3, 4, 5}
        assert refusal.code != "INTERNAL"
    for command_ in ("extract", "ls", "cat", "verify", "log"):
        done = run(command_, archive, *(["-C", str(out)] if command_ == "extract" else []), "--json")
        assert done.returncode in {0, 1, 3, 4}
    assert run("extract", archive, "-C", out).returncode in {3, 4}
    assert tree(tmp_path) == before
    assert not Path("/nowhere-of-ctxarc").exists()


def test_a_damaged_transcript_gets_no_file(tmp_path: Path, out: Path) -> None:
    archive = tmp_path / "a.ctxa"
    made = noise(5)
    stored(archive, session(3), "a")
    stored(archive, made.randbytes(200_000), "b")
    stored(archive, session(3), "c")
    pack = max((archive / "pack").iterdir(), key=lambda path: path.stat().st_size)
    bad = bytearray(pack.read_bytes())
    bad[len(bad) // 2] ^= 1
    pack.write_bytes(bad)
    refusal = refused(lambda: extract(archive, ["b"], out))
    assert (refusal.code, refusal.status) == ("CHECKSUM_MISMATCH", 4)
    assert files(out) == {}


# ------------------------------------------------------------------------------------------------------- interrupted


@pytest.mark.parametrize("after_ms", [0, 20, 50, 100])
def test_a_killed_extract_leaves_no_half_file_under_its_name(after_ms: int, tmp_path: Path, out: Path) -> None:
    """Where the kill falls is chance; whichever file has its name by then is whole."""
    archive = tmp_path / "a.ctxa"
    data = {f"t{number}": b"".join(b"%d " % number * 400 + b"\n" for _ in range(4000)) for number in range(4)}
    for name, content in data.items():
        stored(archive, content, name, level=1)
    words = command("extract", archive, "-C", out, "-q")
    with subprocess.Popen(words, env=environment()) as process:
        while not out.exists() and process.poll() is None:
            time.sleep(0.001)
        time.sleep(after_ms / 1000)
        process.kill()
    for path, content in files(out).items():
        if path.endswith(".jsonl"):
            assert content == data[path.removesuffix(".jsonl")]
    shutil.rmtree(out)
    extract(archive, [], out)
    assert files(out) == {f"{name}.jsonl": content for name, content in data.items()}


def test_nothing_but_the_files_is_left_behind(archive: Path, out: Path) -> None:
    extract(archive, [], out)
    assert {path for path, data in tree(out).items() if data is not None} == set(FILES)
    (out / "a.jsonl").unlink()
    refused(lambda: extract(archive, [], out))
    assert "a.jsonl" not in files(out)
    assert not [path for path in tree(out) if ".ctxarc" in path]


# ------------------------------------------------------------------------------------------------------- the command


def test_the_command_writes_here_unless_told_where(archive: Path, tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    done = run("extract", archive, cwd=here)
    assert done.returncode == 0
    assert files(here) == FILES


def test_what_is_printed_is_a_list_that_sha256sum_checks(archive: Path, out: Path) -> None:
    lines = run("extract", archive, "-C", out).stdout.decode().splitlines()
    assert len(lines) == len(HELD)
    for line in lines:
        digest, _, path = line.partition("  ")
        assert hashlib.sha256(Path(path).read_bytes()).hexdigest() == digest
    if tool := shutil.which("sha256sum"):
        listed = "".join(f"{line}\n" for line in lines).encode()
        assert subprocess.run([tool, "-c", "--quiet"], input=listed, check=False).returncode == 0


def test_the_list_for_sha256sum_holds_for_any_name(tmp_path: Path) -> None:
    tool = shutil.which("sha256sum")
    if tool is None:
        pytest.skip("sha256sum is not there to check the list")
    archive, out = tmp_path / "a.ctxa", tmp_path / "out"
    for name in ("plain", "back\\slash", "caf\u00e9", " blank "):
        stored(archive, said(name), name)
    printed = run("extract", archive, "-C", out).stdout
    done = subprocess.run([tool, "-c", "--quiet"], input=printed, capture_output=True, check=False)
    assert done.stderr + done.stdout == b""


def test_a_name_that_the_locale_cannot_write_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    archive, out = tmp_path / "a.ctxa", tmp_path / "out"
    for name in ("plain", "\u6e2c\u8a66 \U0001f600"):
        stored(archive, said(name), name)
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = run("extract", archive, "-C", out, "--json", env=plain)
    if done.returncode == 0:
        pytest.skip("this system's C locale writes UTF-8 names")
    assert (done.returncode, one(done)["refusal"]["code"]) == (3, "BAD_NAME")
    assert not out.exists()
    assert run("extract", archive, "plain", "-C", out, env=plain).returncode == 0


def test_json_lists_the_files(archive: Path, out: Path) -> None:
    got = one(run("extract", archive, "-C", out, "--json"))
    assert set(got) == {"schema", "ok", "archive", "archive_digest", "directory", "complete", "files"}
    assert {file["transcript"]: file["sha256"] for file in got["files"]} == {
        name: sha(data) for name, data in HELD.items()
    }
    assert all(file["digest_verified"] is True for file in got["files"])
    assert os.path.isdir(got["directory"])  # noqa: PTH112 - as printed


def test_extracted_and_captured_again_nothing_is_new(archive: Path, out: Path) -> None:
    extract(archive, [], out)
    got = one(run("capture", archive, out, "--json"))
    assert got["ok"] is True
    assert {each["transcript"] for each in got["transcripts"]} <= set(HELD) | {
        "s/subagents/x.meta",
        "s/tool-results/out",
    }
    assert all(each["unchanged"] for each in got["transcripts"])
