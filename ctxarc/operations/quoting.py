"""A quotation, and where it stands in bytes and in text: as it is, or with other white space."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from ctxarc.errors import BadUsage
from ctxarc.operations.spacing import BLANKS, Spaced, spaced

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ctxarc.auxiliary.jsontext import Mapped

LONGEST = 1 << 16
"""Bytes of a quotation."""
_EXCERPT = 200
_BEFORE = 60
"""Characters of an excerpt that stand before the place."""


class Quotation:
    """What is quoted: its bytes, and its text if they are UTF-8."""

    def __init__(self, quote: str | bytes) -> None:
        self.data = _encoded(quote) if isinstance(quote, str) else quote
        if not self.data.strip():
            what = "white space alone stands" if self.data else "an empty quotation stands"
            raise BadUsage(f"{what} everywhere, so it is not looked for", hint="ctxarc cite ARCHIVE 'the very words'")
        if len(self.data) > LONGEST:
            message = f"the quotation is longer than {LONGEST:,} bytes, which are the most that is compared"
            raise BadUsage(message, hint="cite it in parts", limit=LONGEST)

    @cached_property
    def text(self) -> str:
        """The quotation as characters; what is not UTF-8 is a lone surrogate a byte, which no text has."""
        return self.data.decode("utf-8", "surrogateescape")

    @cached_property
    def is_text(self) -> bool:
        """Whether it can stand in text at all."""
        try:
            self.data.decode()
        except UnicodeDecodeError:
            return False
        return True


def _encoded(quote: str) -> bytes:
    try:
        return quote.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # a surrogate that stands for no byte
        return quote.encode("utf-8", "surrogatepass")


class Span(NamedTuple):
    """A place in a turn, and the text around it."""

    start: int
    end: int
    text: str


class Loose:
    """A quotation but for its white space.

    Attributes:
        least_bytes: a shorter string cannot hold it.

    """

    def __init__(self, text: str) -> None:
        self._data = spaced(text.strip(BLANKS).encode())
        words = self._data.decode().split(" ")
        self._rare = max(words, key=len)
        self.least_bytes = sum(map(len, words)) + len(words) - 1

    def count(self, text: str) -> int:
        """How many places it has in ``text``, none of which overlap."""
        return spaced(text.encode()).count(self._data) if self._rare in text else 0

    def spans(self, inside: Mapped) -> Iterator[Span]:
        """Those places."""
        folded = Spaced(inside.text)
        for first, last in folded.places(_every(folded.data, self._data)):
            yield Span(*inside.raw_range(first, last), _around(inside.text, first))


def _every(data: bytes, wanted: bytes) -> Iterator[tuple[int, int]]:
    """Every place of ``wanted`` in ``data`` that overlaps none before it."""
    start = data.find(wanted)
    while start >= 0:
        yield start, start + len(wanted)
        start = data.find(wanted, start + len(wanted))


def spans_of_bytes(raw: bytes, wanted: bytes) -> Iterator[Span]:
    """The places of ``wanted`` in the bytes of a turn."""
    for start, end in _every(raw, wanted):
        before = raw[max(0, start - 4 * _BEFORE) : start].decode("utf-8", "replace")[-_BEFORE:]
        behind = raw[start : start + 4 * _EXCERPT].decode("utf-8", "replace")
        yield Span(start, end, (before + behind)[:_EXCERPT])


def spans_of_text(inside: Mapped, wanted: str) -> Iterator[Span]:
    """The places of ``wanted`` in the text of a string."""
    first = inside.text.find(wanted)
    while first >= 0:
        last = first + len(wanted)
        yield Span(*inside.raw_range(first, last), _around(inside.text, first))
        first = inside.text.find(wanted, last)


def _around(text: str, first: int) -> str:
    """At most 200 characters of ``text`` with the beginning of the place among them."""
    start = max(0, min(first - _BEFORE, len(text) - _EXCERPT))
    return text[start : start + _EXCERPT]
