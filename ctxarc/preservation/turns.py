"""Cutting a stream of bytes into turns: at the byte 0x0A and nowhere else."""

from __future__ import annotations

from ctxarc.errors import TurnTooLarge
from ctxarc.preservation.layout import TURN_LIMIT


class TurnCutter:
    """Takes a source in pieces of any size and gives its turns, each with its line feed."""

    def __init__(self) -> None:
        self._begun: list[bytes] = []
        self._length = 0

    def feed(self, data: bytes) -> list[bytes]:
        """The turns that end in ``data``.

        Raises:
            TurnTooLarge: a turn is longer than an archive may hold.

        """
        first = data.find(b"\n") + 1
        if not first:
            self._keep(data)
            return []
        self._grow(first)
        last = data.rfind(b"\n") + 1
        turns = [b"".join([*self._begun, data[:first]])]
        turns += [line + b"\n" for line in data[first:last].split(b"\n")[:-1]]
        self._begun, self._length = [], 0
        self._keep(data[last:])
        return turns

    def finish(self) -> list[bytes]:
        """The last turn, where the source does not end with a line feed."""
        return [b"".join(self._begun)] if self._length else []

    def _keep(self, data: bytes) -> None:
        self._begun.append(data)
        self._grow(len(data))

    def _grow(self, length: int) -> None:
        self._length += length
        if self._length > TURN_LIMIT:
            message = f"a turn has more than {TURN_LIMIT} bytes, the most that an archive holds as one turn"
            raise TurnTooLarge(message, hint="it is no line of a transcript; nothing was stored", limit=TURN_LIMIT)
