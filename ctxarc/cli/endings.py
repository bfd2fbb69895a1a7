"""How a command that did not end well ends: the refusal that stands for it, where that is said, and the status."""

from __future__ import annotations

import click

from ctxarc import errors
from ctxarc.cli.output import Output
from ctxarc.errors import BadUsage, Internal, NoMemory, Refusal

HOOK_FAILED = 1
INTERRUPTED = 130
CLOSED_PIPE = 141
_NO_MEMORY = {"ZstdError": ("Allocation error", "not enough memory"), "RuntimeError": ("can't start new thread",)}
"""What libraries say, in an exception of their own, where the system has no memory for them."""


def refusal_of(error: BaseException) -> Refusal:
    """The named refusal that stands for any exception."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, click.ClickException):
        return _usage(error)
    if isinstance(error, OSError):
        return errors.from_os_error(error)
    if isinstance(error, MemoryError) or any(words in str(error) for words in _NO_MEMORY.get(type(error).__name__, ())):
        return NoMemory("there is not enough memory")
    return Internal(f"{type(error).__name__}: {error}", type=type(error).__name__)


def ended(out: Output, error: BaseException, *, hook: bool) -> int:
    """Say what ended the command and return the exit status.

    A client's hook must never stop the client: whatever goes wrong in one is a line on stderr and status 1, since
    status 2 means "block" to some clients.
    """
    if isinstance(error, KeyboardInterrupt):
        out.abandon()
        return INTERRUPTED
    if isinstance(error, BrokenPipeError):
        out.abandon()
        return CLOSED_PIPE
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        out.complain(error.format_message())
        return BadUsage("").status
    refusal = refusal_of(error)
    if hook:
        out.complain(f"ctxarc: {refusal.code}: {refusal.message}")
        return HOOK_FAILED
    usage = isinstance(error, click.ClickException)
    return _say(out, refusal, as_json=out.json or (usage and out.json_asked))


def _say(out: Output, refusal: Refusal, *, as_json: bool) -> int:
    try:
        if as_json:
            out.object({"refusal": refusal.as_json()}, ok=False)
        out.flush()  # what was found before it went wrong comes first
    except BrokenPipeError:
        out.abandon()
        return CLOSED_PIPE
    except Refusal:  # it is stdout that fails
        out.abandon()
        as_json = False
    if not as_json:
        out.refuse(refusal)
    return refusal.status


def _usage(error: click.ClickException) -> BadUsage:
    words = " ".join(error.format_message().split()).rstrip(".")
    context = error.ctx if isinstance(error, click.UsageError) else None
    hint = f"see `{context.command_path} --help`" if context else None
    return BadUsage(words[:1].lower() + words[1:], hint=hint)
