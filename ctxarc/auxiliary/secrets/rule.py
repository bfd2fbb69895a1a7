"""A rule by which secrets are recognised, a set of them, and what is taken for no secret after all."""

from __future__ import annotations

import json
import re
from collections import Counter
from hashlib import sha256
from math import log2
from typing import NamedTuple

_VERSION = 1
"""Of how rules are applied; part of the digest of a set of rules."""

_PLACEHOLDER = re.compile(
    r"example|place_?holder|change_?me|your[_-]|redacted|dummy|sample|insert[_-]|replace[_-]|not[_-]?a[_-]?real"
    r"|x{4}|\*{3}|\.{3}|0{8}|12345678|abcdefgh|\$\{|\{\{|^\$|^%|^<|>$|\[[a-z_]+\]",
    re.IGNORECASE,
)
"""What stands where a secret would stand, and is none."""


class Rule(NamedTuple):
    """A kind of secret.

    Attributes:
        id: its name, which stands in place of what is redacted: ASCII letters, digits, ``.``, ``_`` and ``-``.
        description: the same in words.
        regex: a Python regular expression; its classes are of ASCII.
        keywords: lower-case texts of which one stands in any text that it matches; none where that is not known.
        group: the group that is the secret, 0 for the whole match; ``None``: the first that is not empty, or all.
        entropy: bits a character that a secret must have more of; 0 for any.
        anchors: of a built-in rule: exact texts at which matches begin. It is tried there alone, in this process.
        back: how many characters before its anchor a match may begin.
        mixed: whether a secret must have letters and digits.

    """

    id: str
    description: str
    regex: str
    keywords: tuple[str, ...] = ()
    group: int | None = None
    entropy: float = 0.0
    anchors: tuple[str, ...] = ()
    back: int = 0
    mixed: bool = False


class Rules(NamedTuple):
    """A set of rules, of which an earlier one names what several find.

    Attributes:
        rules: the rules.
        allowed: regular expressions of secrets that are let be.
        stopwords: lower-case texts; a secret in which one stands is let be.

    """

    rules: tuple[Rule, ...]
    allowed: tuple[str, ...] = ()
    stopwords: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """The SHA-256 that stands for these rules and for how they are applied."""
        said = [_VERSION, _PLACEHOLDER.pattern, self.rules, self.allowed, self.stopwords]
        return sha256(json.dumps(said).encode()).hexdigest()


def is_secret(rule: Rule, text: str) -> bool:
    """Whether what a rule matched is random enough, and of a built-in rule no placeholder."""
    if rule.entropy and entropy(text) <= rule.entropy:
        return False
    if rule.mixed and not (re.search("[0-9]", text) and re.search("[A-Za-z]", text)):
        return False
    return not (rule.anchors and _PLACEHOLDER.search(text))


def entropy(text: str) -> float:
    """Shannon's entropy of the characters of a text, in bits a character."""
    size = len(text)
    return -sum(count / size * log2(count / size) for count in Counter(text).values()) if size else 0.0
