"""Resources: a turn, or a range of one, by its citation, from whichever archive of the server holds it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ctxarc.errors import BadAddress, NoSuchTurn, Refusal
from ctxarc.mcp.answers import LIMIT, part_of
from ctxarc.model import as_json
from ctxarc.operations.cat import cat_rows

if TYPE_CHECKING:
    from ctxarc.mcp.places import Places
    from ctxarc.model import Stretch

SCHEME = "ctxa:"


class Quoted(NamedTuple):
    """Bytes of a turn: their own citation, as text or as base64, and the citation of what is left of them."""

    uri: str
    text: str | None
    blob: str | None
    rest: str | None


def read_citation(places: Places, uri: str) -> Quoted:
    """The bytes that ``uri`` cites, or the first part of them where they are too long for one answer.

    Raises:
        BadAddress: it is no citation.
        NoSuchTurn: none of the archives holds it.

    """
    if not uri.startswith(SCHEME):
        raise BadAddress(f"{uri[:80]!r} is no citation", hint="a citation is ctxa:DIGEST or ctxa:DIGEST:START-END")
    row, _ = part_of(as_json(_found(places, uri)), 0, LIMIT)
    return Quoted(row["cite"], row.get("text"), row.get("base64"), row.get("rest"))


def _found(places: Places, uri: str) -> Stretch:
    looked: list[str] = []
    for archive in places.archives():
        try:
            return next(cat_rows(archive, [uri]))
        except NoSuchTurn:
            looked.append(str(archive))
        except Refusal:
            if archive == places.default:
                raise
            looked.append(str(archive))
    message = f"{uri}: no archive of this server holds it"
    raise NoSuchTurn(message, hint="context_expand reads it from an archive that you name", archives=looked)
