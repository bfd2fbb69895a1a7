"""Made-up transcripts, small archives of them, and how tests run the command line and look at what it left."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from ctxarc.errors import Refusal
from ctxarc.model import CaptureReport
from ctxarc.operations.capture import CaptureOptions, capture
from ctxarc.operations.cat import cat
from ctxarc.operations.sources import Source
from ctxarc.operations.verify import verify

NS_A_DAY = 86_400 * 10**9


def said(text: str, role: str = "user", *, second: int = 0) -> bytes:
    """One turn as Claude Code writes it."""
    record = {
        "type": role,
        "sessionId": "0b7c1f3e-made-up",
        "timestamp": f"2026-03-04T05:{second // 60:02}:{second % 60:02}.000Z",
        "cwd": "/home/someone/orchard",
        "message": {"role": role, "content": text},
    }
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def session(turns: int, topic: str = "apples") -> bytes:
    """A conversation of that many turns."""
    roles = ("user", "assistant")
    return b"".join(said(f"{topic}, remark {n}", roles[n % 2], second=n) for n in range(turns))


def turns_of(data: bytes) -> list[bytes]:
    """The turns of a source: its lines with their line feeds."""
    *whole, last = data.split(b"\n")
    return [line + b"\n" for line in whole] + ([last] if last else [])


def noise(seed: int) -> random.Random:
    """Made-up bytes and choices, the same ones each time."""
    return random.Random(seed)  # noqa: S311 - nothing secret


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def stored(archive: Path, data: bytes, name: str = "s", **options: Any) -> CaptureReport:  # noqa: ANN401 - options differ
    """Capture a file with that content, whose name in the archive is ``name``; the file lies beside the archive."""
    path = archive.parent / "sources" / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    result = capture(archive, [Source(name, path)], CaptureOptions(**options))
    return result.transcripts[0]


def held(archive: Path, *addresses: str, span: str | None = None, at: int | None = None) -> bytes:
    """The bytes at the addresses."""
    return b"".join(cat(archive, addresses, span=span, at=at))


def sound(archive: Path) -> None:
    """Fail with what verify finds."""
    result = verify(archive)
    assert result.findings == ()
    assert result.ok


def digest_of(archive: Path) -> str:
    return verify(archive, quick=True).archive_digest


def refused(do: Callable[[], object]) -> Refusal:
    """The refusal that a call raises; what it gives is read to its end."""
    with pytest.raises(Refusal) as caught:
        drain(do())
    return caught.value


def drain(value: object) -> None:
    """Read an iterator to its end."""
    if isinstance(value, Iterator):
        for _ in value:
            pass


def tree(root: Path) -> dict[str, bytes | None]:
    """Every path below a directory with the bytes of the files: what must not change."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes() if path.is_file() and not path.is_symlink() else None
        for path in sorted(root.rglob("*"))
    }


def environment(**more: str) -> dict[str, str]:
    """What a command sees of the machine: nothing of its user."""
    kept = {name: value for name, value in os.environ.items() if name in {"PATH", "TMPDIR", "SYSTEMROOT"}}
    return {**kept, "HOME": "/nonexistent", "LC_ALL": "C.UTF-8", **more}


def command(*args: str | os.PathLike[str]) -> list[str]:
    return [sys.executable, "-m", "ctxarc", *(os.fspath(arg) for arg in args)]


def run(
    *args: str | os.PathLike[str],
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    before: Iterable[str] = (),
) -> subprocess.CompletedProcess[bytes]:
    """One call of the command line, alone with what it is given."""
    done = subprocess.run(
        [*before, *command(*args)],
        input=stdin,
        capture_output=True,
        env={**environment(), **(env or {})},
        cwd=cwd,
        check=False,
    )
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    return done


def objects(done: subprocess.CompletedProcess[bytes]) -> list[dict[str, Any]]:
    """The JSON objects that a call printed, a line each."""
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert all(value["schema"] == 1 for value in found)
    return found


def one(done: subprocess.CompletedProcess[bytes]) -> dict[str, Any]:
    """The one JSON object that a call printed."""
    (value,) = objects(done)
    return value


def modes_count() -> list[str]:
    """What to put before a command so that file modes hold for it, even where tests run as root."""
    if os.geteuid() != 0:
        return []
    tool = shutil.which("setpriv")
    if tool is None:
        pytest.skip("file modes do not bind root, and setpriv is not there to give that up")
    lost = "-dac_override,-dac_read_search"
    words = [tool, "--bounding-set", lost, "--inh-caps", lost]
    if subprocess.run([*words, "true"], capture_output=True, check=False).returncode:
        pytest.skip("file modes do not bind root, and setpriv may not give that up here")
    return words


def own_mounts() -> list[str]:
    """What to put before a shell so that it has mounts of its own, which end with it."""
    tool = shutil.which("unshare")
    if tool is None:
        pytest.skip("unshare is not there to make a file system of its own")
    for words in ([tool, "--mount"], [tool, "--mount", "--map-root-user"]):
        probe = [*words, "sh", "-c", "mount -t tmpfs -o size=64k none /mnt"]
        if not subprocess.run(probe, capture_output=True, check=False).returncode:
            return words
    pytest.skip("this user may not mount a file system of its own")
