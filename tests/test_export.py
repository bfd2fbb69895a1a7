"""``export`` and ``segment`` as programs see them: the header and its numbers, rows, samples, formats, refusals."""

from __future__ import annotations

import json
import random
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from cases import held, noise, objects, one, refused, run, said, sha, stored, tree, turns_of

from ctxarc.auxiliary.projection import PROJECTION, RAW
from ctxarc.auxiliary.segments import SCHEMES
from ctxarc.model import ExportHeader, ExportRow
from ctxarc.operations.export import METHODS, PROJECTIONS, ExportOptions, drawn, export, spread
from ctxarc.operations.own_cuts import own_cuts
from ctxarc.operations.segment import segment
from ctxarc.operations.verify import verify
from ctxarc.preservation.record import Record, read_head

SCHEME = "boundary-v1"
WORDS = (
    "harbour",
    "rope",
    "gull",
    "tide",
    "anchor",
    "lantern",
    "mast",
    "fog",
    "pier",
    "crate",
    "sail",
    "compass",
    "net",
    "buoy",
    "cargo",
    "storm",
)
HEADER_FIELDS = {
    "schema",
    "ok",
    "kind",
    "export_id",
    "archive",
    "archive_digest",
    "scheme",
    "parameters",
    "projection",
    "segments",
    "segments_in_index",
    "distinct",
    "missing",
    "sample",
    "coverage",
    "complete",
    "omitted",
}
ROW_FIELDS = {"id", "transcript", "turn", "start_byte", "end_byte", "turn_sha256", "text"}


def story(number: int, words: int = 150) -> bytes:
    """A turn of several segments, which no other number has."""
    made = noise(1000 + number)
    text = " ".join(made.choice(WORDS) + ("." if at % 9 == 8 else "") for at in range(words))
    return said(f"Day {number}.\n\n{text}", ("user", "assistant")[number % 2], second=number)


def stories(start: int, end: int) -> bytes:
    return b"".join(story(number) for number in range(start, end))


A, B = stories(0, 5), stories(3, 8) + story(4)
"""Two transcripts that share turns; B says one of them twice."""


@pytest.fixture(scope="module")
def still(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive of two transcripts and one index, that no test changes."""
    archive = tmp_path_factory.mktemp("still") / "a.ctxa"
    stored(archive, B, "b")
    stored(archive, A, "a")
    segment(archive, [SCHEME])
    return archive


@pytest.fixture(scope="module")
def alike(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive in which several segments of different turns have the same text."""
    archive = tmp_path_factory.mktemp("alike") / "a.ctxa"
    stored(archive, b"".join(said(("same", "other", "same again")[n % 3], second=n) for n in range(20)) + story(1))
    segment(archive, [SCHEME])
    return archive


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """One transcript without an index."""
    stored(tmp_path / "a.ctxa", A)
    return tmp_path / "a.ctxa"


class Got(NamedTuple):
    header: ExportHeader
    rows: list[ExportRow]


def got(archive: Path, **options: Any) -> Got:  # noqa: ANN401 - options differ
    header, *rows = export(archive, ExportOptions(**options))
    assert isinstance(header, ExportHeader)
    plain = [row for row in rows if isinstance(row, ExportRow)]
    assert len(plain) == len(rows) == header.segments
    return Got(header, plain)


def expected(*transcripts: tuple[str, bytes], scheme: str = SCHEME) -> list[tuple[str, int, int, int, str]]:
    """The place and the digest of each segment of distinct turns, each turn at its first place."""
    seen, rows = set(), []
    for name, data in sorted(transcripts):
        for number, turn in enumerate(turns_of(data)):
            if turn not in seen:
                ends = SCHEMES[scheme].cut(turn)
                rows += [(name, number, start, end, sha(turn)) for start, end in zip([0, *ends], ends, strict=False)]
            seen.add(turn)
    return rows


def places(rows: list[ExportRow]) -> list[tuple[str, int, int, int, str]]:
    return [(row.transcript, row.turn, row.start_byte, row.end_byte, row.turn_sha256) for row in rows]


def check_coverage(some: Got, stands_for: list[ExportRow], every: list[ExportRow], turns: dict[str, int]) -> None:
    """Compare an export's coverage with the rows that it stands for; ``turns`` has the length of each turn held."""
    coverage = some.header.coverage
    assert coverage.segments == (len(stands_for) / len(every) if every else 1.0)
    covered = sum(row.end_byte - row.start_byte for row in stands_for)
    assert coverage.bytes == pytest.approx(covered / sum(turns.values()))
    assert coverage.turns == len({row.turn_sha256 for row in stands_for}) / len(turns)
    assert coverage.first_turn == (stands_for[0].turn if stands_for else None)
    assert coverage.last_turn == (stands_for[-1].turn if stands_for else None)


def lengths(*sources: bytes) -> dict[str, int]:
    return {sha(turn): len(turn) for data in sources for turn in turns_of(data)}


# ----------------------------------------------------------------------------------------------------- header and rows


def test_the_header_says_what_the_rows_are_of(still: Path) -> None:
    header, rows = got(still)
    assert header.kind == "ctxarc-export"
    assert header.archive_digest == verify(still).archive_digest
    assert (header.archive, header.scheme, header.projection) == (str(still), SCHEME, PROJECTION)
    assert header.parameters == SCHEMES[SCHEME].parameters
    assert header.segments == header.segments_in_index == len(rows) > 12
    assert (header.distinct, header.missing, header.sample) == (False, False, None)
    assert (header.complete, header.omitted) == (True, ())
    assert header.export_id
    check_coverage(Got(header, rows), rows, rows, lengths(A, B))
    assert header.coverage[:3] == (1.0, 1.0, 1.0)


def test_rows_are_in_order_and_a_turn_is_exported_at_its_first_place(still: Path) -> None:
    _, rows = got(still)
    assert places(rows) == expected(("a", A), ("b", B))
    assert len({row.id for row in rows}) == len(rows)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_scheme_is_exported_as_it_cuts(scheme: str, archive: Path) -> None:
    segment(archive, [scheme])
    assert places(got(archive).rows) == expected(("s", A), scheme=scheme)


def test_an_id_is_an_address_of_the_segment_s_bytes_in_every_archive(still: Path, archive: Path) -> None:
    _, rows = got(still)
    turns = {sha(turn): turn for turn in turns_of(A + B)}
    for row in rows:
        assert row.id == f"ctxa:{row.turn_sha256[:32]}:{row.start_byte}-{row.end_byte}"
        assert held(still, row.id) == turns[row.turn_sha256][row.start_byte : row.end_byte]
    assert held(archive, *(row.id for row in rows if row.transcript == "a")) == A


def test_the_text_is_that_of_the_message_without_escapes(still: Path) -> None:
    _, rows = got(still)
    first = [row for row in rows if (row.transcript, row.turn) == ("a", 0)]
    text = json.loads(turns_of(A)[0])["message"]["content"]
    assert text in "".join(row.text for row in first)
    assert "Day 0.\n\n" in first[0].text
    assert "sessionId" not in first[0].text


def test_raw_texts_are_the_bytes_of_the_segments(still: Path) -> None:
    header, rows = got(still, projection=RAW)
    assert header.projection == RAW == "raw-v1"
    turns = {sha(turn): turn for turn in turns_of(A + B)}
    assert [row.text for row in rows] == [
        turns[row.turn_sha256][row.start_byte : row.end_byte].decode() for row in rows
    ]
    assert [row.id for row in rows] == [row.id for row in got(still).rows]


def test_no_text_is_empty(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    stored(archive, b"\n   \r\n\xff\xfe\n{}\n" + said("") + said("\x20\x0a"))
    segment(archive)
    for projection in PROJECTIONS:
        _, rows = got(archive, projection=projection)
        assert len(rows) == 6
        assert all(row.text.strip() for row in rows)
        assert rows[0].text == rows[1].text == "[blank]"
        assert rows[2].text.rstrip() == "\ufffd\ufffd"


def test_a_row_goes_through_json_unharmed(still: Path) -> None:
    header, rows = got(still)
    first, *lines = [json.loads(line) for line in run("export", still).stdout.splitlines()]
    assert set(first) == HEADER_FIELDS
    assert (first["schema"], first["ok"]) == (1, True)
    assert set(first["coverage"]) == {"segments", "bytes", "turns", "first_turn", "last_turn"}
    assert first["export_id"] == header.export_id
    assert all(set(line) == ROW_FIELDS for line in lines)
    assert [tuple(line.values()) for line in lines] == [tuple(row) for row in rows]
    assert run("export", still, "--json").stdout == run("export", still).stdout


def test_lone_surrogates_and_invalid_bytes_leave_valid_json(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    stored(archive, b'{"text":"\\ud83d and \\ude00"}\n{"text":"\xf0\x9f"}\n' + said("\u2028\x7f \U0001f600"))
    segment(archive)
    done = run("export", archive)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["text"] for row in rows[1:3]] == ["\ufffd and \ufffd", "\ufffd"]
    assert "\U0001f600" in rows[3]["text"]
    assert len(done.stdout.decode().split("\n")) == 5


# -------------------------------------------------------------------------------------------------------------- samples


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("count", [1, 2, 3, 7, 19, 1000])
@pytest.mark.parametrize("distinct", [False, True])
def test_a_sample_has_as_many_rows_as_asked(count: int, method: str, distinct: bool, still: Path) -> None:  # noqa: FBT001
    every = got(still, distinct=distinct)
    some = got(still, sample=count, method=method, distinct=distinct)
    assert len(some.rows) == min(count, len(every.rows))
    wanted = [row.id for row in some.rows]
    assert [row for row in every.rows if row.id in wanted] == some.rows
    assert some.header.sample == {"rows": count, "method": method, "seed": 0 if method == "random" else None}
    assert some.header.segments_in_index == every.header.segments_in_index
    if not distinct:
        check_coverage(some, some.rows, every.rows, lengths(A, B))


def test_a_spread_sample_has_the_first_and_the_last_segment_and_equal_strides(still: Path) -> None:
    _, every = got(still)
    for count in range(2, len(every) + 1):
        _, rows = got(still, sample=count)
        assert (rows[0], rows[-1]) == (every[0], every[-1])
        at = [every.index(row) for row in rows]
        strides = {behind - before for before, behind in pairwise(at)}
        assert max(strides) - min(strides) <= 1


def test_a_random_sample_is_that_of_its_seed(still: Path) -> None:
    samples = [got(still, sample=5, method="random", seed=seed) for seed in range(8)]
    assert [got(still, sample=5, method="random", seed=seed) for seed in range(8)] == samples
    assert len({tuple(row.id for row in some.rows) for some in samples}) > 4
    assert len({some.header.export_id for some in samples}) == 8
    assert got(still, sample=5, method="random") == samples[0]
    assert got(still, sample=5, method="random", seed=-3).header.sample == {"rows": 5, "method": "random", "seed": -3}


def test_what_is_drawn_is_as_many_numbers_in_order_for_ever() -> None:
    for size in (1, 2, 10, 100):
        for wanted in range(1, size + 1):
            for numbers in (spread(size, wanted), drawn(size, wanted, 7)):
                assert len(numbers) == wanted
                assert list(numbers) == sorted(set(numbers))
                assert 0 <= numbers[0] <= numbers[-1] < size
    # A seed has to give the same sample with every release.
    assert list(drawn(20, 5, 0)) == by_hand(20, 5, 0)
    assert list(spread(11, 3)) == [0, 5, 10]


def by_hand(size: int, wanted: int, seed: int) -> list[int]:
    """Algorithm S, written down a second time."""
    made = random.Random(seed)  # noqa: S311 - a sample
    chosen: list[int] = []
    for number in range(size):
        if made.random() * (size - number) < wanted - len(chosen):
            chosen.append(number)
    return chosen


def test_every_segment_is_drawn_as_often_as_any_other() -> None:
    counts = [0] * 10
    for seed in range(600):
        for number in drawn(10, 3, seed):
            counts[number] += 1
    assert sum(counts) == 1800
    assert all(120 < count < 240 for count in counts)


@pytest.mark.parametrize("count", [0, -1, -(10**30)])
def test_a_sample_of_nothing_is_a_usage_error(count: int, still: Path) -> None:
    refusal = refused(lambda: got(still, sample=count))
    assert (refusal.code, refusal.status) == ("USAGE", 2)
    done = run("export", still, f"--sample={count}", "--json")
    assert (done.returncode, one(done)["refusal"]["code"]) == (2, "USAGE")


@pytest.mark.parametrize("options", [{"method": "first"}, {"projection": "raw-v2"}])
def test_what_is_no_method_and_no_projection_is_a_usage_error(options: dict[str, str], still: Path) -> None:
    refusal = refused(lambda: got(still, **options))
    assert (refusal.code, refusal.status) == ("USAGE", 2)
    assert repr(next(iter(options.values()))) in refusal.message


@pytest.mark.parametrize("count", [10**30, 1 << 64])
def test_a_sample_larger_than_all_is_all(count: int, still: Path) -> None:
    for method in METHODS:
        assert got(still, sample=count, method=method).rows == got(still).rows


# ------------------------------------------------------------------------------------------------------------- distinct


def test_a_distinct_export_has_each_text_once_at_its_first_place(alike: Path) -> None:
    every, some = got(alike), got(alike, distinct=True)
    texts = [row.text for row in some.rows]
    assert len(texts) == len(set(texts)) < len(every.rows)
    firsts: dict[str, ExportRow] = {}
    for row in every.rows:
        firsts.setdefault(row.text, row)
    assert some.rows == list(firsts.values())
    assert some.header.distinct is True
    assert (some.header.segments, some.header.segments_in_index) == (len(texts), len(every.rows))
    check_coverage(some, every.rows, every.rows, {row.turn_sha256: row.end_byte for row in every.rows})
    assert some.header.coverage[:3] == (1.0, 1.0, 1.0)


@pytest.mark.parametrize("method", METHODS)
def test_a_distinct_sample_stands_for_all_segments_of_its_texts(method: str, alike: Path) -> None:
    every, some = got(alike), got(alike, distinct=True, sample=3, method=method)
    texts = {row.text for row in some.rows}
    assert len(some.rows) == len(texts) == 3
    stands_for = [row for row in every.rows if row.text in texts]
    check_coverage(some, stands_for, every.rows, {row.turn_sha256: row.end_byte for row in every.rows})


def test_texts_are_the_same_only_under_the_projection_that_is_asked(alike: Path) -> None:
    """The raw bytes of turns with the same text differ by their times."""
    assert len(got(alike, distinct=True, projection=RAW).rows) == len(got(alike).rows)


# ------------------------------------------------------------------------------------------------------------ export_id


def test_the_same_call_has_the_same_id_and_another_one_another(still: Path, tmp_path: Path) -> None:
    calls: list[dict[str, Any]] = [
        {},
        {"distinct": True},
        {"projection": RAW},
        {"sample": 5},
        {"sample": 6},
        {"sample": 5, "distinct": True},
        {"sample": 5, "method": "random"},
        {"sample": 5, "method": "random", "seed": 1},
    ]
    ids = [got(still, **call).header.export_id for call in calls]
    assert len(set(ids)) == len(calls)
    assert [got(still, **call).header.export_id for call in calls] == ids
    shutil.copytree(still, tmp_path / "moved.ctxa")
    assert [got(tmp_path / "moved.ctxa", **call).header.export_id for call in calls] == ids
    assert got(still, scheme=SCHEME).header.export_id == ids[0]


def test_another_state_another_scheme_and_other_cuts_have_other_ids(archive: Path) -> None:
    segment(archive, [SCHEME])
    ids = {got(archive).header.export_id}
    stored(archive, A + story(5), index=False)
    ids.add(got(archive).header.export_id)
    segment(archive)
    ids.add(got(archive).header.export_id)
    segment(archive, ["structural-v1"])
    ids.add(got(archive, scheme="structural-v1").header.export_id)
    length = len(story(0))
    for at in (50, 51):
        lines = [b'{"turn":0,"start":%d,"end":%d}' % (at, length), b'{"turn":0,"start":0,"end":%d}' % at]
        own_cuts(archive, "mine-v1", lines, label="f", rebuild=True)
        ids.add(got(archive, scheme="mine-v1").header.export_id)
    assert len(ids) == 6


# ------------------------------------------------------------------------------------------------------- which index


def test_without_an_index_and_with_several_the_call_is_refused(archive: Path) -> None:
    refusal = refused(lambda: got(archive))
    assert (refusal.code, refusal.status) == ("NO_SUCH_SCHEME", 5)
    assert "ctxarc segment ARCHIVE" in refusal.hint
    refusal = refused(lambda: got(archive, scheme=SCHEME))
    assert (refusal.code, refusal.hint) == ("NO_SUCH_SCHEME", f"ctxarc segment ARCHIVE --scheme {SCHEME}")
    segment(archive, ["whole-turn-v1"])
    assert got(archive).header.scheme == "whole-turn-v1"
    assert refused(lambda: got(archive, scheme=SCHEME)).facts["built"] == ["whole-turn-v1"]
    segment(archive, [SCHEME])
    refusal = refused(lambda: got(archive))
    assert (refusal.code, refusal.status) == ("AMBIGUOUS", 3)
    assert refusal.facts["schemes"] == [SCHEME, "whole-turn-v1"]
    assert "--scheme" in refusal.hint
    assert got(archive, scheme=SCHEME).header.scheme == SCHEME


@pytest.mark.parametrize("scheme", ["nope-v1", "", "..", "../pack", "a/b", "A" * 300, "\x00"])
def test_an_unknown_scheme_is_refused_with_the_list(scheme: str, still: Path) -> None:
    refusal = refused(lambda: got(still, scheme=scheme))
    assert (refusal.code, refusal.status) == ("NO_SUCH_SCHEME", 5)
    assert all(name in refusal.message for name in SCHEMES)


def test_an_empty_archive_exports_nothing_and_covers_all(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    stored(archive, b"")
    for options in (
        {},
        {"scheme": "sized-900-v1"},
        {"sample": 5},
        {"sample": 5, "method": "random"},
        {"distinct": True},
    ):
        header, rows = got(archive, **options)
        assert rows == []
        assert (header.segments, header.segments_in_index) == (0, 0)
        assert header.coverage == (1.0, 1.0, 1.0, None, None)
    segment(archive)
    assert got(archive).header.scheme == SCHEME
    assert refused(lambda: got(archive, scheme="nope-v1")).code == "NO_SUCH_SCHEME"


def test_a_partial_archive_says_so(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    kept = sum(map(len, turns_of(A)[3:]))
    stored(archive, A, max_bytes=kept, allow_truncation=True)
    segment(archive)
    header, rows = got(archive)
    assert (header.complete, header.omitted) == (False, ((0, len(A) - kept),))
    assert header.coverage == (1.0, 1.0, 1.0, 3, 4)
    assert {row.turn for row in rows} == {3, 4}
    done = run("export", archive)
    assert json.loads(done.stdout.splitlines()[0])["omitted"] == [{"start_byte": 0, "end_byte": len(A) - kept}]
    assert b"s is incomplete: bytes " in done.stderr
    assert run("export", archive, "-q").stderr == b""
    stored(archive, stories(6, 8), "t")
    header, _ = got(archive)
    assert (header.complete, header.omitted) == (False, ())


def test_an_index_of_a_part_of_the_record_says_what_its_rows_cover(archive: Path) -> None:
    segment(archive, [SCHEME])
    stored(archive, A + stories(5, 8), index=False)
    some = got(archive)
    assert some.header.coverage.segments == 1.0
    check_coverage(some, some.rows, some.rows, lengths(A + stories(5, 8)))
    assert some.header.coverage.bytes < 1


def test_replaced_turns_are_not_exported(archive: Path) -> None:
    segment(archive, [SCHEME])
    new = story(0) + stories(20, 22)
    stored(archive, new, as_new_history=True)
    assert places(got(archive).rows) == expected(("s", new))


# ----------------------------------------------------------------------------------------------------------- streaming


def test_the_first_row_comes_before_the_last_pack_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tmp_path / "a.ctxa"
    made, data = noise(5), b""
    for size in (900_000, 90_000, 9_000):
        data += b"".join(said(made.randbytes(3000).hex()) for _ in range(size // 6000 + 1))
        stored(archive, data, level=1)
    segment(archive, ["whole-turn-v1"])
    packs = len(read_head(archive).packs)
    assert packs > 1
    loaded, load = [], Record.load_pack

    def counted(self: Record, index: int) -> Any:  # noqa: ANN401 - as it is
        loaded.append(index)
        return load(self, index)

    monkeypatch.setattr(Record, "load_pack", counted)
    rows = export(archive)
    assert isinstance(next(rows), ExportHeader)
    assert loaded == []
    assert isinstance(next(rows), ExportRow)
    assert loaded == [0]
    assert len(list(rows)) == len(turns_of(data)) - 1
    assert loaded == list(range(packs))
    loaded.clear()
    assert len(got(archive, sample=1).rows) == 1
    assert loaded == [0]  # a pack of which no row is exported is not read


def test_an_export_writes_nothing(still: Path) -> None:
    before = tree(still)
    got(still, distinct=True, sample=3)
    assert run("export", still, "--sample", "2").returncode == 0
    assert tree(still) == before


# --------------------------------------------------------------------------------------------------- the command export


def test_requests_for_a_batch_endpoint_have_a_line_a_row(still: Path) -> None:
    header, rows = got(still, sample=6)
    done = run("export", still, "--sample", "6", "--format", "openai-batch", "--model", "some-model")
    assert done.returncode == 0
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines == [
        {
            "custom_id": row.id,
            "method": "POST",
            "url": "/v1/embeddings",
            "body": {"model": "some-model", "input": row.text, "encoding_format": "float"},
        }
        for row in rows
    ]
    assert f"6 requests of {SCHEME}, {PROJECTION}, export {header.export_id}".encode() in done.stderr
    quiet = run("export", still, "--sample", "6", "--format", "openai-batch", "--model", "some-model", "-q")
    assert (quiet.stdout, quiet.stderr) == (done.stdout, b"")


@pytest.mark.parametrize(
    "args",
    [
        ["--format", "openai-batch"],
        ["--model", "some-model"],
        ["--format", "ndjson", "--model", "some-model"],
        ["--format", "csv"],
        ["--seed", "1"],
        ["--sample", "5", "--seed", "1"],
        ["--method", "random", "--seed", "1"],
        ["--method", "middle"],
        ["--projection", "none"],
        ["--sample", "some"],
        ["--sample", "1.5"],
    ],
)
def test_options_that_make_no_sense_are_a_usage_error(args: list[str], still: Path) -> None:
    done = run("export", still, *args, "--json")
    assert (done.returncode, one(done)["refusal"]["code"]) == (2, "USAGE")
    done = run("export", still, *args)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"USAGE" in done.stderr


def test_the_command_takes_every_option_of_the_export(still: Path) -> None:
    args = ["--scheme", SCHEME, "--sample", "4", "--method", "random", "--seed", "9", "--distinct", "--projection", RAW]
    done = run("export", still, *args)
    header, rows = got(still, scheme=SCHEME, sample=4, method="random", seed=9, distinct=True, projection=RAW)
    first, *lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert first["export_id"] == header.export_id
    assert first["sample"] == {"rows": 4, "method": "random", "seed": 9}
    assert [line["id"] for line in lines] == [row.id for row in rows]


def test_missing_is_every_segment_while_there_are_no_vectors(still: Path) -> None:
    header, rows = got(still, missing=True)
    assert header.missing is True
    assert rows == got(still).rows


@pytest.mark.parametrize(
    ("args", "status", "code"),
    [
        (["--scheme", "nope-v1"], 5, "NO_SUCH_SCHEME"),
        (["--scheme", "sized-900-v1"], 5, "NO_SUCH_SCHEME"),
    ],
)
def test_a_refused_export_has_its_status_and_a_hint(args: list[str], status: int, code: str, still: Path) -> None:
    done = run("export", still, *args)
    assert (done.returncode, done.stdout) == (status, b"")
    first, hint = done.stderr.splitlines()
    assert first.startswith(f"ctxarc: {code}: ".encode())
    assert hint.startswith(b"hint: ")
    done = run("export", still, *args, "--json")
    assert (done.returncode, one(done)["ok"], one(done)["refusal"]["code"]) == (status, False, code)


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    for words in (["export"], ["segment"], ["segment", "--list"]):
        done = run(words[0], tmp_path / "absent", *words[1:], "--json")
        assert (done.returncode, one(done)["refusal"]["code"]) == (5, "NO_SUCH_ARCHIVE")
        done = run(words[0], tmp_path, *words[1:], "--json")
        assert (done.returncode, one(done)["refusal"]["code"]) == (3, "NOT_AN_ARCHIVE")
    assert list(tmp_path.iterdir()) == []


def test_damage_met_by_an_export_is_its_last_line(archive: Path) -> None:
    segment(archive, [SCHEME])
    (pack,) = (archive / "pack").iterdir()
    data = bytearray(pack.read_bytes())
    data[len(data) // 2] ^= 1
    pack.write_bytes(data)
    done = run("export", archive, "--json")
    header, *rest = objects(done)
    assert (done.returncode, header["kind"]) == (4, "ctxarc-export")
    assert rest[-1]["refusal"]["code"] == "CHECKSUM_MISMATCH"


# -------------------------------------------------------------------------------------------------- the command segment

RESULT_FIELDS = {
    "scheme",
    "segments",
    "new_segments",
    "median_segment_bytes",
    "coverage",
    "bytes_covered_twice",
    "turns_not_fully_covered",
    "preservation_digest_before",
    "preservation_digest_after",
    "preservation_unchanged",
}


def test_segment_prints_a_table_and_that_the_record_is_unchanged(archive: Path) -> None:
    done = run("segment", archive)
    assert done.returncode == 0
    assert done.stderr == b""
    head, row, record = done.stdout.decode().splitlines()
    (result,) = segment(archive)
    assert head.split() == ["scheme", "segments", "new", "median", "covers", "index", "words"]
    assert row.split()[:3] == [SCHEME, str(result.segments), f"+{result.segments}"]
    assert "100 %" in row
    assert record == f"record   unchanged, {result.preservation_digest_after}"
    again = run("segment", archive).stdout.decode()
    assert "+0" in again
    quiet = run("segment", archive, "-q")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, b"", b"")


def test_json_of_one_index_is_flat_and_of_several_a_list(archive: Path) -> None:
    flat = one(run("segment", archive, "--scheme", SCHEME, "--json"))
    assert flat.keys() >= RESULT_FIELDS | {"archive", "archive_digest"}
    assert "indexes" not in flat
    assert "cuts_inside_characters" not in flat
    several = one(run("segment", archive, "--scheme", SCHEME, "--scheme", "whole-turn-v1", "--json"))
    assert [each["scheme"] for each in several["indexes"]] == [SCHEME, "whole-turn-v1"]
    assert all(each.keys() >= RESULT_FIELDS for each in several["indexes"])
    assert several["archive_digest"] == flat["archive_digest"]
    assert several["indexes"][0] == {
        **{name: value for name, value in flat.items() if name not in {"schema", "ok"}},
        "new_segments": 0,
    }


def test_the_list_has_every_scheme_and_what_there_is_of_it(archive: Path) -> None:
    segment(archive, [SCHEME])
    stored(archive, A + A[: len(story(0))] + stories(5, 9), index=False)
    done = run("segment", archive, "--list")
    lines = {line.split()[0]: line for line in done.stdout.decode().splitlines()[1:]}
    assert list(lines) == sorted(SCHEMES)
    (result,) = [each for each in got_list(archive) if each["scheme"] == SCHEME]
    assert (result["built"], result["segments"]) == (True, len(got(archive).rows))
    assert 0 < result["coverage"] < 1
    assert f"{int(result['coverage'] * 1000) / 10:g} %" in lines[SCHEME]
    for name, scheme in SCHEMES.items():
        assert scheme.about in lines[name]
    assert lines["sized-900-v1"].split()[1:3] == ["-", "-"]
    assert all(
        set(each) == {"scheme", "about", "parameters", "built", "segments", "coverage"} for each in got_list(archive)
    )


def got_list(archive: Path) -> list[dict[str, Any]]:
    return list(one(run("segment", archive, "--list", "--json"))["schemes"])


def test_the_list_says_which_index_is_damaged(archive: Path) -> None:
    segment(archive, [SCHEME, "whole-turn-v1"])
    (part,) = (archive / "segments" / SCHEME).iterdir()
    part.write_bytes(b"")
    rows = {each["scheme"]: each for each in got_list(archive)}
    assert rows[SCHEME]["refusal"]["code"] == "TRUNCATED"
    assert rows["whole-turn-v1"]["segments"] == 5
    done = run("segment", archive, "--list")
    assert done.returncode == 0
    assert [b"damaged" in line for line in done.stdout.splitlines()].count(True) == 1


def test_a_list_writes_nothing(archive: Path) -> None:
    before = tree(archive)
    got_list(archive)
    assert tree(archive) == before


def test_own_cuts_come_from_stdin_or_a_file(archive: Path, tmp_path: Path) -> None:
    length = len(story(0))
    data = b'{"turn":0,"start":9,"end":%d}\n{"turn":0,"start":0,"end":9}' % length
    done = run("segment", archive, "--cuts", "-", "--name", "mine-v1", "--json", stdin=data)
    result = one(done)
    assert (done.returncode, result["scheme"], result["segments"], result["new_segments"]) == (0, "mine-v1", 2, 2)
    assert result["cuts_inside_characters"] == 0
    assert result["turns_not_fully_covered"] == 4
    (tmp_path / "mine.ndjson").write_bytes(data)
    done = run("segment", archive, "--cuts", tmp_path / "mine.ndjson", "--name", "mine-v1")
    assert done.returncode == 0
    assert b"mine-v1: 4 turns not covered" in done.stdout
    assert b"+0" in done.stdout
    assert done.stderr == b""


def test_cuts_inside_a_character_are_told(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    stored(archive, "é\n".encode())
    data = b'{"turn":0,"start":0,"end":1}\n{"turn":0,"start":1,"end":3}\n'
    done = run("segment", archive, "--cuts", "-", "--name", "mine-v1", stdin=data)
    assert done.returncode == 0
    assert b"mine-v1: 1 cut inside a character or an escape" in done.stderr


@pytest.mark.parametrize(
    ("args", "stdin", "status", "code"),
    [
        (["--cuts", "-"], b"", 2, "USAGE"),
        (["--name", "mine-v1"], b"", 2, "USAGE"),
        (["--cuts", "-", "--name", "mine-v1", "--scheme", SCHEME], b"", 2, "USAGE"),
        (["--lock-wait", "-1"], b"", 2, "USAGE"),
        (["--scheme", "nope-v1"], b"", 5, "NO_SUCH_SCHEME"),
        (["--cuts", "absent.ndjson", "--name", "mine-v1"], b"", 5, "NO_SUCH_SOURCE"),
        (["--cuts", "-", "--name", SCHEME], b"", 3, "BAD_NAME"),
        (["--cuts", "-", "--name", "no/name"], b"", 3, "BAD_NAME"),
        (["--cuts", "-", "--name", "mine-v1"], b"no JSON\n", 3, "NOT_A_PARTITION"),
        (["--cuts", "-", "--name", "mine-v1"], b'{"turn":0,"start":0,"end":7}\n', 3, "NOT_A_PARTITION"),
        (["--cuts", "-", "--name", "mine-v1"], b'{"turn":99,"start":0,"end":7}\n', 5, "NO_SUCH_TURN"),
    ],
)
def test_a_refused_segment_has_its_status_and_writes_no_index(
    args: list[str], stdin: bytes, status: int, code: str, archive: Path
) -> None:
    done = run("segment", archive, *args, "--json", stdin=stdin)
    assert (done.returncode, one(done)["refusal"]["code"]) == (status, code)
    done = run("segment", archive, *args, stdin=stdin)
    assert (done.returncode, done.stdout) == (status, b"")
    assert code.encode() in done.stderr
    assert not (archive / "segments").exists()


def test_values_and_hints_of_refusals_reach_the_user(archive: Path) -> None:
    done = run("segment", archive, "--cuts", "-", "--name", "mine-v1", stdin=b'{"turn":0,"start":0,"end":7}\n')
    first, hint = done.stderr.decode().splitlines()
    assert first == f"ctxarc: NOT_A_PARTITION: standard input: turn 0: no segment covers the bytes 7-{len(story(0))}"
    assert hint.startswith("hint: every turn")
    done = run("segment", archive, "--cuts", "-", "--name", SCHEME)
    assert f"{SCHEME} is a scheme of ctxarc".encode() in done.stderr


def test_a_file_without_cuts_makes_no_index(archive: Path) -> None:
    run("segment", archive, "--cuts", "-", "--name", "mine-v1", stdin=b"")
    assert not (archive / "segments").exists()


def test_damage_of_an_index_names_the_way_out(archive: Path) -> None:
    segment(archive, [SCHEME])
    (part,) = (archive / "segments" / SCHEME).iterdir()
    part.write_bytes(part.read_bytes()[:-1])
    for words in (["segment"], ["export"], ["log", "--scheme", SCHEME]):
        done = run(*words, archive)
        assert (done.returncode, done.stdout) == (4, b"")
        assert b"ctxarc: TRUNCATED: " in done.stderr
        assert f"--scheme {SCHEME} --rebuild".encode() in done.stderr
    assert run("verify", archive).returncode == 1
    assert run("segment", archive, "--rebuild").returncode == 0
    assert run("verify", archive).returncode == 0


# ---------------------------------------------------------------------------------------------------- log --scheme


def test_log_lists_segments(still: Path) -> None:
    rows = objects(run("log", still, "a", "--scheme", SCHEME, "--json"))
    every = got(still).rows
    assert [row["id"] for row in rows] == [row.id for row in every if row.transcript == "a"]
    assert all(
        set(row) - {"schema", "ok"}
        == {"transcript", "turn", "start_byte", "end_byte", "bytes", "turn_sha256", "id", "scheme", "complete", "text"}
        for row in rows
    )
    done = run("log", still, "a", "--scheme", SCHEME, "-n", "2")
    lines = done.stdout.decode().splitlines()
    assert len(lines) == 2
    for line, row in zip(lines, rows[-2:], strict=True):
        assert line.split()[0] == f"{row['turn']}:{row['start_byte']}-{row['end_byte']}"


def test_log_of_segments_says_what_it_cannot_do(still: Path) -> None:
    done = run("log", still, "--scheme", SCHEME, "--role", "user", "--json")
    assert (done.returncode, one(done)["refusal"]["code"]) == (2, "USAGE")
    done = run("log", still, "--scheme", "sized-900-v1", "--json")
    assert (done.returncode, one(done)["refusal"]["code"]) == (5, "NO_SUCH_SCHEME")


def test_log_of_segments_of_several_transcripts_names_them(still: Path) -> None:
    lines = run("log", still, "--scheme", SCHEME).stdout.decode().splitlines()
    assert "a#" in lines
    assert "b#" in lines


def test_segments_on_a_terminal_and_in_a_pipe_are_safe_to_print(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    stored(archive, said("\x1b[31mred\u202e") + b"\x1b]0;title\x07\n")
    segment(archive)
    done = run("log", archive, "--scheme", SCHEME)
    assert done.returncode == 0
    assert b"\x1b" not in done.stdout
    assert "\u202e" not in done.stdout.decode()
