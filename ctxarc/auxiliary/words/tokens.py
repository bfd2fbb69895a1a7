"""What the words of a text are: ``words-v1``.

SQLite's ``porter unicode61`` cuts at what is no letter or digit, folds case and accents, and takes English endings off.
Beforehand, writing without spaces becomes pairs of characters, a compound such as ``getUserName`` is followed by its
parts, and runs that no one would ask for (base64) are left out.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

TOKENS = "words-v1"
TOKENIZER = "porter unicode61 remove_diacritics 2"
_BLOB = re.compile(r"[A-Za-z0-9+/=_-]{160,}")
_COMPOUND = re.compile(r"\b[A-Z]*+[a-z0-9]++[A-Z][A-Za-z0-9]*+", re.ASCII)
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_PART_LETTERS = 3
"""Letters that the parts of a compound have on average at least; those of a random id have fewer."""
_LONG, _USUAL_WORD = 2000, 8
"""A shorter text with a blank in eight characters has no blob to speak of."""
_UNSPACED = re.compile(
    "["
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\u1780-\u17ff"  # Burmese, Khmer
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"  # Japanese
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"  # Chinese characters
    "\uac00-\ud7af"  # Korean, whose words carry endings
    "]+"
)


def indexed(text: str) -> str:
    """``text`` as it is given to the tokenizer."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text.encode("utf-8", "replace").decode())
        text = _UNSPACED.sub(_pairs, text)
    if len(text) > _LONG or text.count(" ") * _USUAL_WORD < len(text):
        text = _BLOB.sub(" ", text)
    compounds = _COMPOUND.findall(text)
    return " ".join([text, *map(parts, compounds)]) if compounds else text


def _pairs(run: re.Match[str]) -> str:
    """A run as its pairs of characters, and its last character alone: every character begins one of them."""
    text = run[0]
    return f" {' '.join(text[at : at + 2] for at in range(len(text)))} "


def is_unspaced(text: str) -> bool:
    """Whether ``text`` is written without spaces, all of it."""
    return bool(_UNSPACED.fullmatch(text))


def chunks(question: str) -> list[str]:
    """The words of a question as they were typed, without marks around them, each once."""
    found = (re.sub(r"^\W+|\W+$", "", chunk) for chunk in question.split())
    return list(dict.fromkeys(chunk for chunk in found if chunk))


@lru_cache(maxsize=1 << 14)
def parts(word: str) -> str:
    """What a compound is made of: ``get User Name`` of ``getUserName``; the word itself where it is none."""
    found = _PARTS.findall(word) if _COMPOUND.fullmatch(word) else ()
    return " ".join(found) if len(word) >= _PART_LETTERS * len(found) > 0 else word
