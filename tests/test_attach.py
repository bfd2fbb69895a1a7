"""``attach`` and what ``export`` knows of vectors: whose they are, what made them, and refusals that store nothing."""

from __future__ import annotations

import base64
import io
import json
import struct
import subprocess
from array import array
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest
from cases import command, environment, noise, one, refused, run, said, sound, stored, tree, turns_of

from ctxarc import open_archive
from ctxarc.auxiliary.projection import PROJECTION, RAW
from ctxarc.auxiliary.vectors.corpus import Corpus, corpora
from ctxarc.auxiliary.vectors.identity import Identity
from ctxarc.model import AttachResult, ExportHeader, ExportRow
from ctxarc.operations import attach as attach_module
from ctxarc.operations.attach import AttachOptions, attach
from ctxarc.operations.export import ExportOptions, export
from ctxarc.operations.own_cuts import own_cuts
from ctxarc.operations.segment import segment
from ctxarc.operations.vector_inputs.answered import Answered, read_answered
from ctxarc.operations.vectors_out import export_vectors

SCHEME = "boundary-v1"
WORDS = ("harbour", "rope", "gull", "tide", "anchor", "lantern", "mast", "fog", "pier", "crate", "sail", "compass")
SIDE = {"vectors", "auxiliary.lock", "record.lock"}


def story(number: int, words: int = 150) -> bytes:
    """A turn of several segments, which no other number has."""
    made = noise(1000 + number)
    text = " ".join(made.choice(WORDS) + ("." if at % 9 == 8 else "") for at in range(words))
    return said(f"Day {number}.\n\n{text}", ("user", "assistant")[number % 2], second=number)


def stories(start: int, end: int) -> bytes:
    return b"".join(story(number) for number in range(start, end))


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Two transcripts that share turns, and one index."""
    path = tmp_path / "a.ctxa"
    stored(path, stories(3, 6), "b")
    stored(path, stories(0, 4), "a")
    segment(path, [SCHEME])
    return path


class Got(NamedTuple):
    header: ExportHeader
    rows: list[ExportRow]

    @property
    def ids(self) -> list[str]:
        return [row.id for row in self.rows]


def got(archive: Path, **options: Any) -> Got:  # noqa: ANN401 - options differ
    header, *rows = export(archive, ExportOptions(**options))
    assert isinstance(header, ExportHeader)
    return Got(header, [row for row in rows if isinstance(row, ExportRow)])


def vector_for(name: str, width: int = 8, seed: str = "") -> list[float]:
    """The vector of an id: the same one each time."""
    made = noise(hash_of(name + seed))
    return list(array("f", [made.gauss(0, 1) for _ in range(width)]))


def hash_of(text: str) -> int:
    return int.from_bytes(text.encode(), "big") % (1 << 61)


def first_line(**fields: object) -> dict[str, object]:
    line: dict[str, object] = {
        "kind": "ctxarc-vectors",
        "model": "m",
        "revision": "r",
        "projection": PROJECTION,
        "scheme": SCHEME,
        "dimensions": 8,
    }
    return {name: value for name, value in (line | fields).items() if value is not None}


def ndjson(*values: object) -> bytes:
    return "".join(json.dumps(value) + "\n" for value in values).encode()


def lines_for(ids: Iterable[str], **fields: object) -> bytes:
    return ndjson(first_line(**fields), *({"id": name, "vector": vector_for(name)} for name in ids))


def put(archive: Path, data: bytes, answered: Answered | None = None, **options: Any) -> AttachResult:  # noqa: ANN401
    stream = io.BufferedReader(io.BytesIO(data))
    return attach(archive, cast("io.BufferedReader", stream), "v", answered=answered, options=AttachOptions(**options))


def held(archive: Path) -> dict[str, dict[str, list[float]]]:
    """Every vector that is held, by id, by the fingerprint of its identity."""
    found: dict[str, dict[str, list[float]]] = {}
    for scheme, fingerprint in corpora(archive):
        corpus = Corpus(archive, scheme, fingerprint)
        mine = found.setdefault(fingerprint, {})
        for each in corpus.objects():
            digest = each.digest.hex()[:32]
            for row, (start, end) in enumerate(zip(each.starts, each.ends, strict=True), each.first_row):
                name = f"ctxa:{digest}:{start}-{end}"
                assert name not in mine
                mine[name] = list(corpus.vector(row))
        assert len(mine) == corpus.rows
    return found


def only(archive: Path) -> dict[str, list[float]]:
    (mine,) = held(archive).values()
    return mine


def vectors_of(ids: Iterable[str]) -> dict[str, list[float]]:
    return {name: vector_for(name) for name in ids}


def stores_nothing(archive: Path, do: Callable[[], object], code: str, *words: str) -> None:
    before = tree(archive)
    refusal = refused(do)
    assert refusal.code == code
    for word in words:
        assert word in refusal.message + refusal.hint
    after = tree(archive)
    for name in SIDE - {"vectors"}:
        before.pop(name, None)
        after.pop(name, None)
    assert after == before


# ------------------------------------------------------------------------------------------------------ what is stored


def test_every_segment_gets_its_vector(archive: Path) -> None:
    rows = got(archive)
    result = put(archive, lines_for(rows.ids))
    identity = {"model": "m", "revision": "r", "dimensions": 8, "projection": PROJECTION, "scheme": SCHEME}
    assert result.identity == identity
    assert result.identity_fingerprint == Identity("m", "r", 8, PROJECTION, SCHEME).fingerprint
    assert (result.attached, result.already_attached) == (len(rows.rows), 0)
    assert (result.segments_in_index, result.coverage) == (rows.header.segments_in_index, 1.0)
    assert (result.archive_digest, result.scheme) == (rows.header.archive_digest, SCHEME)
    assert result.preservation_unchanged
    assert result.vectors_bytes > 0
    assert only(archive) == vectors_of(rows.ids)
    sound(archive)


def test_the_record_and_the_index_stay_as_they_are(archive: Path) -> None:
    before = {path: data for path, data in tree(archive).items() if path.split("/")[0] not in SIDE}
    put(archive, lines_for(got(archive).ids))
    assert {path: data for path, data in tree(archive).items() if path.split("/")[0] not in SIDE} == before


def test_rows_in_any_order_give_the_same(archive: Path, tmp_path: Path) -> None:
    ids = got(archive).ids
    put(archive, lines_for(ids))
    other = tmp_path / "other.ctxa"
    stored(other, stories(3, 6), "b")
    stored(other, stories(0, 4), "a")
    segment(other, [SCHEME])
    noise(1).shuffle(ids)
    put(other, lines_for(ids))
    assert held(other) == held(archive)


def test_vectors_come_in_parts_and_what_is_missing_is_exported(archive: Path) -> None:
    every = got(archive)
    some = got(archive, sample=5)
    result = put(archive, lines_for(some.ids))
    assert (result.attached, result.coverage) == (5, 5 / len(every.rows))
    files = tree(archive / "vectors")
    rest = got(archive, missing=True)
    assert rest.ids == [name for name in every.ids if name not in some.ids]
    assert rest.header.segments == len(rest.rows)
    assert rest.header.coverage.segments == pytest.approx(len(rest.rows) / len(every.rows))
    assert rest.header.export_id != every.header.export_id
    part = got(archive, missing=True, sample=3)
    assert set(part.ids) < set(rest.ids)
    result = put(archive, lines_for(rest.ids))
    assert (result.attached, result.already_attached, result.coverage) == (len(rest.rows), 0, 1.0)
    assert only(archive) == vectors_of(every.ids)
    assert {path: tree(archive / "vectors")[path] for path in files} == files  # old files are never rewritten
    assert got(archive, missing=True).rows == []
    sound(archive)


def test_growth_is_missing_until_it_is_attached(archive: Path) -> None:
    before = got(archive).ids
    put(archive, lines_for(before))
    stored(archive, stories(3, 8), "b")
    rest = got(archive, missing=True)
    assert rest.ids
    assert not set(rest.ids) & set(before)
    assert 0 < rest.header.coverage.segments < 1
    assert put(archive, lines_for(rest.ids)).coverage == 1.0
    assert only(archive) == vectors_of([*before, *rest.ids])


def test_segments_of_a_turn_that_a_longer_one_replaced_are_taken(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    data = stories(0, 2)
    stored(archive, data + story(2)[:700])
    segment(archive, [SCHEME])
    old = got(archive).ids
    stored(archive, data + story(2))
    new = got(archive)
    gone = [name for name in old if name not in new.ids]
    assert gone
    result = put(archive, lines_for(old))
    assert result.attached == len(old)
    assert result.coverage == pytest.approx((len(old) - len(gone)) / len(new.rows))
    assert got(archive, missing=True).ids == [name for name in new.ids if name not in old]


def test_own_cuts_have_vectors_too(archive: Path) -> None:
    lines = [b'{"transcript":"a","turn":0,"start":0,"end":50}', b'{"transcript":"a","turn":0,"start":50,"end":%d}']
    lines[1] %= len(turns_of(stories(0, 1))[0])
    own_cuts(archive, "mine-v1", lines, label="cuts")
    ids = got(archive, scheme="mine-v1").ids
    assert len(ids) == 2
    result = put(archive, lines_for(ids, scheme="mine-v1"))
    assert (result.scheme, result.attached, result.coverage) == ("mine-v1", 2, 1.0)
    assert only(archive) == vectors_of(ids)


def test_identities_stand_side_by_side(archive: Path) -> None:
    ids = got(archive).ids
    put(archive, lines_for(ids))
    first = tree(archive / "vectors")
    for fields in ({"model": "n"}, {"revision": "s"}, {"projection": RAW}):
        assert put(archive, lines_for(ids[:3], **fields)).attached == 3
    assert len(held(archive)) == 4
    assert {path: tree(archive / "vectors")[path] for path in first} == first
    fingerprint = Identity("n", "r", 8, PROJECTION, SCHEME).fingerprint
    assert refused(lambda: got(archive, missing=True)).code == "AMBIGUOUS"
    assert got(archive, missing=True, vectors=fingerprint[:8]).ids == ids[3:]
    assert refused(lambda: got(archive, missing=True, vectors="0000")).code == "NO_SUCH_VECTORS"
    assert refused(lambda: got(archive, vectors=fingerprint)).code == "USAGE"
    sound(archive)


def test_vectors_of_another_scheme_do_not_count_as_there(archive: Path) -> None:
    segment(archive, ["whole-turn-v1"])
    ids = got(archive, scheme=SCHEME).ids
    put(archive, lines_for(ids))
    whole = got(archive, scheme="whole-turn-v1")
    assert got(archive, scheme="whole-turn-v1", missing=True).rows == whole.rows


# ----------------------------------------------------------------------------------------------------- attached again


def test_what_is_held_stays_and_is_counted(archive: Path) -> None:
    ids = got(archive).ids
    put(archive, lines_for(ids[:4]))
    before = only(archive)
    nearly = [{"id": name, "vector": [number * 1.001 + 1e-4 for number in vector_for(name)]} for name in ids[:4]]
    result = put(archive, ndjson(first_line(), *nearly))
    assert (result.attached, result.already_attached) == (0, 4)
    assert only(archive) == before
    result = put(archive, lines_for(ids[2:6]))
    assert (result.attached, result.already_attached) == (2, 2)
    assert only(archive) == vectors_of(ids[:6])


def test_another_vector_under_the_same_identity_is_refused(archive: Path) -> None:
    ids = got(archive).ids
    put(archive, lines_for(ids[:4]))
    other = ndjson(
        first_line(), *({"id": name, "vector": vector_for(name, seed="x" * (name == ids[2]))} for name in ids)
    )
    stores_nothing(archive, lambda: put(archive, other), "INCOMPARABLE", ids[2], "line 4", "cosine", "same identity")


# ----------------------------------------------------------------------------------------------------------- distinct


@pytest.fixture
def alike(tmp_path: Path) -> Path:
    """An archive in which several segments of different turns have the same text."""
    archive = tmp_path / "alike.ctxa"
    stored(archive, b"".join(said(("same", "other", "same again")[n % 3], second=n) for n in range(12)) + story(1))
    segment(archive, [SCHEME])
    return archive


@pytest.mark.parametrize("by", ["first line", "export", "option"])
@pytest.mark.parametrize("projection", [PROJECTION, RAW, f"{PROJECTION}+prefix(x)"])
def test_a_distinct_vector_is_given_to_every_segment_of_its_text(by: str, projection: str, alike: Path) -> None:
    base = projection.partition("+")[0]
    every = got(alike, projection=base)
    some = got(alike, projection=base, distinct=True)
    fields: dict[str, object] = {"projection": projection, "distinct": True if by == "first line" else None}
    answered = None
    if by == "export":
        line = {"kind": "ctxarc-export", "distinct": True}
        answered = read_answered(io.BytesIO(ndjson(line, *({"id": name} for name in some.ids))), "e")
    result = put(alike, lines_for(some.ids, **fields), answered, distinct=by == "option")
    assert (result.attached, result.coverage) == (len(every.rows), 1.0)
    firsts = {row.text: row.id for row in some.rows}
    assert only(alike) == {row.id: vector_for(firsts[row.text]) for row in every.rows}
    sound(alike)


def test_without_distinct_a_vector_is_its_segments_alone(alike: Path) -> None:
    some = got(alike, distinct=True)
    assert put(alike, lines_for(some.ids)).attached == len(some.rows)
    rest = got(alike, missing=True)
    assert {*rest.ids, *some.ids} == set(got(alike).ids)
    assert not set(rest.ids) & set(some.ids)


def test_distinct_fills_in_what_is_missing_and_leaves_what_is_held(alike: Path) -> None:
    every = got(alike)
    same = [row.id for row in every.rows if row.text == "same"]
    assert len(same) == 4
    put(alike, lines_for(same[1:2]))
    rest = got(alike, missing=True, distinct=True)
    assert same[0] in rest.ids
    assert len({row.text for row in rest.rows}) == len(rest.rows)
    put(alike, lines_for(rest.ids, distinct=True))
    mine = only(alike)
    assert mine[same[1]] == vector_for(same[1])
    assert [mine[name] for name in (same[0], *same[2:])] == [vector_for(same[0])] * 3
    assert got(alike, missing=True).rows == []


def test_segments_of_one_text_that_are_given_keep_their_own(alike: Path) -> None:
    same = [row.id for row in got(alike).rows if row.text == "same"]
    result = put(alike, lines_for([same[1], same[0]]), distinct=True)
    assert (result.attached, len(only(alike))) == (4, 4)
    assert only(alike)[same[1]] == vector_for(same[1])
    assert only(alike)[same[2]] == vector_for(same[0])


# ----------------------------------------------------------------------------------------------------------- identity


def test_options_state_what_no_line_does(archive: Path) -> None:
    ids = got(archive).ids
    rows = ndjson(*({"id": name, "vector": vector_for(name)} for name in ids))
    result = put(archive, rows, model="m", revision="unstated")
    assert result.identity == {
        "model": "m",
        "revision": "unstated",
        "dimensions": 8,
        "projection": PROJECTION,
        "scheme": SCHEME,
    }
    segment(archive, ["whole-turn-v1"])
    assert refused(lambda: put(archive, rows, model="m", revision="s")).code == "AMBIGUOUS"
    assert put(archive, rows, model="m", revision="s", scheme=SCHEME, projection=RAW).identity["projection"] == RAW


def test_what_is_stated_twice_has_to_agree(archive: Path) -> None:
    ids = got(archive).ids
    data = lines_for(ids)
    assert put(archive, data, model="m", revision="r", projection=PROJECTION, scheme=SCHEME).attached == len(ids)
    for name in ("model", "revision", "projection", "scheme"):
        other: dict[str, Any] = {name: "other"}
        stores_nothing(archive, partial(put, archive, data, **other), "INCOMPARABLE", name, "other")
    line = {"kind": "ctxarc-export", "projection": RAW, "scheme": SCHEME, "export_id": "e1"}
    answered = read_answered(io.BytesIO(ndjson(line)), "e")
    stores_nothing(archive, lambda: put(archive, data, answered), "INCOMPARABLE", "projection differs", RAW)
    data = lines_for(ids, projection=None, scheme=None, export_id="e2")
    stores_nothing(archive, lambda: put(archive, data, answered), "INCOMPARABLE", "export_id differs", "e1", "e2")
    data = lines_for(ids, projection=None, scheme=None)
    assert put(archive, data, answered).identity["projection"] == RAW


@pytest.mark.parametrize("name", ["model", "revision"])
def test_what_nobody_states_is_refused(name: str, archive: Path) -> None:
    nothing: dict[str, object] = {name: None}
    data = lines_for(got(archive).ids, **nothing)
    stores_nothing(archive, lambda: put(archive, data), "IDENTITY_UNSTATED", name, f"--{name}")


@pytest.mark.parametrize("text", ["é" * 1000, "\ud800", "a\nb\x1b", "+"])
def test_names_of_models_may_be_odd_and_not_endless(text: str, archive: Path) -> None:
    ids = got(archive).ids
    assert put(archive, lines_for(ids, model=text)).identity["model"] == text
    assert only(archive) == vectors_of(ids)
    data = lines_for(ids, model=text * 1001)
    stores_nothing(archive, lambda: put(archive, data), "MALFORMED_VECTORS", "model", "limit is 1,000")


def test_answers_of_a_batch_need_a_revision(archive: Path) -> None:
    ids = got(archive).ids
    body = {"model": "some-model", "object": "list"}
    data = ndjson(
        *(
            {
                "custom_id": name,
                "error": None,
                "response": {
                    "status_code": 200,
                    "body": {**body, "data": [{"index": 0, "embedding": vector_for(name)}]},
                },
            }
            for name in ids
        )
    )
    stores_nothing(archive, lambda: put(archive, data), "IDENTITY_UNSTATED", "--revision unstated")
    stores_nothing(archive, lambda: put(archive, data, model="m", revision="r"), "INCOMPARABLE", "model", "some-model")
    result = put(archive, data, revision="unstated")
    assert (result.identity["model"], result.coverage) == ("some-model", 1.0)
    assert only(archive) == vectors_of(ids)


def test_one_object_is_attached(archive: Path) -> None:
    ids = got(archive).ids
    made = {"model": "m", "dimensions": 8, "vectors": [{"key": name, "vector": vector_for(name)} for name in ids]}
    result = put(archive, json.dumps(made).encode(), revision="r")
    assert result.coverage == 1.0
    assert only(archive) == vectors_of(ids)


# ----------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nope", "no id of a segment"),
        ("", "no id of a segment"),
        ("ctxa:" + "0" * 32 + ":0-1", "no turn"),
        ("\x1b[31m", "no id of a segment"),
        ("ctxa:DIGEST", "no segment"),
        ("ctxa:DIGEST:0-1", "no segment of the index"),
        ("ctxa:DIGEST:00-1", "no segment of the index"),
        ("ctxa:DIGEST:0-1 ", "no segment of the index"),
        ("x" * 1000, "xxx..."),
    ],
)
def test_a_vector_of_no_segment_is_refused(name: str, words: str, archive: Path) -> None:
    ids = got(archive).ids
    name = name.replace("DIGEST", ids[0][5:37])
    data = lines_for([ids[0], name, *ids[1:], "other"])
    stores_nothing(archive, lambda: put(archive, data), "UNKNOWN_SEGMENT", "line 3", words, "1 more")


@pytest.mark.parametrize(
    ("vector", "words"),
    [
        ([float("nan")] * 8, "NaN"),
        ([float("inf")] * 8, "infinite"),
        ([0.0] * 8, "zero"),
        (["a"] * 8, "'a'"),
        ([True] * 8, "True"),
        ([1e39] * 8, "float32"),
        ([1.0] * 7, "7 numbers"),
        ([], "no number"),
    ],
)
def test_a_vector_that_is_none_is_refused(vector: list[Any], words: str, archive: Path) -> None:
    ids = got(archive).ids
    rows = [{"id": name, "vector": vector_for(name)} for name in ids]
    rows[4]["vector"] = vector
    data = ndjson(first_line(), *rows)
    stores_nothing(archive, lambda: put(archive, data), "MALFORMED_VECTORS", "line 6", ids[4], words)


def test_an_id_twice_is_refused(archive: Path) -> None:
    ids = got(archive).ids
    data = lines_for([*ids, ids[3]])
    stores_nothing(archive, lambda: put(archive, data), "MALFORMED_VECTORS", ids[3], f"line {len(ids) + 2}", "line 5")
    stores_nothing(archive, lambda: put(archive, data, distinct=True), "MALFORMED_VECTORS", "twice")


@pytest.mark.parametrize("data", [b"", b"\n", ndjson(first_line())])
def test_nothing_is_refused(data: bytes, archive: Path) -> None:
    stores_nothing(archive, lambda: put(archive, data, model="m", revision="r"), "MALFORMED_VECTORS", "no vector")


def test_a_scheme_without_an_index_is_refused(archive: Path) -> None:
    ids = got(archive).ids
    for scheme, code in (("sized-900-v1", "NO_SUCH_SCHEME"), ("nope-v1", "NO_SUCH_SCHEME"), ("../x", "NO_SUCH_SCHEME")):
        stores_nothing(archive, partial(put, archive, lines_for(ids, scheme=scheme)), code)


def test_an_index_of_another_archive_is_refused(archive: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.ctxa"
    stored(other, stories(10, 17))
    segment(other, [SCHEME])
    ids = got(other).ids
    (mine,) = (other / "segments" / SCHEME).iterdir()
    (theirs,) = (archive / "segments" / SCHEME).iterdir()
    mine.write_bytes(theirs.read_bytes())
    assert refused(lambda: put(other, lines_for(ids))).code == "INDEX_MISMATCH"
    assert not (other / "vectors").exists()


# --------------------------------------------------------------------------------------------------- out, and in again


def packed(ids: Iterable[str], width: int = 8) -> bytes:
    return b"".join(struct.pack(f"<{width}f", *vector_for(name)) for name in ids)


def test_vectors_come_back_as_they_were_and_go_in_again(archive: Path, tmp_path: Path) -> None:
    ids = got(archive).ids
    noise(2).shuffle(ids)
    put(archive, lines_for(ids[:7]))
    result = put(archive, lines_for(ids[7:]))
    before = held(archive)
    header, rows = export_vectors(archive, None, result.identity_fingerprint[:6], tmp_path / "v.npy")
    lines = [header, *rows]
    assert (header["segments"], header["kind"]) == (len(ids), "ctxarc-vectors")
    data = (tmp_path / "v.npy").read_bytes()
    assert data.endswith(packed(str(line["id"]) for line in lines[1:]))
    (archive / "vectors").rename(tmp_path / "old")
    answered = read_answered(io.BytesIO(ndjson(*lines)), "ids")
    again = put(archive, data, answered)
    assert again.identity == result.identity
    assert held(archive) == before
    sound(archive)


def test_nothing_is_written_over(archive: Path, tmp_path: Path) -> None:
    fingerprint = put(archive, lines_for(got(archive).ids)).identity_fingerprint
    (tmp_path / "v.npy").write_bytes(b"mine")
    refusal = refused(lambda: export_vectors(archive, None, fingerprint, tmp_path / "v.npy"))
    assert (refusal.code, (tmp_path / "v.npy").read_bytes()) == ("WOULD_OVERWRITE", b"mine")
    assert refused(lambda: export_vectors(archive, SCHEME, "0000", tmp_path / "w.npy")).code == "NO_SUCH_VECTORS"
    assert refused(lambda: export_vectors(archive, None, fingerprint, tmp_path / "no" / "w.npy")).code == "IO_FAILED"
    assert not (tmp_path / "w.npy").exists()


def test_damaged_vectors_are_not_given_back(archive: Path, tmp_path: Path) -> None:
    fingerprint = put(archive, lines_for(got(archive).ids)).identity_fingerprint
    (part,) = (archive / "vectors").rglob("*.vec")
    data = bytearray(part.read_bytes())
    data[data.index(packed(got(archive).ids[:1]))] ^= 1
    part.write_bytes(data)
    assert refused(lambda: export_vectors(archive, None, fingerprint, tmp_path / "v.npy")).status == 4
    assert not (tmp_path / "v.npy").exists()


# --------------------------------------------------------------------------------------------------------- the command


def test_the_command_says_what_it_stored(archive: Path, tmp_path: Path) -> None:
    ids = got(archive).ids
    (tmp_path / "v.ndjson").write_bytes(lines_for(ids))
    done = run("attach", archive, tmp_path / "v.ndjson")
    assert (done.returncode, done.stderr) == (0, b"")
    out = done.stdout.decode().splitlines()
    assert out[0] == f"attached  a vector to {len(ids)} segments"
    assert out[1] == f"covers    100 % of {len(ids)} segments of {SCHEME}"
    assert Identity("m", "r", 8, PROJECTION, SCHEME).fingerprint in out[2]
    assert out[-1].startswith("record    unchanged, ")
    again = run("attach", archive, tmp_path / "v.ndjson").stdout.decode()
    assert f"attached  a vector to 0 segments; {len(ids)} had one, which stays" in again
    quiet = run("attach", archive, tmp_path / "v.ndjson", "-q")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, b"", b"")


@pytest.mark.parametrize("name", [["-"], []])
def test_vectors_come_from_stdin(name: list[str], archive: Path) -> None:
    ids = got(archive).ids
    result = one(run("attach", archive, *name, "--json", stdin=lines_for(ids)))
    assert (result["attached"], result["segments_in_index"], result["coverage"]) == (len(ids), len(ids), 1.0)
    assert set(result["identity"]) == {"model", "revision", "dimensions", "projection", "scheme"}
    assert set(result) >= {"schema", "ok", "archive", "archive_digest", "identity_fingerprint", "already_attached"}


def test_the_command_takes_npy_beside_its_export_in_both_formats(archive: Path, tmp_path: Path) -> None:
    ids = got(archive).ids
    said_of = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({len(ids)}, 8)}}\n".encode()
    (tmp_path / "v.npy").write_bytes(b"\x93NUMPY\1\0" + struct.pack("<H", len(said_of)) + said_of + packed(ids))
    (tmp_path / "e.ndjson").write_bytes(run("export", archive, "--scheme", SCHEME).stdout)
    words = ["--model", "m", "--revision", "r"]
    done = run("attach", archive, tmp_path / "v.npy", *words, "--json")
    assert (done.returncode, one(done)["refusal"]["code"]) == (2, "USAGE")
    result = one(run("attach", archive, tmp_path / "v.npy", "--export", tmp_path / "e.ndjson", *words, "--json"))
    assert (result["attached"], result["coverage"]) == (len(ids), 1.0)
    assert only(archive) == vectors_of(ids)
    batch = run("export", archive, "--format", "openai-batch", "--model", "m").stdout
    (tmp_path / "e.jsonl").write_bytes(batch)
    stdin = (tmp_path / "v.npy").read_bytes()
    result = one(run("attach", archive, "--export", tmp_path / "e.jsonl", *words, "--json", stdin=stdin))
    assert (result["attached"], result["already_attached"]) == (0, len(ids))


def test_the_command_gives_vectors_back(archive: Path, tmp_path: Path) -> None:
    ids = got(archive).ids
    fingerprint = put(archive, lines_for(ids)).identity_fingerprint
    done = run("export", archive, "--vectors", fingerprint[:8], "-o", tmp_path / "v.npy")
    assert done.returncode == 0
    (tmp_path / "ids.ndjson").write_bytes(done.stdout)
    before = held(archive)
    (archive / "vectors").rename(tmp_path / "old")
    done = run("attach", archive, tmp_path / "v.npy", "--export", tmp_path / "ids.ndjson", "--json")
    assert one(done)["identity_fingerprint"] == fingerprint
    assert held(archive) == before
    rest = run("export", archive, "--missing", "--vectors", fingerprint[:8])
    assert (rest.returncode, len(rest.stdout.splitlines())) == (0, 1)


@pytest.mark.parametrize(
    "args",
    [
        ["--vectors", "0a"],
        ["-o", "x.npy"],
        ["--missing", "-o", "x.npy"],
        ["--missing", "--vectors", "0a", "-o", "x.npy"],
        ["--vectors", "0a", "-o", "x.npy", "--sample", "5"],
        ["--vectors", "0a", "-o", "x.npy", "--distinct"],
        ["--vectors", "0a", "-o", "x.npy", "--projection", RAW],
        ["--vectors", "0a", "-o", ""],
    ],
)
def test_options_of_vectors_that_make_no_sense_are_a_usage_error(
    args: list[str], archive: Path, tmp_path: Path
) -> None:
    done = subprocess.run(
        command("export", archive, *args, "--json"), cwd=tmp_path, env=environment(), capture_output=True, check=False
    )
    assert (done.returncode, one(done)["refusal"]["code"]) == (2, "USAGE")
    assert not (tmp_path / "x.npy").exists()


@pytest.mark.parametrize(
    ("args", "stdin", "status", "code"),
    [
        (["absent.ndjson"], b"", 5, "NO_SUCH_SOURCE"),
        (["--export", "absent.ndjson"], b"", 5, "NO_SUCH_SOURCE"),
        (["/"], b"", 6, "IO_FAILED"),
        (["--model", ""], b"", 2, "USAGE"),
        (["--revision", " "], b"", 2, "USAGE"),
        ([], b"", 3, "MALFORMED_VECTORS"),
        ([], b'{"id": "nope", "vector": [1.0]}\n', 3, "IDENTITY_UNSTATED"),
        (["--model", "m", "--revision", "r"], b'{"id": "nope", "vector": [1.0]}\n', 3, "UNKNOWN_SEGMENT"),
        (["--model", "m"], lines_for(["nope"], model="n"), 3, "INCOMPARABLE"),
        (["--scheme", "nope-v1"], lines_for(["nope"], scheme=None), 5, "NO_SUCH_SCHEME"),
    ],
)
def test_a_refused_attach_has_its_status_and_stores_nothing(
    args: list[str], stdin: bytes, status: int, code: str, archive: Path
) -> None:
    done = run("attach", archive, *args, "--json", stdin=stdin)
    assert (done.returncode, one(done)["refusal"]["code"]) == (status, code)
    done = run("attach", archive, *args, stdin=stdin)
    assert (done.returncode, done.stdout) == (status, b"")
    assert done.stderr.startswith(f"ctxarc: {code}: ".encode())
    assert not (archive / "vectors").exists()


def test_text_of_an_id_is_safe_to_print(archive: Path) -> None:
    done = run("attach", archive, "--model", "m", "--revision", "r", stdin=b'{"id": "\\u001b[31m", "vector": [1.0]}\n')
    assert (done.returncode, b"\x1b" in done.stderr) == (3, False)
    assert b"\\x1b[31m" in done.stderr


def test_what_is_no_archive_is_refused_before_vectors_are_read(tmp_path: Path) -> None:
    done = run("attach", tmp_path / "absent", "--json", stdin=b"no vectors")
    assert (done.returncode, one(done)["refusal"]["code"]) == (5, "NO_SUCH_ARCHIVE")


def test_an_archive_as_an_object_attaches(archive: Path, tmp_path: Path) -> None:
    ids = got(archive).ids
    (tmp_path / "v.ndjson").write_bytes(lines_for(ids, model=None))
    result = open_archive(archive).attach(tmp_path / "v.ndjson", options=AttachOptions(model="m"))
    assert result.attached == len(ids)


# -------------------------------------------------------------------------------------------------------- without NumPy


@pytest.fixture
def plain(tmp_path: Path) -> dict[str, str]:
    """An environment in which NumPy cannot be imported."""
    folder = tmp_path / "block"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text("import sys\nsys.modules['numpy'] = None\n")
    return {"PYTHONPATH": f"{folder}:{Path(attach_module.__file__).resolve().parents[2]}"}


def test_the_same_is_stored_without_numpy(archive: Path, tmp_path: Path, plain: dict[str, str]) -> None:
    ids = got(archive).ids
    (tmp_path / "v.ndjson").write_bytes(lines_for(ids[:5]))
    done = run("attach", archive, tmp_path / "v.ndjson", "--json", env=plain)
    assert one(done)["attached"] == 5
    encoded = [{"id": name, "vector": base64.b64encode(packed([name])).decode()} for name in ids[3:]]
    done = run("attach", archive, "--json", stdin=ndjson(first_line(), *encoded), env=plain)
    result = one(done)
    assert (result["attached"], result["already_attached"], result["coverage"]) == (len(ids) - 5, 2, 1.0)
    assert only(archive) == vectors_of(ids)
    fingerprint = result["identity_fingerprint"]
    done = run("export", archive, "--vectors", fingerprint, "-o", tmp_path / "v.npy", env=plain)
    (tmp_path / "ids.ndjson").write_bytes(done.stdout)
    (archive / "vectors").rename(tmp_path / "old")
    done = run("attach", archive, tmp_path / "v.npy", "--export", tmp_path / "ids.ndjson", "--json", env=plain)
    assert one(done)["coverage"] == 1.0
    assert only(archive) == vectors_of(ids)
