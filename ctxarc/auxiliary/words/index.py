"""The word index of a scheme: its parts in ``words/SCHEME``, beside the index of segments that they are of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxarc.auxiliary.projection import PROJECTION, text_name, views
from ctxarc.auxiliary.segments import index
from ctxarc.auxiliary.segments.index import Index, is_partition
from ctxarc.auxiliary.words.part import MAGIC, SUFFIX, PartWriter, WordPart
from ctxarc.preservation.objects import lengths_of
from ctxarc.preservation.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from ctxarc.auxiliary.segments.part import Part

__all__ = ["FOLDER", "MAGIC", "PartWriter", "Words", "add", "built", "check", "is_part", "stored_bytes"]

FOLDER = "words"
_GATHERED_BYTES = 8 << 20
"""Bytes of the parts whose words are looked up anew together with those behind them."""
_ROWS = 8192
"""Rows of the table of objects that are read at a time."""
_TURN = 64
"""Bytes that a turn counts beside its own."""


class Words(Index):
    """The word index of a scheme, open for reading; empty where there is none. See :class:`Index`."""

    folder = FOLDER
    suffix = SUFFIX
    part_type: type[Part] = WordPart

    @property
    def word_parts(self) -> list[WordPart]:
        """Its parts."""
        return [part for part in self.parts if isinstance(part, WordPart)]

    def texts(self, number: int) -> Sequence[int]:
        """The names of the texts of an object's segments; empty where it is not held."""
        part = self.part_of(number)
        return part.texts(number) if isinstance(part, WordPart) else ()

    def begin(self, record: Record) -> int:
        """The object to begin at, so that small parts before what is new are gathered with it; all, where none is new.

        A part is small that has less than twice the bytes of turns behind it, as those of an index of segments are;
        since its words have to be looked up anew, only as many are taken as do not take long.
        """
        objects = record.head.objects
        first = next(self.missing(objects), objects)
        if first == objects:
            return objects
        size, stored = _bytes(record, first, objects), 0
        for part in reversed([part for part in self.parts if part.first < first]):
            more = _bytes(record, part.first, part.first + part.objects)
            stored += part.stored_bytes
            if part.first + part.objects != first or more >= 2 * size or stored > _GATHERED_BYTES:
                break
            first, size = part.first, size + more
        return first


def _bytes(record: Record, first: int, end: int) -> int:
    """Bytes of turns, and some for each."""
    total = 0
    for at in range(first, end, _ROWS):
        lengths = lengths_of(record.objects.rows(at, min(_ROWS, end - at)))
        total += sum(lengths) + _TURN * len(lengths)
    return total


def is_part(path: str) -> bool:
    """Whether ``path``, in an archive, is the place of a part of a word index, finished or not."""
    return index.is_part(path, Words)


def built(archive: Path) -> list[str]:
    """The schemes that have a word index in the archive, in order of names."""
    return index.built(archive, Words)


def stored_bytes(archive: Path, scheme: str) -> int:
    """Bytes of the files of a word index, which is not opened and may be damaged."""
    folder = archive / FOLDER / scheme
    if folder.is_symlink() or not folder.is_dir():
        return 0
    files = (path for path in folder.iterdir() if path.suffix == SUFFIX and is_part(f"{FOLDER}/{scheme}/{path.name}"))
    return sum(path.lstat().st_size for path in files)


def add(archive: Path, scheme: str, new: Mapping[str, bytes], kept: Sequence[Part]) -> None:
    """Write new parts, flushed; then remove all but them and those ``kept``."""
    index.put(archive, scheme, new, kept, Words)


def check(archive: Path, scheme: str, *, quick: bool) -> Iterator[tuple[str, str]]:
    """What is wrong with a word index that opens: (path, message). ``quick`` inflates nothing, and compares no text."""
    words = Words(archive, scheme)
    with Record(archive) as record:  # opened behind the indexes, which never cover more than there is
        for part in words.word_parts:
            message = index.misfit(record, part, of_scheme=False)
            if not message and not quick:
                message = part.database.check() or _wrong_texts(record, part)
            if message:
                yield part.label, f"{part.label}: {message}"


def _wrong_texts(record: Record, part: WordPart) -> str:
    if part.about.projection != PROJECTION:
        return f"its words are of texts by {part.about.projection}, and this release looks up those by {PROJECTION}"
    for number in range(part.first, part.first + part.objects):
        row = record.objects.row(number)
        if part.digest(number) != row.sha256:
            return f"object {number} was another turn when its words were looked up"
        ends = part.ends(number)
        if ends and not is_partition(ends, row.length):
            return f"the segments of object {number} do not cover its {row.length} bytes once each"
        texts = [text_name(text) for _, _, text in views(bytes(record.turn_bytes(number)), ends)] if ends else []
        if list(part.texts(number)) != texts:
            return f"the names of the texts of object {number} are not those of its segments"
    return ""
