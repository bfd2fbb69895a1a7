"""A pack: the bytes of consecutive objects, back to back in one zstd frame of its own, which stock zstd reads.

A turn ends with its line feed, so that the frame alone says where its turns end. Where a turn was unfinished when it
was captured, a skippable frame before it says where that one ends: the table of objects can be made again from packs.
"""

from __future__ import annotations

import sys
from array import array
from itertools import accumulate
from struct import Struct
from typing import TYPE_CHECKING

import zstandard
from xxhash import xxh3_64_intdigest

from ctxarc.errors import ChecksumMismatch, IndexMismatch, IoFailed, LimitExceeded, NoMemory
from ctxarc.preservation.layout import FRAME_LIMIT, WINDOW_LOG, WINDOW_LOG_LIMIT, PackRow

if TYPE_CHECKING:
    from collections.abc import Sequence

ENDS = Struct("<II")
ENDS_FIELDS = ("magic", "size")
ENDS_MAGIC = 0x184D2A5C
"""A skippable frame of zstd, which ``zstd -d`` passes over; its content is ``size`` bytes of 64-bit offsets."""

_LINE_FEED = 0x0A
_PIECE = 1 << 20
_NO_MEMORY = "Allocation error"
"""What zstd says where the system has no memory for it."""


def encode(turns: Sequence[bytes], level: int) -> tuple[PackRow, bytes]:
    """Compress ``turns`` and decode the result again before it counts.

    Returns:
        the pack's row for HEAD, and the bytes of its file.

    Raises:
        IoFailed: the decoded frame is not what was encoded: memory or processor cannot be trusted.

    """
    ends = list(accumulate(map(len, turns)))
    raw = turns[0] if len(turns) == 1 else b"".join(turns)
    del turns  # the caller may have given them up
    window = WINDOW_LOG if len(raw) <= FRAME_LIMIT else WINDOW_LOG_LIMIT
    options = zstandard.ZstdCompressionParameters.from_level(
        level, source_size=len(raw), window_log=window, write_checksum=True, write_content_size=True
    )
    frame = zstandard.ZstdCompressor(compression_params=options).compress(raw)
    if not _decodes_to(frame, raw):
        message = "a new pack does not decode to what was encoded; nothing was stored"
        raise IoFailed(message, hint="the archive is as it was; test this machine's memory")
    stored = _pack_ends(unfinished_ends(raw, ends)) + frame
    return PackRow(len(ends), len(raw), len(stored), xxh3_64_intdigest(stored)), stored


def _decodes_to(stored: bytes, raw: bytes) -> bool:
    """Whether the frame ``stored`` decodes to ``raw``, piece by piece, so that it is not in memory a third time."""
    at = 0
    rest = memoryview(raw)
    decompressor = zstandard.ZstdDecompressor(max_window_size=1 << WINDOW_LOG_LIMIT)
    for piece in decompressor.read_to_iter(stored, write_size=_PIECE):
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
    stored = stored[unpack_ends(stored, label)[1] :]
    try:
        frame = zstandard.get_frame_parameters(stored)
        if frame.content_size != row.raw_bytes:
            message = f"{label}: a frame of {frame.content_size} bytes, and HEAD says {row.raw_bytes}"
            raise IndexMismatch(message, path=label, found=frame.content_size, expected=row.raw_bytes)
        if frame.window_size > 1 << WINDOW_LOG_LIMIT:
            message = f"{label}: a window of {frame.window_size} bytes, and the limit is {1 << WINDOW_LOG_LIMIT}"
            raise LimitExceeded(message, path=label, found=frame.window_size, limit=1 << WINDOW_LOG_LIMIT)
        if not frame.has_checksum:
            raise ChecksumMismatch(f"{label}: its frame has no checksum of its own", path=label)
        return zstandard.ZstdDecompressor().decompress(stored, max_output_size=row.raw_bytes, allow_extra_data=False)
    except zstandard.ZstdError as error:
        if _NO_MEMORY in str(error):
            raise NoMemory(f"{label}: not enough memory to decode it") from error
        raise ChecksumMismatch(f"{label}: no zstd frame that decodes ({error})", path=label) from error


def unfinished_ends(raw: bytes | memoryview, ends: Sequence[int]) -> list[int]:
    """Those of ``ends``, where turns end in ``raw``, before which no line feed stands."""
    return [end for end in ends if raw[end - 1] != _LINE_FEED]


def _pack_ends(ends: list[int]) -> bytes:
    """The skippable frame that states ``ends``; nothing where there are none."""
    content = b"".join(end.to_bytes(8, "little") for end in ends)
    return ENDS.pack(ENDS_MAGIC, len(content)) + content if ends else b""


def unpack_ends(stored: bytes, label: str) -> tuple[list[int], int]:
    """Where the unfinished turns of a pack end, and where its frame begins in the file.

    Raises:
        IndexMismatch: the skippable frame goes beyond the file, or holds no offsets.

    """
    if len(stored) < ENDS.size or ENDS.unpack_from(stored)[0] != ENDS_MAGIC:
        return [], 0
    size = ENDS.unpack_from(stored)[1]
    if not size or size % 8 or ENDS.size + size > len(stored):
        raise IndexMismatch(f"{label}: {size} bytes of offsets before its frame", path=label)
    ends = array("Q", stored[ENDS.size : ENDS.size + size])
    if sys.byteorder == "big":  # pragma: no cover - the offsets are little-endian
        ends.byteswap()
    return list(ends), ENDS.size + size
