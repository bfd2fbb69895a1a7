"""A pack: the bytes of consecutive objects, back to back in one zstd frame of its own, which stock zstd reads."""

from __future__ import annotations

import zstandard
from xxhash import xxh3_64_intdigest

from ctxarc.errors import ChecksumMismatch, IndexMismatch, IoFailed, LimitExceeded
from ctxarc.preservation.layout import FRAME_LIMIT, WINDOW_LOG, WINDOW_LOG_LIMIT, PackRow

_PIECE = 1 << 20


def encode(raw: bytes, objects: int, level: int) -> tuple[PackRow, bytes]:
    """Compress the turns ``raw`` and decode the result again before it counts.

    Returns:
        the pack's row for HEAD, and the bytes of its file.

    Raises:
        IoFailed: the decoded frame is not what was encoded: memory or processor cannot be trusted.

    """
    window = WINDOW_LOG if len(raw) <= FRAME_LIMIT else WINDOW_LOG_LIMIT
    options = zstandard.ZstdCompressionParameters.from_level(
        level, source_size=len(raw), window_log=window, write_checksum=True, write_content_size=True
    )
    stored = zstandard.ZstdCompressor(compression_params=options).compress(raw)
    row = PackRow(objects, len(raw), len(stored), xxh3_64_intdigest(stored))
    if not _decodes_to(stored, raw):
        message = "a new pack does not decode to what was encoded; nothing was stored"
        raise IoFailed(message, hint="the archive is as it was; test this machine's memory")
    return row, stored


def _decodes_to(stored: bytes, raw: bytes) -> bool:
    """Whether the frame ``stored`` decodes to ``raw``, piece by piece, so that it is not in memory a third time."""
    at = 0
    rest = memoryview(raw)
    for piece in zstandard.ZstdDecompressor(max_window_size=1 << WINDOW_LOG_LIMIT).read_to_iter(
        stored, write_size=_PIECE
    ):
        if rest[at : at + len(piece)] != piece:
            return False
        at += len(piece)
    return at == len(raw)


def decode(row: PackRow, stored: bytes, label: str) -> bytes:
    """The turns of a pack, once its file has been compared with its row in HEAD.

    Raises:
        ChecksumMismatch: the file is not what was written.
        IndexMismatch: its frame has another length than HEAD says.
        LimitExceeded: its window is larger than the format allows.

    """
    if len(stored) != row.stored_bytes or xxh3_64_intdigest(stored) != row.checksum:
        raise ChecksumMismatch(f"{label}: not what was written", path=label)
    try:
        frame = zstandard.get_frame_parameters(stored)
        if frame.content_size != row.raw_bytes:
            message = f"{label}: a frame of {frame.content_size} bytes, and HEAD says {row.raw_bytes}"
            raise IndexMismatch(message, path=label, found=frame.content_size, expected=row.raw_bytes)
        if frame.window_size > 1 << WINDOW_LOG_LIMIT:
            message = f"{label}: a window of {frame.window_size} bytes, and the limit is {1 << WINDOW_LOG_LIMIT}"
            raise LimitExceeded(message, path=label, found=frame.window_size, limit=1 << WINDOW_LOG_LIMIT)
        return zstandard.ZstdDecompressor().decompress(stored, max_output_size=row.raw_bytes, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise ChecksumMismatch(f"{label}: no zstd frame that decodes ({error})", path=label) from error
