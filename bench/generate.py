"""Large transcripts made from the corpus, the same bytes each time.

No turn repeats: each line carries its own running number, inside the JSON object where it is one. All of it is
streamed, so that the measuring process stays small.
"""

from __future__ import annotations

import base64
import random
from collections.abc import Iterator
from pathlib import Path

LINE_SEED = 20240229
RANDOM_PIECE = 3 << 18  # a multiple of 3, so that pieces of base64 join without padding


def corpus_files(corpus: Path) -> list[Path]:
    """Every transcript of the corpus, in byte order of its relative path."""
    return sorted(corpus.rglob("*.jsonl"), key=lambda path: path.relative_to(corpus).as_posix().encode())


def numbered(line: bytes, number: int) -> bytes:
    """The line, its line feed added where it has none, made distinct by ``number``; a JSON object stays one."""
    if not line.endswith(b"\n"):
        line += b"\n"
    if line.startswith(b'{"'):
        return b'{"n":%d,' % number + line[1:]
    return b"%d " % number + line


def distinct_turns(corpus: Path) -> Iterator[bytes]:
    """The turns of the whole corpus, over and over without end, no two alike."""
    files, number = corpus_files(corpus), 0
    while True:
        for path in files:
            with path.open("rb") as source:
                for line in source:
                    yield numbered(line, number)
                    number += 1


def write_distinct(corpus: Path, target: Path, size: int) -> None:
    """Write whole distinct turns to ``target`` until it holds ``size`` bytes or just more."""
    written = 0
    with target.open("wb") as out:
        for turn in distinct_turns(corpus):
            written += out.write(turn)
            if written >= size:
                return


def write_long_line(target: Path, size: int) -> None:
    """Write one JSON line of about ``size`` bytes, nearly all of it base64 of pseudo-random bytes."""
    rng, written = random.Random(LINE_SEED), 0  # noqa: S311 - the same text each time, no secret
    with target.open("wb") as out:
        out.write(b'{"type":"user","data":"')
        while written < size:
            written += out.write(base64.b64encode(rng.randbytes(RANDOM_PIECE)))
        out.write(b'"}\n')
