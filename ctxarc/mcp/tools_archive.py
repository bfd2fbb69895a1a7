"""Tools about an archive as a whole: its state, what is beside the record, and how it stands to others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ctxarc import model
from ctxarc.mcp.answers import Fields, fitted
from ctxarc.mcp.arguments import ARCHIVE, AT, NEXT, SCHEME, flag, limit_of, text, texts
from ctxarc.mcp.schemas import CUT, Schema, fields_of, needed_of, result_schema, schema_of
from ctxarc.mcp.tool import QUOTED, Call, Tool
from ctxarc.model import as_json
from ctxarc.operations.additions import additions
from ctxarc.operations.compare import compare
from ctxarc.operations.drop_index import drop_index
from ctxarc.operations.info import info
from ctxarc.operations.ls import names
from ctxarc.operations.relate import relate
from ctxarc.operations.relations import relations
from ctxarc.operations.verify import verify
from ctxarc.preservation.record import check_mark, read_head

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ctxarc.model import ArchiveInfo

_NAMES = 100
_PAGE = 1000


def _status(call: Call) -> Fields:
    archive = call.archive()
    held = info(archive, call.progress)
    found = names(archive)
    more = {"names": found[:_NAMES], "missing": [{"what": what, "tool": tool} for what, tool in _missing(held)]}
    return fitted(as_json(held) | more, "incomplete")


def _missing(held: ArchiveInfo) -> Iterator[tuple[str, str]]:
    """What is not there, or not for all, and the tool that makes it."""
    if not held.indexes:
        yield "there is no index of segments: questions search whole turns", "context_segment"
    for index in held.indexes:
        if index.refusal:
            yield f"the index {index.scheme} is damaged", "archive_drop_index"
        elif index.coverage < 1:
            yield f"the index {index.scheme} covers {index.coverage:.1%} of the bytes", "context_segment"
    if held.indexes and not held.vectors:
        yield "there are no vectors: questions are looked up by words", "context_segment_export"
    for vectors in held.vectors:
        if vectors.refusal:
            yield f"the vectors {vectors.identity_fingerprint} are damaged", "archive_drop_index"
        elif vectors.coverage < 1:
            yield f"{vectors.coverage:.1%} of the segments of {vectors.scheme} have a vector", "context_embed"
    if not held.relations:
        yield "relations between turns were not derived", "context_relate"


def _digest(call: Call) -> Fields:
    archive = call.archive()
    check_mark(archive)
    head = read_head(archive)
    return {"archive": str(archive), "archive_digest": head.root.hex(), "captures": head.captures}


def _vectors(call: Call) -> Fields:
    held = info(call.archive(), call.progress)
    fields = {"archive": held.archive, "archive_digest": held.archive_digest, "vectors": as_json(held.vectors)}
    return fitted(fields, "vectors")


def _verify(call: Call) -> Fields:
    result = verify(
        call.archive(),
        quick=call.get("quick", default=False),
        expect=call.get("expect"),
        extends=call.get("extends"),
        against=[call.places.readable(each) for each in call.get("against", ())],
        progress=call.progress,
    )
    fields = as_json(result)
    return fitted(fields, "findings" if result.findings else "transcripts")


def _diff(call: Call) -> Fields:
    archive, cursor = call.archive(), call.cursor()
    last = int(cursor.state) if cursor.state else call.get("capture")
    limit = cursor.row + call.get("limit", _PAGE)
    found = additions(archive, last, since=call.get("since"), limit=limit, progress=call.progress)
    fields = fitted(as_json(found._replace(rows=())), "transcripts")
    page = call.pages(cursor, str(found.capture)).take(fields | {"rows": []}, found.rows)
    given = cursor.row + len(page["rows"])
    following = call.next(given, 0, str(found.capture)) if given < found.total else None
    return page | {"total": found.total, "truncated": following is not None, "next": following}


def _compare(call: Call) -> Fields:
    cursor = call.cursor()
    found = compare(call.archive("first"), call.archive("second"), call.progress)
    state = found.first.archive_digest[:8] + found.second.archive_digest[:8]
    call.same_state(cursor, state)
    return call.pages(cursor, state).take(as_json(found._replace(transcripts=())), found.transcripts, "transcripts")


def _drop(call: Call) -> Fields:
    result = drop_index(
        call.archive(),
        scheme=call.get("scheme"),
        words=call.get("words", default=False),
        fingerprint=call.get("fingerprint"),
        edges=call.get("edges", default=False),
        dependents=call.get("dependents", default=False),
    )
    return fitted(as_json(result), "dropped")


def _relate(call: Call) -> Fields:
    return fitted(as_json(relate(call.archive(), progress=call.progress)), "common_paths")


def _relations(call: Call) -> Fields:
    archive, cursor = call.archive(), call.cursor()
    at, state = call.at(cursor, archive)
    found = relations(archive, call.get("address"), kinds=call.get("kinds", ()), at=at)
    return call.pages(cursor, state).take(as_json(found._replace(relations=())), found.relations, "relations")


def _whole(kind: type, more: Schema | None = None) -> Schema:
    """The schema of a result whose longest list may be cut."""
    added: dict[str, Any] = more or {}
    return result_schema(fields_of(kind) | added | CUT, [*needed_of(kind), *added, *CUT])


STATUS = Tool(
    name="context_status",
    title="Say what an archive holds",
    about=(
        "Say what an archive holds: the names of its transcripts, turns, captures, its digest, indexes, vectors and "
        "relations; and under `missing`, what is not there yet and which tool makes it. Use it first on an archive "
        f"that you do not know. {QUOTED}"
    ),
    arguments={"archive": ARCHIVE},
    required=("archive",),
    result=_whole(
        model.ArchiveInfo,
        {
            "names": {"type": "array", "items": {"type": "string"}},
            "missing": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"what": {"type": "string"}, "tool": {"type": "string"}},
                    "required": ["what", "tool"],
                },
            },
        },
    ),
    run=_status,
)
VERIFY = Tool(
    name="archive_verify",
    title="Check every byte of an archive",
    about=(
        "Read every byte of an archive, decode everything and compute every SHA-256 again. Use it where you doubt an "
        "archive, or have to prove its state: `expect` and `extends` take a digest that was noted earlier, `against` "
        "source files to compare with. `ok` is false, and `findings` say why, where anything is wrong."
    ),
    arguments={
        "archive": ARCHIVE,
        "quick": flag("Leave the turns themselves unread."),
        "expect": text("Refuse any state but the one with this digest."),
        "extends": text("Refuse an archive that is not the state with this digest, or grown from it."),
        "against": texts("Source files that must still be what is held of them."),
    },
    required=("archive",),
    result=_whole(model.VerifyResult),
    run=_verify,
)
DIGEST = Tool(
    name="archive_digest",
    title="Name the state of an archive",
    about=(
        "Give the digest that names the state of an archive. Use it to note a state where the archive is not; "
        "archive_verify compares with it later."
    ),
    arguments={"archive": ARCHIVE},
    required=("archive",),
    result=result_schema(
        {"archive": {"type": "string"}, "archive_digest": {"type": "string"}, "captures": {"type": "integer"}}
    ),
    run=_digest,
)
VECTORS = Tool(
    name="archive_vectors",
    title="List the vectors of an archive",
    about=(
        "List the sets of vectors that are attached: of which model, revision, width, projection and scheme, and what "
        "share of the segments has one. Use it before asking with a `query_vector`, which has to be of the same."
    ),
    arguments={"archive": ARCHIVE},
    required=("archive",),
    result=result_schema(
        {
            "archive": {"type": "string"},
            "archive_digest": {"type": "string"},
            "vectors": {"type": "array", "items": schema_of(model.VectorsInfo)},
        }
        | CUT
    ),
    run=_vectors,
)
DIFF = Tool(
    name="archive_diff",
    title="Say what captures added",
    about=(
        "Say what a capture added, the last one unless `capture` says another, or all those behind the capture "
        "`since`: the new turns of each transcript, and those that were replaced. Use it to read only what is new "
        f"since you last looked. {QUOTED}"
    ),
    arguments={
        "archive": ARCHIVE,
        "capture": AT | {"description": "The capture; the last one without it."},
        "since": {"type": "integer", "minimum": 0, "description": "The capture behind which to begin; 0 for all."},
        "limit": limit_of("New turns of one answer"),
        "next": NEXT,
    },
    required=("archive",),
    result=_whole(model.AdditionsResult),
    run=_diff,
)
COMPARE = Tool(
    name="archive_compare",
    title="Compare two archives",
    about=(
        "Compare two archives, transcript by transcript: the same, grown, diverged (with the first turn and byte that "
        "differ), or in one only. Use it to tell copies, forks and later states apart."
    ),
    arguments={"first": ARCHIVE, "second": ARCHIVE, "next": NEXT},
    required=("first", "second"),
    result=_whole(model.CompareResult),
    run=_compare,
)
DROP = Tool(
    name="archive_drop_index",
    title="Remove an index",
    about=(
        "Remove what was computed from the record: an index of segments, its words, vectors, or relations. Use it for "
        "what is damaged or no longer wanted; the record itself is not touched. Vectors that are removed have to be "
        "made anew by their model. `dependents` lets what was made from an index go with it."
    ),
    arguments={
        "archive": ARCHIVE,
        "scheme": SCHEME | {"description": "The scheme whose index is removed; or whose words, or vectors."},
        "words": flag("Remove only the words of the scheme."),
        "fingerprint": text("Remove the vectors of the identity with this fingerprint."),
        "edges": flag("Remove the relations between turns."),
        "dependents": flag("Remove what was made from it, too."),
    },
    required=("archive",),
    result=_whole(model.DropResult),
    run=_drop,
    writes=True,
    destroys=True,
)
RELATE = Tool(
    name="context_relate",
    title="Derive the relations between turns",
    about=(
        "Derive the edges that the turns of an archive state of each other: replies, results of tool calls, mentions "
        "of the same path. Use it once, before context_relations; later captures extend them. The record is not "
        "touched, which is proved each time."
    ),
    arguments={"archive": ARCHIVE},
    required=("archive",),
    result=_whole(model.RelateResult),
    run=_relate,
    writes=True,
)
RELATIONS = Tool(
    name="context_relations",
    title="List the relations of a turn",
    about=(
        "List the edges of a turn, or of a whole transcript: which call a result answers, which turn replies to which, "
        "which mention the same path; each with the bytes that state it. Use it to follow a thread from a turn that "
        f"you have. {QUOTED}"
    ),
    arguments={
        "archive": ARCHIVE,
        "address": text("The turn, the range of a turn, or NAME# for a transcript; the only transcript without it."),
        "kinds": texts("Only edges of these kinds."),
        "at": AT,
        "limit": limit_of("Edges of one answer"),
        "next": NEXT,
    },
    required=("archive",),
    result=_whole(model.RelationsResult),
    run=_relations,
)
TOOLS = (STATUS, VERIFY, DIGEST, VECTORS, DIFF, COMPARE, DROP, RELATE, RELATIONS)
