"""Which paths an MCP server touches: those below its root, links resolved; and to read, its folders of sources."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cases import said, session

pytest.importorskip("mcp", reason="the package mcp is not installed: pip install 'ctxarc[mcp]'")

from mcp_client import Client, connected, portal

from ctxarc.errors import BadUsage, OutsideRoot
from ctxarc.mcp.places import Places
from ctxarc.mcp.settings import Settings

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What no call may reach: a transcript, an archive made elsewhere, and an empty directory."""
    place = tmp_path_factory.mktemp("outside")
    (place / "secret.jsonl").write_bytes(session(2, "secrets"))
    (place / "empty").mkdir()
    (place / "vectors.ndjson").write_bytes(b'{"id": "x", "vector": [1]}\n')
    return place


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory, outside: Path) -> Path:
    """The root: a transcript, and links that lead out."""
    place = tmp_path_factory.mktemp("root")
    (place / "s.jsonl").write_bytes(session(3))
    (place / "out.jsonl").symlink_to(outside / "secret.jsonl")
    (place / "out").symlink_to(outside)
    (place / "out.ctxa").symlink_to(outside / "made.ctxa")
    (place / "folder").mkdir()
    (place / "folder/good.jsonl").write_bytes(said("good"))
    (place / "folder/bad.jsonl").symlink_to(outside / "secret.jsonl")
    (place / "name.jsonl").symlink_to(place / "s.jsonl")
    os.mkfifo(place / "pipe")
    return place


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of sources beside the root."""
    place = tmp_path_factory.mktemp("sessions")
    (place / "theirs.jsonl").write_bytes(session(2))
    return place


@pytest.fixture(scope="module")
def loop() -> Iterator[BlockingPortal]:
    with portal() as running:
        yield running


@pytest.fixture(scope="module")
def client(loop: BlockingPortal, root: Path, outside: Path, sessions: Path) -> Iterator[Client]:
    with connected(loop, "--root", root, "--sources", sessions, cwd=outside) as made:
        made.call("context_capture", archive="a.ctxa", transcript="s.jsonl")
        yield made


def tree(place: Path) -> set[str]:
    """Every path below a directory."""
    return {str(path.relative_to(place)) for path in place.rglob("*")}


@pytest.mark.parametrize("path", ["../x.ctxa", "a/../../x.ctxa", "out/x.ctxa", "out.ctxa", "/tmp/x.ctxa"])  # noqa: S108 - a path to refuse
@pytest.mark.parametrize("tool", ["context_capture", "context_log", "context_segment", "archive_verify"])
def test_an_archive_outside_the_root_is_refused(client: Client, outside: Path, tool: str, path: str) -> None:
    before = tree(outside)
    source = {"transcript": "s.jsonl"} if tool == "context_capture" else {}
    refusal = client.refused(tool, archive=path, **source)
    assert (refusal["code"], refusal["facts"]["path"]) == ("OUTSIDE_ROOT", path)
    assert "below the root" in refusal["hint"]
    assert tree(outside) == before


@pytest.mark.parametrize("path", ["../outside0/secret.jsonl", "out.jsonl", "out/secret.jsonl", "out", "/etc/passwd"])
def test_a_source_outside_is_refused(client: Client, root: Path, path: str) -> None:
    refusal = client.refused("context_capture", archive="never.ctxa", transcript=path)
    assert refusal["code"] == "OUTSIDE_ROOT"
    assert not (root / "never.ctxa").exists()


def test_links_that_stay_inside_are_followed(client: Client, root: Path) -> None:
    result = client.call("context_capture", archive="linked.ctxa", transcript="name.jsonl")
    assert (result["transcript"], result["source"]) == ("name", str(root / "s.jsonl"))


def test_a_folder_of_sources_is_read(client: Client, sessions: Path) -> None:
    assert client.call("context_capture", archive="theirs.ctxa", transcript=str(sessions / "theirs.jsonl"))["ok"]
    assert client.refused("context_log", archive=str(sessions / "x.ctxa"))["code"] == "OUTSIDE_ROOT"
    refusal = client.refused("archive_export", archive="a.ctxa", directory=str(sessions))
    assert refusal["code"] == "OUTSIDE_ROOT"


def test_a_link_in_a_captured_directory_is_refused_alone(client: Client) -> None:
    result = client.call("context_capture", archive="folder.ctxa", transcript="folder")
    assert [each["transcript"] for each in result["transcripts"]] == ["good"]
    assert [each["refusal"]["code"] for each in result["refused"]] == ["OUTSIDE_ROOT"]
    assert client.call("context_find", archive="folder.ctxa", pattern="secrets")["total"] == 0


@pytest.mark.parametrize("folder", ["words", "segments", "vectors", "edges"])
def test_a_link_in_an_archive_that_leads_out_is_refused(client: Client, root: Path, outside: Path, folder: str) -> None:
    archive = f"trap-{folder}.ctxa"
    client.call("context_capture", archive=archive, transcript="s.jsonl")
    (root / archive / folder).symlink_to(outside / "empty")
    assert client.refused("context_segment", archive=archive)["code"] == "OUTSIDE_ROOT"
    assert tree(outside / "empty") == set()


def test_an_export_outside_is_refused(client: Client, root: Path, outside: Path) -> None:
    for directory in ("out", "../here", str(outside)):
        refusal = client.refused("archive_export", archive="a.ctxa", directory=directory)
        assert refusal["code"] == "OUTSIDE_ROOT"
    (root / "deep").mkdir()
    (root / "nested").mkdir()
    (root / "deep/nested").mkdir()
    (root / "deep/nested/n.jsonl").write_bytes(session(1))
    client.call("context_capture", archive="nested.ctxa", transcript="deep")
    (root / "nested/nested").symlink_to(outside)
    refusal = client.refused("archive_export", archive="nested.ctxa", directory="nested")
    assert refusal["code"] == "OUTSIDE_ROOT"
    assert not (outside / "n.jsonl").exists()
    inside = client.refused("archive_export", archive="a.ctxa", directory="a.ctxa")
    assert inside["code"] == "USAGE"


def test_vectors_and_sources_to_compare_outside_are_refused(client: Client, outside: Path) -> None:
    file = str(outside / "vectors.ndjson")
    stated = {"model": "m", "revision": "r"}
    assert client.refused("context_attach_vectors", archive="a.ctxa", vectors=file, **stated)["code"] == "OUTSIDE_ROOT"
    assert client.refused("archive_verify", archive="a.ctxa", against=["out/secret.jsonl"])["code"] == "OUTSIDE_ROOT"
    assert client.refused("archive_compare", first="a.ctxa", second="../b.ctxa")["code"] == "OUTSIDE_ROOT"


@pytest.mark.parametrize("path", ["", "a\0b", "x" * 5000, "pipe", "none.jsonl"])
def test_what_is_no_file_is_refused(client: Client, path: str) -> None:
    refusal = client.refused("context_capture", archive="never.ctxa", transcript=path)
    assert refusal["code"] in {"USAGE", "NO_SUCH_SOURCE"}


def test_the_archive_of_the_command_line_may_lie_anywhere(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "x.ctxa").mkdir()
    named = str(tmp_path / "x.ctxa")
    places = Places(Settings(root=tmp_path / "root", archive=named, anywhere=True))
    assert places.archive(None) == places.archive(named) == tmp_path / "x.ctxa"
    with pytest.raises(OutsideRoot):
        places.archive(str(tmp_path / "y.ctxa"))
    with pytest.raises(OutsideRoot):
        Places(Settings(root=tmp_path / "root", archive=named)).archive(None)
    with pytest.raises(BadUsage, match="no archive is named"):
        Places(Settings(root=tmp_path)).archive(None)


def test_a_link_put_in_the_place_of_what_was_checked_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "root/in").mkdir(parents=True)
    (tmp_path / "root/link").symlink_to("in")
    places = Places(Settings(root=tmp_path / "root"))
    found = places.archive("link/x.ctxa")
    (tmp_path / "root/link").unlink()
    (tmp_path / "root/link").symlink_to(tmp_path)
    assert found == tmp_path / "root/in/x.ctxa"
