"""Find the programs that are compared, say their versions, and build their command lines."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

from bench.common import NotMeasured, run, without_folders

REPOSITORY = Path(__file__).resolve().parent.parent
CACHE = REPOSITORY / "bench" / ".cache"
PEER_REQUIREMENT = "anla-archive[speed,zstd]"
LIBRARIES = ("click", "numpy", "rich", "xxhash", "zstandard")
ASK_VERSIONS = """
import importlib.metadata as m, json, sys
found = {"python": sys.version.split()[0]}
for name in sys.argv[1:]:
    try:
        found[name] = m.version(name)
    except m.PackageNotFoundError:
        pass
print(json.dumps(found))
"""


@dataclass(frozen=True)
class Tools:
    """Where the programs are. ``peer`` is None where it could not be had, ``peer_missing`` then says why."""

    ctxarc: str
    python: str
    peer: str | None
    peer_missing: str

    def need_peer(self) -> str:
        """The peer's executable, or :class:`NotMeasured` with the reason."""
        if self.peer is None:
            raise NotMeasured(self.peer_missing)
        return self.peer

    def capture(self, archive: Path, source: Path, *options: str) -> tuple[str, ...]:
        """``ctxarc capture`` of one file."""
        return (self.ctxarc, "capture", str(archive), str(source), "-q", *options)

    def peer_capture(self, archive: Path, source: Path) -> tuple[str, ...]:
        """The peer's capture of one file, whole."""
        return (self.need_peer(), "context", "capture", "--transcript", str(source), "--max-mib", "0", str(archive))

    def peer_turn_path(self, archive: Path, turn: int) -> str:
        """The path by which the peer names one turn."""
        listing = json.loads(run([self.need_peer(), "list", archive, "--json"], output=True))
        for row in listing["objects"]:
            if row["path"].startswith(f"turns/{turn:06d}-"):
                return str(row["path"])
        raise NotMeasured(f"the peer lists no turn {turn}")

    def import_click(self) -> tuple[str, ...]:
        """The least that a click program costs, with the Python that runs ctxarc."""
        return (self.python, "-c", "import click")

    def versions(self) -> dict[str, str]:
        """The version of every program and of the libraries that ctxarc stands on."""
        found = {"ctxarc": run([self.ctxarc, "--version"], output=True).decode().split()[-1]}
        found.update(_ask(self.python, *LIBRARIES))
        if zstd := shutil.which("zstd"):
            found["zstd"] = run([zstd, "-qV"], output=True).decode().split()[-1].lstrip("v")
        if digester := shutil.which("sha256sum"):
            found["sha256sum"] = run([digester, "--version"], output=True).decode().splitlines()[0].split()[-1]
        if self.peer:
            peer = _ask(_python_beside(self.peer), "anla-archive", "blake3", "zstandard")
            found.update({name if name == "anla-archive" else f"{name} (peer)": text for name, text in peer.items()})
        return found


def zstd(*options: str) -> tuple[str, ...]:
    """The start of a zstd command line."""
    found = shutil.which("zstd")
    if not found:
        raise NotMeasured("zstd is not installed")
    return (found, "-q", *options)


def find_tools(ctxarc: str | None, python: str | None, peer: str | None, *, want_peer: bool) -> Tools:
    """Find ctxarc (FileNotFoundError where there is none), its Python, and the peer, installed if need be."""
    local = REPOSITORY / ".venv" / "bin" / "ctxarc"
    program = ctxarc or (str(local) if local.exists() else shutil.which("ctxarc"))
    found = shutil.which(program) if program else None
    if not found:
        raise FileNotFoundError(f"no ctxarc: {program or 'neither in .venv nor on the PATH'}")
    place, missing = _find_peer(peer) if want_peer else (None, "the peer was left out")
    return Tools(_absolute(found), _absolute(python or _python_beside(found)), place, missing)


def _find_peer(peer: str | None) -> tuple[str | None, str]:
    if peer is None:
        return install_peer()
    found = shutil.which(peer)
    return (_absolute(found), "") if found else (None, "the peer's program is not there")


def _absolute(program: str) -> str:
    """An absolute path that keeps symbolic links, since a virtual environment's Python is one."""
    return str(Path(program).absolute())


def install_peer() -> tuple[str | None, str]:
    """Install the peer into a virtual environment in the cache folder: its program, or None and the reason."""
    home = CACHE / "peer"
    program = home / "bin" / "anla1"
    if program.exists():
        return str(program), ""
    print(f"installing {PEER_REQUIREMENT} into bench/.cache", file=sys.stderr)  # noqa: T201 - it takes a while
    try:
        venv.create(home, with_pip=True, clear=True)
        run([home / "bin" / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check", PEER_REQUIREMENT])
    except (OSError, subprocess.SubprocessError, NotMeasured) as reason:
        shutil.rmtree(home, ignore_errors=True)
        return None, f"{PEER_REQUIREMENT} could not be installed: {without_folders(str(reason))}"
    return str(program), ""


def _python_beside(program: str) -> str:
    """The Python of the environment that a program was installed into, else the one that runs this."""
    beside = Path(program).resolve().parent / "python"
    return str(beside) if beside.exists() else sys.executable


def _ask(python: str, *names: str) -> dict[str, str]:
    answer: dict[str, str] = json.loads(run([python, "-c", ASK_VERSIONS, *names], output=True))
    return answer
