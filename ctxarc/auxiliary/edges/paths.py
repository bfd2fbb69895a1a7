"""File paths that a turn mentions: as they stand in its texts, literally, and where.

What is taken for a path has a separator and a last part with an extension, so that ``and/or``, ``24/7`` and a name in a
package are none; or it is all of a string whose key says that it is a file's path. Paths are compared as they are
written: separators in a row are one ``/``, a ``.`` part and the case of a drive's letter do not count, and nothing
else is done to them. A relative path is no absolute one, and an address on the web is none of a file.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ctxarc.auxiliary.jsontext import ENVELOPE, mapped, strings

if TYPE_CHECKING:
    from collections.abc import Iterator

FILE_KEYS = frozenset({b"file_path", b"filePath", b"notebook_path", b"notebookPath", b"absolute_path"})
"""Keys of tools' arguments whose strings are paths of files, whatever is in them."""
_LONGEST = 4096
"""Characters of the longest path."""
_LONGEST_PART = 255

_RUN = re.compile(r"/[\w.~+@%/-]*+")  # from the first separator of a path on
_WINDOWS = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]:[\\/]++[A-Za-z0-9_.~+@%\\/-]++")
# A name with an extension, which has letters of one case: `exec.Command` is a name in a package.
_FILE = re.compile(
    r"(?P<stem>[\w.~+@%-]*)\.(?:[a-z][a-z0-9_]{0,11}|[A-Z][A-Z0-9]{0,11}|7z|(?P<digit>[1-9]))(?![A-Za-z0-9_])",
)
_ESCAPED = re.compile(r"[bfnrt]|u[0-9a-fA-F]{4}")  # what stands behind the backslash of JSON within a string
_DRIVE = re.compile(r"(?:[^A-Za-z0-9]|\A)?[A-Za-z]:\Z")
_LETTER = re.compile(r"[^\W\d_]")
_NO_START = frozenset("$*?)]}>")
"""Characters right before what then is only the end of a path that is made at run time."""
_SEPARATORS = re.compile(r"[/\\]+")
_HEAD = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.~+@%-")
"""What the part before the first separator is made of: letters of other scripts stand before a path in running text."""


class Mention(NamedTuple):
    """A path, in the one spelling that it is compared by, and the raw bytes of the turn where it stands first."""

    path: str
    start: int
    end: int


def mentions(turn: bytes) -> Iterator[Mention]:
    """Yield each path that a turn mentions once, at its first place, in order. Linear in the turn."""
    seen: set[str] = set()
    for literal in strings(turn, ENVELOPE):
        raw = turn[literal.start : literal.end]
        if b"/" not in raw and b"\\\\" not in raw and not (literal.plain and b"\\" in raw):
            continue
        text = mapped(turn, literal)
        for path, start, end in _mentioned(text.text, literal.key):
            if path not in seen:
                seen.add(path)
                yield Mention(path, *text.raw_range(start, end))


def _mentioned(text: str, key: bytes) -> Iterator[tuple[str, int, int]]:
    """The paths of one string under ``key``, with their characters."""
    if key in FILE_KEYS and len(text) <= _LONGEST and text.isprintable() and _SEPARATORS.search(text):
        yield spelled(text), 0, len(text)
        return
    found = [*_posix(text), *(_windows(text) if ":\\" in text else ())]
    for start, end in sorted(found):
        yield spelled(text[start:end]), start, end


def _posix(text: str) -> Iterator[tuple[int, int]]:
    for run in _RUN.finditer(text):
        end = _end_of_file(text, *run.span())
        if end:
            start = _start(text, run.start())
            if start is not None and end - start <= _LONGEST:
                yield start, end


def _windows(text: str) -> Iterator[tuple[int, int]]:
    for run in _WINDOWS.finditer(text):
        end = _end_of_file(text, *run.span())
        # Without a backslash it is found from its first slash on.
        if end and end - run.start() <= _LONGEST and "\\" in run[0]:
            yield run.start(), end


def _end_of_file(text: str, start: int, end: int) -> int:
    """Where a run of parts ends that names a file; 0 where it names none."""
    while end > start and text[end - 1] in ".~+@%-":
        end -= 1
    last = max(text.rfind("/", start, end), text.rfind("\\", start, end)) + 1
    file = _FILE.match(text, last, end) if end - last <= _LONGEST_PART else None
    if file is None or not (_LETTER.search(file["stem"]) or not file["digit"]):
        return 0
    return file.end()


def _start(text: str, slash: int) -> int | None:
    """Where the path begins whose first separator stands at ``slash``; ``None`` where that is not in the text."""
    start = slash
    while start and text[start - 1] in _HEAD and slash - start < _LONGEST_PART:
        start -= 1
    before = text[start - 1] if start else " "
    if before == "\\":
        escape = _ESCAPED.match(text, start, slash)
        return escape.end() if escape else start
    if before == ":":
        if start == slash:
            return start - 2 if _DRIVE.match(text, max(start - 3, 0), start) else None
        return None if text[start:slash].isdigit() else start
    return None if before in _NO_START or (start == slash and before.isalnum()) else start


def spelled(path: str) -> str:
    """The spelling of a path by which it is compared."""
    parts = _SEPARATORS.sub("/", path).split("/")
    kept = [part for index, part in enumerate(parts) if part != "."] or parts
    if re.fullmatch("[A-Za-z]:", kept[0]):
        kept[0] = kept[0].lower()
    return "/".join(kept)
