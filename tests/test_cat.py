"""``cat``: raw bytes as they were captured, as rows with their digests, on a terminal, and of damaged archives."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from cases import drain, held, noise, objects, refused, run, said, session, sha, stored, tree, turns_of
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxarc.operations.cat import cat, cat_rows
from ctxarc.operations.repack import repack

DATA = session(5)
TURNS = turns_of(DATA)
ODD = b'{"x":"\xff\xfe"}\r\n\0\0\n\n' + '{"y":"\u6e2c\u8a66 \U0001f600"}\n'.encode() + b"\x1b[31mno end"


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    stored(tmp_path / "a.ctxa", DATA)
    return tmp_path / "a.ctxa"


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    stored(tmp_path / "odd.ctxa", ODD)
    return tmp_path / "odd.ctxa"


def test_without_an_address_it_is_the_only_transcript(archive: Path, odd: Path) -> None:
    assert held(archive) == DATA
    assert held(odd) == ODD
    assert run("cat", odd).stdout == ODD


def test_of_several_transcripts_one_must_be_named(archive: Path) -> None:
    stored(archive, said("other"), "t")
    assert refused(lambda: held(archive)).code == "AMBIGUOUS"
    assert refused(lambda: held(archive, span="0-5")).code == "AMBIGUOUS"
    assert held(archive, "t#") == said("other")


def test_bytes_pass_to_a_pipe_unchanged_whatever_the_locale(odd: Path) -> None:
    for locale in ("C", "C.UTF-8", "en_US.ISO-8859-1"):
        env = {"LC_ALL": locale, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
        assert run("cat", odd, env=env).stdout == ODD
        assert run("cat", odd, "0", "3:0-3", env=env).stdout == turns_of(ODD)[0] + turns_of(ODD)[3][:3]


def test_a_row_an_address_with_everything_that_proves_it(archive: Path) -> None:
    (row,) = objects(run("cat", archive, "2:5-40", "--json"))
    assert row == {
        "schema": 1,
        "ok": True,
        "transcript": "s",
        "turn": 2,
        "start_byte": 5,
        "end_byte": 40,
        "turn_sha256": sha(TURNS[2]),
        "range_sha256": sha(TURNS[2][5:40]),
        "cite": f"ctxa:{sha(TURNS[2])}:5-40",
        "digest_verified": True,
        "text": TURNS[2][5:40].decode(),
    }


def test_a_row_a_turn_for_a_whole_transcript_and_for_a_range(archive: Path) -> None:
    rows = objects(run("cat", archive, "--json"))
    assert [(row["turn"], row["text"].encode()) for row in rows] == list(enumerate(TURNS))
    assert all(row["range_sha256"] == row["turn_sha256"] == sha(row["text"].encode()) for row in rows)
    assert all(row["cite"] == f"ctxa:{row['turn_sha256']}" for row in rows)
    rows = objects(run("cat", archive, "--range", f"{len(TURNS[0]) - 2}+5", "--json"))
    assert [(row["turn"], row["start_byte"], row["end_byte"]) for row in rows] == [
        (0, len(TURNS[0]) - 2, len(TURNS[0])),
        (1, 0, 3),
    ]


def test_bytes_that_are_not_utf8_are_base64_in_place_of_text(odd: Path) -> None:
    rows = objects(run("cat", odd, "--json"))
    assert ["base64" in row for row in rows] == [True, False, False, False, False]
    assert all(("text" in row) != ("base64" in row) for row in rows)
    whole = b"".join(base64.b64decode(row["base64"]) if "base64" in row else row["text"].encode() for row in rows)
    assert whole == ODD
    (row,) = objects(run("cat", odd, "3:6-7", "--json"))
    assert base64.b64decode(row["base64"]) == turns_of(ODD)[3][6:7]


def test_json_carries_no_control_character(odd: Path) -> None:
    printed = run("cat", odd, "--json").stdout
    assert not any(byte < 0x20 and byte != 0x0A for byte in printed)
    assert json.loads(printed.splitlines()[-1])["text"] == "\x1b[31mno end"


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_range_of_any_turn_is_that_slice(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    archive = tmp_path_factory.mktemp("c") / "a.ctxa"
    source = data.draw(st.lists(st.binary(max_size=30), min_size=1, max_size=4).map(b"\n".join))
    stored(archive, source)
    for number, turn in enumerate(turns_of(source)):
        start = data.draw(st.integers(0, len(turn)))
        end = data.draw(st.integers(start, len(turn)))
        assert held(archive, f"{number}:{start}-{end}") == turn[start:end]
    start = data.draw(st.integers(0, len(source)))
    end = data.draw(st.integers(start, len(source)))
    assert held(archive, span=f"{start}-{end}") == source[start:end]
    assert "".join(row.range_sha256 for row in cat_rows(archive, span=f"{start}-{end}")) != "" or start == end


def test_older_states_are_read_with_at(archive: Path) -> None:
    stored(archive, DATA + said("more"))
    stored(archive, said("other"), "t")
    assert held(archive, at=1) == DATA
    assert held(archive, at=2) == DATA + said("more")
    assert held(archive, "s#", at=3) == DATA + said("more")
    assert refused(lambda: held(archive, "5", at=1)).code == "NO_SUCH_TURN"
    assert refused(lambda: held(archive, "t#", at=2)).code == "NO_SUCH_TRANSCRIPT"
    refusal = refused(lambda: held(archive, at=4))
    assert (refusal.code, refusal.status, refusal.facts["captures"]) == ("NO_SUCH_CAPTURE", 5, 3)


@pytest.mark.parametrize("at", ["0", "-1", "x", "1.5"])
def test_a_capture_is_a_number_from_1(at: str, archive: Path) -> None:
    done = run("cat", archive, "--at", at, "--json")
    assert (done.returncode, objects(done)[0]["refusal"]["code"]) == (2, "USAGE")


def test_every_address_is_looked_up_before_a_byte_is_given(archive: Path) -> None:
    done = run("cat", archive, "0", "1", "99")
    assert (done.returncode, done.stdout) == (5, b"")
    assert done.stderr.startswith(b"ctxarc: NO_SUCH_TURN: ")
    done = run("cat", archive, "0", "nonsense", "--json")
    assert [row["ok"] for row in objects(done)] == [False]


def test_damage_is_met_before_its_bytes_are_given(tmp_path: Path) -> None:
    """Two packs, the second of which is damaged: what comes is a beginning of what was captured, and a refusal."""
    archive = tmp_path / "a.ctxa"
    made = noise(4)
    data = b"".join(made.randbytes(60_000).replace(b"\n", b" ") + b"\n" for _ in range(400))
    stored(archive, data, level=1)
    packs = sorted((archive / "pack").iterdir())
    assert len(packs) > 1
    bad = bytearray(packs[-1].read_bytes())
    bad[len(bad) // 2] ^= 1
    packs[-1].write_bytes(bad)
    given_ = bytearray()

    def read() -> None:
        for piece in cat(archive):
            given_.extend(piece)

    refusal = refused(read)
    assert (refusal.code, refusal.status) == ("CHECKSUM_MISMATCH", 4)
    assert 0 < len(given_) < len(data)
    assert data.startswith(given_)
    assert held(archive, "0") == turns_of(data)[0]
    assert refused(lambda: held(archive, "399")).code == "CHECKSUM_MISMATCH"
    done = run("cat", archive, "--json")
    last = objects(done)[-1]
    assert (done.returncode, last["ok"], last["refusal"]["code"]) == (4, False, "CHECKSUM_MISMATCH")
    assert len(objects(done)) > 1


def test_repacked_turns_are_the_same_bytes(archive: Path, odd: Path) -> None:
    for path, data in ((archive, DATA), (odd, ODD)):
        repack(path)
        assert held(path) == data


def test_a_turn_longer_than_a_pack_comes_whole_and_in_ranges(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    long = b'{"x":"' + b"0123456789abcdef" * (18 << 16) + b'"}\n'
    data = said("before") + long + said("behind")
    stored(archive, data, level=1)
    assert held(archive) == data
    assert held(archive, "1:18000000-18000016") == long[18_000_000:18_000_016]
    assert held(archive, "2") == said("behind")


def test_reading_writes_nothing(archive: Path) -> None:
    before = tree(archive)
    times = {path: path.stat().st_mtime_ns for path in archive.rglob("*")}
    drain(cat(archive))
    drain(cat_rows(archive))
    for name, *more in (["cat"], ["log"], ["ls"], ["info"], ["verify"], ["show", "0"], ["find", "remark"]):
        run(name, archive, *more)
    assert tree(archive) == before
    assert {path: path.stat().st_mtime_ns for path in archive.rglob("*")} == times


def test_the_quiet_option_keeps_the_bytes(archive: Path) -> None:
    assert run("cat", archive, "-q").stdout == DATA
    assert run("-q", "cat", archive, "0").stdout == TURNS[0]
