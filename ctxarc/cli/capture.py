"""``ctxarc capture``: store transcripts, or what is new of them."""

from __future__ import annotations

import shlex
import time
from pathlib import Path

import click

from ctxarc.cli import sources
from ctxarc.cli.arguments import InWords, archive_argument, as_utf8, lock_wait_option, number_of_bytes
from ctxarc.cli.capture_report import print_one, print_plan, print_several
from ctxarc.cli.options import Command, common_options
from ctxarc.cli.output import Output
from ctxarc.cli.progress import ProgressLine
from ctxarc.errors import BadUsage
from ctxarc.operations.capture import CaptureOptions, capture, plan
from ctxarc.operations.progress import quiet

_HOOK_LOCK_WAIT = 55.0
"""Clients end a hook after 60 s."""


@click.command("capture", cls=Command)
@archive_argument
@click.argument("source", nargs=-1)
@click.option("--name", type=as_utf8, metavar="NAME", help="Call the transcript NAME; for one source only.")
@click.option("--files-from", metavar="FILE", help="Take sources from FILE, one a line; - is stdin.")
@click.option("-0", "--null", is_flag=True, help="Let NUL end each name in --files-from, not a line feed.")
@click.option("--latest", is_flag=True, help="Take the newest session of Claude Code or Codex.")
@click.option("--hook", is_flag=True, help="Take the session that a client's hook names on stdin.")
@click.option(
    "--max-bytes", type=number_of_bytes, metavar="N", help="Keep N bytes of whole turns at most, the last ones."
)
@click.option("--allow-truncation", is_flag=True, help="Let --max-bytes leave turns out; what, is recorded.")
@click.option("--as-new-history", is_flag=True, help="Store a rewritten source beside its old history.")
@click.option("--reread", is_flag=True, help="Read sources of unchanged size and time, too.")
@click.option("--no-index", is_flag=True, help="Leave the indexes of segments as they are.")
@click.option("--dry-run", is_flag=True, help="Say what would be stored, and write nothing.")
@click.option(
    "--level",
    cls=InWords,
    type=click.IntRange(1, 22),
    default=9,
    metavar="N",
    help="Compress with zstd level N, 1 to 22; 9 unless said.",
)
@lock_wait_option
@common_options
def command(
    out: Output,
    archive: Path,
    source: tuple[str, ...],
    name: str | None,
    files_from: str | None,
    null: bool,
    latest: bool,
    max_bytes: int | None,
    allow_truncation: bool,
    dry_run: bool,
    level: int,
    as_new_history: bool,
    reread: bool,
    no_index: bool,
    hook: bool,
    lock_wait: float,
) -> int:
    """Store transcripts, byte for byte.

    ARCHIVE is made where there is none. A SOURCE is a file, a directory (searched for *.jsonl), or - with --name. Only
    what is new is stored; a source that no longer begins with what is held is refused.

    \b
      ctxarc capture work.ctxa session.jsonl
      ctxarc capture all.ctxa ~/.claude/projects --dry-run
      some-agent --log - | ctxarc capture work.ctxa - --name run-7
    """  # noqa: D301 - click reads the control character as "keep these lines"
    ways = [way for way, used in (("--files-from", files_from), ("--latest", latest), ("--hook", hook)) if used]
    _check(archive, source, ways)
    _check_options(name=name, sources=len(source), null=null, files_from=files_from, dry_hook=hook and dry_run)
    options = CaptureOptions(
        max_bytes=max_bytes,
        allow_truncation=allow_truncation,
        level=level,
        as_new_history=as_new_history or hook,
        reread=reread,
        index=not no_index,
        lock_wait=max(lock_wait, _HOOK_LOCK_WAIT) if hook else lock_wait,
    )
    if hook:
        return _from_hook(out, archive, options)
    if latest:
        found = sources.newest()
    elif files_from is not None:
        found = sources.listed(files_from, nul=null)
    else:
        found = sources.given(source, name)
    if dry_run:
        print_plan(out, plan(archive, found, options, claude_dir=sources.claude_dir(), now=time.time()))
        return 0
    with ProgressLine(out) as progress:
        result = capture(archive, found, options, progress)
    if len(source) == 1 and not Path(source[0]).is_dir():
        own = next((each.name for each in found if each.path == Path(source[0])), found[0].name)
        return print_one(out, result, own)
    return print_several(out, result)


def _check(archive: Path, source: tuple[str, ...], ways: list[str]) -> None:
    """Refuse a call whose archive was forgotten, or that says in no way, or in two ways, what to capture."""
    forgotten = archive.suffix == ".jsonl" or not (source or ways)
    if forgotten and (archive.is_file() or (archive.suffix == ".jsonl" and not archive.exists())):
        words = " ".join(shlex.quote(word) for word in (f"{archive.stem}.ctxa", str(archive), *source))
        raise BadUsage(f"the archive comes first, and {archive} is a transcript", hint=f"ctxarc capture {words}")
    if not (source or ways):
        raise BadUsage("no source to capture", hint="ctxarc capture ARCHIVE SOURCE, or --latest, or --files-from FILE")
    if len(ways) + bool(source) > 1:
        both = " and ".join(["SOURCE", *ways] if source else ways)
        raise BadUsage(f"{both} each say what to capture; give one of them")


def _check_options(*, name: str | None, sources: int, null: bool, files_from: str | None, dry_hook: bool) -> None:
    """Refuse options that do not go together."""
    if name is not None and sources != 1:
        raise BadUsage("--name names one source")
    if null and files_from is None:
        raise BadUsage("-0 says how --files-from is read, and there is none")
    if dry_hook:
        message = "--hook stores what the client names, and --dry-run stores nothing; give one of them"
        raise BadUsage(message, hint="ctxarc capture ARCHIVE SOURCE --dry-run says what a session's file would add")


def _from_hook(out: Output, archive: Path, options: CaptureOptions) -> int:
    result = capture(archive, sources.hooked(), options, quiet)
    for refused in result.refused[:1]:
        out.complain(f"ctxarc: {refused.refusal['code']}: {refused.refusal['message']}")
    return 1 if result.refused else 0
