"""Vectors as NumPy's ``.npy``: rows that lie in the file as they will in the archive, mapped and not read.

The format is that of NumPy's NEP 1, versions 1 to 3. Objects, which ``.npy`` stores as pickles, are refused.
"""

from __future__ import annotations

import ast
import math
import mmap
import os
import stat
import sys
import warnings
from array import array
from shutil import copyfileobj
from struct import Struct, iter_unpack, unpack_from
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, NamedTuple

from ctxarc.errors import MalformedVectors
from ctxarc.operations.vector_inputs.numbers import check_width

if TYPE_CHECKING:
    from collections.abc import Iterator

MAGIC = b"\x93NUMPY"
_HEADER_LIMIT = 1 << 16
_VERSION_1 = 1
_WRITTEN = ("<f4", ">f4", "<f8", ">f8", "<f2", ">f2")
"""Kinds of numbers that are read: float32, float64, float16 of either byte order."""
_PIECE = 1 << 20
"""Numbers that are converted at a time."""
HINT = "save it with numpy.save, as numpy.ascontiguousarray(vectors, 'float32') of two dimensions"


class Table(NamedTuple):
    """A table of an ``.npy`` file: its rows as float32, little-endian, and its shape."""

    rows: int
    width: int
    data: memoryview


def read_npy(stream: IO[bytes], label: str) -> Table:
    """The rows of an ``.npy`` file of two dimensions, mapped; those of another kind of number are converted.

    Raises:
        MalformedVectors: it is something else, or damaged.

    """
    view = _mapped(stream)
    descr, rows, width, start = _header(view, label)
    check_width(width, label)
    size = int(descr[2])
    if len(view) - start != rows * width * size:
        message = f"{label}: {len(view) - start:,} bytes behind its header, and {rows:,} rows of {width:,} {descr} "
        raise MalformedVectors(message + f"are {rows * width * size:,}", hint=HINT)
    if not rows:
        raise MalformedVectors(f"{label}: no vector in it")
    data = view[start:]
    return Table(rows, width, data if descr == "<f4" else _converted(data, descr, label, width))


def size_of(stream: IO[bytes]) -> int | None:
    """The length of a plain file; ``None`` where a stream is none."""
    try:
        status = os.fstat(stream.fileno())
    except OSError:
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _mapped(stream: IO[bytes]) -> memoryview:
    """The content of a file as it lies on the disk; what comes through a pipe goes into a temporary file first."""
    if size_of(stream) is not None and stream.tell() == 0:
        return memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
    with TemporaryFile(prefix="ctxarc-") as copy:
        copyfileobj(stream, copy, 1 << 20)
        copy.flush()
        return memoryview(mmap.mmap(copy.fileno(), 0, access=mmap.ACCESS_READ))


def _header(view: memoryview, label: str) -> tuple[str, int, int, int]:
    """What kind of numbers it holds, rows, numbers in a row, and where they begin."""
    version = view[6] if len(view) >= 12 else 0  # noqa: PLR2004 - magic, version, length of the header
    if version not in {1, 2, 3}:
        raise MalformedVectors(f"{label}: an .npy file of version {version}, and 1 to 3 are known", hint=HINT)
    length, at = (*unpack_from("<H", view, 8), 10) if version == _VERSION_1 else (*unpack_from("<I", view, 8), 12)
    if length > _HEADER_LIMIT or at + length > len(view):
        raise MalformedVectors(f"{label}: an .npy file whose header has {length:,} bytes", hint=HINT)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's own, of odd literals: what cannot be read is refused here
            said = ast.literal_eval(bytes(view[at : at + length]).decode("utf-8"))
        descr, fortran, shape = said["descr"], said["fortran_order"], tuple(said["shape"])
    except (ValueError, SyntaxError, KeyError, TypeError, RecursionError, MemoryError) as error:
        raise MalformedVectors(f"{label}: an .npy file whose header cannot be read", hint=HINT) from error
    if descr not in _WRITTEN:
        raise MalformedVectors(f"{label}: holds {descr!r}, and no float32, float64 or float16", hint=HINT)
    if len(shape) != 2 or not all(type(each) is int and each >= 0 for each in shape):  # noqa: PLR2004 - rows, columns
        raise MalformedVectors(f"{label}: has the shape {shape}, and vectors are rows of two dimensions", hint=HINT)
    if fortran and min(shape) > 1:
        raise MalformedVectors(f"{label}: lies in Fortran's order, column by column", hint=HINT)
    return descr, *shape, at + length


def _converted(data: memoryview, descr: str, label: str, width: int) -> memoryview:
    """The numbers as float32, little-endian, in a temporary file."""
    with TemporaryFile(prefix="ctxarc-") as file:
        at = 0
        for piece in _pieces(data, descr):
            narrowed = array("f", piece)
            # A number that float32 cannot hold became infinite; one that was so is named by the check of the rows.
            if not math.isfinite(sum(narrowed)):
                for number, wide in zip(narrowed, piece, strict=True):
                    if math.isinf(number) and math.isfinite(wide):
                        place = f"{label}, row {at // width}: number {at % width} of the vector"
                        raise MalformedVectors(f"{place} is {wide!r}, beyond what float32 holds")
                    at += 1
            else:
                at += len(narrowed)
            if sys.byteorder == "big":  # pragma: no cover - stored little-endian
                narrowed.byteswap()
            file.write(narrowed)
        file.flush()
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def _pieces(data: memoryview, descr: str) -> Iterator[array[float]]:
    size = int(descr[2])
    swapped = (descr[0] == ">") == (sys.byteorder == "little")
    for start in range(0, len(data), _PIECE * size):
        raw = data[start : start + _PIECE * size]
        if descr.endswith("f2"):
            yield array("f", (number for (number,) in iter_unpack(f"{descr[0]}e", raw)))
            continue
        piece = array("f" if size == 4 else "d", bytes(raw))  # noqa: PLR2004 - bytes of a float32
        if swapped:
            piece.byteswap()
        yield piece


_FRONT = Struct("<6sBBH")


def npy_header(rows: int, width: int) -> bytes:
    """The beginning of an ``.npy`` file of float32 rows, padded so that they begin at a multiple of 64."""
    said = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {width}), }}".encode()
    said += b" " * (-(_FRONT.size + len(said) + 1) % 64) + b"\n"
    return _FRONT.pack(MAGIC, 1, 0, len(said)) + said
