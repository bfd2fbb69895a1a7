"""Names of projections as they stand in an identity: how bytes became text, and what was done to the text then.

A name is that of a projection of ``auxiliary.projection``, and behind it, each after a ``+``, in this order and only
where there is one: ``redacted-XXXXXXXX``, that secrets were replaced in the text, with the first digits of the digest
of the rules; ``document:"..."``, what stood before the text of a segment; ``query:"..."``, what stands before a
question; ``cut:N``, at how many characters a text was cut, before anything was put before it. Strings are JSON in
ASCII, so that equal projections have equal names: ``json-text-v1+document:"passage: "+query:"query: "+cut:2000``.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

_NAME = re.compile(
    r"([^+\"]+)(?:\+redacted-([0-9a-f]{8}))?"
    r"(?:\+document:(\"[^+]*?\"))?(?:\+query:(\"[^+]*?\"))?(?:\+cut:([1-9][0-9]{0,8}))?"
)
_DIGITS = 8
"""Of the digest of the rules by which texts are redacted."""


class Projection(NamedTuple):
    """How a segment became the text that a model saw, and what becomes of a question.

    Attributes:
        base: how bytes became text.
        document_prefix: what stood before each text.
        query_prefix: what stands before a question.
        cut: the number of characters that a text was cut at; ``None`` where none was cut.
        redacted: the first digits of the digest of the rules by which secrets were replaced; empty where none were.

    """

    base: str
    document_prefix: str = ""
    query_prefix: str = ""
    cut: int | None = None
    redacted: str = ""

    @property
    def name(self) -> str:
        """Its name."""
        return projection_name(*self)

    def document(self, text: str) -> str:
        """The text of a segment as the model sees it."""
        return self.document_prefix + text[: self.cut]

    def question(self, text: str) -> str:
        """A question as the model sees it; it is never cut."""
        return self.query_prefix + text


def projection_name(
    base: str, document_prefix: str = "", query_prefix: str = "", cut: int | None = None, redacted: str = ""
) -> str:
    """The name of a projection."""
    name = base + (f"+redacted-{redacted}" if redacted else "")
    name += f"+document:{_quoted(document_prefix)}" if document_prefix else ""
    name += f"+query:{_quoted(query_prefix)}" if query_prefix else ""
    return name + (f"+cut:{cut}" if cut is not None else "")


def redacted_name(base: str, digest: str) -> str:
    """The name of the projection ``base`` whose texts are redacted by the rules with that digest."""
    return projection_name(base, redacted=digest[:_DIGITS])


def _quoted(text: str) -> str:
    """A JSON string in which no ``+`` stands, since that divides the parts of a name."""
    return json.dumps(text).replace("+", "\\u002b")


def parse(name: str) -> Projection | None:
    """The projection of that name; ``None`` where it is none that :func:`projection_name` writes."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    base, redacted, document, query, cut = match.groups()
    try:
        prefixes = _unquoted(document), _unquoted(query)
        found = Projection(base, *prefixes, int(cut) if cut else None, redacted or "")
    except ValueError:
        return None
    return found if found.name == name else None


def _unquoted(text: str | None) -> str:
    return str(json.loads(text)) if text else ""
