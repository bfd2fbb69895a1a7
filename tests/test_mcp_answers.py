"""Answers over MCP within their limit, progress that grows, and refusals in terms of tools."""

from __future__ import annotations

from base64 import b64decode, b64encode
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxarc.errors import BadUsage, NoSuchVectors, Refusal, every_refusal
from ctxarc.mcp.answers import LIMIT, Pages, clean, fitted, part_of, size_of
from ctxarc.mcp.refusals import in_terms_of_tools, refusal_of, refused
from ctxarc.mcp.schemas import schema_of
from ctxarc.mcp.session import Cancelled, Progress
from ctxarc.model import AddressResult, Stretch, as_json


def stretch(data: bytes, start: int = 0) -> dict[str, Any]:
    """A row of bytes, as ``cat --json`` prints it."""
    digest = sha256(data).hexdigest()
    text = data.decode("utf-8", "replace")
    row = Stretch("t", 1, start, start + len(data), "ab" * 32, digest, "ctxa:" + "ab" * 32, True, text)  # noqa: FBT003 - a field
    fields: dict[str, Any] = as_json(row)
    return fields


@settings(max_examples=60, deadline=None)
@given(text=st.text(max_size=4000), room=st.integers(900, 3000), start=st.integers(0, 50))
def test_parts_of_a_text_are_the_text_and_never_cut_a_character(text: str, room: int, start: int) -> None:
    data = text.encode()
    row = stretch(data, start)
    found, skip = b"", 0
    while True:
        part, skip = part_of(row, skip, room)
        assert size_of(part) <= room
        piece = part["text"].encode()
        assert (part["end_byte"] - part["start_byte"], part["range_sha256"]) == (len(piece), sha256(piece).hexdigest())
        found += piece
        if skip == len(data):
            assert "rest" not in part
            break
        assert part["rest"] == f"ctxa:{'ab' * 32}:{start + skip}-{start + len(data)}"
    assert found == data


@settings(max_examples=60, deadline=None)
@given(data=st.binary(min_size=1, max_size=4000), room=st.integers(900, 3000))
def test_parts_of_bytes_are_the_bytes(data: bytes, room: int) -> None:
    row = {key: value for key, value in stretch(data).items() if key != "text"}
    row["base64"] = b64encode(data).decode()
    found, skip = b"", 0
    while skip < len(data):
        part, skip = part_of(row, skip, room)
        assert size_of(part) <= room
        found += part["text"].encode() if "text" in part else b64decode(part["base64"])
    assert found == data


@settings(max_examples=40, deadline=None)
@given(rows=st.lists(st.integers(1, 30_000), max_size=30), limit=st.none() | st.integers(1, 5))
def test_pages_hold_every_row_once(rows: list[int], limit: int | None) -> None:
    given_rows = [{"n": number, "text": "x" * size} for number, size in enumerate(rows)]
    found: list[int] = []
    while True:
        page = Pages(len(found), limit, lambda row, _skip: str(row)).take({}, given_rows)
        assert size_of(page) <= LIMIT
        assert page["total"] == len(rows)
        found += [row["n"] for row in page["rows"]]
        if page["next"] is None:
            break
        assert page["next"] == str(len(found))
    assert found == list(range(len(rows)))


@pytest.mark.parametrize(
    "fields",
    [
        {"hits": [{"text": "x" * 50_000, "also_at": [{"cite": "y" * 100}] * 100}] * 10},
        {"hits": [{"text": "é" * 30, "n": 1}] * 5000},
        {"hits": [], "omitted": [{"start_byte": 1}] * 20_000},
        {"hits": [{"text": "x" * 90_000}], "more": "z" * 90_000},
    ],
)
def test_whole_results_are_fitted(fields: dict[str, Any]) -> None:
    short = fitted(fields, "hits")
    assert size_of(short) <= LIMIT
    assert (short["total"], short["next"]) == (len(fields["hits"]), None)
    assert short["truncated"] or not fields["hits"]
    assert fitted({"hits": [1, 2]}, "hits") == {"hits": [1, 2], "total": 2, "truncated": False, "next": None}


def test_what_is_no_unicode_is_replaced() -> None:
    found = clean({"a\udcff": ["b\ud800", 1, None, "é"]})
    ((key, (replaced, *rest)),) = found.items()
    assert (key[0], replaced[0], rest) == ("a", "b", [1, None, "é"])
    assert set(key[1:] + replaced[1:]) == {"�"}


def test_what_a_caller_is_told_only_grows() -> None:
    told: list[tuple[float, float | None, str]] = []
    progress = Progress(lambda: False, lambda *each: told.append(each))
    for what, done, total in (("one", 5, 10), ("one", 5, 10), ("two", 1, 4), ("two", 4, 4), ("three", 0, None)):
        progress._when = -1.0  # the time between two is not waited for
        progress(what, done, total)
    assert told == [(5, 10, "one"), (6, 9, "two"), (9, 9, "two")]


def test_a_cancelled_call_ends_where_it_says_how_far_it_is() -> None:
    with pytest.raises(Cancelled):
        Progress(lambda: True, None)("reading", 1, None)
    assert not issubclass(Cancelled, Exception)


def test_hints_name_tools() -> None:
    assert in_terms_of_tools("`ctxarc log ARCHIVE` lists the turns") == "context_log lists the turns"
    assert in_terms_of_tools("say which with --scheme") == "say which with `scheme`"
    hint = refused(NoSuchVectors("none"))["refusal"]["hint"]
    assert "context_segment_export" in hint
    assert refused(BadUsage("bad", hint="as it is"))["refusal"]["hint"] == "as it is"


@pytest.mark.parametrize("kind", every_refusal(), ids=lambda kind: kind.code)
def test_no_default_hint_names_a_command_that_a_tool_does(kind: type[Refusal]) -> None:
    hint = refused(kind("it is so"))["refusal"]["hint"]
    for verb in ("log", "ls", "cat", "find", "segment", "export", "attach", "embed", "info", "verify", "relate"):
        assert f"ctxarc {verb}" not in hint


def test_any_exception_is_a_named_refusal() -> None:
    codes = [refusal_of(error).code for error in (OSError(28, "full"), MemoryError(), KeyError("x"))]
    assert codes == ["NO_SPACE", "NO_MEMORY", "INTERNAL"]


def test_schemas_are_of_the_classes() -> None:
    schema = schema_of(AddressResult)
    assert schema["properties"]["identity"] == {"type": ["object", "null"]}
    assert schema["properties"]["hits"]["items"]["properties"]["ranks"]["additionalProperties"] == {"type": "integer"}
    assert "backend" not in schema["required"]
    assert {"archive", "hits"} <= set(schema["required"])
