r"""The only way to stdout and stderr: bytes in full, UTF-8 whatever the locale, nothing that acts on a terminal.

What comes from a transcript, a file name or an archive passes :func:`printable` before it is shown, terminal or not;
JSON has the same characters as ``\u`` escapes, which is the same JSON. ``Output.line`` checks once more, so that a
command that forgets leaks no control character.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import sys
import time
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Protocol

import click

from ctxarc import SCHEMA
from ctxarc.errors import Refusal, from_os_error

_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Unicode's Default_Ignorable_Code_Point (without U+FE0F, which only makes an emoji of a sign), and the line separators
and bidirectional controls: what a reader cannot see, and what can make text look other than it is."""
_DECEPTIVE = f"\x7f-\x9f\ud800-\udfff{_INVISIBLE}"
_COLOUR = re.compile("(\x1b\\[[0-9;]*m)")
_SHORT = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}
_WAIT_SECONDS = 0.005

_encode = json.JSONEncoder(ensure_ascii=False, default=str).encode


class Sink(Protocol):
    """What bytes are written to: buffered, or raw and so free to take fewer than it is given, or none for now."""

    def write(self, data: memoryview, /) -> int | None:
        """How many bytes were taken."""


@cache
def _deceptive(more: str) -> re.Pattern[str]:
    """What must be escaped, and ``more``; made when it is needed, which is rare."""
    return re.compile(f"[{more}{_DECEPTIVE}]")


def printable(text: str, keep: str = "") -> str:
    r"""``text`` with what acts on a terminal or cannot be seen as visible escapes: ``\x1b``, ``\u202e``.

    ``keep`` names control characters that stay, a line feed or a tab, where the caller's layout allows them.
    """
    if text.isascii() and text.isprintable():
        return text
    return _deceptive("\x00-\x1f").sub(lambda match: match[0] if match[0] in keep else _visible(match[0]), text)


def one_line(text: str) -> str:
    """``text`` as a part of one line: runs of blanks and line ends are one blank, the rest is :func:`printable`."""
    return printable(re.sub(r"[ \t\r\n]+", " ", text).strip(" "))


def _visible(char: str) -> str:
    code = ord(char)
    if char in _SHORT:
        return _SHORT[char]
    if code <= 0xFF:  # noqa: PLR2004 - the widths of the escapes of Python and C
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004 - the same


def to_json(value: object) -> str:
    """``value`` as one line of JSON: UTF-8 stays readable, what deceives a reader is escaped, and nothing is lost."""
    text = _encode(value)
    if text.isascii() and "\x7f" not in text:
        return text
    return _deceptive("").sub(lambda match: json.dumps(match[0])[1:-1], text)


def write_all(stream: Sink, data: bytes | memoryview) -> None:
    """Write all of ``data``, however little of it a write takes: stdout may be unbuffered or not wait."""
    view = memoryview(data).cast("B")
    while view:
        try:
            written = stream.write(view)
        except BlockingIOError as full:
            written = full.characters_written
        if not written:
            time.sleep(_WAIT_SECONDS)
        view = view[written or 0 :]


def _not_written(error: OSError) -> Refusal:
    """The refusal that stands for a stdout that fails; the archive may have been written to by then."""
    refusal = from_os_error(error, "standard output")
    refusal.hint = "the output is not complete, and what was stored before it is; make room for it and run it again"
    return refusal


class Output:
    """stdout and stderr of one command, with the global options: ``json``, ``quiet``, ``no_color``.

    ``json_asked`` says whether ``--json`` stands among the arguments: all that is known where they cannot be parsed.
    """

    def __init__(self, arguments: Sequence[str] = ()) -> None:
        self.json = False
        self.quiet = False
        self.no_color = False
        self.json_asked = "--json" in arguments[: arguments.index("--") if "--" in arguments else None]
        self.terminal = sys.stdout is not None and sys.stdout.isatty()
        self._may_color = self.terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

    @property
    def color(self) -> bool:
        """Whether stdout may have colours."""
        return self._may_color and not self.no_color

    def paint(self, text: str, fg: str | None = None, *, bold: bool | None = None, dim: bool | None = None) -> str:
        """``text`` in that style where stdout may have colours."""
        return click.style(text, fg=fg, bold=bold, dim=dim) if self.color else text

    def write(self, data: bytes | memoryview) -> None:
        """Write raw bytes to stdout."""
        if sys.stdout is None:
            raise _not_written(OSError(errno.EBADF, os.strerror(errno.EBADF)))
        try:
            write_all(sys.stdout.buffer, data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise _not_written(error) from error

    def line(self, text: str = "") -> None:
        """Write a line to stdout; only colours of :meth:`paint` pass as control characters."""
        parts = _COLOUR.split(text) if self.color else [text]
        parts[::2] = [printable(part, "\n\t") for part in parts[::2]]
        self.write(("".join(parts) + "\n").encode())
        if self.terminal:
            self.flush()

    def object(self, fields: Mapping[str, object], *, ok: bool = True) -> None:
        """Write one object of the JSON contract to stdout, on a line of its own."""
        self.write((to_json({"schema": SCHEMA, "ok": ok, **fields}) + "\n").encode())
        if self.terminal:
            self.flush()

    def flush(self) -> None:
        """Hand everything over to the system; a full disk shows here."""
        if sys.stdout is None:
            return
        try:
            while True:
                with contextlib.suppress(BlockingIOError):
                    sys.stdout.flush()
                    return
                time.sleep(_WAIT_SECONDS)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise _not_written(error) from error

    def note(self, text: str) -> None:
        """Say something beside the result on stderr, behind what was printed of it, unless ``--quiet``."""
        if not self.quiet:
            self.flush()
            self.complain(text)

    def complain(self, text: str) -> None:
        """Say on stderr what must be said; a stderr that is gone is no reason to fail."""
        if sys.stderr is None:
            return
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.flush()
            write_all(sys.stderr.buffer, (printable(text, "\n\t") + "\n").encode())
            sys.stderr.buffer.flush()

    def refuse(self, refusal: Refusal) -> None:
        """Say a refusal and its hint on stderr, each on a line."""
        self.complain(f"ctxarc: {refusal.code}: {printable(refusal.message)}")
        if refusal.hint:
            self.complain(f"hint: {printable(refusal.hint)}")

    def abandon(self) -> None:
        """Let go of stdout, so that what could not be written is not tried, and complained of, at exit."""
        with contextlib.suppress(OSError, ValueError, AttributeError):
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, sys.stdout.fileno())
            os.close(null)
