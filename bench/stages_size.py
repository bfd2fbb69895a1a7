"""Stages about bytes on disk: one capture, a capture after every turn, a fork of a session."""

from __future__ import annotations

import re
import statistics
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from bench.common import (
    Figure,
    NotMeasured,
    Result,
    bytes_of,
    describe_input,
    file_sha256,
    files_of,
    output_sha256,
    run,
)
from bench.setting import Setting, unmeasured
from bench.tools import zstd

SIZE_BARS = ((9, (), 1.15), (19, ("--level", "19"), 1.20))
EDGE = 50


def size(setting: Setting) -> Result:
    """The archive beside zstd on the whole file, at two levels, and beside the peer's archive."""
    result = Result(inputs=[describe_input(setting.source)])
    held: list[int] = []
    for level, options, bar in SIZE_BARS:
        ours = bytes_of(setting.captured(f"level-{level}.ctxa", setting.source, *options))
        packed = setting.scratch / f"{level}.zst"
        run([*zstd(f"-{level}", "--long=27", "-f", "-o"), str(packed), str(setting.source)])
        theirs = bytes_of(packed)
        name = f"archive, {' '.join(options) or 'default level'} : zstd -{level} --long=27"
        result.figures.append(_bytes_ratio(name, ours, theirs, bar))
        result.raw |= {f"ctxarc_{level}_bytes": ours, f"zstd_{level}_bytes": theirs}
        held.append(ours)
    result.raw["source_bytes"] = bytes_of(setting.source)
    result.figures.append(_beside_the_peer(setting, held[0], result.raw))
    return result


def _beside_the_peer(setting: Setting, ours: int, raw: dict[str, object]) -> Figure:
    name, archive = "archive, default level : the peer's", setting.scratch / "peer.anla"
    try:
        run(setting.tools.peer_capture(archive, setting.source))
    except NotMeasured as reason:
        return unmeasured(name, "x", None, str(reason))
    raw["peer_bytes"] = theirs = bytes_of(archive)
    return _bytes_ratio(name, ours, theirs, None)


def _bytes_ratio(name: str, ours: int, theirs: int, bar: float | None) -> Figure:
    return Figure(name, round(ours / theirs, 4), "x", bar, f"{ours:,} B, {theirs:,} B")


def turns(setting: Setting) -> Result:
    """A capture, each a process of its own, after every turn of a growing file; then one capture of the whole."""
    archive, growing = setting.scratch / "turns.ctxa", setting.scratch / "growing.jsonl"
    lines = _lines(setting.source)[: setting.amount.turns]
    command = setting.tools.capture(archive, growing, "--name", "s")
    capture_ms: list[float] = []
    hash_ms: list[float] = []
    most_files = 0
    with growing.open("wb") as file:
        for number, line in enumerate(lines):
            file.write(line)
            file.flush()
            capture_ms.append(_milliseconds(lambda: run(command)))
            if number < EDGE or number >= len(lines) - EDGE:
                hash_ms.append(_milliseconds(lambda: file_sha256(growing)))
            most_files = max(most_files, len(files_of(archive)))
    if output_sha256([setting.tools.ctxarc, "cat", archive]) != file_sha256(growing):
        raise NotMeasured("ctxarc cat of the archive captured turn by turn does not give the source back")
    once = bytes_of(setting.captured("once.ctxa", growing))
    return _turns_result(setting, growing, (bytes_of(archive), once, most_files), capture_ms, hash_ms)


def _turns_result(
    setting: Setting, growing: Path, held: tuple[int, int, int], capture_ms: list[float], hash_ms: list[float]
) -> Result:
    grown, once, most_files = held
    count = len(capture_ms)
    whole = [_median(part) for part in (capture_ms[:EDGE], capture_ms[-EDGE:])]
    hashing = [_median(part) for part in (hash_ms[:EDGE], hash_ms[-EDGE:])]
    early, late = (_median_difference(capture_ms[part], hash_ms[part]) for part in (slice(EDGE), slice(-EDGE, None)))
    detail = f"first {EDGE}: {early:.1f} ms of {whole[0]:.1f}, last {EDGE}: {late:.1f} ms of {whole[1]:.1f}"
    return Result(
        [
            _bytes_ratio(f"{count:,} captures : one capture", grown, once, 1.4),
            Figure("most files at any time", most_files, "files", 60),
            Figure("late captures : early ones, less hashing the source", round(late / early, 3), "x", None, detail),
        ],
        {
            "captures": count,
            "archive_bytes": grown,
            "one_capture_bytes": once,
            "most_files": most_files,
            "median_capture_ms": {"first": whole[0], "last": whole[1]},
            "median_hash_ms": {"first": hashing[0], "last": hashing[1]},
            "median_difference_ms": {"first": early, "last": late},
            "capture_ms": capture_ms,
            "hash_ms_first_and_last": hash_ms,
        },
        [describe_input(setting.source), describe_input(growing, f"the first {count:,} turns of it")],
    )


def _lines(path: Path) -> list[bytes]:
    """The file cut after each line feed, and nowhere else."""
    with path.open("rb") as source:
        return list(source)


def _milliseconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return round((time.perf_counter() - start) * 1000, 2)


def _median_difference(capture_ms: list[float], hash_ms: list[float]) -> float:
    return _median([whole - part for whole, part in zip(capture_ms, hash_ms, strict=True)])


def _median(milliseconds: list[float]) -> float:
    return round(statistics.median(milliseconds), 2)


def fork(setting: Setting) -> Result:
    """What a fork of a session, every sessionId rewritten, adds to the archive of the session, both repacked."""
    original = setting.corpus / "growing" / "save-2.jsonl"
    forked = setting.scratch / "fork.jsonl"
    forked.write_bytes(with_new_session_ids(original.read_bytes()))
    repack = (setting.tools.ctxarc, "repack", str(setting.scratch / "fork.ctxa"))
    archive = setting.captured("fork.ctxa", original, "--name", "original")
    run(repack)
    alone = bytes_of(archive)
    run(setting.tools.capture(archive, forked, "--name", "fork"))
    loose = bytes_of(archive)
    run(repack)
    both = bytes_of(archive)
    if output_sha256([setting.tools.ctxarc, "cat", archive, "fork#"]) != file_sha256(forked):
        raise NotMeasured("ctxarc cat does not give the fork back")
    added = f"{both - alone:,} B added to {alone:,} B ({loose - alone:,} B before repack)"
    return Result(
        [Figure("a fork's added bytes : the session's archive", round((both - alone) / alone, 4), "x", 0.25, added)],
        {"alone_bytes": alone, "with_fork_bytes": loose, "with_fork_repacked_bytes": both},
        [describe_input(original, "growing/save-2.jsonl"), describe_input(forked, "the same with new session ids")],
    )


def with_new_session_ids(session: bytes) -> bytes:
    """The session with each of its session ids, wherever it stands, changed for another of the same length."""
    for old in sorted(set(re.findall(rb'"sessionId":"([0-9a-f-]{36})"', session))):
        session = session.replace(old, str(uuid.uuid5(uuid.NAMESPACE_OID, old.decode())).encode())
    return session
