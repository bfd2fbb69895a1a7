"""Files of vectors, and of the exports that they answer, opened with named faults."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

from ctxarc.errors import NoSuchSource
from ctxarc.operations.vector_inputs.answered import Answered, read_answered
from ctxarc.preservation.files import named_faults

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedReader
    from pathlib import Path


@contextmanager
def open_vectors(path: Path) -> Iterator[BufferedReader]:
    """A file, open for reading.

    Raises:
        NoSuchSource: it is not there.
        IoFailed, PermissionDenied: it cannot be read.

    """
    if not path.exists():
        hint = "it has a line {id, vector} a segment, or is an .npy file"
        raise NoSuchSource(f"{path}: no such file", hint=hint, source=str(path))
    with named_faults(path):
        stream = cast("BufferedReader", path.open("rb", buffering=1 << 18))
    with stream, named_faults(path):
        yield stream


def read_export(path: Path) -> Answered:
    """The ids of an export's rows, and what its first line says.

    Raises:
        NoSuchSource: the file is not there.
        MalformedVectors: it is no export.

    """
    with open_vectors(path) as stream:
        return read_answered(stream, str(path))
