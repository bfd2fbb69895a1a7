"""Tools that read the record: turns, places, lists of turns."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from ctxarc import model
from ctxarc.mcp.answers import LIMIT, Fields, counted, cut, fitted, part_of, size_of
from ctxarc.mcp.arguments import ARCHIVE, AT, NEXT, ROLE, TRANSCRIPT, flag, limit_of, text, texts
from ctxarc.mcp.schemas import CUT, fields_of, needed_of, result_schema, schema_of
from ctxarc.mcp.tool import QUOTED, Call, Tool
from ctxarc.model import as_json
from ctxarc.operations.budget import within_budget
from ctxarc.operations.cat import cat_rows
from ctxarc.operations.cite import CiteOptions, cite
from ctxarc.operations.find import FindOptions, find
from ctxarc.operations.log import log, turns_listed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ctxarc.model import Stretch

_ROOM_FOR_CUT = 200
_USUAL_BUDGET, _LEAST_BUDGET = 20_000, 500


def _expand(call: Call) -> Fields:
    archive, cursor = call.archive(), call.cursor()
    at, state = call.at(cursor, archive)
    rows = call.rows(cat_rows(archive, call.get("addresses", ()), span=call.get("range"), at=at))
    given = sum(1 for _ in islice(rows, cursor.row))
    fields: Fields = {"archive": str(archive)}
    page = _stretches(rows, cursor.skip, LIMIT - size_of(fields) - _ROOM_FOR_CUT)
    given += page.whole
    total = counted(given, page.left, rows)
    more = total is None or total > given
    return fields | {"rows": page.rows} | cut(total, call.next(given, page.skip, state) if more else None)


class _Page(NamedTuple):
    """Rows of bytes: how many end in the page, how many were taken and are left, and bytes given of the next."""

    rows: list[Fields]
    whole: int
    left: int
    skip: int


def _stretches(rows: Iterator[Stretch], skip: int, room: int) -> _Page:
    """As many rows as there is room for; the first one, where it is too long, in part."""
    page: list[Fields] = []
    for row in rows:
        length = row.end_byte - row.start_byte
        if not skip and length <= room:
            value = as_json(row)
            size = size_of(value) + 1
            if size <= room:
                page.append(value)
                room -= size
                continue
        if page:
            return _Page(page, len(page), 1, 0)
        value, skip = part_of(as_json(row), skip, room)
        page.append(value)
        if skip < length:
            return _Page(page, 0, 1, skip)
        skip = 0
        room -= size_of(value) + 1
    return _Page(page, len(page), 0, 0)


def _find(call: Call) -> Fields:
    archive, cursor = call.archive(), call.cursor()
    at, state = call.at(cursor, archive)
    name = call.get("transcript")
    options = FindOptions(
        patterns=(call.get("pattern"),),
        regex=call.get("regex", default=False),
        as_read=call.get("as_read", default=False),
        ignore_case=call.get("ignore_case", default=False),
        names=() if name is None else (name,),
        at=at,
    )
    return call.pages(cursor, state).take({"archive": str(archive)}, call.rows(find(archive, options, call.progress)))


def _cite(call: Call) -> Fields:
    name = call.get("transcript")
    options = CiteOptions(
        names=() if name is None else (name,), at=call.get("at"), most=call.get("limit", CiteOptions().most)
    )
    return fitted(as_json(cite(call.archive(), call.get("quote"), options, call.progress)), "hits")


def _log(call: Call) -> Fields:
    archive, cursor = call.archive(), call.cursor()
    at, state = call.at(cursor, archive)
    name, pages, fields = call.get("transcript"), call.pages(cursor, state), {"archive": str(archive)}
    if call.has("role") or call.has("last"):
        rows = log(archive, name, at=at, role=call.get("role"), last=call.get("last"))
        return pages.take(fields, call.rows(rows))
    rows = log(archive, name, at=at, skip=cursor.row)
    return pages.take(fields, call.rows(rows), of=turns_listed(archive, name, at=at))


def _project(call: Call) -> Fields:
    view = within_budget(
        call.archive(),
        call.get("transcript"),
        budget=call.get("budget", _USUAL_BUDGET),
        roles=call.get("roles"),
        around=call.get("around"),
        at=call.get("at"),
        progress=call.progress,
    )
    return fitted(as_json(view), "items")


def _rows(kind: type, **more: object) -> Fields:
    row = schema_of(kind)
    row = row | {"properties": row["properties"] | more} if more else row
    return result_schema({"archive": {"type": "string"}, "rows": {"type": "array", "items": row}} | CUT)


EXPAND = Tool(
    name="context_expand",
    title="Read the exact bytes of turns",
    about=(
        "Give the exact, verified bytes of turns or of ranges of them: as text, or as base64 where they are not "
        "UTF-8. Use it for what context_address, context_find and context_log point at. An address is TURN, "
        "TURN:START-END (bytes, half-open), NAME#TURN where there are several transcripts, NAME# for a whole one, or a "
        "citation ctxa:DIGEST or ctxa:DIGEST:START-END. Of what is too long it gives the first part, `rest`, the "
        f"address of what is left, and `next`. {QUOTED}"
    ),
    arguments={
        "archive": ARCHIVE,
        "addresses": texts("What to read; the whole of the only transcript without it."),
        "range": text("START-END, in bytes of the whole transcript that `addresses` names."),
        "at": AT,
        "next": NEXT,
    },
    required=("archive",),
    result=_rows(model.Stretch, rest={"type": "string"}),
    run=_expand,
)
FIND = Tool(
    name="context_find",
    title="Find exact text",
    about=(
        "Find exact text, or a regular expression, in all turns, with the byte range of each place and the words "
        "around it. Use it for names, paths, error messages and other strings; for questions use context_address. "
        "`as_read` searches the text as people read it, with the escapes of JSON decoded, and is needed where a "
        f"pattern holds quotes or line feeds. {QUOTED}"
    ),
    arguments={
        "archive": ARCHIVE,
        "pattern": text("What to look for."),
        "regex": flag("Whether `pattern` is a Python regular expression."),
        "as_read": flag("Search the text as people read it, escapes decoded."),
        "ignore_case": flag("Take small and capital letters as the same."),
        "transcript": TRANSCRIPT,
        "at": AT,
        "limit": limit_of("Places of one answer"),
        "next": NEXT,
    },
    required=("archive", "pattern"),
    result=_rows(model.Hit),
    run=_find,
)
CITE = Tool(
    name="context_cite",
    title="Check a quotation",
    about=(
        "Say whether a quotation stands in a record, and where: exactly, or else the nearest stretch and each place "
        "where it differs. Use it before you state that something was said, and give its `cite` with it. `exact` is "
        f"false where the quotation does not stand there. {QUOTED}"
    ),
    arguments={
        "archive": ARCHIVE,
        "quote": text("The quotation, as it is claimed to stand."),
        "transcript": TRANSCRIPT,
        "at": AT,
        "limit": limit_of("Places", 100, "a few"),
    },
    required=("archive", "quote"),
    result=result_schema(fields_of(model.CiteResult) | CUT, [*needed_of(model.CiteResult), *CUT]),
    run=_cite,
)
LOG = Tool(
    name="context_log",
    title="List turns",
    about=(
        "List the turns of a transcript, or of all: number, role, time, size, citation, and the first words. Use it to "
        f"see what happened, in order; then context_expand reads a turn. {QUOTED}"
    ),
    arguments={
        "archive": ARCHIVE,
        "transcript": TRANSCRIPT,
        "role": ROLE,
        "last": {"type": "integer", "minimum": 1, "description": "Only so many turns, the last ones."},
        "at": AT,
        "limit": limit_of("Turns of one answer"),
        "next": NEXT,
    },
    required=("archive",),
    result=_rows(model.TurnRow),
    run=_log,
)
PROJECT = Tool(
    name="context_project",
    title="Show a transcript within a budget",
    about=(
        "Show a whole transcript in at most `budget` bytes: what matters most in full, and every turn that is left "
        "out named, with the address that brings it back. Use it to take up an earlier session: it fits the room that "
        f"you have. {QUOTED}"
    ),
    arguments={
        "archive": ARCHIVE,
        "transcript": TRANSCRIPT | {"description": "The transcript's name; the only one there is without it."},
        "budget": {
            "type": "integer",
            "minimum": _LEAST_BUDGET,
            "maximum": LIMIT - _ROOM_FOR_CUT,
            "description": f"Bytes of the answer as JSON; {_USUAL_BUDGET} unless said.",
        },
        "roles": texts("Show only turns of these roles."),
        "around": text("The address of a turn: show it, and then those nearest to it."),
        "at": AT,
    },
    required=("archive",),
    result=result_schema(fields_of(model.BudgetView) | CUT, [*needed_of(model.BudgetView), *CUT]),
    run=_project,
)
TOOLS = (EXPAND, FIND, CITE, LOG, PROJECT)
