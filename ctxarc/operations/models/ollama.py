"""Ollama: ``POST /api/embed`` without truncation, and the digest of the model from ``GET /api/tags`` as its revision.

https://docs.ollama.com/api/embed and https://docs.ollama.com/api/tags. A model that is pulled again under its name has
another digest, and so another identity.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ctxarc.errors import ServerRefused
from ctxarc.operations.models.http import HttpStatus
from ctxarc.operations.models.model import Told
from ctxarc.operations.models.served import Served, vectors_of

if TYPE_CHECKING:
    from collections.abc import Sequence

_TAGS = "/api/tags"
_LATEST = ":latest"
_DIGEST = re.compile(r"(?:sha256:)?([0-9a-f]{12,64})")
_SHOWN = 8
"""Names of models that a message lists."""


class Ollama(Served):
    """A model of an Ollama server."""

    path = "/api/embed"

    def told(self) -> Told:
        """Its name without ``:latest``, and its digest."""
        try:
            answer = self.http.get(_TAGS)
        except HttpStatus as status:
            raise self.http.refused(_TAGS, status) from status
        models = [each for each in vectors_of(answer, "models") or [] if isinstance(each, dict)]
        wanted = self.model.removesuffix(_LATEST)
        for each in models:
            names = {str(each.get(key, "")).removesuffix(_LATEST) for key in ("name", "model")}
            if wanted in names:
                match = _DIGEST.fullmatch(str(each.get("digest", "")))
                return Told(wanted, f"sha256:{match[1]}" if match else None)
        names_ = [str(each.get("name", "")) for each in models]
        listed = ", ".join(names_[:_SHOWN]) + (", ..." if len(names_) > _SHOWN else "")
        message = f"{self.address} has no model {self.model}" + (
            f"; it has {self.http.shown(listed)}" if listed else ""
        )
        raise ServerRefused(message, hint=f"ollama pull {self.model}", url=self.address, model=self.model)

    def body(self, texts: Sequence[str]) -> dict[str, object]:
        """The request: a text that is too long is an error, and not cut without a word."""
        return {"model": self.model, "input": list(texts), "truncate": False}

    def rows(self, answer: Any, count: int) -> list[Any]:  # noqa: ANN401, ARG002 - any JSON value; the interface
        """The vectors, in order."""
        found = vectors_of(answer, "embeddings")
        if found is None:
            raise self.malformed("the answer has no list of embeddings; is it Ollama? (--api)")
        return found
