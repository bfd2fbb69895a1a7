"""Ranking rows by cosine: exact to the last bit, by NumPy and without, in whatever parts the rows lie."""

from __future__ import annotations

import math
import random
from array import array
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from cases import refused
from hypothesis import given, settings
from hypothesis import strategies as st
from vectorsets import Live, Matrix, exact_mean, exact_ranking, float32, leading, put, stored
from vectorsets import opened as open_corpus

from ctxarc.auxiliary.vectors.arrays import np
from ctxarc.auxiliary.vectors.corpus import Corpus
from ctxarc.auxiliary.vectors.lanes import Lanes
from ctxarc.auxiliary.vectors.ranking import Ranking, open_ranking
from ctxarc.auxiliary.vectors.ranking_numpy import exact_sums

needs_numpy = pytest.mark.skipif(np is None, reason="NumPy is not installed")
BACKENDS = [pytest.param("numpy", marks=needs_numpy), "python"]


def made(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311 - the same numbers each time


def gauss(seed: int, rows: int, width: int, scale: float = 1.0, base: float = 0.0) -> list[list[float]]:
    source = made(seed)
    return float32([[base + scale * source.gauss(0, 1) for _ in range(width)] for _ in range(rows)])


def scaled(seed: int, rows: int, width: int) -> list[list[float]]:
    """Rows of lengths from the smallest that float32 has to the largest."""
    source = made(seed)
    return float32(
        [[x * 2.0**power for x in row] for row in gauss(seed, rows, width) for power in [source.randint(-140, 120)]]
    )


def some_alike(seed: int, rows: int, width: int) -> list[list[float]]:
    found = gauss(seed, rows, width)
    return [found[0] if at % 3 else row for at, row in enumerate(found)]


def clustered(seed: int, rows: int, width: int) -> list[list[float]]:
    """Most rows in a ball so small that float32 sees nothing of it, and a few far away."""
    ball, far = gauss(seed, rows, width, 1e-6, 1.0), gauss(seed + 1, rows, width)
    return [far[at] if at % 50 == 1 else row for at, row in enumerate(ball)]


SETS: dict[str, Callable[[int, int, int], list[list[float]]]] = {
    "random": gauss,
    "whole numbers, which tie": lambda s, n, w: [[float(round(x)) or 1.0 for x in row] for row in gauss(s, n, w)],
    "far from zero": lambda s, n, w: gauss(s, n, w, 1e-3, 1.0),
    "of all lengths": scaled,
    "all equal": lambda s, n, w: gauss(s, 1, w) * n,
    "many equal": some_alike,
    "tiny": lambda s, n, w: gauss(s, n, w, 1e-40),
    "huge": lambda s, n, w: gauss(s, n, w, 1e37),
    "clustered": clustered,
}


def ranking(corpus: Corpus, backend: str) -> Ranking:
    found = open_ranking(corpus, backend)
    assert found.name == backend
    return found


def same(found: Ranking, rows: Matrix, query: list[float], live: Live = None, *, centre: bool = True) -> None:
    """Fail unless the first of a ranking are those of the exact one, with the same scores, however many are taken."""
    exact = exact_ranking(rows, query, live, centre=centre)
    ranked = found.rank(query, live, centre=centre)
    for count in (1, 3, 10, len(rows), len(rows) + 5, 2):
        assert ranked.top(count) == leading(exact, count)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize(("count", "width"), [(1, 1), (2, 3), (60, 5), (700, 9)])
def test_the_best_rows_are_those_of_an_exact_ranking(
    tmp_path: Path, backend: str, name: str, count: int, width: int
) -> None:
    rows = SETS[name](count, count, width)
    found = ranking(stored(tmp_path, rows), backend)
    queries = [gauss(5, 1, width)[0], rows[-1], [1.0] * width]
    for query in queries:
        for centre in (True, False):
            same(found, rows, query, centre=centre)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["random", "of all lengths", "many equal", "clustered"])
def test_the_best_of_many_rows_are_found_by_the_best_of_some(tmp_path: Path, backend: str, name: str) -> None:
    rows = SETS[name](77, 4200, 3)
    found = ranking(stored(tmp_path, rows, cuts=(2000,)), backend)
    same(found, rows, gauss(78, 1, 3)[0])
    same(found, rows, gauss(79, 1, 3)[0], [(17, 1900), (2100, 4199)], centre=False)


@pytest.mark.parametrize("name", SETS)
@needs_numpy
def test_several_parts_give_the_answers_of_one(tmp_path: Path, name: str) -> None:
    rows = SETS[name](11, 130, 6)
    query = gauss(12, 1, 6)[0]
    whole = ranking(stored(tmp_path / "one", rows), "numpy").rank(query).top(130)
    corpus = stored(tmp_path / "many", rows, cuts=(1, 60, 70))
    assert len(corpus.parts) == 4
    for backend in ("numpy", "python"):
        assert ranking(corpus, backend).rank(query).top(130) == whole


class _Case:
    """Rows, where parts begin, a query and what is searched."""

    def __init__(self, draw: Callable[[st.SearchStrategy[object]], object]) -> None:
        choose: Callable[..., int] = lambda low, high: int(str(draw(st.integers(low, high))))  # noqa: E731
        width, count = choose(1, 6), choose(1, 40)
        number = st.one_of(
            st.floats(width=32, allow_nan=False, allow_infinity=False),
            st.integers(-3, 3).map(float),
            st.floats(-1, 1, width=32),
        )
        row = st.lists(number, min_size=width, max_size=width)
        some = draw(st.lists(row.filter(any), min_size=1, max_size=6))
        assert isinstance(some, list)
        self.rows = [some[choose(0, len(some) - 1)] for _ in range(count)]
        self.cuts = [choose(0, count) for _ in range(choose(0, 3))]
        query = draw(row)
        assert isinstance(query, list)
        self.query = query
        places = sorted({choose(0, count) for _ in range(4)})
        self.live = None if choose(0, 1) else list(zip(places[::2], places[1::2], strict=False))
        self.centre = bool(choose(0, 1))


@needs_numpy
@settings(max_examples=150, deadline=None)
@given(st.data())
def test_both_backends_agree_with_the_exact_ranking_on_any_numbers(data: st.DataObject) -> None:
    case = _Case(data.draw)
    with TemporaryDirectory() as folder:
        corpus = stored(Path(folder), case.rows, case.cuts)
        assert corpus.mean == exact_mean(case.rows)
        for backend in ("numpy", "python"):
            same(ranking(corpus, backend), case.rows, case.query, case.live, centre=case.centre)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("live", [None, [(0, 5), (90, 400)], [(3, 4)], [(0, 0)], [], [(399, 400)]])
def test_only_rows_that_are_searched_are_found(tmp_path: Path, backend: str, live: Live) -> None:
    rows = gauss(3, 400, 4)
    found = ranking(stored(tmp_path, rows, cuts=(91, 200)), backend)
    same(found, rows, [1.0, 2.0, 3.0, 4.0], live)


@pytest.mark.parametrize("backend", BACKENDS)
def test_many_questions_get_the_answers_that_each_gets_alone(tmp_path: Path, backend: str) -> None:
    rows = gauss(21, 900, 8)
    queries = [*gauss(22, 20, 8), [0.0] * 8, rows[5]]
    found = ranking(stored(tmp_path, rows), backend)
    for ranked, query in zip(list(found.rank_many(queries, [(0, 850)])), queries, strict=True):
        exact = exact_ranking(rows, query, [(0, 850)], centre=True)
        for count in (12, 2, 30):
            assert ranked.top(count) == leading(exact, count)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_row_at_the_mean_and_a_question_at_the_mean_score_zero(tmp_path: Path, backend: str) -> None:
    rows = [[1.0, 2.0], [3.0, 4.0], [2.0, 3.0], [2.0, 3.0]]
    found = ranking(stored(tmp_path, rows), backend)
    assert found.rank([7.0, 1.0]).top(4) == exact_ranking(rows, [7.0, 1.0], centre=True)
    assert {score for row, score in found.rank([7.0, 1.0]).top(4) if row > 1} == {0.0}
    assert found.rank([2.0, 3.0]).top(1) == [(row, 0.0) for row in range(4)]
    assert found.rank([0.0, 0.0], centre=False).top(2) == [(row, 0.0) for row in range(4)]


@pytest.mark.parametrize("backend", BACKENDS)
def test_nothing_is_found_where_nothing_is_wanted(tmp_path: Path, backend: str) -> None:
    found = ranking(stored(tmp_path, gauss(1, 9, 2)), backend).rank([1.0, 1.0])
    assert found.top(0) == found.top(-3) == []


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_question_is_rounded_as_rows_are(tmp_path: Path, backend: str) -> None:
    rows = gauss(8, 50, 3)
    found = ranking(stored(tmp_path, rows), backend)
    query = [0.1, 0.2, 0.3]
    assert float32([query]) != [query]
    assert found.rank(query).top(50) == found.rank(float32([query])[0]).top(50)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("centre", [True, False])
def test_a_damaged_row_is_refused_before_anything_is_answered(tmp_path: Path, backend: str, *, centre: bool) -> None:
    rows = gauss(9, 30, 4)
    made = put(tmp_path, rows[:20])
    put(tmp_path, rows[20:], 20)
    (path, _) = sorted(tmp_path.rglob("*.vec"))
    data = bytearray(path.read_bytes())
    data[data.index(b"\n") + 1 + 4 * 4 * 11] ^= 1
    path.write_bytes(data)

    def ask() -> object:
        return ranking(open_corpus(tmp_path, made), backend).rank([1.0] * 4, centre=centre).top(1)

    refusal = refused(ask)
    assert refusal.code == "CHECKSUM_MISMATCH"
    assert refusal.facts["path"] == path.relative_to(tmp_path).as_posix()


@pytest.mark.parametrize("name", SETS)
def test_lanes_of_integers_give_the_same_answers(tmp_path: Path, name: str) -> None:
    rows = SETS[name](31, 300, 7)
    found = ranking(stored(tmp_path, rows, cuts=(100,)), "python")
    list(found.rank_many(gauss(32, 5, 7)))
    assert bool(found._lanes) is (name not in {"huge", "of all lengths"})  # type: ignore[attr-defined]
    for query in (*gauss(33, 2, 7), rows[7]):
        for live in (None, [(5, 40), (90, 250)]):
            for centre in (True, False):
                same(found, rows, query, live, centre=centre)


def test_products_with_next_to_nothing_are_nothing() -> None:
    lanes = Lanes([memoryview(_float32_bytes([1.0, -3.0]))], 2, 4.0)
    for query in ([0.0, 0.0], [8.7e-305, 0.0], [5e-324, -5e-324]):
        products, error = lanes.products(query)
        assert abs(products[0] - (query[0] - 3 * query[1])) <= error


@settings(max_examples=100)
@given(st.data(), st.integers(1, 30), st.integers(1, 8))
def test_products_by_lanes_are_off_by_less_than_they_say(data: st.DataObject, count: int, width: int) -> None:
    number = st.one_of(st.floats(-1, 1, width=32), st.floats(-1e9, 1e9, width=32), st.just(0.0))
    rows = data.draw(st.lists(st.lists(number, min_size=width, max_size=width), min_size=count, max_size=count))
    query = data.draw(st.lists(st.floats(-1, 1), min_size=width, max_size=width))
    longest = max(math.hypot(*row) for row in rows)
    if longest < 1e-30:
        return
    packed = memoryview(b"".join(map(bytes, map(_float32_bytes, rows))))
    products, error = Lanes([packed], width, longest * (1 + 1e-6)).products(query)
    for row, product in zip(rows, products, strict=True):
        assert abs(product - math.fsum(x * y for x, y in zip(row, query, strict=True))) <= error * (1 + 1e-9) + 1e-300


def _float32_bytes(row: list[float]) -> bytes:
    return array("f", row).tobytes()


@needs_numpy
@settings(max_examples=200)
@given(st.data(), st.integers(1, 40), st.integers(1, 12))
def test_sums_of_lines_are_those_of_fsum(data: st.DataObject, width: int, count: int) -> None:
    number = st.one_of(st.floats(-1e150, 1e150), st.floats(-1, 1), st.sampled_from([1e16, -1e16, 1.0, 2.0**-53, 0.0]))
    lines = data.draw(st.lists(st.lists(number, min_size=width, max_size=width), min_size=count, max_size=count))
    lines = [
        [*line, *(-x for x in line), 1e-9] if at % 3 == 1 else [*line, *line, 0.5] for at, line in enumerate(lines)
    ]
    assert exact_sums(np.array(lines)).tolist() == [math.fsum(line) for line in lines]


@needs_numpy
def test_an_estimate_without_numpy_grows_with_the_questions(tmp_path: Path) -> None:
    corpus = stored(tmp_path, gauss(4, 300, 8))
    assert ranking(corpus, "numpy").estimate_seconds(1000) == 0.0
    assert 0 < ranking(corpus, "python").estimate_seconds(1) < ranking(corpus, "python").estimate_seconds(100_000)
