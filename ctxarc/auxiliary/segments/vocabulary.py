"""The words of a text, where they lie: a copy of its bytes, of the same length, with blanks for all that is no word.

A word is a run of letters, digits and low lines, ASCII letters without case. Scripts that put no spaces between words
are counted by pairs of characters: each character is a word that stands for itself and the next one.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ctxarc.auxiliary.jsontext import decode

_WORD_BYTES = frozenset(b"0123456789_abcdefghijklmnopqrstuvwxyz")
_ASCII = bytes(range(0x80))
_BLANKS = bytes(
    byte if byte in _WORD_BYTES else byte | 0x20 if 0x41 <= byte <= 0x5A else 0x20  # noqa: PLR2004 - A to Z
    for byte in range(256)
)
_LETTERS = _BLANKS[:0x80] + bytes(range(0x80, 0x100))
_FEW = 10
"""A text is taken for one of ASCII words where less than one byte in so many is none; the others are blanks then."""
_FREQUENT = (b"\\\\", b"\\n", b"\\t")
_RARE = re.compile(rb"\\[rbf]")
_ESCAPED = re.compile(rb"(?:\\u[0-9a-fA-F]{4})+")
_FOREIGN = re.compile(rb"[\x80-\xff]+")
_UNSPACED = (
    (0x0E00, 0x0F00),  # Thai, Lao
    (0x1000, 0x10A0),  # Myanmar
    (0x1780, 0x1800),  # Khmer
    (0x3005, 0x3008),
    (0x3040, 0x3100),  # Hiragana, Katakana
    (0x3400, 0x4DC0),
    (0x4E00, 0xA000),  # Chinese
    (0xF900, 0xFB00),
    (0x20000, 0x40000),
)
_BASE = 0xDF
"""Values of a byte that is neither a blank nor a control character."""


def blanked(raw: bytes) -> bytes:
    """The words of ``raw`` at their places and blanks between them; as many bytes as ``raw``."""
    if b"\\" in raw:
        for escape in _FREQUENT:
            raw = raw.replace(escape, b"  ")
        raw = _RARE.sub(b"  ", raw)
        if b"\\u" in raw:
            raw = _ESCAPED.sub(lambda run: _escaped(run[0]), raw)
    if raw.isascii() or _FEW * len(raw.translate(None, _ASCII)) < len(raw):
        return raw.translate(_BLANKS)
    return _FOREIGN.sub(lambda run: _foreign(run[0]), raw.translate(_LETTERS))


@lru_cache(maxsize=4096)
def _foreign(run: bytes) -> bytes:
    """Bytes that are not ASCII: UTF-8, or not."""
    text = run.decode("utf-8", "surrogateescape")
    return b"".join(
        _placed(char, after, char.encode("utf-8", "surrogateescape"))
        for char, after in zip(text, text[1:] + " ", strict=True)
    )


@lru_cache(maxsize=4096)
def _escaped(run: bytes) -> bytes:
    """Escapes of four digits each; a surrogate pair is one character."""
    text = decode(run)
    widths = [12 if ord(char) > 0xFFFF else 6 for char in text]  # noqa: PLR2004 - beyond the first plane
    return b"".join(
        _placed(char, after, b"u%x" % ord(char)).rjust(width, b"0" if char.isalnum() else b" ")
        for char, after, width in zip(text, text[1:] + " ", widths, strict=True)
    )


def _placed(char: str, after: str, word: bytes) -> bytes:
    code = ord(char)
    if any(first <= code < end for first, end in _UNSPACED):
        pair = code * 31 + ord(after)
        return bytes((0x21 + pair % _BASE, 0x21 + pair // _BASE % _BASE)).rjust(len(word))
    return word if char.isalnum() else b" " * len(word)
