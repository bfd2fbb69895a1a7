"""Unsigned LEB128: seven bits a byte, lowest first, the high bit set on all but the last; at most ten bytes."""

from __future__ import annotations

from ctxarc.errors import IndexMismatch, LimitExceeded
from ctxarc.preservation.layout import COUNT_LIMIT

_MORE = 0x80
"""The bit of a byte that says that another follows."""
_LONGEST = 63
"""Bits before the last byte of the longest varint."""


def encode(value: int) -> bytes:
    """``value`` as a varint; it is not negative."""
    out = bytearray()
    while value >= _MORE:
        out.append(value & 0x7F | _MORE)
        value >>= 7
    out.append(value)
    return bytes(out)


class Cursor:
    """Reads varints and byte strings one behind another out of ``data``, never beyond its end.

    Args:
        data: the bytes of one record.
        at: where to begin.
        label: what a refusal calls the record.

    """

    def __init__(self, data: bytes, at: int, label: str) -> None:
        self.data = data
        self.at = at
        self.label = label

    def varint(self) -> int:
        """The next varint.

        Raises:
            IndexMismatch: the record ends inside it, or it is longer than its value needs.
            LimitExceeded: its value is beyond the format's limit for any number.

        """
        data, at = self.data, self.at
        value = shift = 0
        try:
            while (byte := data[at]) >= _MORE and shift < _LONGEST:
                value |= (byte & 0x7F) << shift
                shift += 7
                at += 1
        except IndexError:
            raise IndexMismatch(f"{self.label}: ends inside a number", path="log") from None
        value |= byte << shift
        if not byte and shift:
            raise IndexMismatch(f"{self.label}: a number is written with more bytes than it needs", path="log")
        if value > COUNT_LIMIT:
            raise LimitExceeded(f"{self.label}: a number beyond {COUNT_LIMIT}", path="log", limit=COUNT_LIMIT)
        self.at = at + 1
        return value

    def take(self, length: int) -> bytes:
        """The next ``length`` bytes.

        Raises:
            IndexMismatch: the record ends before.

        """
        end = self.at + length
        if end > len(self.data):
            raise IndexMismatch(f"{self.label}: ends inside a field of {length} bytes", path="log")
        start, self.at = self.at, end
        return self.data[start:end]
