"""The digest of the record's files as they lie on disk: whether anything at all was changed."""

from __future__ import annotations

import os
from hashlib import sha256
from typing import TYPE_CHECKING

from ctxarc.preservation.files import open_file, read_at

if TYPE_CHECKING:
    from pathlib import Path

_PIECE = 4 << 20


def record_fingerprint(path: Path) -> str:
    """SHA-256, in hex, over the names, lengths and bytes of every file of the record at ``path``, its lock left out."""
    digest = sha256()
    files = [path / name for name in ("CTXA", "HEAD", "log", "objects")]
    files += sorted((path / "pack").iterdir()) if (path / "pack").is_dir() else []
    for file in files:
        label = file.relative_to(path).as_posix()
        length = file.lstat().st_size
        digest.update(f"{label}\0{length}\0".encode())
        descriptor = open_file(file, label)
        try:
            for start in range(0, length, _PIECE):
                digest.update(read_at(descriptor, start, min(_PIECE, length - start), label))
        finally:
            os.close(descriptor)
    return digest.hexdigest()
