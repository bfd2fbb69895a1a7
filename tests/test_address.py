"""``address``: a question or its vector in, places of the record out, each proved; what cannot be compared is named."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
from archives import files_of, store, store_all
from cases import objects, one, refused, run, said

from ctxarc.operations.export import ExportOptions, export
from ctxarc.operations.query_vectors import read_queries
from ctxarc.operations.segment import segment

SCHEME = "sized-900-v1"
MODEL, REVISION = "test-model", "sha256:1"
TOPICS = ("the harbour pilot waits for the tide", "a lantern in the fog", "seven crates of copper rope", "storm sails")


def transcript(turns: int, *, repeat: str = "") -> bytes:
    """A conversation whose turns each have words of their own, and now and then the very same text."""
    parts = []
    for number in range(turns):
        topic = repeat if repeat and number % 5 == 4 else f"{TOPICS[number % 4]}, note number{number}"
        parts.append(said(topic, "user" if number % 2 == 0 else "assistant", second=number % 60))
    return b"".join(parts)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """An archive of forty turns, a fifth of which say the same, cut by one scheme."""
    place = tmp_path / "a.ctxa"
    store(place, transcript(40, repeat="nothing to report today from the pier"))
    segment(place, [SCHEME])
    return place


def rows_of(archive: Path, scheme: str = SCHEME) -> list[Any]:
    """The rows of an export."""
    return list(export(archive, ExportOptions(scheme=scheme)))[1:]


def attached(archive: Path, rows: list[Any], width: int = 16, seed: int = 1, **identity: str) -> dict[str, list[float]]:
    """Attach a random vector for each row, and give them by id."""
    source = random.Random(seed)  # noqa: S311 - numbers, no secret
    vectors = {row.id: [round(source.gauss(0, 1), 5) for _ in range(width)] for row in rows}
    said_first = {"kind": "ctxarc-vectors", "model": MODEL, "revision": REVISION, "dimensions": width}
    said_first |= {"projection": "json-text-v1", "scheme": SCHEME} | identity
    lines = [said_first, *({"id": name, "vector": vector} for name, vector in vectors.items())]
    one(run("attach", archive, "-", "--json", stdin="".join(json.dumps(line) + "\n" for line in lines).encode()))
    return vectors


def query(numbers: list[float], **fields: object) -> bytes:
    """A query as a file has it."""
    return json.dumps({"model": MODEL, "revision": REVISION, "vector": numbers} | fields).encode()


def asked(archive: Path, data: bytes, *options: str) -> dict[str, Any]:
    """The answer to a query."""
    return one(run("address", archive, "--vector", "-", *options, "--json", stdin=data))


def refusal(archive: Path, data: bytes, *options: str) -> tuple[int, dict[str, Any]]:
    """The status and the refusal of a query."""
    done = run("address", archive, "--vector", "-", *options, "--json", stdin=data)
    return done.returncode, json.loads(done.stdout)["refusal"]


def cosine(one_: list[float], other: list[float]) -> float:
    """The plain definition."""
    return math.fsum(map(float.__mul__, one_, other)) / (math.hypot(*one_) * math.hypot(*other))


# ------------------------------------------------------------------------------------------------------- by vectors


def test_a_segments_own_vector_finds_it_with_its_bytes_proved(archive: Path) -> None:
    rows = rows_of(archive)
    vectors = attached(archive, rows)
    for row in rows[::7]:
        result = asked(archive, query(vectors[row.id]))
        hit = result["hits"][0]
        mine = (row.turn, row.start_byte, row.end_byte)
        assert (hit["turn"], hit["start_byte"], hit["end_byte"]) == mine
        assert hit["score"] == pytest.approx(1, abs=1e-6)
        assert hit["digest_verified"] is True
        assert hit["turn_sha256"] == row.turn_sha256
        stretch = run("cat", archive, hit["cite"]).stdout
        assert stretch == run("cat", archive, f"{hit['turn']}:{hit['start_byte']}-{hit['end_byte']}").stdout


def test_the_answer_says_what_was_searched_and_by_what(archive: Path) -> None:
    rows = rows_of(archive)
    vectors = attached(archive, rows)
    result = asked(archive, query(vectors[rows[0].id]))
    assert result["channel"] == "semantic"
    assert result["scheme"] == SCHEME
    assert result["identity"] == {
        "model": MODEL,
        "revision": REVISION,
        "dimensions": 16,
        "projection": "json-text-v1",
        "scheme": SCHEME,
    }
    assert result["searched"] == result["segments_in_index"] == len(rows)
    assert result["coverage"] == {"segments": 1.0, "bytes": 1.0, "turns": 1.0}
    assert result["complete"] is True
    assert result["omitted"] == []
    assert result["backend"] == "numpy"


def test_scores_are_cosines_from_the_mean_of_all_vectors_and_plain_ones_on_request(archive: Path) -> None:
    rows = rows_of(archive)
    vectors = attached(archive, rows)
    asking = vectors[rows[3].id]
    mean = [math.fsum(column) / len(rows) for column in zip(*vectors.values(), strict=True)]

    def centred(vector: list[float]) -> list[float]:
        return [number - middle for number, middle in zip(vector, mean, strict=True)]

    by_place = {(row.turn, row.start_byte): vectors[row.id] for row in rows}
    for hit in asked(archive, query(asking), "-k", "5")["hits"]:
        theirs = by_place[hit["turn"], hit["start_byte"]]
        assert hit["score"] == pytest.approx(cosine(centred(asking), centred(theirs)), abs=1e-6)
    for hit in asked(archive, query(asking), "-k", "5", "--no-centre")["hits"]:
        assert hit["score"] == pytest.approx(cosine(asking, by_place[hit["turn"], hit["start_byte"]]), abs=1e-6)


def test_equal_texts_are_one_hit_that_names_all_their_places(archive: Path) -> None:
    rows = rows_of(archive)
    vectors = attached(archive, rows)
    same = [row for row in rows if row.text == "nothing to report today from the pier"]
    assert len(same) == 8
    hits = asked(archive, query(vectors[same[2].id]), "-k", "40")["hits"]
    mine = [hit for hit in hits if hit["text"] == same[0].text]
    assert len(mine) == 1
    assert mine[0]["turn"] == same[2].turn
    assert mine[0]["places"] == 8
    assert {(other["turn"], other["why"]) for other in mine[0]["also_at"]} == {
        (row.turn, "text") for row in same if row.turn != same[2].turn
    }
    assert len({hit["text"] for hit in hits}) == len(hits)


def test_a_turn_that_stands_in_two_transcripts_is_one_hit_with_both_places(tmp_path: Path) -> None:
    place = tmp_path / "a.ctxa"
    store_all(place, {"one": transcript(6), "two": transcript(6)})
    segment(place, [SCHEME])
    rows = rows_of(place)
    vectors = attached(place, rows)
    hit = asked(place, query(vectors[rows[0].id]))["hits"][0]
    assert hit["transcript"] == "one"
    assert [(other["transcript"], other["turn"], other["why"]) for other in hit["also_at"]] == [("two", 0, "turn")]


def test_ties_stand_in_order_of_transcript_turn_and_place(tmp_path: Path) -> None:
    place = tmp_path / "a.ctxa"
    store_all(place, {"b": said("beta one"), "a": said("alpha one") + said("alpha two")})
    segment(place, [SCHEME])
    rows = rows_of(place)
    lines: list[dict[str, Any]] = [{"kind": "ctxarc-vectors", "model": "m", "revision": "r", "scheme": SCHEME}]
    lines += [{"id": row.id, "vector": [1, 1, 0]} for row in rows]
    assert run("attach", place, "-", stdin="".join(json.dumps(line) + "\n" for line in lines).encode()).returncode == 0
    result = asked(place, query([1, 1, 0], model="m", revision="r"), "--no-centre")
    assert [(hit["transcript"], hit["turn"]) for hit in result["hits"]] == [("a", 0), ("a", 1), ("b", 0)]
    assert len({hit["score"] for hit in result["hits"]}) == 1


def test_the_search_is_narrowed_to_a_role_or_a_transcript_and_says_so(tmp_path: Path) -> None:
    place = tmp_path / "a.ctxa"
    store_all(place, {"one": transcript(10), "two": transcript(30)})
    segment(place, [SCHEME])
    rows = rows_of(place)
    vectors = attached(place, rows)
    result = asked(place, query(vectors[rows[0].id]), "--role", "assistant", "-k", "100")
    assert result["role"] == "assistant"
    assert {hit["turn"] % 2 for hit in result["hits"]} == {1}
    assert result["searched"] == result["segments_in_index"] == len(result["hits"])
    only = asked(place, query(vectors[rows[0].id]), "--transcript", "two", "-k", "100")
    assert only["transcript"] == "two"
    assert {hit["transcript"] for hit in only["hits"]} == {"two"}
    assert only["segments_in_index"] == 30


def test_many_queries_in_one_call_are_answered_a_line_each_as_they_are_alone(archive: Path) -> None:
    rows = rows_of(archive)
    vectors = attached(archive, rows)
    some = [row.id for row in rows[:5]]
    data = b"\n".join(query(vectors[name], id=name) for name in some)
    answers = objects(run("address", archive, "--vector", "-", "--json", stdin=data))
    assert [answer["id"] for answer in answers] == some
    for name, answer in zip(some, answers, strict=True):
        assert answer["hits"] == asked(archive, query(vectors[name]))["hits"]


def test_coverage_counts_what_has_a_vector_and_less_is_refused_on_request(archive: Path) -> None:
    rows = rows_of(archive)
    vectors = attached(archive, rows[:10])
    data = query(vectors[rows[0].id])
    result = asked(archive, data)
    assert result["coverage"]["segments"] == pytest.approx(10 / len(rows))
    assert result["searched"] == 10
    assert result["warnings"]
    status, refused_ = refusal(archive, data, "--require-coverage", "0.5")
    assert (status, refused_["code"]) == (3, "PARTIAL_COVERAGE")
    assert refused_["facts"] == {"coverage": 10 / len(rows), "required": 0.5}


def test_what_has_no_segments_counts_as_not_covered_too(tmp_path: Path) -> None:
    place, cuts = tmp_path / "a.ctxa", tmp_path / "cuts.ndjson"
    store(place, transcript(4))
    cuts.write_text(json.dumps({"turn": 0, "start": 0, "end": len(transcript(1))}))
    assert run("segment", place, "--cuts", cuts, "--name", "mine").returncode == 0
    done = run("address", place, "harbour", "--require-coverage", "1", "--json")
    assert (done.returncode, json.loads(done.stdout)["refusal"]["code"]) == (3, "PARTIAL_COVERAGE")


def test_a_place_in_one_of_several_transcripts_is_an_address_as_it_is_printed(tmp_path: Path) -> None:
    place = tmp_path / "a.ctxa"
    store_all(place, {"one": transcript(3), "two": said("the albatross came")})
    done = run("address", place, "albatross", "--transcript", "two")
    assert run("cat", place, done.stdout.decode().split()[2]).returncode == 0
    place_found = run("find", place, "albatross", "--transcript", "two").stdout.decode().split(": ")[0]
    assert run("cat", place, place_found).stdout == b"albatross"


def test_a_longer_last_line_takes_the_place_of_the_one_that_has_a_vector(tmp_path: Path) -> None:
    place = tmp_path / "a.ctxa"
    begun = transcript(4) + b'{"type":"user","message":{"role":"user","content":"unfinis'
    store(place, begun)
    segment(place, [SCHEME])
    vectors = attached(place, rows_of(place))
    store(place, begun + b'hed business"}}\n')
    result = asked(place, query(next(iter(vectors.values()))), "-k", "100")
    assert result["segments_in_index"] == 5
    assert result["searched"] == 4
    assert {hit["turn"] for hit in result["hits"]} == {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"model": "other"}, "model differs — other against test-model"),
        ({"revision": "sha256:2"}, "revision differs — sha256:2 against sha256:1"),
        ({"revision": "unstated"}, "revision differs — unstated against sha256:1"),
        ({"projection": "raw-v1"}, "projection differs — raw-v1 against json-text-v1"),
        ({"scheme": "boundary-v1"}, f"scheme differs — boundary-v1 against {SCHEME}"),
        ({"vector": [1.0] * 8}, "dimensions differs — 8 against 16"),
        ({"vector": [1.0] * 8, "model": "other"}, "model differs — other against test-model"),
    ],
)
def test_the_first_field_of_the_identity_that_differs_is_named(
    archive: Path, fields: dict[str, object], message: str
) -> None:
    attached(archive, rows_of(archive))
    status, refused_ = refusal(archive, query([1.0] * 16, **fields))
    assert (status, refused_["code"], refused_["message"]) == (3, "INCOMPARABLE", message)


def test_a_vector_that_does_not_say_what_made_it_is_refused_unless_the_call_does(archive: Path) -> None:
    rows = rows_of(archive)
    vectors = attached(archive, rows)
    bare = json.dumps(vectors[rows[1].id]).encode()
    status, refused_ = refusal(archive, bare)
    assert (status, refused_["code"], refused_["facts"]) == (3, "IDENTITY_UNSTATED", {"field": "model"})
    status, refused_ = refusal(archive, bare, "--model", MODEL)
    assert (status, refused_["code"], refused_["facts"]) == (3, "IDENTITY_UNSTATED", {"field": "revision"})
    assert asked(archive, bare, "--model", MODEL, "--revision", REVISION)["hits"][0]["score"] == pytest.approx(1)


def test_weights_that_nobody_pins_are_warned_of(archive: Path) -> None:
    rows = rows_of(archive)
    vectors = attached(archive, rows, revision="unstated")
    result = asked(archive, query(vectors[rows[0].id], revision="unstated"))
    assert any("not pinned" in warning for warning in result["warnings"])


@pytest.mark.parametrize(
    "vector", [[0.0] * 16, [float("nan")] * 16, [float("inf")] * 16, ["a"] * 16, [], "AAA", {}, [True]]
)
def test_a_query_that_is_no_vector_is_refused(archive: Path, vector: Any) -> None:  # noqa: ANN401 - any JSON value
    attached(archive, rows_of(archive))
    status, refused_ = refusal(archive, query(vector))
    assert (status, refused_["code"]) == (3, "MALFORMED_VECTORS")


def test_without_vectors_and_with_several_sets_it_says_so(archive: Path) -> None:
    rows = rows_of(archive)
    status, refused_ = refusal(archive, query([1.0] * 16))
    assert (status, refused_["code"]) == (5, "NO_SUCH_VECTORS")
    attached(archive, rows)
    attached(archive, rows, seed=2, projection="raw-v1")
    status, refused_ = refusal(archive, query([1.0] * 16))
    assert (status, refused_["code"]) == (3, "AMBIGUOUS")
    chosen = refused_["facts"]["vectors"][0]
    assert asked(archive, query([1.0] * 16), "--vectors", chosen[:8])["identity_fingerprint"] == chosen
    assert asked(archive, query([1.0] * 16, projection="raw-v1"))["identity"]["projection"] == "raw-v1"


def test_asking_writes_nothing(archive: Path) -> None:
    rows = rows_of(archive)
    vectors = attached(archive, rows)
    before = files_of(archive)
    asked(archive, query(vectors[rows[0].id]))
    one(run("address", archive, "what about the harbour", "--json"))
    assert files_of(archive) == before


def test_without_numpy_the_hits_are_the_same_and_a_budget_is_kept(archive: Path, tmp_path: Path) -> None:
    rows = rows_of(archive)
    vectors = attached(archive, rows)
    block = tmp_path / "block"
    block.mkdir()
    (block / "sitecustomize.py").write_text("import sys\nsys.modules['numpy'] = None\n")
    data = query(vectors[rows[5].id])
    with_numpy = asked(archive, data)
    arguments: list[str | Path] = ["address", archive, "--vector", "-", "--json"]
    without = one(run(*arguments, stdin=data, env={"PYTHONPATH": str(block)}))
    assert without["backend"] == "python"
    assert without["hits"] == with_numpy["hits"]
    done = run(*arguments, "--budget", "0.0000001", stdin=data, env={"PYTHONPATH": str(block)})
    over = json.loads(done.stdout)["refusal"]
    assert (done.returncode, over["code"], over["facts"]["budget_seconds"]) == (3, "OVER_BUDGET", 1e-7)
    assert over["facts"]["estimate_seconds"] > 0


# --------------------------------------------------------------------------------------------------------- by words


def test_right_after_the_first_capture_a_question_is_answered_over_whole_turns(tmp_path: Path) -> None:
    place = tmp_path / "a.ctxa"
    store(place, transcript(12))
    before = files_of(place)
    result = one(run("address", place, "where is the lantern, number5", "--json"))
    assert (result["channel"], result["scheme"]) == ("lexical", "whole-turn-v1")
    assert result["hits"][0]["turn"] == 5
    assert "lantern" in result["hits"][0]["matched"]
    assert any("whole turns" in warning for warning in result["warnings"])
    assert files_of(place) == before


@pytest.mark.parametrize("words", [True, False])
def test_a_question_finds_segments_with_and_without_a_word_index_in_the_archive(tmp_path: Path, *, words: bool) -> None:
    place = tmp_path / "a.ctxa"
    store(place, transcript(30) + said("x " * 2000 + "the albatross " + "y " * 2000))
    segment(place, ["boundary-v1"], words=words)
    result = one(run("address", place, "albatross", "--json"))
    hit = result["hits"][0]
    assert "albatross" in hit["text"]
    assert b"albatross" in run("cat", place, f"{hit['turn']}:{hit['start_byte']}-{hit['end_byte']}").stdout
    assert hit["matched"] == ["albatross"]
    assert (place / "words").exists() == words


def test_a_word_index_behind_the_record_is_completed_in_memory(tmp_path: Path) -> None:
    place = tmp_path / "a.ctxa"
    store(place, transcript(10))
    segment(place, ["boundary-v1"])
    store(place, transcript(10) + said("the albatross came later"), index=False)
    result = one(run("address", place, "albatross", "--json"))
    assert result["coverage"]["bytes"] < 1
    assert result["hits"] == []
    segment(place, ["boundary-v1"], words=False)
    assert one(run("address", place, "albatross", "--json"))["hits"][0]["turn"] == 10


def test_an_agents_own_earlier_question_comes_last_and_is_counted(tmp_path: Path) -> None:
    place = tmp_path / "a.ctxa"
    question = "where did the pilot put the copper rope"
    store(place, said(f"I shall ask: {question}") + transcript(8) + said("the pilot put the copper rope below deck"))
    result = one(run("address", place, question, "--json", "-k", "20"))
    assert result["echoes"] == 1
    assert [hit["echo"] for hit in result["hits"]] == [False] * (len(result["hits"]) - 1) + [True]
    assert result["hits"][-1]["turn"] == 0
    assert result["hits"][0]["turn"] == 9


def test_chinese_words_are_found(tmp_path: Path) -> None:
    place = tmp_path / "a.ctxa"
    store(place, transcript(5) + said("最近我感到很焦虑，睡不好觉。") + transcript(3))
    segment(place, ["boundary-v1"])
    assert "焦虑" in one(run("address", place, "焦虑", "--json"))["hits"][0]["text"]


def test_both_channels_fused_say_each_ones_rank(archive: Path) -> None:
    rows = rows_of(archive)
    vectors = attached(archive, rows)
    target = next(row for row in rows if "number7" in row.text.split())
    data = query(vectors[target.id])
    result = one(run("address", archive, "note number7", "--vector", "-", "--hybrid", "--json", stdin=data))
    assert result["channel"] == "hybrid"
    hit = result["hits"][0]
    assert hit["turn"] == target.turn
    assert hit["ranks"] == {"semantic": 1, "lexical": 1}
    assert hit["score"] == pytest.approx(2 / 61)


def test_what_is_asked_wrongly_is_a_usage_error(archive: Path) -> None:
    for arguments in (
        [],
        ["  "],
        ["question", "--hybrid"],
        ["question", "--role", "captain"],
        ["question", "--model", "m"],
        ["question", "--vectors", "abc"],
        ["question", "-k", "0"],
    ):
        assert run("address", archive, *arguments).returncode == 2, arguments


def test_no_such_file_and_no_such_transcript_are_named(archive: Path) -> None:
    assert run("address", archive, "--vector", str(archive.parent / "none.json")).returncode == 5
    assert run("address", archive, "question", "--transcript", "none").returncode == 5


# ------------------------------------------------------------------------------------------------------ query files


def test_queries_are_read_as_one_value_or_one_a_line() -> None:
    pretty = json.dumps({"model": "m", "revision": "r", "vector": [1, 2]}, indent=2).encode()
    assert [list(each.vector) for each in read_queries(pretty, "q", {})] == [[1.0, 2.0]]
    two = b'\n{"model":"m","revision":"r","vector":[1]}\n\n{"model":"m","revision":"r","vector":"AACAPw==","id":7}\n'
    assert [(list(each.vector), each.id) for each in read_queries(two, "q", {})] == [([1.0], None), ([1.0], "7")]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "MALFORMED_VECTORS"),
        (b"nonsense", "MALFORMED_VECTORS"),
        (b"{}", "MALFORMED_VECTORS"),
        (b"[" * 100_000, "MALFORMED_VECTORS"),
        (b'{"vector":[1],"model":7,"revision":"r"}', "MALFORMED_VECTORS"),
        (b'{"vector":[1]}', "IDENTITY_UNSTATED"),
        (b'{"vector":[1],"model":"m"}', "IDENTITY_UNSTATED"),
        (b'{"vector":[1],"model":"other","revision":"r"}', "INCOMPARABLE"),
    ],
)
def test_query_files_that_say_too_little_or_too_much_are_refused(data: bytes, code: str) -> None:
    given = {"model": "m"} if b"other" in data else {}
    assert refused(lambda: read_queries(data, "q", given)).code == code
