"""A part of a word index on disk: the cuts of a range of objects, as an index of segments has them, and their words.

``man/ctxa.5`` has the layout. Behind the cuts stand the number of words and the name of the text of each segment, and
an SQLite database with an FTS5 index, compressed; it is opened in memory, so that nothing is ever written beside it.
"""

from __future__ import annotations

import sqlite3
from array import array
from contextlib import contextmanager
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import zstandard

from ctxarc.auxiliary.projection import text_name
from ctxarc.auxiliary.segments.part import About, Cuts, Part, little, numbers, part_name
from ctxarc.auxiliary.words.database import Database, lengths_in, new_database
from ctxarc.auxiliary.words.tokens import TOKENS, indexed
from ctxarc.errors import IndexMismatch, IoFailed, LimitExceeded, NoSpace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

MAGIC = b"\x89CTXFTS\n"
SUFFIX = ".fts"
DATABASE_LIMIT = 1 << 30
"""Bytes of the largest database of a part."""
TEXT_LIMIT = 48 << 20
"""Characters of the texts that one part takes, but for its last object."""
_LEVEL = 3
_AT_ONCE = 2000
"""Rows that are given to SQLite at a time."""
_SHORT = 4096
"""Characters of the longest text that is kept prepared: half of all texts are like one shortly before."""
_CACHE_KIB = 64 << 10
"""Memory of a database that is being made, before it goes to disk."""


class PartWriter:
    """Makes a part of consecutive objects from ``first`` on.

    Raises:
        MissingPackage: this Python's SQLite has no FTS5.
        NoSpace, IoFailed: a large part goes through a temporary file, and the system has no place for it.

    """

    def __init__(self, first: int) -> None:
        self.cuts = Cuts.empty(first)
        self._texts = array("Q")
        self._waiting: list[tuple[int, str]] = []
        self._size = 0
        self._database = new_database("")  # on disk where it is large, and gone with the process
        self._database.execute(f"PRAGMA cache_size={-_CACHE_KIB}")
        self._database.execute("BEGIN")

    @property
    def full(self) -> bool:
        """Whether the next object belongs into another part."""
        return self._size > TEXT_LIMIT

    def add(self, digest: bytes, ends: Sequence[int], texts: Iterable[str]) -> None:
        """Take in the next object: its digest, where its segments end, and the text of each."""
        row = len(self.cuts.ends)
        self.cuts.add(digest, ends)
        for number, text in enumerate(texts, row + 1):
            name, words = (_prepared if len(text) <= _SHORT else _prepared.__wrapped__)(text)
            self._texts.append(name)
            self._waiting.append((number, words))
            self._size += len(text)
        if len(self._waiting) >= _AT_ONCE or self.full:
            self._insert()

    def _insert(self) -> None:
        with _named_faults():
            self._database.executemany("INSERT INTO words(rowid, text) VALUES (?, ?)", self._waiting)
        self._waiting = []

    def finish(self) -> tuple[array[int], bytes]:
        """The lengths, and the database."""
        self._insert()
        with _named_faults():
            self._database.execute("COMMIT")
            lengths = lengths_in(self._database, len(self._texts))
            data = self._database.serialize()
            self._database.close()
        return lengths, data

    def pack(self, scheme: str, projection: str, archive_digest: str, *, own: bool = False) -> bytes:
        """The whole file."""
        lengths, database = self.finish()
        about = About(scheme, {TOKENS: 1}, projection, archive_digest, own)
        cuts = self.cuts
        pad = bytes(-4 * (cuts.objects + 1 + 2 * len(cuts.ends)) % 8)
        frame = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compress(database)
        return cuts.pack(about, MAGIC, b"".join([little(lengths), pad, little(self._texts), frame]))

    @property
    def name(self) -> str:
        """The name of its file."""
        return part_name(self.cuts.first, self.cuts.objects, SUFFIX)


@contextmanager
def _named_faults() -> Iterator[None]:
    """Faults of SQLite's temporary file leave as named refusals."""
    try:
        yield
    except sqlite3.OperationalError as error:
        kind = NoSpace if "full" in str(error) else IoFailed
        hint = "a large index of words goes through a temporary file; TMPDIR says where"
        raise kind(f"words could not be looked up ({error})", hint=hint) from error


@lru_cache(maxsize=1024)
def _prepared(text: str) -> tuple[int, str]:
    """The name of a text, and what the tokenizer is given of it."""
    return text_name(text), indexed(text)


class WordPart(Part):
    """A part of a word index, mapped into memory, its checksums compared; see :class:`Part`.

    Attributes:
        lengths: the number of words of each segment.

    """

    magic = MAGIC
    has_tail = True

    def __init__(self, path: Any, label: str) -> None:  # noqa: ANN401 - a path, as of Part
        super().__init__(path, label)
        count = self.segments
        pad = -4 * (self.objects + 1 + 2 * count) % 8
        if len(self.tail) < 4 * count + pad + 8 * count or any(self.tail[4 * count : 4 * count + pad]):
            raise IndexMismatch(f"{label}: no words of {count} segments stand behind its cuts", path=label)
        if self.about.parameters != {TOKENS: 1}:
            raise IndexMismatch(f"{label}: its words are {self.about.parameters}, and not {TOKENS}", path=label)
        self.lengths: Sequence[int] = numbers(self.tail[: 4 * count])
        at = 4 * count + pad
        self._texts: Sequence[int] = numbers(self.tail[at : at + 8 * count], "Q")
        self._frame = self.tail[at + 8 * count :]

    def texts(self, number: int) -> Sequence[int]:
        """The names of the texts of an object's segments; equal texts have equal names."""
        start = self.starts[number - self.first]
        return self._texts[start : start + len(self.ends(number))]

    @cached_property
    def database(self) -> Database:
        """Its words.

        Raises:
            IndexMismatch, LimitExceeded: the database is none of ours.

        """
        try:
            size = zstandard.frame_content_size(self._frame)
            if size > DATABASE_LIMIT:
                message = f"{self.label}: a database of {size} bytes, and the limit is {DATABASE_LIMIT}"
                raise LimitExceeded(message, path=self.label, found=size, limit=DATABASE_LIMIT)
            data = zstandard.ZstdDecompressor().decompress(self._frame, allow_extra_data=False)
        except zstandard.ZstdError as error:
            raise IndexMismatch(f"{self.label}: its words cannot be inflated ({error})", path=self.label) from error
        return Database(data, self.label, self.lengths)


class MemoryPart:
    """A part that was never written: what an archive's word index lacks, for as long as it is asked."""

    def __init__(self, writer: PartWriter) -> None:
        self.label = "words in memory"
        cuts = writer.cuts
        self.first, self.objects, self.segments = cuts.first, cuts.objects, len(cuts.ends)
        self._cuts = cuts
        self.lengths, data = writer.finish()
        self.database = Database(data, self.label, self.lengths)

    def ends(self, number: int) -> Sequence[int]:
        """Where the segments of object ``number`` end in its turn."""
        at = number - self.first
        return self._cuts.ends[self._cuts.starts[at] : self._cuts.starts[at + 1]]

    @property
    def starts(self) -> Sequence[int]:
        """The number of the first segment of each object, and of segments in all."""
        return self._cuts.starts
