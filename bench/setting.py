"""What a stage is given: the programs, the corpus, a scratch folder, and how much to do."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.common import Figure, NotMeasured, Peak, Timing, file_sha256, output_sha256, run
from bench.tools import Tools

MAIN_INPUT = "claude-code-16MiB.jsonl"


@dataclass(frozen=True)
class Amount:
    """How much to do: turns captured one by one, and the sizes in bytes of the inputs that are made."""

    turns: int | None
    joined: int
    large: int
    line: int
    divide_runs: int = 1


FULL = Amount(turns=None, joined=200_000_000, large=1 << 30, line=256 << 20)
QUICK = Amount(turns=120, joined=20_000_000, large=64 << 20, line=16 << 20, divide_runs=3)


@dataclass(frozen=True)
class Setting:
    """One stage's surroundings; ``scratch`` is empty at its start and goes away at its end."""

    tools: Tools
    corpus: Path
    scratch: Path
    amount: Amount
    asked_runs: int | None

    @property
    def source(self) -> Path:
        """The transcript that most figures are about."""
        return self.corpus / MAIN_INPUT

    def runs(self, usual: int) -> int:
        """How many runs to keep where ``usual`` is what a full measurement keeps."""
        return self.asked_runs or max(3, usual // self.amount.divide_runs)

    def fresh(self, name: str) -> Callable[[], None]:
        """What removes an archive (or a file) of that name from the scratch folder before a run."""
        return lambda: remove(self.scratch / name)

    def captured(self, name: str, source: Path, *options: str) -> Path:
        """A new archive of ``source``, proved to give it back byte for byte before anything is measured on it."""
        archive = self.scratch / name
        run(self.tools.capture(archive, source, *options))
        if output_sha256([self.tools.ctxarc, "cat", archive]) != file_sha256(source):
            raise NotMeasured(f"ctxarc cat {name} does not give {source.name} back")
        return archive


def remove(path: Path) -> None:
    """Remove a file or a folder, or nothing where there is none."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def ratio(name: str, ours: tuple[str, Timing], other: tuple[str, Timing], bar: float | None) -> Figure:
    """The ratio of two medians."""
    detail = f"{ours[0]} {ours[1].median:.3f} s, {other[0]} {other[1].median:.3f} s"
    return Figure(name, round(ours[1].median / other[1].median, 3), "x", bar, detail)


def unmeasured(name: str, unit: str, bar: float | None, reason: str) -> Figure:
    """A figure that could not be taken, and why."""
    return Figure(name, None, unit, bar, reason)


def need_output(peak: Peak, sha256: str, what: str) -> Peak:
    """The peak, when what was printed has that SHA-256."""
    if peak.output_sha256 != sha256:
        raise NotMeasured(f"{what} does not print the bytes it should")
    return peak
