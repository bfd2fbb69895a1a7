"""The side files of vectors: what lies in them, their damage, how they grow, and what is refused before it is stored.

A part is read here a second time, in the plainest way, so that what the code says of it is compared and not believed.
"""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
from array import array
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from struct import pack, unpack
from typing import Any, NamedTuple

import pytest
from cases import environment, noise, refused, said, tree
from cases import stored as captured
from hypothesis import given, settings
from hypothesis import strategies as st
from vectorsets import SCHEME, digest, exact_mean, exact_ranking, float32, identity, leading, new_rows, opened, put
from xxhash import xxh3_64_hexdigest, xxh3_64_intdigest

from ctxarc.auxiliary.vectors import corpus as corpus_module
from ctxarc.auxiliary.vectors.arrays import np
from ctxarc.auxiliary.vectors.corpus import MANY, Corpus, add, check, corpora, is_part
from ctxarc.auxiliary.vectors.folders import part_name, spans
from ctxarc.auxiliary.vectors.identity import Identity
from ctxarc.auxiliary.vectors.part import HEADER_LIMIT, padding, tables_bytes
from ctxarc.auxiliary.vectors.ranking import open_ranking
from ctxarc.auxiliary.vectors.sums import ColumnSums, NumpyColumnSums, pack_sums, unpack_sums
from ctxarc.errors import Damage
from ctxarc.preservation.record import Record

needs_numpy = pytest.mark.skipif(np is None, reason="NumPy is not installed")
ROWS = float32([[0.5, -1.25, 3.0], [1e-3, 2.0, 0.0], [7.0, 0.1, -0.2], [0.5, -1.25, 3.0], [9.0, 1.0, 1.0]])
OBJECTS = {2: [(0, 4), (4, 9)], 5: [(3, 8)], 6: [(0, 1), (1, 2)]}
"""Segments of three objects: all of the first and the last, one of the other."""


class Said(NamedTuple):
    """A part as it lies there."""

    head: dict[str, Any]
    rows: bytes
    pad: bytes
    sums: bytes
    checks: bytes
    norms: bytes
    spreads: bytes
    objects: bytes
    firsts: bytes
    starts: bytes
    ends: bytes
    digests: bytes


TABLES = Said._fields[3:]


def said_by(path: Path) -> Said:
    data = path.read_bytes()
    head = json.loads(data[: data.index(b"\n")])
    at, rows, objects = head["rows_at"], head["rows"], head["objects"]
    assert data[at - 1 : at] == b"\n"
    size = 4 * head["dimensions"] * rows
    block = max(1, (1 << 20) // (4 * head["dimensions"]))
    lengths = [size, -size % 64, 40 * head["dimensions"], 8 * -(-rows // block), 4 * rows, 4 * rows]
    lengths += [4 * objects, 4 * (objects + 1), 4 * rows, 4 * rows, 32 * objects]
    pieces = []
    for length in lengths:
        pieces.append(data[at : at + length])
        at += length
    assert at == len(data) == head["stored_bytes"]
    return Said(head, *pieces)


def sealed(head: dict[str, Any]) -> bytes:
    """The header with its checksum, which is counted with sixteen zeros in its place."""
    fields = {name: value for name, value in head.items() if name != "checksum"}
    text = json.dumps(fields | {"checksum": "0" * 16}, separators=(",", ":")).encode()
    line = text + b" " * (-(len(text) + 1) % 64) + b"\n"
    return line.replace(b'"checksum":"' + b"0" * 16, b'"checksum":"' + xxh3_64_hexdigest(line).encode())


def reseal(path: Path, **changed: Any) -> None:  # noqa: ANN401 - values of any field
    """Change a part and make its checksums right again.

    ``rows`` and the names of tables replace bytes, or are functions of them; anything else is a field of the header and
    has the last word.
    """
    said = said_by(path)
    for name in Said._fields[1:]:
        change = changed.get(name)
        if isinstance(change, bytes) or callable(change):
            new: dict[str, Any] = {name: change(getattr(said, name)) if callable(change) else change}
            said = said._replace(**new)
            del changed[name]
            if name == "rows":
                said = said._replace(checks=pack("<Q", xxh3_64_intdigest(said.rows)))
    behind = b"".join(said[2:])
    head = said.head | {"tables_checksum": xxh3_64_hexdigest(behind)} | changed
    path.write_bytes(sealed(head) + said.rows + behind)


@pytest.fixture
def made(tmp_path: Path) -> Identity:
    """One part of five rows, in ``tmp_path``."""
    add(tmp_path, identity(3), new_rows(ROWS, OBJECTS), "ab" * 32)
    return identity(3)


def part_of(archive: Path) -> Path:
    (path,) = archive.rglob("*.vec")
    return path


def code_when_opened(archive: Path, made: Identity) -> str:
    """The code of the damage that opening meets, with a hint that says how it is mended."""
    refusal = refused(lambda: opened(archive, made))
    assert isinstance(refusal, Damage)
    assert "attach" in refusal.hint
    assert f"vectors/{SCHEME}/{made.fingerprint}" in refusal.hint
    assert str(refusal.facts["path"]).startswith(f"vectors/{SCHEME}/{made.fingerprint}")
    return refusal.code


def answers(archive: Path, made: Identity) -> list[list[tuple[int, float]]]:
    rankings = [open_ranking(opened(archive, made), backend) for backend in ("python", None)]
    return [ranking.rank([1.0, 2.0, 3.0]).top(5) for ranking in rankings]


# ------------------------------------------------------------------------------------------------------ what lies there


def test_rows_come_back_with_their_places(tmp_path: Path, made: Identity) -> None:
    corpus = opened(tmp_path, made)
    assert corpora(tmp_path) == [(SCHEME, made.fingerprint)]
    assert (corpus.identity, corpus.rows, corpus.stored_bytes) == (made, 5, part_of(tmp_path).stat().st_size)
    assert [corpus.vector(row).tolist() for row in range(5)] == ROWS
    places = [(number, *span) for number, every in OBJECTS.items() for span in every]
    assert [tuple(corpus.place(row)) for row in range(5)] == places
    assert [corpus.row_of(*place) for place in places] == list(range(5))
    assert [corpus.row_of(*place) for place in [(2, 0, 9), (3, 0, 4), (5, 0, 3), (5, 3, 9), (7, 0, 1)]] == [None] * 5
    listed = [(each.object, each.digest, each.first_row, len(each.starts)) for each in corpus.objects()]
    assert listed == [(2, digest(2), 0, 2), (5, digest(5), 2, 1), (6, digest(6), 3, 2)]
    assert corpus.mean == exact_mean(ROWS)


def test_a_part_is_a_line_of_json_and_aligned_float32_rows_and_tables(tmp_path: Path, made: Identity) -> None:
    said = said_by(part_of(tmp_path))
    fields = {name: said.head[name] for name in made._fields}
    assert fields == made.as_json()
    assert {"format": "ctxarc-vectors", "version": 1, "archive_digest": "ab" * 32, "rows": 5, "objects": 3}.items() <= (
        said.head.items()
    )
    assert said.head["rows_at"] % 64 == 0
    assert unpack("<15f", said.rows) == tuple(x for row in ROWS for x in row)
    assert said.pad == bytes(4)
    sums = [int.from_bytes(said.sums[at : at + 40], "little", signed=True) for at in (0, 40, 80)]
    assert [Fraction(x, 1 << 149) for x in sums] == [sum(map(Fraction, column)) for column in zip(*ROWS, strict=True)]
    assert unpack("<Q", said.checks) == (xxh3_64_intdigest(said.rows),)
    assert unpack("<5f", said.norms) == pytest.approx([math.hypot(*row) for row in ROWS], rel=1e-6)
    mean = exact_mean(ROWS)
    assert unpack("<5f", said.spreads) == pytest.approx([math.dist(row, mean) for row in ROWS], rel=1e-6)
    assert (unpack("<3I", said.objects), unpack("<4I", said.firsts)) == ((2, 5, 6), (0, 2, 3, 5))
    assert (unpack("<5I", said.starts), unpack("<5I", said.ends)) == ((0, 4, 3, 0, 1), (4, 9, 8, 1, 2))
    assert said.digests == digest(2) + digest(5) + digest(6)
    assert said.head["tables_checksum"] == xxh3_64_hexdigest(b"".join(said[2:]))
    assert sealed(said.head) == part_of(tmp_path).read_bytes()[: said.head["rows_at"]]


def test_a_large_part_is_hardly_larger_than_its_rows() -> None:
    rows, width = 61_458, 768
    raw = 4 * width * rows
    assert HEADER_LIMIT + raw + padding(width, rows) + tables_bytes(width, rows, 3551) <= 1.01 * raw


def test_rows_in_many_blocks_have_a_checksum_each(tmp_path: Path) -> None:
    width = 60_000  # four rows in a block
    rows = float32([[float(at + 1)] + [0.5] * (width - 1) for at in range(10)])
    corpus = opened(tmp_path, put(tmp_path, rows))
    assert len(said_by(part_of(tmp_path)).checks) == 8 * 3
    (part,) = corpus.parts
    part.prove(5, 6)
    before = part.is_proved
    corpus.prove()
    assert (before, part.is_proved) == (False, True)
    assert corpus.vector(9).tolist() == rows[9]


def test_a_corpus_is_listed_by_scheme_and_fingerprint(tmp_path: Path) -> None:
    assert corpora(tmp_path) == []
    made = [put(tmp_path, ROWS, model=name, scheme=scheme) for name in ("a", "b") for scheme in ("x-v1", SCHEME)]
    for name in ("vectors/x-v1/notes", "vectors/Not a scheme/" + "0" * 32, "vectors/x-v1/" + "0" * 32):
        (tmp_path / name).mkdir(parents=True)
    assert corpora(tmp_path) == sorted((each.scheme, each.fingerprint) for each in made)


def test_places_of_parts_are_known_by_their_paths() -> None:
    folder = f"vectors/{SCHEME}/{'0a' * 16}"
    assert is_part(f"{folder}/00000001-00000017.vec")
    assert is_part(f"{folder}/00000001-00000017.vec.tmp")
    for path in (
        f"{folder}/model.json",
        f"{folder}/1-2.vec",
        f"{folder}/00000001-00000017.vec.tmp.tmp",
        f"vectors/{SCHEME}/00000001-00000017.vec",
        f"words/{SCHEME}/{'0a' * 16}/00000001-00000017.vec",
        f"vectors/{SCHEME}/{'0A' * 16}/00000001-00000017.vec",
        f"vectors/../{'0a' * 16}/00000001-00000017.vec",
    ):
        assert not is_part(path)


# ---------------------------------------------------------------------------------------------------------------- sums


@settings(max_examples=150, deadline=None)
@given(st.data(), st.integers(1, 5))
def test_sums_are_exact_whatever_adds_them(data: st.DataObject, width: int) -> None:
    number = st.one_of(
        st.floats(width=32, allow_nan=False, allow_infinity=False),
        st.floats(-1, 1, width=32),
        st.floats(-(2.0**-120), 2.0**-120, width=32),
    )
    rows = data.draw(st.lists(st.lists(number, min_size=width, max_size=width), min_size=1, max_size=30))
    exact = [int(sum(map(Fraction, column)) * 2**149) for column in zip(*rows, strict=True)]
    cut = data.draw(st.integers(0, len(rows)))
    plain = ColumnSums(width)
    for some in (rows[:cut], rows[cut:]):
        plain.add(array("f", [x for row in some for x in row]))
    assert plain.total() == exact
    assert unpack_sums(pack_sums(exact)) == exact
    if np is not None:
        quick = NumpyColumnSums(width)
        for some in (rows[:cut], rows[cut:]):
            quick.add(np.array(some, "f4").reshape(len(some), width))
        assert quick.total() == exact


@needs_numpy
def test_sums_of_many_rows_of_all_sizes_are_exact() -> None:
    made = noise(5)
    rows = float32(
        [
            [made.gauss(0, 1) * 2.0 ** made.randint(-140, 100 if at > 900 else -20) for _ in range(9)]
            for at in range(1800)
        ]
    )
    quick, plain = NumpyColumnSums(9), ColumnSums(9)
    for at in range(0, 1800, 600):
        quick.add(np.array(rows[at : at + 600], "f4"))
        plain.add(array("f", [x for row in rows[at : at + 600] for x in row]))
    assert (
        quick.total()
        == plain.total()
        == [int(sum(map(Fraction, column)) * 2**149) for column in zip(*rows, strict=True)]
    )


# -------------------------------------------------------------------------------------------------------------- damage


def test_every_byte_that_is_flipped_is_noticed(tmp_path: Path, made: Identity) -> None:
    path = part_of(tmp_path)
    whole = path.read_bytes()
    before = answers(tmp_path, made)
    assert before[0] == leading(exact_ranking(ROWS, [1.0, 2.0, 3.0], centre=True), 5)
    for at in range(len(whole)):
        for flip in (1 << at % 8, 0xFF):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ flip]) + whole[at + 1 :])
            assert isinstance(refused(lambda: answers(tmp_path, made)), Damage), at
    path.write_bytes(whole)
    assert answers(tmp_path, made) == before


def test_every_length_but_the_right_one_is_noticed(tmp_path: Path, made: Identity) -> None:
    path = part_of(tmp_path)
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert isinstance(refused(lambda: opened(tmp_path, made)), Damage), length
    for more in (b"\0", b"\n", whole):
        path.write_bytes(whole + more)
        assert code_when_opened(tmp_path, made) == "TRUNCATED"


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"version": 2}, "UNSUPPORTED_VERSION"),
        ({"format": "ctxarc-vector"}, "BAD_MAGIC"),
        ({"dimensions": 0}, "LIMIT_EXCEEDED"),
        ({"dimensions": 1 << 40}, "LIMIT_EXCEEDED"),
        ({"rows": 0}, "LIMIT_EXCEEDED"),
        ({"rows": 1 << 60}, "LIMIT_EXCEEDED"),
        ({"objects": -1}, "LIMIT_EXCEEDED"),
        ({"objects": 10**13}, "LIMIT_EXCEEDED"),
        ({"rows": 6}, "INDEX_MISMATCH"),
        ({"objects": 2}, "INDEX_MISMATCH"),
        ({"rows_at": 0}, "INDEX_MISMATCH"),
        ({"stored_bytes": 1}, "TRUNCATED"),
        ({"model": 7}, "INDEX_MISMATCH"),
        ({"rows": 5.0}, "INDEX_MISMATCH"),
        ({"rows": True}, "INDEX_MISMATCH"),
        ({"more": 1}, "INDEX_MISMATCH"),
        ({"model": "other"}, "INDEX_MISMATCH"),
        ({"revision": "s"}, "INDEX_MISMATCH"),
        ({"projection": "raw"}, "INDEX_MISMATCH"),
        ({"scheme": "other-v1"}, "INDEX_MISMATCH"),
        ({"tables_checksum": "0" * 16}, "CHECKSUM_MISMATCH"),
        ({"pad": b"\0\0\1\0"}, "UNSUPPORTED_VERSION"),
        ({"objects": pack("<3I", 2, 6, 5)}, "INDEX_MISMATCH"),
        ({"objects": pack("<3I", 2, 2, 5)}, "INDEX_MISMATCH"),
        ({"firsts": pack("<4I", 0, 3, 2, 5)}, "INDEX_MISMATCH"),
        ({"firsts": pack("<4I", 1, 2, 3, 5)}, "INDEX_MISMATCH"),
        ({"firsts": pack("<4I", 0, 2, 2, 5)}, "INDEX_MISMATCH"),
        ({"firsts": pack("<4I", 0, 2, 3, 4)}, "INDEX_MISMATCH"),
        ({"firsts": pack("<4I", 0, 2, 3, 1 << 31)}, "INDEX_MISMATCH"),
    ],
    ids=str,
)
def test_a_resealed_part_that_says_something_else_is_refused_when_opened(
    tmp_path: Path, made: Identity, changed: dict[str, Any], code: str
) -> None:
    reseal(part_of(tmp_path), **changed)
    assert code_when_opened(tmp_path, made) == code


def test_a_resealed_header_in_which_fields_are_moved_or_told_twice_is_refused(tmp_path: Path, made: Identity) -> None:
    path = part_of(tmp_path)
    said = said_by(path)
    whole = path.read_bytes()
    moved = dict(sorted(said.head.items(), key=lambda field: (field[0] not in {"format", "version"}, field[0])))
    moved["checksum"] = moved.pop("checksum")
    path.write_bytes(sealed(moved) + whole[said.head["rows_at"] :])
    assert code_when_opened(tmp_path, made) == "INDEX_MISMATCH"
    for bad in (b"{}\n", b"\n", b'{"format":"ctxarc-vectors","version":1,\n', b'{"format":"ctxarc-vectors","version":'):
        path.write_bytes(bad)
        assert isinstance(refused(lambda: opened(tmp_path, made)), Damage)


@pytest.mark.parametrize("name", ["norms", "spreads"])
@pytest.mark.parametrize("value", [math.nan, -1.0, 0.0, math.inf, -math.inf])
def test_lengths_that_are_none_change_no_answer(tmp_path: Path, made: Identity, name: str, value: float) -> None:
    before = answers(tmp_path, made)
    reseal(part_of(tmp_path), **{name: lambda data: pack("<f", value) + data[4:]})
    assert answers(tmp_path, made) == before


# -------------------------------------------------------------------------------------------------------------- growth


def names(archive: Path) -> list[str]:
    return sorted(path.name for path in archive.rglob("*") if path.is_file())


def test_an_attach_adds_a_part_and_leaves_the_others_alone(tmp_path: Path) -> None:
    for at in range(3):
        before = tree(tmp_path)
        made = put(tmp_path, ROWS[: at + 1], 10 * at)
        assert before.items() <= tree(tmp_path).items()
    corpus = opened(tmp_path, made)
    assert names(tmp_path) == [part_name(at, at) for at in (1, 2, 3)]
    assert [corpus.vector(row).tolist() for row in range(6)] == [*ROWS[:1], *ROWS[:2], *ROWS[:3]]
    assert [corpus.place(row).object for row in range(6)] == [0, 10, 11, 20, 21, 22]
    assert [corpus.row_of(number, 0, 10) for number in (0, 10, 11, 20, 21, 22)] == list(range(6))
    assert corpus.mean == exact_mean([*ROWS[:1], *ROWS[:2], *ROWS[:3]])


def many_rows(count: int) -> list[list[float]]:
    made = noise(count)
    return float32([[made.gauss(0, 1) for _ in range(3)] for _ in range(count)])


def test_many_small_parts_are_gathered_and_answer_as_before(tmp_path: Path) -> None:
    rows = many_rows(100)
    made = put(tmp_path, rows[:60])
    for at in range(60, 60 + MANY):
        made = put(tmp_path, rows[at : at + 1], at)
    assert names(tmp_path) == [part_name(1, 1), part_name(2, MANY + 1)]
    corpus = opened(tmp_path, made)
    assert [corpus.vector(row).tolist() for row in range(corpus.rows)] == rows[: 60 + MANY]
    exact = leading(exact_ranking(rows[: 60 + MANY], [1.0, 2.0, 3.0], centre=True), 5)
    assert answers(tmp_path, made) == [exact] * len(answers(tmp_path, made))
    for at in range(60 + MANY, 100):
        put(tmp_path, rows[at : at + 1], at)
        assert len(names(tmp_path)) <= MANY
    assert opened(tmp_path, made).rows == 100


def test_gathered_rows_of_one_object_lie_in_order(tmp_path: Path) -> None:
    pieces = many_rows(MANY + 1)
    order = noise(3).sample(range(MANY + 1), MANY + 1)
    for at in order:
        made = identity(3)
        add(tmp_path, made, new_rows([pieces[at]], {4: [(at, at + 1)]}), "00")
    assert names(tmp_path) == [part_name(1, MANY + 1)]
    corpus = opened(tmp_path, made)
    assert [tuple(corpus.place(row)) for row in range(MANY + 1)] == [(4, at, at + 1) for at in range(MANY + 1)]
    assert [corpus.vector(row).tolist() for row in range(MANY + 1)] == pieces


def test_what_a_dead_writer_left_does_not_count_and_is_removed_by_the_next(tmp_path: Path) -> None:
    rows = many_rows(MANY + 3)
    for at in range(MANY):
        made = put(tmp_path, rows[at : at + 1], at)
    folder = part_of_first(tmp_path).parent
    kept = shutil.copytree(folder, tmp_path / "kept")
    put(tmp_path, rows[MANY : MANY + 1], MANY)
    assert len(names(folder)) == 1
    for path in kept.iterdir():
        shutil.copy(path, folder)
    (folder / (part_name(40, 40) + ".tmp")).write_bytes(b"begun")
    (folder / "model.json").write_bytes(b"{}")
    corpus = opened(tmp_path, made)
    assert (corpus.rows, len(corpus.parts)) == (MANY + 1, 1)
    put(tmp_path, rows[MANY + 1 : MANY + 2], MANY + 1)
    assert names(folder) == [part_name(1, MANY + 1), part_name(MANY + 2, MANY + 2), "model.json"]


def part_of_first(archive: Path) -> Path:
    return min(archive.rglob("*.vec"))


def test_damage_of_an_old_part_does_not_undo_an_attach(tmp_path: Path) -> None:
    rows = many_rows(MANY + 1)
    for at in range(MANY):
        made = put(tmp_path, rows[at : at + 1], at)
    path = part_of_first(tmp_path)
    said = said_by(path)
    data = bytearray(path.read_bytes())
    data[said.head["rows_at"]] ^= 1
    path.write_bytes(data)
    put(tmp_path, rows[MANY:], MANY)
    corpus = opened(tmp_path, made)
    assert (corpus.rows, len(corpus.parts)) == (MANY + 1, MANY + 1)
    assert corpus.vector(MANY).tolist() == rows[MANY]
    assert refused(lambda: corpus.vector(0)).code == "CHECKSUM_MISMATCH"


def test_a_reader_starts_over_when_parts_are_gathered_under_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = many_rows(MANY + 1)
    for at in range(MANY):
        made = put(tmp_path, rows[at : at + 1], at)
    listed: list[int] = []

    def and_then_gathered(folder: Path, label: str) -> list[tuple[int, int]]:
        found = spans(folder, label)
        if not listed:
            listed.append(len(found))
            put(tmp_path, rows[MANY:], MANY)
        return found

    monkeypatch.setattr(corpus_module, "spans", and_then_gathered)
    assert opened(tmp_path, made).rows == MANY + 1
    assert listed == [MANY]


@pytest.mark.parametrize("name", [part_name(2, 4), part_name(0, 0), part_name(9, 8)])
def test_names_of_parts_that_overlap_are_refused(tmp_path: Path, name: str) -> None:
    for at in range(3):
        made = put(tmp_path, ROWS, 10 * at)
    folder = part_of_first(tmp_path).parent
    (folder / part_name(1, 1)).rename(folder / part_name(1, 3))
    shutil.copy(folder / part_name(1, 3), folder / name)
    assert code_when_opened(tmp_path, made) == "INDEX_MISMATCH"


def test_a_directory_without_parts_is_refused(tmp_path: Path, made: Identity) -> None:
    part_of(tmp_path).unlink()
    assert corpora(tmp_path) == []
    assert code_when_opened(tmp_path, made) == "TRUNCATED"


def test_vectors_under_another_name_are_refused(tmp_path: Path, made: Identity) -> None:
    folder = part_of(tmp_path).parent
    other = identity(3, model="other")
    shutil.copytree(folder, folder.with_name(other.fingerprint))
    assert code_when_opened(tmp_path, other) == "INDEX_MISMATCH"
    shutil.copytree(folder, folder.parent.with_name("other-v1") / made.fingerprint)
    refusal = refused(lambda: Corpus(tmp_path, "other-v1", made.fingerprint))
    assert refusal.code == "INDEX_MISMATCH"


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_links_are_not_followed(tmp_path: Path, made: Identity, depth: int) -> None:
    place = part_of(tmp_path)
    for _ in range(3 - depth):
        place = place.parent
    away = tmp_path.parent / f"away-{depth}"
    shutil.rmtree(away, ignore_errors=True)
    away.unlink(missing_ok=True)
    place.rename(away)
    place.symlink_to(away)
    refusal = refused(lambda: opened(tmp_path, made))
    assert refusal.code == "BAD_MAGIC"
    assert "link" in refusal.message
    if depth < 3:
        assert refused(lambda: put(tmp_path, ROWS, 50)).code == "BAD_MAGIC"


# ----------------------------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("bad", "word"),
    [
        ([1.0, math.nan, 1.0], "not finite"),
        ([1.0, math.inf, 1.0], "not finite"),
        ([-math.inf, math.inf, 1.0], "not finite"),
        ([0.0, 0.0, 0.0], "all zero"),
        ([0.0, -0.0, 0.0], "all zero"),
    ],
)
@pytest.mark.parametrize("at", [0, 3, 4])
def test_a_row_that_is_no_vector_is_refused_and_nothing_is_left(
    tmp_path: Path, bad: list[float], word: str, at: int
) -> None:
    rows = [bad if row == at else ROWS[row] for row in range(5)]
    refusal = refused(lambda: put(tmp_path, rows))
    assert (refusal.code, refusal.facts["row"]) == ("MALFORMED_VECTORS", at)
    assert word in refusal.message
    assert names(tmp_path) == []


@pytest.mark.parametrize("row", [[1e-45, 0.0, 0.0], [3e38, 3e38, -3e38], [1e-30, 1e-38, 0.0]])
def test_the_smallest_and_the_largest_vectors_are_stored(tmp_path: Path, row: list[float]) -> None:
    rows = float32([row, *ROWS])
    corpus = opened(tmp_path, put(tmp_path, rows))
    assert [corpus.vector(at).tolist() for at in range(6)] == rows


def test_other_rows_than_segments_are_refused(tmp_path: Path) -> None:
    good = new_rows(ROWS, OBJECTS)
    one = array("f", ROWS[0]).tobytes()
    for chunks in ([b""], [one] * 4, [one] * 6):
        other = good._replace(chunks=chunks)
        assert refused(partial(add, tmp_path, identity(3), other, "00")).code == "MALFORMED_VECTORS"
    assert names(tmp_path) == []


def test_what_no_reader_would_take_is_refused(tmp_path: Path) -> None:
    assert refused(lambda: put(tmp_path, ROWS, model="x" * HEADER_LIMIT)).code == "MALFORMED_VECTORS"
    nothing = new_rows([], {})
    assert refused(lambda: add(tmp_path, identity(3), nothing, "00")).code == "MALFORMED_VECTORS"
    assert names(tmp_path) == []


# ----------------------------------------------------------------------------------------------------- beside a record


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Four turns, and vectors of three of them in two parts."""
    path = tmp_path / "a.ctxa"
    captured(path, b"".join(said(f"turn {number}", second=number) for number in range(4)))
    attach(path, {0: [(0, 10), (10, 20)], 1: [(0, 30)]}, ROWS[:3])
    attach(path, {1: [(30, 40)], 3: [(5, 6)]}, ROWS[3:])
    assert found(path) == []
    return path


def attach(archive: Path, objects: dict[int, list[tuple[int, int]]], rows: list[list[float]]) -> None:
    new = new_rows(rows, objects)
    with Record(archive) as record:
        digests = b"".join(record.objects.row(number).sha256 for number in sorted(objects))
    add(archive, identity(3), new._replace(digests=digests), "00" * 32)


def found(archive: Path, *, quick: bool = False) -> list[str]:
    """The messages of a check, each of which names its part."""
    messages = []
    for path, message in check(archive, SCHEME, identity(3).fingerprint, quick=quick):
        assert (archive / path).exists()
        assert message.startswith(f"{path}: ")
        messages.append(message)
    return messages


Change = Callable[[bytes], bytes]


@pytest.mark.parametrize(
    ("name", "change", "word"),
    [
        ("norms", lambda data: pack("<f", 1.0) + data[4:], "length"),
        ("norms", lambda data: pack("<f", math.nan) + data[4:], "length"),
        ("spreads", lambda data: data[:4] + pack("<f", 0.5) + data[8:], "mean"),
        ("sums", lambda data: b"\1" + data[1:], "sums"),
        ("rows", lambda data: pack("<3f", 0, 0, 0) + data[12:], "all zero"),
        ("rows", lambda data: pack("<f", math.nan) + data[4:], "not finite"),
        ("rows", lambda data: pack("<f", 2.0) + data[4:], "sums"),
        ("digests", lambda data: data[:32] + bytes(32), "another turn"),
        ("starts", lambda _: pack("<3I", 0, 9, 0), "no ranges"),
        ("ends", lambda _: pack("<3I", 10, 10, 30), "no ranges"),
        ("ends", lambda _: pack("<3I", 10, 1 << 20, 30), "no ranges"),
        ("objects", lambda _: pack("<2I", 0, 4), "older state"),
    ],
)
def test_resealed_numbers_are_found_by_a_check(archive: Path, name: str, change: Change, word: str) -> None:
    reseal(part_of_first(archive), **{name: change})
    (message,) = found(archive)[:1]
    assert word in message


def test_a_segment_with_two_vectors_is_found_by_a_check(archive: Path) -> None:
    attach(archive, {2: [(0, 4)], 3: [(0, 5), (5, 6)]}, ROWS[:3])
    assert [message.partition(": ")[2] for message in found(archive)] == ["a segment of object 3 has two vectors"]


def test_a_quick_check_compares_checksums_and_no_numbers(archive: Path) -> None:
    path = part_of_first(archive)
    reseal(path, norms=bytes(12), digests=bytes(64))
    assert found(archive, quick=True) == []
    data = bytearray(path.read_bytes())
    data[said_by(path).head["rows_at"]] ^= 1
    path.write_bytes(data)
    assert refused(lambda: found(archive, quick=True)).code == "CHECKSUM_MISMATCH"


# -------------------------------------------------------------------------------------------------------- without NumPy


WITHOUT = """
import sys
sys.modules["numpy"] = None
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from vectorsets import put
from ctxarc.auxiliary.vectors.arrays import np
from ctxarc.errors import MalformedVectors
assert np is None
rows = eval(sys.stdin.read(), {"nan": float("nan"), "inf": float("inf")})
try:
    for at in range(0, len(rows), 150):
        put(Path(sys.argv[2]), rows[at : at + 150], at)
except MalformedVectors as refusal:
    print(refusal.facts["row"])
"""


def without_numpy(archive: Path, rows: list[list[float]]) -> str:
    command = [sys.executable, "-c", WITHOUT, str(Path(__file__).parent), str(archive)]
    done = subprocess.run(command, input=repr(rows).encode(), capture_output=True, check=True, env=environment())
    return done.stdout.decode()


@needs_numpy
@pytest.mark.parametrize("scale", [1.0, 1e-41, 1e37])
def test_without_numpy_the_same_is_written_but_for_roundings(tmp_path: Path, scale: float) -> None:
    rows = [[x * scale or scale for x in row] for row in many_rows(200)]
    rows = float32(rows)
    assert without_numpy(tmp_path / "without", rows) == ""
    for at in range(0, 200, 150):
        made = put(tmp_path / "with", rows[at : at + 150], at)
    for one, other in zip(
        sorted(tmp_path.glob("without/**/*.vec")), sorted(tmp_path.glob("with/**/*.vec")), strict=True
    ):
        mine, theirs = said_by(one), said_by(other)
        for name in ("rows", "pad", "sums", "checks", "objects", "firsts", "starts", "ends", "digests"):
            assert getattr(mine, name) == getattr(theirs, name)
        for name in ("norms", "spreads"):
            pairs = zip(array("f", getattr(mine, name)), array("f", getattr(theirs, name)), strict=True)
            assert all(a == b or abs(a - b) <= 1e-5 * a + 1e-44 for a, b in pairs)
    assert answers(tmp_path / "without", made) == answers(tmp_path / "with", made)


def test_without_numpy_the_same_rows_are_refused(tmp_path: Path) -> None:
    for bad in ([1.0, math.nan, 1.0], [0.0, 0.0, 0.0], [math.inf, 1.0, 1.0]):
        assert without_numpy(tmp_path, [*ROWS, bad]) == "5\n"
        assert names(tmp_path) == []
