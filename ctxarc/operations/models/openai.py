"""Any server that answers ``POST /v1/embeddings`` as OpenAI's does: llama.cpp, vLLM, text-embeddings-inference, hosts.

https://platform.openai.com/docs/api-reference/embeddings. Such a server does not tell which weights it has, so that the
revision is not stated, and canaries stand in for it. Vectors are asked for as base64, a quarter of the bytes, and as
numbers where a server does not know that.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ctxarc.operations.models.http import Http, HttpStatus
from ctxarc.operations.models.model import Told
from ctxarc.operations.models.served import Served, vectors_of

if TYPE_CHECKING:
    from collections.abc import Sequence

_FORMAT = re.compile(r"encoding_format|base64", re.IGNORECASE)
_REFUSALS = {400, 404, 415, 422, 500, 501}


class OpenAi(Served):
    """A model of a server that speaks OpenAI's API."""

    def __init__(self, http: Http, model: str, batch: int) -> None:
        super().__init__(http, model, batch)
        self.path = "/embeddings" if urlsplit(http.url).path else "/v1/embeddings"
        self._base64 = True

    def told(self) -> Told:
        """Its name alone."""
        return Told(self.model, None)

    def body(self, texts: Sequence[str]) -> dict[str, object]:
        """The request."""
        encoding = "base64" if self._base64 else "float"
        return {"model": self.model, "input": list(texts), "encoding_format": encoding}

    def _call(self, texts: Sequence[str]) -> list[Any]:
        try:
            return super()._call(texts)
        except HttpStatus as status:
            if not (self._base64 and status.status in _REFUSALS and _FORMAT.search(status.words)):
                raise
        self._base64 = False
        return super()._call(texts)

    def rows(self, answer: Any, count: int) -> list[Any]:  # noqa: ANN401 - any JSON value
        """The vectors, in the order that their ``index`` says."""
        data = vectors_of(answer, "data")
        if data is None or not all(isinstance(each, dict) and "embedding" in each for each in data):
            raise self.malformed("the answer has no list of embeddings; is it that API? (--api)")
        places = [each.get("index", place) for place, each in enumerate(data)]
        if sorted(map(str, places)) != sorted(map(str, range(count))):
            raise self.malformed(f"the answer to {count} texts has {len(places)} vectors, or not one for each")
        return [row for _, row in sorted(zip(places, (each["embedding"] for each in data), strict=True), key=_first)]


def _first(pair: tuple[Any, Any]) -> int:
    return int(pair[0])
