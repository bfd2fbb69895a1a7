"""A part of a word index on disk: the cuts of a range of objects, as an index of segments has them, and their words.

``man/ctxa.5`` has the layout. Behind the cuts stand the number of words and the name of the text of each segment, and
an SQLite database with an FTS5 index, compressed; it is opened in memory, so that nothing is ever written beside it.
"""

from __future__ import annotations

import sqlite3
from array import array
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

import zstandard

from ctxarc.auxiliary.projection import text_name
from ctxarc.auxiliary.segments.part import About, Cuts, Part, little, numbers, part_name
from ctxarc.auxiliary.words.tokens import TOKENIZER, TOKENS, indexed
from ctxarc.errors import IndexMismatch, IoFailed, LimitExceeded, MissingPackage, NoSpace

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
_TABLE = f"CREATE VIRTUAL TABLE words USING fts5(text, content='', tokenize='{TOKENIZER}')"
_FOUND = "CREATE VIRTUAL TABLE temp.found USING fts5vocab(main, words, instance)"
_COUNTED = "CREATE VIRTUAL TABLE temp.counted USING fts5vocab(main, words, row)"
_CACHE_KIB = 64 << 10
"""Memory of a database that is being made, before it goes to disk."""
_SQLITE = "ctxarc needs SQLite 3.36 or newer with FTS5, which Python's own builds have"
_UNREADABLE = (sqlite3.Error, OverflowError, UnicodeDecodeError, MemoryError)
"""What a damaged database may raise; SQLite asks for all the memory that one says it needs."""
_SHADOWS = ("words_config", "words_data", "words_docsize", "words_idx")
"""The plain tables in which FTS5 keeps an index."""
_VARINT = 5
"""Bytes of the longest number of 32 bits, 7 a byte."""
_LOOKED_UP = 1000
"""Words that a check looks up, of all that a part has."""
_TABLES = 16
"""More than the tables that FTS5 makes."""


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


def new_database(place: str = ":memory:") -> sqlite3.Connection:
    """A database with an empty index of words.

    Raises:
        MissingPackage: this Python's SQLite has no FTS5.

    """
    connection = connect(place)
    try:
        connection.execute(_TABLE)
    except sqlite3.OperationalError as error:
        raise MissingPackage(f"the SQLite of this Python has no FTS5 ({error})", hint=_SQLITE) from error
    return connection


def terms_of(texts: Sequence[str]) -> list[list[str]]:
    """What the tokenizer makes of each text, in order."""
    connection = new_database()
    connection.executemany("INSERT INTO words(rowid, text) VALUES (?, ?)", enumerate(texts))
    connection.execute(_FOUND)
    found: list[list[str]] = [[] for _ in texts]
    for row, term in connection.execute("SELECT doc, term FROM temp.found ORDER BY doc, offset"):
        found[row].append(term)
    connection.close()
    return found


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
            self._texts.append(text_name(text))
            self._waiting.append((number, indexed(text)))
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
            lengths = _lengths(self._database, len(self._texts))
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


def _lengths(database: sqlite3.Connection, segments: int) -> array[int]:
    """How many words each segment has, by the numbers that FTS5 keeps of one column: 7 bits a byte, the first on top.

    Raises:
        IndexError, TypeError: they are not those of so many segments.

    """
    lengths = array("I", bytes(4 * segments))
    for row, packed in database.execute("SELECT id, sz FROM words_docsize"):
        number = 0
        if len(packed) > _VARINT:
            raise IndexError(row)
        for byte in packed:
            number = number << 7 | byte & 0x7F
        lengths[row - 1] = number
    return lengths


@contextmanager
def _named_faults() -> Iterator[None]:
    """Faults of SQLite's temporary file leave as named refusals."""
    try:
        yield
    except sqlite3.OperationalError as error:
        kind = NoSpace if "full" in str(error) else IoFailed
        hint = "a large index of words goes through a temporary file; TMPDIR says where"
        raise kind(f"words could not be looked up ({error})", hint=hint) from error


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
            if size <= 0:
                raise IndexMismatch(f"{self.label}: its words do not say how long they are", path=self.label)
            data = zstandard.ZstdDecompressor().decompress(self._frame, allow_extra_data=False)
        except zstandard.ZstdError as error:
            raise IndexMismatch(f"{self.label}: its words cannot be inflated ({error})", path=self.label) from error
        return Database(data, self.label, self.lengths)


class Database:
    """The words of a part, opened in memory.

    Args:
        data: an SQLite database.
        label: what messages call the part.
        lengths: the number of words of each of its segments.

    Raises:
        IndexMismatch: it is no database, or has other tables than an index of words.

    """

    def __init__(self, data: bytes, label: str, lengths: Sequence[int]) -> None:
        self._label = label
        self._lengths = lengths
        self._segments, self._words = len(lengths), sum(lengths)
        self._connection = connect()
        try:
            self._connection.deserialize(data)
            self._connection.execute("PRAGMA trusted_schema=off")
            self._connection.execute("PRAGMA cell_size_check=on")
            self._connection.execute("PRAGMA query_only=on")
            self._check_schema()
            self._connection.execute("PRAGMA query_only=off")
            for table in (_FOUND, _COUNTED):
                self._connection.execute(table)
            self._connection.execute("PRAGMA query_only=on")
        except _UNREADABLE as error:
            raise self._wrong(error) from error

    def _wrong(self, error: Exception) -> IndexMismatch:
        return IndexMismatch(f"{self._label}: its words cannot be read ({error!r})", path=self._label)

    def _check_schema(self) -> None:
        """Only the tables that FTS5 makes: a trigger or a view of a stranger would run what it says."""
        found = set(self._connection.execute("SELECT type, name, sql FROM sqlite_schema").fetchmany(_TABLES))
        settings = self._connection.execute("SELECT k FROM words_config").fetchmany(2) if found == _schema() else []
        if settings != [("version",)]:
            message = f"{self._label}: its database has other tables than those of an index of words"
            raise IndexMismatch(message, path=self._label)

    def _numbers(self, query: str, *parameters: str) -> list[int]:
        """What a query gives, which are not more numbers than there are words."""
        try:
            return [row for (row,) in self._connection.execute(query, parameters).fetchmany(self._words + 1)]
        except _UNREADABLE as error:
            raise self._wrong(error) from error

    def _rows(self, query: str, *parameters: str) -> list[int]:
        """The rows that a query gives.

        Raises:
            IndexMismatch: the database is damaged.

        """
        found = self._numbers(query, *parameters)
        if len(found) > self._words or (found and not 1 <= min(found) <= max(found) <= self._segments):
            message = f"{self._label}: words stand in segments that it does not have"
            raise IndexMismatch(message, path=self._label)
        return found

    def count(self, term: str) -> int:
        """In how many segments a term stands."""
        found = self._numbers("SELECT doc FROM temp.counted WHERE term = ?", term) or [0]
        if not 0 <= found[0] <= self._segments:
            message = f"{self._label}: a word stands in {found[0]} segments, and it has {self._segments}"
            raise IndexMismatch(message, path=self._label)
        return found[0]

    def of_term(self, term: str) -> list[int]:
        """The row of each place where a term stands."""
        return self._rows("SELECT doc FROM temp.found WHERE term = ?", term)

    def of_beginning(self, beginning: str) -> list[int]:
        """The row of each place where a term stands that begins so."""
        return self._rows(
            "SELECT doc FROM temp.found WHERE term >= ? AND term < ?", beginning, beginning + "\U0010ffff"
        )

    def of_phrase(self, text: str) -> list[int]:
        """The rows where the words of a text, which has none but letters, digits and blanks, stand side by side."""
        return self._rows("SELECT rowid FROM words WHERE words MATCH ?", f'"{text}"')

    def check(self) -> str:
        """What is wrong with it; empty where nothing is. Compares its tables with each other, and with the lengths."""
        try:
            return self._wrong_tables() or self._wrong_words()
        except (*_UNREADABLE, IndexError, TypeError) as error:
            return f"its words cannot be read ({error!r})"
        except IndexMismatch as mismatch:
            return mismatch.message.removeprefix(f"{self._label}: ")

    def _wrong_tables(self) -> str:
        # Table by table: asked about all, newer releases have FTS5 check itself, which crashes on some damaged tables
        # (SQLite 3.40.1).
        for table in _SHADOWS:
            for (result,) in self._connection.execute(f"PRAGMA quick_check({table})").fetchmany(1):
                if result != "ok":
                    return f"its database is damaged ({result})"
        rows = self._connection.execute("SELECT count(*), min(id), max(id) FROM words_docsize").fetchone()
        if rows != ((self._segments, 1, self._segments) if self._segments else (0, None, None)):
            return f"its words are of {rows[0]} segments, and it has {self._segments}"
        return ""

    def _wrong_words(self) -> str:
        if list(_lengths(self._connection, self._segments)) != list(self._lengths):
            return "the numbers of words of its segments are not those of its database"
        terms = self._connection.execute("SELECT term, doc, cnt FROM temp.counted").fetchmany(self._words + 1)
        if sum(times for _, _, times in terms) != self._words:
            return "words of its segments are missing in its database"
        if any(self.count(term) != segments for term, segments, _ in terms[:: len(terms) // _LOOKED_UP + 1]):
            return "words that its database has are not found in it"
        return ""

    def __del__(self) -> None:
        with suppress(sqlite3.Error, AttributeError):
            self._connection.close()


_SCHEMA: set[tuple[str, str, str | None]] = set()


def _schema() -> set[tuple[str, str, str | None]]:
    """What a new database has in its schema."""
    if not _SCHEMA:
        connection = new_database()
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
        self.database = Database(data, self.label, self.lengths)

    def ends(self, number: int) -> Sequence[int]:
        """Where the segments of object ``number`` end in its turn."""
        at = number - self.first
        return self._cuts.ends[self._cuts.starts[at] : self._cuts.starts[at + 1]]

    @property
    def starts(self) -> Sequence[int]:
        """The number of the first segment of each object, and of segments in all."""
        return self._cuts.starts
