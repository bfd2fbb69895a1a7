"""``cat``: the very bytes of transcripts, turns, ranges and citations, each proved before it leaves."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from typing import TYPE_CHECKING

from ctxarc.errors import BadUsage, DigestMismatch
from ctxarc.model import RedactedStretch, Stretch
from ctxarc.operations.addresses import Piece, pieces, resolve, span_of
from ctxarc.operations.view import View
from ctxarc.preservation.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from ctxarc.operations.redact import Redactor
    from ctxarc.preservation.record import State


def cat(
    archive: Path, addresses: Sequence[str] = (), *, span: str | None = None, at: int | None = None
) -> Iterator[memoryview]:
    """The bytes of ``addresses``, in their order; the only transcript, where there are none.

    Every address is looked up before the first byte is given. The digest of every turn is compared before its bytes
    are given, that of a whole transcript behind its last byte.

    Args:
        archive: the archive.
        addresses: what to give.
        span: a range of bytes of the whole transcript that ``addresses`` means.
        at: the capture after which the archive is looked at.

    Raises:
        DigestMismatch: bytes are not those that were captured; they are not given.

    """
    with Record(archive) as record:
        view = View(record, at)
        for item in _items(view, addresses, span):
            if isinstance(item, Piece):
                yield record.turn_bytes(item.object)[item.start : item.end]
            else:
                yield from whole(record, item)


def whole(record: Record, state: State) -> Iterator[memoryview]:
    """The bytes of a transcript that are held.

    Raises:
        DigestMismatch: after the last one, where all together do not have the digest on record.

    """
    digest = sha256()
    for stretch in record.stretches(state.runs):
        digest.update(stretch)
        yield stretch
    _check_whole(state, digest.digest())


def _check_whole(state: State, found: bytes) -> None:
    if found != state.entry.held_sha256:
        name = state.name.decode()
        message = f"{name}: its turns, joined, do not have the SHA-256 {state.entry.held_sha256.hex()} on record"
        raise DigestMismatch(message, transcript=name, expected=state.entry.held_sha256.hex(), found=found.hex())


def cat_rows(
    archive: Path, addresses: Sequence[str] = (), *, span: str | None = None, at: int | None = None
) -> Iterator[Stretch]:
    """The same as :func:`cat` as data: a row an address, and a row a turn for whole transcripts and for ``span``."""
    with Record(archive) as record:
        view = View(record, at)
        for item in _items(view, addresses, span):
            for piece in [item] if isinstance(item, Piece) else pieces(view, item):
                yield stretch_of(record, piece)


def cat_redacted(
    archive: Path,
    addresses: Sequence[str] = (),
    *,
    redactor: Redactor,
    span: str | None = None,
    at: int | None = None,
) -> Iterator[tuple[RedactedStretch, bytes]]:
    """The rows of :func:`cat_rows` with secrets replaced, and the bytes that are shown of each.

    Digests and ranges are those of the bytes that are held. A stretch that begins or ends inside a secret has what
    replaces all of it.

    Raises:
        DigestMismatch: bytes are not those that were captured; they are not given.
        PatternTimeout: an expression of a rule took longer than its limit.

    """
    with Record(archive) as record:
        view = View(record, at)
        for item in _items(view, addresses, span):
            whole_digest = sha256()
            for piece in [item] if isinstance(item, Piece) else pieces(view, item):
                raw = bytes(record.turn_bytes(piece.object))
                whole_digest.update(raw)
                yield _redacted_stretch(redactor, piece, raw)
            if not isinstance(item, Piece):
                _check_whole(item, whole_digest.digest())


def _redacted_stretch(redactor: Redactor, piece: Piece, raw: bytes) -> tuple[RedactedStretch, bytes]:
    turn = redactor.turn(raw)
    data = turn.cut(piece.start, piece.end)
    text, coded = _readable(data)
    row = RedactedStretch(
        transcript=piece.transcript,
        turn=piece.turn,
        start_byte=piece.start,
        end_byte=piece.end,
        turn_sha256=piece.digest.hex(),
        range_sha256=sha256(raw[piece.start : piece.end]).hexdigest(),
        cite=piece.cite,
        digest_verified=True,
        redacted=redactor.digest,
        redactions=turn.within(piece.start, piece.end),
        text=text,
        base64=coded,
    )
    return row, data


def _readable(data: bytes) -> tuple[str | None, str | None]:
    """Bytes as text, or in base64 where they are none."""
    try:
        return data.decode(), None
    except UnicodeDecodeError:
        return None, b64encode(data).decode()


def stretch_of(record: Record, piece: Piece) -> Stretch:
    """The proved bytes of ``piece``, as data."""
    data = bytes(record.turn_bytes(piece.object)[piece.start : piece.end])
    text, coded = _readable(data)
    return Stretch(
        transcript=piece.transcript,
        turn=piece.turn,
        start_byte=piece.start,
        end_byte=piece.end,
        turn_sha256=piece.digest.hex(),
        range_sha256=sha256(data).hexdigest(),
        cite=piece.cite,
        digest_verified=True,
        text=text,
        base64=coded,
    )


def _items(view: View, addresses: Sequence[str], span: str | None) -> list[Piece | State]:
    if span is None:
        return [resolve(view, address) for address in addresses] or [view.pick(None)]
    if len(addresses) > 1:
        raise BadUsage("--range takes one transcript", hint="write NAME# for the one that is meant")
    item = resolve(view, addresses[0]) if addresses else view.pick(None)
    if isinstance(item, Piece):
        raise BadUsage("--range counts bytes of a whole transcript", hint="for bytes of a turn write TURN:START-END")
    return list(span_of(view, item, span))
