"""``show``: turns as a person reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxarc.auxiliary.jsontext import decode
from ctxarc.auxiliary.records import read_record
from ctxarc.model import TurnText
from ctxarc.operations.addresses import Piece, pieces, resolve
from ctxarc.operations.view import View
from ctxarc.preservation.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


def show(archive: Path, addresses: Sequence[str], *, at: int | None = None) -> Iterator[TurnText]:
    """The turns at ``addresses``: role, time and text, with escapes decoded; of a range, the text of its bytes.

    Args:
        archive: the archive.
        addresses: what to show; a whole transcript gives all its turns.
        at: the capture after which the archive is looked at.

    """
    with Record(archive) as record:
        view = View(record, at)
        for item in [resolve(view, address) for address in addresses]:
            for piece in [item] if isinstance(item, Piece) else pieces(view, item):
                yield _text(record, piece)


def _text(record: Record, piece: Piece) -> TurnText:
    turn = record.turn_bytes(piece.object)
    read = read_record(bytes(turn))
    parts = tuple((part.kind, part.name, part.text) for part in read.parts)
    if piece.end - piece.start != piece.length:
        parts = (("text", "", decode(bytes(turn[piece.start : piece.end]))),)
    return TurnText(
        transcript=piece.transcript,
        turn=piece.turn,
        start_byte=piece.start,
        end_byte=piece.end,
        role=read.role,
        time=read.time,
        dialect=read.dialect,
        bytes=piece.length,
        turn_sha256=piece.digest.hex(),
        digest_verified=True,
        cite=piece.cite,
        parts=parts,
    )
