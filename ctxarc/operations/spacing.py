"""Text in which every run of white space is one blank, and the way back to the text itself.

White space is that of ASCII. A no-break space is a character of its own: it is put there to tell something.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

BLANKS = " \t\n\r\x0b\x0c"
"""What counts as white space."""
_TO_BLANK = bytes.maketrans(BLANKS.encode(), b" " * len(BLANKS))
_RUN = re.compile(rb"[^ \t\n\r\x0b\x0c]+")


def spaced(data: bytes) -> bytes:
    """UTF-8 with each run of white space made one blank: a few passes over it, whatever the runs."""
    data = data.translate(_TO_BLANK)
    while b"  " in data:
        data = data.replace(b"  ", b" ")
    return data


class Spaced:
    """A text with each run of white space made one blank.

    Attributes:
        data: the text so, as UTF-8.

    """

    def __init__(self, text: str) -> None:
        self._bytes = text.encode()
        self.data = spaced(self._bytes)

    def places(self, spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        """Where in the text, in characters, the ``spans`` of :attr:`data` stand.

        They must begin and end with what is no blank, be in order, and not overlap.
        """
        way = _Way(self._bytes)
        at = before = 0
        for start, end in spans:
            before += start - at - self.data.count(b" ", at, start)
            inside = end - start - self.data.count(b" ", start, end)
            yield way.char_of(before), way.char_of(before + inside - 1, behind=True)
            before += inside
            at = end


class _Way:
    """From the number of a byte that is no white space to the character it belongs to, always onwards."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._runs = _RUN.finditer(data)
        self._run = next(self._runs)
        self._before = self._byte = self._char = 0

    def char_of(self, number: int, *, behind: bool = False) -> int:
        """The character that byte ``number`` begins, or with ``behind`` the one behind the character that it ends."""
        while self._before + self._run.end() - self._run.start() <= number:
            self._before += self._run.end() - self._run.start()
            self._run = next(self._runs)
        byte = self._run.start() + number - self._before + behind
        self._char += len(self._data[self._byte : byte].decode())
        self._byte = byte
        return self._char
