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


_SYMBOLS = (
    *((0x80, 0xAA), (0xAB, 0xB5), (0xB6, 0xBA), (0xBB, 0xC0), (0xD7, 0xD8), (0xF7, 0xF8)),
    *((0x2000, 0x2C00), (0x2E00, 0x2E80), (0x3000, 0x3005), (0x3008, 0x3021), (0x3030, 0x3031)),
    *((0xD800, 0xF900), (0xFE10, 0xFE70), (0xFF00, 0xFF10), (0xFF1A, 0xFF21), (0xFF3B, 0xFF41), (0xFF5B, 0xFF66)),
    *((0xFFF0, 0x10000), (0x1F000, 0x1FC00)),
)
"""What is no letter and no digit beyond ASCII; listed here since Python's own tables change with its releases."""
_SHORT = 64
"""Bytes of the longest run whose words are kept for the next one like it."""


def blanked(raw: bytes) -> bytes:
    """The words of ``raw`` at their places and blanks between them; as many bytes as ``raw``."""
    if b"\\" in raw:
        for escape in _FREQUENT:
            raw = raw.replace(escape, b"  ")
        raw = _RARE.sub(b"  ", raw)
    plain = raw.isascii() or _FEW * len(raw.translate(None, _ASCII)) < len(raw)
    if b"\\u" not in raw:
        return _words(raw, plain=plain)
    parts = []
    at = 0
    for run in _ESCAPED.finditer(raw):
        parts += [_words(raw[at : run.start()], plain=plain), _escaped(run[0])]
        at = run.end()
    return b"".join([*parts, _words(raw[at:], plain=plain)])


def _words(raw: bytes, *, plain: bool) -> bytes:
    """The words of bytes without escapes; where it is ``plain``, what is not ASCII is blank."""
    if plain:
        return raw.translate(_BLANKS)
    return _FOREIGN.sub(_foreign, raw.translate(_LETTERS))


def _foreign(run: re.Match[bytes]) -> bytes:
    return _of_bytes(run[0]) if len(run[0]) <= _SHORT else _of_bytes.__wrapped__(run[0])


@lru_cache(maxsize=4096)
def _of_bytes(run: bytes) -> bytes:
    """The words of bytes that are not ASCII: UTF-8, or not."""
    text = run.decode("utf-8", "surrogateescape")
    return b"".join(
        _placed(char, after, char.encode("utf-8", "surrogateescape"))
        for char, after in zip(text, text[1:] + " ", strict=True)
    )


def _escaped(run: bytes) -> bytes:
    """The words of escapes of four digits each; a surrogate pair is one character."""
    text = decode(run)
    return b"".join(
        _placed(char, after, (b"u%x" % ord(char)).rjust(12 if ord(char) > 0xFFFF else 6, b"0"))  # noqa: PLR2004 - a pair
        for char, after in zip(text, text[1:] + " ", strict=True)
    )


def _placed(char: str, after: str, word: bytes) -> bytes:
    """``word``, which stands for ``char``; blanks and a pair of characters in scripts without spaces; or blanks."""
    code = ord(char)
    if any(first <= code < end for first, end in _UNSPACED):
        pair = code * 31 + ord(after)
        return bytes((0x21 + pair % _BASE, 0x21 + pair // _BASE % _BASE)).rjust(len(word))
    is_symbol = code < 0x80 and not char.isalnum()  # noqa: PLR2004 - ASCII, escaped
    return b" " * len(word) if is_symbol or any(first <= code < end for first, end in _SYMBOLS) else word
