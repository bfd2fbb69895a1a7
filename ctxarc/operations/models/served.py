"""What all servers of models have in common: texts in batches, and a text that is too long found and left out."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from itertools import islice
from typing import TYPE_CHECKING, Any

from ctxarc.errors import BadUsage, MalformedVectors, ServerRefused
from ctxarc.operations.models.http import Http, HttpStatus
from ctxarc.operations.models.model import NO_VECTOR, TOO_LONG, Answer, Answers, Text, Told
from ctxarc.operations.vector_inputs.numbers import vector_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

BATCH = 32
"""Texts of a call, unless said; the most that a server of text-embeddings-inference takes as it comes."""
_TOO_LONG = re.compile(
    r"(input|prompt|context|sequence|text)s?\W.{0,60}(too (long|large)|exceed|must have less)"
    r"|exceed\w*.{0,60}(context|token|length|batch size)|maximum (context|sequence|input|number of tokens)"
    r"|too many (input )?tokens|context.?length|context.?size|max\w* .{0,20}tokens",
    re.IGNORECASE | re.DOTALL,
)
"""How servers say that a text, or a batch of them, is too long. Ollama: "the input length exceeds the context length";
llama.cpp: "input is too large to process", "exceed_context_size_error"; vLLM and OpenAI: "maximum context length is";
text-embeddings-inference: "`inputs` must have less than 512 tokens"; OpenAI, of a batch: "max_tokens_per_request"."""
_TOO_MANY = re.compile(
    r"batch.?size|too many (inputs|items)|array.{0,20}too long|at most \d+ (inputs|items)", re.IGNORECASE
)
"""How servers say that a batch has too many texts."""
_BATCHES = 16
"""Batches whose texts are sorted by length."""
_NOT_FINITE = re.compile(r"unsupported value: (NaN|[+-]?Inf)", re.IGNORECASE)
"""How Ollama says that the model gave something that is no vector."""
_TOO_LARGE = 413
_REFUSALS = {400, 413, 422, 500}
"""Statuses under which servers say it."""


class Served(ABC):
    """A model behind a server.

    Args:
        http: the server.
        model: what it calls the model.
        batch: texts of a call at most.

    """

    path = ""
    start_seconds = 0.0

    def __init__(self, http: Http, model: str, batch: int) -> None:
        if not model:
            raise BadUsage("nothing says which model of the server", hint="--model MODEL")
        if batch < 1:
            raise BadUsage(f"a batch of {batch} texts is none", batch=batch)
        self.http, self.model, self.batch = http, model, batch
        self.address = http.url
        self.calls = 0
        self.sample = batch

    @abstractmethod
    def told(self) -> Told:
        """What the server tells of the model."""

    @abstractmethod
    def body(self, texts: Sequence[str]) -> dict[str, object]:
        """The request for the vectors of texts."""

    @abstractmethod
    def rows(self, answer: Any, count: int) -> list[Any]:  # noqa: ANN401 - any JSON value
        """The vectors in an answer, in order of the texts, as JSON has them."""

    def probe(self, texts: Sequence[Text], *, query: bool = False) -> tuple[Told, list[Answer]]:
        """What the server tells, and then what comes of the texts."""
        return self.told(), list(self.answers(texts, query=query))

    def hurry(self) -> None:
        """Ask no more than once, and not for long."""
        self.http.hurry()

    def calls_for(self, texts: int) -> int:
        """How many calls that many texts take."""
        return math.ceil(texts / self.batch)

    def answers(self, texts: Iterable[Text], *, query: bool = False) -> Answers:
        """What comes of each text. Those of like length are sent together: servers fill a batch up to its longest."""
        del query  # a server is sent the same either way: what a question needs stands before it
        rest = iter(texts)
        while window := sorted(islice(rest, _BATCHES * self.batch), key=_length):
            while window:
                batch = window[: self.batch]
                del window[: self.batch]
                yield from self._batch(batch)

    def _batch(self, texts: list[Text]) -> Iterator[Answer]:
        if not texts:
            return
        try:
            found = self._call([text.text for text in texts])
        except HttpStatus as status:
            yield from self._halves(texts, status)
            return
        for text, row in zip(texts, found, strict=True):
            yield self._answer(text, row)

    def _call(self, texts: Sequence[str]) -> list[Any]:
        self.calls += 1
        rows = self.rows(self.http.request(self.path, self.body(texts), _is_of_texts), len(texts))
        if len(rows) != len(texts):
            message = f"{self.address} answers {len(texts)} texts with {len(rows)} vectors"
            raise ServerRefused(message, url=self.address, texts=len(texts), vectors=len(rows))
        return rows

    def _halves(self, texts: list[Text], status: HttpStatus) -> Iterator[Answer]:
        """Ask again for each half of a batch that is too long, down to the text that is."""
        if not _is_of_texts(status):
            raise self.http.refused(self.path, status) from status
        if len(texts) == 1:
            yield Answer(texts[0].id, None, NO_VECTOR if _NOT_FINITE.search(status.words) else TOO_LONG)
            return
        if _TOO_MANY.search(status.words) and not _TOO_LONG.search(status.words):
            self.batch = min(self.batch, len(texts) // 2)
        middle = len(texts) // 2
        yield from self._batch(texts[:middle])
        yield from self._batch(texts[middle:])

    def _answer(self, text: Text, row: Any) -> Answer:  # noqa: ANN401 - any JSON value
        try:
            return Answer(text.id, vector_of(row, f"{self.address}: {text.id}"))
        except MalformedVectors:
            return Answer(text.id, None, NO_VECTOR)

    def malformed(self, what: str) -> ServerRefused:
        """The refusal of an answer that is of another shape than the API has."""
        return ServerRefused(f"{self.address}{self.path}: {what}", url=self.address)


def _length(text: Text) -> int:
    return len(text.text)


def _is_of_texts(status: HttpStatus) -> bool:
    """Whether a server refuses these very texts, and would again."""
    if status.status not in _REFUSALS:
        return False
    patterns = (_TOO_LONG, _TOO_MANY, _NOT_FINITE)
    return status.status == _TOO_LARGE or any(pattern.search(status.words) for pattern in patterns)


def vectors_of(answer: object, key: str) -> list[Any] | None:
    """The list under ``key`` of an answer; ``None`` where there is none."""
    found = answer.get(key) if isinstance(answer, dict) else None
    return found if isinstance(found, list) else None
