"""The Merkle tree over the log: its root is the archive digest (RFC 9162, section 2.1).

Leaves are turn entries and capture entries in order of the log. A leaf holds what a transcript says and nothing of
where, when, how compressed or by whom it was captured.
"""

from __future__ import annotations

from hashlib import sha256
from struct import Struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ctxarc.preservation.entry import Gap

TURN_LEAF = Struct("<cQQ32s")
"""``T``, the turn's number, its length, its SHA-256; the transcript's name follows."""
CAPTURE_LEAF = Struct("<cQQQ32sQ32sI")
"""``C``, turns kept, turns now, bytes and SHA-256 of the source, those of what is held, gaps; gaps and name follow."""
GAP_LEAF = Struct("<QQQQ")
"""A gap's first turn, its number of turns, its first byte in the source and the byte behind its last."""


def turn_hashes(first: int, digests: Sequence[bytes], lengths: Sequence[int], name: bytes) -> list[bytes]:
    """Leaf hashes of consecutive turns of the transcript ``name``, the first of which has the number ``first``."""
    pack = TURN_LEAF.pack
    return [
        sha256(b"\0" + pack(b"T", number, length, digest) + name).digest()
        for number, (digest, length) in enumerate(zip(digests, lengths, strict=True), first)
    ]


def capture_hash(  # noqa: PLR0913 - what a capture says
    *, keep: int, turns: int, source: tuple[int, bytes], held: tuple[int, bytes], gaps: Sequence[Gap], name: bytes
) -> bytes:
    """Leaf hash of a capture; ``source`` and ``held`` are (bytes, SHA-256)."""
    leaf = CAPTURE_LEAF.pack(b"C", keep, turns, *source, *held, len(gaps))
    parts = [GAP_LEAF.pack(gap.first_turn, gap.turns, gap.start_byte, gap.end_byte) for gap in gaps]
    return sha256(b"\0" + leaf + b"".join(parts) + name).digest()


class Tree:
    """A growing Merkle tree, kept as its peaks: the roots of the perfect subtrees that its leaves make, largest first.

    Args:
        leaves: number of leaves so far.
        peaks: as many hashes as ``leaves`` has bits set.

    """

    def __init__(self, leaves: int = 0, peaks: Iterable[bytes] = ()) -> None:
        self.leaves = leaves
        self.peaks = list(peaks)

    def extend(self, hashes: Sequence[bytes]) -> None:
        """Append leaves by their hashes, in subtrees as large as fit where the tree ends."""
        at = 0
        while at < len(hashes):
            fits = 1 << (len(hashes) - at).bit_length() - 1
            aligned = self.leaves & -self.leaves
            size = min(fits, aligned) if aligned else fits
            node, full = _subtree(hashes[at : at + size]), self.leaves // size
            while full & 1:
                node = sha256(b"\1" + self.peaks.pop() + node).digest()
                full >>= 1
            self.peaks.append(node)
            self.leaves += size
            at += size

    def root(self) -> bytes:
        """The root: the peaks joined from the right; SHA-256 of nothing where there is no leaf."""
        if not self.peaks:
            return sha256(b"").digest()
        node = self.peaks[-1]
        for peak in reversed(self.peaks[:-1]):
            node = sha256(b"\1" + peak + node).digest()
        return node


def _subtree(hashes: Sequence[bytes]) -> bytes:
    """The root of a perfect tree: the number of ``hashes`` is a power of two."""
    while len(hashes) > 1:
        hashes = [sha256(b"\1" + left + right).digest() for left, right in zip(hashes[::2], hashes[1::2], strict=True)]
    return hashes[0]
