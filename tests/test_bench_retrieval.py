"""``bench retrieval``: rankings whose scores are known, questions that are refused, and edges as a bonus."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from archives import files_of, store
from cases import one, run, said

from ctxarc.auxiliary.edges.joining import KINDS
from ctxarc.bench.graph_weight import BONUSES, FIRST_HITS, Neighbours, grid, weighted
from ctxarc.bench.questions import Question, Span, read_questions
from ctxarc.bench.scores import Place, rank_of, scores_of
from ctxarc.bench.subject import need_numpy
from ctxarc.errors import BadUsage, Refusal
from ctxarc.operations.segment import segment

TEXTS = (
    "The harbour pilot waits for the tide in src/harbour.py",
    "A lantern hangs in the fog",
    "Seven crates of copper rope, see src/harbour.py",
    "Storm sails are in the loft",
)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Four turns with words of their own; turns 0 and 2 mention one path."""
    path = tmp_path / "a.ctxa"
    store(path, b"".join(said(text, second=number) for number, text in enumerate(TEXTS)))
    segment(path, ["whole-turn-v1", "sized-900-v1"])
    return path


def length(archive: Path, turn: int) -> int:
    return len(run("cat", archive, str(turn)).stdout)


def span(archive: Path, turn: int, text: str) -> list[int]:
    start = run("cat", archive, str(turn)).stdout.index(text.encode())
    return [turn, start, start + len(text)]


def questions_file(tmp_path: Path, *rows: object) -> Path:
    path = tmp_path / "q.ndjson"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


# ------------------------------------------------------------------------------------------------------------- scores


def question(*spans: tuple[int, int, int], id_: str = "q") -> Question:
    return Question(id_, "why?", tuple(Span("t", *each) for each in spans))


def place(turn: int, start: int, end: int, score: float = 1.0, *elsewhere: tuple[str, int, int, int]) -> Place:
    return Place("t", turn, start, end, score, elsewhere)


def test_scores_of_a_ranking_that_is_known() -> None:
    asked = question((3, 100, 200))
    places = [place(1, 0, 300), place(3, 150, 400), place(3, 0, 150)]
    found = scores_of(places, asked)
    assert rank_of(places, asked) == 2
    assert (found["r_at_1"], found["r_at_5"], found["mrr"]) == (0, 1, 0.5)
    assert found["span_recall"] == 1
    assert found["span_precision"] == pytest.approx(100 / 700)
    assert found["span_iou"] == pytest.approx(100 / 700)


def test_a_budget_cuts_the_hit_that_is_too_long() -> None:
    asked = question((3, 100, 200))
    # 950 bytes of what is wrong, then 150 that begin 50 before the span: of 1,000 bytes the last is its first byte - 1.
    found = scores_of([place(1, 0, 850), place(3, 50, 250)], asked)
    assert found["recall_1000"] == pytest.approx(1.0)
    found = scores_of([place(1, 0, 900), place(3, 50, 250)], asked)
    assert found["recall_1000"] == pytest.approx(0.5)
    found = scores_of([place(1, 0, 1000), place(3, 50, 250)], asked)
    assert (found["recall_1000"], found["recall_2000"]) == (0, 1)


def test_bytes_that_two_hits_share_count_once_and_spans_add_up() -> None:
    asked = question((3, 0, 100), (5, 0, 300))
    found = scores_of([place(3, 0, 80), place(3, 40, 100)], asked)
    assert found["span_recall"] == pytest.approx(100 / 400)


def test_another_place_of_the_same_text_is_as_right() -> None:
    asked = question((9, 10, 20))
    assert rank_of([place(3, 10, 20, 1.0, ("t", 9, 10, 20))], asked) == 1
    assert rank_of([place(3, 10, 20, 1.0, ("u", 9, 10, 20))], asked) is None


def test_a_ranking_without_a_hit_scores_nothing() -> None:
    assert set(scores_of([], question((0, 0, 1))).values()) == {0.0}


# ------------------------------------------------------------------------------------------------- edges as a bonus


@pytest.fixture
def neighbours(archive: Path) -> Neighbours:
    """The edges of the archive: turns 0 and 2, by a path."""
    return Neighbours(archive)


RANKING = [place(0, 0, 50, 8.0), place(1, 0, 50, 5.0), place(3, 0, 50, 4.5), place(2, 0, 50, 4.0)]


@pytest.mark.parametrize("kinds", [KINDS, *((kind,) for kind in KINDS)])
@pytest.mark.parametrize("first", FIRST_HITS)
def test_without_a_bonus_the_ranking_is_the_very_same(neighbours: Neighbours, kinds: Any, first: int) -> None:  # noqa: ANN401
    assert weighted(RANKING, neighbours, kinds, 0.0, first) == RANKING
    assert weighted([], neighbours, kinds, 0.4, first) == []


def test_a_bonus_lifts_the_turns_one_edge_from_the_first_hits_and_no_others(neighbours: Neighbours) -> None:
    moved = weighted(RANKING, neighbours, ("mentions-path",), 0.2, 1)
    assert [each.turn for each in moved] == [0, 2, 1, 3]
    assert moved[1].score == pytest.approx(4.0 + 0.2 * 8.0)
    assert [each.score for each in moved if each.turn != 2] == [8.0, 5.0, 4.5]
    assert weighted(RANKING, neighbours, ("replies-to",), 0.2, 1) == RANKING


def test_a_turn_that_was_no_hit_comes_in_whole(neighbours: Neighbours, archive: Path) -> None:
    name = next(iter(neighbours.lengths))[0]
    alone = [Place(name, 0, 0, 50, 8.0)]
    came = weighted(alone, neighbours, KINDS, 0.1, 1)[1]
    assert (came.turn, came.start, came.end) == (2, 0, length(archive, 2))
    assert came.score == pytest.approx(0.8)


def test_the_grid_has_every_cell_once_and_says_what_moved(neighbours: Neighbours) -> None:
    asked = [question((2, 0, 10), id_="up"), question((1, 0, 10), id_="down"), question((0, 0, 10), id_="still")]
    rows = grid([RANKING] * 3, asked, neighbours, need_numpy())
    cells = [(tuple(row["kinds"]), row["bonus"], row["first_hits"]) for row in rows]
    assert len(set(cells)) == len(cells) == 1 + (len(BONUSES) - 1) * len(FIRST_HITS) * (len(KINDS) + 1)
    assert [row["control"] for row in rows] == [True] + [False] * (len(rows) - 1)
    assert rows[0]["same_as_without"]
    assert (rows[0]["moved_up"], rows[0]["moved_down"]) == ([], [])
    strong = rows[cells.index((("mentions-path",), 0.2, 1))]
    assert strong["moved_up"] == [{"id": "up", "before": 4, "after": 2}]
    assert strong["moved_down"] == [{"id": "down", "before": 2, "after": 3}]
    assert strong["smallest_step"] == pytest.approx(1 / 3, abs=1e-4)
    assert strong["mrr"]["mean"] == pytest.approx((1 / 2 + 1 / 3 + 1) / 3, abs=1e-4)


# ---------------------------------------------------------------------------------------------------------- questions


def test_spans_and_anchors_give_the_same_places(archive: Path, tmp_path: Path) -> None:
    rows = [
        {"id": "a", "question": "What is stored upstairs?", "spans": [span(archive, 3, "Storm sails")]},
        {"id": "b", "question": "What is stored upstairs?", "anchor": "Storm sails"},
    ]
    one_, other = read_questions(questions_file(tmp_path, *rows), archive)
    assert one_.spans == other.spans


@pytest.mark.parametrize(
    ("row", "said_"),
    [
        ({"question": "Which sails are up?", "anchor": "Storm sails"}, "sails"),
        ({"question": "Where?", "anchor": "no such text"}, "stands nowhere"),
        ({"question": "Where?", "spans": []}, "no spans"),
        ({"question": "Where?", "spans": [[0, 5]]}, "is no span"),
        ({"question": "Where?", "spans": [[0, 5, True]]}, "is no span"),
        ({"question": "Where?", "spans": [[4, 0, 5]]}, "turn 4 is not held"),
        ({"question": "Where?", "spans": [[-1, 0, 5]]}, "turn -1 is not held"),
        ({"question": "Where?", "spans": [[0, 0, 99999]]}, "0-99999 is no range of turn 0"),
        ({"question": "Where?", "spans": [[0, 5, 5]]}, "5-5 is no range"),
        ({"question": " ", "spans": [[0, 0, 5]]}, "no question"),
        ({"question": 7}, "no question"),
        (["question"], "no question"),
        ({"question": "Where?", "spans": [[0, 0, 5]], "transcript": "other"}, "other"),
        ({"question": "Where?", "spans": [[0, 0, 5]], "transcript": ["t"]}, "['t']"),
    ],
)
def test_a_question_that_cannot_be_measured_is_refused(archive: Path, tmp_path: Path, row: object, said_: str) -> None:
    with pytest.raises(Refusal) as caught:
        read_questions(questions_file(tmp_path, row), archive)
    assert said_ in caught.value.message
    assert "line 1" in caught.value.message


def test_files_without_questions_are_refused(archive: Path, tmp_path: Path) -> None:
    for data in (b"", b"\n\n", b"{", b"\xff\n", b"[" * 5000 + b"\n"):
        (tmp_path / "q").write_bytes(data)
        with pytest.raises(BadUsage):
            read_questions(tmp_path / "q", archive)
    twice = {"id": 1, "question": "Where?", "spans": [[0, 0, 5]]}
    with pytest.raises(BadUsage, match="two questions have the id 1"):
        read_questions(questions_file(tmp_path, twice, twice), archive)


# ----------------------------------------------------------------------------------------------------- the whole thing


def test_questions_are_put_to_every_scheme_and_nothing_is_written(archive: Path, tmp_path: Path) -> None:
    rows = [
        {"question": "lantern fog", "spans": [span(archive, 1, "A lantern")]},
        {"question": "copper rope", "spans": [span(archive, 1, "A lantern")]},
    ]
    path = questions_file(tmp_path, *rows)
    before = files_of(archive)
    out = tmp_path / "out"
    result = one(run("bench", "retrieval", archive, "--questions", path, "--graph", "--out", out, "--json"))
    assert files_of(archive) == before
    assert [row["scheme"] for row in result["rows"]] == ["sized-900-v1", "whole-turn-v1"]
    for row in result["rows"]:
        assert (row["r_at_1"]["mean"], row["questions"]) == (0.5, 2)
        control = row["graph"][0]
        measures = [name for name in row if isinstance(row[name], dict) and "mean" in row[name]]
        assert {name: control[name] for name in measures} == {name: row[name] for name in measures}
        assert control["same_as_without"]
    assert result["source"]["archive_digest"] == result["digest_after"]
    written = json.loads((out / "retrieval.json").read_text(encoding="utf-8"))
    text = (out / "retrieval.html").read_text(encoding="utf-8")
    for row in written["rows"]:
        assert f"<td>{row['mrr']['mean']:.4f}</td>" in text


def test_a_scheme_without_an_index_is_refused(archive: Path, tmp_path: Path) -> None:
    path = questions_file(tmp_path, {"question": "Where?", "spans": [[0, 0, 5]]})
    done = run("bench", "retrieval", archive, "--questions", path, "--scheme", "structural-v1", "--json")
    assert "no index of structural-v1" in one(done)["refusal"]["message"]
    done = run("bench", "retrieval", archive, "--questions", tmp_path / "none", "--json")
    assert (done.returncode, one(done)["refusal"]["code"]) == (5, "NO_SUCH_SOURCE")
