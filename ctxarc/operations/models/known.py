"""What models want before a text and before a question, by their names; each from the model's own card.

A model that is trained with prefixes answers worse without them, and nothing says so. They are put before texts where a
name is known, said in the output, and part of the projection's name in the identity.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Prefixes(NamedTuple):
    """What stands before the text of a segment, and before a question."""

    document: str = ""
    query: str = ""


_BGE = Prefixes(query="Represent this sentence for searching relevant passages: ")
_INSTRUCT = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: "

KNOWN: tuple[tuple[str, Prefixes], ...] = (
    (r"nomic-embed-code.*", Prefixes(query="Represent this query for searching relevant code: ")),
    (r"(nomic-embed-text|modernbert-embed|nomic-embed).*", Prefixes("search_document: ", "search_query: ")),
    (r".*(e5-mistral|e5.*-instruct).*", Prefixes(query=_INSTRUCT)),
    (r"(multilingual-)?e5-.*", Prefixes("passage: ", "query: ")),
    (r"bge-(small|base|large)-en.*", _BGE),
    (r"mxbai-embed.*", _BGE),
    (r"snowflake-arctic-embed.*v?2\.0.*|snowflake-arctic-embed2.*", Prefixes(query="query: ")),
    (r"snowflake-arctic-embed.*", _BGE),
    (r"qwen3-embedding.*", Prefixes(query=_INSTRUCT.removesuffix(" "))),
    (r"embeddinggemma.*", Prefixes("title: none | text: ", "task: search result | query: ")),
)
"""Patterns of names, without an owner before them, and what such models want; the first that fits counts."""


def prefixes_of(model: str) -> Prefixes:
    """What a model of that name wants; nothing where the name is not known."""
    name = model.lower().rpartition("/")[2]
    return next((prefixes for pattern, prefixes in KNOWN if re.fullmatch(pattern, name)), Prefixes())
