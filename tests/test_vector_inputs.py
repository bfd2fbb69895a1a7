"""Vectors as they come in: five formats, told apart by content, and what is no vector, refused by line and id."""

from __future__ import annotations

import base64
import io
import json
import math
import os
import struct
import threading
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cases import noise, refused
from hypothesis import given as holding
from hypothesis import strategies as some

from ctxarc.errors import MalformedVectors
from ctxarc.operations.vector_inputs import decimals, lines, reading, vector_of
from ctxarc.operations.vector_inputs.answered import Answered, read_answered
from ctxarc.operations.vector_inputs.checks import check_rows, cosine, row_of
from ctxarc.operations.vector_inputs.npy import npy_header
from ctxarc.operations.vector_inputs.reading import read_vectors
from ctxarc.operations.vector_inputs.rows import Given, Spool, Stated

IDS = [f"ctxa:{number:032x}:0-{number + 1}" for number in range(6)]
VECTORS = [[0.5, -1.25, float(number)] for number in range(6)]
FIRST = {
    "kind": "ctxarc-vectors",
    "model": "m",
    "revision": "r",
    "projection": "json-text-v1",
    "scheme": "boundary-v1",
    "dimensions": 3,
}
SAID = {name: value for name, value in FIRST.items() if name != "kind"}


def ndjson(*values: object, end: str = "\n") -> bytes:
    return "".join(json.dumps(value) + end for value in values).encode()


def rows(ids: list[str] | None = None, vectors: list[Any] | None = None) -> list[dict[str, Any]]:
    pairs = zip(ids or IDS, vectors or VECTORS, strict=True)
    return [{"id": name, "vector": vector} for name, vector in pairs]


def floats(*numbers: float) -> str:
    return base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()


def read(data: bytes, answered: Answered | None = None) -> Given:
    return read_vectors(io.BufferedReader(io.BytesIO(data)), "v", answered)


def numbers_of(given: Given) -> list[list[float]]:
    assert len(given.data) == 4 * given.width * len(given.ids)
    return [list(row_of(given, row)) for row in range(len(given.ids))]


def said_by(given: Given) -> dict[str, object]:
    found: dict[str, object] = {}
    for each in given.stated:
        found |= each.fields
    return found


def answer(name: str, vector: object, **body: object) -> dict[str, Any]:
    data = [{"object": "embedding", "index": 0, "embedding": vector}]
    response = {"status_code": 200, "request_id": "q", "body": {"object": "list", "data": data, "model": "m", **body}}
    return {"id": f"batch_{name}", "custom_id": name, "response": response, "error": None}


def npy(data: bytes, shape: tuple[int, ...] = (6, 3), *, version: int = 1, **fields: object) -> bytes:
    """A file as NumPy writes it, by its format and not by NumPy."""
    said = repr({"descr": "<f4", "fortran_order": False, "shape": shape, **fields}).encode() + b"\n"
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(said)) + said + data


PACKED = struct.pack("<18f", *(number for vector in VECTORS for number in vector))
EXPORT = Answered(
    Stated("the export", {"projection": "raw-v1"}), [name.encode() for name in IDS], distinct=False, export_id="e1"
)


# ------------------------------------------------------------------------------------------------------- the formats


@pytest.mark.parametrize(
    "data",
    [
        ndjson(FIRST, *rows()),
        b"\xef\xbb\xbf" + ndjson(FIRST, *rows(), end="\r\n"),
        b"\n \n" + ndjson(FIRST, *rows(), end="\n\n"),
        ndjson(FIRST, *rows())[:-1],
        ndjson(FIRST, *rows(vectors=[floats(*vector) for vector in VECTORS])),
        ndjson(FIRST, *({"vector": each["vector"], "more": {"kind": 1}, "id": each["id"]} for each in rows())),
        ndjson({**FIRST, "distinct": False, "export_id": "e"}, *rows()),
        json.dumps({**SAID, "vectors": [{"key": row["id"], "vector": row["vector"]} for row in rows()]}).encode(),
        json.dumps({"vectors": rows(), **SAID}, indent=2).encode() + b"\n",
        json.dumps({"vectors": rows(vectors=[floats(*vector) for vector in VECTORS]), **SAID}).encode(),
    ],
    ids=["rows", "bom-crlf", "blank", "no-lf", "base64", "keys", "more", "document", "indented", "document-base64"],
)
def test_json_of_every_form_gives_the_same(data: bytes) -> None:
    given = read(data)
    assert given.ids == [name.encode() for name in IDS]
    assert numbers_of(given) == VECTORS
    assert (given.width, said_by(given), given.distinct) == (3, SAID, False)


def test_rows_need_no_first_line_and_lines_are_counted() -> None:
    given = read(b"\n" + ndjson(*rows()))
    assert (said_by(given), list(given.lines or ())) == ({}, [2, 3, 4, 5, 6, 7])
    assert given.place(1) == f"v, line 3: {IDS[1]}"


def test_a_first_line_says_that_texts_are_distinct_and_which_export_they_answer() -> None:
    given = read(ndjson({"kind": "ctxarc-vectors", "distinct": True, "export_id": "e7"}, *rows()))
    assert (given.distinct, given.export_ids, said_by(given)) == (True, ("e7",), {})


@pytest.mark.parametrize("vector", [VECTORS[1], floats(*VECTORS[1])])
def test_answers_of_a_batch_name_the_model(vector: object) -> None:
    given = read(ndjson(answer(IDS[0], vector), answer(IDS[1], vector)))
    assert given.ids == [IDS[0].encode(), IDS[1].encode()]
    assert numbers_of(given) == [VECTORS[1]] * 2
    assert said_by(given) == {"model": "m"}


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("kind", ["<f4", ">f4", "<f8", ">f8", "<f2", ">f2"])
def test_npy_of_every_kind_of_number_and_version_is_read(kind: str, version: int) -> None:
    code = {"4": "f", "8": "d", "2": "e"}[kind[2]]
    data = struct.pack(f"{kind[0]}18{code}", *(number for vector in VECTORS for number in vector))
    given = read(npy(data, version=version, descr=kind), EXPORT)
    assert numbers_of(given) == VECTORS
    assert given.ids == EXPORT.ids
    assert (said_by(given), given.export_ids, given.lines) == ({"projection": "raw-v1"}, ("e1",), None)
    assert given.place(2) == f"v, row 2: {IDS[2]}"


def test_npy_as_numpy_writes_it_is_mapped_from_a_file_and_copied_from_a_pipe(tmp_path: Path) -> None:
    np = pytest.importorskip("numpy")
    np.save(tmp_path / "v.npy", np.array(VECTORS, "<f4"))
    with (tmp_path / "v.npy").open("rb") as stream:
        given = read_vectors(stream, "v", EXPORT)
    assert numbers_of(given) == VECTORS
    reading, writing = os.pipe()
    sender = threading.Thread(target=lambda: send(writing, (tmp_path / "v.npy").read_bytes()))
    sender.start()
    with open(reading, "rb") as stream:  # noqa: PTH123 - a descriptor
        assert numbers_of(read_vectors(stream, "v", EXPORT)) == VECTORS
    sender.join()


def send(descriptor: int, data: bytes) -> None:
    with open(descriptor, "wb") as stream:
        stream.write(data)


def test_the_header_that_is_written_is_numpys() -> None:
    np = pytest.importorskip("numpy")
    for count, width in ((6, 3), (1, 18), (123_456_789, 768)):
        head = npy_header(count, width)
        assert len(head) % 64 == 0
        if count < 10:
            assert (
                np.load(io.BytesIO(head + PACKED)).tolist()
                == np.frombuffer(PACKED, "<f4").reshape(count, width).tolist()
            )
    assert read(npy_header(6, 3) + PACKED, EXPORT).width == 3


def test_rows_beyond_memory_go_to_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctxarc.operations.vector_inputs.rows._IN_MEMORY", 20)
    given = read(ndjson(FIRST, *rows(vectors=[floats(*vector) for vector in VECTORS])))
    assert numbers_of(given) == VECTORS


def test_progress_is_told_in_bytes_of_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(reading, "_TOLD_BYTES", 100)
    data = ndjson(FIRST, *rows())
    (tmp_path / "v").write_bytes(data)
    told: list[tuple[str, int, int | None]] = []
    with (tmp_path / "v").open("rb") as stream:
        read_vectors(stream, "v", progress=lambda *each: told.append(each))
    assert [done for _, done, _ in told] == sorted({done for _, done, _ in told})
    assert {(what, total) for what, _, total in told} == {("reading", len(data))}
    told.clear()
    stream = io.BufferedReader(io.BytesIO(data))
    read_vectors(stream, "v", progress=lambda *each: told.append(each))
    assert {total for *_, total in told} == {None}


# ------------------------------------------------------------------------------------------------- exports answered


def exported(line: dict[str, Any] | None, *names: str, key: str = "id") -> Answered:
    data = ndjson(*([line] if line else []), *({key: name, "text": f'\n{{"{key}": "ctxa:no"'} for name in names))
    return read_answered(io.BytesIO(data), "e")


def test_an_export_gives_its_ids_in_order() -> None:
    line = {"kind": "ctxarc-export", "scheme": "s-v1", "projection": "raw-v1", "export_id": "e", "distinct": True}
    found = exported(line, *IDS)
    assert found == Answered(
        Stated("the export", {"projection": "raw-v1", "scheme": "s-v1"}),
        EXPORT.ids,
        distinct=True,
        export_id="e",
    )
    assert exported(None, *IDS, key="custom_id").ids == EXPORT.ids
    other = b'{"text":"x","id":"\\u0063txa:1"}\n\n  {"id": "ctxa:2"}\n'
    assert read_answered(io.BytesIO(other), "e").ids == [b"ctxa:1", b"ctxa:2"]


@pytest.mark.parametrize(
    "data", [b"no\n", b"[]\n", b'{"text":"x"}\n', b'{"id":5}\n', b'{"id": "ctxa:1"}\n{"kind":"ctxarc-export"}\n']
)
def test_what_is_no_export_is_refused_by_its_line(data: bytes) -> None:
    refusal = refused(lambda: read_answered(io.BytesIO(data), "e"))
    assert refusal.code == "MALFORMED_VECTORS"
    assert refusal.message.startswith("e, line ")


def test_an_export_of_another_length_is_refused() -> None:
    refusal = refused(lambda: read(npy(PACKED[:-12], (5, 3)), EXPORT))
    assert (refusal.code, "5 rows" in refusal.message, "has 6" in refusal.message) == ("MALFORMED_VECTORS", True, True)


def test_an_npy_alone_is_a_usage_error() -> None:
    refusal = refused(lambda: read(npy(PACKED)))
    assert (refusal.code, "--export" in refusal.hint) == ("USAGE", True)


# ---------------------------------------------------------------------------------------------------------- refusals

BAD = {
    "nan": ([0.5, math.nan, 1.0], "number 1 of the vector is NaN"),
    "infinity": ([0.5, 1.0, -math.inf], "number 2 of the vector is infinite"),
    "zeros": ([0.0, -0.0, 0], "zero"),
    "too small": ([1e-60, 0.0, 0.0], "zero"),
    "beyond float32": ([1e39, 0.0, 0.0], "beyond what float32 holds"),
    "beyond float64": ([10**400, 0.0, 0.0], "beyond what float32 holds"),
    "string": (["0.5", 1.0, 2.0], "number 0 of the vector is '0.5'"),
    "bool": ([1.0, True, 2.0], "number 1 of the vector is True"),
    "null": ([1.0, None, 2.0], "number 1 of the vector is None"),
    "list": ([1.0, [2.0], 3.0], "number 1 of the vector is [2.0]"),
    "object": ({"a": 1}, "no list of numbers"),
    "number": (5, "no list of numbers"),
    "nothing": (None, "no list of numbers"),
    "empty": ([], "no number"),
    "no base64": ("not base64!", "no base64"),
    "not ascii": ("é", "no base64"),
    "half a number": (base64.b64encode(b"12345").decode(), "5 bytes"),
    "empty base64": ("", "no number"),
    "NaN in base64": (floats(1.0, math.nan, 0.0), "number 1 of the vector is NaN"),
    "zeros in base64": (floats(0.0, 0.0, 0.0), "zero"),
    "other width": ([1.0, 2.0], "2 numbers"),
    "other width in base64": (floats(1.0, 2.0, 3.0, 4.0), "4 numbers"),
}


def with_bad(vector: object, form: str) -> bytes:
    made = rows(vectors=[*VECTORS[:2], vector, *VECTORS[3:]])
    if form == "rows":
        return ndjson(*made)
    if form == "answers":
        return ndjson(*(answer(row["id"], row["vector"]) for row in made))
    return json.dumps({"model": "m", "vectors": [{"key": row["id"], "vector": row["vector"]} for row in made]}).encode()


@pytest.mark.parametrize("form", ["rows", "answers", "document"])
@pytest.mark.parametrize("name", BAD)
def test_what_is_no_vector_is_refused_by_line_and_id(name: str, form: str) -> None:
    vector, words = BAD[name]
    refusal = refused(lambda: read(with_bad(vector, form)))
    assert refusal.code == "MALFORMED_VECTORS"
    assert refusal.message.startswith(f"v, {'row 2' if form == 'document' else 'line 3'}: {IDS[2]}: ")
    assert words in refusal.message


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("name", BAD)
def test_numpy_and_plain_python_refuse_in_the_same_words(
    name: str, monkeypatch: pytest.MonkeyPatch, *, fast: bool
) -> None:
    monkeypatch.setattr(decimals, "AVAILABLE", fast)
    vector, words = BAD[name]
    assert words in refused(lambda: read(with_bad(vector, "rows"))).message


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (b"", "v: no vector in it"),
        (b"\n \n", "v: no vector in it"),
        (ndjson(FIRST), "v: no vector in it"),
        (b'{"vectors": []}', "v: no vector in it"),
        (b"{}", "line 1: no id"),
        (b"{\n}", "without a list vectors"),
        (b"no JSON\n", "line 1: not JSON"),
        (b"\xff\xfe\n", "line 1: not JSON"),
        (ndjson(FIRST, *rows()) + b'{"id": "x", "vector": [1', "line 8: not JSON"),
        (ndjson(*rows(), []), "line 7: no JSON object"),
        (ndjson(*rows(), {"vector": [1.0, 2.0, 3.0]}), "line 7: no id"),
        (ndjson(*rows(), {"id": 7, "vector": [1.0, 2.0, 3.0]}), "line 7: id is 7"),
        (ndjson(*rows(), {"id": "x"}), "line 7: no vector"),
        (b'{"id": "a", "id": "b", "vector": [1.0]}\n', "'id' stands twice"),
        (b'{"id": "a", "vector": [1.0], "vector": [2.0]}\n', "'vector' stands twice"),
        (b'{"id": "a", "vector": [1.0,]}\n', "line 1: not JSON"),
        (b'{"id": "a", "vector": [01.0]}\n', "line 1: not JSON"),
        (b'{"id": "a", "vector": [1.0 2.0]}\n', "line 1: not JSON"),
        (b'{"id": "a", "vector": [1.]}\n', "line 1: not JSON"),
        (b'{"id": "a", "vector": [+1.0]}\n', "line 1: not JSON"),
        (b'{"id": "a", "vector": [--1.0]}\n', "line 1: not JSON"),
        (b'{"id": "a", "vector": [0.1234567x]}\n', "line 1: not JSON"),
        (b'{"id": "a", "vector": [1_0]}\n', "line 1: not JSON"),
        (ndjson({**FIRST, "dimensions": 4}, *rows()), "3 numbers, and the first line says 4"),
        (ndjson({**FIRST, "dimensions": "3"}, *rows()), "dimensions is '3'"),
        (ndjson({**FIRST, "dimensions": True}, *rows()), "dimensions is True"),
        (ndjson({**FIRST, "dimensions": 65_537}, *rows()), "limit is 65,536"),
        (ndjson({**FIRST, "model": 5}, *rows()), "model is 5"),
        (ndjson({**FIRST, "revision": ""}, *rows()), "revision is ''"),
        (ndjson({**FIRST, "distinct": 1}, *rows()), "distinct is 1"),
        (ndjson({**FIRST, "kind": "ctxarc-export"}, *rows()), "kind is 'ctxarc-export'"),
        (ndjson(*rows(), FIRST), "line 7: a first line behind others"),
        (ndjson(FIRST, FIRST, *rows()), "line 2: a first line behind others"),
        (ndjson({"id": "x", "vector": [1.0] * 65_537}), "65,537 numbers, and the limit is 65,536"),
        (
            b'{"model": "m", "vectors": [{"key": "a", "vector": [1.0]}], "model": "n"}',
            "'model' is no key, or stands twice",
        ),
        (b'{"model": "m", "vectors": [{"key": "a", "vector": [1.0]}]} more', "something follows"),
        (b'{"model": "m", "vectors": [{"key": "a", "vector": [1.0]}', "not JSON"),
        (b'{"model": "m", "vectors": [{"key": "a"}]}', "row 0: no vector"),
        (b'{"model": "m", "vectors": [5]}', "row 0: no JSON object"),
        (b'{"model": "m", "vectors": [{"vector": [1.0]}]}', "row 0: no id"),
        (
            b'{"model": "m", "dimensions": 2, "vectors": [{"key": "a", "vector": [1.0]}]}',
            "1 numbers, and the object says 2",
        ),
        (b'{"vectors": [{"key": "a", "vector": [1.0]}, "\xff"]}', "not UTF-8"),
        (b"[" * 100_000 + b"\n", "not JSON"),
    ],
)
def test_what_cannot_be_read_says_where(values: bytes, words: str) -> None:
    refusal = refused(lambda: read(values))
    assert refusal.code == "MALFORMED_VECTORS"
    assert words in refusal.message


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ({"custom_id": "a", "response": None, "error": {"code": "batch_expired", "message": "too late"}}, "too late"),
        ({"custom_id": "a", "response": None, "error": "gone"}, "gone"),
        ({"custom_id": "a"}, "no answer"),
        (
            {"custom_id": "a", "response": {"status_code": 429, "body": {"error": {"message": "slow down"}}}},
            "slow down",
        ),
        ({"custom_id": "a", "response": {"status_code": 500, "body": None}}, "status 500"),
        ({"custom_id": "a", "response": {"status_code": 200, "body": {"data": []}}}, "no one vector"),
        ({"custom_id": "a", "response": {"status_code": 200, "body": {"data": [{"index": 0}]}}}, "no one vector"),
        (
            {"custom_id": "a", "response": {"status_code": 200, "body": {"data": [{"embedding": [1.0]}] * 2}}},
            "no one vector",
        ),
        ({"custom_id": 5}, "custom_id is 5"),
        ({"id": "a", "vector": [1.0, 2.0, 3.0]}, "no custom_id"),
    ],
)
def test_a_request_that_failed_is_named(line: dict[str, Any], words: str) -> None:
    refusal = refused(lambda: read(ndjson(answer(IDS[0], VECTORS[0]), line)))
    assert refusal.code == "MALFORMED_VECTORS"
    assert refusal.message.startswith("v, line 2: ")
    assert words in refusal.message


def test_answers_of_two_models_are_incomparable() -> None:
    refusal = refused(lambda: read(ndjson(answer(IDS[0], VECTORS[0]), answer(IDS[1], VECTORS[1], model="n"))))
    assert (refusal.code, refusal.facts["field"]) == ("INCOMPARABLE", "model")
    assert "n against m" in refusal.message


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\x93NUMPY", "version 0"),
        (npy(PACKED, version=4), "version 4"),
        (npy(PACKED)[:40], "header has"),
        (b"\x93NUMPY\x01\0" + struct.pack("<H", 4) + b"nope" + PACKED, "cannot be read"),
        (b"\x93NUMPY\x01\0" + struct.pack("<H", 4) + b"1if " + PACKED, "cannot be read"),
        (b"\x93NUMPY\x02\0" + struct.pack("<I", 1 << 30) + PACKED, "header has 1,073,741,824 bytes"),
        (npy(PACKED, descr="|O"), "holds '|O'"),
        (npy(PACKED, descr="<i4"), "holds '<i4'"),
        (npy(PACKED, descr=[("a", "<f4")]), "holds [('a', '<f4')]"),
        (npy(PACKED, shape=(18,)), "shape (18,)"),
        (npy(PACKED, shape=(1, 6, 3)), "shape (1, 6, 3)"),
        (npy(PACKED, shape=(-6, -3)), "shape (-6, -3)"),
        (npy(PACKED, fortran_order=True), "Fortran"),
        (npy(PACKED[:-1]), "71 bytes behind its header"),
        (npy(PACKED + b"\0"), "73 bytes behind its header"),
        (npy(b"", shape=(0, 3)), "no vector"),
        (npy(b"", shape=(6, 0)), "no number"),
        (npy(struct.pack("<18d", *[1e300] * 18), descr="<f8"), "row 0: number 0 of the vector is 1e+300, beyond"),
    ],
)
def test_what_is_no_table_of_vectors_is_refused(data: bytes, words: str) -> None:
    refusal = refused(lambda: read(data, EXPORT))
    assert refusal.code == "MALFORMED_VECTORS"
    assert words in refusal.message


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize(
    ("number", "words"), [(math.nan, "NaN"), (math.inf, "infinite"), (0.0, "zero"), (None, ""), (1e-40, ""), (3e38, "")]
)
def test_rows_of_a_table_are_checked_with_numpy_and_without(
    number: float | None, words: str, monkeypatch: pytest.MonkeyPatch, *, fast: bool
) -> None:
    monkeypatch.setattr("ctxarc.operations.vector_inputs.checks._FAST", fast)
    numbers = [each for vector in VECTORS for each in vector]
    if number is not None:
        numbers[12:15] = [number] * 3
    given = read(npy(struct.pack("<18f", *numbers)), EXPORT)
    assert not given.checked
    if not words:
        check_rows(given)
        return
    refusal = refused(lambda: check_rows(given))
    assert refusal.message.startswith(f"v, row 4: {IDS[4]}: ")
    assert words in refusal.message


# ------------------------------------------------------------------------------------------------ decimals, all at once


def plainly(body: bytes) -> array[float]:
    return array("f", json.loads(b"[" + body + b"]"))


NUMPY = pytest.mark.skipif(not decimals.AVAILABLE, reason="NumPy is not here")
WRITINGS: list[Callable[[float], str]] = [
    repr,
    lambda number: f"{number:.8f}",
    lambda number: f"{number:.3f}",
    lambda number: f"{number:.17f}",
    lambda number: f"{number:.22f}",
    lambda number: f"{number:.6g}",
    lambda number: f"{number:.9e}",
]


@NUMPY
@pytest.mark.parametrize("write", WRITINGS)
@pytest.mark.parametrize("blank", [",", ", "])
def test_decimals_are_those_of_json_bit_for_bit(write: Callable[[float], str], blank: str) -> None:
    made = noise(5)
    bodies = [blank.join(write(made.gauss(0, 0.05)) for _ in range(width)).encode() for width in (300, 1, 7, 300)]
    found = decimals.parse(bodies)
    wanted = [plainly(body) for body in bodies]
    if found is None:  # numbers of another form mainly, or a row whose only number is zero
        assert "e" in bodies[0].decode() or not all(map(any, wanted))
        return
    numbers, counts = found
    assert counts == [300, 1, 7, 300]
    assert numbers.tobytes() == b"".join(each.tobytes() for each in wanted)


@NUMPY
def test_a_number_in_the_middle_of_two_goes_to_the_right_one() -> None:
    made = noise(6)
    middles: list[float] = []
    while len(middles) < 64:
        number = array("f", [made.uniform(0.001, 9.0)])[0]
        after = array("f", array("I", [array("I", array("f", [number]).tobytes())[0] + 1]).tobytes())[0]
        middles += [
            (number + after) / 2,
            math.nextafter((number + after) / 2, 0),
            math.nextafter((number + after) / 2, 9),
        ]
    plain = [f"{made.uniform(-9, 9):.7f}" for _ in range(9 * len(middles))]
    body = ", ".join([*plain, *map(repr, middles)]).encode()
    found = decimals.parse([body])
    assert found is not None
    assert found[0].tobytes() == plainly(body).tobytes()


@NUMPY
@holding(
    some.lists(
        some.one_of(
            some.floats(-9.9, 9.9), some.integers(-99, 99), some.floats(width=32, allow_nan=False, allow_infinity=False)
        ),
        min_size=1,
        max_size=3,
    ),
    some.sampled_from(WRITINGS),
)
def test_odd_numbers_among_plain_ones_are_read_as_json_reads_them(
    odd: list[float], write: Callable[[float], str]
) -> None:
    body = ", ".join(["0.25", "-1.5", "0.125"] * 9 + [write(number) for number in odd]).encode()
    found = decimals.parse([body, b"0.5"])
    assert found is not None
    assert found[0].tobytes() == (plainly(body) + plainly(b"0.5")).tobytes()


@NUMPY
@pytest.mark.parametrize(
    "bad",
    [
        "",
        " ",
        "-",
        ".5",
        "5.",
        "00.5",
        "0.5x",
        "0.1234567890123456x",
        "1e",
        "NaN",
        "Infinity",
        '"1"',
        "0. 5",
        "0.5-",
        "0.:",
        "0./",
        "٣",
        "1e400",
        "[1.0]",
        "0.5]",
        "/.5",
        ":.5",
    ],
)
def test_what_json_does_not_take_is_left_to_it(bad: str) -> None:
    for at in (0, 9, 20):
        numbers = ["0.25"] * 20
        numbers.insert(at, bad)
        assert decimals.parse([b"0.5, 0.75", ", ".join(numbers).encode(), b"0.5"]) is None


@NUMPY
def test_rows_of_many_batches_and_forms_are_all_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "_BATCH", 200)
    made = noise(7)
    vectors: list[Any] = [[made.gauss(0, 1) for _ in range(5)] for _ in range(60)]
    given_rows = [{"id": f"a{number}", "vector": vector} for number, vector in enumerate(vectors)]
    data = b""
    for number, row in enumerate(given_rows):
        if number % 7 == 0:
            row = {"id": row["id"], "vector": floats(*row["vector"])}  # noqa: PLW2901 - the same in another form
        separators = (",", ":") if number % 2 else (", ", ": ")
        data += json.dumps(row, separators=separators).encode() + b"\n"
    given = read(data)
    assert given.ids == [f"a{number}".encode() for number in range(60)]
    assert list(given.lines or ()) == list(range(1, 61))
    assert numbers_of(given) == [list(array("f", vector)) for vector in vectors]


# ------------------------------------------------------------------------------------------------------- one vector


def test_a_vector_alone_is_numbers_or_base64() -> None:
    assert list(vector_of([1, 0.5, -2], "q")) == [1.0, 0.5, -2.0]
    assert list(vector_of(floats(1.0, 0.5), "q")) == [1.0, 0.5]
    with pytest.raises(MalformedVectors, match=r"^q: "):
        vector_of(["a"], "q")


def test_a_spool_says_in_which_row_the_width_changes() -> None:
    spool = Spool("f", "row")
    spool.add(b"a", 0, array("f", [1.0]))
    refusal = refused(lambda: spool.add(b"b", 1, array("f", [1.0, 2.0])))
    assert refusal.message == "f, row 1: b: the vector has 2 numbers, and those before have 1"


def test_cosine_is_that_of_the_angle() -> None:
    assert cosine(array("f", [1, 0]), array("f", [1, 1])) == pytest.approx(math.sqrt(0.5))
    assert cosine(array("f", [3, 4]), array("f", [-6, -8])) == pytest.approx(-1.0)
