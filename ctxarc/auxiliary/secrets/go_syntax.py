r"""Regular expressions of Go, in which gitleaks' rules are written, as Python has them; what Python lacks, by name."""

from __future__ import annotations

import re

_LACKING = (
    (re.compile(r"\\[pP]"), r"\p, a class of Unicode characters"),
    (re.compile(r"\\Q"), r"\Q...\E, quoted text"),
    (re.compile(r"\\C"), r"\C, a single byte"),
    (re.compile(r"\\x\{"), r"\x{...}, a character by its code"),
    (re.compile(r"\(\?[a-zA-Z]*U"), "(?U), which makes repeats lazy"),
    (re.compile(r"\(\?-[a-zA-Z]+\)"), "(?-...) that turns a flag off to the end of a group"),
)
_CLASS = re.compile(r"\[:\^?[a-z]+:\]")
_FLAGS = re.compile(r"\(\?[aiLmsux]+\)")
_NAMED = re.compile(r"\(\?<([A-Za-z_])")
_SET_SIGN = re.compile(r"(\\.)|([\[&|~])", re.DOTALL)
"""An escape, or what Python may one day take for an operation on sets."""
_TOKEN = re.compile(r"\\.|\[|\(\?<?[A-Za-z!=-]*\)?|.", re.DOTALL)


class NoPythonSyntaxError(Exception):
    """An expression of Go that Python has no counterpart of: what it is, and at which character."""

    def __init__(self, feature: str, at: int) -> None:
        super().__init__(f"{feature}, at character {at}, is known to Go and not to Python")
        self.feature = feature
        self.at = at


def in_python(source: str) -> str:
    r"""The same expression as Python writes it: ``\z`` is ``\Z``, ``(?<name>`` is ``(?P<name>``.

    Raises:
        NoPythonSyntaxError: there is no such.

    """
    parts: list[str] = []
    at = 0
    while at < len(source):
        if source[at] == "[":
            end = _end_of_class(source, at)
            parts.append("[" + _SET_SIGN.sub(lambda each: each[1] or "\\" + each[2], source[at + 1 : end]))
        else:
            end = at + len(_piece(source, at))
            parts.append(_translated(source, at, end))
        at = end
    return "".join(parts)


def _piece(source: str, at: int) -> str:
    match = _TOKEN.match(source, at)
    return match[0] if match else source[at]


def _translated(source: str, at: int, end: int) -> str:
    for pattern, feature in _LACKING:
        if pattern.match(source, at):
            raise NoPythonSyntaxError(feature, at)
    piece = source[at:end]
    if piece == r"\z":
        return r"\Z"
    if _FLAGS.fullmatch(piece) and not _only_flags(source[:at]):
        raise NoPythonSyntaxError(f"{piece} that is not at the beginning", at)
    return f"(?P<{piece[3:]}" if _NAMED.match(source, at) else piece


def _only_flags(before: str) -> bool:
    return not _FLAGS.sub("", before)


def _end_of_class(source: str, at: int) -> int:
    """Where the class that begins at ``at`` ends."""
    end = at + 1 + source.startswith("^", at + 1)
    end += source.startswith("]", end)
    while end < len(source) and source[end] != "]":
        if _CLASS.match(source, end):
            raise NoPythonSyntaxError("[:...:], a class of POSIX", end)
        for pattern, feature in _LACKING[:1] + _LACKING[3:4]:
            if pattern.match(source, end):
                raise NoPythonSyntaxError(feature, end)
        end += 2 if source[end] == "\\" else 1
    return min(end + 1, len(source))
