"""The Merkle tree: its roots are those of RFC 9162, however it grew."""

from __future__ import annotations

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxarc.preservation.entry import Gap
from ctxarc.preservation.layout import EMPTY_ROOT
from ctxarc.preservation.merkle import Tree, capture_hash, turn_hashes

CT_LEAVES = [
    b"",
    b"\x00",
    b"\x10",
    b"\x20\x21",
    b"\x30\x31",
    b"\x40\x41\x42\x43",
    b"\x50\x51\x52\x53\x54\x55\x56\x57",
    b"\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f",
]
CT_ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
"""Roots over the first 0 to 8 leaves, from the tests of Certificate Transparency (RFC 6962)."""


def leaf_hash(data: bytes) -> bytes:
    return sha256(b"\0" + data).digest()


def naive_root(hashes: list[bytes]) -> bytes:
    """MTH of RFC 9162, section 2.1.1, word for word, over leaves that are hashed already."""
    if not hashes:
        return sha256(b"").digest()
    if len(hashes) == 1:
        return hashes[0]
    half = 1
    while half * 2 < len(hashes):
        half *= 2
    return sha256(b"\1" + naive_root(hashes[:half]) + naive_root(hashes[half:])).digest()


def test_the_root_of_the_empty_tree_is_the_digest_of_nothing() -> None:
    assert Tree().root() == EMPTY_ROOT == sha256(b"").digest()


def test_roots_are_those_of_certificate_transparency() -> None:
    for count, root in enumerate(CT_ROOTS):
        tree = Tree()
        tree.extend([leaf_hash(leaf) for leaf in CT_LEAVES[:count]])
        assert tree.root().hex() == root


def test_roots_are_those_of_the_naive_tree_for_every_size() -> None:
    hashes = [leaf_hash(bytes([number])) for number in range(71)]
    grown = Tree()
    for count in range(71):
        at_once = Tree()
        at_once.extend(hashes[:count])
        assert grown.root() == at_once.root() == naive_root(hashes[:count])
        assert grown.peaks == at_once.peaks
        assert (grown.leaves, len(grown.peaks)) == (count, count.bit_count())
        grown.extend([hashes[count]])


@given(st.lists(st.integers(0, 40), max_size=8))
def test_a_tree_that_grows_in_steps_and_is_kept_as_peaks_has_the_root_of_one_made_at_once(steps: list[int]) -> None:
    hashes = [leaf_hash(number.to_bytes(2, "big")) for number in range(sum(steps))]
    tree, at = Tree(), 0
    for step in steps:
        tree = Tree(tree.leaves, tree.peaks)
        tree.extend(hashes[at : at + step])
        at += step
    assert (tree.root(), tree.leaves) == (naive_root(hashes), len(hashes))


def test_peaks_that_are_handed_in_are_not_changed() -> None:
    peaks = [leaf_hash(b"a")]
    tree = Tree(1, peaks)
    tree.extend([leaf_hash(b"b")])
    assert peaks == [leaf_hash(b"a")]


def test_a_turns_leaf_is_its_number_length_digest_and_name() -> None:
    digest = sha256(b"x\n").digest()
    leaf = b"T" + (7).to_bytes(8, "little") + (2).to_bytes(8, "little") + digest + b"name"
    assert turn_hashes(7, [digest], [2], b"name") == [leaf_hash(leaf)]
    assert turn_hashes(6, [digest, digest], [2, 2], b"name")[1] == leaf_hash(leaf)
    assert turn_hashes(7, [], [], b"name") == []


CAPTURE = {
    "keep": 1,
    "turns": 5,
    "source": (9, bytes(32)),
    "held": (8, bytes([1] * 32)),
    "gaps": [Gap(1, 2, 3, 4)],
    "name": b"n",
}


def test_a_captures_leaf_is_its_steps_and_proofs() -> None:
    numbers = b"".join(value.to_bytes(8, "little") for value in (1, 5, 9))
    leaf = b"C" + numbers + bytes(32) + (8).to_bytes(8, "little") + bytes([1] * 32) + (1).to_bytes(4, "little")
    leaf += b"".join(value.to_bytes(8, "little") for value in (1, 2, 3, 4)) + b"n"
    assert capture_hash(**CAPTURE) == leaf_hash(leaf)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "change",
    [
        {"keep": 2},
        {"turns": 6},
        {"source": (10, bytes(32))},
        {"source": (9, bytes([2] * 32))},
        {"held": (7, bytes([1] * 32))},
        {"held": (8, bytes(32))},
        {"gaps": []},
        {"gaps": [Gap(1, 2, 3, 5)]},
        {"name": b"m"},
    ],
)
def test_a_captures_leaf_depends_on_all_that_it_says(change: dict[str, object]) -> None:
    assert capture_hash(**CAPTURE | change) != capture_hash(**CAPTURE)  # type: ignore[arg-type]


def test_a_turns_leaf_and_a_captures_leaf_are_never_the_same() -> None:
    """The first byte of a leaf says which it is, whatever names and gaps follow."""
    digest = bytes(32)
    turn = turn_hashes(0, [digest], [0], b"a" * 100)[0]
    captured = capture_hash(keep=0, turns=0, source=(0, digest), held=(0, digest), gaps=[], name=b"a")
    assert turn != captured
