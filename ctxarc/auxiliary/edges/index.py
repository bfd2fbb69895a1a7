"""The relations of an archive: parts in ``edges/relations-v1``, beside a record that is not touched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxarc.auxiliary.edges.part import SUFFIX, EdgePart, PartMaker
from ctxarc.auxiliary.edges.statements import RELATIONS, stated
from ctxarc.auxiliary.segments import index
from ctxarc.auxiliary.segments.index import Index, put, smaller
from ctxarc.errors import IndexMismatch
from ctxarc.preservation.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ctxarc.auxiliary.edges.statements import Statement
    from ctxarc.auxiliary.segments.part import Part

FOLDER = "edges"


class Edges(Index):
    """What the turns of an archive state, open for reading; empty where it was never derived. See :class:`Index`."""

    folder = FOLDER
    suffix = SUFFIX
    part_type: type[Part] = EdgePart

    def __init__(self, archive: Path, scheme: str = RELATIONS) -> None:
        super().__init__(archive, scheme)

    @property
    def remedy(self) -> str:
        """What to do where they are damaged or do not fit."""
        return "`ctxarc relate ARCHIVE --rebuild` makes them anew; the record is not touched"

    @property
    def edge_parts(self) -> list[EdgePart]:
        """Its parts."""
        return [part for part in self.parts if isinstance(part, EdgePart)]

    def statements(self, number: int, digest: bytes) -> tuple[Statement, ...] | None:
        """What object ``number`` states; ``None`` where that was not derived.

        Raises:
            IndexMismatch: it was derived from other bytes.

        """
        part = self.part_of(number)
        if not isinstance(part, EdgePart):
            return None
        if part.digest(number) != digest:
            message = f"{part.label}: object {number} was {part.digest(number).hex()} when it was read, and is "
            raise IndexMismatch(message + digest.hex(), hint=self.remedy, path=part.label, object=number)
        return part.statements(number)

    def dialect(self, number: int) -> str:
        """The dialect of an object that was read."""
        part = self.part_of(number)
        return part.dialect(number) if isinstance(part, EdgePart) else ""


def is_part(path: str) -> bool:
    """Whether ``path``, in an archive, is the place of a part of the relations, finished or not."""
    return index.is_part(path, Edges)


def built(archive: Path) -> list[str]:
    """The names of what was derived: RELATIONS, and those of other releases."""
    return index.built(archive, Edges)


def add(archive: Path, maker: PartMaker, before: Edges | None, archive_digest: str) -> None:
    """Write what new objects state, flushed, with the small parts before it; then remove what it stands for.

    Args:
        archive: the archive.
        maker: what the objects behind those of ``before`` state.
        before: the relations as they are; ``None`` where ``maker`` has all of them.
        archive_digest: the state of the archive.

    """
    cuts = maker.cuts
    taken = smaller(before, cuts.first, cuts.objects + len(cuts.ends)) if before and cuts.objects else []
    whole = maker
    if taken:
        whole = PartMaker(taken[0].first)
        for part in taken:
            if isinstance(part, EdgePart):
                whole.extend(part)
        whole.join(maker)
    new = {whole.name: whole.pack(archive_digest)} if cuts.objects else {}
    kept = [part for part in before.parts if part.first < whole.cuts.first or not new] if before else []
    put(archive, RELATIONS, new, kept, Edges)


def check(archive: Path, scheme: str, *, quick: bool) -> Iterator[tuple[str, str]]:
    """What is wrong with relations that open: (path, message). ``quick`` derives nothing anew."""
    edges = Edges(archive, scheme)
    with Record(archive) as record:  # opened behind the index, which never covers more than there is
        for part in edges.edge_parts:
            message = index.misfit(record, part, of_scheme=False)
            if not message and not quick:
                message = _wrong(record, part)
            if message:
                yield part.label, f"{part.label}: {message}"


def _wrong(record: Record, part: EdgePart) -> str:
    if part.about.scheme != RELATIONS:
        return f"it holds {part.about.scheme}, and this release derives {RELATIONS}"
    for number in range(part.first, part.first + part.objects):
        if part.digest(number) != record.objects.row(number).sha256:
            return f"object {number} was another turn when it was read"
        found = stated(bytes(record.turn_bytes(number)))
        if (part.dialect(number), part.statements(number)) != (found.dialect, found.statements):
            return f"object {number} states something else than what is written of it"
    return ""
