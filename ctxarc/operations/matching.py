"""Matching patterns: exact text in this process, regular expressions in one that can be ended."""

from __future__ import annotations

import re
import subprocess
import sys
from array import array
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Protocol, Self

from ctxarc.errors import BadPattern, IoFailed, PatternTimeout
from ctxarc.operations import regex_worker

if TYPE_CHECKING:
    from collections.abc import Sequence

_GRACE = 0.5
"""Seconds behind its limit at which a process that matches ends by itself, where nobody is left to end it."""

Span = tuple[int, int, int]
"""Index of a text, and the start and end of a match in it."""


class Matcher(Protocol):
    """Finds a pattern in texts: bytes, or UTF-8 that is matched as characters."""

    def spans(self, texts: Sequence[bytes | memoryview]) -> list[Span]:
        """All matches, none of them empty; offsets count bytes, or characters where texts are matched so."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


def matcher(patterns: Sequence[str], *, regex: bool, as_text: bool, ignore_case: bool, time_limit: float) -> Matcher:
    """What finds any of ``patterns``.

    Args:
        patterns: one or more; the leftmost match counts, the earlier pattern where two begin together.
        regex: whether they are regular expressions.
        as_text: whether texts are matched as characters.
        ignore_case: whether upper and lower case are one.
        time_limit: seconds that one batch of texts may take.

    Raises:
        BadPattern: there is no pattern, or one is empty, or no regular expression.

    """
    if not patterns:
        raise BadPattern("there is no pattern to look for")
    if not all(patterns):
        raise BadPattern("an empty pattern stands everywhere, so it is not looked for")
    flags = re.IGNORECASE if ignore_case else re.RegexFlag(0)
    if not regex:
        return _Exact("|".join(map(re.escape, patterns)), flags, as_text=as_text)
    return _Process(patterns, flags, as_text=as_text, time_limit=time_limit)


class _Exact:
    def __init__(self, source: str, flags: re.RegexFlag, *, as_text: bool) -> None:
        self._text = re.compile(source, flags) if as_text else None
        self._bytes = re.compile(source.encode("utf-8", "surrogateescape"), flags)

    def spans(self, texts: Sequence[bytes | memoryview]) -> list[Span]:
        if self._text:
            strings = (str(text, "utf-8", "surrogateescape") for text in texts)
            found = ((index, self._text.finditer(string)) for index, string in enumerate(strings))
            return [(index, *match.span()) for index, matches in found for match in matches]
        return [(index, *match.span()) for index, text in enumerate(texts) for match in self._bytes.finditer(text)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class _Process:
    def __init__(self, patterns: Sequence[str], flags: re.RegexFlag, *, as_text: bool, time_limit: float) -> None:
        self._given, self._limit, self._expired = list(patterns), time_limit, False
        self._patterns = " or ".join(map(repr, patterns))
        command = [sys.executable, "-I", "-S", str(Path(regex_worker.__file__))]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603 - our own file
        sources = [pattern.encode("utf-8", "surrogateescape") for pattern in patterns]
        numbers = [flags | (regex_worker.TEXT if as_text else 0), round((time_limit + _GRACE) * 1000), len(sources)]
        try:
            reason = self._ask(array("Q", [*numbers, *map(len, sources)]).tobytes(), *sources)
        except BaseException:
            self.close()
            raise
        if reason:
            self.close()
            words = reason.decode("utf-8", "replace")
            raise BadPattern(f"{self._patterns} is no regular expression: {words}", patterns=self._given, reason=words)

    def spans(self, texts: Sequence[bytes | memoryview]) -> list[Span]:
        lengths = array("Q", [len(texts), *map(len, texts)]).tobytes()
        found = array("Q")
        found.frombytes(self._ask(lengths, *texts))
        return list(zip(found[0::3], found[1::3], found[2::3], strict=True))

    def _ask(self, *parts: bytes | memoryview) -> bytes:
        """Send ``parts`` and give the answer; the process is ended where that takes too long."""
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise RuntimeError("the process was started without pipes")
        timer = Timer(self._limit, self._expire)
        timer.daemon = True
        timer.start()
        try:
            for part in parts:
                stdin.write(part)
            stdin.flush()
            size = stdout.read(8)
            answer = stdout.read(int.from_bytes(size, "little"))
        except BrokenPipeError:
            size = answer = b""
        finally:
            timer.cancel()
        if self._expired:
            message = f"{self._patterns} took more than {self._limit:g} s on a stretch of the record"
            raise PatternTimeout(message, patterns=self._given, time_limit_seconds=self._limit)
        if len(size) < 8:  # noqa: PLR2004 - the answer's length
            raise IoFailed("the process that matches regular expressions ended", hint="try a simpler expression")
        return answer

    def _expire(self) -> None:
        self._expired = True
        self._process.kill()

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                try:
                    pipe.close()
                except BrokenPipeError:
                    continue

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
