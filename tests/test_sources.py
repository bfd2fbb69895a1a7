"""Finding what is to be captured: files, directories, a client's folders, a hook's payload, lists, streams."""

from __future__ import annotations

import io
import json
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cases import held, modes_count, objects, one, refused, run, said, session, sound, stored

from ctxarc.errors import Refusal
from ctxarc.operations.capture import capture
from ctxarc.operations.extract import extract
from ctxarc.operations.ls import ls
from ctxarc.operations.sources import Source, days_left, discover, from_hook, latest, spooled

SESSION = "5d1f0c52-made-up"


def write(path: Path, data: bytes = b"{}\n", *, mtime: float | None = None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    if mtime is not None:
        os.utime(path, (mtime, mtime))
    return path


def names(sources: list[Source]) -> list[str]:
    return sorted(source.name for source in sources)


@contextmanager
def closed(source: Source) -> Iterator[None]:
    """Close a stream's file when it was captured."""
    try:
        yield
    finally:
        if source.spool is not None:
            source.spool.close()


@pytest.fixture
def claude(tmp_path: Path) -> Path:
    """A client's folder of one project with one session and everything that lies beside it."""
    project = tmp_path / "claude" / "projects" / "-home-someone-orchard"
    write(project / f"{SESSION}.jsonl", session(3))
    write(project / SESSION / "subagents" / "agent-a1.jsonl", session(2, "pears"))
    write(project / SESSION / "subagents" / "agent-a1.meta.json", b'{"kind":"gatherer"}')
    write(project / SESSION / "subagents" / "deeper" / "agent-b2.jsonl", session(2, "plums"))
    write(project / SESSION / "tool-results" / "long-output.txt", b"basket\n" * 50)
    write(project / SESSION / "tool-results" / "rows.jsonl", b'{"row":1}\n')
    write(project / SESSION / "unrelated.txt", b"not part of it\n")
    return project


BESIDE = [
    f"{SESSION}/subagents/agent-a1",
    f"{SESSION}/subagents/agent-a1.meta.json",
    f"{SESSION}/subagents/deeper/agent-b2",
    f"{SESSION}/tool-results/long-output.txt",
    f"{SESSION}/tool-results/rows.jsonl",
]


# --------------------------------------------------------------------------------------------- Claude Code's layout


def test_a_project_s_directory_gives_its_sessions_and_what_belongs_to_them(claude: Path) -> None:
    assert names(discover([str(claude)])) == [SESSION, *BESIDE]


def test_a_session_s_file_alone_brings_what_belongs_to_it(claude: Path) -> None:
    assert names(discover([str(claude / f"{SESSION}.jsonl")])) == [SESSION, *BESIDE]


def test_a_hook_s_session_brings_what_belongs_to_it(claude: Path) -> None:
    payload = json.dumps({"session_id": SESSION, "transcript_path": str(claude / f"{SESSION}.jsonl")})
    assert names(from_hook(payload.encode())) == [SESSION, *BESIDE]


def test_from_above_the_same_files_have_the_project_in_their_names(claude: Path) -> None:
    found = names(discover([str(claude.parent)]))
    assert found == [f"{claude.name}/{name}" for name in (SESSION, *BESIDE)]


def test_a_name_of_its_own_goes_to_what_belongs_to_a_session_too(claude: Path) -> None:
    found = names(discover([str(claude / f"{SESSION}.jsonl")], name="harvest"))
    assert found == ["harvest", *(name.replace(SESSION, "harvest") for name in BESIDE)]


def test_what_was_captured_of_a_session_extracts_to_the_same_files(claude: Path, tmp_path: Path) -> None:
    archive, back = tmp_path / "a.ctxa", tmp_path / "back"
    capture(archive, discover([str(claude)]))
    extract(archive, [], back)
    for name in (f"{SESSION}.jsonl", *(f"{name}{'' if '.' in name[-10:] else '.jsonl'}" for name in BESIDE)):
        assert (back / name).read_bytes() == (claude / name).read_bytes()
    sound(archive)


def test_a_session_without_a_folder_is_one_transcript(tmp_path: Path) -> None:
    assert names(discover([str(write(tmp_path / "alone.jsonl"))])) == ["alone"]


# ---------------------------------------------------------------------------------------------------------- --latest


def codex_session(home: Path, name: str, mtime: float) -> Path:
    return write(home / "sessions" / "2026" / "03" / "04" / f"rollout-{name}.jsonl", session(1, name), mtime=mtime)


def test_the_latest_is_the_newest_of_both_clients(claude: Path, tmp_path: Path) -> None:
    home, codex = claude.parent.parent, tmp_path / "codex"
    os.utime(claude / f"{SESSION}.jsonl", (2_000, 2_000))
    codex_session(codex, "old", 1_000)
    assert names(latest(home, codex)) == [SESSION, *BESIDE]
    codex_session(codex, "new", 3_000)
    assert names(latest(home, codex)) == ["rollout-new"]
    assert names(latest(tmp_path / "absent", codex)) == ["rollout-new"]
    assert names(latest(home, tmp_path / "absent")) == [SESSION, *BESIDE]


def test_a_sub_agent_s_file_is_never_the_latest(claude: Path, tmp_path: Path) -> None:
    os.utime(claude / SESSION / "subagents" / "agent-a1.jsonl", (4e9, 4e9))
    assert SESSION in names(latest(claude.parent.parent, tmp_path / "absent"))


def test_without_any_session_the_folders_looked_in_are_named(tmp_path: Path) -> None:
    refusal = refused(lambda: latest(tmp_path / "one", tmp_path / "two"))
    assert refusal.code == "NO_SUCH_SOURCE"
    assert str(tmp_path / "one" / "projects") in refusal.message
    assert str(tmp_path / "two" / "sessions") in refusal.message


def test_the_command_looks_where_the_environment_says(claude: Path, tmp_path: Path) -> None:
    codex = tmp_path / "codex"
    codex_session(codex, "new", 4e9)
    env = {"CLAUDE_CONFIG_DIR": str(claude.parent.parent), "CODEX_HOME": str(codex)}
    got = one(run("capture", tmp_path / "a.ctxa", "--latest", "--json", env=env))
    assert [each["transcript"] for each in got["transcripts"]] == ["rollout-new"]
    env["CODEX_HOME"] = str(tmp_path / "absent")
    got = one(run("capture", tmp_path / "a.ctxa", "--latest", "--json", env=env))
    assert [each["transcript"] for each in got["transcripts"]] == [SESSION, *BESIDE]


def test_without_the_variables_the_command_looks_below_the_home_directory(tmp_path: Path) -> None:
    write(tmp_path / ".claude" / "projects" / "-p" / "mine.jsonl", mtime=2_000)
    codex_session(tmp_path / ".codex", "older", 1_000)
    got = one(run("capture", tmp_path / "a.ctxa", "--latest", "--json", env={"HOME": str(tmp_path)}))
    assert [each["transcript"] for each in got["transcripts"]] == ["mine"]


# ------------------------------------------------------------------------------------------------ files, directories


def test_a_directory_is_searched_to_the_bottom_and_names_are_relative_to_it(tmp_path: Path) -> None:
    for path in ("top.jsonl", "a/one.jsonl", "a/b/c/two.jsonl", "a/readme.txt", "a/three.json"):
        write(tmp_path / "root" / path)
    assert names(discover([str(tmp_path / "root")])) == ["a/b/c/two", "a/one", "top"]


def test_the_working_directory_gives_the_same_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "a" / "one.jsonl")
    monkeypatch.chdir(tmp_path)
    assert names(discover(["."])) == ["a/one"]
    assert names(discover(["./a/"])) == ["one"]
    assert names(discover(["a/../a/one.jsonl"])) == ["one"]


def test_equal_file_names_in_two_folders_are_kept_apart(tmp_path: Path) -> None:
    write(tmp_path / "x" / "transcript.jsonl", b'{"of":"x"}\n')
    write(tmp_path / "y" / "transcript.jsonl", b'{"of":"y"}\n')
    archive = tmp_path / "a.ctxa"
    capture(archive, discover([str(tmp_path)]))
    assert held(archive, "x/transcript#") == b'{"of":"x"}\n'
    assert held(archive, "y/transcript#") == b'{"of":"y"}\n'


@pytest.mark.parametrize("made", ["empty", "other files"])
def test_a_directory_without_a_transcript_is_refused(made: str, tmp_path: Path) -> None:
    (tmp_path / "d" / "sub").mkdir(parents=True)
    if made == "other files":
        write(tmp_path / "d" / "sub" / "notes.txt")
    refusal = refused(lambda: discover([str(tmp_path / "d")]))
    assert refusal.code == "NO_SUCH_SOURCE"
    assert str(tmp_path / "d") in refusal.message


@pytest.mark.parametrize("path", ["absent.jsonl", "file.jsonl/below.jsonl", "absent/x.jsonl"])
def test_a_path_that_is_not_there_is_refused(path: str, tmp_path: Path) -> None:
    write(tmp_path / "file.jsonl")
    assert refused(lambda: discover([str(tmp_path / path)])).code == "NO_SUCH_SOURCE"


def test_the_same_file_twice_is_one_source(tmp_path: Path) -> None:
    path = write(tmp_path / "d" / "x.jsonl")
    (tmp_path / "d" / "link").symlink_to("x.jsonl")
    assert names(discover([str(path), str(path)])) == ["x"]
    assert names(discover([str(path), str(tmp_path / "d")])) == ["x"]
    assert names(discover([str(path), f"{tmp_path}/d/../d/x.jsonl"])) == ["x"]


def test_two_files_of_one_name_are_refused_and_both_are_named(tmp_path: Path) -> None:
    one_, other = write(tmp_path / "1" / "x.jsonl", b"1\n"), write(tmp_path / "2" / "x.jsonl", b"2\n")
    refusal = refused(lambda: discover([str(one_), str(other)]))
    assert refusal.code == "DUPLICATE_NAME"
    assert refusal.facts == {"transcript": "x", "sources": [str(one_), str(other)]}


def test_two_files_of_one_name_in_a_directory_are_refused_beside_the_others(tmp_path: Path) -> None:
    for name in (".jsonl", ".jsonl.jsonl", "good.jsonl"):
        write(tmp_path / "d" / name, name.encode() + b"\n")
    result = capture(tmp_path / "a.ctxa", discover([str(tmp_path / "d")]))
    assert [report.transcript for report in result.transcripts] == ["good"]
    assert [each.refusal["code"] for each in result.refused] == ["DUPLICATE_NAME"] * 2
    assert {each.source for each in result.refused} == {
        str(tmp_path / "d" / name) for name in (".jsonl", ".jsonl.jsonl")
    }


@pytest.mark.parametrize("way", ["file", "hook", "latest"])
def test_what_lies_beside_a_session_under_one_name_is_refused_beside_it(way: str, claude: Path, tmp_path: Path) -> None:
    one_, other = (write(claude / SESSION / "subagents" / name, name.encode()) for name in ("x.jsonl", "x"))
    file = str(claude / f"{SESSION}.jsonl")
    found = {
        "file": lambda: discover([file]),
        "hook": lambda: from_hook(json.dumps({"transcript_path": file}).encode()),
        "latest": lambda: latest(claude.parent.parent, tmp_path / "absent"),
    }[way]()
    result = capture(tmp_path / "a.ctxa", found)
    assert [report.transcript for report in result.transcripts] == [SESSION, *BESIDE]
    assert {each.source for each in result.refused} == {str(one_), str(other)}
    for each in result.refused:
        assert each.refusal["code"] == "DUPLICATE_NAME"
        assert f"both be the transcript {SESSION}/subagents/x" in str(each.refusal["message"])


def test_a_refused_file_s_path_never_clashes_with_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "s.jsonl")
    for name in ("x.jsonl", "x", "x.jsonl.jsonl"):
        write(tmp_path / "s" / "subagents" / name)
    monkeypatch.chdir(tmp_path)
    found = discover(["s.jsonl"])
    assert names([source for source in found if not source.refusal]) == ["s", "s/subagents/x.jsonl"]
    assert {source.label for source in found if source.refusal} == {"s/subagents/x", "s/subagents/x.jsonl"}


@pytest.mark.parametrize("paths", [[""], ["", "good.jsonl"], ["good.jsonl", ""]])
def test_an_empty_path_is_not_the_current_directory(paths: list[str], tmp_path: Path) -> None:
    write(tmp_path / "here" / "good.jsonl")
    done = run("capture", tmp_path / "a.ctxa", *paths, "--json", cwd=tmp_path / "here")
    assert (done.returncode, one(done)["refusal"]["code"]) == (2, "USAGE")
    assert not (tmp_path / "a.ctxa").exists()


@pytest.mark.parametrize("link", [SESSION, f"{SESSION}/subagents", f"{SESSION}/tool-results/more"])
def test_a_link_to_a_directory_leads_out_of_no_session(link: str, claude: Path, tmp_path: Path) -> None:
    write(tmp_path / "elsewhere" / "subagents" / "private.jsonl")
    write(tmp_path / "elsewhere" / "private.meta.json")
    if (claude / link).exists():
        shutil.rmtree(claude / link)
    (claude / link).symlink_to(tmp_path / "elsewhere")
    for path in (claude, claude / f"{SESSION}.jsonl"):
        assert names(discover([str(path)])) == [SESSION, *(name for name in BESIDE if not name.startswith(link))]


@pytest.mark.parametrize("name", [".jsonl", "..jsonl", "...jsonl"])
def test_a_session_whose_name_is_dots_has_no_belongings(name: str, tmp_path: Path) -> None:
    write(tmp_path / "subagents" / "theirs.jsonl")
    write(tmp_path / "d" / "subagents" / "theirs.jsonl")
    path = write(tmp_path / "d" / name, b"mine\n")
    assert [source.path for source in discover([str(path)])] == [path]


def test_a_file_without_the_usual_ending_keeps_its_whole_name(tmp_path: Path) -> None:
    assert names(discover([str(write(tmp_path / "saved.log"))])) == ["saved.log"]


@pytest.mark.parametrize(
    ("file", "name"),
    [
        (b"issue #7.jsonl", "issue %237"),
        (b"100%.jsonl", "100%25"),
        (b"two\nlines\x1b.jsonl", "two%0Alines%1B"),
        (b"latin-\xe9.jsonl", "latin-%E9"),
        ("\u6e2c\u8a66 \U0001f600.jsonl".encode(), "\u6e2c\u8a66 \U0001f600"),
        (b"-n.jsonl", "-n"),
        (b" .jsonl", " "),
    ],
)
def test_any_file_name_can_be_captured_addressed_and_extracted(file: bytes, name: str, tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + file))
    path.write_bytes(b'{"said":"here"}\n')
    archive = tmp_path / "a.ctxa"
    (report,) = capture(archive, discover([str(path)])).transcripts
    assert report.transcript == name
    assert held(archive, f"{name}#0") == b'{"said":"here"}\n'
    (written,) = extract(archive, [name], tmp_path / "back").files
    assert Path(written.path).read_bytes() == b'{"said":"here"}\n'
    done = run("capture", archive, path, "--json")
    assert one(done)["unchanged"] is True


def test_a_name_too_long_for_an_archive_is_refused_beside_the_others(tmp_path: Path) -> None:
    write(tmp_path / "d" / "good.jsonl", b'{"good":1}\n')
    write(tmp_path / "d" / ("\x01" * 200 + ".jsonl"))
    result = capture(tmp_path / "a.ctxa", discover([str(tmp_path / "d")]))
    assert [report.transcript for report in result.transcripts] == ["good"]
    assert [each.refusal["code"] for each in result.refused] == ["BAD_NAME"]


def test_a_named_file_whose_name_is_too_long_is_refused_beside_the_others_too(tmp_path: Path) -> None:
    good, bad = write(tmp_path / "good.jsonl"), write(tmp_path / ("\x01" * 200 + ".jsonl"))
    result = capture(tmp_path / "a.ctxa", discover([str(good), str(bad)]))
    assert [report.transcript for report in result.transcripts] == ["good"]
    assert [each.refusal["code"] for each in result.refused] == ["BAD_NAME"]


def test_a_file_that_is_not_there_is_refused_beside_the_others(tmp_path: Path) -> None:
    good = write(tmp_path / "good.jsonl")
    done = run("capture", tmp_path / "a.ctxa", good, tmp_path / "gone.jsonl", "--json")
    assert done.returncode == 3
    got = one(done)
    assert [each["transcript"] for each in got["transcripts"]] == ["good"]
    assert [each["refusal"]["code"] for each in got["refused"]] == ["NO_SUCH_SOURCE"]


def test_a_name_that_no_file_system_takes_is_no_such_source_or_a_named_fault(tmp_path: Path) -> None:
    done = run("capture", tmp_path / "a.ctxa", tmp_path / ("x" * 400 + ".jsonl"), "--json")
    assert one(done)["refusal"]["code"] in {"NO_SUCH_SOURCE", "BAD_NAME", "IO_FAILED"}
    assert not (tmp_path / "a.ctxa").exists()


def test_a_name_is_for_exactly_one_file(tmp_path: Path) -> None:
    one_, other = write(tmp_path / "1.jsonl"), write(tmp_path / "2.jsonl")
    assert names(discover([str(one_)], name="mine")) == ["mine"]
    for paths in ([str(one_), str(other)], [str(tmp_path)], []):
        assert refused(lambda paths=paths: discover(paths, name="mine")).code == "USAGE"  # type: ignore[misc]


def test_a_name_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "1.jsonl")
    assert refused(lambda: discover([str(path)], name="../up")).code == "BAD_NAME"


# ----------------------------------------------------------------------------------- links, loops, pipes, locked files


def test_a_link_to_a_file_is_captured_under_the_link_s_name(tmp_path: Path) -> None:
    write(tmp_path / "real.jsonl", b'{"real":1}\n')
    (tmp_path / "link.jsonl").symlink_to("real.jsonl")
    archive = tmp_path / "a.ctxa"
    capture(archive, discover([str(tmp_path / "link.jsonl")]))
    assert held(archive, "link#") == b'{"real":1}\n'


def test_loops_and_broken_links_in_a_directory_are_no_sources(tmp_path: Path) -> None:
    root = tmp_path / "root"
    write(root / "a" / "x.jsonl")
    (root / "a" / "up").symlink_to("..")
    (root / "loop.jsonl").symlink_to("loop.jsonl")
    (root / "broken.jsonl").symlink_to("nowhere")
    write(root / "s.jsonl")
    (root / "s").mkdir()
    (root / "s" / "subagents").symlink_to("../s")
    assert names(discover([str(root)])) == ["a/x", "s"]


def test_a_loop_given_by_name_is_refused_by_name(tmp_path: Path) -> None:
    loop = tmp_path / "loop.jsonl"
    loop.symlink_to("loop.jsonl")
    good = write(tmp_path / "good.jsonl")
    result = capture(tmp_path / "a.ctxa", discover([str(good), str(loop)]))
    assert [report.transcript for report in result.transcripts] == ["good"]
    assert [each.refusal["code"] for each in result.refused] == ["IO_FAILED"]
    assert str(loop) in str(result.refused[0].refusal["message"])


def test_a_pipe_in_a_directory_is_passed_over(tmp_path: Path) -> None:
    root = tmp_path / "root"
    write(root / "x.jsonl")
    os.mkfifo(root / "pipe.jsonl")
    (root / "x" / "subagents").mkdir(parents=True)
    os.mkfifo(root / "x" / "subagents" / "pipe.jsonl")
    assert names(discover([str(root)])) == ["x"]


def test_a_pipe_given_by_name_is_read_to_its_end(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    data = session(200)
    writer = threading.Thread(target=pipe.write_bytes, args=(data,))
    writer.start()
    (source,) = discover([str(pipe)])
    writer.join()
    assert (source.name, source.label) == ("pipe", str(pipe))
    with closed(source):
        capture(tmp_path / "a.ctxa", [source])
    assert held(tmp_path / "a.ctxa") == data


def test_a_socket_is_refused_by_name(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "s.jsonl"))
        refusal = refused(lambda: discover([str(tmp_path / "s.jsonl")]))
    assert isinstance(refusal, Refusal)
    assert str(tmp_path / "s.jsonl") in refusal.message


def test_a_file_that_may_not_be_read_is_refused_beside_the_others(tmp_path: Path) -> None:
    before = modes_count()
    write(tmp_path / "d" / "good.jsonl", b'{"good":1}\n')
    write(tmp_path / "d" / "shut.jsonl").chmod(0)
    done = run("capture", tmp_path / "a.ctxa", tmp_path / "d", "--json", before=before)
    got = one(done)
    assert done.returncode == 3
    assert [each["transcript"] for each in got["transcripts"]] == ["good"]
    assert [(each["transcript"], each["refusal"]["code"]) for each in got["refused"]] == [("shut", "PERMISSION_DENIED")]


def test_one_file_that_may_not_be_read_is_a_refusal_of_the_environment(tmp_path: Path) -> None:
    before = modes_count()
    write(tmp_path / "shut.jsonl").chmod(0)
    done = run("capture", tmp_path / "a.ctxa", tmp_path / "shut.jsonl", "--json", before=before)
    assert (done.returncode, one(done)["refusal"]["code"]) == (6, "PERMISSION_DENIED")
    assert not (tmp_path / "a.ctxa").exists()


def test_a_folder_that_may_not_be_listed_is_said_and_not_passed_over(tmp_path: Path) -> None:
    before = modes_count()
    write(tmp_path / "d" / "good.jsonl")
    write(tmp_path / "d" / "shut" / "x.jsonl").parent.chmod(0)
    done = run("capture", tmp_path / "a.ctxa", tmp_path / "d", "--json", before=before)
    (tmp_path / "d" / "shut").chmod(0o755)
    assert done.returncode in {3, 6}
    assert "PERMISSION_DENIED" in done.stdout.decode()


def searched(tmp_path: Path) -> list[str]:
    """What goes before a command for which a folder of mode 744 can be listed and not searched."""
    before = modes_count()
    probe = write(tmp_path / "probe" / "x")
    probe.parent.chmod(0o444)
    words = [*before, "test", "-f", str(probe)]
    can = not subprocess.run(words, check=False).returncode
    probe.parent.chmod(0o755)
    if can:
        pytest.skip("file modes do not bind this user")
    return before


def test_a_folder_that_can_be_listed_and_not_searched_is_refused_beside_the_others(tmp_path: Path) -> None:
    before = searched(tmp_path)
    shut = write(tmp_path / "d" / "shut" / "x.jsonl").parent
    write(shut / "y.jsonl")
    write(shut / "deeper" / "z.jsonl")
    write(tmp_path / "d" / "good.jsonl")
    shut.chmod(0o444)
    done = run("capture", tmp_path / "a.ctxa", tmp_path / "d", "--json", before=before)
    alone = run("capture", tmp_path / "b.ctxa", shut, "--json", before=before)
    file = run("capture", tmp_path / "b.ctxa", shut / "x.jsonl", "--json", before=before)
    again = run("capture", tmp_path / "c.ctxa", tmp_path / "d", tmp_path / "d", "--json", before=before)
    shut.chmod(0o755)
    got = one(done)
    assert done.returncode == 3
    assert [each["transcript"] for each in got["transcripts"]] == ["good"]
    assert {(each["source"], each["refusal"]["code"]) for each in got["refused"]} == {
        (str(shut), "PERMISSION_DENIED"),
        (str(shut / "deeper"), "PERMISSION_DENIED"),
    }
    assert [(end.returncode, one(end)["refusal"]["code"]) for end in (alone, file)] == [(6, "PERMISSION_DENIED")] * 2
    assert one(again)["refused"] == got["refused"]


def test_the_latest_session_is_taken_beside_a_project_that_cannot_be_searched(claude: Path, tmp_path: Path) -> None:
    before = searched(tmp_path)
    shut = write(claude.parent / "shut" / "x.jsonl").parent
    shut.chmod(0o444)
    env = {"CLAUDE_CONFIG_DIR": str(claude.parent.parent), "CODEX_HOME": str(tmp_path / "absent")}
    done = run("capture", tmp_path / "a.ctxa", "--latest", "--json", env=env, before=before)
    shut.chmod(0o755)
    got = one(done)
    assert (done.returncode, [each["transcript"] for each in got["transcripts"]]) == (3, [SESSION, *BESIDE])
    assert [each["source"] for each in got["refused"]] == [str(shut)]


@pytest.mark.parametrize("folder", [SESSION, f"{SESSION}/subagents", f"{SESSION}/subagents/deeper"])
@pytest.mark.parametrize("mode", [0, 0o444])
@pytest.mark.parametrize("whole", [False, True])
def test_a_session_s_folder_that_may_not_be_read_is_refused_beside_the_session(
    folder: str,
    mode: int,
    whole: bool,  # noqa: FBT001 - a parameter
    claude: Path,
    tmp_path: Path,
) -> None:
    before = searched(tmp_path)
    (claude / folder).chmod(mode)
    source = f"./{claude.name}" if whole else f"./{claude.name}/{SESSION}.jsonl"
    done = run("capture", tmp_path / "a.ctxa", source, "--json", before=before, cwd=claude.parent)
    name = SESSION if whole else f"{SESSION}.jsonl"
    near = run("capture", tmp_path / "b.ctxa", "." if whole else name, "--json", before=before, cwd=claude)
    (claude / folder).chmod(0o755)
    for end, place in ((done, f"{claude.name}/{folder}"), (near, folder)):
        got = one(end)
        assert end.returncode == 3
        stored_ = got.get("transcripts") or [got]
        assert SESSION in [each["transcript"] for each in stored_]
        assert all(each["source"].removeprefix("./").startswith(place) for each in got["refused"])
        assert {each["refusal"]["code"] for each in got["refused"]} == {"PERMISSION_DENIED"}
        assert len({each["source"] for each in got["refused"]}) == len(got["refused"])


# ------------------------------------------------------------------------------------------------------------ streams


@pytest.mark.parametrize("size", [0, 1, 8191, 8192, 100_000, (1 << 20) + 5])
def test_a_stream_is_kept_until_it_was_captured(size: int, tmp_path: Path) -> None:
    data = (session(20) * (size // 2000 + 1))[:size]
    source = spooled(io.BytesIO(data), "piped")
    assert (source.name, source.path, source.label) == ("piped", None, "standard input")
    with closed(source):
        (report,) = capture(tmp_path / "a.ctxa", [source]).transcripts
        assert (report.source_bytes, report.unchanged) == (len(data), False)
        (report,) = capture(tmp_path / "a.ctxa", [source]).transcripts
        assert report.unchanged
    assert held(tmp_path / "a.ctxa") == data


def test_a_stream_s_name_is_checked_before_it_is_read() -> None:
    stream = io.BytesIO(b"x")
    assert refused(lambda: spooled(stream, "a#b")).code == "BAD_NAME"
    assert stream.tell() == 0


def test_the_command_reads_standard_input_under_a_name(tmp_path: Path) -> None:
    data = session(5)
    got = one(run("capture", tmp_path / "a.ctxa", "-", "--name", "piped", "--json", stdin=data))
    assert (got["transcript"], got["source_bytes"]) == ("piped", len(data))
    got = one(run("capture", tmp_path / "a.ctxa", "-", "--name", "piped", "--json", stdin=data + said("more")))
    assert (got["new_turns"], got["unchanged"]) == (1, False)


# --------------------------------------------------------------------------------------------------------- lists


def test_sources_come_from_a_list_a_line_each(tmp_path: Path) -> None:
    for name in ("one", "two words"):
        write(tmp_path / f"{name}.jsonl")
    listed = f"{tmp_path}/one.jsonl\n\n{tmp_path}/two words.jsonl\n".encode()
    got = one(run("capture", tmp_path / "a.ctxa", "--files-from", "-", "--json", stdin=listed))
    assert [each["transcript"] for each in got["transcripts"]] == ["one", "two words"]
    (tmp_path / "list").write_bytes(listed)
    got = one(run("capture", tmp_path / "b.ctxa", "--files-from", tmp_path / "list", "--json"))
    assert [each["transcript"] for each in got["transcripts"]] == ["one", "two words"]


def test_a_list_separated_by_nul_takes_names_with_line_feeds(tmp_path: Path) -> None:
    write(tmp_path / "two\nlines.jsonl")
    write(tmp_path / "one.jsonl")
    listed = f"{tmp_path}/two\nlines.jsonl\0{tmp_path}/one.jsonl\0".encode()
    got = one(run("capture", tmp_path / "a.ctxa", "--files-from", "-", "-0", "--json", stdin=listed))
    assert [each["transcript"] for each in got["transcripts"]] == ["one", "two%0Alines"]
    done = run("capture", tmp_path / "b.ctxa", "--files-from", "-", "--json", stdin=listed)
    refusal = one(done)["refusal"]
    assert (done.returncode, refusal["code"]) == (2, "USAGE")
    assert "-0" in refusal["hint"]


@pytest.mark.parametrize("listed", [b"", b"\n\n"])
def test_an_empty_list_is_refused(listed: bytes, tmp_path: Path) -> None:
    done = run("capture", tmp_path / "a.ctxa", "--files-from", "-", "--json", stdin=listed)
    assert (done.returncode, one(done)["refusal"]["code"]) == (5, "NO_SUCH_SOURCE")


def test_a_list_that_is_not_there_is_refused(tmp_path: Path) -> None:
    done = run("capture", tmp_path / "a.ctxa", "--files-from", tmp_path / "absent", "--json")
    assert (done.returncode, one(done)["refusal"]["code"]) == (5, "NO_SUCH_SOURCE")


# ------------------------------------------------------------------------------------------------------------- hooks


@pytest.mark.parametrize("key", ["transcript_path", "transcriptPath"])
def test_a_hook_names_its_transcript_in_either_spelling(key: str, tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl")
    assert names(from_hook(json.dumps({key: str(path)}).encode())) == ["x"]


def test_a_hook_s_path_may_begin_with_the_home_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "x.jsonl")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert names(from_hook(b'{"transcript_path": "~/x.jsonl"}')) == ["x"]


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"nonsense",
        b"[]",
        b"{}",
        b"null",
        b'"/etc/passwd"',
        b'{"transcript_path": null}',
        b'{"transcript_path": 3}',
        b'{"transcript_path": ""}',
        b'{"transcript_path": "a\\u0000b"}',
        b"\xff\xfe",
        b"[" * 100_000,
    ],
)
def test_a_payload_that_names_no_transcript_is_refused(payload: bytes) -> None:
    assert refused(lambda: from_hook(payload)).code == "USAGE"


@pytest.mark.parametrize("path", ["/no/such/file.jsonl", "~no-such-user/x.jsonl", "/no/such/lone-\\ud800.jsonl"])
def test_a_payload_whose_file_is_not_there_is_refused_by_name(path: str) -> None:
    refusal = refused(lambda: from_hook(f'{{"transcript_path": "{path}"}}'.encode()))
    assert refusal.code in {"NO_SUCH_SOURCE", "USAGE"}


def test_a_payload_that_names_a_directory_is_refused_and_the_directory_is_not_searched(tmp_path: Path) -> None:
    write(tmp_path / "d" / "x.jsonl")
    refusal = refused(lambda: from_hook(json.dumps({"transcript_path": str(tmp_path / "d")}).encode()))
    assert (refusal.code, refusal.facts["source"]) == ("NO_SUCH_SOURCE", str(tmp_path / "d"))


# ---------------------------------------------------------------------------------------- when a client deletes them

NOW = 2_000_000_000.0
DAY = 86_400


def test_days_left_are_thirty_from_the_last_change_unless_the_settings_say_otherwise(tmp_path: Path) -> None:
    path = write(tmp_path / "projects" / "p" / "s.jsonl", mtime=NOW - 10.5 * DAY)
    assert days_left(path, tmp_path, NOW) == 19
    (tmp_path / "settings.json").write_text('{"cleanupPeriodDays": 90}')
    assert days_left(path, tmp_path, NOW) == 79
    (tmp_path / "settings.json").write_text('{"cleanupPeriodDays": 5}')
    assert days_left(path, tmp_path, NOW) == 0


@pytest.mark.parametrize(
    "settings",
    [
        "",
        "nonsense",
        "[]",
        "null",
        "{}",
        '{"cleanupPeriodDays": null}',
        '{"cleanupPeriodDays": true}',
        '{"cleanupPeriodDays": "7"}',
    ],
)
def test_settings_that_say_nothing_leave_the_thirty_days(settings: str, tmp_path: Path) -> None:
    path = write(tmp_path / "projects" / "p" / "s.jsonl", mtime=NOW)
    (tmp_path / "settings.json").write_text(settings)
    assert days_left(path, tmp_path, NOW) == 30


@pytest.mark.parametrize("value", ["Infinity", "-Infinity", "NaN", "1e999", "1" + "0" * 400])
def test_settings_with_no_usable_number_are_no_fault(value: str, tmp_path: Path) -> None:
    path = write(tmp_path / "projects" / "p" / "s.jsonl", mtime=NOW)
    (tmp_path / "settings.json").write_text(f'{{"cleanupPeriodDays": {value}}}')
    assert days_left(path, tmp_path, NOW) is None or isinstance(days_left(path, tmp_path, NOW), int)


def test_nothing_is_said_of_files_that_no_client_cleans_up(tmp_path: Path) -> None:
    path = write(tmp_path / "elsewhere" / "s.jsonl", mtime=NOW)
    assert days_left(path, tmp_path / "claude", NOW) is None


# ------------------------------------------------------------------------------------------------ what is read of them


def test_a_source_that_vanished_meanwhile_is_refused_by_name(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl")
    found = discover([str(path)])
    path.unlink()
    refusal = refused(lambda: capture(tmp_path / "a.ctxa", found))
    assert (refusal.code, refusal.status) == ("NO_SUCH_SOURCE", 5)
    assert not (tmp_path / "a.ctxa").exists()


def test_the_path_is_in_the_acquisition_record_and_not_in_the_digest(tmp_path: Path) -> None:
    data = session(4)
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        write(folder / "s.jsonl", data)
        capture(folder / "a.ctxa", discover([str(folder / "s.jsonl")]))
    rows = objects(run("ls", here / "a.ctxa", "--captures", "--json"))
    assert rows[0]["not_proved"]["path"] == str(here / "s.jsonl")
    digests = {one(run("info", folder / "a.ctxa", "--json"))["archive_digest"] for folder in (here, there)}
    assert len(digests) == 1


def test_transcripts_are_listed_in_byte_order_of_their_names(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    order = ["A", "B/x", "a", "a-b", "a/b", "\u00e9", "\u6e2c", "\U0001f600"]
    for name in reversed(order):
        stored(archive, said(name), name)
    assert [row.transcript for row in ls(archive)] == order
    got = objects(run("ls", archive, "--json", env={"LC_ALL": "C"}))
    assert [row["transcript"] for row in got] == order
