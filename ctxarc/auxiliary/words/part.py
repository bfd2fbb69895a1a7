"""A part of a word index on disk: the cuts of a range of objects, as an index of segments has them, and their words.

``man/ctxa.5`` has the layout. Behind the cuts stand the number of words and the name of the text of each segment, and
an SQLite database with an FTS5 index, compressed; it is opened in memory, so that nothing is ever written beside it.
"""

from __future__ import annotations

import sqlite3
from array import array
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

import zstandard

from ctxarc.auxiliary.projection import text_name
from ctxarc.auxiliary.segments.part import About, Cuts, Part, little, numbers, part_name
from ctxarc.auxiliary.words.tokens import TOKENIZER, TOKENS, indexed
from ctxarc.errors import IndexMismatch, LimitExceeded, MissingPackage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MAGIC = b"\x89CTXFTS\n"
SUFFIX = ".fts"
DATABASE_LIMIT = 1 << 30
"""Bytes of the largest database of a part."""
TEXT_LIMIT = 48 << 20
"""Characters of the texts that one part takes, but for its last object."""
_LEVEL = 3
_AT_ONCE = 2000
"""Rows that are given to SQLite at a time."""
_TABLE = f"CREATE VIRTUAL TABLE words USING fts5(text, content='', tokenize='{TOKENIZER}')"
_FOUND = "CREATE VIRTUAL TABLE temp.found USING fts5vocab(main, words, instance)"


def connect(place: str = ":memory:") -> sqlite3.Connection:
    """A database of our own, which runs nothing that it is not told to.

    Raises:
        MissingPackage: this Python's SQLite has no FTS5.

    """
    connection = sqlite3.connect(place, isolation_level=None, check_same_thread=False)
    if not hasattr(connection, "deserialize"):
        raise MissingPackage("the SQLite of this Python cannot open a database in memory", hint=_SQLITE)
    for pragma in ("journal_mode=off", "synchronous=off", "trusted_schema=off", "temp_store=memory"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


_SQLITE = "ctxarc needs SQLite 3.36 or newer with FTS5, which Python's own builds have"


class PartWriter:
    """Makes a part of consecutive objects from ``first`` on."""

    def __init__(self, first: int) -> None:
        self.cuts = Cuts.empty(first)
        self._texts = array("Q")
        self._waiting: list[tuple[int, str]] = []
        self._size = 0
        self._database = connect("")  # on disk where it is large, and gone with the process
        try:
            self._database.execute(_TABLE)
        except sqlite3.OperationalError as error:
            raise MissingPackage(f"the SQLite of this Python has no FTS5 ({error})", hint=_SQLITE) from error
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
            self._texts.append(text_name(text))
            self._waiting.append((number, indexed(text)))
            self._size += len(text)
        if len(self._waiting) >= _AT_ONCE or self.full:
            self._insert()

    def _insert(self) -> None:
        self._database.executemany("INSERT INTO words(rowid, text) VALUES (?, ?)", self._waiting)
        self._waiting = []

    def _lengths(self) -> array[int]:
        """How many words each segment has."""
        lengths = array("I", bytes(4 * len(self._texts)))
        for row, packed in self._database.execute("SELECT id, sz FROM words_docsize"):
            number = 0
            for byte in packed:
                number = number << 7 | byte & 0x7F
            lengths[row - 1] = number
        return lengths

    def finish(self) -> tuple[array[int], bytes]:
        """The lengths, and the database."""
        self._insert()
        self._database.execute("COMMIT")
        lengths = self._lengths()
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
            if not 0 <= size <= DATABASE_LIMIT:
                message = f"{self.label}: a database of {size} bytes, and the limit is {DATABASE_LIMIT}"
                raise LimitExceeded(message, path=self.label, found=size, limit=DATABASE_LIMIT)
            data = zstandard.ZstdDecompressor().decompress(self._frame, allow_extra_data=False)
        except zstandard.ZstdError as error:
            raise IndexMismatch(f"{self.label}: its words cannot be inflated ({error})", path=self.label) from error
        return Database(data, self.label)


class Database:
    """The words of a part, opened in memory.

    Args:
        data: an SQLite database.
        label: what messages call the part.

    """

    def __init__(self, data: bytes, label: str) -> None:
        self._label = label
        self._connection = connect()
        try:
            self._connection.deserialize(data)
            self._connection.execute("PRAGMA trusted_schema=off")
            self._connection.execute("PRAGMA query_only=on")
            self._check_schema()
            self._connection.execute("PRAGMA query_only=off")
            self._connection.execute(_FOUND)
            self._connection.execute("PRAGMA query_only=on")
        except (sqlite3.Error, OverflowError, UnicodeDecodeError) as error:
            raise self._wrong(error) from error

    def _wrong(self, error: Exception) -> IndexMismatch:
        return IndexMismatch(f"{self._label}: its words cannot be read ({error})", path=self._label)

    def _check_schema(self) -> None:
        """Only the tables that FTS5 makes: a trigger or a view of a stranger would run what it says."""
        found = set(self._connection.execute("SELECT type, name, sql FROM sqlite_schema"))
        if found != _schema():
            message = f"{self._label}: its database has other tables than those of an index of words"
            raise IndexMismatch(message, path=self._label)

    def rows(self, query: str, *parameters: str) -> list[int]:
        """The rows that a query gives.

        Raises:
            IndexMismatch: the database is damaged.

        """
        try:
            return [row for (row,) in self._connection.execute(query, parameters)]
        except (sqlite3.Error, OverflowError, UnicodeDecodeError, TypeError) as error:
            raise self._wrong(error) from error

    def of_term(self, term: str) -> list[int]:
        """The row of each place where a term stands."""
        return self.rows("SELECT doc FROM temp.found WHERE term = ?", term)

    def of_beginning(self, beginning: str) -> list[int]:
        """The row of each place where a term stands that begins so."""
        return self.rows("SELECT doc FROM temp.found WHERE term >= ? AND term < ?", beginning, beginning + "\U0010ffff")

    def of_phrase(self, terms: Sequence[str]) -> list[int]:
        """The rows where terms stand side by side."""
        phrase = " + ".join('"' + term.replace('"', '""') + '"' for term in terms)
        return self.rows("SELECT rowid FROM words WHERE words MATCH ?", phrase)

    def check(self, segments: int) -> str:
        """What is wrong with it for a part of so many segments; empty where nothing is."""
        counts = self.rows("SELECT count(*) FROM words_docsize") + self.rows(
            "SELECT coalesce(max(id), 0) FROM words_docsize"
        )
        if counts != [segments, segments]:
            return f"its words are of {counts[0]} segments, and it has {segments}"
        (result,) = self._connection.execute("PRAGMA quick_check").fetchone() or ("nothing",)
        return "" if result == "ok" else f"its database is damaged ({result})"

    def __del__(self) -> None:
        with suppress(sqlite3.Error, AttributeError):
            self._connection.close()


_SCHEMA: set[tuple[str, str, str | None]] = set()


def _schema() -> set[tuple[str, str, str | None]]:
    """What a new database has in its schema."""
    if not _SCHEMA:
        connection = connect()
        connection.execute(_TABLE)
        _SCHEMA.update(connection.execute("SELECT type, name, sql FROM sqlite_schema"))
        connection.close()
    return _SCHEMA


class MemoryPart:
    """A part that was never written: what an archive's word index lacks, for as long as it is asked."""

    def __init__(self, writer: PartWriter) -> None:
        self.label = "words in memory"
        cuts = writer.cuts
        self.first, self.objects, self.segments = cuts.first, cuts.objects, len(cuts.ends)
        self._cuts = cuts
        self.lengths, data = writer.finish()
        self.database = Database(data, self.label)

    def ends(self, number: int) -> Sequence[int]:
        """Where the segments of object ``number`` end in its turn."""
        at = number - self.first
        return self._cuts.ends[self._cuts.starts[at] : self._cuts.starts[at + 1]]

    @property
    def starts(self) -> Sequence[int]:
        """The number of the first segment of each object, and of segments in all."""
        return self._cuts.starts
