"""Names of transcripts: what a path becomes, what may be one, and that nothing of a name leads out of a directory."""

from __future__ import annotations

import os
from pathlib import PurePosixPath
from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ctxarc.errors import BadName
from ctxarc.operations.names import check_name, file_of_name, name_of_path

ANY_PART = (
    st.binary(min_size=1, max_size=60)
    .map(lambda data: data.replace(b"/", b"x").replace(b"\0", b"y"))
    .filter(lambda data: data not in {b".", b".."})
    .map(os.fsdecode)
)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("session.jsonl", "session"),
        ("project/day/session.jsonl", "project/day/session"),
        ("notes.txt", "notes.txt"),
        ("two.jsonl.jsonl", "two.jsonl"),
        (".jsonl", ".jsonl"),
        ("..jsonl", "..jsonl"),
        ("...jsonl", "...jsonl"),
        ("a b.jsonl", "a b"),
        ("issue #7.jsonl", "issue %237"),
        ("100%.jsonl", "100%25"),
        ("%41.jsonl", "%2541"),
        ("a\tb\nc\x7f\x1b.jsonl", "a%09b%0Ac%7F%1B"),
        ("nel\x85.jsonl", "nel%C2%85"),
        ("caf\u00e9 \u6e2c\u8a66 \U0001f600.jsonl", "caf\u00e9 \u6e2c\u8a66 \U0001f600"),
        (os.fsdecode(b"\xff\xc3.jsonl"), "%FF%C3"),
        ("session/tool-results/out.txt", "session/tool-results/out.txt"),
        ("session/tool-results/out.jsonl", "session/tool-results/out.jsonl"),
        ("session/subagents/agent-1.jsonl", "session/subagents/agent-1"),
        ("session/subagents/agent-1.meta.json", "session/subagents/agent-1.meta.json"),
    ],
)
def test_a_path_becomes_a_name(path: str, name: str) -> None:
    assert name_of_path(PurePosixPath(path).parts) == name
    assert check_name(name) == name


@given(st.lists(ANY_PART, min_size=1, max_size=4))
@example(["a#b", "50%", "\x1f"])
def test_every_path_has_a_name_that_holds_all_of_it(parts: list[str]) -> None:
    *folders, file = parts
    path = [*folders, f"{file}.jsonl"]
    try:
        name = name_of_path(path)
    except BadName:
        assert 3 * max(len(os.fsencode(part)) for part in parts) > 200
        return
    assert "#" not in name
    assert not any(ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0 for char in name)
    beside = "tool-results" in folders
    whole = name if beside else f"{name}.jsonl"
    assert unquote_to_bytes(whole) == b"/".join(map(os.fsencode, path))


@given(st.lists(ANY_PART, min_size=1, max_size=3), st.lists(ANY_PART, min_size=1, max_size=3))
def test_two_paths_never_have_one_name(one: list[str], other: list[str]) -> None:
    paths = [[*parts[:-1], f"{parts[-1]}.jsonl"] for parts in (one, other)]
    try:
        names = [name_of_path(path) for path in paths]
    except BadName:
        return
    assert (names[0] == names[1]) == (paths[0] == paths[1])


@pytest.mark.parametrize(
    "name",
    ["", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/..", "a/./b", "a/../b", "/etc/passwd", "..//"],
)
def test_a_name_that_could_lead_elsewhere_is_refused(name: str) -> None:
    with pytest.raises(BadName, match=r"no leading, doubled or closing /|no part"):
        check_name(name)


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("a#b", "a%23b"),
        ("50%", "50%25"),
        ("50%zz", "50%25zz"),
        ("bell\x07", "bell%07"),
        ("line\nfeed", "line%0Afeed"),
        ("nul\0", "nul%00"),
        ("byte\udcff", "byte%FF"),
    ],
)
def test_a_name_with_characters_that_cannot_stand_in_one_is_refused_with_one_that_can(name: str, instead: str) -> None:
    with pytest.raises(BadName) as caught:
        check_name(name)
    assert instead in caught.value.hint
    assert check_name(instead) == instead


def test_a_percent_sign_before_two_digits_is_an_encoded_byte_and_stays() -> None:
    assert check_name("a%23b/%FF") == "a%23b/%FF"


@pytest.mark.parametrize("name", ["x" * 240, "\u6e2c" * 80, "/".join(["y" * 199] * 5)])
def test_the_longest_names_are_taken(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize("name", ["x" * 241, "x" * 400, "\u6e2c" * 81, "/".join(["y" * 200] * 5)])
def test_longer_names_are_refused_with_their_length(name: str) -> None:
    with pytest.raises(BadName) as caught:
        check_name(name)
    size = len(name.encode())
    assert caught.value.facts["bytes"] == size
    assert str(size) in caught.value.message
    assert len(caught.value.message) < 300


def test_a_path_whose_encoded_form_is_too_long_is_refused() -> None:
    with pytest.raises(BadName):
        name_of_path(["\x01" * 100 + ".jsonl"])


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("session", "session.jsonl"),
        ("a/b", "a/b.jsonl"),
        ("two.jsonl", "two.jsonl.jsonl"),
        ("s/tool-results/out.txt", "s/tool-results/out.txt"),
        ("s/subagents/agent.meta.json", "s/subagents/agent.meta.json"),
        ("tool-results", "tool-results.jsonl"),
        ("meta.json", "meta.json.jsonl"),
    ],
)
def test_the_file_that_a_transcript_is_extracted_to(name: str, file: str) -> None:
    assert file_of_name(name) == file


@pytest.mark.parametrize(
    "path", ["session.jsonl", "a/b c.jsonl", "s/tool-results/out.txt", "s/subagents/x.jsonl", "s/subagents/x.meta.json"]
)
def test_a_transcript_s_file_has_the_path_that_it_came_from(path: str) -> None:
    assert file_of_name(name_of_path(PurePosixPath(path).parts)) == path


@given(st.text(max_size=30))
def test_any_text_is_a_name_or_refused(text: str) -> None:
    try:
        name = check_name(text)
    except BadName as refusal:
        refusal.message.encode()
        return
    path = PurePosixPath("below") / file_of_name(name)
    assert ".." not in path.parts
    assert path.is_relative_to("below")
