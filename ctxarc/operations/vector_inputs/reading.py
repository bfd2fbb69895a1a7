"""The door: vectors in a file, or from a pipe, in whichever of the formats they are, told by what is in them."""

from __future__ import annotations

import re
from itertools import chain
from typing import IO, TYPE_CHECKING

from ctxarc.errors import BadUsage, MalformedVectors
from ctxarc.operations.progress import Progress, quiet
from ctxarc.operations.vector_inputs.document import read_document
from ctxarc.operations.vector_inputs.fields import load
from ctxarc.operations.vector_inputs.lines import read_answers, read_rows
from ctxarc.operations.vector_inputs.npy import MAGIC, read_npy, size_of
from ctxarc.operations.vector_inputs.rows import Given

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedReader

    from ctxarc.operations.vector_inputs.answered import Answered

_MARK = b"\xef\xbb\xbf"
"""The byte order mark that some programs put before UTF-8."""
_TOLD_BYTES = 1 << 20
"""Bytes between two reports of progress."""
_LIST = re.compile(rb'"vectors"\s*:\s*\[')


def read_vectors(
    stream: BufferedReader, label: str, answered: Answered | None = None, progress: Progress = quiet
) -> Given:
    """The vectors in ``stream``.

    Args:
        stream: a file, or a pipe, from its beginning.
        label: what messages call it.
        answered: the export that they answer, which names the rows of an ``.npy``, and may state some of an identity.
        progress: told how many bytes were read.

    Raises:
        MalformedVectors: it holds something else.
        Incomparable: it contradicts itself.
        BadUsage: an ``.npy`` without an export.

    """
    is_npy = stream.peek(8).startswith(MAGIC)
    given = _from_npy(stream, label, answered) if is_npy else _from_text(stream, label, progress)
    if answered is None:
        return given
    export_ids = (*given.export_ids, answered.export_id) if answered.export_id else given.export_ids
    return given._replace(
        stated=(*given.stated, answered.stated),
        distinct=given.distinct or answered.distinct,
        export_ids=export_ids,
    )


def _from_npy(stream: BufferedReader, label: str, answered: Answered | None) -> Given:
    if answered is None:
        hint = "--export FILE, the file that `ctxarc export` wrote and whose rows they are vectors of"
        raise BadUsage(f"{label}: an .npy file does not say whose its rows are", hint=hint)
    table = read_npy(stream, label)
    if table.rows != len(answered.ids):
        message = f"{label}: {table.rows:,} rows, and the export that it answers has {len(answered.ids):,}"
        raise MalformedVectors(message, rows=table.rows, expected=len(answered.ids))
    return Given(label, (), answered.ids, None, table.width, table.data, checked=False)


def _from_text(stream: BufferedReader, label: str, progress: Progress) -> Given:
    lines = _lines(stream, progress)
    number, first = next(lines, (0, b""))
    if not number:
        raise MalformedVectors(f"{label}: no vector in it")
    every = chain([(number, first)], lines)
    if _LIST.search(first) or (first.lstrip().startswith(b"{") and not first.rstrip().endswith(b"}")):
        return _document(first, stream, label)
    fields = load(first, f"{label}, line {number}") if b'"custom_id"' in first else None
    if isinstance(fields, dict) and "custom_id" in fields:
        return read_answers(every, label)
    return read_rows(every, label)


def _document(first: bytes, stream: IO[bytes], label: str) -> Given:
    try:
        text = (first + stream.read()).decode("utf-8")
    except UnicodeDecodeError as error:
        raise MalformedVectors(f"{label}: not UTF-8 ({error})") from error
    return read_document(text, label)


def _lines(stream: IO[bytes], progress: Progress) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, with their numbers."""
    total = size_of(stream)
    done = told = 0
    for number, line in enumerate(stream, 1):
        text = line.removeprefix(_MARK) if number == 1 else line
        if not text.isspace() and text:
            yield number, text
        done += len(line)
        if done - told >= _TOLD_BYTES:
            told = done
            progress("reading", done, total)
