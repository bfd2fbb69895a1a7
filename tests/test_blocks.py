"""Files of blocks: appended to in any steps they are the same file, and any byte of them is checked when it is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xxhash import xxh3_64_intdigest

from ctxarc.errors import Damage, Refusal
from ctxarc.preservation.blocks import BLOCK, BlockFile, appended, stored_length
from ctxarc.preservation.files import append_file, write_file
from ctxarc.preservation.layout import LOG_HEADER, OBJECT_ROW, FileHeader

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Making = Callable[[int], tuple[Path, int]]

SIZES = [0, 1, 36, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 3 * BLOCK + 17]


def content(length: int) -> bytes:
    return b"".join(number.to_bytes(4, "big") for number in range(length // 4 + 1))[:length]


@pytest.fixture
def make(tmp_path: Path) -> Making:
    def made(length: int) -> tuple[Path, int]:
        path = tmp_path / "log"
        stored, tail = appended(b"", content(length))
        write_file(path, LOG_HEADER.pack() + stored)
        return path, tail

    return made


def test_a_block_holds_whole_rows_of_the_table_of_objects() -> None:
    assert BLOCK % OBJECT_ROW.size == 0


@pytest.mark.parametrize("length", SIZES)
def test_content_is_followed_by_the_checksum_of_each_full_block(make: Making, length: int) -> None:
    path, tail = make(length)
    data = path.read_bytes()
    assert len(data) == stored_length(length)
    at = len(LOG_HEADER.pack())
    for start in range(0, length // BLOCK * BLOCK, BLOCK):
        block = content(length)[start : start + BLOCK]
        assert data[at : at + BLOCK + 8] == block + xxh3_64_intdigest(block).to_bytes(8, "little")
        at += BLOCK + 8
    rest = content(length)[length // BLOCK * BLOCK :]
    assert (data[at:], tail) == (rest, xxh3_64_intdigest(rest))


@given(st.lists(st.integers(0, 9000), max_size=6))
def test_a_file_that_is_appended_to_in_steps_is_the_file_that_is_written_at_once(steps: list[int]) -> None:
    data = content(sum(steps))
    stored, length = b"", 0
    for step in steps:
        before = data[length // BLOCK * BLOCK : length]
        more, tail = appended(before, data[length : length + step])
        stored, length = stored + more, length + step
        assert tail == xxh3_64_intdigest(data[length // BLOCK * BLOCK : length])
    assert stored == appended(b"", data)[0]


@pytest.mark.parametrize("length", SIZES)
def test_every_stretch_is_read_as_it_was_written(make: Making, length: int) -> None:
    file = BlockFile(make(length)[0], LOG_HEADER, length, make(length)[1])
    near = {at + by for at in range(0, length + 1, BLOCK) for by in (-1, 0, 1)} | {0, length}
    ends = sorted(at for at in near if 0 <= at <= length)
    for start in ends:
        for end in ends:
            assert file.read(start, end) == content(length)[start:end]
    assert file.tail() == content(length)[length // BLOCK * BLOCK :]
    assert file.faults() == []
    file.close()


def test_a_stretch_beyond_the_committed_end_is_refused_and_never_short(make: Making) -> None:
    for length in SIZES:
        path, tail = make(length)
        file = BlockFile(path, LOG_HEADER, length, tail)
        for start, end in ((length, length + 1), (0, length + 1), (length + BLOCK, length + BLOCK + 1), (0, 1 << 47)):
            with pytest.raises(Damage):
                file.read(start, end)
        file.close()


def test_a_changed_byte_is_refused_where_its_block_is_read_and_nowhere_else(make: Making) -> None:
    length = 2 * BLOCK + 50
    path, tail = make(length)
    data = path.read_bytes()
    header = len(LOG_HEADER.pack())
    for at in (header, header + BLOCK - 1, header + BLOCK, header + BLOCK + 7, header + BLOCK + 8, len(data) - 1):
        changed = bytearray(data)
        changed[at] ^= 1
        path.write_bytes(changed)
        file = BlockFile(path, LOG_HEADER, length, tail)
        block = (at - header) // (BLOCK + 8)
        for number in range(3):
            start, end = number * BLOCK, min((number + 1) * BLOCK, length)
            if number == block:
                with pytest.raises(Refusal) as caught:
                    file.read(end - 1, end)
                assert (caught.value.code, caught.value.facts["block"]) == ("CHECKSUM_MISMATCH", number)
            else:
                assert file.read(start, end) == content(length)[start:end]
        assert [fault.facts["block"] for fault in file.faults()] == [block]
        file.close()


def test_all_damaged_blocks_are_named_and_not_the_first_only(make: Making) -> None:
    length = 9 * BLOCK + 5
    path, tail = make(length)
    data = bytearray(path.read_bytes())
    for block in (0, 4, 9):
        data[16 + block * (BLOCK + 8)] ^= 0x40
    path.write_bytes(data)
    file = BlockFile(path, LOG_HEADER, length, tail)
    assert [fault.facts["block"] for fault in file.faults()] == [0, 4, 9]
    file.close()


def test_bytes_beyond_the_committed_length_are_not_read(make: Making) -> None:
    length = BLOCK + 10
    path, tail = make(length)
    with path.open("ab") as stream:
        stream.write(bytes(5000))
    file = BlockFile(path, LOG_HEADER, length, tail)
    assert file.read(0, length) == content(length)
    assert file.faults() == []
    assert file.stored_bytes() == stored_length(length) + 5000
    file.close()


def test_what_a_dead_writer_left_is_cut_off_by_the_next_append(make: Making) -> None:
    length = BLOCK - 10
    path, tail = make(length)
    with path.open("ab") as stream:
        stream.write(b"torn" * 999)
    file = BlockFile(path, LOG_HEADER, length, tail)
    stored, tail = appended(file.tail(), content(2 * BLOCK)[length:])
    append_file(path, stored_length(length), stored)
    assert path.stat().st_size == stored_length(2 * BLOCK)
    assert file.read(0, length) == content(length)
    file.grow(2 * BLOCK, tail)
    assert file.read(0, 2 * BLOCK) == content(2 * BLOCK)
    file.close()


def test_a_file_with_another_header_is_refused_when_it_is_opened(make: Making) -> None:
    path, tail = make(10)
    with pytest.raises(Refusal) as caught:
        BlockFile(path, FileHeader(b"\x89CTXOTH\n"), 10, tail)
    assert caught.value.code == "BAD_MAGIC"
