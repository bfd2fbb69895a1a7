"""Identity: what made a set of vectors. Vectors of different identities are not compared, whatever their width."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any, NamedTuple

from ctxarc.errors import Incomparable

UNSTATED = "unstated"
"""The revision of a model whose server does not tell its weights; it agrees with no other."""


class Identity(NamedTuple):
    """What made vectors: all five have to agree.

    Attributes:
        model: the model's name.
        revision: the digest of its weights, or :data:`UNSTATED`.
        dimensions: numbers of a vector.
        projection: how the bytes of a segment became text, with its version, prefixes and limits.
        scheme: the scheme that cut the segments.

    """

    model: str
    revision: str
    dimensions: int
    projection: str
    scheme: str

    @property
    def fingerprint(self) -> str:
        """32 hexadecimal digits that stand for all five fields, and name the directory of the vectors."""
        said = json.dumps(self._asdict(), sort_keys=True, separators=(",", ":"))
        return sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def as_json(self) -> dict[str, Any]:
        """The fields, as JSON has them."""
        return self._asdict()

    def check(self, other: Identity) -> None:
        """Refuse vectors of ``other``, an identity that vectors of this one cannot be compared with.

        Raises:
            Incomparable: the first field that differs, with both values.

        """
        for name, theirs, ours in zip(self._fields, other, self, strict=True):
            if theirs != ours:
                message = f"{name} differs — {theirs} against {ours}"
                raise Incomparable(message, field=name, given=theirs, held=ours)
