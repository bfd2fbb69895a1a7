"""What a turn is as text: one JSON value, or which of the other things that are found in transcripts."""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Callable
from functools import cached_property


class Shape(enum.StrEnum):
    """The shapes of a turn. Every turn has exactly one."""

    JSON = "json"
    """One JSON value, white space around it allowed."""
    BLANK = "blank"
    """White space only, or nothing."""
    GLUED = "glued"
    """More than one JSON value, or an object that breaks off where another begins."""
    TORN = "torn"
    """Neither JSON nor glued, and no line feed at the end: most often still being written."""
    NOT_JSON = "not-json"
    """The rest."""


class _State(enum.Enum):
    WHOLE = enum.auto()
    UNFINISHED = enum.auto()
    BROKEN = enum.auto()


class _Pattern:
    """A pattern that is compiled when it is first matched: most captures meet no odd turn, and start faster so."""

    def __init__(self, source: bytes, flags: int = 0) -> None:
        self._source, self._flags = source, flags

    @cached_property
    def match(self) -> Callable[..., re.Match[bytes] | None]:
        return re.compile(self._source, self._flags).match


_BLANKS = " \t\r\n"
_BOM = b"\xef\xbb\xbf"
# Numbers stay text: nothing here needs their value, and Python refuses to convert very long ones.
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str)

_WS = rb"[ \t\r\n]*+"
_BODY = rb'[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+'
_STRING = rb'"' + _BODY + rb'"'
_NUMBER = rb"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][-+]?[0-9]++)?"
_KEY = _WS + _STRING + _WS + rb":"
_VALUE = _Pattern(
    _WS
    + rb"(?:(\[(?!" + _WS + rb"\])|\{(?=" + _KEY + rb")" + _KEY + rb")"
    + rb"|" + _STRING + rb"|" + _NUMBER + rb"|true|false|null|NaN|-?Infinity"
    + rb"|\[" + _WS + rb"\]|\{" + _WS + rb"\})",
)  # fmt: skip
_MORE = {ord("["): _Pattern(_WS + rb","), ord("{"): _Pattern(_WS + rb"," + _KEY)}
_CLOSE = {ord("["): _Pattern(_WS + rb"\]"), ord("{"): _Pattern(_WS + rb"\}")}
_WHITE = _Pattern(_WS)
# What the end of a line can leave of a token, with the comma or brace that goes before a key.
_CUT = _Pattern(
    _WS + rb"(?:[{,]" + _WS + rb")?"
    rb"(?:" + _STRING + _WS + rb'|"' + _BODY + rb"(?:\\(?:u[0-9a-fA-F]{0,3})?)?"
    rb"|-?(?:I|In|Inf|Infi|Infin|Infini|Infinit)?|[.eE][-+]?|t|tr|tru|f|fa|fal|fals|n|nu|nul|N|Na)?[\r\n]*+\Z",
)
_LOOSE_STRING = _Pattern(_WS + rb"[,{]?" + _WS + rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_CUT_WORD = _Pattern(
    _WS + rb"(?:[{,]" + _WS + rb")?(?:-|\.|[eE][-+]?|t|tr|tru|f|fa|fal|fals|n|nu|nul)?(?=\{)",
)
_OBJECT = _Pattern(rb'\{[ \t]*+(?:"|[\r\n]*+\Z)')
_QUOTED_OBJECT = 8  # how far before a closing quotation mark the brace is looked for that makes it an opening one


def shape_of(raw: bytes) -> Shape:
    """Return the shape of one turn, its line feed included. Raises for no content.

    JSON is what Python's ``json.loads`` reads, for any depth of nesting and any number of digits: UTF-8, a leading
    byte order mark ignored (RFC 8259, section 8.1), ``NaN`` and the infinities allowed, invalid UTF-8 and bare control
    characters in strings not. An object that breaks off just before a value, where another begins, cannot be told from
    one that holds the other, and is NOT_JSON or TORN.
    """
    if not raw or raw.isspace():
        return Shape.BLANK
    start = len(_BOM) if raw.startswith(_BOM) else 0
    try:
        text = (raw[start:] if start else raw).decode("utf-8", "surrogatepass")
        _, end = _DECODER.raw_decode(text, len(text) - len(text.lstrip(_BLANKS)))
        if not text[end:].strip(_BLANKS):
            return Shape.JSON
    except (ValueError, RecursionError):
        pass
    return _shape_of_odd(raw, start)


def _shape_of_odd(raw: bytes, start: int) -> Shape:
    state, end = _value(raw, start)
    if state is _State.WHOLE:
        after = _white(raw, end)
        if after == len(raw) and _is_utf8(raw):
            return Shape.JSON
        if _follows(raw, end, after):
            return Shape.GLUED
    elif state is _State.BROKEN:
        again = _next_object(raw, _white(raw, start), end)
        if again is not None and _ends_well(raw, again):
            return Shape.GLUED
    return Shape.NOT_JSON if raw.endswith(b"\n") else Shape.TORN


def _follows(raw: bytes, end: int, after: int) -> bool:
    """Whether another value follows the one that ended at ``end``: `2026-01-02` is not three numbers."""
    if after == len(raw) or (after == end and raw[end - 1] not in b'}]"' and raw[after] not in b'{["'):
        return False
    if _value(raw, after)[0] is _State.WHOLE:
        return True
    return _OBJECT.match(raw, after) is not None and _ends_well(raw, after)


def _ends_well(raw: bytes, at: int) -> bool:
    """Whether what begins at ``at`` is objects up to the end of the line, the last one finished or not."""
    while True:
        state, end = _value(raw, at)
        if state is _State.UNFINISHED:
            return True
        if state is _State.WHOLE:
            after = _white(raw, end)
            if after == len(raw):
                return True
            again = after if _OBJECT.match(raw, after) else None
        else:
            again = _next_object(raw, at, end)
        if again is None:
            return False
        at = again


def _next_object(raw: bytes, at: int, broken: int) -> int | None:
    """Find where the next object begins, given that the one from ``at`` breaks off at ``broken``."""
    if raw[at : at + 1] != b"{":
        return None
    loose = _LOOSE_STRING.match(raw, broken)
    end = loose.end() if loose else broken
    for word in (_CUT_WORD.match(raw, broken), _CUT_WORD.match(raw, end)):
        if word and word.end() > at and _OBJECT.match(raw, word.end()):
            return word.end()
    # Broken off inside a string, the quotation mark that ends it is really the one of the next object's first key.
    quoted = raw.rfind(b"{", max(at + 1, end - _QUOTED_OBJECT), end)
    return quoted if quoted >= 0 and raw[quoted + 1 : end].strip() == b'"' else None


def _value(raw: bytes, at: int) -> tuple[_State, int]:
    """Read one value from ``at`` without recursion; return how it ended, and where."""
    open_ones = bytearray()
    while True:
        value = _VALUE.match(raw, at)
        if value is None:
            return _stopped(raw, at)
        at = value.end()
        if value[1] is not None:
            open_ones.append(value[1][0])
            continue
        while open_ones:
            more = _MORE[open_ones[-1]].match(raw, at)
            if more is not None:
                at = more.end()
                break
            close = _CLOSE[open_ones[-1]].match(raw, at)
            if close is None:
                return _stopped(raw, at)
            at = close.end()
            open_ones.pop()
        else:
            return _State.WHOLE, at


def _stopped(raw: bytes, at: int) -> tuple[_State, int]:
    return (_State.UNFINISHED if _CUT.match(raw, at) else _State.BROKEN), at


def _white(raw: bytes, at: int) -> int:
    white = _WHITE.match(raw, at)
    return white.end() if white else at


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return False
    return True
