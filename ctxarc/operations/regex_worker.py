"""The process in which regular expressions of users run, so that one that never ends can be ended from outside.

It is started by ``matching`` as a script and needs only the standard library. On standard input come the flags, the
time limit in milliseconds, the number of expressions, the length of each, and the expressions; an empty answer means
that they compiled, any other says why not. Then come batches: the number of texts, their lengths, the texts. The answer
to a batch is (index, start, end) of every match. A batch that takes longer than the limit ends the process.
"""

from __future__ import annotations

import re
import signal
import sys
from array import array
from collections.abc import Iterator
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


def _set_alarm(seconds: float) -> None:
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


def spans(patterns: list[re.Pattern[Any]], text: Any) -> Iterator[tuple[int, int]]:  # noqa: ANN401 - str or bytes
    """The matches of any of ``patterns``, none empty and none over another: the leftmost, then the earliest pattern."""
    at = 0
    nearest = [_first(pattern, text, at) for pattern in patterns]
    while match := min(filter(None, nearest), key=re.Match.start, default=None):
        yield match.span()
        at = match.end()
        for index, old in enumerate(nearest):
            if old and old.start() < at:
                nearest[index] = _first(patterns[index], text, at)


def _first(pattern: re.Pattern[Any], text: Any, at: int) -> re.Match[Any] | None:  # noqa: ANN401 - str or bytes
    return next((match for match in pattern.finditer(text, at) if match.end() > match.start()), None)


def main() -> None:
    """Answer batches until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started this is interrupted, and ends it
    flags, milliseconds, count = _numbers(3)
    sources: list[Any] = [_take(length) for length in _numbers(count)]
    as_text = bool(flags & TEXT)
    _set_alarm(milliseconds / 1000)
    try:
        sources = [source.decode("utf-8", "surrogateescape") if as_text else source for source in sources]
        patterns = [re.compile(source, re.RegexFlag(flags & ~TEXT)) for source in sources]
    except (re.error, OverflowError, RecursionError, ValueError, MemoryError) as error:
        _answer(str(error).encode() or b"it cannot be compiled")
        return
    _answer(b"")
    while True:
        _set_alarm(0)
        lengths = _numbers(_numbers(1)[0])
        texts = [_take(size) for size in lengths]
        _set_alarm(milliseconds / 1000)
        found = array("Q")
        for index, data in enumerate(texts):
            for start, end in spans(patterns, data.decode("utf-8", "surrogateescape") if as_text else data):
                found.extend((index, start, end))
        _answer(found.tobytes())


if __name__ == "__main__":
    main()
