"""Arguments that several tools take."""

from __future__ import annotations

from ctxarc.mcp.schemas import Schema

ARCHIVE: Schema = {"type": "string", "description": "The archive, NAME.ctxa: a path below the server's root."}
SCHEME: Schema = {
    "type": "string",
    "description": "A scheme of segments, as archive_schemes lists them; without it, the only index there is.",
}
TRANSCRIPT: Schema = {
    "type": "string",
    "description": "A transcript's name, or a beginning of it that fits no other; all without it.",
}
AT: Schema = {"type": "integer", "minimum": 1, "description": "Read the state after this capture; the newest without."}
NEXT: Schema = {"type": "string", "description": "`next` of the answer before, with all else unchanged."}
ROLE: Schema = {"type": "string", "description": "Only turns of this role: user, assistant, tool, system, ..."}
MODEL: Schema = {"type": "string", "description": "The model that made the vectors, where they do not say it."}
REVISION: Schema = {"type": "string", "description": "The digest of its weights, or `unstated`."}


def limit_of(what: str, most: int = 1000, usual: str = "as many as fit") -> Schema:
    """The schema of ``limit``."""
    return {"type": "integer", "minimum": 1, "maximum": most, "description": f"{what} at most; {usual} unless said."}


def flag(description: str) -> Schema:
    """The schema of an argument that is true or false."""
    return {"type": "boolean", "description": description}


def text(description: str) -> Schema:
    """The schema of an argument that is a text."""
    return {"type": "string", "description": description}


def texts(description: str) -> Schema:
    """The schema of an argument that is a list of texts."""
    return {"type": "array", "items": {"type": "string"}, "description": description}
