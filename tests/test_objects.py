"""The table of objects: rows by number, and numbers by digest or the beginning of one."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxarc.errors import Damage
from ctxarc.preservation import objects
from ctxarc.preservation.blocks import BLOCK, appended
from ctxarc.preservation.files import write_file
from ctxarc.preservation.layout import OBJECTS_HEADER, ObjectRow
from ctxarc.preservation.objects import DigestMap, ObjectTable, digests_of, lengths_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    Making = Callable[[Sequence[ObjectRow]], ObjectTable]

ROWS_A_BLOCK = BLOCK // 36


def row(number: int) -> ObjectRow:
    return ObjectRow(sha256(str(number).encode()).digest(), number)


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Making]:
    made: list[ObjectTable] = []

    def table(rows: Sequence[ObjectRow]) -> ObjectTable:
        stored, tail = appended(b"", b"".join(each.pack() for each in rows))
        write_file(tmp_path / "objects", OBJECTS_HEADER.pack() + stored)
        made.append(ObjectTable(tmp_path / "objects", len(rows), tail))
        return made[-1]

    yield table
    for each in made:
        each.close()


@pytest.mark.parametrize("count", [1, ROWS_A_BLOCK - 1, ROWS_A_BLOCK, ROWS_A_BLOCK + 1, 3 * ROWS_A_BLOCK + 5])
def test_every_row_is_read_by_its_number_across_the_borders_of_blocks(make: Making, count: int) -> None:
    table = make([row(number) for number in range(count)])
    assert [table.row(number) for number in range(count)] == [row(number) for number in range(count)]
    rows = table.rows(0, count)
    assert digests_of(rows) == [row(number).sha256 for number in range(count)]
    assert list(lengths_of(rows)) == list(range(count))


@pytest.mark.parametrize("count", [1, ROWS_A_BLOCK])
def test_a_row_that_the_table_does_not_have_is_refused(make: Making, count: int) -> None:
    table = make([row(number) for number in range(count)])
    for first, rows in ((count, 1), (0, count + 1), (count - 1, 2), (2**47, 1), (0, 2**47)):
        with pytest.raises(Damage):
            table.rows(first, rows)
    with pytest.raises(Damage):
        table.row(count)


@given(st.lists(st.integers(0, 2**32 - 1), max_size=300))
def test_lengths_are_read_as_they_were_written(lengths: list[int]) -> None:
    rows = b"".join(ObjectRow(bytes([number & 255] * 32), length).pack() for number, length in enumerate(lengths))
    assert list(lengths_of(rows)) == lengths
    assert digests_of(rows) == [bytes([number & 255] * 32) for number in range(len(lengths))]


def test_search_finds_every_digest_and_every_prefix_across_the_borders_of_what_is_read_at_a_time(
    make: Making, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objects, "_CHUNK", BLOCK)
    count = 3 * ROWS_A_BLOCK + 5
    table = make([row(number) for number in range(count)])
    names = [row(number).sha256.hex() for number in range(count)]
    for number in (0, 1, ROWS_A_BLOCK - 1, ROWS_A_BLOCK, 2 * ROWS_A_BLOCK - 1, 2 * ROWS_A_BLOCK, count - 1):
        for digits in (64, 63, 17, 16):
            assert list(table.search(names[number][:digits])) == [number]
    for prefix in ("0", "a", "1f", "abc"):
        assert list(table.search(prefix)) == [number for number, name in enumerate(names) if name.startswith(prefix)]
    assert list(table.search("0" * 64)) == []


def test_bytes_that_stand_elsewhere_than_at_the_beginning_of_a_row_are_not_found(make: Making) -> None:
    inner = row(1).sha256
    shifted = ObjectRow(b"\0\0" + inner[:30], int.from_bytes(inner[30:] + b"\0\0", "little"))
    table = make([shifted, row(0), shifted._replace(sha256=b"\1\1" + inner[:30]), row(1), shifted])
    assert list(table.search(inner.hex())) == [3]
    assert DigestMap(table).find(inner) == 3


def test_a_prefix_that_several_digests_have_gives_all_in_order(make: Making) -> None:
    rows = [ObjectRow(b"\xab" * 8 + bytes([number] * 24), 1) for number in range(5)]
    table = make([row(0), *rows[:2], row(1), *rows[2:]])
    assert list(table.search("ab" * 8)) == [1, 2, 4, 5, 6]
    assert list(table.search("ab" * 8 + "030")) == [5]


def test_the_map_finds_what_search_finds(make: Making, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objects, "_CHUNK", BLOCK)
    count = 2 * ROWS_A_BLOCK + 9
    table = make([row(number) for number in range(count)])
    numbers = DigestMap(table)
    for number in range(count + 20):
        digest = row(number).sha256
        assert numbers.find(digest) == next(table.search(digest.hex()), -1) == (number if number < count else -1)


def test_digests_that_share_their_first_eight_bytes_are_told_apart(make: Making) -> None:
    rows = [ObjectRow(b"same 8 b" + bytes([number] * 24), 1) for number in range(4)]
    table = make([row(0), *rows[:3], row(1)])
    numbers = DigestMap(table)
    assert [numbers.find(each.sha256) for each in rows] == [1, 2, 3, -1]
    assert numbers.find(row(1).sha256) == 4


def test_a_map_of_an_empty_table_finds_nothing(make: Making) -> None:
    assert DigestMap(make([])).find(bytes(32)) == -1


def test_rows_that_are_committed_later_are_seen_after_growing(make: Making, tmp_path: Path) -> None:
    table = make([row(0), row(1)])
    stored, tail = appended(table.file.tail(), row(2).pack())
    with (tmp_path / "objects").open("ab") as stream:
        stream.write(stored)
    assert list(table.search(row(2).sha256.hex())) == []
    table.grow(3, tail)
    assert table.row(2) == row(2)
    assert list(table.search(row(2).sha256.hex())) == [2]
