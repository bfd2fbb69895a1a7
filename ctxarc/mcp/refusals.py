"""Refusals as an agent reads them: the same as on the command line, with hints that name tools and arguments."""

from __future__ import annotations

import re

from ctxarc import SCHEMA
from ctxarc.errors import Internal, NoMemory, Refusal, from_os_error
from ctxarc.mcp.answers import Fields

_TOOLS = {
    "capture": "context_capture",
    "ls": "context_status",
    "ls --captures": "archive_captures",
    "log": "context_log",
    "show": "context_expand",
    "cat": "context_expand",
    "find": "context_find",
    "cite": "context_cite",
    "segment": "context_segment",
    "segment --list": "archive_schemes",
    "export": "context_segment_export",
    "attach": "context_attach_vectors",
    "embed": "context_embed",
    "address": "context_address",
    "relate": "context_relate",
    "relations": "context_relations",
    "info": "context_status",
    "verify": "archive_verify",
    "extract": "archive_export",
}
"""The tool that does what a command does."""
_HINTS = {
    "NOT_LOSSLESS": "raise `max_bytes`, or give `allow_truncation` to record what is left out by byte range",
    "HISTORY_REWRITTEN": (
        "the source was edited; the user can keep both with `ctxarc capture ARCHIVE SOURCE --as-new-history`"
    ),
    "NAME_TAKEN": "capture it into another archive; the user can rename it with `ctxarc capture --name NAME`",
    "IDENTITY_UNSTATED": "give `model` and `revision`; the revision is `unstated` where nobody knows it",
    "WOULD_OVERWRITE": "give another `directory`; a file that is there is never written over",
    "OUTSIDE_ROOT": "give a path below the root; the user who starts the server says which directory that is",
    "NO_SUCH_VECTORS": "ask by `query` in words; or context_segment_export gives the texts to embed",
    "NO_SUCH_SCHEME": "archive_schemes lists the schemes, and which of them have an index",
    "DIGEST_UNEXPECTED": "archive_digest gives its digest; `extends` accepts an archive that has grown",
    "USAGE": "look at the tool's arguments",
    "OVER_BUDGET": "ask by `query` in words; NumPy, which is missing, would make it quick",
    "PATTERN_TIMEOUT": "make the expression simpler: nested repeats are slow",
    "PARTIAL_COVERAGE": "context_status says what has no vector yet",
    "PROGRAM_FAILED": "the user has to look at the program that embeds",
    "ARCHIVE_LOCKED": "another writer is at work; call again later",
    "SERVER_UNREACHABLE": "the user has to start the model's server",
}
"""Hints in place of a class's own, where those are of a command's options."""
_FOR_THE_USER = ("--as-new-history", "--name", "ctxarc mcp")
"""What stands in hints that no tool follows, but the user can."""
_NO_MEMORY = {"ZstdError": ("Allocation error", "not enough memory"), "RuntimeError": ("can't start new thread",)}
"""What libraries say, in an exception of their own, where the system has no memory for them."""
_COMMAND = re.compile(r"`?\bctxarc ([a-z]+(?: --list| --captures)?)\b(?:(?: [A-Z#.]+| --?[\w-]+)*`| [A-Z]+\b)?")
_OPTION = re.compile(r"(?<![\w-])--([a-z][a-z-]+)(?: [A-Z]+\b)?")


def refusal_of(error: Exception) -> Refusal:
    """The named refusal that stands for any exception."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, OSError):
        return from_os_error(error)
    if isinstance(error, MemoryError) or any(words in str(error) for words in _NO_MEMORY.get(type(error).__name__, ())):
        return NoMemory("there is not enough memory")
    return Internal(f"{type(error).__name__}: {error}", type=type(error).__name__)


def refused(refusal: Refusal) -> Fields:
    """A refusal as the fields of an answer."""
    said = refusal.as_json()
    hint = _HINTS.get(refusal.code) if refusal.hint == refusal.default_hint else None
    return {"schema": SCHEMA, "ok": False, "refusal": said | {"hint": hint or in_terms_of_tools(refusal.hint)}}


def in_terms_of_tools(hint: str) -> str:
    """``hint`` with tools for commands, and arguments for options."""

    def tool(match: re.Match[str]) -> str:
        verb = match[1]
        return _TOOLS.get(verb) or _TOOLS.get(verb.partition(" ")[0]) or match[0]

    if any(told in hint for told in _FOR_THE_USER):
        return hint
    return _OPTION.sub(lambda match: f"`{match[1].replace('-', '_')}`", _COMMAND.sub(tool, hint))
