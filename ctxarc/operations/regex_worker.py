"""The process in which regular expressions of users run, so that one that never ends can be ended from outside.

It is started by ``matching`` as a script and needs only the standard library. On standard input come the flags, the
expression's length and the expression; an empty answer means that it compiled, any other says why not. Then come
batches: the number of texts, their lengths, the texts. The answer to a batch is (index, start, end) of every match.
"""

from __future__ import annotations

import re
import sys
from array import array
from typing import Any

TEXT = 1 << 20
"""Flag, beside those of ``re``: texts are UTF-8 and matched as characters, and offsets count characters."""


def _take(length: int) -> bytes:
    data = sys.stdin.buffer.read(length)
    if len(data) < length:
        raise SystemExit
    return data


def _numbers(count: int) -> array[int]:
    numbers = array("Q")
    numbers.frombytes(_take(8 * count))
    return numbers


def _answer(data: bytes) -> None:
    sys.stdout.buffer.write(len(data).to_bytes(8, "little") + data)
    sys.stdout.buffer.flush()


def main() -> None:
    """Answer batches until standard input ends."""
    flags, length = _numbers(2)
    source: Any = _take(length)
    as_text = bool(flags & TEXT)
    try:
        source = source.decode("utf-8", "surrogateescape") if as_text else source
        search = re.compile(source, re.RegexFlag(flags & ~TEXT)).finditer
    except (re.error, OverflowError, RecursionError, ValueError, MemoryError) as error:
        _answer(str(error).encode() or b"it cannot be compiled")
        return
    _answer(b"")
    while True:
        found = array("Q")
        lengths = _numbers(_numbers(1)[0])
        for index, size in enumerate(lengths):
            data = _take(size)
            for match in search(data.decode("utf-8", "surrogateescape") if as_text else data):
                if match.end() > match.start():
                    found.extend((index, match.start(), match.end()))
        _answer(found.tobytes())


if __name__ == "__main__":
    main()
