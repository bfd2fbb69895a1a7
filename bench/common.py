# ruff: noqa: S603 - running the programs that are measured is what this is for
"""Run programs in turn as whole processes, and keep what was seen.

Programs that are compared are run A B A B ..., after a warm-up of each, so that a slow minute of the machine falls on
both. Every raw time is kept beside the median. Nothing here knows which programs are compared. Standard library only.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO

SCHEMA = 1
JSON_WIDTH = 116
CHUNK = 1 << 20
MIB = 1 << 20
# Linux counts ru_maxrss in KiB, macOS in bytes.
MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024

# A child's ru_maxrss begins at what its parent had resident when it forked, so the parent is this small process.
LAUNCHER = """
import os, sys
pid = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(pid, 0)
os.write(int(sys.argv[1]), b"%d %d" % (os.waitstatus_to_exitcode(status), usage.ru_maxrss))
"""


class NotMeasured(Exception):
    """A figure could not be taken; the text says why."""


@dataclass(frozen=True)
class Program:
    """One side of a comparison: ``shown`` is the command as a reader may type it, ``before`` runs untimed."""

    label: str
    argv: tuple[str, ...]
    before: Callable[[], object] | None = None
    shown: str = ""

    def command(self) -> str:
        """The command with the folders left out, so that it names no place on this machine."""
        return self.shown or " ".join(Path(part).name if Path(part).is_absolute() else part for part in self.argv)


@dataclass(frozen=True)
class Timing:
    """The wall-clock seconds of each run of one program, in the order they were taken."""

    command: str
    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The median, in seconds."""
        return statistics.median(self.seconds)

    def record(self) -> dict[str, object]:
        """The timing as JSON data."""
        raw = [round(second, 6) for second in self.seconds]
        return {"command": self.command, "median_seconds": round(self.median, 6), "seconds": raw}


@dataclass(frozen=True)
class Peak:
    """Peak resident memory of a child's largest process, in MiB, and the SHA-256 and length of what it printed."""

    mib: float
    output_sha256: str
    output_bytes: int


@dataclass(frozen=True)
class Figure:
    """One figure: smaller is better, and ``bar`` is the most it may be (None: no bar is set)."""

    name: str
    value: float | None
    unit: str
    bar: float | None = None
    detail: str = ""

    @property
    def verdict(self) -> str:
        """``ok``, ``MISSED``, ``not measured`` or, without a bar, nothing."""
        if self.value is None:
            return "not measured"
        if self.bar is None:
            return ""
        return "ok" if self.value <= self.bar else "MISSED"

    def record(self) -> dict[str, object]:
        """The figure as JSON data."""
        return {**asdict(self), "verdict": self.verdict}


@dataclass
class Result:
    """All that one stage saw: its figures, the raw values behind them, and the inputs they were taken on."""

    figures: list[Figure] = field(default_factory=list)
    raw: dict[str, object] = field(default_factory=dict)
    inputs: list[dict[str, object]] = field(default_factory=list)


def run(argv: Sequence[str | Path], *, output: bool = False) -> bytes:
    """Run a program to its end; raise :class:`NotMeasured` with its last words unless it ends 0."""
    with tempfile.TemporaryFile() as errors:
        stdout = subprocess.PIPE if output else subprocess.DEVNULL
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=stdout, stderr=errors, check=False)
        _need_success(argv, done.returncode, errors)
    return done.stdout or b""


def output_sha256(argv: Sequence[str | Path]) -> str:
    """The SHA-256 of what a program prints, without holding it in memory."""
    digest = hashlib.sha256()
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors)
        if child.stdout:
            with child.stdout as pipe:
                for chunk in iter(lambda: pipe.read(CHUNK), b""):
                    digest.update(chunk)
        _need_success(argv, child.wait(), errors)
    return digest.hexdigest()


def _need_success(argv: Sequence[str | Path], status: int, errors: IO[bytes]) -> None:
    if status == 0:
        return
    errors.seek(0)
    lines = errors.read().decode("utf-8", "replace").strip().splitlines()
    name, verbs = Path(argv[0]).name, [str(part) for part in argv[1:3] if not Path(part).is_absolute()]
    words = without_folders(lines[-1]) if lines else "it said nothing"
    raise NotMeasured(f"{' '.join([name, *verbs])} ended {status}: {words}")


def without_folders(text: str) -> str:
    """The text with each absolute path cut down to its last part: a result names no place on this machine."""
    return re.sub(r"(?<![\w.])/(?:[^\s/:'\"]+/)+", "", text)


def time_once(program: Program) -> float:
    """Wall-clock seconds of one run, from before the process is made until it has been waited for."""
    if program.before:
        program.before()
    start = time.perf_counter()
    run(program.argv)
    return time.perf_counter() - start


def run_in_turn(programs: Sequence[Program], runs: int, warmups: int = 1) -> dict[str, Timing]:
    """Time the programs A B A B ..., ``runs`` times each after ``warmups`` that are not kept; keyed by label."""
    for _ in range(warmups):
        for program in programs:
            time_once(program)
    seconds: dict[str, list[float]] = {program.label: [] for program in programs}
    for _ in range(runs):
        for program in programs:
            seconds[program.label].append(time_once(program))
    return {program.label: Timing(program.command(), tuple(seconds[program.label])) for program in programs}


def peak_memory(argv: Sequence[str | Path]) -> Peak:
    """Run a program once and take its peak resident memory; what it prints is hashed and thrown away."""
    readable, writable = os.pipe()
    launcher = [sys.executable, "-I", "-S", "-c", LAUNCHER, str(writable), *map(str, argv)]
    digest, length = hashlib.sha256(), 0
    with tempfile.TemporaryFile() as errors, os.fdopen(readable, "rb") as told:
        child = subprocess.Popen(
            launcher, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, pass_fds=[writable]
        )
        os.close(writable)
        if child.stdout:
            with child.stdout as pipe:
                for chunk in iter(lambda: pipe.read(CHUNK), b""):
                    digest.update(chunk)
                    length += len(chunk)
        child.wait()
        words = told.read().split()
        _need_success(argv, int(words[0]) if words else -1, errors)
    return Peak(round(int(words[1]) * MAXRSS_UNIT / MIB, 1), digest.hexdigest(), length)


def file_sha256(path: Path) -> str:
    """The SHA-256 of a file, read a piece at a time."""
    with path.open("rb", buffering=0) as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def describe_input(path: Path, name: str = "") -> dict[str, object]:
    """Name, length, lines and SHA-256 of an input file."""
    with path.open("rb") as source:
        lines = sum(1 for _ in source)
    return {"name": name or path.name, "bytes": path.stat().st_size, "lines": lines, "sha256": file_sha256(path)}


def files_of(folder: Path) -> list[Path]:
    """Every file below a folder."""
    return [path for path in folder.rglob("*") if path.is_file()]


def bytes_of(path: Path) -> int:
    """The length of a file, or of all files below a folder together."""
    return sum(file.stat().st_size for file in files_of(path)) if path.is_dir() else path.stat().st_size


def machine(scratch: Path) -> dict[str, object]:
    """What a reader needs to judge a time: processor, cores, memory, kernel, Python, the scratch file system."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30), 1),
        "system": platform.system(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "scratch_file_system": _file_system(scratch),
    }


def _cpu_model() -> str:
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found.group(1) if found else platform.processor() or platform.machine()


def _file_system(path: Path) -> str:
    """The type of the file system that holds ``path``, or ``unknown`` where the system does not tell."""
    try:
        mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    except OSError:
        return "unknown"
    place = path.resolve()
    holding = [mount for mount in mounts if place.is_relative_to(mount[1])]
    return max(holding, key=lambda mount: len(mount[1]))[2] if holding else "unknown"


def write_result(folder: Path, name: str, result: Result, surroundings: dict[str, object]) -> Path:
    """Write one stage's result, with the machine and versions it was taken with, as ``folder/name.json``."""
    record = {
        "schema": SCHEMA,
        "name": name,
        "taken": time.strftime("%Y-%m-%d", time.gmtime()),
        **surroundings,
        "inputs": result.inputs,
        "figures": [figure.record() for figure in result.figures],
        "raw": result.raw,
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(tidy_json(record), encoding="utf-8")
    return path


def tidy_json(record: object) -> str:
    """Indented JSON in which a list of numbers fills its lines instead of taking a line a number."""
    text = json.dumps(record, indent=1, ensure_ascii=False)
    return re.sub(r"\[\n([-+.\deE,\s]+)\]", _fill, text) + "\n"


def _fill(match: re.Match[str]) -> str:
    numbers = " ".join(match.group(1).split())
    return numbers.join("[]") if len(numbers) <= JSON_WIDTH else f"[\n{textwrap.fill(numbers, JSON_WIDTH)}\n]"


def medians_text(timings: Iterable[tuple[str, Timing]]) -> str:
    """``name 0.083 s, other 2.310 s``: the medians in the order given."""
    return ", ".join(f"{name} {timing.median:.3f} s" for name, timing in timings)
