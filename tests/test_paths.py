"""What counts as a file's path in a turn, how it is spelled, and where it stands."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxarc.auxiliary.edges.paths import Mention, mentions, spelled
from ctxarc.auxiliary.jsontext import decode


def paths_in(text: str, key: str = "text", *, ascii_only: bool = True) -> list[str]:
    return [each.path for each in mentions(json.dumps({key: text}, ensure_ascii=ascii_only).encode())]


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("see src/foo.py.", ["src/foo.py"]),
        ('(src/foo.py), `lib/a-b.tar.gz`; "x/y.md"', ["src/foo.py", "lib/a-b.tar.gz", "x/y.md"]),
        ("src/a.py src/b.py src/a.py", ["src/a.py", "src/b.py"]),
        ("/usr/lib/x.so:12:3 and a/b.py::test", ["/usr/lib/x.so", "a/b.py"]),
        ("~/notes/a.md ../x/y.c ./a/b.txt", ["~/notes/a.md", "../x/y.c", "a/b.txt"]),
        (".github/workflows/ci.yml", [".github/workflows/ci.yml"]),
        ("man/man1/git.1 and v1/2.0", ["man/man1/git.1"]),
        ("line\nsrc/a.py\tb/c.py", ["src/a.py", "b/c.py"]),
        (r"C:\Users\x\a.py and D:/work/b.py", ["c:/Users/x/a.py", "d:/work/b.py"]),
        ("请看src/foo.py文件,还有src/文件.py", ["src/foo.py", "src/文件.py"]),
        ("src//lib/./x.py", ["src/lib/x.py"]),
        ("user@host:src/a.py", ["src/a.py"]),
        # None of these is a path of a file that stands there whole.
        ("and/or 24/7 1.5/2.5 TCP/IP he/she", []),
        ("https://example.org/a/b.html ftp://h/x.txt", []),
        ("host:8080/x.js", []),
        ("$HOME/a.py ${X}/b.py $(pwd)/c.py */d.py", []),
        ("项目/a.py", []),
        ("src/ src/v1.x/dir/ file.py", []),
        ("os/exec.Command github.com/x/y.Client", []),
        ("</div> // comment /* x */", []),
    ],
)
def test_paths_are_taken_as_they_are_written(text: str, paths: list[str], ascii_only: bool) -> None:  # noqa: FBT001
    assert paths_in(text, ascii_only=ascii_only) == paths


def test_a_path_in_json_within_a_string_does_not_begin_with_the_letter_of_an_escape() -> None:
    inner = json.dumps({"cmd": "cat\nsrc/new.py\tnotes/todo.md", "path": "C:\\Users\\a.py"})
    assert paths_in(inner) == ["src/new.py", "notes/todo.md", "c:/Users/a.py"]


def test_a_key_that_says_that_its_string_is_a_file_s_path_takes_all_of_it() -> None:
    assert paths_in("/home/me/my docs/Makefile", "file_path") == ["/home/me/my docs/Makefile"]
    assert paths_in("/home/me/my docs/Makefile", "content") == []
    assert paths_in("two\nlines/x", "file_path") == []


def test_what_the_client_writes_for_itself_mentions_nothing() -> None:
    assert list(mentions(b'{"cwd":"/home/me/a.d","gitBranch":"fix/x.py","text":"y"}\n')) == []


def test_the_bytes_of_a_mention_are_those_of_its_first_place() -> None:
    turn = '{"a":"\\u00e9\\n/x/y.py","b":"中 src/中.py /x/y.py"}\n'.encode()
    found = list(mentions(turn))
    assert [each.path for each in found] == ["/x/y.py", "src/中.py"]
    assert [turn[each.start : each.end].decode() for each in found] == ["/x/y.py", "src/中.py"]
    assert found[0].start == turn.index(b"/x/y.py")


def test_a_line_that_is_no_json_is_text_as_it_stands() -> None:
    turn = rb"C:\new\a.py and src/b.py" + b"\n"
    assert [(each.path, turn[each.start : each.end]) for each in mentions(turn)] == [
        ("c:/new/a.py", rb"C:\new\a.py"),
        ("src/b.py", b"src/b.py"),
    ]


def test_one_spelling_stands_for_one_path() -> None:
    assert spelled(r"C:\\a\b.py") == spelled("c:/a//b.py") == "c:/a/b.py"
    assert spelled("./a/./b.py") == "a/b.py"
    assert spelled("A/b.py") != spelled("a/b.py")
    assert spelled("/a/b.py") != spelled("a/b.py")


@given(st.binary(max_size=200))
def test_no_bytes_are_too_strange(turn: bytes) -> None:
    for each in mentions(turn):
        assert isinstance(each, Mention)
        assert 0 <= each.start < each.end <= len(turn)


@given(
    st.lists(st.sampled_from(["src/a.py", "\\n", "/", "x", "中", "é", "C:\\", ".", " ", '"', "\\", "𝔸"]), max_size=30)
)
def test_the_bytes_of_a_mention_spell_its_path(pieces: list[str]) -> None:
    turn = json.dumps({"text": "".join(pieces)}).encode()
    for each in mentions(turn):
        assert spelled(decode(turn[each.start : each.end])) == each.path
