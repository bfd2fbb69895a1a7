"""What is measured: an archive, which is only read, or a transcript, which is captured into a temporary archive."""

from __future__ import annotations

import platform
import tempfile
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxarc import __version__
from ctxarc.auxiliary.vectors.arrays import np
from ctxarc.errors import MissingPackage, NoSuchSource
from ctxarc.operations.capture import capture
from ctxarc.operations.sources import discover
from ctxarc.operations.view import View
from ctxarc.preservation.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator

_PACKAGES = ("click", "numpy", "rich", "xxhash", "zstandard")


@contextmanager
def archive_of(source: Path) -> Iterator[Path]:
    """The archive at ``source``; of a transcript, one that is gone afterwards.

    Raises:
        NoSuchSource: nothing is there.

    """
    if source.is_dir() and ((source / "CTXA").exists() or (source / "HEAD").exists()):
        yield source
        return
    if not source.exists():
        raise NoSuchSource(f"{source}: no such file or archive", source=str(source))
    with tempfile.TemporaryDirectory(prefix="ctxarc-bench-") as folder:
        archive = Path(folder) / f"{source.stem or 'bench'}.ctxa"
        capture(archive, discover([str(source)]))
        yield archive


def described(archive: Path) -> dict[str, Any]:
    """What was measured, by digest; equal digests are the same record, whatever holds it."""
    with Record(archive) as record:
        states = list(View(record).states())
        return {
            "archive_digest": record.head.root.hex(),
            "turns": sum(state.turns for state in states),
            "bytes": sum(state.entry.source_bytes for state in states),
            "complete": all(state.complete for state in states),
            "transcripts": [
                {"transcript": state.name.decode(), "turns": state.turns, "sha256": state.entry.source_sha256.hex()}
                for state in states
            ],
        }


def surroundings() -> dict[str, Any]:
    """The release and the machine that measured."""
    return {
        "version": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "packages": {name: _version(name) for name in _PACKAGES},
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def need_numpy() -> Any:  # noqa: ANN401 - the module
    """NumPy.

    Raises:
        MissingPackage: it is not installed.

    """
    if np is None:
        raise MissingPackage("a measurement computes with NumPy, which is not installed", hint="pip install numpy")
    return np
