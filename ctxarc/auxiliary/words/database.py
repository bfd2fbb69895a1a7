"""The database of a part: an FTS5 index of SQLite without content, in memory, which is not trusted.

A damaged one is refused by name whatever its checksums say: other tables than those of FTS5, segments that are not
there, more words than there are.
"""

from __future__ import annotations

import sqlite3
from array import array
from contextlib import suppress
from typing import TYPE_CHECKING

from ctxarc.auxiliary.words.tokens import TOKENIZER
from ctxarc.errors import IndexMismatch, MissingPackage

if TYPE_CHECKING:
    from collections.abc import Sequence

_TABLE = f"CREATE VIRTUAL TABLE words USING fts5(text, content='', tokenize='{TOKENIZER}')"
_FOUND = "CREATE VIRTUAL TABLE temp.found USING fts5vocab(main, words, instance)"
_COUNTED = "CREATE VIRTUAL TABLE temp.counted USING fts5vocab(main, words, row)"
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


def lengths_in(database: sqlite3.Connection, segments: int) -> array[int]:
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
        if list(lengths_in(self._connection, self._segments)) != list(self._lengths):
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
