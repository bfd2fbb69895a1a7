"""The files of the record: what is packed is unpacked, and whatever is wrong with a file is refused by its name."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from hashlib import sha256
from struct import Struct
from typing import TYPE_CHECKING, Any

import pytest
import zstandard
from archives import (
    Parts,
    few_bytes,
    files_of,
    findings,
    flip,
    in_child,
    line,
    lines,
    pack_file,
    read,
    skippable,
    store,
    use_all,
    write_head,
)
from hypothesis import given
from hypothesis import strategies as st
from xxhash import xxh3_64_intdigest, xxh64

from ctxarc.errors import (
    BadMagic,
    ChecksumMismatch,
    Damage,
    DigestMismatch,
    IndexMismatch,
    LimitExceeded,
    NotAnArchive,
    Refusal,
    Truncated,
    UnsupportedVersion,
    every_refusal,
)
from ctxarc.operations.verify import verify
from ctxarc.preservation.blocks import stored_length
from ctxarc.preservation.entry import Run
from ctxarc.preservation.layout import (
    COUNT_LIMIT,
    EMPTY_HEAD,
    FILE_HEADER,
    FILE_HEADER_FIELDS,
    FRAME_LIMIT,
    HEAD,
    HEAD_FIELDS,
    HEAD_LIMIT,
    LOG_HEADER,
    MARK,
    OBJECT_ROW,
    OBJECTS_HEADER,
    PACK_ROW,
    TRANSCRIPT_ROW,
    TURN_LIMIT,
    Head,
    ObjectRow,
    PackRow,
    TranscriptRow,
    read_mark,
)
from ctxarc.preservation.record import read_head
from ctxarc.preservation.varint import encode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

U64 = st.integers(0, 2**64 - 1)
COUNTS = st.integers(0, COUNT_LIMIT)
HASHES = st.binary(min_size=32, max_size=32)
MEMORY = 400 << 20
"""Bytes that a process may take for a forged archive; a record that is read takes some 50 MB."""


# ------------------------------------------------------------------------------------------------------- round trips


@st.composite
def pack_rows(draw: st.DrawFn) -> PackRow:
    objects = draw(st.integers(1, 1 << 20))
    raw = draw(st.integers(objects, TURN_LIMIT if objects == 1 else FRAME_LIMIT))
    return PackRow(objects, raw, draw(st.integers(0, TURN_LIMIT)), draw(U64))


@st.composite
def heads(draw: st.DrawFn) -> Head:
    packs = tuple(draw(st.lists(pack_rows(), max_size=4)))
    captures, log_bytes = draw(st.integers(1, COUNT_LIMIT)), draw(st.integers(1, COUNT_LIMIT))
    transcripts = []
    for _ in range(draw(st.integers(0, 4))):
        first, last = sorted(draw(st.tuples(st.integers(0, log_bytes - 1), st.integers(0, log_bytes - 1))))
        transcripts.append(TranscriptRow(draw(U64), first, last, draw(st.integers(1, captures))))
    leaves = draw(COUNTS)
    return Head(
        captures=captures,
        objects=sum(row.objects for row in packs),
        object_bytes=sum(row.raw_bytes for row in packs),
        log_bytes=log_bytes,
        leaves=leaves,
        objects_tail=draw(U64),
        log_tail=draw(U64),
        root=draw(HASHES),
        packs=packs,
        transcripts=tuple(transcripts),
        peaks=tuple(draw(st.lists(HASHES, min_size=leaves.bit_count(), max_size=leaves.bit_count()))),
    )


@given(heads())
def test_a_head_that_is_packed_is_unpacked_the_same(head: Head) -> None:
    assert Head.unpack(head.pack()) == head


def test_the_empty_head_is_unpacked_the_same() -> None:
    assert Head.unpack(EMPTY_HEAD.pack()) == EMPTY_HEAD
    assert EMPTY_HEAD.root == sha256(b"").digest()


@given(HASHES, st.integers(0, 2**32 - 1))
def test_a_row_of_objects_is_unpacked_the_same(digest: bytes, length: int) -> None:
    row = ObjectRow(digest, length)
    assert ObjectRow(*OBJECT_ROW.unpack(row.pack())) == row
    assert row.pack() == digest + length.to_bytes(4, "little")


@given(st.tuples(U64, U64, U64, U64))
def test_rows_of_head_are_unpacked_the_same(values: tuple[int, int, int, int]) -> None:
    pack, transcript = PackRow(*values), TranscriptRow(*values)
    assert PackRow(*PACK_ROW.unpack(pack.pack())) == pack
    assert TranscriptRow(*TRANSCRIPT_ROW.unpack(transcript.pack())) == transcript
    assert pack.pack() == transcript.pack() == b"".join(value.to_bytes(8, "little") for value in values)


def test_names_of_packs_sort_in_the_order_of_objects() -> None:
    firsts = [0, 7, 99, 100, 12_345, 10**9, 10**11]
    names = [PackRow(3, 9, 9, 0xFEDC).name(first) for first in firsts]
    assert names == sorted(names)
    assert names[1] == "000000000007-000000000009-000000000000fedc.zst"


# -------------------------------------------------------------------------------------------- one refusal for a fault


def front(values: dict[str, int | bytes], fields: tuple[str, ...], struct: Struct, *, sound: bool = True) -> bytes:
    """A header with ``values``, under its right checksum unless it is not to be ``sound``."""
    width = 4 if struct is FILE_HEADER else 8
    data: bytes = struct.pack(*(values[name] if name != "checksum" else 0 for name in fields))[:-width]
    checksum: int = xxh3_64_intdigest(data) & (2 ** (8 * width) - 1)
    return data + (checksum if sound else checksum ^ 1).to_bytes(width, "little")


def test_the_faults_of_a_file_header_are_named_in_order() -> None:
    for header, path in ((OBJECTS_HEADER, "objects"), (LOG_HEADER, "log")):
        values: dict[str, int | bytes] = {"magic": b"\x89CTXYYY\n", "version": 2, "reserved": 3}

        def made(*, sound: bool = False, values: dict[str, int | bytes] = values) -> bytes:
            return front(values, FILE_HEADER_FIELDS, FILE_HEADER, sound=sound)

        steps: list[tuple[type[Damage], bytes]] = [(Truncated, made()[:-1]), (BadMagic, made())]
        values["magic"] = header.magic
        steps.append((UnsupportedVersion, made()))
        values["version"] = 1
        steps += [(ChecksumMismatch, made()), (UnsupportedVersion, made(sound=True))]
        for kind, data in steps:
            with pytest.raises(kind) as caught:
                header.check(data, path)
            assert caught.value.facts["path"] == path
        values["reserved"] = 0
        header.check(made(sound=True), path)
        assert made(sound=True) == header.pack()


def test_the_faults_of_head_are_named_in_order(archive: Path) -> None:
    data = (archive / "HEAD").read_bytes()
    sound = dict(zip(HEAD_FIELDS, HEAD.unpack_from(data), strict=True))
    body = data[HEAD.size :]

    def refused(kind: type[Damage], content: bytes, words: str | None = None) -> None:
        with pytest.raises(kind, match=words):
            Head.unpack(content)

    def made(*, right: bool = True, **changes: int | bytes) -> bytes:
        return front(sound | changes, HEAD_FIELDS, HEAD, sound=right) + body

    every: dict[str, Any] = {"magic": b"\x89CTXYYY\n", "version": 2, "reserved": 3, "captures": COUNT_LIMIT + 1}
    refused(Truncated, made(right=False, **every)[: HEAD.size - 1], "header alone")
    refused(BadMagic, made(right=False, **every))
    del every["magic"]
    refused(UnsupportedVersion, made(right=False, **every), "format 2")
    del every["version"]
    refused(ChecksumMismatch, made(right=False, **every), "of its header")
    refused(UnsupportedVersion, made(**every), "reserved")
    del every["reserved"]
    refused(LimitExceeded, made(**every), "captures")
    refused(Truncated, made()[:-1], "tables")
    refused(Truncated, made() + b"\0", "tables")
    refused(ChecksumMismatch, made()[:-1] + bytes([data[-1] ^ 1]), "of its tables")
    assert Head.unpack(made()).pack() == data


@pytest.mark.parametrize("field", ["captures", "objects", "object_bytes", "log_bytes", "leaves"])
def test_a_count_of_head_beyond_the_limit_is_refused(field: str) -> None:
    for value in (COUNT_LIMIT + 1, 2**60, 2**64 - 1):
        with pytest.raises(LimitExceeded, match=field) as caught:
            Head.unpack(EMPTY_HEAD._replace(**{field: value}).pack())  # type: ignore[arg-type]
        assert caught.value.facts["found"] == value


def test_tables_of_head_beyond_the_limit_are_refused_by_their_number() -> None:
    values = dict(zip(HEAD_FIELDS, HEAD.unpack_from(EMPTY_HEAD.pack()), strict=True))
    for field in ("packs", "transcripts"):
        data = front(values | {field: 2**32 - 1}, HEAD_FIELDS, HEAD)
        with pytest.raises(LimitExceeded, match=str(HEAD_LIMIT)):
            Head.unpack(data + bytes(8))


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        (PackRow(1, TURN_LIMIT + 1, 9, 0), LimitExceeded),
        (PackRow(2, FRAME_LIMIT + 1, 9, 0), LimitExceeded),
        (PackRow(2, 9, 2 * TURN_LIMIT, 0), LimitExceeded),
        (PackRow(0, 9, 9, 0), IndexMismatch),
        (PackRow(3, 2, 9, 0), IndexMismatch),
    ],
)
def test_a_pack_beyond_the_limits_is_refused_in_head(row: PackRow, kind: type[Damage]) -> None:
    head = EMPTY_HEAD._replace(packs=(row,), objects=row.objects, object_bytes=row.raw_bytes)
    with pytest.raises(kind):
        Head.unpack(head.pack())


def test_head_must_agree_with_its_own_tables() -> None:
    row = PackRow(2, 10, 9, 0)
    head = EMPTY_HEAD._replace(packs=(row,), objects=2, object_bytes=10, captures=2, log_bytes=90)
    assert Head.unpack(head.pack()) == head
    wrong: list[dict[str, Any]] = [{"objects": 3}, {"object_bytes": 11}]
    wrong += [{"transcripts": (TranscriptRow(0, *places),)} for places in ((9, 8, 1), (0, 90, 1), (0, 8, 0), (0, 8, 3))]
    for changes in wrong:
        with pytest.raises(IndexMismatch):
            Head.unpack(head._replace(**changes).pack())


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (MARK.replace(b"\n", b"\r\n"), BadMagic),
        (MARK[:-1], BadMagic),
        (b"", BadMagic),
        (MARK + b"x", BadMagic),
        (b"ctxarc archive, format 2\n", UnsupportedVersion),
        (b"ctxarc archive, format 10\n", UnsupportedVersion),
        (b"PK\x03\x04", BadMagic),
    ],
)
def test_a_mark_that_is_not_this_releases_is_refused(content: bytes, kind: type[Damage]) -> None:
    with pytest.raises(kind):
        read_mark(content)


def test_a_mark_whose_line_end_was_converted_says_so() -> None:
    with pytest.raises(BadMagic, match="text-mode transfer"):
        read_mark(MARK.replace(b"\n", b"\r\n"))


def test_a_directory_without_a_mark_is_no_archive_and_an_archive_without_one_is_damaged(archive: Path) -> None:
    with pytest.raises(NotAnArchive):
        read(archive / "pack")
    (archive / "CTXA").unlink()
    with pytest.raises(BadMagic):
        read(archive)
    assert ("BAD_MAGIC", "CTXA") in findings(archive)


@pytest.mark.parametrize("name", ["HEAD", "objects", "log"])
def test_a_file_that_is_gone_is_refused_by_its_name(archive: Path, name: str) -> None:
    (archive / name).unlink()
    with pytest.raises(Truncated, match=f"^{name}: "):
        read(archive, "a#")
    assert findings(archive) == [("TRUNCATED", name)]


@pytest.mark.parametrize("name", ["HEAD", "objects", "log", "CTXA", "pack"])
def test_a_link_or_a_folder_in_the_place_of_a_file_is_not_followed(archive: Path, name: str) -> None:
    path = pack_file(archive) if name == "pack" else archive / name
    moved = path.rename(archive.parent / "elsewhere")
    path.symlink_to(moved)
    with pytest.raises(BadMagic, match="link"):
        read(archive, "a#")
    path.unlink()
    path.mkdir()
    with pytest.raises(BadMagic):
        read(archive, "a#")
    assert findings(archive) == [("BAD_MAGIC", path.relative_to(archive).as_posix())]


# --------------------------------------------------------------------------------------- every byte and every length

SMALL = {"a": lines(0, 4, 20), "b/c": lines(2, 6, 20) + b"\r\n\xff torn"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    archive = tmp_path_factory.mktemp("small") / "small.ctxa"
    store(archive, SMALL["a"][:-10], "a")
    store(archive, SMALL["b/c"], "b/c")
    store(archive, SMALL["a"], "a")
    return archive


@pytest.fixture
def archive(made: Path, tmp_path: Path) -> Path:
    copy: Path = shutil.copytree(made, tmp_path / "a.ctxa")
    return copy


def right_or_refused(archive: Path) -> None:
    """Whatever is read is right or refused, and ``verify`` tells that something is wrong."""
    for name, data in SMALL.items():
        for address, right in ((f"{name}#", data), (f"{name}#0", data[: data.index(b"\n") + 1])):
            with suppress(Refusal):
                assert read(archive, address) == right
    with suppress(UnsupportedVersion):
        assert verify(archive).findings


def kinds(archive: Path) -> list[Path]:
    """A file of each kind."""
    return [archive / "CTXA", archive / "HEAD", archive / "objects", archive / "log", *(archive / "pack").iterdir()]


def test_small_archives_are_sound_before_they_are_damaged(archive: Path) -> None:
    assert not findings(archive)
    assert {name: read(archive, f"{name}#") for name in SMALL} == SMALL
    assert set(files_of(archive)) == {path.relative_to(archive).as_posix() for path in kinds(archive)}


def test_every_flipped_byte_is_refused_or_does_no_harm_and_is_found(archive: Path) -> None:
    for path in kinds(archive):
        data = path.read_bytes()
        for at in range(len(data)):
            flip(path, at, 1 << at % 8)
            right_or_refused(archive)
            path.write_bytes(data)


def test_every_length_to_which_a_file_is_cut_is_refused_or_does_no_harm_and_is_found(archive: Path) -> None:
    for path in kinds(archive):
        data = path.read_bytes()
        for length in range(len(data)):
            path.write_bytes(data[:length])
            right_or_refused(archive)
        path.write_bytes(data)
    assert not findings(archive)


def test_every_byte_of_a_pack_changed_under_a_right_checksum_is_refused_by_the_digests_of_turns(archive: Path) -> None:
    parts = Parts(archive)
    turns = parts.packs[0]
    for at in range(len(turns)):
        changed = bytearray(turns)
        changed[at] ^= 0x20
        parts.packs[0] = bytes(changed)
        parts.seal()
        for name, data in SMALL.items():
            with suppress(DigestMismatch):
                assert read(archive, f"{name}#") == data
        assert "DIGEST_MISMATCH" in {code for code, _ in findings(archive)}


@pytest.mark.parametrize("name", ["objects", "log"])
def test_every_byte_of_a_table_changed_under_right_checksums_is_found(archive: Path, name: str) -> None:
    parts = Parts(archive)
    entries = b"".join(entry.pack() for entry in parts.entries)
    rows = b"".join(row.pack() for row in parts.rows)
    data = rows if name == "objects" else entries
    outside = acquisition_bytes(parts)
    for at in range(len(data)):
        changed = bytearray(data)
        changed[at] ^= 1 << at % 8
        if name == "objects":
            parts.rows = [ObjectRow(*row) for row in OBJECT_ROW.iter_unpack(changed)]
            parts.seal()
        else:
            parts.seal(log=bytes(changed))
        for transcript, content in SMALL.items():
            with suppress(Refusal):
                assert read(archive, f"{transcript}#") == content
        assert findings(archive) or (name == "log" and at in outside), at


def acquisition_bytes(parts: Parts) -> set[int]:
    """The bytes of the log that are in no digest: times, paths, hosts and tools."""
    found: set[int] = set()
    at = 0
    for entry in parts.entries:
        data = entry.pack()
        found |= set(range(at + 6, at + 22))
        for text in entry.origin or ():
            place = data.rindex(text)
            found |= set(range(at + place, at + place + len(text)))
        at += len(data)
    return found


# ------------------------------------------------------------------------------------------------------ forged sizes


def frame(*, says: int, window_log: int = 20, blocks: bytes, of: Iterable[bytes] | None = ()) -> bytes:
    """A zstd frame (RFC 8878, section 3.1.1) that says it has ``says`` bytes, with the checksum of pieces, or none."""
    descriptor = b"\xc0" if of is None else b"\xc4"
    start = b"\x28\xb5\x2f\xfd" + descriptor + bytes([(window_log - 10) << 3]) + says.to_bytes(8, "little")
    checksum = xxh64()
    for piece in of or ():
        checksum.update(piece)
    return start + blocks + (b"" if of is None else checksum.digest()[:3:-1])


def plain_frame(content: bytes, **changed: Any) -> bytes:  # noqa: ANN401 - as they are
    """A right frame of ``content``, or with something changed."""
    fields: dict[str, Any] = {
        "says": len(content),
        "blocks": block(0, len(content), content, last=True),
        "of": [content],
    }
    return frame(**fields | changed)


def block(kind: int, size: int, content: bytes, *, last: bool) -> bytes:
    """A block of a zstd frame: 0 is raw, 1 one byte repeated."""
    return (size << 3 | kind << 1 | last).to_bytes(3, "little") + content


def bomb(size: int) -> bytes:
    """Blocks of four bytes each that decode to 128 KiB each."""
    count = size >> 17
    return b"".join(block(1, 1 << 17, b"\0", last=number == count - 1) for number in range(count))


def zeros(size: int) -> Iterator[bytes]:
    """What a bomb decodes to."""
    return (bytes(1 << 17) for _ in range(size >> 17))


def put_pack(archive: Path, stored: bytes, objects: int | None = None, raw: int | None = None) -> None:
    """Make ``stored`` the one pack, under a right checksum and name."""
    parts = Parts(archive)
    row = parts.head.packs[0]
    row = PackRow(objects or row.objects, raw or row.raw_bytes, len(stored), xxh3_64_intdigest(stored))
    parts.stored[0] = row, stored
    parts.seal()


def one_turn(archive: Path, stored: Callable[[int], bytes], raw: int = 0) -> None:
    """An archive of one turn, its frame and the length that HEAD says of it forged."""
    shutil.rmtree(archive)
    store(archive, line(0), "a")
    put_pack(archive, stored(len(line(0))), 1, raw)


def change(archive: Path, index: int = -1, *, relink: bool = False, **fields: Any) -> None:  # noqa: ANN401 - as they are
    parts = Parts(archive)
    parts.change(index, **fields)
    if relink:
        parts.relink()
    parts.seal()


def change_log(archive: Path, old: bytes, new: bytes) -> None:
    """Put other bytes into the first entry, its size made right."""
    parts = Parts(archive)
    log = b"".join(entry.pack() for entry in parts.entries)
    size = int.from_bytes(log[:4], "little")
    first = log[:size].replace(old, new, 1)
    assert first != log[:size]
    parts.seal(log=len(first).to_bytes(4, "little") + first[4:] + log[size:])


def runs(*ranges: tuple[int, int]) -> dict[str, Any]:
    return {"runs": tuple(Run(first, turns) for first, turns in ranges)}


def head(archive: Path, **fields: Any) -> None:  # noqa: ANN401 - as they are
    write_head(archive, read_head(archive)._replace(**fields))


def head_row(archive: Path, **fields: int) -> None:
    rows = read_head(archive).transcripts
    head(archive, transcripts=(rows[0]._replace(**fields), *rows[1:]))


def many_objects(archive: Path) -> None:
    """A pack table that says as many objects as it can for its size, of which the table of objects has few."""
    row = PackRow(FRAME_LIMIT, FRAME_LIMIT, 9, 0)
    head(archive, packs=(row,) * 4096, objects=4096 * row.objects, object_bytes=4096 * row.raw_bytes)


def holes(archive: Path) -> None:
    """A log as long as HEAD says, of which the medium has hardly a block."""
    head(archive, log_bytes=1 << 36)
    os.truncate(archive / "log", stored_length(1 << 36))


FORGED: dict[str, tuple[Callable[[Path], None], str]] = {
    "a frame that says 1 TiB": (
        lambda a: put_pack(a, frame(says=1 << 40, blocks=block(0, 5, b"12345", last=True))),
        "INDEX_MISMATCH",
    ),
    "a pack of 1 TiB": (lambda a: put_pack(a, frame(says=1 << 40, blocks=b""), 1, 1 << 40), "LIMIT_EXCEEDED"),
    "a frame without a size": (lambda a: put_pack(a, b"\x28\xb5\x2f\xfd\x00\x50\x01\x00\x00"), "INDEX_MISMATCH"),
    "a turn of 1 GiB where its row says less": (
        lambda a: one_turn(a, lambda _: frame(says=1 << 30, blocks=bomb(1 << 30), of=zeros(1 << 30)), 1 << 30),
        "INDEX_MISMATCH",
    ),
    "a frame that holds more than it says": (
        lambda a: one_turn(a, lambda size: frame(says=size, blocks=bomb(1 << 30), of=zeros(1 << 30))),
        "CHECKSUM_MISMATCH",
    ),
    "a frame that holds less than it says": (
        lambda a: one_turn(a, lambda size: frame(says=size, blocks=block(0, 3, b"123", last=True), of=[b"123"])),
        "CHECKSUM_MISMATCH",
    ),
    "a frame without its end": (
        lambda a: one_turn(a, lambda size: plain_frame(line(0), blocks=block(0, size, line(0), last=False))),
        "CHECKSUM_MISMATCH",
    ),
    "two frames in a pack": (
        lambda a: one_turn(a, lambda _: plain_frame(line(0)) + plain_frame(b"")),
        "CHECKSUM_MISMATCH",
    ),
    "a frame that can be skipped": (
        lambda a: one_turn(a, lambda size: b"\x50\x2a\x4d\x18" + size.to_bytes(4, "little") + line(0)),
        "",
    ),
    "offsets of 4 GiB": (lambda a: put_pack(a, skippable(2**32 - 8) + bytes(90)), "INDEX_MISMATCH"),
    "no offsets": (lambda a: put_pack(a, skippable(0) + pack_file(a).read_bytes()), "INDEX_MISMATCH"),
    "a part of an offset": (lambda a: put_pack(a, skippable(7) + bytes(7) + pack_file(a).read_bytes()), ""),
    "an offset beyond all": (lambda a: put_pack(a, skippable(8) + b"\xff" * 8 + pack_file(a).read_bytes()), ""),
    "an offset where a turn does not end": (
        lambda a: put_pack(a, skippable(8) + (3).to_bytes(8, "little") + pack_file(a).read_bytes()),
        "",
    ),
    "offsets and no frame": (lambda a: put_pack(a, skippable(8) + bytes(8)), ""),
    "a window of 2 GiB": (
        lambda a: one_turn(a, lambda _: plain_frame(line(0), window_log=31)),
        "LIMIT_EXCEEDED",
    ),
    "a frame without a checksum": (lambda a: one_turn(a, lambda _: plain_frame(line(0), of=None)), "CHECKSUM_MISMATCH"),
    "a frame with another's checksum": (
        lambda a: one_turn(a, lambda _: plain_frame(line(0), of=[line(1)])),
        "CHECKSUM_MISMATCH",
    ),
    "no zstd frame": (lambda a: put_pack(a, b"PK\x03\x04" + bytes(40)), "CHECKSUM_MISMATCH"),
    "no byte in a pack": (lambda a: put_pack(a, b""), "CHECKSUM_MISMATCH"),
    "2^60 objects": (lambda a: head(a, objects=1 << 60), "LIMIT_EXCEEDED"),
    "2^47 objects": (lambda a: head(a, objects=1 << 47), ""),
    "2^36 objects in the pack table too": (many_objects, "TRUNCATED"),
    "a log of 1 TiB": (lambda a: head(a, log_bytes=1 << 40), "TRUNCATED"),
    "a log of 64 GiB of holes": (holes, "CHECKSUM_MISMATCH"),
    "2^60 leaves": (lambda a: head(a, leaves=1 << 60), "LIMIT_EXCEEDED"),
    "2^47 captures": (lambda a: head(a, captures=1 << 47), "INDEX_MISMATCH"),
    "an object behind the last": (lambda a: change(a, **runs((10, 1))), ""),
    "2^47 turns": (lambda a: change(a, relink=True, **runs((0, 1 << 47))), ""),
    "object 2^47": (lambda a: change(a, relink=True, **runs((1 << 47, 1))), ""),
    "2^60 turns": (lambda a: change(a, relink=True, **runs((0, 1 << 60))), "LIMIT_EXCEEDED"),
    "a run of no turns": (lambda a: change(a, relink=True, **runs((0, 0))), "INDEX_MISMATCH"),
    "the same turns again and again": (lambda a: change(a, relink=True, **runs(*[(0, 5)] * 1000)), ""),
    "ranges that overlap": (lambda a: change(a, relink=True, **runs((0, 3), (1, 3))), ""),
    "a gap of 2^47 turns and bytes": (
        lambda a: change(a, relink=True, runs=(Run(-1, 1 << 47, 1 << 47),), partial=True),
        "",
    ),
    "2^64 turns in all": (
        lambda a: change(a, relink=True, runs=(Run(0, 5), *[Run(-1, (1 << 48) - 1, 0)] * 70_000), partial=True),
        "",
    ),
    "a source of 2^60 bytes": (lambda a: change(a, source_bytes=1 << 60), "LIMIT_EXCEEDED"),
    "keeps more than there is": (lambda a: change(a, keep=6), "INDEX_MISMATCH"),
    "follows itself": (lambda a: change(a, back=0, name=b"a"), "INDEX_MISMATCH"),
    "follows what is before the log": (lambda a: change(a, back=1 << 40, relink=False), "INDEX_MISMATCH"),
    "follows another transcript": (lambda a: change(a, back=_distance(a)), "INDEX_MISMATCH"),
    "follows the middle of an entry": (lambda a: change(a, back=_distance(a) + 30), "INDEX_MISMATCH"),
    "a transcript that is not there": (lambda a: change(a, 1, transcript=9), "INDEX_MISMATCH"),
    "two first entries of a transcript": (lambda a: change(a, 1, transcript=0), "INDEX_MISMATCH"),
    "no origin at all": (lambda a: change(a, 0, relink=True, origin=None, origin_back=9), "INDEX_MISMATCH"),
    "an origin before the log": (lambda a: change(a, origin=None, origin_back=1 << 40), "INDEX_MISMATCH"),
    "an origin in another transcript": (lambda a: change(a, origin=None, origin_back=_distance(a)), "INDEX_MISMATCH"),
    "an entry of 4 GiB": (lambda a: _resize(a, 2**32 - 1), "LIMIT_EXCEEDED"),
    "an entry of 100 MiB": (lambda a: _resize(a, 100 << 20), "INDEX_MISMATCH"),
    "an entry of no bytes": (lambda a: _resize(a, 0), "INDEX_MISMATCH"),
    "2^47 runs": (lambda a: change_log(a, b"\0\0\0\1\1", b"\0\0\0" + encode(1 << 47) + b"\1"), "LIMIT_EXCEEDED"),
    "a number without end": (lambda a: change_log(a, b"\0\0\0\1\1", b"\0\0\0" + b"\x80" * 60), "LIMIT_EXCEEDED"),
    "a name of 1 TiB": (lambda a: change_log(a, b"\1a", encode(1 << 40) + b"a"), "LIMIT_EXCEEDED"),
    "a name that is not UTF-8": (lambda a: change_log(a, b"\1a", b"\1\xff"), "INDEX_MISMATCH"),
    "a log with a bit of an entry behind": (lambda a: _more_log(a, b"\x40\0\0\0"), "INDEX_MISMATCH"),
    "first entry elsewhere": (lambda a: head_row(a, first_entry=1), "INDEX_MISMATCH"),
    "last entry elsewhere": (lambda a: head_row(a, last_entry=7), "INDEX_MISMATCH"),
    "another name's checksum": (lambda a: head_row(a, name_checksum=7), "INDEX_MISMATCH"),
    "no transcripts": (lambda a: head(a, transcripts=()), "INDEX_MISMATCH"),
}


def _distance(archive: Path) -> int:
    return len(Parts(archive).entries[1].pack())


def _resize(archive: Path, size: int) -> None:
    parts = Parts(archive)
    log = b"".join(entry.pack() for entry in parts.entries)
    parts.seal(log=size.to_bytes(4, "little") + log[4:])


def _more_log(archive: Path, more: bytes) -> None:
    parts = Parts(archive)
    parts.seal(log=b"".join(entry.pack() for entry in parts.entries) + more)


@pytest.mark.parametrize("forgery", FORGED)
def test_what_is_forged_under_right_checksums_is_refused_by_name_and_takes_no_memory(
    tmp_path: Path, forgery: str
) -> None:
    archive = tmp_path / "a.ctxa"
    store(archive, lines(0, 5), "a")
    store(archive, lines(2, 7), "b")
    store(archive, lines(0, 10), "a")
    forge, code = FORGED[forgery]
    forge(archive)
    right = line(0) if (archive / "pack").is_dir() and read_objects(archive) == 1 else lines(0, 10)
    status, said = in_child(few_bytes, MEMORY, use_all, archive, "a", right)
    assert status == 0
    crashed = {use: outcome for use, outcome in said.items() if isinstance(outcome, str) and outcome not in CODES}
    assert not crashed, crashed
    assert said["cat"] in {right, *CODES}
    assert said["verify"]
    found = {said["verify"]} if isinstance(said["verify"], str) else {finding for finding, _ in said["verify"]}
    assert found & CODES_OF_DAMAGE
    assert not code or code in found


CODES = {kind.code for kind in every_refusal()}
CODES_OF_DAMAGE = {kind.code for kind in every_refusal() if kind.family == "damage"}


def read_objects(archive: Path) -> int:
    """The objects that HEAD states, 0 where it is refused."""
    try:
        return read_head(archive).objects
    except Damage:
        return 0


def test_a_frame_made_by_hand_is_read_so_that_the_forged_ones_are_refused_for_their_forgery(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    store(archive, line(0), "a")
    one_turn(archive, lambda _: plain_frame(line(0)))
    assert read(archive) == line(0)
    assert not findings(archive)


def test_a_frame_that_does_not_decode_to_what_was_encoded_is_never_stored(
    archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound = zstandard.ZstdCompressor

    class Faulty:
        """A compressor on a machine with bad memory."""

        def __init__(self, **options: Any) -> None:  # noqa: ANN401 - as they are
            self._real = sound(**options)

        def compress(self, data: bytes) -> bytes:
            return self._real.compress(data[:-2] + b"?" + data[-1:])

    before = files_of(archive)
    monkeypatch.setattr(zstandard, "ZstdCompressor", Faulty)
    with pytest.raises(Refusal) as caught:
        store(archive, SMALL["a"] + line(9), "a")
    assert caught.value.code == "IO_FAILED"
    assert files_of(archive) == before


def test_a_machine_without_the_memory_for_a_pack_is_no_damage(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Small:
        """A decompressor that the system has no memory for."""

        def decompress(self, *_: object, **_named: object) -> bytes:
            raise zstandard.ZstdError("decompression error: Allocation error : not enough memory")

    monkeypatch.setattr(zstandard, "ZstdDecompressor", Small)
    with pytest.raises(Refusal) as caught:
        read(archive, "a#")
    assert (caught.value.code, caught.value.status) == ("NO_MEMORY", 6)


def test_a_frame_has_a_checksum_of_its_own_so_that_stock_zstd_finds_damage(tmp_path: Path) -> None:
    store(tmp_path / "a.ctxa", lines(0, 50))
    stored = pack_file(tmp_path / "a.ctxa").read_bytes()
    assert zstandard.ZstdDecompressor().decompress(stored) == lines(0, 50)
    for at in range(4, len(stored), 7):
        changed = bytearray(stored)
        changed[at] ^= 0x10
        try:
            decoded = zstandard.ZstdDecompressor().decompress(changed, max_output_size=1 << 20)
        except zstandard.ZstdError:
            continue
        assert decoded == lines(0, 50)
