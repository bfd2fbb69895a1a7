"""Named refusals: one class a code, one table from family to exit status.

A refusal says what was not done and why, with the values in its message, a hint that says what to do next, and the
same values as facts for a program. Codes are an interface: they are never renamed and never reused.
"""

from __future__ import annotations

import errno
import os
from typing import Any, ClassVar


class Refusal(Exception):
    """The base of every named refusal. Raise one of the classes with a code, never a family.

    Args:
        message: what was refused and why, in one sentence with the values in it.
        hint: what the user can do next; the class's own hint where none is given.
        facts: the values again, for programs; JSON types only.

    """

    code: ClassVar[str] = ""
    family: ClassVar[str] = ""
    default_hint: ClassVar[str] = ""

    def __init__(self, message: str, *, hint: str | None = None, **facts: object) -> None:
        super().__init__(message)
        self.message = message
        self.hint = self.default_hint if hint is None else hint
        self.facts = facts

    @property
    def status(self) -> int:
        """The exit status of a process that ends with this refusal."""
        return STATUS_OF_FAMILY[self.family]

    def as_json(self) -> dict[str, object]:
        """The object that stands under ``refusal`` in JSON output."""
        return {"code": self.code, "message": self.message, "hint": self.hint, "facts": self.facts}


STATUS_OF_FAMILY = {"usage": 2, "refused": 3, "damage": 4, "missing": 5, "environment": 6, "fault": 70}
"""The one table from a family to an exit status. 0 is a result and 1 an answer that is no; neither is a refusal."""


class Usage(Refusal):
    """The request itself cannot be understood."""

    family = "usage"


class Refused(Refusal):
    """The request is understood, and doing it would break a promise."""

    family = "refused"


class Damage(Refusal):
    """What lies in the archive is not what was written there, or not what this release can read."""

    family = "damage"


class Missing(Refusal):
    """What was asked for is not there."""

    family = "missing"


class Environment(Refusal):
    """The machine does not let it happen now."""

    family = "environment"


class Fault(Refusal):
    """ctxarc itself is wrong; the status is ``EX_SOFTWARE`` of sysexits.h."""

    family = "fault"


# ---------------------------------------------------------------------------------------------------------- usage


class BadUsage(Usage):
    """Options or arguments that do not go together."""

    code = "USAGE"
    default_hint = "see `ctxarc COMMAND --help`"


class BadAddress(Usage):
    """A string that is no address."""

    code = "BAD_ADDRESS"
    default_hint = "an address is TURN, TURN:START-END, NAME#TURN, NAME# or ctxa:DIGEST, of 16 digits or more"


class BadPattern(Usage):
    """A regular expression that does not compile, or an empty pattern."""

    code = "BAD_PATTERN"
    default_hint = "patterns are Python regular expressions with -E, and exact text without it"


# -------------------------------------------------------------------------------------------------------- refused


class NotLossless(Refused):
    """Bytes would be left out, and nobody said that they may be."""

    code = "NOT_LOSSLESS"
    default_hint = "raise --max-bytes, or add --allow-truncation to record what is left out by byte range"


class HistoryRewritten(Refused):
    """The source no longer begins with what the archive holds of it."""

    code = "HISTORY_REWRITTEN"
    default_hint = "--as-new-history stores it as a new history; the old one stays readable with --at CAPTURE"


class NameTaken(Refused):
    """Another conversation has this name."""

    code = "NAME_TAKEN"
    default_hint = "give it another name with --name NAME; --as-new-history keeps the old one readable with --at"


class BadName(Refused):
    """A transcript name that cannot be used."""

    code = "BAD_NAME"
    default_hint = "a name is parts joined by /, without control characters, # or %, at most 240 bytes a part"


class DuplicateName(Refused):
    """Two sources of one call have the same name."""

    code = "DUPLICATE_NAME"
    default_hint = "capture the directory above them, which keeps their paths apart, or capture each with --name"


class SourceChanged(Refused):
    """A source was changed, not only appended to, each time it was read."""

    code = "SOURCE_CHANGED"
    default_hint = "capture it again when its writer is done"


class TurnTooLarge(Refused):
    """A turn is longer than an archive may hold."""

    code = "TURN_TOO_LARGE"


class NotAnArchive(Refused):
    """The path given as an archive is something else, and is left alone."""

    code = "NOT_AN_ARCHIVE"
    default_hint = "the archive comes first: ctxarc COMMAND NAME.ctxa ..."


class Ambiguous(Refused):
    """What was asked for could mean several things."""

    code = "AMBIGUOUS"


class OutsideRoot(Refused):
    """A path leads out of the directories that an MCP server may touch."""

    code = "OUTSIDE_ROOT"
    default_hint = "give a path below the root; the user allows others with `ctxarc mcp --root DIR` or --sources DIR"


class WouldOverwrite(Refused):
    """A file is in the way of one to be written."""

    code = "WOULD_OVERWRITE"
    default_hint = "move it away, or extract into another directory with -C DIR"


class DigestUnexpected(Refused):
    """The archive is sound, and not in the state that was expected."""

    code = "DIGEST_UNEXPECTED"
    default_hint = "`ctxarc info ARCHIVE --digest` prints its digest; --extends accepts an archive that has grown"


class NotAPartition(Refused):
    """A user's own cuts do not cover a turn exactly once, or are no cuts of a turn that is held."""

    code = "NOT_A_PARTITION"
    default_hint = "every turn named in the file needs segments from its byte 0 to its end, without gap or overlap"


class Incomparable(Refused):
    """Vectors of different identities: there is no number that compares them."""

    code = "INCOMPARABLE"
    default_hint = "`ctxarc info ARCHIVE` lists the identities that are held; embed the question with the same model"


class IdentityUnstated(Refused):
    """Vectors that do not say what made them."""

    code = "IDENTITY_UNSTATED"
    default_hint = "state it with --model MODEL and --revision REVISION, or beside the vector"


class PartialCoverage(Refused):
    """Less of the record has a vector than was required."""

    code = "PARTIAL_COVERAGE"
    default_hint = "`ctxarc export ARCHIVE --missing` gives what has no vector yet"


class OverBudget(Refused):
    """The search would take longer than it may."""

    code = "OVER_BUDGET"
    default_hint = "install NumPy, or allow more with --budget SECONDS"


class UnknownSegment(Refused):
    """Vectors for a segment that the index does not hold."""

    code = "UNKNOWN_SEGMENT"
    default_hint = "vectors are for the ids of `ctxarc export` of this archive and scheme"


class MalformedVectors(Refused):
    """Vectors that are none: of mixed widths, not finite, all zero, or given twice."""

    code = "MALFORMED_VECTORS"
    default_hint = 'nothing was stored; a row is {"id": ..., "vector": [numbers]}'


class PatternTimeout(Refused):
    """A regular expression took longer than its time limit."""

    code = "PATTERN_TIMEOUT"
    default_hint = "make the expression simpler (nested repeats are slow), or raise --time-limit SECONDS"


# --------------------------------------------------------------------------------------------------------- damage


class BadMagic(Damage):
    """A file does not begin as a file of its kind does."""

    code = "BAD_MAGIC"
    default_hint = "restore the file from a copy; `ctxarc verify` names everything that is damaged"


class Truncated(Damage):
    """A file is shorter than the archive says, or gone."""

    code = "TRUNCATED"
    default_hint = "restore the file from a copy; `ctxarc verify` names everything that is damaged"


class ChecksumMismatch(Damage):
    """Bytes of a file are not those that were written."""

    code = "CHECKSUM_MISMATCH"
    default_hint = "restore the file from a copy; `ctxarc verify` names everything that is damaged"


class DigestMismatch(Damage):
    """Bytes of a turn, or of a whole source, do not have the SHA-256 that is on record."""

    code = "DIGEST_MISMATCH"
    default_hint = "restore the archive from a copy; `ctxarc verify` names everything that is damaged"


class IndexMismatch(Damage):
    """Two places of the archive that must agree do not."""

    code = "INDEX_MISMATCH"
    default_hint = "restore the archive from a copy; `ctxarc verify` names everything that is damaged"


class LimitExceeded(Damage):
    """A declared size is beyond what the format allows, so no memory is taken for it."""

    code = "LIMIT_EXCEEDED"
    default_hint = "restore the archive from a copy; `ctxarc verify` names everything that is damaged"


class UnsupportedVersion(Damage):
    """Written by a release with another format version."""

    code = "UNSUPPORTED_VERSION"
    default_hint = "read it with a newer ctxarc"


# -------------------------------------------------------------------------------------------------------- missing


class NoSuchArchive(Missing):
    """There is nothing at the archive's path."""

    code = "NO_SUCH_ARCHIVE"
    default_hint = "`ctxarc capture ARCHIVE SOURCE` makes one"


class NoSuchTranscript(Missing):
    """No transcript of that name is held."""

    code = "NO_SUCH_TRANSCRIPT"
    default_hint = "`ctxarc ls ARCHIVE` lists the names"


class NoSuchTurn(Missing):
    """No such turn is held, or it was left out on purpose."""

    code = "NO_SUCH_TURN"
    default_hint = "`ctxarc log ARCHIVE` lists the turns"


class NoSuchRange(Missing):
    """A byte range that goes beyond what is held."""

    code = "NO_SUCH_RANGE"
    default_hint = "ranges are half-open and count bytes from 0"


class NoSuchCapture(Missing):
    """No capture of that number."""

    code = "NO_SUCH_CAPTURE"
    default_hint = "`ctxarc ls --captures ARCHIVE` lists the captures"


class NoSuchSource(Missing):
    """A source is not there, or holds no transcript."""

    code = "NO_SUCH_SOURCE"
    default_hint = "a source is a file, a directory with *.jsonl files in it, or - with --name"


class NoSuchScheme(Missing):
    """No scheme of that name, or no index of it in the archive."""

    code = "NO_SUCH_SCHEME"
    default_hint = "`ctxarc segment ARCHIVE --list` lists the schemes, and which of them have an index"


class NoSuchVectors(Missing):
    """No vectors are attached."""

    code = "NO_SUCH_VECTORS"
    default_hint = "`ctxarc export` gives the texts to embed, and `ctxarc attach` takes their vectors"


class NoSuchRelations(Missing):
    """The relations between turns were not derived."""

    code = "NO_SUCH_RELATIONS"
    default_hint = "`ctxarc relate ARCHIVE` derives them"


# ---------------------------------------------------------------------------------------------------- environment


class ArchiveLocked(Environment):
    """Another writer holds the lock."""

    code = "ARCHIVE_LOCKED"
    default_hint = "try again, or wait longer with --lock-wait SECONDS; a dead writer holds no lock"


class ArchiveMoved(Environment):
    """The archive was moved or replaced while it was being written."""

    code = "ARCHIVE_MOVED"
    default_hint = "nothing was stored, and what is at its place now was left alone; run the command again"


class LocksUnsupported(Environment):
    """The file system has no locks, so writing to it is not safe."""

    code = "LOCKS_UNSUPPORTED"
    default_hint = "keep the archive on a file system with locks, and copy it when it is done"


class NoSpace(Environment):
    """The file system or the quota is full."""

    code = "NO_SPACE"
    default_hint = "the archive is as it was; make room and run the command again"


class PermissionDenied(Environment):
    """The system does not allow it."""

    code = "PERMISSION_DENIED"
    default_hint = "the archive is as it was; check the owner and the mode, or whether the medium is read-only"


class NoMemory(Environment):
    """There is not enough memory."""

    code = "NO_MEMORY"
    default_hint = "a turn is held in memory while it is read; the archive is as it was"


class IoFailed(Environment):
    """The system reported a fault when reading or writing."""

    code = "IO_FAILED"
    default_hint = "the archive is as it was; look at the medium"


class ServerUnreachable(Environment):
    """The server of a model does not answer."""

    code = "SERVER_UNREACHABLE"
    default_hint = "start it, or say where it is with --server URL"


class ServerRefused(Environment):
    """The server of a model answers, and not with vectors."""

    code = "SERVER_REFUSED"
    default_hint = "look at the name of the model, the key, and the server's own log"


class ProgramFailed(Environment):
    """A program that makes vectors ended with a fault, or gave something else."""

    code = "PROGRAM_FAILED"
    default_hint = "it reads the lines of `ctxarc export` and writes those that `ctxarc attach` takes"


class MissingPackage(Environment):
    """An optional package is not installed."""

    code = "MISSING_PACKAGE"


# ---------------------------------------------------------------------------------------------------------- fault


class Internal(Fault):
    """Something that nobody named went wrong."""

    code = "INTERNAL"
    default_hint = "this is a fault of ctxarc; please report it with the command that led to it"


_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_NOT_ALLOWED = {errno.EACCES, errno.EPERM, errno.EROFS}


def from_os_error(error: OSError, path: str | os.PathLike[str] | None = None) -> Environment:
    """The refusal that stands for a fault of the operating system, with the path and the system's own words."""
    where = os.fspath(path if path is not None else error.filename or "")
    words = error.strerror or str(error)
    facts: dict[str, Any] = {"path": str(where), "errno": error.errno}
    message = f"{where}: {words}" if where else words
    if error.errno in _NO_SPACE:
        return NoSpace(message, **facts)
    if error.errno in _NOT_ALLOWED:
        return PermissionDenied(message, **facts)
    return IoFailed(message, **facts)


def every_refusal() -> list[type[Refusal]]:
    """Every class with a code, in order of code."""
    families = Refusal.__subclasses__()
    return sorted((kind for family in families for kind in family.__subclasses__()), key=lambda kind: kind.code)
