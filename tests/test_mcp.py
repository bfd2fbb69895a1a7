"""``ctxarc mcp`` as a client drives it, over stdio: every tool, its schemas, pages, refusals, resources, endings."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from cases import environment, said, session, sha

pytest.importorskip("mcp", reason="the package mcp is not installed: pip install 'ctxarc[mcp]'")

import anyio
from jsonschema import Draft202012Validator
from mcp.client.client import Client as ModernClient
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp_client import Answer, Client, connected, portal

from ctxarc.mcp.answers import LIMIT
from ctxarc.mcp.tools import TOOLS
from ctxarc.operations.verify import verify

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

TURNS = 400
LONG = 20_000_000
"""Bytes of the text of a turn that no answer can hold."""
LOOP = {
    "context_capture": {"archive", "transcript", "max_bytes", "allow_truncation"},
    "context_segment": {"archive", "scheme"},
    "context_segment_export": {"archive", "scheme", "limit", "sample", "next"},
    "context_attach_vectors": {"archive", "vectors", "scheme", "model", "revision"},
    "context_address": {
        "archive", "query", "query_vector", "scheme", "transcript", "role", "limit", "model", "revision", "embed",
    },
}  # fmt: skip
WRITING = {
    "context_capture", "context_segment", "context_attach_vectors", "context_embed", "context_relate",
    "archive_export", "archive_drop_index",
}  # fmt: skip


@pytest.fixture(scope="module")
def loop() -> Iterator[BlockingPortal]:
    with portal() as running:
        yield running


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root of the server: transcripts to capture, among them what is long, and what is no UTF-8."""
    root = tmp_path_factory.mktemp("root")
    (root / "small.jsonl").write_bytes(session(8))
    (root / "many.jsonl").write_bytes(session(TURNS, "pears"))
    (root / "long.jsonl").write_bytes(said("é\n" * (LONG // 3)) + session(2))
    (root / "odd.jsonl").write_bytes(said("ö\u4e00\U0001f600" * 9000) + b"\xff\xfe" * 40_000 + b"\n")
    return root


@pytest.fixture(scope="module")
def client(loop: BlockingPortal, place: Path) -> Iterator[Client]:
    """A client, and a server with three archives."""
    with connected(loop, cwd=place) as made:
        made.call("context_capture", archive="a.ctxa", transcript="small.jsonl")
        made.call("context_capture", archive="many.ctxa", transcript="many.jsonl")
        made.call("context_capture", archive="big.ctxa", transcript="long.jsonl")
        made.call("context_capture", archive="big.ctxa", transcript="odd.jsonl")
        for name in ("a.ctxa", "many.ctxa"):
            made.call("context_segment", archive=name)
            made.call("context_relate", archive=name)
        yield made


def command(*args: object, cwd: Path) -> list[Any]:
    """What the command line prints as JSON."""
    argv = [sys.executable, "-m", "ctxarc", *map(str, args), "--json"]
    done = subprocess.run(argv, cwd=cwd, capture_output=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def vectors(client: Client, archive: str) -> list[Answer]:
    """A vector for each segment of an archive."""
    pages = client.every("context_segment_export", archive=archive)
    rows = [row for page in pages for row in page["rows"]]
    return [
        {"id": row["id"], "vector": [float(place == number) for place in range(len(rows))]}
        for number, row in enumerate(rows)
    ]


# ---------------------------------------------------------------------------------------------------------- the list


def test_every_tool_says_what_it_is(client: Client) -> None:
    assert list(client.tools) == list(TOOLS)
    for name, tool in client.tools.items():
        assert tool.title
        assert 60 < len(tool.description or "") < 700, name
        for schema in (tool.input_schema, tool.output_schema or {}):
            Draft202012Validator.check_schema(schema)
            assert schema["type"] == "object"
        assert tool.input_schema["additionalProperties"] is False
        assert all(each["description"] for each in tool.input_schema["properties"].values()), name
        hints = tool.annotations
        assert hints
        assert hints.read_only_hint is (name not in WRITING)
        assert hints.destructive_hint is (name == "archive_drop_index")
        assert hints.open_world_hint is (name in {"context_address", "context_embed"})
        assert hints.idempotent_hint is (name != "archive_export")


def test_the_loop_takes_the_arguments_that_it_is_known_by(client: Client) -> None:
    for name, arguments in LOOP.items():
        assert set(client.tools[name].input_schema["properties"]) == arguments


def test_text_of_transcripts_is_called_quoted_record(client: Client) -> None:
    for name in ("context_expand", "context_find", "context_log", "context_address", "context_segment_export"):
        assert "quoted record" in (client.tools[name].description or "")
    told = client.session.instructions
    assert told
    assert "quoted record" in told


# -------------------------------------------------------------------------------------------------- each tool, once


def test_capture_and_what_it_adds(client: Client, place: Path) -> None:
    (place / "new.jsonl").write_bytes(session(3))
    first = client.call("context_capture", archive="new.ctxa", transcript="new.jsonl")
    assert (first["transcript"], first["turns"], first["new_turns"], first["unchanged"]) == ("new", 3, 3, False)
    assert first["source_sha256"] == sha(session(3))
    (place / "new.jsonl").write_bytes(session(5))
    again = client.call("context_capture", archive="new.ctxa", transcript=str(place / "new.jsonl"))
    assert (again["turns"], again["new_turns"]) == (5, 2)
    added = client.call("archive_diff", archive="new.ctxa")
    assert [row["turn"] for row in added["rows"]] == [3, 4]
    assert (added["since"], added["capture"], added["total"], added["truncated"]) == (1, 2, 2, False)
    pages = client.every("archive_diff", archive="new.ctxa", since=0, limit=2)
    assert [[row["turn"] for row in page["rows"]] for page in pages] == [[0, 1], [2, 3], [4]]
    (place / "new.jsonl").write_bytes(session(2, "other"))
    assert client.refused("context_capture", archive="new.ctxa", transcript="new.jsonl")["code"] == "NAME_TAKEN"


def test_capture_of_a_directory_stores_the_good_ones(client: Client, place: Path) -> None:
    folder = place / "folder"
    folder.mkdir()
    (folder / "x.jsonl").write_bytes(session(1))
    (folder / "y.jsonl").write_bytes(session(2))
    assert client.call("context_capture", archive="folder.ctxa", transcript="folder")["ok"]
    (folder / "x.jsonl").write_bytes(session(1, "other"))
    (folder / "y.jsonl").write_bytes(session(3))
    result = client.call("context_capture", archive="folder.ctxa", transcript="folder")
    assert not result["ok"]
    assert [each["transcript"] for each in result["refused"]] == ["x"]
    assert [each["new_turns"] for each in result["transcripts"]] == [1]


def test_capture_within_bytes(client: Client, place: Path) -> None:
    (place / "part.jsonl").write_bytes(session(6))
    asked = {"archive": "part.ctxa", "transcript": "part.jsonl", "max_bytes": 500}
    refusal = client.refused("context_capture", **asked)
    assert (refusal["code"], refusal["hint"][:17]) == ("NOT_LOSSLESS", "raise `max_bytes`")
    assert not (place / "part.ctxa").exists()
    result = client.call("context_capture", **asked, allow_truncation=True)
    assert (result["complete"], len(result["omitted"])) == (False, 1)


def test_log_is_what_the_command_prints(client: Client, place: Path) -> None:
    printed = command("log", "many.ctxa", cwd=place)
    pages = client.every("context_log", archive="many.ctxa")
    assert len(pages) > 2
    assert [{"schema": 1, "ok": True, **row} for page in pages for row in page["rows"]] == printed
    assert pages[0]["total"] == TURNS
    users = client.call("context_log", archive="many.ctxa", role="user", last=5, limit=3)
    assert ([row["turn"] for row in users["rows"]], users["total"]) == ([390, 392, 394], 5)


def test_find_in_pages(client: Client, place: Path) -> None:
    pages = client.every("context_find", archive="many.ctxa", pattern="pears", as_read=True, limit=150)
    found = [row for page in pages for row in page["rows"]]
    assert [{"schema": 1, "ok": True, **row} for row in found] == command("find", "many.ctxa", "-t", "pears", cwd=place)
    assert pages[0]["total"] == TURNS
    assert (
        client.call("context_find", archive="a.ctxa", pattern="APPLES, remark [12]", regex=True, ignore_case=True)[
            "total"
        ]
        == 2
    )
    nothing = client.call("context_find", archive="a.ctxa", pattern="pears", transcript="small")
    assert (nothing["rows"], nothing["total"], nothing["next"]) == ([], 0, None)


def test_pages_are_of_one_state(client: Client, place: Path) -> None:
    (place / "grows.jsonl").write_bytes(session(10))
    client.call("context_capture", archive="grows.ctxa", transcript="grows.jsonl")
    first = client.call("context_log", archive="grows.ctxa", limit=6)
    (place / "grows.jsonl").write_bytes(session(20))
    client.call("context_capture", archive="grows.ctxa", transcript="grows.jsonl")
    rest = client.call("context_log", archive="grows.ctxa", limit=6, next=first["next"])
    assert ([row["turn"] for row in rest["rows"]], rest["total"], rest["next"]) == ([6, 7, 8, 9], 10, None)
    refusal = client.refused("context_log", archive="a.ctxa", next=first["next"])
    assert (refusal["code"], "`next`" in refusal["message"]) == ("USAGE", True)


def test_expand_gives_the_bytes(client: Client, place: Path) -> None:
    result = client.call("context_expand", archive="a.ctxa", addresses=["1", "3:2-9", "small#2"])
    assert [{"schema": 1, "ok": True, **row} for row in result["rows"]] == command(
        "cat", "a.ctxa", "1", "3:2-9", "small#2", cwd=place
    )
    whole = client.call("context_expand", archive="a.ctxa")
    assert "".join(row["text"] for row in whole["rows"]).encode() == session(8)
    assert client.call("context_expand", archive="a.ctxa", range="5-400")["total"] == 3
    refusal = client.refused("context_expand", archive="a.ctxa", addresses=["99"])
    assert (refusal["code"], refusal["hint"]) == ("NO_SUCH_TURN", "context_log lists the turns")


def test_status_names_what_is_missing(client: Client, place: Path) -> None:
    (printed,) = command("info", "a.ctxa", cwd=place)
    result = client.call("context_status", archive="a.ctxa")
    assert {key: result[key] for key in printed} == printed | {"archive": str(place / "a.ctxa")}
    assert result["names"] == ["small"]
    assert "context_segment_export" in {each["tool"] for each in result["missing"]}
    bare = client.call("context_status", archive="big.ctxa")
    assert {"context_segment", "context_relate"} <= {each["tool"] for each in bare["missing"]}


def test_digest_and_verify(client: Client, place: Path) -> None:
    digest = client.call("archive_digest", archive="a.ctxa")
    assert digest["captures"] == 1
    done = client.call("archive_verify", archive="a.ctxa", expect=digest["archive_digest"], against=["small.jsonl"])
    assert (done["ok"], done["checked"], done["findings"]) == (True, "full", [])
    assert client.call("archive_verify", archive="a.ctxa", quick=True)["checked"] == "quick"
    assert client.refused("archive_verify", archive="a.ctxa", extends="0" * 64)["code"] == "DIGEST_UNEXPECTED"
    (place / "bad").mkdir()
    client.call("context_capture", archive="bad/x.ctxa", transcript="small.jsonl")
    (pack,) = (place / "bad/x.ctxa/pack").iterdir()
    pack.write_bytes(pack.read_bytes()[:-4] + b"oops")
    damaged = client.call("archive_verify", archive="bad/x.ctxa")
    assert not damaged["ok"]
    assert damaged["findings"]


def test_captures(client: Client) -> None:
    result = client.call("archive_captures", archive="big.ctxa", limit=1)
    assert ([row["transcript"] for row in result["captures"]], result["total"]) == (["long"], 2)
    rest = client.call("archive_captures", archive="big.ctxa", limit=1, next=result["next"])
    assert ([row["transcript"] for row in rest["captures"]], rest["next"]) == (["odd"], None)


def test_export_writes_a_file_once(client: Client, place: Path) -> None:
    result = client.call("archive_export", archive="a.ctxa", directory="out/deep")
    assert (place / "out/deep/small.jsonl").read_bytes() == session(8)
    assert result["files"][0]["sha256"] == sha(session(8))
    refusal = client.refused("archive_export", archive="a.ctxa", transcript="small", directory="out/deep")
    assert (refusal["code"], "`directory`" in refusal["hint"]) == ("WOULD_OVERWRITE", True)
    assert client.refused("archive_export", archive="a.ctxa", transcript="none")["code"] == "NO_SUCH_TRANSCRIPT"


def test_the_loop_by_words_and_by_vectors(client: Client, place: Path) -> None:
    client.call("context_capture", archive="loop.ctxa", transcript="small.jsonl")
    built = client.call("context_segment", archive="loop.ctxa", scheme="boundary-v1")
    assert (built["new_segments"], built["preservation_unchanged"]) == (built["segments"], True)
    words = client.call("context_address", archive="loop.ctxa", query="which remark 5", limit=3)
    assert (words["channel"], words["hits"][0]["turn"]) == ("lexical", 5)
    narrowed = client.call("context_address", archive="loop.ctxa", query="which remark 5", role="user", transcript="s")
    assert {hit["turn"] % 2 for hit in narrowed["hits"]} == {0}
    rows = vectors(client, "loop.ctxa")
    assert len(rows) == built["segments"]
    sampled = client.call("context_segment_export", archive="loop.ctxa", sample=2)
    assert [row["id"] for row in sampled["rows"]] == [rows[0]["id"], rows[-1]["id"]]

    stated = {"model": "m", "revision": "r"}
    unstated = client.refused("context_attach_vectors", archive="loop.ctxa", vectors=rows, model="m")
    assert (unstated["code"], "`revision`" in unstated["hint"]) == ("IDENTITY_UNSTATED", True)
    first = client.call("context_attach_vectors", archive="loop.ctxa", vectors=rows[:2], **stated)
    assert first["attached"] == 2
    (place / "vectors.ndjson").write_text("".join(json.dumps(row) + "\n" for row in rows))
    rest = client.call("context_attach_vectors", archive="loop.ctxa", vectors="vectors.ndjson", **stated)
    assert (rest["attached"], rest["already_attached"], rest["coverage"]) == (len(rows) - 2, 2, 1.0)
    (held,) = client.call("archive_vectors", archive="loop.ctxa")["vectors"]
    assert held["identity"]["model"] == "m"

    asked = {"archive": "loop.ctxa", "query_vector": rows[3]["vector"], "limit": 2}
    answer = client.call("context_address", **asked, **stated)
    assert (answer["channel"], len(answer["hits"])) == ("semantic", 2)
    assert answer["hits"][0]["cite"].startswith(rows[3]["id"].rpartition(":")[0])
    assert client.call("context_address", **asked, **stated, query="remark")["channel"] == "hybrid"
    assert client.refused("context_address", **asked, model="n", revision="r")["code"] == "INCOMPARABLE"
    assert client.refused("context_address", archive="loop.ctxa", query_vector=["x"], **stated)["code"] == (
        "MALFORMED_VECTORS"
    )
    assert client.refused("context_address", archive="loop.ctxa")["code"] == "USAGE"
    assert client.refused("context_address", archive="loop.ctxa", query="x", embed=True)["code"] == "USAGE"

    dropped = client.call("archive_drop_index", archive="loop.ctxa", fingerprint=held["identity_fingerprint"])
    assert [each["kind"] for each in dropped["dropped"]] == ["vectors"]
    assert dropped["preservation_unchanged"]
    assert client.call("archive_vectors", archive="loop.ctxa")["vectors"] == []
    assert client.refused("archive_drop_index", archive="loop.ctxa", scheme="none-v1")["code"] == "NO_SUCH_SCHEME"


def test_schemes(client: Client) -> None:
    rows = client.call("archive_schemes", archive="a.ctxa")["schemes"]
    assert [row["scheme"] for row in rows if row["built"]] == ["boundary-v1"]
    assert client.refused("context_segment", archive="a.ctxa", scheme="none-v1")["code"] == "NO_SUCH_SCHEME"


def test_embed_asks_no_other_machine(client: Client) -> None:
    refusal = client.refused("context_embed", archive="a.ctxa", server="http://192.0.2.7:11434", model="m")
    assert (refusal["code"], "--server http://192.0.2.7:11434" in refusal["hint"]) == ("OUTSIDE_ROOT", True)
    closed = client.refused("context_embed", archive="a.ctxa", server="http://127.0.0.1:9", model="m", dry_run=True)
    assert closed["code"] == "SERVER_UNREACHABLE"
    assert client.refused("context_embed", archive="a.ctxa")["code"] == "USAGE"


def test_a_program_of_the_user_embeds(loop: BlockingPortal, place: Path) -> None:
    program = place.parent / "program.py"
    program.write_text(
        "import json, sys\n"
        "print(json.dumps({'kind': 'ctxarc-vectors', 'model': 'p', 'revision': 'q'}))\n"
        "for line in sys.stdin:\n"
        "    row = json.loads(line)\n"
        "    if 'id' in row:\n"
        "        print(json.dumps({'id': row['id'], 'vector': [1.0, len(row['text']) / 9]}), flush=True)\n"
    )
    (place / "embedded.jsonl").write_bytes(session(3))
    with connected(loop, "embedded.ctxa", "--exec", f"{sys.executable} {program}", cwd=place) as client:
        client.call("context_capture", transcript="embedded.jsonl")
        client.call("context_segment")
        planned = client.call("context_embed", dry_run=True)
        assert (planned["dry_run"], planned["texts"]) == (True, 3)
        assert client.call("context_embed")["attached"] == 3
        answer = client.call("context_address", query="remark 2", embed=True, limit=1)
        assert (answer["channel"], answer["identity"]["model"]) == ("semantic", "p")


def test_relations(client: Client, place: Path) -> None:
    result = client.call("context_relate", archive="a.ctxa")
    assert (result["turns"], result["new_turns"], result["preservation_unchanged"]) == (8, 0, True)
    (printed,) = command("relations", "a.ctxa", "3", cwd=place)
    found = client.call("context_relations", archive="a.ctxa", address="3")
    assert found["relations"] == printed["relations"]
    assert client.refused("context_relations", archive="a.ctxa", kinds=["likes"])["code"] == "USAGE"
    assert client.refused("context_relations", archive="big.ctxa", address="long#1")["code"] == "NO_SUCH_RELATIONS"


def test_compare(client: Client) -> None:
    result = client.call("archive_compare", first="a.ctxa", second="many.ctxa")
    assert (result["same"], result["total"]) == (False, 2)
    assert client.call("archive_compare", first="a.ctxa", second="a.ctxa")["same"]
    assert client.refused("archive_compare", first="a.ctxa", second="none.ctxa")["code"] == "NO_SUCH_ARCHIVE"


def test_cite(client: Client) -> None:
    exact = client.call("context_cite", archive="a.ctxa", quote="apples, remark 3")
    assert (exact["exact"], [hit["turn"] for hit in exact["hits"]]) == (True, [3])
    near = client.call("context_cite", archive="a.ctxa", quote="apples, the remark 3")
    assert (near["exact"], near["hits"]) == (False, [])
    assert client.refused("context_cite", archive="a.ctxa", quote=" ")["code"] == "USAGE"


def test_project_is_within_its_budget(client: Client) -> None:
    result = client.call("context_project", archive="many.ctxa", budget=6000)
    assert (result["turns"], result["truncated"]) == (TURNS, False)
    assert result["shown_turns"] + result["cut_turns"] + result["omitted_turns"] == TURNS
    assert client.refused("context_project", archive="many.ctxa", budget=10**9)["code"] == "USAGE"


# --------------------------------------------------------------------------------------------------- bad arguments


@pytest.mark.parametrize("name", TOOLS)
def test_wrong_arguments_are_a_refusal(client: Client, name: str) -> None:
    unknown = client.refused(name, no_such_argument=1)
    assert (unknown["code"], unknown["facts"]["argument"]) == ("USAGE", "no_such_argument")
    first = next(iter(client.tools[name].input_schema["properties"]))
    missing = client.refused(name)
    assert (missing["code"], missing["facts"]["argument"]) == ("USAGE", first)
    of_a_type = client.refused(name, **{first: 7})
    assert of_a_type["code"] == "USAGE"


def test_values_outside_a_schema_are_refused(client: Client) -> None:
    for arguments, words in (
        ({"limit": 0}, "the least is 1"),
        ({"limit": 5000}, "the most is 1000"),
        ({"limit": 2.5}, "of type integer"),
        ({"limit": True}, "of type integer"),
        ({"role": ["user"]}, "of type string"),
        ({"next": "x" * 5000}, "no `next`"),
    ):
        refusal = client.refused("context_log", archive="a.ctxa", **arguments)
        assert (refusal["code"], words in refusal["message"]) == ("USAGE", True), refusal
        assert len(refusal["message"]) < 300
    assert client.refused("context_expand", archive="a.ctxa", addresses=[1])["code"] == "USAGE"


def test_a_tool_that_is_not_there_is_a_refusal(client: Client) -> None:
    refusal = client.refused("context_forget", archive="a.ctxa")
    assert refusal["code"] == "USAGE"
    assert refusal["facts"]["tools"] == list(TOOLS)


# ------------------------------------------------------------------------------------------------- what is too long


def test_a_turn_of_20_mb_comes_in_parts(client: Client) -> None:
    data = said("é\n" * (LONG // 3))
    first = client.call("context_expand", archive="big.ctxa", addresses=["long#0", "long#1"])
    (row,) = first["rows"]
    assert (first["total"], first["truncated"]) == (2, True)
    end = row["end_byte"]
    assert row["text"].encode() == data[:end]
    assert row["range_sha256"] == sha(data[:end])
    assert row["rest"] == f"ctxa:{sha(data)}:{end}-{len(data)}"
    assert LIMIT - 1000 < len(json.dumps(first, ensure_ascii=False, separators=(",", ":")).encode()) <= LIMIT
    second = client.call("context_expand", archive="big.ctxa", addresses=["long#0", "long#1"], next=first["next"])
    assert second["rows"][0]["start_byte"] == end
    assert second["rows"][0]["cite"] == f"ctxa:{sha(data)}:{end}-{second['rows'][0]['end_byte']}"
    by_address = client.call("context_expand", archive="big.ctxa", addresses=[row["rest"]])
    assert by_address["rows"][0]["text"][:20_000] == second["rows"][0]["text"][:20_000]


def test_pages_of_a_long_turn_are_its_bytes(client: Client) -> None:
    pages = client.every("context_expand", archive="big.ctxa", addresses=["odd#"])
    rows = [row for page in pages for row in page["rows"]]
    parts = [row["text"].encode() if "text" in row else b64decode(row["base64"]) for row in rows]
    assert sha(b"".join(parts)) == sha(said("ö\u4e00\U0001f600" * 9000) + b"\xff\xfe" * 40_000 + b"\n")
    assert {"text", "base64"} <= {key for row in rows for key in row}
    assert all(row["range_sha256"] == sha(part) for row, part in zip(rows, parts, strict=True))
    assert all("�" not in row.get("text", "") for row in rows)


def test_long_texts_of_hits_are_clipped(client: Client, place: Path) -> None:
    (place / "wordy.jsonl").write_bytes(b"".join(said(f"pear {number} " * 20_000) for number in range(3)))
    client.call("context_capture", archive="wordy.ctxa", transcript="wordy.jsonl")
    result = client.call("context_address", archive="wordy.ctxa", query="pear")
    assert (len(result["hits"]), result["total"], result["truncated"]) == (3, 3, True)
    assert all(hit["clipped"] and len(hit["text"]) == 4000 for hit in result["hits"])


# ------------------------------------------------------------------------------------------------------- resources


def test_a_turn_is_a_resource(client: Client, loop: BlockingPortal, place: Path) -> None:
    (template,) = loop.call(client.session.list_resource_templates).resource_templates
    assert template.uri_template == "ctxa:{citation}"
    turn = session(8).splitlines(keepends=True)[3]
    (whole,) = client.read(f"ctxa:{sha(turn)}").contents
    assert (whole.uri, getattr(whole, "text", None)) == (f"ctxa:{sha(turn)}", turn.decode())
    (part,) = client.read(f"ctxa:{sha(turn)}:2-9").contents
    assert getattr(part, "text", None) == turn[2:9].decode()
    odd = b"\xff\xfe" * 40_000 + b"\n"
    (blob,) = client.read(f"ctxa:{sha(odd)}:0-50").contents
    assert b64decode(getattr(blob, "blob", "")) == odd[:50]
    long = sha(said("é\n" * (LONG // 3)))
    (first,) = client.read(f"ctxa:{long}").contents
    assert first.meta
    assert first.meta["rest"].startswith(f"ctxa:{long}:")
    for uri, code in (("ctxa:" + "0" * 64, "NO_SUCH_TURN"), ("file:///etc/passwd", "BAD_ADDRESS")):
        with pytest.raises(MCPError, match=code) as caught:
            client.read(uri)
        assert caught.value.data["code"] == code
    assert place.is_dir()


# ------------------------------------------------------------------------------------------- progress, cancellation


def test_progress_grows(client: Client, loop: BlockingPortal) -> None:
    told: list[tuple[float, float | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        assert message
        told.append((progress, total))

    async def ask() -> None:
        await client.session.call_tool("archive_verify", {"archive": "big.ctxa"}, progress_callback=hear)

    loop.call(ask)
    assert told
    assert [done for done, _ in told] == sorted({done for done, _ in told})
    assert all(total is None or done <= total for done, total in told)


def test_a_cancelled_capture_leaves_nothing(client: Client, place: Path) -> None:
    with (place / "huge.jsonl").open("wb") as stream:
        stream.writelines(said(f"{number} " + os.urandom(30_000).hex()) for number in range(600))
    assert client.cancelled("context_capture", archive="cancelled.ctxa", transcript="huge.jsonl")
    deadline = time.monotonic() + 20
    while list(place.glob("*cancelled.ctxa*")) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not list(place.glob("*cancelled.ctxa*"))

    client.call("context_capture", archive="kept.ctxa", transcript="small.jsonl")
    before = client.call("archive_digest", archive="kept.ctxa")
    assert client.cancelled("context_capture", archive="kept.ctxa", transcript="huge.jsonl")
    assert client.call("archive_digest", archive="kept.ctxa") == before
    assert client.call("context_capture", archive="kept.ctxa", transcript="small.jsonl")["unchanged"]
    assert client.call("archive_verify", archive="kept.ctxa")["ok"]


def test_others_are_answered_meanwhile(client: Client, loop: BlockingPortal) -> None:
    ended: list[str] = []

    async def long() -> None:
        await client.session.call_tool("context_find", {"archive": "big.ctxa", "pattern": "é", "limit": 1})
        ended.append("long")

    async def both() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(long)
            await client.session.call_tool("archive_digest", {"archive": "a.ctxa"})
            ended.append("short")

    loop.call(both)
    assert ended == ["short", "long"]


# ------------------------------------------------------------------------------------- how a server is started and ends


def test_a_default_archive_and_the_short_list(loop: BlockingPortal, place: Path, client: Client) -> None:
    assert client.tools
    with connected(loop, "a.ctxa", "--tools", "loop", cwd=place) as other:
        assert list(other.tools) == [name for name in TOOLS if name in LOOP]
        assert "archive" not in other.tools["context_address"].input_schema["required"]
        assert other.call("context_address", query="remark 3")["archive"] == str(place / "a.ctxa")
        assert "loop alone" in other.refused("context_log")["message"]
        turn = session(8).splitlines(keepends=True)[0]
        (found,) = other.read(f"ctxa:{sha(turn)}").contents
        assert getattr(found, "text", None) == turn.decode()


def test_read_only(loop: BlockingPortal, place: Path, client: Client) -> None:
    assert client.tools
    with connected(loop, "--root", place, "--read-only", cwd=place.parent) as other:
        assert set(other.tools) == set(TOOLS) - WRITING
        refusal = other.refused("context_capture", archive="ro.ctxa", transcript="small.jsonl")
        assert "only reads" in refusal["message"]
        assert other.call("context_log", archive="a.ctxa")["total"] == 8


def test_two_clients_on_one_archive(loop: BlockingPortal, place: Path, client: Client) -> None:
    (place / "ours.jsonl").write_bytes(session(3, "ours"))
    (place / "theirs.jsonl").write_bytes(session(4, "theirs"))
    with connected(loop, "two.ctxa", cwd=place) as other:
        first = loop.start_task_soon(
            client.session.call_tool, "context_capture", {"archive": "two.ctxa", "transcript": "ours.jsonl"}
        )
        second = loop.start_task_soon(other.session.call_tool, "context_capture", {"transcript": "theirs.jsonl"})
        assert not first.result(20).is_error
        assert not second.result(20).is_error
        assert other.call("context_status")["names"] == ["ours", "theirs"]
        assert client.call("context_log", archive="two.ctxa")["total"] == 7
        assert client.call("archive_verify", archive="two.ctxa")["ok"]


def test_the_modern_protocol_is_spoken_too(loop: BlockingPortal, place: Path, client: Client) -> None:
    server = StdioServerParameters(command=sys.executable, args=["-m", "ctxarc.mcp"], cwd=place)

    async def ask() -> tuple[str, Any]:
        async with ModernClient(server) as modern:
            answer = await modern.call_tool("archive_digest", {"archive": "a.ctxa"})
            return modern.protocol_version, answer.structured_content

    version, answer = loop.call(ask)
    assert version >= "2026"
    assert answer == client.call("archive_digest", archive="a.ctxa")


def test_only_the_protocol_is_on_stdout(place: Path) -> None:
    handshake = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    lines: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": handshake},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "context_status", "arguments": {}}},
        {"jsonrpc": "2.0", "id": 3, "method": "no/such"},
    ]
    with subprocess.Popen(
        [sys.executable, "-m", "ctxarc", "mcp", "--json"], cwd=place, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        assert server.stdin
        assert server.stdout
        server.stdin.write(b"no json\n" + b"".join(json.dumps(line).encode() + b"\n" for line in lines))
        server.stdin.flush()
        answers = [json.loads(server.stdout.readline()) for _ in range(3)]
        server.stdin.close()
        assert server.stdout.read() == b""
        assert server.wait(10) == 0
    assert all(answer["jsonrpc"] == "2.0" for answer in answers)
    by_id = {answer["id"]: answer for answer in answers}
    assert by_id[2]["result"]["isError"]
    assert by_id[3]["error"]["code"] == -32601


@pytest.mark.parametrize("end", ["closes", "killed"])
def test_a_client_that_vanishes_ends_the_server(place: Path, tmp_path: Path, end: str) -> None:
    source = tmp_path / "huge.jsonl"
    with source.open("wb") as stream:
        stream.writelines(said(f"{number} " + os.urandom(30_000).hex()) for number in range(400))
    handshake = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    asked = {"name": "context_capture", "arguments": {"archive": "gone.ctxa", "transcript": str(source)}}
    lines: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": handshake},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": asked | {"_meta": {"progressToken": 9}}},
    ]
    with subprocess.Popen(
        [sys.executable, "-m", "ctxarc", "mcp", "--root", str(tmp_path)],
        cwd=place,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as server:
        assert server.stdin
        assert server.stdout
        server.stdin.write(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
        server.stdin.flush()
        server.stdout.readline()
        assert b"notifications/progress" in server.stdout.readline()
        if end == "killed":
            server.send_signal(signal.SIGINT)
        server.stdin.close()
        server.stdout.read()
        assert server.wait(20) == (0 if end == "closes" else -signal.SIGINT)
    archive = tmp_path / "gone.ctxa"
    assert not archive.exists() or verify(archive).ok


def test_the_package_that_is_missing_is_named(tmp_path: Path) -> None:
    code = "import sys; sys.modules['mcp'] = None; from ctxarc.cli.main import main; sys.exit(main(['mcp', '--json']))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, check=False, env=environment()
    )
    refusal = json.loads(done.stdout)["refusal"]
    assert (done.returncode, refusal["code"]) == (6, "MISSING_PACKAGE")
    assert refusal["hint"] == "pip install 'ctxarc[mcp]'"


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["--root", "none"], "NO_SUCH_SOURCE"),
        (["--root", "in", "out.ctxa"], "USAGE"),
        (["--exec", "'"], "USAGE"),
        (["--tools", "some"], "USAGE"),
    ],
)
def test_a_server_that_cannot_start_says_why(tmp_path: Path, args: list[str], code: str) -> None:
    (tmp_path / "in").mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "ctxarc", "mcp", "--json", *args],
        cwd=tmp_path,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert json.loads(done.stdout)["refusal"]["code"] == code
