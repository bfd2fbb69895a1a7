"""Tools of segments and of vectors: the loop between an archive and a user's own model."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast
from urllib.request import getproxies

from ctxarc import model
from ctxarc.errors import BadUsage, OutsideRoot
from ctxarc.mcp.answers import Fields, fitted
from ctxarc.mcp.arguments import ARCHIVE, MODEL, NEXT, REVISION, ROLE, SCHEME, TRANSCRIPT, flag, limit_of, text
from ctxarc.mcp.schemas import CUT, fields_of, needed_of, result_schema, schema_of
from ctxarc.mcp.tool import QUOTED, Call, Tool
from ctxarc.model import as_json
from ctxarc.operations.address import AddressOptions, address
from ctxarc.operations.attach import AttachOptions, attach
from ctxarc.operations.embed import EmbedOptions, embed, estimate
from ctxarc.operations.embed_question import embedded_queries
from ctxarc.operations.export import ExportOptions, export
from ctxarc.operations.models.http import is_loopback
from ctxarc.operations.models.opening import ModelOptions
from ctxarc.operations.query_vectors import Query, read_queries
from ctxarc.operations.segment import schemes, segment
from ctxarc.operations.vector_inputs.files import open_vectors

if TYPE_CHECKING:
    from pathlib import Path

_HITS = 100


def _segment(call: Call) -> Fields:
    scheme = call.get("scheme")
    results = segment(call.archive(), [] if scheme is None else [scheme], progress=call.progress)
    first: Fields = as_json(results[0])
    if len(results) == 1:
        return fitted(first)
    shown = {"archive": first["archive"], "archive_digest": first["archive_digest"], "indexes": as_json(results)}
    return fitted(shown, "indexes")


def _schemes(call: Call) -> Fields:
    archive = call.archive()
    return fitted({"archive": str(archive), "schemes": as_json(schemes(archive))}, "schemes")


def _export(call: Call) -> Fields:
    cursor = call.cursor()
    rows = export(call.archive(), ExportOptions(scheme=call.get("scheme"), sample=call.get("sample")))
    header = cast("model.ExportHeader", next(rows))
    state = header.export_id[:16]
    call.same_state(cursor, state)
    return call.pages(cursor, state).take(as_json(header), call.rows(rows))


def _attach(call: Call) -> Fields:
    archive, vectors = call.archive(), call.get("vectors")
    options = AttachOptions(model=call.get("model"), revision=call.get("revision"), scheme=call.get("scheme"))
    if isinstance(vectors, str):
        path = call.places.readable(vectors)
        with open_vectors(path) as stream:
            return fitted(as_json(attach(archive, stream, str(path), options=options, progress=call.progress)))
    lines = "".join(json.dumps(each) + "\n" for each in vectors)
    inline = cast("io.BufferedReader", io.BufferedReader(io.BytesIO(lines.encode())))
    return fitted(as_json(attach(archive, inline, "vectors", options=options, progress=call.progress)))


def _address(call: Call) -> Fields:
    archive, question = call.archive(), call.get("query")
    queries: list[Query] = []
    if call.get("embed"):
        if question is None or call.has("query_vector"):
            raise BadUsage("`embed` makes the vector of `query`, so give that, and no `query_vector`")
        queries = embedded_queries(archive, [question], _model(call), scheme=call.get("scheme"))
    elif call.has("query_vector"):
        given = json.dumps({"vector": call.get("query_vector")}).encode()
        queries = read_queries(given, "query_vector", {name: call.get(name) for name in ("model", "revision")})
    elif question is None:
        raise BadUsage("nothing is asked", hint="give `query` in words, or `query_vector` with `model` and `revision`")
    options = AddressOptions(
        question=question,
        queries=queries,
        hybrid=question is not None and call.has("query_vector"),
        scheme=call.get("scheme"),
        transcript=call.get("transcript"),
        role=call.get("role"),
        limit=call.get("limit", 10),
    )
    (answer,) = address(archive, options, partial(call.kept.searching, progress=call.progress))
    return fitted(as_json(answer), "hits")


def _embed(call: Call) -> Fields:
    options = EmbedOptions(model=_model(call), scheme=call.get("scheme"), sample=call.get("sample"))
    archive: Path = call.archive()
    if call.get("dry_run"):
        return fitted(as_json(estimate(archive, options, progress=call.progress)) | {"dry_run": True})
    return fitted(as_json(embed(archive, options, progress=call.progress)) | {"dry_run": False})


def _model(call: Call) -> ModelOptions:
    """The model that embeds: on this machine, or where the user who starts the server says.

    A caller may not have transcripts sent to any other machine, nor a program run.
    """
    settings, server = call.settings, call.get("server")
    if server is not None and not is_loopback(server) and server not in settings.servers:
        message = f"{server} is another machine, and texts of transcripts would be sent there"
        raise OutsideRoot(message, hint=f"the user allows it with `ctxarc mcp --server {server}`", server=server)
    if server is None and settings.servers:
        server = settings.servers[0]
    options = ModelOptions(server=server, model=call.get("model"), revision=call.get("revision"), proxies=getproxies())
    if server is None and settings.program:
        return replace(options, program=settings.program, model=None)
    return options


_VECTOR: dict[str, Any] = {"type": "array", "items": {"type": "number"}}
SEGMENT = Tool(
    name="context_segment",
    title="Build or extend an index of segments",
    about=(
        "Cut the turns of an archive into segments of a few hundred bytes, and index their words. Use it after the "
        "first capture, before context_address; later captures extend the index by themselves. The record is not "
        "touched, which is proved each time. Without `scheme` the indexes that are there are extended, or "
        "boundary-v1 is built."
    ),
    arguments={"archive": ARCHIVE, "scheme": SCHEME},
    required=("archive",),
    result=result_schema(
        fields_of(model.SegmentResult) | {"indexes": {"type": "array", "items": schema_of(model.SegmentResult)}} | CUT,
        ["archive", "archive_digest"],
    ),
    run=_segment,
    writes=True,
    of_loop=True,
)
SEGMENT_EXPORT = Tool(
    name="context_segment_export",
    title="Export the texts of segments",
    about=(
        "Give the texts of segments, each with its id, for a model that makes vectors: embed `text`, and give the "
        "vectors with their ids to context_attach_vectors. `sample` takes so many rows spread over the whole record. "
        f"Long exports come in pages. {QUOTED}"
    ),
    arguments={
        "archive": ARCHIVE,
        "scheme": SCHEME,
        "limit": limit_of("Rows of one answer"),
        "sample": {"type": "integer", "minimum": 1, "description": "Take so many rows, spread over the record."},
        "next": NEXT,
    },
    required=("archive",),
    result=result_schema(
        fields_of(model.ExportHeader) | {"rows": {"type": "array", "items": schema_of(model.ExportRow)}} | CUT,
        [*needed_of(model.ExportHeader), "rows", *CUT],
    ),
    run=_export,
    of_loop=True,
)
ATTACH = Tool(
    name="context_attach_vectors",
    title="Attach vectors",
    about=(
        "Store the vectors that a model made of exported segments, beside the record and under the model's identity. "
        "Give a file (NDJSON of {id, vector}, or what `ctxarc attach` takes), or a list. `model` and `revision` say "
        "what made them, unless the file does. A segment that has a vector of that identity keeps it; anything wrong "
        "refuses all, and stores nothing."
    ),
    arguments={
        "archive": ARCHIVE,
        "vectors": {
            "type": ["string", "array"],
            "items": {
                "type": "object",
                "properties": {"id": {"type": "string"}, "vector": _VECTOR},
                "required": ["id", "vector"],
            },
            "description": "A file below the root or in a folder of sources; or a list of {id, vector}.",
        },
        "scheme": SCHEME,
        "model": MODEL,
        "revision": REVISION,
    },
    required=("archive", "vectors"),
    result=result_schema(fields_of(model.AttachResult), needed_of(model.AttachResult)),
    run=_attach,
    writes=True,
    of_loop=True,
)
ADDRESS = Tool(
    name="context_address",
    title="Find the places that answer a question",
    about=(
        "Ask what a record says about something, and get the places that answer it, best first, each with its text "
        "and an address whose bytes were verified. Use it for questions; for exact strings use context_find. `query` "
        "is looked up by its words; with `embed`, the model on this machine that made the vectors embeds it; "
        "`query_vector`, with `model` and `revision`, is compared with the vectors attached; `query` and "
        "`query_vector` together are fused. context_expand gives the bytes around a hit by its `cite`. "
        f"{QUOTED}"
    ),
    arguments={
        "archive": ARCHIVE,
        "query": text("The question, in words."),
        "query_vector": _VECTOR | {"description": "The question as a vector."},
        "scheme": SCHEME,
        "transcript": TRANSCRIPT,
        "role": ROLE,
        "limit": limit_of("Hits", _HITS, "10"),
        "model": MODEL,
        "revision": REVISION,
        "embed": flag("Have the vectors' own model embed `query`."),
    },
    required=("archive",),
    result=result_schema(fields_of(model.AddressResult) | CUT, [*needed_of(model.AddressResult), *CUT]),
    run=_address,
    reaches_out=True,
    of_loop=True,
)
EMBED = Tool(
    name="context_embed",
    title="Embed what has no vector yet",
    about=(
        "Have a model on this machine (Ollama, or any server with /v1/embeddings) embed every segment that has no "
        "vector yet, and attach what it gives. It may take minutes, and goes on where it was when called again. "
        "`dry_run` says what would be done, and how long it takes."
    ),
    arguments={
        "archive": ARCHIVE,
        "server": text("Its address, as http://localhost:11434; other machines only where the user allows them."),
        "model": text("What the server calls the model."),
        "revision": REVISION,
        "scheme": SCHEME,
        "sample": {"type": "integer", "minimum": 1, "description": "Embed so many texts, spread over the record."},
        "dry_run": flag("Only say what would be done."),
    },
    required=("archive",),
    result=result_schema(
        fields_of(model.EmbedEstimate) | fields_of(model.EmbedResult) | {"dry_run": {"type": "boolean"}},
        ["archive", "archive_digest", "scheme", "identity", "dry_run"],
    ),
    run=_embed,
    writes=True,
    reaches_out=True,
)
SCHEMES = Tool(
    name="archive_schemes",
    title="List schemes of segments",
    about="List the schemes by which turns can be cut, and what the archive has of each.",
    arguments={"archive": ARCHIVE},
    required=("archive",),
    result=result_schema(
        {"archive": {"type": "string"}, "schemes": {"type": "array", "items": schema_of(model.SchemeRow)}} | CUT
    ),
    run=_schemes,
)
TOOLS = (SEGMENT, SEGMENT_EXPORT, ATTACH, ADDRESS, EMBED, SCHEMES)
