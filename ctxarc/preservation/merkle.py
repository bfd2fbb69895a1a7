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

    def extend(self, hashes: Iterable[bytes]) -> None:
        """Append leaves by their hashes."""
        peaks, leaves = self.peaks, self.leaves
        for leaf in hashes:
            node, full = leaf, leaves
            while full & 1:
                node = sha256(b"\1" + peaks.pop() + node).digest()
                full >>= 1
            peaks.append(node)
            leaves += 1
        self.leaves = leaves

    def root(self) -> bytes:
        """The root: the peaks joined from the right; SHA-256 of nothing where there is no leaf."""
        if not self.peaks:
            return sha256(b"").digest()
        node = self.peaks[-1]
        for peak in reversed(self.peaks[:-1]):
            node = sha256(b"\1" + peak + node).digest()
        return node
