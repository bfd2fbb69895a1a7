"""``repack``: the same record in fewer and better packs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxarc.model import RepackResult
from ctxarc.operations.progress import Progress, quiet
from ctxarc.operations.sizes import archive_bytes
from ctxarc.preservation.record import Record
from ctxarc.preservation.writer import RecordWriter

if TYPE_CHECKING:
    from pathlib import Path

REPACK_LEVEL = 19


def repack(
    archive: Path, *, level: int = REPACK_LEVEL, lock_wait: float = 10.0, progress: Progress = quiet
) -> RepackResult:
    """Put all turns into as few packs as hold them, at zstd level ``level``; the digest and every byte stay.

    Args:
        archive: the archive.
        level: zstd level, 1 to 22.
        lock_wait: seconds to wait for another writer.
        progress: told how many bytes of turns were packed again.

    """
    Record(archive).close()
    with RecordWriter(archive, lock_wait=lock_wait, level=level) as writer:
        before = writer.head
        writer.repack(lambda done: progress("repacking", done, before.object_bytes))
        after = writer.head
    return RepackResult(
        archive=str(archive),
        archive_digest=after.root.hex(),
        level=level,
        packs_before=len(before.packs),
        packs_after=len(after.packs),
        bytes_before=sum(row.stored_bytes for row in before.packs),
        bytes_after=sum(row.stored_bytes for row in after.packs),
        archive_bytes=archive_bytes(archive),
    )
