"""How the text in a JSON line is escaped, and where each character of it lies in the raw bytes.

Everything here is total: it scans bytes and raises for no content, so it works as well on lines that are torn, glued,
not UTF-8 or not JSON. Every pass is linear in the length of the line.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Generator, Iterable, Iterator
from functools import cached_property
from json.decoder import scanstring  # type: ignore[attr-defined]  # left out of typeshed
from typing import Any, NamedTuple

ENVELOPE: frozenset[bytes] = frozenset(
    b"""
    type subtype role kind id uuid parentUuid logicalParentUuid parentId parent_id sessionId session_id leafUuid
    messageId message_id requestId request_id promptId prompt_id toolUseID parentToolUseID tool_use_id
    sourceToolAssistantUUID sourceToolUseID call_id callId tool_call_id toolCallId parentToolCallId action_id itemId
    item_id turn_id turnId turnStep stepUuid thread_id threadId agentId agent_id response_id llm_response_id event_id
    interactionId clientRequestId serviceRequestId apiCallId providerCallId client_id hookInvocationId reasoningId
    timestamp backupTime startTime lastUpdated started_at completed_at created_at resumeTime event.timestamp
    version cliVersion cli_version copilotVersion protocol_version cwd gitBranch userType entrypoint slug
    model modelId modelAlias model_provider model_provider_id service_tier inference_geo stop_reason stop_sequence
    finish_reason originator permissionMode approval_policy system_fingerprint
    signature thoughtSignature thought_signature encrypted_content encryptedContent reasoningOpaque
    backupFileName projectHash systemPromptHash toolsHash commit_hash media_type mimeType mime_type
    """.split(),
)
"""Keys whose strings a client writes for itself: what a record is, whose it is, when and by which release.

Chosen by going through every key in transcripts of eight clients: a key stands here if what it holds is an identifier,
a clock, a release, a fixed word or an opaque blob, wherever in the line it stands. A key that may also hold words of
a person, a model or a tool (``name``, ``path``, ``command``, ``source``, ``data``, ``url``, ``status``, ``title``) does
not: finding too much is better than missing a quotation.
"""

_BODY = rb'[^"\\]*+(?:\\.[^"\\]*+)*+'
# A key, with its value where that is a string; or a string alone; or a bracket. What is torn has no quotation mark.
_TOKEN = re.compile(
    rb'"(' + _BODY + rb')"[ \t\r\n]*+:(?:[ \t\r\n]*+"(' + _BODY + rb')("?))?|"(' + _BODY + rb')("?)|([\[{])|[\]}]',
    re.DOTALL,
)
_KEY, _ALONE_END, _OPENS = 1, 5, 6
"""The last group of a key, of a string alone and of an opening bracket; a key with a string has 3, the rest none."""
_GOES_ON = re.compile(rb"[ \t\r\n]*+(?:[],}]|\Z)")
# A line of a document printed over many lines: a member or an element, all of it.
_MEMBER = re.compile(
    rb'\s*+(?:"' + _BODY + rb'"\s*+:\s*+)?(?:"' + _BODY + rb'"\s*+,?|[\[{])\s*+\Z',
    re.DOTALL,
)
# How a line of JSON begins. `[INFO] said "yes"` does not: an array that starts with a scalar goes on as one.
_BEGINS = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*+(?:\{\s*+(?:[\"}]|\Z)"
    rb"|\[\s*+(?:[\"{[]|\Z|\]|(?:-?[0-9][-+.0-9eE]*+|true|false|null)\s*+(?:,|\]\s*+\Z|\Z)))",
)
# A token of a value that has been parsed, so that nothing is torn: a key, a string, a bracket, or another scalar.
_PARSED = re.compile(
    rb'"(' + _BODY + rb')"[ \t\r\n]*+:|"(' + _BODY + rb')"|([\[{])|([\]}])|([^\s\[\]{},:"]++)',
    re.DOTALL,
)
_PARSED_KEY, _PARSED_STRING, _PARSED_OPENS, _PARSED_CLOSES = 1, 2, 3, 4
_IN_OBJECT = -2
_MOST_LEVELS = 1_000_000
_OPENING_BRACE = 0x7B

_ESCAPE = re.compile(
    r"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|([\"\\/bfnrt]))",
)
_SHORT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_SURROGATE = re.compile("[\ud800-\udfff]")


class Literal(NamedTuple):
    """Where one string lies in a line: the raw bytes [start, end) between its quotes."""

    start: int
    end: int
    key: bytes
    """The raw bytes of the nearest key it belongs to; b"" where there is none."""
    plain: bool = False
    """Whether the bytes are text as they stand, without JSON escapes."""


def decode(raw: bytes) -> str:
    """Return the inside of a JSON string literal, or any bytes, as text.

    Escapes are decoded in one pass, so an escaped backslash before an ``n`` stays a backslash and an ``n``. Surrogate
    pairs are joined; lone surrogates and invalid UTF-8 become U+FFFD; an invalid escape stays as it stands. The text
    can always be encoded as UTF-8.
    """
    text = raw.decode("utf-8", "replace")
    if b"\\" not in raw:
        return text
    try:
        decoded, end = scanstring(text + '"', 0, False)  # noqa: FBT003 - control characters are let be
    except ValueError:
        return _ESCAPE.sub(_unescaped, text)
    if end != len(text) + 1:  # a bare quotation mark inside
        return _ESCAPE.sub(_unescaped, text)
    return _SURROGATE.sub("\ufffd", decoded) if b"\\u" in raw else decoded


def _unescaped(escape: re.Match[str]) -> str:
    high, low, unit, short = escape.groups()
    if short is not None:
        return _SHORT.get(short, short)
    if high is not None:
        return chr(0x10000 + ((int(high, 16) & 0x3FF) << 10) + (int(low, 16) & 0x3FF))
    code = int(unit, 16)
    return "\ufffd" if 0xD800 <= code <= 0xDFFF else chr(code)  # noqa: PLR2004 - the surrogates


# Stretches of bytes in which every character takes the same number of bytes: the rows of well-formed UTF-8 (Unicode
# Standard, table 3-7) by their number of bytes, then escapes. What is left is single characters: long escapes; a
# broken sequence, which is one U+FFFD for its longest valid beginning, as `bytes.decode` has it; an unpaired backslash.
_UTF8 = (
    rb"(?:[\xc2-\xdf][\x80-\xbf]){1,%(most)d}",
    rb"(?:(?:\xe0[\xa0-\xbf]|\xed[\x80-\x9f]|[\xe1-\xec\xee\xef][\x80-\xbf])[\x80-\xbf]){1,%(most)d}",
    rb"(?:(?:\xf0[\x90-\xbf]|\xf4[\x80-\x8f]|[\xf1-\xf3][\x80-\xbf])[\x80-\xbf]{2}){1,%(most)d}",
)
_BROKEN = (
    rb"\xe0[\xa0-\xbf]|\xed[\x80-\x9f]|[\xe1-\xec\xee\xef][\x80-\xbf]"
    rb"|(?:\xf0[\x90-\xbf]|\xf4[\x80-\x8f]|[\xf1-\xf3][\x80-\xbf])[\x80-\xbf]?|."
)
_LONG_ESCAPES = rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}"
_WIDTHS = (0, 1, 2, 3, 4, 2)  # bytes a character, by the number of the group; no group is one character, however wide
_MOST_CHARACTERS = 4096  # in a stretch
_STRETCHES_A_MARK = 64


class _Scanner:
    """The patterns for one kind of text, compiled when they are used: one stretch, measured by its group, and many."""

    def __init__(self, stretches: tuple[bytes, ...], singles: bytes) -> None:
        self._bounded = [stretch % {b"most": _MOST_CHARACTERS} for stretch in stretches]
        self._singles = singles

    @cached_property
    def stretch(self) -> re.Pattern[bytes]:
        one = b"|".join([*(b"(%b)" % stretch for stretch in self._bounded), self._singles])
        return re.compile(one, re.DOTALL)

    @cached_property
    def many(self) -> re.Pattern[bytes]:
        # No groups, and no possessive repeats of anything that can fail halfway: releases of CPython's `re` have lost
        # the place in either.
        many = b"|".join([*self._bounded, self._singles])
        return re.compile(b"(?:%b){1,%d}" % (many, _STRETCHES_A_MARK), re.DOTALL)


_PLAIN_SCANNER = _Scanner((rb"[\x00-\x7f]{1,%(most)d}", *_UTF8), _BROKEN)
_ESCAPED_SCANNER = _Scanner(
    (rb"[\x00-\x5b\x5d-\x7f]{1,%(most)d}", *_UTF8, rb'(?:\\["\\/bfnrt]){1,%(most)d}'),
    _LONG_ESCAPES + b"|" + _BROKEN,
)


class Mapped:
    """Decoded text, and the way from its characters back to the raw bytes.

    Args:
        raw: the bytes to decode: the inside of a literal.
        offset: where ``raw`` begins in the line, so that ranges are ranges of the line.
        plain: take the bytes as text as they stand, without escapes.

    """

    __slots__ = ("_bytes", "_chars", "_identical", "_offset", "_plain", "_raw", "text")

    def __init__(self, raw: bytes, *, offset: int = 0, plain: bool = False) -> None:
        self._plain = plain
        self.text = self._decoded(raw)
        self._raw = raw
        self._offset = offset
        self._identical = raw.isascii() and (plain or b"\\" not in raw)
        self._chars = array("Q")
        self._bytes = array("Q")

    def raw_range(self, start: int, end: int) -> tuple[int, int]:
        """Return the raw bytes [raw_start, raw_end) which the characters [start, end) came from.

        A range never cuts an escape, a surrogate pair or a code point. Raises ``IndexError`` unless
        0 <= start <= end <= the number of characters.
        """
        if not 0 <= start <= end <= len(self.text):
            raise IndexError(f"characters {start} to {end} of {len(self.text)}")
        first = self._byte_of(start)
        return self._offset + first, self._offset + (first if end == start else self._byte_of(end))

    def _byte_of(self, char: int) -> int:
        if self._identical:
            return char
        if not self._chars:
            self._mark()
        at = bisect_right(self._chars, char) - 1
        seen = self._chars[at]
        for stretch in self._scanner.stretch.finditer(self._raw, self._bytes[at]):
            width, count = _measure(stretch)
            if seen + count > char:
                return stretch.start() + (char - seen) * width
            seen += count
        return len(self._raw)

    def _mark(self) -> None:
        """Note the place of a character every so many stretches: enough to find any other from there."""
        self._chars.append(0)
        self._bytes.append(0)
        for many in self._scanner.many.finditer(self._raw):
            self._chars.append(self._chars[-1] + len(self._decoded(many[0])))
            self._bytes.append(many.end())

    @property
    def _scanner(self) -> _Scanner:
        return _PLAIN_SCANNER if self._plain else _ESCAPED_SCANNER

    def _decoded(self, raw: bytes) -> str:
        return raw.decode("utf-8", "replace") if self._plain else decode(raw)


def _measure(stretch: re.Match[bytes]) -> tuple[int, int]:
    """Return the bytes a character of a stretch takes, and how many characters the stretch has."""
    length = stretch.end() - stretch.start()
    width = _WIDTHS[stretch.lastindex or 0]
    return (width, length // width) if width else (length, 1)


def mapped(raw: bytes, literal: Literal) -> Mapped:
    """Return the text of a literal of the line ``raw``; its ranges are ranges of ``raw``."""
    return Mapped(raw[literal.start : literal.end], offset=literal.start, plain=literal.plain)


def strings(raw: bytes, without: frozenset[bytes] = frozenset()) -> Iterator[Literal]:
    """Yield every string of a line that is a value, in order; keys are not values.

    A string in an array has the key of the array. A literal that the end of the line cuts off reaches to that end (the
    line feed, and a CR before it, left out). Where a record breaks off inside a string and another begins on the same
    line, the string ends there. A line that is no JSON, or has no string, is one plain literal under the key b"",
    without its line ending; a blank one yields nothing. A line that is a member or an element of a document printed
    over many lines counts as JSON. Strings under a key in ``without`` are left out.
    """
    end = len(raw.removesuffix(b"\n").removesuffix(b"\r"))
    found = is_json_like(raw) and (yield from _literals(raw, end, without))
    if not found and not raw.isspace() and end:
        yield Literal(0, end, b"", plain=True)


_Branch = dict[Any, Any]
"""What is looked for below a place: further branches by key or index, and under ``None`` the path that ends there."""


def located(raw: bytes, paths: Iterable[tuple[str | int, ...]]) -> dict[tuple[str | int, ...], tuple[int, int]]:
    """Return where the scalars at ``paths`` lie in a line that is one JSON value: the raw bytes, of strings the inside.

    Of a key that an object has twice the last counts, as it does for a parser.
    """
    root: _Branch = {}
    for path in paths:
        branch = root
        for step in path:
            branch = branch.setdefault(step, {})
        branch[None] = path
    return dict(_located(raw, root)) if root else {}


def _located(raw: bytes, root: _Branch) -> Iterator[tuple[tuple[str | int, ...], tuple[int, int]]]:
    below: _Branch | None = root  # of the next value
    holder: _Branch | None = None  # of the array or object around it
    index = -1  # of the last value in an array; -2 in an object
    outer: list[tuple[_Branch | None, int]] = []
    for token in _PARSED.finditer(raw):
        kind = token.lastindex or 0
        if kind == _PARSED_KEY:
            below = holder.get(decode(token[kind])) if holder else None
            continue
        if kind == _PARSED_CLOSES:
            holder, index = outer.pop()
            continue
        if outer and index > _IN_OBJECT:
            index += 1
            below = holder.get(index) if holder else None
        if kind == _PARSED_OPENS:
            outer.append((holder, index))
            holder, index = below, (_IN_OBJECT if token[kind] == b"{" else -1)
        elif below and None in below:
            yield below[None], token.span(kind)


def is_json_like(raw: bytes) -> bool:
    """Whether a line begins as one of JSON, or is a member or an element of a document printed over many lines."""
    return _BEGINS.match(raw) is not None or _MEMBER.match(raw) is not None


def _literals(raw: bytes, end: int, without: frozenset[bytes]) -> Generator[Literal, None, bool]:
    """The strings of a line of JSON; returns whether there was any, those left out included."""
    keys = _Keys()
    at = 0
    found = False
    while at < end:
        for token in _TOKEN.finditer(raw, at, end):
            kind = token.lastindex
            if kind is None or kind == _OPENS:
                keys.bracket(opening=kind is not None)
                continue
            if kind != _ALONE_END:
                keys.key = token[_KEY]
                if kind == _KEY:
                    continue
            found = True
            start, stop = token.span(kind - 1)
            if start < stop and raw[stop - 1] == _OPENING_BRACE and not _GOES_ON.match(raw, token.end(), end):
                # This quotation mark opens the first key of the next record.
                at = stop - 1
                if keys.key not in without:
                    yield Literal(start, at, keys.key)
                break
            if keys.key not in without:
                yield Literal(start, stop if token[kind] else end, keys.key)
        else:
            break
    return found


class _Keys:
    """The key that holds at a place of a line, through nested arrays and objects."""

    __slots__ = ("_beyond", "_outer", "key")

    def __init__(self) -> None:
        self.key = b""
        self._outer: list[bytes] = []
        self._beyond = 0  # levels too deep to note: a flood of brackets must not take memory eight times its size

    def bracket(self, *, opening: bool) -> None:
        if opening and len(self._outer) < _MOST_LEVELS:
            self._outer.append(self.key)
        elif opening:
            self._beyond += 1
        elif self._beyond:
            self._beyond -= 1
        elif self._outer:
            self.key = self._outer.pop()
