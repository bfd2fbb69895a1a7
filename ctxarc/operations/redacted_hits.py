"""Hits of ``address`` with secrets replaced: in their texts, and among the words of the question that they matched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxarc.auxiliary.projection import RAW
from ctxarc.operations.addresses import Piece, resolve
from ctxarc.operations.view import View
from ctxarc.preservation.record import Record

if TYPE_CHECKING:
    from pathlib import Path

    from ctxarc.model import AddressHit, AddressResult, Redaction
    from ctxarc.operations.redact import RedactedTurn, Redactor


def redacted_hits(
    archive: Path, result: AddressResult, redactor: Redactor
) -> tuple[AddressResult, list[tuple[Redaction, ...]]]:
    """A result with its hits redacted, and for each hit what was replaced in it."""
    raw = result.identity is not None and str(result.identity["projection"]).partition("+")[0] == RAW
    shown: list[AddressHit] = []
    replaced: list[tuple[Redaction, ...]] = []
    with Record(archive) as record:
        view = View(record)
        for hit in result.hits:
            piece = resolve(view, hit.cite)
            if isinstance(piece, Piece):
                turn = redactor.turn(bytes(record.turn_bytes(piece.object)))
                shown.append(_redacted(hit, turn, raw=raw))
                replaced.append(turn.within(hit.start_byte, hit.end_byte))
    return result._replace(hits=tuple(shown)), replaced


def _redacted(hit: AddressHit, turn: RedactedTurn, *, raw: bool) -> AddressHit:
    ends = [hit.start_byte, hit.end_byte] if hit.start_byte else [hit.end_byte]
    *_, (_, _, text) = turn.views(ends, raw=raw)
    return hit._replace(text=text, matched=tuple(_word(word, turn) for word in hit.matched))


def _word(word: str, turn: RedactedTurn) -> str:
    """A word that a hit matched, unless it is a part of a secret."""
    for secret in turn.secrets:
        if word.casefold() in secret.text.casefold():
            return f"[redacted:{secret.rule.id}]"
    return word
