"""Indexes of segments: their files, their damage, how they grow beside a record that stays as it is, and a user's own.

A part is read here a second time, in the plainest way, so that what the code says of it is compared and not believed.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
from array import array
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import pytest
from archives import DIED, Watch, arm, few_bytes, in_child
from cases import (
    command,
    digest_of,
    environment,
    held,
    modes_count,
    noise,
    one,
    refused,
    run,
    said,
    sha,
    sound,
    stored,
    tree,
    turns_of,
)
from xxhash import xxh3_64_intdigest

from ctxarc.auxiliary.projection import PROJECTION, text_name
from ctxarc.auxiliary.segments import SCHEMES
from ctxarc.auxiliary.segments.index import Index, built
from ctxarc.auxiliary.segments.part import HEADER, HEADER_FIELDS, MAGIC, VERSION, About, Cuts, Part, part_name
from ctxarc.auxiliary.words.index import Words
from ctxarc.errors import Damage, Refusal
from ctxarc.model import SegmentResult
from ctxarc.operations import segment as segment_module
from ctxarc.operations.capture import CaptureOptions, capture
from ctxarc.operations.cutting import Made
from ctxarc.operations.export import ExportOptions, export
from ctxarc.operations.halves import cut_all
from ctxarc.operations.info import info
from ctxarc.operations.log import log, log_segments
from ctxarc.operations.own_cuts import own_cuts
from ctxarc.operations.repack import repack
from ctxarc.operations.segment import schemes, segment
from ctxarc.operations.sources import Source
from ctxarc.operations.verify import verify
from ctxarc.preservation.fingerprint import record_fingerprint
from ctxarc.preservation.layout import COUNT_LIMIT, OBJECT_LIMIT
from ctxarc.preservation.lock import Lock
from ctxarc.preservation.record import Record

SCHEME = "boundary-v1"
WORDS = (
    "orchard",
    "ladder",
    "basket",
    "ripe",
    "frost",
    "pruning",
    "graft",
    "blossom",
    "hive",
    "cider",
    "press",
    "barrel",
    "meadow",
    "stone",
    "wall",
)
SIDE = {"segments", "words", "auxiliary.lock"}


def story(number: int, words: int = 150) -> bytes:
    """A turn of several segments, which no other number has."""
    made = noise(number)
    text = " ".join(made.choice(WORDS) + ("." if at % 9 == 8 else "") for at in range(words))
    return said(f"Row {number}. {text}", ("user", "assistant")[number % 2], second=number)


def stories(start: int, end: int) -> bytes:
    return b"".join(story(number) for number in range(start, end))


DATA = stories(0, 6)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Six turns, without an index."""
    stored(tmp_path / "a.ctxa", DATA)
    return tmp_path / "a.ctxa"


@pytest.fixture
def indexed(archive: Path) -> Path:
    """The same, with an index of one part."""
    segment(archive, [SCHEME])
    return archive


def parts_of(archive: Path, scheme: str = SCHEME) -> list[Path]:
    return sorted((archive / "segments" / scheme).glob("*.seg"))


def part_of(archive: Path, scheme: str = SCHEME) -> Path:
    (path,) = parts_of(archive, scheme)
    return path


def record_of(archive: Path) -> dict[str, bytes | None]:
    """The files of the record, without its lock."""
    return {path: data for path, data in tree(archive).items() if path.split("/")[0] not in {*SIDE, "record.lock"}}


class Said(NamedTuple):
    """What a part says, read plainly."""

    head: dict[str, Any]
    about: dict[str, Any]
    digests: list[bytes]
    ends: list[list[int]]


def said_by(path: Path) -> Said:
    data = path.read_bytes()
    head = dict(zip(HEADER_FIELDS, HEADER.unpack_from(data), strict=True))
    at = 64 + head["about_bytes"]
    about = json.loads(data[64:at])
    count = head["objects"]
    digests = [data[at + 32 * each : at + 32 * each + 32] for each in range(count)]
    at += 32 * count
    numbers = [int.from_bytes(data[each : each + 4], "little") for each in range(at, len(data), 4)]
    starts, ends = numbers[: count + 1], numbers[count + 1 :]
    return Said(head, about, digests, [ends[starts[each] : starts[each + 1]] for each in range(count)])


def cuts_of(archive: Path, scheme: str = SCHEME) -> dict[str, list[int]]:
    """The ends of the segments of each turn, by its digest: the union of all parts."""
    return {
        digest.hex(): ends
        for path in parts_of(archive, scheme)
        for digest, ends in zip(said_by(path).digests, said_by(path).ends, strict=True)
    }


def reseal(path: Path, **changed: Any) -> None:  # noqa: ANN401 - values of any field
    """Change fields of a part and make its checksums right again.

    ``about`` changes fields of the description, or replaces its bytes; ``digests``, ``starts`` and ``ends`` replace an
    array or are functions of it; anything else is a field of the header and has the last word.
    """
    data = path.read_bytes()
    head = dict(zip(HEADER_FIELDS, HEADER.unpack_from(data), strict=True))
    at = 64 + head["about_bytes"]
    about, digests = data[64:at], data[at : at + 32 * head["objects"]]
    at += 32 * head["objects"]
    arrays: dict[str, Any] = {
        "digests": digests,
        "starts": array("I", data[at : at + 4 * head["objects"] + 4]),
        "ends": array("I", data[at + 4 * head["objects"] + 4 :]),
    }
    new = changed.pop("about", {})
    about = new if isinstance(new, bytes) else About(**(json.loads(about) | new)).pack()
    for name, value in arrays.items():
        change = changed.pop(name, value)
        arrays[name] = change(value) if callable(change) else change
    body = b"".join([about, *map(bytes, arrays.values())])
    head |= {"about_bytes": len(about), "segments": len(arrays["ends"]), "stored_bytes": 64 + len(body)}
    head |= {"body_checksum": xxh3_64_intdigest(body)} | changed
    front = HEADER.pack(*(head[name] for name in HEADER_FIELDS))[:-8]
    path.write_bytes(front + xxh3_64_intdigest(front).to_bytes(8, "little") + body)


def code_when_opened(archive: Path, scheme: str = SCHEME) -> str:
    """The code of the damage that opening an index meets, with a hint that says how it is mended."""
    refusal = refused(lambda: Index(archive, scheme))
    assert isinstance(refusal, Damage)
    assert f"--scheme {scheme} --rebuild" in refusal.hint
    assert refusal.status == 4
    return refusal.code


def found(archive: Path, *, quick: bool = False) -> list[tuple[str, str]]:
    """Code and path of each finding of verify."""
    result = verify(archive, quick=quick)
    assert result.ok is not bool(result.findings)
    return [(finding.code, finding.path) for finding in result.findings]


def exported(archive: Path, **options: Any) -> list[Any]:  # noqa: ANN401 - options differ
    return list(export(archive, ExportOptions(**options)))


# ------------------------------------------------------------------------------------------------------------ a part


def test_a_part_says_what_was_packed(tmp_path: Path) -> None:
    cuts = Cuts.empty(7)
    given = [(b"a" * 32, [3, 9]), (b"b" * 32, []), (b"c" * 32, [1])]
    for digest, ends in given:
        cuts.add(digest, ends)
    about = About("mine-v1", {"most_bytes": 5}, "json-text-v1", "0" * 64, own=True)
    path = tmp_path / cuts.name
    path.write_bytes(cuts.pack(about))
    assert (cuts.objects, cuts.name) == (3, "000000000007-000000000009.seg")
    part = Part(path, "label")
    assert (part.about, part.first, part.objects, part.segments) == (about, 7, 3, 3)
    assert [(part.digest(number), list(part.ends(number))) for number in (7, 8, 9)] == given
    assert [part.holds(number) for number in (6, 7, 9, 10)] == [False, True, True, False]
    assert part.stored_bytes == path.stat().st_size
    again = Cuts.empty(7)
    part.copy_to(again)
    assert again == cuts


def test_the_arrays_of_a_part_lie_aligned_behind_its_header(indexed: Path) -> None:
    path = part_of(indexed)
    read = said_by(path)
    assert HEADER.size == 64
    assert read.head["about_bytes"] % 64 == 0
    assert (read.head["magic"], read.head["version"], read.head["reserved"]) == (MAGIC, VERSION, 0)
    assert (read.head["first"], read.head["objects"]) == (0, 6)
    assert read.head["segments"] == sum(map(len, read.ends))
    assert read.head["stored_bytes"] == path.stat().st_size
    assert path.stat().st_size == 64 + read.head["about_bytes"] + 32 * 6 + 4 * 7 + 4 * read.head["segments"]
    assert read.about == {
        "scheme": SCHEME,
        "parameters": SCHEMES[SCHEME].parameters,
        "projection": PROJECTION,
        "archive_digest": digest_of(indexed),
        "own": False,
    }
    assert path.name == part_name(0, 6)


def test_cuts_are_extended_by_those_of_the_objects_behind_them() -> None:
    left, right, whole = Cuts.empty(0), Cuts.empty(2), Cuts.empty(0)
    rows = [(b"a" * 32, [2]), (b"b" * 32, [1, 4]), (b"c" * 32, []), (b"d" * 32, [5, 6])]
    for number, row in enumerate(rows):
        (left if number < 2 else right).add(*row)
        whole.add(*row)
    left.extend(right)
    assert left == whole


# ------------------------------------------------------------------------------------------------------------ damage


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive with a part as small as parts are; a test that damages it mends it."""
    archive = tmp_path_factory.mktemp("small") / "a.ctxa"
    stored(archive, said("one") + said("two"))
    segment(archive, [SCHEME])
    return archive


def test_every_byte_of_a_part_that_is_flipped_is_found(small: Path) -> None:
    path = part_of(small)
    label = path.relative_to(small).as_posix()
    whole, record = path.read_bytes(), record_of(small)
    for at in range(len(whole)):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << at % 8
        path.write_bytes(damaged)
        code = "BAD_MAGIC" if at < 8 else "UNSUPPORTED_VERSION" if at < 10 else "CHECKSUM_MISMATCH"
        assert code_when_opened(small) == code, at
        assert found(small, quick=bool(at % 2)) == [(code, label)], at
    assert record_of(small) == record
    assert held(small) == said("one") + said("two")
    assert run("verify", small).returncode == 1
    path.write_bytes(whole)
    sound(small)


def test_every_length_that_a_part_is_cut_to_is_found(small: Path) -> None:
    path = part_of(small)
    label = path.relative_to(small).as_posix()
    whole, record = path.read_bytes(), record_of(small)
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert code_when_opened(small) == "TRUNCATED", length
        assert found(small, quick=bool(length % 2)) == [("TRUNCATED", label)], length
    for more in (b"\0", whole):
        path.write_bytes(whole + more)
        assert code_when_opened(small) == "TRUNCATED"
        assert found(small) == [("TRUNCATED", label)]
    assert record_of(small) == record
    assert held(small) == said("one") + said("two")
    path.write_bytes(whole)
    sound(small)


def other_digest(digests: bytes) -> bytes:
    return digests[:32] + b"\1" * 32 + digests[64:]


def beyond(ends: array[int]) -> array[int]:
    return array("I", [*ends[:-1], ends[-1] + 1])


def short(ends: array[int]) -> array[int]:
    return array("I", [*ends[:-1], ends[-1] - 1])


def backwards(ends: array[int]) -> array[int]:
    return array("I", [ends[1], ends[0], *ends[2:]])


def twice(ends: array[int]) -> array[int]:
    return array("I", [ends[0], ends[0], *ends[2:]])


def from_nothing(ends: array[int]) -> array[int]:
    return array("I", [0, *ends[1:]])


@pytest.mark.parametrize("change", [beyond, short, backwards, twice, from_nothing])
def test_resealed_cuts_that_do_not_cover_a_turn_once_are_refused_when_used(
    change: Callable[[array[int]], array[int]], indexed: Path
) -> None:
    path = part_of(indexed)
    reseal(path, ends=change)
    Index(indexed, SCHEME)  # what it says of each turn is judged when it is asked
    refusal = refused(lambda: exported(indexed))
    assert (refusal.code, refusal.status) == ("INDEX_MISMATCH", 4)
    assert "--rebuild" in refusal.hint
    assert found(indexed) == [("INDEX_MISMATCH", f"segments/{SCHEME}/{path.name}")]
    (described,) = info(indexed).indexes
    assert described.refusal is not None
    assert described.refusal["code"] == "INDEX_MISMATCH"
    assert held(indexed) == DATA


def test_a_quick_check_says_that_it_left_the_cuts_unread(indexed: Path) -> None:
    reseal(part_of(indexed), ends=beyond)
    assert found(indexed, quick=True) == []
    assert any("cuts" in words for words in verify(indexed, quick=True).not_checked)


def test_a_resealed_part_in_which_a_turn_has_no_cuts_is_found(indexed: Path) -> None:
    def without_last(starts: array[int]) -> array[int]:
        return array("I", [*starts[:-1], starts[-2]])

    def shorter(ends: array[int]) -> array[int]:
        return ends[: sum(len(each) for each in said_by(path).ends[:-1])]

    path = part_of(indexed)
    reseal(path, starts=without_last, ends=shorter)
    assert found(indexed) == [("INDEX_MISMATCH", f"segments/{SCHEME}/{path.name}")]


def test_resealed_starts_that_run_backwards_are_refused(indexed: Path) -> None:
    def swapped(starts: array[int]) -> array[int]:
        return array("I", [starts[0], starts[2], starts[1], *starts[3:]])

    path = part_of(indexed)
    reseal(path, starts=swapped)
    assert refused(lambda: exported(indexed)).code == "INDEX_MISMATCH"
    assert {code for code, _ in found(indexed)} == {"INDEX_MISMATCH"}


def test_resealed_starts_beyond_the_segments_are_refused(indexed: Path) -> None:
    reseal(part_of(indexed), starts=lambda starts: array("I", [starts[0], 1 << 31, *starts[2:]]))
    assert refused(lambda: exported(indexed)).code == "INDEX_MISMATCH"
    assert {code for code, _ in found(indexed)} == {"INDEX_MISMATCH"}


@pytest.mark.parametrize("at", [0, -1])
def test_starts_that_do_not_count_the_segments_are_refused_when_opened(at: int, indexed: Path) -> None:
    def more(starts: array[int]) -> array[int]:
        starts[at] += 1
        return starts

    reseal(part_of(indexed), starts=more)
    assert code_when_opened(indexed) == "INDEX_MISMATCH"


def test_cuts_of_another_turn_are_refused_and_name_both(indexed: Path) -> None:
    path = part_of(indexed)
    reseal(path, digests=other_digest)
    refusal = refused(lambda: exported(indexed))
    assert (refusal.code, refusal.facts["object"]) == ("INDEX_MISMATCH", 1)
    assert "01" * 32 in refusal.message
    assert sha(turns_of(DATA)[1]) in refusal.message
    assert found(indexed) == [("INDEX_MISMATCH", f"segments/{SCHEME}/{path.name}")]
    assert held(indexed) == DATA


@pytest.mark.parametrize(
    ("code", "changed"),
    [
        ("INDEX_MISMATCH", {"about": {"scheme": "sized-900-v1"}}),
        ("INDEX_MISMATCH", {"about": {"scheme": 5}}),
        ("INDEX_MISMATCH", {"about": {"parameters": []}}),
        ("INDEX_MISMATCH", {"about": {"own": 1}}),
        ("INDEX_MISMATCH", {"about": b"{}" + b" " * 62}),
        ("INDEX_MISMATCH", {"about": b"no JSON" + b" " * 57}),
        ("INDEX_MISMATCH", {"about": b"\xff" * 64}),
        ("INDEX_MISMATCH", {"about": b"[" * 100_000 + b" " * 32}),
        ("INDEX_MISMATCH", {"about": b""}),
        ("INDEX_MISMATCH", {"first": 1}),
        ("UNSUPPORTED_VERSION", {"version": VERSION + 1}),
        ("UNSUPPORTED_VERSION", {"version": 0}),
        ("UNSUPPORTED_VERSION", {"reserved": 1}),
        ("BAD_MAGIC", {"magic": b"\x89CTXSEG\r"}),
        ("LIMIT_EXCEEDED", {"objects": OBJECT_LIMIT + 1}),
        ("LIMIT_EXCEEDED", {"first": (1 << 64) - 1}),
        ("LIMIT_EXCEEDED", {"segments": COUNT_LIMIT + 1}),
        ("LIMIT_EXCEEDED", {"about_bytes": (1 << 20) + 1}),
        ("INDEX_MISMATCH", {"objects": OBJECT_LIMIT}),
        ("INDEX_MISMATCH", {"segments": COUNT_LIMIT}),
        ("INDEX_MISMATCH", {"objects": 5}),
        ("TRUNCATED", {"stored_bytes": 1 << 40}),
        ("TRUNCATED", {"stored_bytes": 64}),
    ],
)
def test_a_resealed_part_that_says_something_else_is_refused_when_opened(
    code: str, changed: dict[str, Any], indexed: Path
) -> None:
    path = part_of(indexed)
    reseal(path, **changed)
    assert code_when_opened(indexed) == code
    assert found(indexed) == [(code, f"segments/{SCHEME}/{path.name}")]
    assert refused(lambda: segment(indexed)).code == code
    assert refused(lambda: exported(indexed)).code == code
    assert held(indexed) == DATA


def code_of(archive: Path) -> str:
    """Open an index, in a child process that may take little memory."""
    try:
        Index(archive, SCHEME)
    except Refusal as refusal:
        return refusal.code
    return "opened"


@pytest.mark.parametrize("field", ["objects", "segments"])
def test_no_memory_is_taken_for_a_count_beyond_limits(field: str, indexed: Path) -> None:
    limit = OBJECT_LIMIT if field == "objects" else COUNT_LIMIT
    for value, code in ((limit + 1, "LIMIT_EXCEEDED"), (limit, "INDEX_MISMATCH")):
        reseal(part_of(indexed), **{field: value})
        assert in_child(few_bytes, 16 << 20, code_of, indexed) == (0, code)
        segment(indexed, rebuild=True)


@pytest.mark.parametrize("about", [{"parameters": {"least_bytes": 200, "most_bytes": 600}}, {"own": True}])
def test_an_index_cut_otherwise_than_its_scheme_cuts_is_not_extended(about: dict[str, Any], indexed: Path) -> None:
    reseal(part_of(indexed), about=about)
    refusal = refused(lambda: segment(indexed))
    assert (refusal.code, refusal.status) == ("INDEX_MISMATCH", 4)
    assert "--rebuild" in refusal.hint
    segment(indexed, rebuild=True)
    sound(indexed)
    assert segment(indexed)[0].new_segments == 0


@pytest.mark.parametrize("about", [{"parameters": {"least_bytes": 200, "most_bytes": 600}}, {"own": True}])
def test_an_index_cut_otherwise_than_its_scheme_cuts_is_found(about: dict[str, Any], indexed: Path) -> None:
    reseal(part_of(indexed), about=about)
    assert [code for code, _ in found(indexed)] == ["INDEX_MISMATCH"]


@pytest.mark.parametrize("name", [part_name(1, 6), part_name(0, 5), part_name(0, 7)])
def test_a_part_that_was_renamed_is_refused(name: str, indexed: Path) -> None:
    path = part_of(indexed)
    path.rename(path.with_name(name))
    assert code_when_opened(indexed) == "INDEX_MISMATCH"
    assert found(indexed) == [("INDEX_MISMATCH", f"segments/{SCHEME}/{name}")]


def test_a_part_of_another_scheme_is_refused(indexed: Path) -> None:
    segment(indexed, ["sized-900-v1"])
    shutil.copy(part_of(indexed, "sized-900-v1"), part_of(indexed))
    assert code_when_opened(indexed) == "INDEX_MISMATCH"
    assert "sized-900-v1" in refused(lambda: exported(indexed, scheme=SCHEME)).message
    assert found(indexed) == [("INDEX_MISMATCH", f"segments/{SCHEME}/{part_name(0, 6)}")]


def split(archive: Path, *ranges: tuple[int, int]) -> list[Path]:
    """Write the index of an archive again as parts of those ranges of objects."""
    path = part_of(archive)
    read = said_by(path)
    path.unlink()
    made = []
    for first, end in ranges:
        cuts = Cuts.empty(first)
        for number in range(first, end):
            cuts.add(read.digests[number], read.ends[number])
        made.append(path.with_name(cuts.name))
        made[-1].write_bytes(cuts.pack(About(**read.about)))
    return made


def test_parts_that_overlap_are_refused(indexed: Path) -> None:
    *_, second = split(indexed, (0, 4), (3, 6))
    assert code_when_opened(indexed) == "INDEX_MISMATCH"
    assert found(indexed) == [("INDEX_MISMATCH", f"segments/{SCHEME}/{second.name}")]


def test_parts_side_by_side_are_one_index(indexed: Path) -> None:
    before = exported(indexed)
    split(indexed, (0, 3), (3, 4), (4, 6))
    sound(indexed)
    assert exported(indexed)[1:] == before[1:]
    assert segment(indexed)[0].new_segments == 0


@pytest.mark.parametrize("gone", [0, 1, 2])
def test_a_part_that_is_gone_is_less_coverage_and_is_cut_again(gone: int, indexed: Path) -> None:
    before = exported(indexed)
    lost = split(indexed, (0, 2), (2, 4), (4, 6))[gone]
    lost.unlink()
    assert found(indexed) == []
    header, *rows = exported(indexed)
    assert [row for row in before[1:] if row.turn not in {2 * gone, 2 * gone + 1}] == rows
    assert header.coverage.bytes < 1
    (result,) = segment(indexed)
    assert (result.coverage, result.turns_not_fully_covered) == (1.0, 0)
    assert exported(indexed)[1:] == before[1:]
    segment(indexed)  # removes a part that a larger one has taken in
    sound(indexed)


@pytest.mark.parametrize("gone", [0, 1])
def test_what_was_lost_is_cut_again_in_one_call_and_leaves_nothing_behind(gone: int, indexed: Path) -> None:
    cuts = cuts_of(indexed)
    split(indexed, (0, 2), (2, 4), (4, 6))[gone].unlink()
    lost = sum(len(cuts[sha(turn)]) for turn in turns_of(DATA)[2 * gone : 2 * gone + 2])
    (result,) = segment(indexed)
    assert result.new_segments == lost
    sound(indexed)


@pytest.mark.parametrize("what", ["link", "directory"])
def test_what_is_no_plain_file_is_not_read_as_a_part(what: str, indexed: Path, tmp_path: Path) -> None:
    path = part_of(indexed)
    path.rename(tmp_path / "moved.seg")
    path.symlink_to(tmp_path / "moved.seg") if what == "link" else path.mkdir()
    assert code_when_opened(indexed) == "BAD_MAGIC"
    assert found(indexed) == [("BAD_MAGIC", f"segments/{SCHEME}/{path.name}")]
    assert refused(lambda: segment(indexed)).code == "BAD_MAGIC"
    assert held(indexed) == DATA


@pytest.mark.parametrize("folder", ["segments", f"segments/{SCHEME}"])
def test_a_link_in_place_of_a_directory_is_not_followed(folder: str, indexed: Path, tmp_path: Path) -> None:
    (indexed / folder).rename(tmp_path / "moved")
    (indexed / folder).symlink_to(tmp_path / "moved")
    assert code_when_opened(indexed) == "BAD_MAGIC"
    assert refused(lambda: segment(indexed, [SCHEME])).code == "BAD_MAGIC"
    assert refused(lambda: exported(indexed, scheme=SCHEME)).code == "BAD_MAGIC"
    assert held(indexed) == DATA


@pytest.mark.parametrize(
    "folder",
    [
        "segments",
        f"segments/{SCHEME}",
    ],
)
def test_a_link_in_place_of_a_directory_is_found(folder: str, indexed: Path, tmp_path: Path) -> None:
    (indexed / folder).rename(tmp_path / "moved")
    (indexed / folder).symlink_to(tmp_path / "moved")
    assert [path for _, path in found(indexed)] == [folder]


@pytest.mark.parametrize("folder", ["segments", f"segments/{SCHEME}"])
def test_a_rebuild_changes_nothing_where_a_link_leads(folder: str, indexed: Path, tmp_path: Path) -> None:
    (indexed / folder).rename(tmp_path / "moved")
    (indexed / folder).symlink_to(tmp_path / "moved")
    precious = part_name(0, 99)
    (tmp_path / "moved" / SCHEME if folder == "segments" else tmp_path / "moved").joinpath(precious).write_bytes(b"x")
    before = tree(tmp_path / "moved")
    try:
        segment(indexed, [SCHEME], rebuild=True)
    except Refusal:
        assert tree(tmp_path / "moved") == before
        return
    assert tree(tmp_path / "moved") == before
    sound(indexed)


def test_a_rebuild_replaces_a_part_that_is_a_link_and_leaves_its_target(indexed: Path, tmp_path: Path) -> None:
    path = part_of(indexed)
    path.rename(tmp_path / "moved.seg")
    path.symlink_to(tmp_path / "moved.seg")
    target = (tmp_path / "moved.seg").read_bytes()
    segment(indexed, rebuild=True)
    assert not path.is_symlink()
    assert (tmp_path / "moved.seg").read_bytes() == target
    sound(indexed)


def test_a_rebuild_mends_an_index_with_a_directory_in_place_of_a_part(indexed: Path) -> None:
    path = part_of(indexed)
    path.unlink()
    path.mkdir()
    assert "--rebuild" in refused(lambda: segment(indexed)).hint
    segment(indexed, rebuild=True)
    sound(indexed)


def flipped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("damage", [flipped, Path.unlink, lambda path: path.write_bytes(b"")])
def test_a_rebuild_mends_a_damaged_index(damage: Callable[[Path], object], indexed: Path) -> None:
    path = part_of(indexed)
    whole, rows = path.read_bytes(), exported(indexed)
    damage(path)
    (result,) = segment(indexed, [SCHEME], rebuild=True)
    assert (result.coverage, result.new_segments) == (1.0, len(rows) - 1)
    assert part_of(indexed).read_bytes() == whole
    assert exported(indexed) == rows
    sound(indexed)


def test_damage_of_one_index_leaves_the_others_readable(indexed: Path) -> None:
    segment(indexed, ["whole-turn-v1"])
    flipped(part_of(indexed))
    assert len(exported(indexed, scheme="whole-turn-v1")) == 7
    assert [each.refusal is None for each in info(indexed).indexes] == [False, True]
    assert [code for code, _ in found(indexed)] == ["CHECKSUM_MISMATCH"]
    assert b"damaged: CHECKSUM_MISMATCH" in run("info", indexed).stdout


def test_the_indexes_of_a_damaged_record_are_not_compared_and_verify_says_so(indexed: Path) -> None:
    (pack,) = (indexed / "pack").iterdir()
    flipped(pack)
    result = verify(indexed)
    assert [finding.path for finding in result.findings] == [f"pack/{pack.name}"]
    assert any("indexes" in words for words in result.not_checked)


# ----------------------------------------------------------------------------------------------------------- segment


def check_result(result: SegmentResult, archive: Path, turns: list[bytes]) -> None:
    """Compare what segment says with the parts and the turns of the newest states themselves."""
    cuts = cuts_of(archive, result.scheme)
    distinct = dict.fromkeys(turns)
    sizes, covered, uncovered = [], 0, 0
    for turn in distinct:
        ends = cuts.get(sha(turn), [])
        assert ends == sorted(set(ends))
        assert not ends or ends[-1] == len(turn)
        sizes += [end - start for start, end in zip([0, *ends], ends, strict=False)]
        covered += ends[-1] if ends else 0
        uncovered += not ends
    assert result.archive == str(archive)
    assert (result.segments, result.turns) == (len(sizes), len(distinct))
    assert result.median_segment_bytes == (median(sizes) if sizes else 0)
    assert result.coverage == (covered / sum(map(len, distinct)) if distinct else 1.0)
    assert (result.bytes_covered_twice, result.turns_not_fully_covered) == (0, uncovered)
    assert result.index_bytes == sum(path.stat().st_size for path in parts_of(archive, result.scheme))
    assert result.archive_digest == digest_of(archive)
    assert result.preservation_digest_before == result.preservation_digest_after == record_fingerprint(archive)
    assert result.preservation_unchanged is True


@pytest.mark.parametrize("scheme", SCHEMES)
def test_what_segment_says_is_what_the_parts_hold(scheme: str, archive: Path) -> None:
    stored(archive, stories(4, 9) + b"\n" + b"\xff\xfe no JSON \r\n" + b"torn", "t")
    (result,) = segment(archive, [scheme])
    check_result(result, archive, turns_of(DATA) + turns_of(stories(4, 9)) + [b"\n", b"\xff\xfe no JSON \r\n", b"torn"])
    assert result.new_segments == result.segments
    assert result.coverage == 1.0
    sound(archive)


def test_without_a_scheme_the_default_is_built_and_then_what_is_there_is_extended(archive: Path) -> None:
    assert [result.scheme for result in segment(archive)] == [SCHEME]
    segment(archive, ["structural-v1"])
    assert [result.scheme for result in segment(archive)] == [SCHEME, "structural-v1"]


def test_several_schemes_are_built_in_one_call_in_the_order_asked(archive: Path) -> None:
    wanted = ["sized-900-v1", "whole-turn-v1", SCHEME]
    results = segment(archive, [*wanted, SCHEME])
    assert [result.scheme for result in results] == wanted
    for result in results:
        check_result(result, archive, turns_of(DATA))
    assert built(archive) == sorted(wanted)
    assert results[1].segments == 6


def test_an_unknown_scheme_is_refused_with_the_list(archive: Path) -> None:
    refusal = refused(lambda: segment(archive, [SCHEME, "nope-v1"]))
    assert (refusal.code, refusal.status) == ("NO_SUCH_SCHEME", 5)
    assert all(name in refusal.message for name in ["nope-v1", *SCHEMES])
    assert refusal.facts["schemes"] == list(SCHEMES)
    assert not (archive / "segments").exists()


def test_an_unknown_scheme_is_refused_before_anything_is_made(archive: Path) -> None:
    before = tree(archive)
    refused(lambda: segment(archive, ["nope-v1"]))
    assert tree(archive) == before


def test_cutting_again_adds_nothing_and_writes_nothing(indexed: Path) -> None:
    before = tree(indexed)
    (result,) = segment(indexed)
    assert result.new_segments == 0
    assert tree(indexed) == before


def test_an_index_that_was_dropped_comes_back_byte_for_byte(indexed: Path) -> None:
    before, rows = tree(indexed), exported(indexed)
    shutil.rmtree(indexed / "segments")
    segment(indexed, [SCHEME])
    assert tree(indexed) == before
    assert exported(indexed) == rows


def test_the_record_s_files_and_the_digest_stay_as_they_are(archive: Path) -> None:
    before, digest = record_of(archive), digest_of(archive)
    for result in segment(archive, list(SCHEMES)):
        assert result.preservation_digest_before == result.preservation_digest_after
    segment(archive, list(SCHEMES), rebuild=True)
    assert record_of(archive) == before
    assert digest_of(archive) == digest
    assert {path.split("/")[0] for path in tree(archive)} - {path.split("/")[0] for path in before} == {
        *SIDE,
        "record.lock",
    }
    sound(archive)


def test_a_turn_that_stands_at_ten_places_is_cut_once(archive: Path) -> None:
    stored(archive, story(90) + story(0) * 9, "t")
    (result,) = segment(archive)
    check_result(result, archive, [*turns_of(DATA), story(90)])
    (part,) = parts_of(archive)
    assert said_by(part).digests.count(bytes.fromhex(sha(story(0)))) == 1
    assert sum(row.turn_sha256 == sha(story(0)) for row in exported(archive)[1:]) == len(
        cuts_of(archive)[sha(story(0))]
    )


def test_an_archive_without_a_turn_is_covered(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    stored(archive, b"")
    (result,) = segment(archive)
    assert (result.segments, result.coverage, result.median_segment_bytes) == (0, 1.0, 0.0)
    sound(archive)


def test_a_partial_archive_is_segmented_as_far_as_it_is_held(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    kept = turns_of(DATA)[4:]
    stored(archive, DATA, max_bytes=sum(map(len, kept)), allow_truncation=True)
    (result,) = segment(archive)
    check_result(result, archive, kept)


def test_segments_are_of_the_newest_states(indexed: Path) -> None:
    stored(indexed, story(0) + stories(20, 23), as_new_history=True)
    (result,) = segment(indexed)
    check_result(result, indexed, turns_of(story(0) + stories(20, 23)))
    assert len(cuts_of(indexed)) == 9
    sound(indexed)


def test_the_list_says_what_the_archive_has_of_each_scheme(indexed: Path) -> None:
    stored(indexed, DATA + stories(6, 8), index=False)
    own_cuts(indexed, "mine-v1", lines_of([(0, 0, len(story(0)))]), label="f")
    rows = {row.scheme: row for row in schemes(indexed)}
    assert list(rows) == sorted([*SCHEMES, "mine-v1"])
    assert [name for name, row in rows.items() if row.built] == [SCHEME, "mine-v1"]
    assert (rows["sized-900-v1"].segments, rows["sized-900-v1"].coverage) == (0, 0.0)
    assert rows[SCHEME].segments == sum(map(len, cuts_of(indexed).values()))
    assert rows[SCHEME].coverage == len(DATA) / len(DATA + stories(6, 8))
    assert (rows["mine-v1"].segments, rows["mine-v1"].parameters) == (1, {})
    assert rows[SCHEME].parameters == SCHEMES[SCHEME].parameters


# ------------------------------------------------------------------------------------------------------------ growth


def ids_of(archive: Path, scheme: str = SCHEME) -> list[str]:
    return [row.id for row in exported(archive, scheme=scheme)[1:]]


def grown(archive: Path, data: bytes, **options: Any) -> Any:  # noqa: ANN401 - options differ
    """Capture more of the transcript; what the call did."""
    path = archive.parent / "sources" / "s.jsonl"
    path.write_bytes(data)
    return capture(archive, [Source("s", path)], CaptureOptions(**options))


def test_a_capture_extends_every_index_and_old_ids_stay(indexed: Path) -> None:
    segment(indexed, ["whole-turn-v1"])
    before = ids_of(indexed)
    result = grown(indexed, DATA + stories(6, 10))
    assert [(each.scheme, each.refusal) for each in result.indexes] == [(SCHEME, None), ("whole-turn-v1", None)]
    after = ids_of(indexed)
    assert after[: len(before)] == before
    assert result.indexes[0].new_segments == len(after) - len(before)
    assert result.indexes[1].new_segments == 4
    for now in segment(indexed):
        assert now.new_segments == 0
        check_result(now, indexed, turns_of(DATA + stories(6, 10)))
    sound(indexed)


def test_a_capture_of_an_archive_without_an_index_makes_none(archive: Path) -> None:
    assert grown(archive, DATA + story(6)).indexes == ()
    assert not (archive / "segments").exists()


def test_a_capture_that_leaves_the_index_makes_it_cover_less(indexed: Path) -> None:
    before = exported(indexed)
    assert grown(indexed, DATA + stories(6, 10), index=False).indexes == ()
    header, *rows = exported(indexed)
    assert rows == before[1:]
    assert header.coverage.bytes == len(DATA) / len(DATA + stories(6, 10))
    assert header.coverage.turns == 6 / 10
    assert info(indexed).indexes[0].coverage == header.coverage.bytes
    sound(indexed)  # older than the record is not wrong
    (result,) = segment(indexed)
    assert result.new_segments == result.segments - len(rows)
    assert result.coverage == 1.0
    check_result(result, indexed, turns_of(DATA + stories(6, 10)))


def test_the_command_can_leave_the_index_and_says_what_was_added(indexed: Path) -> None:
    path = indexed.parent / "sources" / "s.jsonl"
    path.write_bytes(DATA + story(6))
    done = run("capture", indexed, path, "--no-index", "--json")
    assert (done.returncode, "indexes" in one(done)) == (0, False)
    path.write_bytes(DATA + stories(6, 8))
    got = one(run("capture", indexed, path, "--json"))
    assert [each["scheme"] for each in got["indexes"]] == [SCHEME]
    assert got["indexes"][0]["new_segments"] > 0
    path.write_bytes(DATA + stories(6, 9))
    assert f"index    {SCHEME}, +".encode() in run("capture", indexed, path).stdout


def test_an_unfinished_line_that_grows_is_cut_again_as_another_turn(indexed: Path) -> None:
    torn = story(6)[:-100]
    for data in (DATA + torn, DATA + story(6)):
        grown(indexed, data)
        (result,) = segment(indexed)
        assert result.new_segments == 0
        check_result(result, indexed, turns_of(data))
    assert sha(torn) in cuts_of(indexed)
    sound(indexed)


def test_many_small_captures_leave_few_parts_whose_union_is_right(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    stored(archive, story(0))
    segment(archive, [SCHEME])
    most = 0
    for number in range(1, 61):
        stored(archive, stories(0, number + 1))
        most = max(most, len(parts_of(archive)))
    assert most <= 12
    data = stories(0, 61)
    (result,) = segment(archive)
    assert result.new_segments == 0
    check_result(result, archive, turns_of(data))
    spans = [(said_by(path).head["first"], said_by(path).head["objects"]) for path in parts_of(archive)]
    assert [first for first, _ in spans] == [sum(count for _, count in spans[:at]) for at in range(len(spans))]
    assert cuts_of(archive) == {sha(turn): SCHEMES[SCHEME].cut(turn) for turn in turns_of(data)}
    sound(archive)


def test_a_capture_without_new_turns_does_not_read_the_record_for_its_indexes(
    indexed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Path) -> str:
        pytest.fail("every file of the record was read")

    monkeypatch.setattr("ctxarc.operations.side_writer.record_fingerprint", fail)
    result = grown(indexed, DATA)
    assert [(each.scheme, each.new_segments, each.refusal) for each in result.indexes] == [(SCHEME, 0, None)]


def test_an_archive_that_is_packed_anew_keeps_its_indexes(indexed: Path) -> None:
    rows = exported(indexed)
    repack(indexed, level=5)
    assert exported(indexed) == rows
    assert segment(indexed)[0].new_segments == 0
    sound(indexed)


def test_a_capture_whose_index_is_damaged_stands_and_says_so(indexed: Path) -> None:
    segment(indexed, ["whole-turn-v1"])
    flipped(part_of(indexed))
    data = DATA + stories(6, 8)
    result = grown(indexed, data)
    assert [each.scheme for each in result.indexes] == [SCHEME, "whole-turn-v1"]
    assert result.indexes[0].new_segments == 0
    assert result.indexes[0].refusal["code"] == "CHECKSUM_MISMATCH"
    assert "--rebuild" in result.indexes[0].refusal["hint"]
    assert (result.indexes[1].new_segments, result.indexes[1].refusal) == (2, None)
    assert held(indexed) == data


def test_the_command_says_that_an_index_was_not_extended_and_ends_well(indexed: Path) -> None:
    flipped(part_of(indexed))
    path = indexed.parent / "sources" / "s.jsonl"
    path.write_bytes(DATA + story(6))
    done = run("capture", indexed, path, "--json")
    got = one(done)
    assert (done.returncode, got["ok"], got["new_turns"]) == (0, True, 1)
    assert got["indexes"][0]["refusal"]["code"] == "CHECKSUM_MISMATCH"
    path.write_bytes(DATA + stories(6, 8))
    done = run("capture", indexed, path)
    assert done.returncode == 0
    assert f"index    {SCHEME}: not extended".encode() in done.stdout
    assert b"ctxarc: CHECKSUM_MISMATCH: " in done.stderr
    assert b"hint: " in done.stderr
    assert held(indexed) == DATA + stories(6, 8)


def test_a_capture_stands_where_there_is_no_room_for_its_index(indexed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("ctxarc.auxiliary.segments.index.replace_file", full)
    result = grown(indexed, DATA + story(6))
    assert result.indexes[0].refusal["code"] == "NO_SPACE"
    assert held(indexed) == DATA + story(6)
    sound(indexed)


def test_a_capture_whose_indexes_cannot_even_be_listed_stands(indexed: Path) -> None:
    path = indexed.parent / "sources" / "s.jsonl"
    path.write_bytes(DATA + story(6))
    (indexed / "segments").chmod(0)
    done = run("capture", indexed, path, "--json", before=modes_count())
    (indexed / "segments").chmod(0o755)
    assert held(indexed) == DATA + story(6)
    assert (done.returncode, one(done)["ok"]) == (0, True)


def shrunk(archive: Path) -> Path:
    """Grow an archive and its index, and put the record's older files back beside the newer index."""
    older = archive.parent / "older"
    shutil.copytree(archive, older, ignore=shutil.ignore_patterns("segments", "words", "*.lock"))
    grown(archive, DATA + stories(6, 10))
    for path in archive.iterdir():
        if path.name not in {*SIDE, "record.lock"}:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.copytree(older, archive, dirs_exist_ok=True)
    return archive


def test_an_index_of_a_later_state_is_refused_and_found(indexed: Path) -> None:
    archive = shrunk(indexed)
    refusal = refused(lambda: segment(archive))
    assert (refusal.code, refusal.status) == ("INDEX_MISMATCH", 4)
    assert f"--scheme {SCHEME} --rebuild" in refusal.hint
    assert (refusal.facts["covered"], refusal.facts["objects"]) == (10, 6)
    codes = found(archive)
    assert codes
    assert {code for code, _ in codes} == {"INDEX_MISMATCH"}
    assert found(archive, quick=True) == codes
    assert held(archive) == DATA
    grown(archive, DATA + story(30))
    (mended,) = segment(archive, rebuild=True)
    check_result(mended, archive, turns_of(DATA + story(30)))
    sound(archive)


def test_a_capture_beside_an_index_of_a_later_state_stands_and_says_so(indexed: Path) -> None:
    archive = shrunk(indexed)
    result = grown(archive, DATA + story(30))
    assert [each.refusal and each.refusal["code"] for each in result.indexes] == ["INDEX_MISMATCH"]
    assert held(archive) == DATA + story(30)


def test_an_index_of_another_archive_is_refused_and_found(indexed: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.ctxa"
    stored(other, stories(30, 37))
    shutil.copytree(indexed / "segments", other / "segments")
    assert {code for code, _ in found(other)} == {"INDEX_MISMATCH"}
    refusal = refused(lambda: exported(other))
    assert (refusal.code, refusal.status) == ("INDEX_MISMATCH", 4)
    assert "--rebuild" in refusal.hint
    assert refused(lambda: segment(other)).code == "INDEX_MISMATCH"
    segment(other, rebuild=True)
    sound(other)


def test_an_index_of_another_archive_is_not_written_to(indexed: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.ctxa"
    stored(other, stories(30, 37))
    shutil.copytree(indexed / "segments", other / "segments")
    before = tree(other / "segments")
    assert refused(lambda: segment(other)).code == "INDEX_MISMATCH"
    assert tree(other / "segments") == before


# ----------------------------------------------------------------------------------------------------- other writers


@pytest.mark.parametrize("lock", ["auxiliary.lock", "record.lock"])
def test_who_cannot_have_a_lock_is_refused(lock: str, indexed: Path) -> None:
    before = tree(indexed / "segments")
    with Lock(indexed / lock, 0.0):
        refusal = refused(lambda: segment(indexed, rebuild=True, lock_wait=0))
        assert (refusal.code, refusal.status) == ("ARCHIVE_LOCKED", 6)
        mine = lines_of([(0, 0, len(story(0)))])
        assert refused(lambda: own_cuts(indexed, "mine", mine, label="f", lock_wait=0)).code == "ARCHIVE_LOCKED"
        assert len(exported(indexed)) > 6  # a reader never waits
    assert tree(indexed / "segments") == before
    done = run("segment", indexed, "--lock-wait", "0", "--json")
    assert done.returncode == 0


def test_a_capture_stands_while_another_writes_indexes(indexed: Path) -> None:
    with Lock(indexed / "auxiliary.lock", 0.0):
        result = grown(indexed, DATA + story(6), lock_wait=0)
    assert result.indexes[0].refusal["code"] == "ARCHIVE_LOCKED"
    assert held(indexed) == DATA + story(6)
    assert segment(indexed)[0].coverage == 1.0


def leave(archive: Path) -> list[str]:
    """What a writer leaves that was killed before and behind its rename; the paths."""
    rows = exported(archive)
    path = part_of(archive)
    read = said_by(path)
    whole = path.read_bytes()
    split(archive, (0, 4), (4, 6))
    path.write_bytes(whole)
    path.with_name(f"{part_name(0, 9)}.tmp").write_bytes(whole[:100])
    assert exported(archive) == rows
    assert said_by(path) == read
    names = (part_name(0, 4), part_name(4, 2), f"{part_name(0, 9)}.tmp")
    return sorted(f"segments/{SCHEME}/{name}" for name in names)


def test_what_a_dead_writer_left_is_harmless_named_and_removed(indexed: Path) -> None:
    rows = exported(indexed)
    left = leave(indexed)
    assert [(part.first, part.objects) for part in Index(indexed, SCHEME).parts] == [(0, 6)]
    assert sorted(found(indexed)) == [("LEFTOVER", path) for path in left]
    with Lock(indexed / "auxiliary.lock", 0.0):
        assert found(indexed) == []  # a writer may be at work on them
    assert exported(indexed) == rows
    assert segment(indexed)[0].new_segments == 0
    assert [path.name for path in parts_of(indexed)] == [part_name(0, 6)]
    sound(indexed)


def die_in_segment(number: int, archive: Path) -> str:
    """Extend an index and die before call ``number`` that changes a file; of a write, half is done."""
    arm(number)
    segment(archive, [SCHEME])
    return "lived"


def test_a_writer_may_die_at_any_call(indexed: Path, tmp_path: Path) -> None:
    data = DATA + stories(6, 12)
    before = [row.id for row in exported(indexed)[1:]]
    grown(indexed, data, index=False)
    after = [id_of(turn, start, end) for turn, start, end in segments_of(data)]
    status, number = DIED, 0
    while status == DIED:
        archive = tmp_path / f"{number}.ctxa"
        shutil.copytree(indexed, archive)
        status, said_ = in_child(die_in_segment, number, archive)
        assert said_ == (None if status == DIED else "lived")
        assert ids_of(archive) in (before, after)
        assert {code for code, _ in found(archive)} <= {"LEFTOVER"}
        assert record_of(archive) == record_of(indexed)
        assert held(archive) == data
        check_result(segment(archive)[0], archive, turns_of(data))
        assert ids_of(archive) == after
        sound(archive)
        number += 1
    assert number > 8


def fail_in_segment(number: int, archive: Path) -> tuple[str, int]:
    """Extend an index with the disk full at call ``number`` that changes a file; what came of it, and all calls."""

    def at(count: int, _name: str, _args: tuple[Any, ...]) -> None:
        if count == number:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    watch = Watch(at)
    try:
        segment(archive, [SCHEME])
    except Refusal as refusal:
        return refusal.code, watch.count
    return "lived", watch.count


def test_a_full_disk_leaves_an_index_as_it_was_or_whole(indexed: Path, tmp_path: Path) -> None:
    data = DATA + stories(6, 12)
    before = ids_of(indexed)
    grown(indexed, data, index=False)
    after = [id_of(*each) for each in segments_of(data)]
    shutil.copytree(indexed, tmp_path / "sound.ctxa")
    _, (_, calls) = in_child(fail_in_segment, -1, tmp_path / "sound.ctxa")
    outcomes = set()
    for number in range(calls):
        archive = tmp_path / f"{number}.ctxa"
        shutil.copytree(indexed, archive)
        status, (outcome, _) = in_child(fail_in_segment, number, archive)
        assert status == 0
        outcomes.add(outcome)
        assert ids_of(archive) in (before, after)
        assert {code for code, _ in found(archive)} <= {"LEFTOVER"}
        assert record_of(archive) == record_of(indexed)
        segment(archive)
        assert ids_of(archive) == after
        sound(archive)
    assert calls > 8
    assert "NO_SPACE" in outcomes <= {"NO_SPACE", "lived"}


def test_writers_at_the_same_time_wait_for_each_other(indexed: Path) -> None:
    path = indexed.parent / "sources" / "s.jsonl"
    path.write_bytes(DATA + stories(6, 9))
    calls: list[list[str | Path]] = [["segment", indexed, "--scheme", scheme] for scheme in (*SCHEMES, SCHEME)]
    calls += [["segment", indexed, "--rebuild"], ["capture", indexed, path]]
    started = [subprocess.Popen(command(*call), env=environment(), stdout=subprocess.DEVNULL) for call in calls]
    assert [process.wait() for process in started] == [0] * len(calls)
    for result in segment(indexed):
        check_result(result, indexed, turns_of(DATA + stories(6, 9)))
    assert built(indexed) == sorted(SCHEMES)
    sound(indexed)


def segments_of(data: bytes) -> list[tuple[bytes, int, int]]:
    """Each segment of each turn, as the scheme cuts it."""
    return [
        (turn, start, end)
        for turn in turns_of(data)
        for start, end in zip([0, *SCHEMES[SCHEME].cut(turn)], SCHEMES[SCHEME].cut(turn), strict=False)
    ]


def id_of(turn: bytes, start: int, end: int) -> str:
    return f"ctxa:{sha(turn)[:32]}:{start}-{end}"


def test_a_superseded_part_may_be_damaged(indexed: Path) -> None:
    leave(indexed)
    flipped(indexed / "segments" / SCHEME / part_name(0, 4))
    assert {code for code, _ in found(indexed)} == {"LEFTOVER"}
    segment(indexed)
    sound(indexed)


def test_a_capture_removes_what_a_dead_writer_left(indexed: Path) -> None:
    leave(indexed)
    grown(indexed, DATA + story(6))
    sound(indexed)


def test_files_of_the_user_beside_parts_are_left_and_said_to_be_unknown(indexed: Path) -> None:
    other = indexed / "segments" / SCHEME / "notes.txt"
    other.write_bytes(b"mine")
    result = verify(indexed)
    assert result.ok
    assert any(f"segments/{SCHEME}/notes.txt" in words for words in result.not_checked)
    segment(indexed, rebuild=True)
    assert other.read_bytes() == b"mine"


def test_a_read_only_archive_can_be_read_and_not_segmented(indexed: Path) -> None:
    before = modes_count()
    for path in (indexed, *indexed.rglob("*")):
        path.chmod(path.stat().st_mode & 0o555)
    held_before = tree(indexed)
    try:
        done = run("segment", indexed, "--scheme", "whole-turn-v1", "--json", before=before)
        assert (done.returncode, one(done)["refusal"]["code"]) == (6, "PERMISSION_DENIED")
        for words in (["export"], ["log", "--scheme", SCHEME], ["info"], ["verify"]):
            assert run(*words, indexed, before=before).returncode == 0
        assert tree(indexed) == held_before
    finally:
        for path in (indexed, *indexed.rglob("*")):
            path.chmod(path.stat().st_mode | 0o700)


def test_reading_writes_nothing(indexed: Path) -> None:
    before = tree(indexed)
    exported(indexed, distinct=True, sample=3)
    list(log_segments(indexed, scheme=SCHEME))
    schemes(indexed)
    info(indexed)
    verify(indexed)
    assert tree(indexed) == before


# -------------------------------------------------------------------------------------------------------- a user's own


def lines_of(rows: list[tuple[int, int, int]], **more: object) -> list[bytes]:
    return [
        json.dumps({"turn": turn, "start": start, "end": end, **more}).encode() + b"\n" for turn, start, end in rows
    ]


LENGTH = len(story(0))
HALVES = [(0, 0, 100), (0, 100, LENGTH)]


def mine(archive: Path, rows: list[tuple[int, int, int]], **options: Any) -> SegmentResult:  # noqa: ANN401 - options differ
    return own_cuts(archive, "mine-v1", lines_of(rows), label="mine.ndjson", **options)


def test_own_cuts_are_taken_in_any_order(archive: Path) -> None:
    record = record_of(archive)
    last = len(story(5))
    rows = [(5, 40, last), (0, 100, LENGTH), (5, 0, 40), (0, 0, 100)]
    result = mine(archive, rows)
    check_result(result, archive, turns_of(DATA))
    assert (result.segments, result.new_segments, result.turns_not_fully_covered) == (4, 4, 4)
    assert result.coverage == (LENGTH + last) / len(DATA)
    assert result.cuts_inside_characters == 0
    assert cuts_of(archive, "mine-v1")[sha(story(0))] == [100, LENGTH]
    assert said_by(part_of(archive, "mine-v1")).about["own"] is True
    assert record_of(archive) == record
    assert [(row.turn, row.start_byte, row.end_byte) for row in exported(archive)[1:]] == sorted(rows)
    sound(archive)


def test_own_cuts_may_say_start_byte_and_end_byte_and_blank_lines(archive: Path) -> None:
    lines = [b'{"turn": 0, "start_byte": 0, "end_byte": %d}' % LENGTH, b"\n", b"  \r\n"]
    assert own_cuts(archive, "mine-v1", lines, label="f").segments == 1


def test_own_cuts_name_the_transcript_where_there_are_several(archive: Path) -> None:
    stored(archive, stories(20, 22), "t")
    row = [(1, 0, len(story(21)))]
    assert refused(lambda: mine(archive, row)).code == "AMBIGUOUS"
    own_cuts(archive, "mine-v1", lines_of(row, transcript="t"), label="f")
    assert cuts_of(archive, "mine-v1")[sha(story(21))] == [len(story(21))]
    refusal = refused(lambda: own_cuts(archive, "mine-v1", lines_of(row, transcript="x"), label="f"))
    assert (refusal.code, refusal.status) == ("NO_SUCH_TRANSCRIPT", 5)


@pytest.mark.parametrize(
    ("rows", "values"),
    [
        ([(0, 0, 100), (0, 120, LENGTH)], ["100", "120", "turn 0"]),
        ([(0, 5, LENGTH)], ["0-5"]),
        ([(0, 0, LENGTH - 1)], [f"{LENGTH - 1}-{LENGTH}"]),
        ([(0, 0, 100), (0, 90, LENGTH)], [f"90-{LENGTH}"]),
        ([(0, 0, LENGTH), (0, 0, 100)], ["0-"]),
        ([(0, 0, LENGTH + 1)], [str(LENGTH + 1), str(LENGTH)]),
        ([(0, 0, 100), (0, 100, 1 << 70)], [str(1 << 70)]),
        ([(0, 0, 0), (0, 0, LENGTH)], ["0-0"]),
        ([(0, 0, 100), (0, 100, 100), (0, 100, LENGTH)], ["100-100"]),
        ([*HALVES, (0, LENGTH, LENGTH)], [f"{LENGTH}-{LENGTH}"]),
        ([(0, 0, 100), (0, 100, 50), (0, 50, LENGTH)], ["50"]),
        ([(1, 0, len(story(1))), (0, 0, 5)], ["turn 0", f"5-{LENGTH}"]),
    ],
)
def test_own_cuts_that_do_not_cover_a_turn_once_are_refused_with_values(
    rows: list[tuple[int, int, int]], values: list[str], archive: Path
) -> None:
    refusal = refused(lambda: mine(archive, rows))
    assert (refusal.code, refusal.status) == ("NOT_A_PARTITION", 3)
    assert "mine.ndjson" in refusal.message
    for value in values:
        assert value in refusal.message
    assert built(archive) == []


@pytest.mark.parametrize(
    "line",
    [
        b"no JSON",
        b"[0, 0, 5]",
        b"7",
        b"null",
        b"\xff\xfe{}",
        b'{"start": 0, "end": 5}',
        b'{"turn": 0, "end": 5}',
        b'{"turn": 0, "start": 0}',
        b'{"turn": 0, "start": 0, "end": 5.0}',
        b'{"turn": 0, "start": 0, "end": NaN}',
        b'{"turn": 0.0, "start": 0, "end": 5}',
        b'{"turn": 0, "start": false, "end": 5}',
        b'{"turn": true, "start": 0, "end": 5}',
        b'{"turn": 0, "start": -1, "end": 5}',
        b'{"turn": -1, "start": 0, "end": 5}',
        b'{"turn": "0", "start": 0, "end": 5}',
        b'{"turn": null, "start": 0, "end": 5}',
        b'{"turn": 0, "start": 0, "end": 5, "transcript": 7}',
        b'{"turn": 0, "start": 0, "end": ' + b"9" * 5000 + b"}",
        b"[" * 100_000,
    ],
)
def test_a_line_that_is_no_segment_is_refused_with_its_number(line: bytes, archive: Path) -> None:
    lines = [*lines_of(HALVES), line]
    refusal = refused(lambda: own_cuts(archive, "mine-v1", lines, label="mine.ndjson"))
    assert (refusal.code, refusal.status, refusal.facts["line"]) == ("NOT_A_PARTITION", 3, 3)
    assert "mine.ndjson, line 3" in refusal.message
    assert built(archive) == []


@pytest.mark.parametrize("name", [*SCHEMES, "", "a/b", "..", ".a", "a.", "Ä", "A", "a b", "a" * 65, "a\n"])
def test_a_name_that_no_index_can_have_is_refused(name: str, archive: Path) -> None:
    refusal = refused(lambda: own_cuts(archive, name, lines_of(HALVES), label="f"))
    assert (refusal.code, refusal.status) == ("BAD_NAME", 3)
    assert not (archive / "segments").exists()


@pytest.mark.parametrize("turn", [6, 1 << 40, 10**30])
def test_own_cuts_of_a_turn_that_is_not_held_are_refused(turn: int, archive: Path) -> None:
    refusal = refused(lambda: mine(archive, [*HALVES, (turn, 0, 5)]))
    assert (refusal.code, refusal.status) == ("NO_SUCH_TURN", 5)
    assert built(archive) == []


def test_own_cuts_of_an_omitted_turn_are_refused(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    stored(archive, DATA, max_bytes=len(story(5)), allow_truncation=True)
    assert refused(lambda: mine(archive, HALVES)).code == "NO_SUCH_TURN"
    assert mine(archive, [(5, 0, len(story(5)))]).coverage == 1.0


def test_the_same_own_cuts_again_add_nothing_and_others_are_refused(archive: Path) -> None:
    mine(archive, HALVES)
    before = tree(archive)
    assert mine(archive, HALVES).new_segments == 0
    assert tree(archive) == before
    refusal = refused(lambda: mine(archive, [(0, 0, 90), (0, 90, LENGTH)]))
    assert (refusal.code, refusal.status) == ("WOULD_OVERWRITE", 3)
    assert refusal.facts["turn_sha256"] == sha(story(0))
    assert "--rebuild" in refusal.hint
    assert tree(archive) == before
    added = mine(archive, [(2, 0, len(story(2)))])
    assert (added.new_segments, added.segments, added.turns_not_fully_covered) == (1, 3, 4)
    replaced = mine(archive, [(0, 0, 90), (0, 90, LENGTH)], rebuild=True)
    assert (replaced.segments, replaced.turns_not_fully_covered) == (2, 5)
    assert cuts_of(archive, "mine-v1")[sha(story(0))] == [90, LENGTH]
    sound(archive)


def test_a_turn_may_be_named_at_each_of_its_places(archive: Path) -> None:
    stored(archive, story(20) + story(0), "t")
    lines = lines_of(HALVES, transcript="s") + lines_of([(1, *row[1:]) for row in HALVES], transcript="t")
    assert own_cuts(archive, "mine-v1", lines, label="f").segments == 2


def test_cuts_inside_characters_and_escapes_are_counted(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    turn = '{"text":"é\\nx"}\n'.encode()
    stored(archive, turn)
    at = turn.index("é".encode())
    cuts = [at, at + 1, at + 2, at + 3, at + 4, len(turn)]
    rows = [(0, start, end) for start, end in zip([0, *cuts], cuts, strict=False)]
    assert mine(archive, rows).cuts_inside_characters == 2
    assert held(archive, f"0:{at}-{at + 1}") == "é".encode()[:1]
    assert "\ufffd" in exported(archive)[2].text


def test_a_capture_does_not_extend_own_cuts(archive: Path) -> None:
    mine(archive, HALVES)
    before = tree(archive / "segments")
    result = grown(archive, DATA + story(6))
    assert result.indexes == ()
    assert tree(archive / "segments") == before
    sound(archive)
    # The turn that is new may be cut later.
    assert mine(archive, [(6, 0, len(story(6)))]).segments == 3
    sound(archive)


def test_segment_leaves_own_cuts_and_does_not_know_their_name(archive: Path) -> None:
    mine(archive, HALVES)
    assert [result.scheme for result in segment(archive)] == [SCHEME]
    assert refused(lambda: segment(archive, ["mine-v1"])).code == "NO_SUCH_SCHEME"
    assert refused(lambda: segment(archive, ["mine-v1"], rebuild=True)).code == "NO_SUCH_SCHEME"
    assert len(exported(archive, scheme="mine-v1")) == 3


def test_damaged_own_cuts_are_refused_and_mended_by_bringing_them_again(archive: Path) -> None:
    mine(archive, HALVES)
    flipped(part_of(archive, "mine-v1"))
    assert found(archive) == [("CHECKSUM_MISMATCH", f"segments/mine-v1/{part_name(0, 6)}")]
    assert refused(lambda: mine(archive, HALVES)).code == "CHECKSUM_MISMATCH"
    mine(archive, HALVES, rebuild=True)
    sound(archive)


def test_own_cuts_of_what_is_no_archive_are_refused_before_anything_is_made(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    assert refused(lambda: mine(tmp_path / "folder", HALVES)).code == "NOT_AN_ARCHIVE"
    assert tree(tmp_path / "folder") == {}
    assert refused(lambda: mine(tmp_path / "absent", HALVES)).code == "NO_SUCH_ARCHIVE"


def test_own_cuts_of_a_later_state_are_not_dropped(archive: Path) -> None:
    older = archive.parent / "older"
    shutil.copytree(archive, older, ignore=shutil.ignore_patterns("*.lock"))
    grown(archive, DATA + stories(6, 8))
    mine(archive, [(6, 0, len(story(6))), (7, 0, len(story(7)))])
    before = tree(archive / "segments")
    shutil.copytree(archive / "segments", older / "segments")
    refusal = refused(lambda: mine(older, HALVES))
    assert refusal.code == "INDEX_MISMATCH"
    assert tree(older / "segments") == before


# ----------------------------------------------------------------------------------------- the words beside an index


def words_of(archive: Path) -> dict[str, list[str]]:
    """The parts of the word index of each scheme."""
    return {
        folder.name: sorted(path.name for path in folder.iterdir()) for folder in sorted((archive / "words").glob("*"))
    }


def missing_words(archive: Path, scheme: str = SCHEME) -> list[int]:
    with Record(archive) as record:
        return list(Words(archive, scheme).missing(record.head.objects))


def test_an_index_comes_with_its_words_unless_it_is_said(archive: Path) -> None:
    record = record_of(archive)
    (result,) = segment(archive, [SCHEME])
    assert words_of(archive) == {SCHEME: ["000000000000-000000000005.fts"]}
    assert result.words_bytes == (archive / "words" / SCHEME / "000000000000-000000000005.fts").stat().st_size
    (other,) = segment(archive, ["sized-900-v1"], words=False)
    assert (other.words_bytes, list(words_of(archive))) == (0, [SCHEME])
    assert record_of(archive) == record
    sound(archive)


def test_words_that_are_missing_are_looked_up_and_nothing_is_cut_again(archive: Path) -> None:
    segment(archive, [SCHEME], words=False)
    before = tree(archive / "segments")
    (result,) = segment(archive)
    assert (result.new_segments, result.words_bytes > 0) == (0, True)
    assert tree(archive / "segments") == before
    words = tree(archive / "words")
    shutil.rmtree(archive / "words")
    segment(archive)
    assert tree(archive / "words") == words
    shutil.rmtree(archive / "segments")
    segment(archive, [SCHEME])
    assert (tree(archive / "segments"), tree(archive / "words")) == (before, words)


def test_equal_texts_have_equal_names_as_an_export_of_distinct_texts_has_them(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    twice = said("the same words", second=1), said("the same words", second=2)
    stored(archive, b"".join([*twice, said("other words"), stories(0, 3)]))
    segment(archive, ["whole-turn-v1", SCHEME])
    for scheme in ("whole-turn-v1", SCHEME):
        header, *rows = exported(archive, scheme=scheme)
        words = Words(archive, scheme)
        with Record(archive) as record:
            names = [name for number in range(record.head.objects) for name in words.texts(number)]
        assert names == [text_name(row.text) for row in rows]
        assert len(set(names)) == len(exported(archive, scheme=scheme, distinct=True)) - 1
        assert len(names) == header.segments_in_index


def test_a_capture_extends_words_only_where_they_are(indexed: Path) -> None:
    segment(indexed, ["sized-900-v1"], words=False)
    result = grown(indexed, DATA + stories(6, 9))
    assert [(each.scheme, each.refusal) for each in result.indexes] == [(SCHEME, None), ("sized-900-v1", None)]
    assert list(words_of(indexed)) == [SCHEME]
    assert missing_words(indexed) == []
    assert Index(indexed, "sized-900-v1").holds(8)
    assert grown(indexed, DATA + stories(6, 10), index=False).indexes == ()
    assert missing_words(indexed) == [9]
    (result,) = segment(indexed, [SCHEME], words=False)
    assert (result.coverage, missing_words(indexed)) == (1.0, [9])
    # The next capture adds what is missing of words, though it is a turn that is cut.
    grown(indexed, DATA + stories(6, 11))
    assert missing_words(indexed) == []
    sound(indexed)


def test_words_that_are_damaged_are_named_and_left_by_whoever_does_not_need_them(indexed: Path) -> None:
    (name,) = words_of(indexed)[SCHEME]
    path = indexed / "words" / SCHEME / name
    whole = path.read_bytes()
    flipped(path)
    refusal = refused(lambda: segment(indexed))
    assert (refusal.code, refusal.status) == ("CHECKSUM_MISMATCH", 4)
    assert f"words/{SCHEME}/{name}" in refusal.message
    assert "--rebuild" in refusal.hint
    result = grown(indexed, DATA + story(6)).indexes[0]
    assert result.refusal is not None
    assert result.refusal["code"] == "CHECKSUM_MISMATCH"
    (made,) = segment(indexed, words=False)
    assert (made.coverage, made.words_bytes) == (1.0, len(whole))
    segment(indexed, rebuild=True, words=False)
    assert path.read_bytes() != whole
    segment(indexed, rebuild=True)
    assert words_of(indexed) == {SCHEME: ["000000000000-000000000006.fts"]}
    sound(indexed)


def test_own_cuts_have_words_which_follow_them(archive: Path) -> None:
    assert mine(archive, HALVES).words_bytes > 0
    first = tree(archive / "words")
    assert list(words_of(archive)) == ["mine-v1"]
    assert list(Words(archive, "mine-v1").ends(0, bytes.fromhex(sha(story(0))), LENGTH)) == [100, LENGTH]
    mine(archive, [(2, 0, len(story(2)))])
    assert len(Words(archive, "mine-v1").texts(2)) == 1
    sound(archive)
    mine(archive, HALVES, rebuild=True)
    assert len(Words(archive, "mine-v1").texts(2)) == 0
    assert tree(archive / "words") == first
    mine(archive, HALVES, words=False)
    assert words_of(archive) == {"mine-v1": []}
    sound(archive)


def test_the_command_says_what_the_words_weigh_and_can_leave_them(archive: Path) -> None:
    got = one(run("segment", archive, "--no-words", "--json"))
    assert got["words_bytes"] == 0
    assert run("segment", archive, "--no-words").stdout.splitlines()[1].split()[-1] == b"-"
    got = one(run("segment", archive, "--words", "--json"))
    assert got["words_bytes"] == sum(path.stat().st_size for path in (archive / "words" / SCHEME).iterdir())
    assert b"words" in run("segment", archive).stdout.splitlines()[0]


# ------------------------------------------------------------------------------------------------ what readers are told


def test_info_lists_the_indexes(indexed: Path) -> None:
    segment(indexed, ["whole-turn-v1"])
    listed = {each.scheme: each for each in info(indexed).indexes}
    assert list(listed) == [SCHEME, "whole-turn-v1"]
    (result,) = segment(indexed, [SCHEME])
    each = listed[SCHEME]
    assert (each.segments, each.coverage, each.median_segment_bytes) == (
        result.segments,
        result.coverage,
        result.median_segment_bytes,
    )
    assert (each.files, each.bytes, each.refusal) == (1, part_of(indexed).stat().st_size, None)
    assert listed["whole-turn-v1"].segments == 6
    held_ = info(indexed)
    assert held_.auxiliary["segments"]["files"] == 2
    assert held_.auxiliary["segments"]["bytes"] == sum(each.bytes for each in held_.indexes)
    assert f"index    {SCHEME}: {result.segments} segments".encode() in run("info", indexed).stdout


def test_log_lists_the_segments_of_every_turn(indexed: Path) -> None:
    stored(indexed, story(2) + story(30), "t")
    rows = list(log_segments(indexed, scheme=SCHEME))
    cuts = cuts_of(indexed)
    places = [
        (name, number, start, end)
        for name, data in (("s", DATA), ("t", story(2) + story(30)))
        for number, turn in enumerate(turns_of(data))
        for start, end in zip([0, *cuts[sha(turn)]], cuts[sha(turn)], strict=False)
    ]
    assert [(row.transcript, row.turn, row.start_byte, row.end_byte) for row in rows] == places
    digests = {(row.transcript, row.turn): row.turn_sha256 for row in log(indexed)}
    for row in rows:
        assert row.bytes == row.end_byte - row.start_byte
        assert row.turn_sha256 == digests[row.transcript, row.turn]
        assert row.id == f"ctxa:{row.turn_sha256[:32]}:{row.start_byte}-{row.end_byte}"
        assert (row.scheme, row.complete) == (SCHEME, True)
        assert 0 < len(row.text) <= 200
    assert list(log_segments(indexed, "t", scheme=SCHEME)) == [row for row in rows if row.transcript == "t"]
    assert list(log_segments(indexed, scheme=SCHEME, last=3)) == rows[-3:]
    assert list(log_segments(indexed, scheme=SCHEME, at=1)) == [row for row in rows if row.transcript == "s"]
    assert refused(lambda: log_segments(indexed, scheme="sized-900-v1")).code == "NO_SUCH_SCHEME"
    assert refused(lambda: log_segments(indexed, scheme="nope")).code == "NO_SUCH_SCHEME"


def test_log_lists_no_segments_of_a_turn_that_is_not_covered(archive: Path) -> None:
    mine(archive, HALVES)
    assert [(row.turn, row.start_byte) for row in log_segments(archive, scheme="mine-v1")] == [(0, 0), (0, 100)]


def test_cat_gives_the_bytes_of_a_segment_by_its_id(indexed: Path) -> None:
    turns = turns_of(DATA)
    rows = exported(indexed)[1:]
    for row in rows:
        assert held(indexed, row.id) == turns[row.turn][row.start_byte : row.end_byte]
    assert held(indexed, *(row.id for row in rows)) == DATA
    done = run("cat", indexed, rows[1].id)
    assert done.stdout == turns[rows[1].turn][rows[1].start_byte : rows[1].end_byte]


# ------------------------------------------------------------------------------------------------------- fingerprints


def test_the_fingerprint_changes_with_every_byte_of_the_record(small: Path, tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    shutil.copytree(small, archive)
    first = record_fingerprint(archive)
    assert first == record_fingerprint(small)
    seen = {first}
    count = 1
    for path in sorted(archive.rglob("*")):
        if not path.is_file() or path.name.endswith(".lock") or {"segments", "words"} & {*path.parts}:
            continue
        whole = path.read_bytes()
        for at in range(len(whole)):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
            seen.add(record_fingerprint(archive))
            count += 1
        for data in (whole[:-1], whole + b"\0"):
            path.write_bytes(data)
            seen.add(record_fingerprint(archive))
            count += 1
        path.write_bytes(whole)
    assert len(seen) == count
    assert record_fingerprint(archive) == first


def test_the_fingerprint_changes_with_names_and_not_with_side_files(small: Path, tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    shutil.copytree(small, archive)
    first = record_fingerprint(archive)
    shutil.rmtree(archive / "segments")
    for lock in archive.glob("*.lock"):
        lock.unlink()
    assert record_fingerprint(archive) == first
    (pack,) = (archive / "pack").iterdir()
    renamed = pack.rename(pack.with_name("other.zst"))
    assert record_fingerprint(archive) != first
    renamed.rename(pack)
    assert record_fingerprint(archive) == first
    (archive / "pack" / "more").write_bytes(b"")
    assert record_fingerprint(archive) != first


@pytest.mark.parametrize("when", ["before it is read", "behind the cutting"])
@pytest.mark.parametrize("instead", ["nothing", "another archive", "a copy"])
def test_an_archive_that_is_moved_while_it_is_cut_gets_no_index_and_neither_does_what_is_in_its_place(
    instead: str, when: str, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved, other = archive.with_name("moved.ctxa"), archive.with_name("other.ctxa")
    stored(other, stories(30, 37))
    if instead == "a copy":
        shutil.rmtree(other)
        shutil.copytree(archive, other)
    before = tree(archive)
    cut = cut_all

    def moving(*args: Any) -> dict[str, Made]:  # noqa: ANN401 - as they are
        made = cut(*args) if when == "behind the cutting" else None
        archive.rename(moved)
        if instead != "nothing":
            other.rename(archive)
        return made if made is not None else cut(*args)

    monkeypatch.setattr(segment_module, "cut_all", moving)
    refusal = refused(lambda: segment(archive, [SCHEME]))
    assert (refusal.code, refusal.status) == ("ARCHIVE_MOVED", 6)
    assert not (moved / "segments").exists()
    assert {name: data for name, data in tree(moved).items() if not name.endswith(".lock")} == {
        name: data for name, data in before.items() if not name.endswith(".lock")
    }
    if instead != "nothing":
        assert not (archive / "segments").exists()
        sound(archive)
