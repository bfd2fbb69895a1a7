"""Verifying: every kind of damage is found and all of it, and whatever was captured in whatever order is sound."""

from __future__ import annotations

import re
import shutil
import tempfile
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from archives import (
    Parts,
    add,
    cut,
    digest_of,
    files_of,
    findings,
    flip,
    line,
    lines,
    pack_file,
    pack_sizes,
    read,
    store,
    store_all,
    turns_of,
    write_head,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from xxhash import xxh3_64_intdigest

from ctxarc.errors import DigestUnexpected, NotLossless, UnsupportedVersion, every_refusal
from ctxarc.model import ByteRange
from ctxarc.operations.repack import repack
from ctxarc.operations.verify import verify
from ctxarc.preservation import packing, writer
from ctxarc.preservation.entry import Origin, Run
from ctxarc.preservation.layout import HEAD, TranscriptRow
from ctxarc.preservation.record import read_head
from ctxarc.preservation.writer import RecordWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ctxarc.model import VerifyResult

LIMIT = 1500
A, B = lines(0, 60), lines(40, 110)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Two transcripts that grew in steps, one of them in part, in many packs."""
    archive = tmp_path_factory.mktemp("made") / "made.ctxa"
    with small_packs():
        store(archive, A[:2000], "a")
        store(archive, B, "b", max_bytes=2400, allow_truncation=True)
        store(archive, A, "a")
        assert len(pack_sizes(archive)) > 3
        yield archive


@pytest.fixture
def archive(made: Path, tmp_path: Path) -> Path:
    copy: Path = shutil.copytree(made, tmp_path / "a.ctxa")
    return copy


@contextmanager
def small_packs() -> Iterator[None]:
    """Packs of ``LIMIT`` bytes, in a ``with`` statement."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (packing, writer):
            patch.setattr(module, "FRAME_LIMIT", LIMIT)
        yield


def test_what_was_captured_is_sound_and_all_of_it_is_told(archive: Path) -> None:
    result = verify(archive)
    assert (result.ok, result.findings, result.checked) == (True, (), "full")
    assert (result.archive_digest, result.captures) == (digest_of(archive), 3)
    held = B[read_gap(result).end_byte :]
    assert (result.turns, result.bytes) == (60 + held.count(b"\n"), len(A) + len(held))
    assert [(each.transcript, each.complete, each.source_sha256) for each in result.transcripts] == [
        ("a", True, sha256(A).hexdigest()),
        ("b", False, sha256(B).hexdigest()),
    ]
    assert not result.complete
    preservation: dict[str, Any] = result.planes["preservation"]
    files = files_of(archive)
    assert preservation == {"files": len(files) + 1, "bytes": sum(map(len, files.values()))}
    assert result.planes["auxiliary"] == {"files": 0, "bytes": 0}


def read_gap(result: VerifyResult) -> ByteRange:
    (gap,) = result.transcripts[1].omitted
    assert gap.start_byte == 0
    return gap


def test_what_a_partial_capture_cannot_prove_is_said(archive: Path) -> None:
    (words,) = verify(archive).not_checked
    assert sha256(B).hexdigest() in words
    assert f"bytes 0 to {read_gap(verify(archive)).end_byte} of b" in words


# ------------------------------------------------------------------------------------------------ a code a damage


def reseal_head(archive: Path, **fields: Any) -> None:  # noqa: ANN401 - as they are
    write_head(archive, read_head(archive)._replace(**fields))


def other_version(archive: Path) -> None:
    data = bytearray((archive / "HEAD").read_bytes())
    data[8] = 2
    data[HEAD.size - 8 : HEAD.size] = xxh3_64_intdigest(bytes(data[: HEAD.size - 8])).to_bytes(8, "little")
    (archive / "HEAD").write_bytes(data)


def change_turn(archive: Path, index: int = 1) -> None:
    """A byte of a turn, under the right checksum of its pack."""
    parts = Parts(archive)
    turns = parts.packs[index]
    parts.packs[index] = turns[:-5] + b"?" + turns[-4:]
    parts.seal()


DAMAGE: list[tuple[Callable[[Path], object], str, str]] = [
    (lambda a: (a / "CTXA").write_bytes(b"PK\3\4"), "BAD_MAGIC", "CTXA"),
    (lambda a: (a / "CTXA").unlink(), "BAD_MAGIC", "CTXA"),
    (lambda a: flip(a / "HEAD", 0), "BAD_MAGIC", "HEAD"),
    (lambda a: flip(a / "objects", 3), "BAD_MAGIC", "objects"),
    (lambda a: flip(a / "log", 7), "BAD_MAGIC", "log"),
    (lambda a: cut(a / "HEAD", 40), "TRUNCATED", "HEAD"),
    (lambda a: cut(a / "objects", -1), "TRUNCATED", "objects"),
    (lambda a: cut(a / "log", 20), "TRUNCATED", "log"),
    (lambda a: cut(pack_file(a, 2), -1), "TRUNCATED", "pack 2"),
    (lambda a: pack_file(a, 2).unlink(), "TRUNCATED", "pack 2"),
    (lambda a: pack_file(a, 0).write_bytes(pack_file(a, 0).read_bytes() + b"x"), "TRUNCATED", "pack 0"),
    (lambda a: flip(a / "HEAD", -1), "CHECKSUM_MISMATCH", "HEAD"),
    (lambda a: flip(a / "objects", -1), "CHECKSUM_MISMATCH", "objects"),
    (lambda a: flip(a / "log", -1), "CHECKSUM_MISMATCH", "log"),
    (lambda a: flip(pack_file(a, 1), 40), "CHECKSUM_MISMATCH", "pack 1"),
    (other_version, "UNSUPPORTED_VERSION", "HEAD"),
    (lambda a: reseal_head(a, leaves=1 << 60), "LIMIT_EXCEEDED", "HEAD"),
    (lambda a: reseal_head(a, transcripts=read_head(a).transcripts[::-1]), "INDEX_MISMATCH", "HEAD"),
    (lambda a: reseal_head(a, root=bytes(32)), "DIGEST_MISMATCH", "HEAD"),
    (change_turn, "DIGEST_MISMATCH", "pack 1"),
    (lambda a: (a / "pack" / "notes.txt").write_bytes(b"x"), "LEFTOVER", "pack/notes.txt"),
    (lambda a: (a / "HEAD.tmp").write_bytes(b"x"), "LEFTOVER", "HEAD.tmp"),
    (lambda a: (a / "objects").write_bytes((a / "objects").read_bytes() + b"x"), "LEFTOVER", "objects"),
    (lambda a: (a / "log").write_bytes((a / "log").read_bytes() + b"x"), "LEFTOVER", "log"),
]


@pytest.mark.parametrize("index", range(len(DAMAGE)), ids=[f"{code}-{path}" for _, code, path in DAMAGE])
def test_every_kind_of_damage_is_found_by_its_code_and_the_file_that_it_is_in(archive: Path, index: int) -> None:
    damage, code, path = DAMAGE[index]
    before = files_of(archive)
    damage(archive)
    if path.startswith("pack "):
        path = f"pack/{pack_file(archive, int(path[-1])).name}"
    assert files_of(archive) != before
    result = verify(archive)
    assert not result.ok
    assert (code, path) in {(finding.code, finding.path) for finding in result.findings}
    assert all(finding.message for finding in result.findings)


def test_the_damages_here_have_every_code_that_a_record_can_have() -> None:
    damages = {kind.code for kind in every_refusal() if kind.family == "damage"}
    assert {code for _, code, _ in DAMAGE} == damages | {"LEFTOVER"}


def test_an_archive_of_another_release_is_refused_and_not_called_damaged(archive: Path) -> None:
    (archive / "CTXA").write_bytes(b"ctxarc archive, format 2\n")
    for look in (verify, read):
        with pytest.raises(UnsupportedVersion):
            look(archive)


# -------------------------------------------------------------------------------------------- all, and not the first


def test_all_damage_is_told_and_not_the_first_only(archive: Path) -> None:
    names = [f"pack/{pack_file(archive, index).name}" for index in range(4)]
    flip(pack_file(archive, 0), -1)
    pack_file(archive, 1).unlink()
    cut(pack_file(archive, 3), 9)
    (archive / "pack" / "stray.zst").write_bytes(b"")
    (archive / "stray").write_bytes(b"")
    (archive / "CTXA").unlink()
    assert set(findings(archive)) == {
        ("BAD_MAGIC", "CTXA"),
        ("CHECKSUM_MISMATCH", names[0]),
        ("TRUNCATED", names[1]),
        ("TRUNCATED", names[3]),
        ("LEFTOVER", "pack/stray.zst"),
        ("LEFTOVER", "stray"),
    }


def test_every_damaged_turn_of_a_pack_is_told(archive: Path) -> None:
    parts = Parts(archive)
    lost = turns_of(parts.packs[1])
    parts.packs[1] = b"".join([lost[0].upper(), *lost[1:-1], lost[-1].upper()])
    parts.seal()
    result = verify(archive)
    assert len([finding for finding in result.findings if finding.code == "DIGEST_MISMATCH"]) >= 2
    assert {sha256(turn).hexdigest() for turn in (lost[0], lost[-1])} <= {
        word for finding in result.findings for word in finding.message.split()
    }


def test_both_tables_are_read_where_both_are_damaged(archive: Path) -> None:
    flip(archive / "objects", 20)
    flip(archive / "log", 30)
    assert set(findings(archive)) == {("CHECKSUM_MISMATCH", "objects"), ("CHECKSUM_MISMATCH", "log")}
    assert any("packs" in words for words in verify(archive).not_checked)


def test_captures_that_damage_keeps_from_being_checked_are_said(archive: Path) -> None:
    pack_file(archive, 0).unlink()
    (words,) = (words for words in verify(archive).not_checked if "damaged" in words)
    assert {"1", "3"} <= set(re.findall("[0-9]+", words))


# ----------------------------------------------------------------------------------- tampering under right checksums


def name_others(parts: Parts) -> None:
    """The first entry names the same number of other turns."""
    turns = parts.entries[0].turns
    parts.change(0, runs=(Run(turns, turns),))


def swap_rows(parts: Parts) -> None:
    parts.rows[3], parts.rows[4] = parts.rows[4], parts.rows[3]


def swap_turns(parts: Parts) -> None:
    """Two turns of a pack with their rows: each has its digest, and transcripts have them the wrong way round."""
    swap_rows(parts)
    turns = turns_of(parts.packs[0])
    turns[3], turns[4] = turns[4], turns[3]
    parts.packs[0] = b"".join(turns)


def swap_entries(parts: Parts) -> None:
    parts.entries[1:] = parts.entries[:0:-1]


def wrong_gap(parts: Parts) -> None:
    gap, *rest = parts.entries[1].runs
    parts.change(1, runs=(gap._replace(turns=gap.turns + 1), *rest))


def longer_gap(parts: Parts) -> None:
    gap, *rest = parts.entries[1].runs
    longer = gap._replace(gap_bytes=gap.gap_bytes + 9)
    parts.change(1, runs=(longer, *rest), source_bytes=parts.entries[1].source_bytes + 9)


def keep_fewer(parts: Parts) -> None:
    last = parts.entries[2]
    parts.change(2, keep=last.keep - 1, runs=(Run(last.runs[0].first, 1), *last.runs))


TAMPERINGS: dict[str, tuple[Callable[[Parts], object], str]] = {
    "an entry names other turns": (name_others, "log"),
    "a source's digest": (lambda p: p.change(0, source_sha256=bytes(32), held_sha256=bytes(32)), "log"),
    "the held digest of a partial capture": (lambda p: p.change(1, held_sha256=bytes(32)), "log"),
    "swapped rows": (swap_rows, ""),
    "swapped turns": (swap_turns, "log"),
    "an entry keeps fewer turns and names others for them": (keep_fewer, "log"),
    "a source's length": (lambda p: p.change(0, source_bytes=p.entries[0].source_bytes + 1), "log"),
    "a partial capture that does not say so": (
        lambda p: p.change(1, partial=False, held_sha256=p.entries[1].source_sha256),
        "log",
    ),
    "a whole capture that says that it is partial": (lambda p: p.change(0, partial=True), "log"),
    "a turn of no bytes": (lambda p: p.rows.__setitem__(0, p.rows[0]._replace(length=0)), ""),
}


@pytest.mark.parametrize("rehashed", [False, True], ids=["digest as it was", "digest made right"])
@pytest.mark.parametrize("tampering", TAMPERINGS)
def test_tampering_is_found_under_right_checksums_even_where_the_digest_was_made_right(
    archive: Path, tampering: str, *, rehashed: bool
) -> None:
    parts = Parts(archive)
    change, path = TAMPERINGS[tampering]
    change(parts)
    parts.relink()
    if rehashed:
        parts.rehash()
    parts.seal()
    found = findings(archive)
    assert {code for code, _ in found} & {"DIGEST_MISMATCH", "INDEX_MISMATCH"}
    assert not path or path in {where for _, where in found}


@pytest.mark.parametrize(
    "change",
    [
        lambda p: p.change(1, source_sha256=bytes(32)),
        lambda p: p.change(0, name=b"c"),
        wrong_gap,
        longer_gap,
        swap_entries,
    ],
    ids=["the digest of omitted bytes", "a name", "turns of a gap", "bytes of a gap", "the order"],
)
def test_a_forged_log_that_says_nothing_impossible_is_found_by_the_digest(
    archive: Path, change: Callable[[Parts], object]
) -> None:
    digest = digest_of(archive)
    parts = Parts(archive)
    change(parts)
    parts.relink()
    parts.seal()
    assert ("DIGEST_MISMATCH", "HEAD") in findings(archive)
    parts.rehash()
    parts.seal()
    with pytest.raises(DigestUnexpected):
        verify(archive, expect=digest)
    with pytest.raises(DigestUnexpected):
        verify(archive, extends=digest)


def test_a_capture_cut_off_the_end_is_found_by_the_digest_that_was_kept_elsewhere(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    first = store(archive, A, "a").archive_digest
    last = store(archive, A, "b").archive_digest
    parts = Parts(archive)
    parts.entries.pop()
    parts.relink()
    parts.rehash()
    parts.seal()
    assert digest_of(archive) == first
    assert not findings(archive)
    with pytest.raises(DigestUnexpected):
        verify(archive, expect=last)
    with pytest.raises(DigestUnexpected):
        verify(archive, extends=last)


def test_turns_that_no_transcript_has_are_found(archive: Path) -> None:
    parts = Parts(archive)
    parts.entries.pop()
    parts.relink()
    parts.rehash()
    parts.seal()
    assert findings(archive)


@pytest.mark.parametrize("field", ["root", "peaks", "leaves"])
def test_a_changed_digest_or_peak_is_found(archive: Path, field: str) -> None:
    head = read_head(archive)
    leaves = head.leaves ^ 3 if (head.leaves ^ 3).bit_count() == head.leaves.bit_count() else head.leaves << 1
    changes: dict[str, Any] = {"root": bytes(32), "peaks": (bytes(32), *head.peaks[1:]), "leaves": leaves}
    reseal_head(archive, **{field: changes[field]})
    assert ("DIGEST_MISMATCH", "HEAD") in findings(archive)


@pytest.mark.parametrize("field", TranscriptRow._fields)
def test_a_changed_row_of_the_table_of_transcripts_is_found(archive: Path, field: str) -> None:
    rows = read_head(archive).transcripts
    changed = rows[0]._replace(**{field: max(1, getattr(rows[0], field) - 1)})
    if changed == rows[0]:
        changed = rows[0]._replace(**{field: 1})
    reseal_head(archive, transcripts=(changed, *rows[1:]))
    assert {path for _, path in findings(archive)} <= {"HEAD", "log"}
    assert findings(archive)


def test_another_number_of_captures_in_head_is_found(archive: Path) -> None:
    reseal_head(archive, captures=4)
    assert findings(archive) == [("INDEX_MISMATCH", "HEAD")]


def test_two_transcripts_of_one_name_are_found(tmp_path: Path) -> None:
    """One of them could never be read."""
    archive = tmp_path / "a.ctxa"
    store_all(archive, {"a": A, "b": B})
    parts = Parts(archive)
    parts.change(1, name=b"a")
    parts.relink()
    parts.rehash()
    parts.seal()
    assert {code for code, _ in findings(archive)} & {"DIGEST_MISMATCH", "INDEX_MISMATCH"}


def test_the_acquisition_record_is_in_no_digest(archive: Path) -> None:
    digest = digest_of(archive)
    parts = Parts(archive)
    for index in range(3):
        parts.change(index, captured_ns=7, mtime_ns=9, origin=Origin(b"/forged", b"host", b"tool"))
    parts.relink()
    parts.rehash()
    parts.seal()
    assert digest_of(archive) == digest
    assert not findings(archive)


def test_each_captures_own_digest_is_compared_and_the_wrong_one_is_named(archive: Path) -> None:
    for index in range(3):
        parts = Parts(shutil.copytree(archive, archive.with_name(f"{index}.ctxa")))
        changes = {"held_sha256": bytes(32)} | ({} if parts.entries[index].partial else {"source_sha256": bytes(32)})
        parts.change(index, **changes)
        parts.rehash()
        parts.seal()
        (finding,) = verify(parts.archive).findings
        assert (finding.code, finding.path) == ("DIGEST_MISMATCH", "log")
        assert finding.message.startswith(f"capture {index + 1} of ")


# ------------------------------------------------------------------------------------------------------ quick checks


def test_quick_says_what_it_did_not_read_and_compares_lengths(archive: Path) -> None:
    result = verify(archive, quick=True)
    assert (result.checked, result.ok) == ("quick", True)
    assert any(f"{len(pack_sizes(archive))} packs" in words for words in result.not_checked)
    flip(pack_file(archive, 1), 40)
    assert not findings(archive, quick=True)
    assert [code for code, _ in findings(archive)] == ["CHECKSUM_MISMATCH"]
    cut(pack_file(archive, 2), -1)
    pack_file(archive, 3).unlink()
    assert findings(archive, quick=True) == [
        ("TRUNCATED", f"pack/{pack_file(archive, index).name}") for index in (2, 3)
    ]


def test_quick_reads_the_log_and_the_tables(archive: Path) -> None:
    parts = Parts(archive)
    name_others(parts)
    parts.seal()
    assert findings(archive, quick=True)
    assert verify(archive).checked == "full"


# ------------------------------------------------------------------------------------------------------ other files


def test_unknown_files_are_findings_and_unknown_side_folders_are_not(archive: Path) -> None:
    (archive / "segments" / "some-v1").mkdir(parents=True)
    (archive / "segments" / "some-v1" / "0").write_bytes(b"side")
    (archive / "vectors").mkdir()
    (archive / ".git").mkdir()
    assert not findings(archive)
    assert any("segments/some-v1/0" in words for words in verify(archive).not_checked)
    (archive / "notes.txt").write_bytes(b"mine")
    (archive / "link").symlink_to(archive / "segments")
    (archive / "pack" / "folder").mkdir()
    assert set(findings(archive)) == {("LEFTOVER", path) for path in ("notes.txt", "link", "pack/folder")}


def test_verify_writes_nothing(archive: Path) -> None:
    (archive / "record.lock").unlink()
    for path in [archive, *archive.rglob("*")]:
        path.chmod(path.stat().st_mode & 0o555)
    before = {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in [archive, *archive.rglob("*")]}
    assert not findings(archive)
    read(archive, "a#")
    after = {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in [archive, *archive.rglob("*")]}
    for path in [archive, *archive.rglob("*")]:
        path.chmod(path.stat().st_mode | 0o200)
    assert after == before


# -------------------------------------------------------------------------------------------------- expected states


def test_every_earlier_state_is_extended_and_no_other(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    digests = [store(archive, lines(0, end)).archive_digest for end in (3, 5, 9)]
    digests.append(store(archive, lines(4, 6), "u").archive_digest)
    digests.append(store(archive, lines(0, 2) + lines(50, 60), as_new_history=True).archive_digest)
    repack(archive, level=3)
    for digest in digests:
        assert verify(archive, extends=digest).ok
    assert verify(archive, expect=digests[-1]).ok
    for wrong in (digests[0], "0" * 64):
        with pytest.raises(DigestUnexpected):
            verify(archive, expect=wrong)
    with pytest.raises(DigestUnexpected):
        verify(archive, extends="0" * 64)


def test_damage_is_told_before_an_unexpected_digest(archive: Path) -> None:
    flip(pack_file(archive), -1)
    assert not verify(archive, expect="0" * 64).ok


def test_a_source_that_differs_is_a_finding_with_the_place(archive: Path, tmp_path: Path) -> None:
    source = tmp_path / "a.jsonl"
    source.write_bytes(A)
    assert verify(archive, against=[source]).ok
    changed = A[:1000] + b"?" + A[1001:]
    for data, words in (
        (changed, "byte 1000"),
        (A + b"more", "bytes"),
        (A[:-7], f"byte {len(A) - 7}"),
    ):
        source.write_bytes(data)
        (finding,) = verify(archive, against=[source]).findings
        assert (finding.code, finding.path) == ("SOURCE_DIFFERS", str(source))
        assert words in finding.message


# --------------------------------------------------------------------------------------------------------- histories

Step = tuple[str, bytes, bool]
"""Name, source, and whether only its end is captured."""


def replay(steps: list[Step]) -> None:
    """Capture the steps one by one, and then compare every state, every digest and what ``verify`` says."""
    with tempfile.TemporaryDirectory() as top, small_packs():
        archive = Path(top) / "a.ctxa"
        held: list[tuple[str, bytes, str]] = []
        for name, source, partly in steps:
            options = {"max_bytes": max(len(source) // 2, 200), "allow_truncation": True} if partly else {}
            try:
                result = store(archive, source, name, as_new_history=True, **options)
            except NotLossless:
                continue
            (report,) = result.transcripts
            if not report.unchanged:
                left_out = sorted((gap.end_byte, gap.start_byte) for gap in report.omitted)
                kept = source
                for end, start in reversed(left_out):
                    kept = kept[:start] + kept[end:]
                held.append((name, kept, result.archive_digest))
                assert report.complete is (kept == source)
        if not held:
            return
        result_of = verify(archive)
        assert result_of.findings == ()
        newest = {name: data for name, data, _ in held}
        assert {each.transcript for each in result_of.transcripts} == set(newest)
        assert result_of.bytes == sum(map(len, newest.values()))
        for number, (name, data, digest) in enumerate(held, 1):
            assert read(archive, f"{name}#", at=number) == data
            assert verify(archive, quick=True, extends=digest).ok
        digest = digest_of(archive)
        repack(archive, level=1)
        assert verify(archive, expect=digest).findings == ()
        wrong_one(archive)


def wrong_one(archive: Path) -> None:
    """Of all captures the one whose digest is forged is found, and no other."""
    parts = Parts(archive)
    index = len(parts.entries) * 2 // 3
    entry = parts.entries[index]
    parts.change(index, held_sha256=bytes(32), **({} if entry.partial else {"source_sha256": bytes(32)}))
    parts.rehash()
    parts.seal()
    (finding,) = verify(archive).findings
    assert finding.message.startswith(f"capture {index + 1} of {verify_name(parts, index)}: ")


def verify_name(parts: Parts, index: int) -> str:
    """The name of the transcript of an entry."""
    number = parts.entries[index].transcript
    return next(entry.name for entry in parts.entries if entry.transcript == number and entry.name).decode()


def test_captures_that_branch_back_to_earlier_turns_several_times_verify() -> None:
    steps: list[Step] = []
    source = lines(0, 90)
    for back, salt in ((40, "b"), (60, "c"), (20, "d"), (20, "e"), (35, "f"), (0, "g"), (5, "h"), (5, "i")):
        steps.append(("a", source, False))
        source = b"".join(turns_of(source)[:back]) + lines(0, 45, salt=salt)
        steps.append(("a", source, False))
        source += lines(100, 130, salt=salt)
    steps += [("a", lines(0, 90), False), ("a", lines(0, 30), False), ("a", b"", False), ("a", lines(0, 90), False)]
    replay(steps)


def test_forks_and_transcripts_that_grow_in_turn_verify() -> None:
    steps: list[Step] = []
    for end in range(3, 80, 4):
        steps += [("a", lines(0, end), False), ("b", lines(0, 20) + lines(100, 100 + end), False)]
        steps += [("c", lines(end, end + 3) + lines(0, end), False)]
    replay(steps)


def test_partial_captures_that_grow_and_are_filled_in_verify() -> None:
    steps: list[Step] = [("a", lines(0, 60), True), ("a", lines(0, 62), True), ("a", lines(0, 62) + b"torn", True)]
    steps += [
        ("a", lines(0, 62) + b"torn" + lines(70, 160), True),
        ("a", lines(0, 62) + b"torn" + lines(70, 170), False),
    ]
    steps += [("b", lines(0, 60) + b"torn", True), ("b", lines(0, 60) + b"torn" + lines(0, 300), True)]
    steps += [("b", lines(0, 5) + lines(200, 260), True), ("b", lines(0, 5) + lines(200, 270), True)]
    replay(steps)


def test_two_gaps_side_by_side_verify(tmp_path: Path) -> None:
    """The one held turn between them was unfinished, and grew into a line that is left out."""
    archive = tmp_path / "a.ctxa"
    first = lines(0, 40) + b"torn"
    store(archive, first, max_bytes=10, allow_truncation=True)
    second = first + b" no more" * 50 + b"\n" + lines(50, 52)
    report = store(archive, second, max_bytes=150, allow_truncation=True).transcripts[0]
    assert [gap.start_byte for gap in report.omitted] == [0, len(lines(0, 40))]
    assert read(archive) == lines(50, 52)
    assert not findings(archive)
    store(archive, second)
    assert read(archive) == second
    assert not findings(archive)


@pytest.mark.parametrize("blank", [b"\n", b"\r\n\n", b"}\n\n\r\n{}\n"])
def test_lines_that_are_repeated_all_over_many_packs_verify_and_no_pack_is_read_for_each(
    tmp_path: Path, blank: bytes
) -> None:
    archive = tmp_path / "a.ctxa"
    data = b"".join(turn + blank * (1 + number % 2) for number, turn in enumerate(turns_of(lines(0, 400))))
    with small_packs():
        store_all(archive, {"a": data, "b": b"\n" * 50 + data[3000:] + b"\n\n"})
    packs = len(pack_sizes(archive))
    assert packs > 10
    told: list[int] = []
    result = verify(archive, progress=lambda _what, done, _total: told.append(done))
    assert result.findings == ()
    assert read(archive, "a#") == data
    assert len(told) <= 3 * packs


TURN = st.sampled_from([b"\n", b"\r\n", b"{}\n", *(line(number, 90) for number in range(12)), line(99, 2000)])
SOURCE = st.tuples(st.lists(TURN, max_size=40), st.sampled_from([b"", b"", b"torn", b"\r"])).map(
    lambda parts: b"".join([*parts[0], parts[1]])
)


@st.composite
def steps(draw: st.DrawFn) -> list[Step]:
    """Sources that grow, are cut, edited and swapped between names."""
    found: list[Step] = []
    sources: dict[str, bytes] = {}
    for _ in range(draw(st.integers(1, 9))):
        name = draw(st.sampled_from(["a", "b/c"]))
        before = sources.get(name, b"")
        keep = draw(st.sampled_from([len(before), len(before), len(before) // 2, len(before) // 3, 0]))
        more = draw(st.one_of(SOURCE, st.just(sources.get("a", b""))))
        sources[name] = (before[:keep] + more)[:20_000]
        found.append((name, sources[name], draw(st.sampled_from([False, False, True]))))
    return found


@settings(max_examples=40, deadline=None)
@given(steps())
def test_whatever_is_captured_in_whatever_order_is_held_and_verifies(found: list[Step]) -> None:
    replay(found)


def test_a_state_with_a_capture_of_no_new_turns_verifies(tmp_path: Path) -> None:
    """A source cut short is a new history that keeps turns and adds none."""
    archive = tmp_path / "a.ctxa"
    for data in (lines(0, 9), lines(0, 4), b"", lines(0, 2)):
        store(archive, data, as_new_history=True)
        assert read(archive) == data
        assert not findings(archive)


def test_a_log_of_several_blocks_verifies(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    with RecordWriter(archive) as one:
        turns = turns_of(lines(0, 200))
        for end in range(1, 200):
            add(one, b"t", turns[end - 1 : end], keep=turns[: end - 1])
            one.commit()
    assert (archive / "log").stat().st_size > 3 * 4032
    assert not findings(archive)
    assert read(archive, at=120) == lines(0, 120)


def test_a_state_that_ends_with_turns_left_out_is_found(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    source = lines(0, 10) + b"x\ny\nunfinished"
    store(archive, lines(0, 10))
    parts = Parts(archive)
    entry = parts.entries[0]
    proof = {"source_bytes": len(source), "source_sha256": sha256(source).digest(), "held_sha256": entry.source_sha256}
    parts.change(0, runs=(*entry.runs, Run(-1, 3, 14)), partial=True, **proof)
    parts.relink()
    parts.rehash()
    parts.seal()
    ((code, path),) = findings(archive)
    assert (code, path) == ("INDEX_MISMATCH", "log")
