"""What an archive weighs, by kind of file."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from ctxarc.preservation.scratch import RECORD_LOCK

if TYPE_CHECKING:
    from collections.abc import Iterator

RECORD = {"CTXA", "HEAD", "objects", "log", "pack", RECORD_LOCK}
"""The names of the preservation plane at the top of an archive; anything else belongs to the auxiliary plane."""


def archive_files(archive: Path) -> Iterator[tuple[str, int]]:
    """Every plain file of an archive: its path in it, with ``/``, and its length. Links are not followed."""
    for folder, folders, names in os.walk(archive):
        folders.sort()
        for name in sorted(names):
            path = Path(folder, name)
            try:
                there = path.lstat()
            except FileNotFoundError:  # a writer has merged it away
                continue
            if stat.S_ISREG(there.st_mode):
                yield path.relative_to(archive).as_posix(), there.st_size


def archive_bytes(archive: Path) -> int:
    """Bytes of all files of an archive; 0 where there is none."""
    return sum(size for _, size in archive_files(archive))
