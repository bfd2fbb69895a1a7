"""What the words of a text are: ``words-v1``.

SQLite's ``porter unicode61`` cuts at what is no letter or digit, folds case and accents, and takes English endings off.
Beforehand, writing without spaces becomes pairs of characters, a compound such as ``getUserName`` or ``sha256`` is
followed by its parts, and runs that no one would ask for (base64) are left out.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

TOKENS = "words-v1"
TOKENIZER = "porter unicode61 remove_diacritics 2"
INDEXED_LIMIT = 1 << 26
"""Characters of a text whose words are looked up, from its start: SQLite takes no text of 1,000,000,000 bytes."""
_BLOB = re.compile(r"[A-Za-z0-9+/=_-]{160,}")
_COMPOUND = re.compile(r"\b[A-Za-z][a-z]*+[A-Z0-9][A-Za-z0-9]*+", re.ASCII)
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_PART_LETTERS, _SPARE = 3, 2
"""Letters that the parts of a compound have on average at least, but for two: those of a random id have fewer."""
_LONG, _USUAL_WORD = 2000, 8
"""A shorter text with a blank in eight characters has no blob to speak of."""
_AT_ONCE = 4096
"""Characters of a run that are made pairs at a time: each is an object of its own then."""
_UNSPACED_LETTERS = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\u1780-\u17ff"  # Burmese, Khmer
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"  # Japanese
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"  # Chinese characters
    "\uac00-\ud7af"  # Korean, whose words carry endings
)


@cache
def _unspaced() -> re.Pattern[str]:
    """A run of writing without spaces; made when it is wanted, since it takes milliseconds."""
    return re.compile(f"[{_UNSPACED_LETTERS}]+")


@cache
def _piece() -> re.Pattern[str]:
    """A run of writing without spaces, or a word of other letters and digits."""
    return re.compile(
        rf"(?P<unspaced>[{_UNSPACED_LETTERS}]+)"
        rf"|[^\W_{_UNSPACED_LETTERS}](?:[^\W_{_UNSPACED_LETTERS}]|[\u0300-\u036f])*"
    )


def indexed(text: str) -> str:
    """``text`` as it is given to the tokenizer."""
    text = text[:INDEXED_LIMIT]
    if not text.isascii():
        text = _unspaced().sub(_pairs, normal(text))[: 2 * INDEXED_LIMIT]
    if len(text) > _LONG or text.count(" ") * _USUAL_WORD < len(text):
        text = _BLOB.sub(" ", text)
    compounds = _COMPOUND.findall(text.replace("_", " "))
    return " ".join([text, *map(parts, compounds)]) if compounds else text


def normal(text: str) -> str:
    """``text`` with forms of the same characters made one; a lone surrogate becomes a question mark."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text.encode("utf-8", "replace").decode())


def _pairs(run: re.Match[str]) -> str:
    """A run as its pairs of characters, and its last character alone: every character begins one of them."""
    text = run[0]
    slices = (text[at : at + _AT_ONCE + 1] for at in range(0, len(text), _AT_ONCE))
    return f" {' '.join(map(_slice_pairs, slices))} "


def _slice_pairs(text: str) -> str:
    return " ".join([text[at : at + 2] for at in range(min(len(text), _AT_ONCE))])


@lru_cache(maxsize=1 << 14)
def parts(word: str) -> str:
    """What a compound is made of: ``get User Name`` of ``getUserName``; nothing where it is none."""
    found = _PARTS.findall(word) if _COMPOUND.fullmatch(word) else ()
    return " ".join(found) if len(found) > 1 and len(word) + _SPARE >= _PART_LETTERS * len(found) else ""


class Piece(NamedTuple):
    """A word of a question, or two characters of writing without spaces.

    Attributes:
        chunk: the number of what stands between blanks that it is in.
        start: where it begins in the question.
        end: and where it ends.
        last: the character that an index has alone behind this pair, where the pair ends its run; else empty.

    """

    chunk: int
    start: int
    end: int
    last: str = ""


def pieces(question: str) -> Iterator[Piece]:
    """The words of a question that was made :func:`normal`, in order."""
    for number, chunk in enumerate(re.finditer(r"\S+", question)):
        for piece in _piece().finditer(question, *chunk.span()):
            start, end = piece.span()
            if piece["unspaced"] is None or end - start == 1:
                yield Piece(number, start, end)
                continue
            for at in range(start, end - 1):
                yield Piece(number, at, at + 2, question[end - 1] if at == end - 2 else "")


def is_unspaced(text: str) -> bool:
    """Whether ``text`` is written without spaces, all of it."""
    return bool(_unspaced().fullmatch(text))
