"""``bench relations``: the numbers of edges whose places and vectors are known, and a page that says the same."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from archives import digest_of, files_of, store, store_all
from cases import one, run, said

from ctxarc.bench.page import page
from ctxarc.bench.relations import measure
from ctxarc.bench.subject import archive_of
from ctxarc.operations.export import ExportOptions, export
from ctxarc.operations.segment import segment

SCHEME = "whole-turn-v1"


def record(kind: str, id_: str, parent: str | None, content: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON
    message = {"role": kind, "content": content}
    return {"type": kind, "sessionId": "s", "uuid": id_, "parentUuid": parent, "message": message}


RECORDS = (
    record("user", "u0", None, "Look at src/app.py"),
    record("assistant", "u1", "u0", [{"type": "tool_use", "id": "T1", "input": {"q": "x"}}]),
    record("assistant", "u2", "u1", "Waiting."),
    record("user", "u3", "u0", [{"type": "tool_result", "tool_use_id": "T1", "content": "fine"}]),
    record("assistant", "u4", None, "Nothing."),
    record("user", "u5", None, "And src/app.py?"),
)
"""Replies 1-0, 2-1, 3-0; the result of turn 3 is of the call in turn 1; turns 5 and 0 mention one path."""
VECTORS = ((3.0, 0.0), (0.0, 3.0), (0.0, -3.0), (3.0, 3.0), (-3.0, 0.0), (-3.0, -3.0))
"""Of turns 0 to 5; their mean is zero, so that they are what centred vectors are."""


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Six turns, of which it is known what they join."""
    path = tmp_path / "a.ctxa"
    store(path, b"".join(json.dumps(each).encode() + b"\n" for each in RECORDS))
    return path


def attach(archive: Path, vectors: tuple[tuple[float, float], ...] = VECTORS, model: str = "m") -> None:
    segment(archive, [SCHEME])
    rows = list(export(archive, ExportOptions(scheme=SCHEME)))[1:]
    first = {"kind": "ctxarc-vectors", "model": model, "revision": "r", "projection": "json-text-v1", "scheme": SCHEME}
    lines = [first, *({"id": row.id, "vector": vectors[row.turn]} for row in rows)]  # type: ignore[union-attr]
    one(run("attach", archive, "-", "--json", stdin="".join(json.dumps(line) + "\n" for line in lines).encode()))


def cosine(one_: int, other: int) -> float:
    a, b = VECTORS[one_], VECTORS[other]
    return math.fsum(map(float.__mul__, a, b)) / (math.hypot(*a) * math.hypot(*b))


def row(result: dict[str, Any], kind: str) -> dict[str, Any]:
    (found,) = (each for each in [*result["kinds"], result["all"]] if each["kind"] == kind)
    return dict(found)


def test_edges_are_counted_with_their_reach(archive: Path) -> None:
    result = measure(archive)
    replies, results, paths = (row(result, kind) for kind in ("replies-to", "tool-result-of", "mentions-path"))
    assert (replies["edges"], replies["neighbours"], replies["longest_reach"]) == (3, 2, 3)
    assert replies["share_of_neighbours"] == pytest.approx(2 / 3, abs=1e-4)
    assert (results["edges"], results["neighbours"], results["longest_reach"]) == (1, 0, 2)
    assert (paths["edges"], paths["longest_reach"]) == (1, 5)
    assert paths["reach"][-1] == {"from": 5, "to": 8, "edges": 1}
    assert sum(each["edges"] for each in replies["reach"]) == 3
    # 1-0, 2-1, 3-0, 3-1, 5-0
    assert (row(result, "any")["edges"], row(result, "any")["beyond_neighbours"]) == (5, 3)


def test_closeness_is_the_mean_cosine_of_what_is_joined(archive: Path) -> None:
    attach(archive)
    result = measure(archive)
    replies = [cosine(1, 0), cosine(2, 1), cosine(3, 0)]
    measured = row(result, "replies-to")["cosine"]
    mean = sum(replies) / 3
    assert measured["pairs"] == 3
    assert measured["mean"] == pytest.approx(mean, abs=1e-4)
    assert measured["sd"] == pytest.approx(math.sqrt(sum((each - mean) ** 2 for each in replies) / 2), abs=1e-4)
    assert row(result, "replies-to")["cosine_beyond_neighbours"]["mean"] == pytest.approx(cosine(3, 0), abs=1e-4)
    adjacent = sum(cosine(turn + 1, turn) for turn in range(5)) / 5
    assert result["baselines"]["adjacent"]["mean"] == pytest.approx(adjacent, abs=1e-4)
    assert row(result, "replies-to")["ratio_to_adjacent"] == pytest.approx(mean / adjacent, abs=1e-3)
    # All pairs, drawn many times: the mean of all of them is near.
    pairs = [cosine(a, b) for a in range(6) for b in range(a)]
    assert result["baselines"]["random"]["mean"] == pytest.approx(sum(pairs) / len(pairs), abs=0.02)
    far = [cosine(a, b) for a in range(6) for b in range(a - 1)]
    assert result["baselines"]["random_beyond_neighbours"]["mean"] == pytest.approx(sum(far) / len(far), abs=0.02)


def test_without_vectors_closeness_is_not_measured_and_says_why(archive: Path) -> None:
    result = measure(archive)
    assert result["baselines"] is None
    assert "cosine" not in row(result, "replies-to")
    assert "no vectors" in result["vectors"]["not_measured"]
    assert "closeness not measured" in run("bench", "relations", archive).stdout.decode()


def test_of_two_models_one_has_to_be_named(archive: Path) -> None:
    attach(archive, model="m")
    attach(archive, model="n")
    result = measure(archive)
    assert result["baselines"] is None
    fingerprints = re.findall(r"\b[0-9a-f]{8}\b", result["vectors"]["not_measured"])
    assert len(fingerprints) == 2
    assert measure(archive, fingerprint=fingerprints[0])["baselines"] is not None


def test_nothing_is_written_and_a_transcript_is_measured_too(archive: Path, tmp_path: Path) -> None:
    attach(archive)
    before = files_of(archive), digest_of(archive)
    one(run("bench", "relations", archive, "--json"))
    assert (files_of(archive), digest_of(archive)) == before
    source = tmp_path / "t.jsonl"
    source.write_bytes(run("cat", archive).stdout)
    alone = one(run("bench", "relations", source, "--json"))
    assert row(alone, "replies-to")["edges"] == 3
    with archive_of(source) as made:
        assert made.is_dir()
    assert not made.exists()


def test_edges_of_several_transcripts_stay_within_each(tmp_path: Path) -> None:
    path = tmp_path / "a.ctxa"
    lines = b"".join(json.dumps(each).encode() + b"\n" for each in RECORDS)
    store_all(path, {"a": lines, "b": said("no edge")})
    assert row(measure(path), "any")["edges"] == 5


def test_the_page_and_the_file_say_what_was_measured(archive: Path, tmp_path: Path) -> None:
    attach(archive)
    out = tmp_path / "out"
    result = one(run("bench", "relations", archive, "--out", out, "--json"))
    written = json.loads((out / "relations.json").read_text(encoding="utf-8"))
    assert {key: result[key] for key in written} == written
    text = (out / "relations.html").read_text(encoding="utf-8")
    assert text == page([written])
    for each in [*written["kinds"], written["all"]]:
        measured = each["cosine"]
        assert f"{measured['mean']:.4f} ± {measured['sd']:.4f}" in text
    assert "<td>5 to 8</td><td>0</td><td>0</td><td>1</td>" in text
    assert written["source"]["archive_digest"] in text
    assert not re.search(r"(?:src|href)=|url\(|@import|<script", text)


def test_names_from_an_archive_cannot_become_markup(tmp_path: Path) -> None:
    path = tmp_path / "a.ctxa"
    store(path, said("x"), name="<img onerror=alert(1)>")
    assert "<img" not in page([measure(path)])


def test_a_folder_that_cannot_be_written_is_refused(archive: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    done = run("bench", "relations", archive, "--out", tmp_path / "file", "--json")
    assert done.returncode == 6
    assert b"Traceback" not in done.stderr
    before = files_of(archive)
    inside = one(run("bench", "relations", archive, "--out", archive / "out", "--json"))
    assert inside["refusal"]["code"] == "USAGE"
    assert files_of(archive) == before
    assert run("bench", "relations", tmp_path / "none", "--json").returncode == 5
