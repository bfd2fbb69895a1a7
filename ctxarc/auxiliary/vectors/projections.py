"""Names of projections as they stand in an identity: how bytes became text, and what was done to the text then.

A name is that of a projection of ``auxiliary.projection``, and behind it, each after a ``+``, in this order and only
where there is one: ``document:"..."``, what stood before the text of a segment; ``query:"..."``, what stands before a
question; ``cut:N``, at how many characters a text was cut, before anything was put before it. Strings are JSON in
ASCII, so that equal projections have equal names: ``json-text-v1+document:"passage: "+query:"query: "+cut:2000``.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

_NAME = re.compile(r"([^+\"]+)(?:\+document:(\"[^+]*?\"))?(?:\+query:(\"[^+]*?\"))?(?:\+cut:([1-9][0-9]{0,8}))?")


class Projection(NamedTuple):
    """How a segment became the text that a model saw, and what becomes of a question.

    Attributes:
        base: how bytes became text.
        document_prefix: what stood before each text.
        query_prefix: what stands before a question.
        cut: the number of characters that a text was cut at; ``None`` where none was cut.

    """

    base: str
    document_prefix: str = ""
    query_prefix: str = ""
    cut: int | None = None

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


def projection_name(base: str, document_prefix: str = "", query_prefix: str = "", cut: int | None = None) -> str:
    """The name of a projection."""
    name = base
    name += f"+document:{_quoted(document_prefix)}" if document_prefix else ""
    name += f"+query:{_quoted(query_prefix)}" if query_prefix else ""
    return name + (f"+cut:{cut}" if cut is not None else "")


def _quoted(text: str) -> str:
    """A JSON string in which no ``+`` stands, since that divides the parts of a name."""
    return json.dumps(text).replace("+", "\\u002b")


def parse(name: str) -> Projection | None:
    """The projection of that name; ``None`` where it is none that :func:`projection_name` writes."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    base, document, query, cut = match.groups()
    try:
        found = Projection(base, _unquoted(document), _unquoted(query), int(cut) if cut else None)
    except ValueError:
        return None
    return found if found.name == name else None


def _unquoted(text: str | None) -> str:
    return str(json.loads(text)) if text else ""
