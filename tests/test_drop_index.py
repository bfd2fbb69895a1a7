"""Removing an index: what goes, what stays, and what a process that is ended in between leaves."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from archives import DIED, findings, in_child
from cases import held, refused, said, sound, tree
from cases import stored as captured

from ctxarc import open_archive
from ctxarc.auxiliary.vectors import origin
from ctxarc.auxiliary.vectors.corpus import Corpus, corpora
from ctxarc.errors import NoSuchScheme
from ctxarc.model import DropResult, ExportRow
from ctxarc.operations import drop_index as module
from ctxarc.operations.attach import AttachOptions
from ctxarc.operations.drop_index import drop_index
from ctxarc.operations.export import ExportOptions
from ctxarc.preservation.lock import Lock

SCHEME, OTHER = "boundary-v1", "whole-turn-v1"
DATA = b"".join(said(f"remark {n}. " + "words " * 80, second=n) for n in range(6))
LOCKS = {"auxiliary.lock", "record.lock"}


def attached(archive: Path, model: str, scheme: str = SCHEME) -> str:
    """Attach vectors of a made-up model to every segment, with their origin; the fingerprint of their identity."""
    there = open_archive(archive)
    ids = [row.id for row in there.export(ExportOptions(scheme=scheme)) if isinstance(row, ExportRow)]
    file = archive.parent / "vectors.ndjson"
    file.write_text("".join(json.dumps({"id": each, "vector": [1.0, n, 2.0]}) + "\n" for n, each in enumerate(ids)))
    options = AttachOptions(model=model, revision="r", projection="json-text-v1", scheme=scheme)
    result = there.attach(file, options=options)
    corpus = Corpus(archive, scheme, result.identity_fingerprint)
    origin.write(archive, corpus.identity, origin.Origin("program", "", model))
    return result.identity_fingerprint


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Two indexes with words, of which one was built in two steps; three sets of vectors; and edges."""
    path = tmp_path / "a.ctxa"
    captured(path, DATA)
    there = open_archive(path)
    there.segment(SCHEME, OTHER)
    there.relate()
    captured(path, DATA + said("more, and it is short"))
    for model in ("m", "n"):
        attached(path, model)
    attached(path, "m", OTHER)
    sound(path)
    return path


def files(archive: Path) -> dict[str, bytes]:
    """Every file of the archive but its locks."""
    return {path: data for path, data in tree(archive).items() if data is not None and path not in LOCKS}


def no_empty_directory(archive: Path) -> bool:
    return all(any(path.iterdir()) for path in archive.rglob("*") if path.is_dir())


def check(archive: Path, before: Mapping[str, bytes], result: DropResult, *prefixes: str) -> None:
    """That exactly the files below ``prefixes`` are gone, and that the result says so."""
    gone = {path: data for path, data in before.items() if path.startswith(tuple(f"{each}/" for each in prefixes))}
    assert files(archive) == {path: data for path, data in before.items() if path not in gone}
    assert gone
    assert (result.files, result.bytes) == (len(gone), sum(map(len, gone.values())))
    assert sum(each.files for each in result.dropped) == result.files
    assert sum(each.bytes for each in result.dropped) == result.bytes
    assert result.preservation_unchanged
    assert result.preservation_digest_before == result.preservation_digest_after != ""
    assert no_empty_directory(archive)
    sound(archive)


def test_a_scheme_goes_with_what_was_made_from_it_where_that_is_said(archive: Path) -> None:
    before = files(archive)
    refusal = refused(lambda: drop_index(archive, scheme=SCHEME))
    prints = [print_ for scheme, print_ in corpora(archive) if scheme == SCHEME]
    expected = [*(f"vectors/{SCHEME}/{print_}" for print_ in prints), f"words/{SCHEME}"]
    assert (refusal.code, refusal.facts["dependents"]) == ("AMBIGUOUS", expected)
    assert all(each in refusal.message for each in expected)
    assert files(archive) == before
    result = drop_index(archive, scheme=SCHEME, dependents=True)
    check(archive, before, result, f"segments/{SCHEME}", f"words/{SCHEME}", f"vectors/{SCHEME}")
    kinds = [(each.kind, each.scheme, each.identity_fingerprint) for each in result.dropped]
    assert kinds == [
        *(("vectors", SCHEME, each) for each in prints),
        ("words", SCHEME, None),
        ("segments", SCHEME, None),
    ]
    assert held(archive) == DATA + said("more, and it is short")
    assert refused(lambda: drop_index(archive, scheme=SCHEME)).code == "NO_SUCH_SCHEME"
    assert open_archive(archive).segment(SCHEME)[0].coverage == 1.0


def test_words_go_alone(archive: Path) -> None:
    before = files(archive)
    check(archive, before, drop_index(archive, scheme=SCHEME, words=True), f"words/{SCHEME}")
    refusal = refused(lambda: drop_index(archive, scheme=SCHEME, words=True))
    assert (refusal.code, refusal.facts["built"]) == ("NO_SUCH_SCHEME", [OTHER])
    for each in (OTHER, SCHEME):
        print_ = [print_ for scheme, print_ in corpora(archive) if scheme == each]
        for name in print_:
            drop_index(archive, fingerprint=name)
    before = files(archive)
    check(archive, before, drop_index(archive, scheme=SCHEME), f"segments/{SCHEME}")


def test_vectors_go_by_a_unique_beginning_of_their_fingerprint(archive: Path) -> None:
    for scheme, print_ in corpora(archive):
        before = files(archive)
        assert origin.label(scheme, print_) in before
        result = drop_index(archive, fingerprint=print_[:12].upper())
        check(archive, before, result, f"vectors/{scheme}/{print_}")
        assert result.dropped[0].identity_fingerprint == print_
    assert not (archive / "vectors").exists()
    assert refused(lambda: drop_index(archive, fingerprint="0" * 32)).code == "NO_SUCH_VECTORS"


def test_a_fingerprint_that_could_mean_several_is_refused(archive: Path) -> None:
    copies = [archive / "vectors" / OTHER / (digit * 32) for digit in "ab"]
    for copy in copies:
        copy.mkdir()
        (copy / "00000001-00000001.vec").write_bytes(b"x")
    twin = copies[0].with_name("a" * 31 + "b")
    twin.mkdir()
    (twin / "00000001-00000001.vec").write_bytes(b"x")
    before = files(archive)
    assert refused(lambda: drop_index(archive, fingerprint="a" * 31)).code == "AMBIGUOUS"
    for wrong in ("", "../x", "*", "a" * 33, "g"):
        assert refused(lambda wrong=wrong: drop_index(archive, fingerprint=wrong)).code == "NO_SUCH_VECTORS"  # type: ignore[misc]
    assert refused(lambda: drop_index(archive, scheme=SCHEME, fingerprint="b" * 32)).code == "NO_SUCH_VECTORS"
    assert files(archive) == before
    drop_index(archive, scheme=OTHER, fingerprint="b" * 32)
    assert not copies[1].exists()


def test_edges_go_and_may_be_absent(archive: Path) -> None:
    before = files(archive)
    check(archive, before, drop_index(archive, edges=True), "edges")
    result = drop_index(archive, edges=True)
    assert (result.dropped, result.files, result.bytes, result.preservation_unchanged) == ((), 0, 0, True)


@pytest.mark.parametrize("damage", [b"", b"nonsense", None], ids=["empty", "nonsense", "flipped"])
def test_what_is_damaged_can_be_removed(damage: bytes | None, archive: Path) -> None:
    for path in (each for kind in ("segments", "words", "vectors", "edges") for each in (archive / kind).rglob("*.*")):
        if path.is_file():
            path.write_bytes(bytes(byte ^ 0x55 for byte in path.read_bytes()) if damage is None else damage)
    for scheme in (SCHEME, OTHER):
        drop_index(archive, scheme=scheme, dependents=True)
    drop_index(archive, edges=True)
    sound(archive)
    assert {path.partition("/")[0] for path in files(archive)} == {"CTXA", "HEAD", "log", "objects", "pack"}


def test_unfinished_files_and_links_in_the_place_of_parts_go_and_nothing_else(archive: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_bytes(b"not of the archive")
    folder = archive / "words" / SCHEME
    (folder / "000000000100-000000000200.wrd.tmp").write_bytes(b"half")
    part = next(path for path in folder.iterdir() if path.suffix != ".tmp")
    (folder / part.name.replace("000000000", "000000009")).symlink_to(kept)
    (folder / part.name.replace("000000000", "000000008")).mkdir()
    (folder / "notes.txt").write_bytes(b"mine")
    others = files(archive)
    result = drop_index(archive, scheme=SCHEME, words=True)
    assert kept.read_bytes() == b"not of the archive"
    left = sorted(f"words/{SCHEME}/{path.name}" for path in folder.iterdir())
    assert f"words/{SCHEME}/notes.txt" in left
    assert list(result.left) == left
    assert not any(path.is_symlink() or path.is_dir() for path in folder.iterdir())
    assert {path for path in others if not path.startswith("words/boundary")} <= set(files(archive))


@pytest.mark.parametrize("place", ["words", f"words/{SCHEME}", f"segments/{SCHEME}", "vectors"])
def test_a_link_in_the_place_of_a_directory_is_not_followed(place: str, archive: Path, tmp_path: Path) -> None:
    (archive / place).rename(tmp_path / "elsewhere")
    (archive / place).symlink_to(tmp_path / "elsewhere")
    before = tree(tmp_path / "elsewhere"), files(archive)
    assert refused(lambda: drop_index(archive, scheme=SCHEME, dependents=True)).code == "BAD_MAGIC"
    assert (tree(tmp_path / "elsewhere"), files(archive)) == before


def test_what_names_nothing_or_several_things_is_refused_before_a_lock_is_made(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    captured(archive, DATA)
    before = tree(archive)
    for options in (
        {},
        {"words": True},
        {"scheme": SCHEME, "edges": True},
        {"fingerprint": "ab", "edges": True},
        {"scheme": SCHEME, "words": True, "fingerprint": "ab"},
    ):
        assert refused(lambda options=options: drop_index(archive, **options)).code == "USAGE"  # type: ignore[misc]
    for scheme in (SCHEME, "../pack", "", "pack", "a/b", ".."):
        assert refused(lambda scheme=scheme: drop_index(archive, scheme=scheme)).code == "NO_SUCH_SCHEME"  # type: ignore[misc]
    assert refused(lambda: drop_index(archive, fingerprint="ab")).code == "NO_SUCH_VECTORS"
    assert refused(lambda: drop_index(tmp_path / "b.ctxa", scheme=SCHEME)).code == "NO_SUCH_ARCHIVE"
    assert tree(archive) == before


def test_another_writer_is_waited_for(archive: Path) -> None:
    before = files(archive)
    for name in LOCKS:
        with Lock(archive / name, 0.0):
            refusal = refused(lambda: drop_index(archive, scheme=SCHEME, words=True, lock_wait=0.0))
        assert refusal.code == "ARCHIVE_LOCKED"
    assert files(archive) == before


# ------------------------------------------------------------------------------------------------- ended in between


def die_at(archive: Path, step: int, options: dict[str, Any]) -> int:
    """Drop, and die before the removal number ``step``; what is given back is that of a child that ends."""
    calls = iter(range(step))

    def counted(do: Callable[..., None]) -> Callable[..., None]:
        def counting(path: Path) -> None:
            if next(calls, None) is None:
                os._exit(DIED)
            do(path)

        return counting

    Path.unlink = counted(Path.unlink)  # type: ignore[method-assign]
    Path.rmdir = counted(Path.rmdir)  # type: ignore[method-assign]
    module.drop_index(archive, **options)
    return step


def steps(archive: Path, options: dict[str, Any]) -> Iterator[int]:
    """Let processes die before each removal in turn, each on what the one before left, till one comes to its end."""
    for step in range(60):
        status, _ = in_child(die_at, archive, 1, options)
        yield step
        if status == 0:
            return


@pytest.mark.parametrize(
    "options",
    [{"scheme": SCHEME, "dependents": True}, {"scheme": SCHEME, "words": True}, {"edges": True}],
    ids=["scheme", "words", "edges"],
)
def test_what_a_dead_process_leaves_is_sound_and_the_next_one_goes_on(options: dict[str, Any], archive: Path) -> None:
    count = 0
    for _ in steps(archive, options):
        assert findings(archive) == []
        count += 1
    assert count > 1
    with suppress(NoSuchScheme):
        drop_index(archive, **options)
    assert held(archive, at=1) == DATA
    gone = "edges" if options.get("edges") else f"words/{SCHEME}"
    assert not any(path.startswith(f"{gone}/") for path in files(archive))
    assert not (archive / gone).exists()


def test_vectors_lose_their_origin_first(archive: Path) -> None:
    scheme, print_ = corpora(archive)[0]
    assert in_child(die_at, archive, 1, {"fingerprint": print_})[0] == DIED
    assert not (archive / origin.label(scheme, print_)).exists()
    assert Corpus(archive, scheme, print_).rows > 0
    sound(archive)
    drop_index(archive, fingerprint=print_)
    assert not (archive / "vectors" / scheme / print_).exists()


def test_the_library_drops_too(archive: Path) -> None:
    result = open_archive(archive).drop_index(scheme=OTHER, dependents=True, lock_wait=1.0)
    assert [each.kind for each in result.dropped] == ["vectors", "words", "segments"]
    assert [row.scheme for row in open_archive(archive).schemes() if row.built] == [SCHEME]
