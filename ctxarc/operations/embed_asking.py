"""What ``embed`` asks a model about itself: who it is, whether it is still the one that it was, whether it cuts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxarc.auxiliary.vectors.identity import UNSTATED, Identity
from ctxarc.auxiliary.vectors.origin import cosine
from ctxarc.errors import Incomparable, MalformedVectors, ServerRefused
from ctxarc.operations.models.model import TOO_LONG, Model, Text, Told

if TYPE_CHECKING:
    from array import array
    from collections.abc import Sequence

    from ctxarc.operations.models.opening import ModelOptions

_SHORT = 200
"""Characters that every model reads."""
_OTHER_END = "zebra 7 violin! "
_SAME = 0.999999
"""Cosine above which two vectors are of the same text."""


def ask(model: Model, texts: Sequence[str], *, query: bool = False) -> tuple[Told, list[array[float]]]:
    """What a model tells of itself, and its vectors of a few texts, in order.

    Raises:
        MalformedVectors: one has none that can be compared, or they are of mixed widths.

    """
    asked = [Text(f"text:{number}", text) for number, text in enumerate(texts)]
    told, answers = model.probe(asked, query=query)
    found = {answer.id: answer for answer in answers}
    vectors = []
    for text in asked:
        answer = found[text.id]
        if answer.vector is None:
            why = "it is too long" if answer.why == TOO_LONG else "what it gives is no vector, or NaN, or all zero"
            raise MalformedVectors(f"{model.address}: no vector of {text.text[:40]!r}: {why}", hint="")
        vectors.append(answer.vector)
    if len({len(vector) for vector in vectors}) > 1:
        widths = ", ".join(str(len(vector)) for vector in vectors)
        raise MalformedVectors(f"{model.address}: vectors of mixed widths: {widths}", hint="")
    return told, vectors


def identity_of(told: Told, options: ModelOptions, dimensions: int, projection: str, scheme: str) -> Identity:
    """The identity of what a model makes.

    Raises:
        Incomparable: it says something else than is known.

    """
    if told.revision is not None and options.revision not in {None, told.revision}:
        message = f"revision differs — {options.revision} by --revision against {told.revision} by the model"
        raise Incomparable(message, field="revision", given=options.revision, held=told.revision)
    revision = told.revision or options.revision or UNSTATED
    identity = Identity(told.model, revision, dimensions, projection, scheme)
    identity.check(Identity._make(told.others.get(name, value) for name, value in identity.as_json().items()))
    return identity


def check_whole(model: Model, text: str) -> None:
    """Refuse a model that cuts a text without a word: with another end, the text has the same vector.

    Raises:
        ServerRefused: it does.

    """
    if len(text) < _SHORT:
        return
    end = len(text) - len(text) // 10
    other = (text[:end] + _OTHER_END * (len(text) // len(_OTHER_END) + 1))[: len(text)]
    one, another = (answer.vector for answer in model.answers([Text("whole", text), Text("other", other)]))
    if one is not None and another is not None and cosine(one, another) > _SAME:
        message = (
            f"{model.address} cuts long texts without a word: one of {len(text):,} characters has the same vector "
        )
        hint = "--cut-views N cuts them at fewer characters than the model reads, and says so in the identity"
        raise ServerRefused(message + "with another end", hint=hint, url=model.address, characters=len(text))
