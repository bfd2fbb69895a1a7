"""``address --embed``: a question put to the model that vectors were made by, if it still is the one that it was.

An archive may come from a stranger. An address that it names is used only if it is of this machine; any other has to be
given by the user, and a program always.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ctxarc.auxiliary.vectors import origin as origins
from ctxarc.auxiliary.vectors.origin import CANARIES, PROGRAM, check_canaries
from ctxarc.auxiliary.vectors.projections import Projection, parse
from ctxarc.errors import BadUsage, Incomparable
from ctxarc.operations.corpora import pick
from ctxarc.operations.embed import SCHEMA
from ctxarc.operations.embed_asking import ask, identity_of
from ctxarc.operations.export import KIND
from ctxarc.operations.models.http import is_loopback, server_url
from ctxarc.operations.models.opening import ModelOptions, open_model
from ctxarc.operations.query_vectors import Query

if TYPE_CHECKING:
    from array import array
    from collections.abc import Sequence
    from pathlib import Path

    from ctxarc.auxiliary.vectors.identity import Identity
    from ctxarc.auxiliary.vectors.origin import Origin


def embedded_queries(
    archive: Path,
    questions: Sequence[str],
    options: ModelOptions | None = None,
    *,
    scheme: str | None = None,
    vectors: str | None = None,
) -> list[Query]:
    """Questions as vectors of the model that made those of ``scheme`` whose fingerprint begins with ``vectors``.

    Raises:
        NoSuchVectors, Ambiguous: which vectors are meant.
        Refusal: as :func:`embed_question`.

    """
    identity = pick(archive, scheme, vectors).identity
    found = embed_question(archive, identity, questions, options)
    pairs = zip(questions, found, strict=True)
    return [Query(vector, dict(identity.as_json()), question=question) for question, vector in pairs]


def embed_question(
    archive: Path, identity: Identity, questions: Sequence[str], options: ModelOptions | None = None
) -> list[array[float]]:
    """The vectors of questions by the model that made the vectors of ``identity``.

    Args:
        archive: the archive.
        identity: what made the vectors that the questions will be compared with.
        questions: in words.
        options: how the model is reached, where that is not as the archive says.

    Raises:
        BadUsage: nothing says where the model is, or only the archive does and it is another machine.
        Incomparable: it is another model: the field that differs, or the canary.
        ServerUnreachable, ServerRefused, ProgramFailed: it fails.
        MalformedVectors: it gives no vector of a question, which may be too long for it.

    """
    projection = _projection(identity)
    origin = origins.read(archive, identity.scheme, identity.fingerprint)
    reach = _reach(archive, identity, origin, options or ModelOptions())
    canaries = CANARIES if origin and origin.canaries else ()
    header = {
        "schema": SCHEMA,
        "ok": True,
        "kind": KIND,
        "scheme": identity.scheme,
        "projection": identity.projection,
        "segments": len(questions) + len(canaries),
    }
    if reach.program and canaries:  # a program may make something else of a question, so canaries come apart
        check_canaries(origin, ask(open_model(reach, header), canaries)[1], identity.model) if origin else None
        canaries = ()
    asked = [*canaries, *map(projection.question, questions)]
    told, found = ask(open_model(reach, header), asked, query=True)
    theirs = identity_of(told, reach, len(found[0]), identity.projection, identity.scheme)
    identity.check(theirs)
    if origin and canaries:
        check_canaries(origin, found, identity.model)
    return found[len(canaries) :]


def _projection(identity: Identity) -> Projection:
    """What is put before a question."""
    found = parse(identity.projection)
    if found is None:
        message = f"projection differs — {identity.projection} is none that `embed` knows how to put before a question"
        hint = "embed the question yourself, and give it with --vector FILE"
        raise Incomparable(message, hint=hint, field="projection", held=identity.projection)
    return found


def _reach(archive: Path, identity: Identity, origin: Origin | None, options: ModelOptions) -> ModelOptions:
    """How the model is reached: as the user says, else as the archive says."""
    revision = identity.revision if origin and origin.canaries else options.revision
    if options.program:
        return replace(options, revision=revision)
    api = origin.api if origin and origin.api != PROGRAM else None
    named = origin.model if origin and api else identity.model
    filled = replace(options, revision=revision, api=options.api or api, model=options.model or named)
    if options.server is not None:
        return filled
    if origin is None or origin.api == PROGRAM:
        what = "a program made these vectors" if origin else f"{archive} does not say which server made these vectors"
        raise BadUsage(what, hint="give it again with --exec PROGRAM" if origin else "--server URL, or --exec PROGRAM")
    if not is_loopback(server_url(origin.server)):
        message = f"the archive names {origin.server} as the server of {identity.model}, which is another machine"
        hint = f"if you want your question sent there: --server {origin.server}"
        raise BadUsage(message, hint=hint, server=origin.server)
    return replace(filled, server=origin.server)
