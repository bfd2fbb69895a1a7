"""Redaction on the way out: each secret of a turn replaced by ``[redacted:RULE]``, a line of JSON kept one.

The whole turn is looked at before a stretch of it is cut out, so that a stretch through a secret tells nothing of it.
What is held, its digests and its addresses are untouched.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

from ctxarc.auxiliary import projection
from ctxarc.auxiliary.jsontext import is_json_like
from ctxarc.auxiliary.secrets.defaults import DEFAULT_RULES
from ctxarc.auxiliary.secrets.rules_file import LARGEST, parse_rules
from ctxarc.auxiliary.vectors.projections import redacted_name
from ctxarc.errors import NoSuchSource
from ctxarc.model import Redaction
from ctxarc.operations.detecting import TIME_LIMIT, Detector
from ctxarc.preservation.files import named_faults

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ctxarc.auxiliary.secrets.rule import Rules
    from ctxarc.operations.secret_texts import Secret

# A string with its inside, or another scalar.
_TOKEN = re.compile(rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)|[^\s\[\]{},:"]++', re.DOTALL)
_ESCAPE = re.compile(rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)", re.DOTALL)


def read_rules(path: str | Path | None) -> Rules:
    """The rules in a file; the built-in ones where there is none.

    Raises:
        NoSuchSource: there is no such file.
        BadUsage, BadPattern: see :func:`parse_rules`.

    """
    if path is None:
        return DEFAULT_RULES
    where = Path(path)
    if not where.exists():
        raise NoSuchSource(f"{where}: no such file", hint="it holds rules, as gitleaks has them", source=str(where))
    with named_faults(where), where.open("rb") as stream:
        data = stream.read(LARGEST + 1)
        size = max(len(data), where.stat().st_size)
    return parse_rules(data.ljust(size, b" ") if len(data) > LARGEST else data, str(where))


class _Piece(NamedTuple):
    """Bytes of a turn that are replaced, and by what."""

    start: int
    end: int
    marker: bytes
    rule: str


class RedactedTurn:
    """A turn, its secrets, and what is shown of it.

    Attributes:
        raw: its bytes.
        secrets: what was found.
        pieces: what is replaced, in order; a secret that goes over several strings of a line is several.

    """

    def __init__(self, raw: bytes, secrets: Sequence[Secret]) -> None:
        self.raw, self.secrets = raw, secrets
        found = _pieces_of_json(raw, secrets) if secrets and is_json_like(raw) else map(_whole, secrets)
        self.pieces = list(_apart(found))
        self._ends = [piece.end for piece in self.pieces]

    def _touched(self, start: int, end: int) -> Iterator[_Piece]:
        for number in range(bisect_right(self._ends, start), len(self.pieces)):
            if self.pieces[number].start >= end:
                return
            yield self.pieces[number]

    def cut(self, start: int, end: int) -> bytes:
        """What is shown of the bytes ``start`` to ``end``."""
        parts = []
        at = start
        for piece in self._touched(start, end):
            parts += [self.raw[at : max(at, piece.start)], piece.marker]
            at = piece.end
        return b"".join([*parts, self.raw[at:end]])

    def within(self, start: int, end: int) -> tuple[Redaction, ...]:
        """What is replaced there: whole spans, of which a stretch may hold a part."""
        return tuple(Redaction(piece.start, piece.end, piece.rule) for piece in self._touched(start, end))

    def views(self, ends: Sequence[int], *, raw: bool) -> Iterator[tuple[int, int, str]]:
        """The segments that end at ``ends`` with their texts, as :func:`ctxarc.auxiliary.projection.views` has them."""
        data = self.cut(0, len(self.raw))
        places = list(self._places(ends))
        starts = [0, *places[:-1]]
        if raw:
            texts = [projection.raw_view(data[start:end]) for start, end in zip(starts, places, strict=True)]
        else:
            texts = [text for _, _, text in projection.views(data, places)]
        start = 0
        for number, (end, text) in enumerate(zip(ends, texts, strict=True)):
            is_inside = starts[number] == places[number] and end > start
            yield start, end, self.cut(start, end).decode("ascii").strip('"') if is_inside else text
            start = end

    def _places(self, ends: Sequence[int]) -> Iterator[int]:
        """Where the bytes at ``ends`` stand in what is shown; behind what replaces them."""
        number = grown = 0
        for end in ends:
            while number < len(self.pieces) and self.pieces[number].start < end:
                piece = self.pieces[number]
                grown += len(piece.marker) - (piece.end - piece.start)
                number += 1
            yield (max(end, self.pieces[number - 1].end) if number else end) + grown


class Redactor:
    """Redacts turns by ``rules``; processes for expressions of a user are ended with it.

    Args:
        rules: by which secrets are recognised.
        time_limit: seconds that an expression of a user may take on a turn.

    Raises:
        BadPattern, BadUsage: see :class:`Detector`.

    """

    def __init__(self, rules: Rules = DEFAULT_RULES, time_limit: float = TIME_LIMIT) -> None:
        self.digest = rules.digest
        self._detector = Detector(rules, time_limit)
        self.last = RedactedTurn(b"", ())
        """The turn that was redacted last."""

    def turn(self, raw: bytes) -> RedactedTurn:
        """A turn as it is shown.

        Raises:
            PatternTimeout: an expression of a user took longer than its limit.

        """
        if self.last.raw != raw:
            self.last = RedactedTurn(raw, self._detector.secrets([raw])[0])
        return self.last

    def projection(self, name: str) -> str:
        """The name of a projection whose texts are redacted: another one for other rules."""
        return redacted_name(name, self.digest)

    def close(self) -> None:
        """End the processes."""
        self._detector.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _marker(rule: str) -> bytes:
    return f"[redacted:{rule}]".encode("ascii")


def _whole(secret: Secret) -> _Piece:
    return _Piece(secret.start, secret.end, _marker(secret.rule.id), secret.rule.id)


def _apart(pieces: Iterator[_Piece]) -> Iterator[_Piece]:
    """The same without what lies in the piece before: escapes that two secrets share."""
    at = 0
    for piece in pieces:
        if piece.end > at:
            yield piece._replace(start=max(at, piece.start))
            at = piece.end


def _pieces_of_json(raw: bytes, secrets: Sequence[Secret]) -> Iterator[_Piece]:
    """What is replaced in a line of JSON: insides of strings, and other scalars by a string; never what is between."""
    number = 0
    for token in _TOKEN.finditer(raw):
        is_string = token.lastindex is not None
        start, end = token.span(1) if is_string else token.span()
        while number < len(secrets) and secrets[number].end <= start:
            number += 1
        if number == len(secrets):
            return
        at = number
        while at < len(secrets) and secrets[at].start < end:
            secret = secrets[at]
            if not is_string:
                yield _Piece(start, end, b'"' + _marker(secret.rule.id) + b'"', secret.rule.id)
                break
            first, last = _unescaped(raw, start, max(start, secret.start), min(end, secret.end))
            yield _Piece(first, last, _marker(secret.rule.id), secret.rule.id)
            at += 1


def _unescaped(raw: bytes, begin: int, start: int, end: int) -> tuple[int, int]:
    """A range of the inside of a string that begins at ``begin``, made wider so that it cuts no escape."""
    return _edge(raw, begin, start)[0], _edge(raw, begin, end)[1]


def _edge(raw: bytes, begin: int, place: int) -> tuple[int, int]:
    """The escape that ``place`` lies inside of; ``place`` twice where there is none."""
    for start in range(max(begin, place - 11), place):
        if raw[start] != 0x5C:  # noqa: PLR2004 - a backslash
            continue
        before = raw[begin:start]
        is_escaped = (len(before) - len(before.rstrip(b"\\"))) % 2
        escape = None if is_escaped else _ESCAPE.match(raw, start)
        if escape and escape.end() > place:
            return start, escape.end()
    return place, place
