"""The stage about vectors: search, load and memory beside plain NumPy and the peer, and the commands as processes."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any, NamedTuple

from bench.common import Figure, Program, Result, Timing, bytes_of, describe_input, peak_memory, run, run_in_turn
from bench.setting import Setting, ratio, remove, unmeasured

ROWS, WIDTH, OBJECTS, MANY = 61_458, 768, 3551, 1_000_000
SCHEME = "changepoint-v1"
START = """
import json, os, sys, time
for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
    os.environ.pop(name, None)
from array import array
from pathlib import Path
"""
IDENTITY = """
from ctxarc.auxiliary.vectors.corpus import Corpus, NewRows, add
from ctxarc.auxiliary.vectors.identity import Identity
archive, rows, width = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
identity = Identity("m", "r", width, "json-text-v1", "boundary-v1")
def opened():
    return Corpus(archive, "boundary-v1", identity.fingerprint)
"""
MAKE = """
import numpy as np
objects = int(sys.argv[4])
source = np.random.default_rng(1)
def chunks():
    for at in range(0, rows, 4096):
        yield source.standard_normal((min(4096, rows - at), width), dtype="f4").data
firsts = array("I", (at * rows // objects for at in range(objects + 1)))
starts, ends = array("I"), array("I")
for one, other in zip(firsts, firsts[1:]):
    starts.extend(range(0, 10 * (other - one), 10))
    ends.extend(range(10, 10 * (other - one) + 10, 10))
add(archive, identity, NewRows(array("I", range(objects)), bytes(32 * objects), firsts, starts, ends, chunks()), "00")
"""
PEERS_FILE = """
header = {"kind": "anla:context:vectors:1", "width": width, "count": rows, "keys": [str(n) for n in range(rows)]}
with open(sys.argv[4], "wb") as file:
    file.write(json.dumps(header).encode() + b"\\n" + opened().parts[0].data)
"""
SEARCH = """
import numpy as np
from ctxarc.auxiliary.vectors.ranking import open_ranking
seconds = {}
def timed(name, do):
    start = time.perf_counter()
    do()
    seconds.setdefault(name, []).append(time.perf_counter() - start)
ranking = open_ranking(opened(), "numpy")
matrix = ranking.matrices[0]
queries = np.random.default_rng(2).standard_normal((100, width)).astype("f4")
lists = [array("f", query) for query in queries]
[ranked] = ranking.rank_many(lists[:1])
exact = matrix.astype("f8") - matrix.mean(axis=0, dtype="f8")
scores = exact @ (queries[0].astype("f8") - matrix.mean(axis=0, dtype="f8")) / np.sqrt((exact * exact).sum(axis=1))
assert [row for row, _ in ranked.top(10)] == np.argsort(-scores, kind="stable")[:10].tolist()
del exact, scores
jobs = {
    "matrix @ query": lambda: matrix @ queries[0],
    "search": lambda: ranking.rank(lists[0]).top(10),
    "matrix @ queries.T": lambda: matrix @ queries.T,
    "100 searches": lambda: [ranked.top(10) for ranked in ranking.rank_many(lists)],
}
if len(sys.argv) > 5:
    sys.path.append(sys.argv[4])
    from anla1.vectors import read_vectors
    peers = read_vectors(Path(sys.argv[5]))
    jobs["anla1 search"] = lambda: peers.search(lists[0], 10)
for _ in range(int(sys.stdin.read() or 21)):
    for name, do in jobs.items():
        timed(name, do)
print(json.dumps(seconds))
"""
LOAD = """
start = time.perf_counter()
corpus = opened()
loaded = time.perf_counter() - start
corpus.prove()
print(json.dumps([loaded, time.perf_counter() - start]))
"""
PEERS_LOAD = """
sys.path.append(sys.argv[1])
from anla1.vectors import read_vectors
start = time.perf_counter()
read_vectors(Path(sys.argv[2]))
print(json.dumps([time.perf_counter() - start]))
"""
PLAIN = """
import random
from ctxarc.auxiliary.vectors.ranking import open_ranking
ranking = open_ranking(opened(), "python")
source = random.Random(2)
seconds = []
for _ in range(12):
    query = [source.gauss(0, 1) for _ in range(width)]
    start = time.perf_counter()
    ranking.rank(query).top(10)
    seconds.append(time.perf_counter() - start)
print(json.dumps(seconds))
"""
PEERS_PLAIN = """
sys.modules["numpy"] = None
import random
from anla1.vectors import read_vectors
peers = read_vectors(Path(sys.argv[1]))
source = random.Random(2)
query = [source.gauss(0, 1) for _ in range(peers.width)]
mean = peers.mean()
start = time.perf_counter()
peers.search(query, 10, centre=mean)
print(json.dumps([time.perf_counter() - start]))
"""
ONE_SEARCH = """
from ctxarc.auxiliary.vectors.ranking import open_ranking
ranking = open_ranking(opened(), "numpy")
[ranked.top(10) for ranked in ranking.rank_many([[1.0 + n] * width for n in range(30)])]
print(ranking.rank([1.0] * width).top(10)[0][0])
"""
VECTORS = """
import numpy as np
count = sum(1 for _ in open(sys.argv[1])) - 1
np.save(sys.argv[2], np.random.default_rng(3).standard_normal((count, 768), dtype="f4") / 27.7)
vector = np.random.default_rng(4).standard_normal(768).tolist()
Path(sys.argv[3]).write_text(json.dumps({"model": "m", "revision": "r", "vector": vector}))
"""
NDJSON = """
import numpy as np
rows, first = np.load(sys.argv[2], mmap_mode="r"), True
with open(sys.argv[1]) as ids, open(sys.argv[3], "w") as file:
    next(ids)
    said = {"model": "n", "revision": "r", "projection": "json-text-v1", "scheme": sys.argv[4]}
    file.write(json.dumps({"kind": "ctxarc-vectors", **said}) + "\\n")
    for number, line in zip(range(6000), ids):
        file.write(json.dumps({"id": json.loads(line)["id"], "vector": rows[number].tolist()}) + "\\n")
"""
PEERS_ATTACH = """
from anla1.vectors import write_vectors
def rows():
    with open(sys.argv[1]) as file:
        next(file)
        for line in file:
            row = json.loads(line)
            yield row["id"], row["vector"]
write_vectors(Path(sys.argv[2]), rows(), {"model": "n"})
"""


def vectors(setting: Setting) -> Result:
    """Search and load in process, the size of the file, memory on a million rows, and the commands."""
    result = Result(inputs=[describe_input(setting.source)])
    archive = setting.scratch / "v"
    shape = _make(setting, archive, ROWS, OBJECTS)
    peers = _peer(setting, archive, shape)
    _search(setting, result, archive, shape, peers)
    _load(setting, result, archive, shape, peers)
    _plain(setting, result, archive, shape, peers)
    size = bytes_of(archive)
    detail = f"{size:,} B, {4 * ROWS * WIDTH:,} B"
    result.figures.append(Figure("side file : raw floats", round(size / (4 * ROWS * WIDTH), 4), "x", 1.01, detail))
    remove(archive)
    _memory(setting, result)
    _commands(setting, result)
    return result


def _make(setting: Setting, archive: Path, rows: int, objects: int) -> list[str]:
    """Make a corpus; its shape, as scripts take it."""
    archive.mkdir()
    shape = [str(rows), str(WIDTH)]
    run([setting.tools.python, "-c", START + IDENTITY + MAKE, archive, *shape, str(objects)])
    return shape


def _peer(setting: Setting, archive: Path, shape: list[str]) -> list[str]:
    """Where the peer's modules are, and the same vectors in its own format; nothing where there is no peer."""
    if setting.tools.peer is None:
        return []
    library = next((Path(setting.tools.peer).parent.parent / "lib").glob("python*/site-packages"))
    file = setting.scratch / "peer.vec"
    run([setting.tools.python, "-c", START + IDENTITY + PEERS_FILE, archive, *shape, file])
    return [str(library), str(file)]


def _asked(command: list[str | Path]) -> Any:  # noqa: ANN401 - what the script prints
    return json.loads(run(command, output=True))


def _search(setting: Setting, result: Result, archive: Path, shape: list[str], peers: list[str]) -> None:
    """One question and a hundred, beside one matrix product of that shape in the same process."""
    found = _asked([setting.tools.python, "-c", START + IDENTITY + SEARCH, archive, *shape, *peers])
    timings = {name: Timing(f"{name}, in process", tuple(seconds)) for name, seconds in found.items()}
    for ours, other, bar in (
        ("search", "matrix @ query", 1.4),
        ("100 searches", "matrix @ queries.T", 1.4),
        ("search", "anla1 search", None),
    ):
        name = f"{ours} : {other}"
        if other in timings:
            result.figures.append(_ratio(name, timings[ours], timings[other], (ours, other), bar))
        else:
            result.figures.append(unmeasured(name, "x", bar, setting.tools.peer_missing))
    result.raw |= {label: timing.record() for label, timing in timings.items()}


def _ratio(name: str, ours: Timing, other: Timing, labels: tuple[str, str], bar: float | None) -> Figure:
    """A ratio of medians, whose detail is in milliseconds."""
    detail = f"{labels[0]} {1000 * ours.median:.1f} ms, {labels[1]} {1000 * other.median:.1f} ms"
    return Figure(name, round(ours.median / other.median, 3), "x", bar, detail)


def _load(setting: Setting, result: Result, archive: Path, shape: list[str], peers: list[str]) -> None:
    """Open a corpus, and compare every row with its checksum, which a search does while it reads them."""
    runs = range(setting.runs(11))
    ours = [_asked([setting.tools.python, "-c", START + IDENTITY + LOAD, archive, *shape]) for _ in runs]
    for at, name, bar in ((0, "load", 20.0), (1, "load, with the checksums of all rows", None)):
        taken = [round(1000 * each[at], 3) for each in ours]
        result.figures.append(Figure(name, round(statistics.median(taken), 2), "ms", bar))
        result.raw[f"{name}, ms"] = taken
    if peers:
        taken = [_asked([setting.tools.python, "-c", START + PEERS_LOAD, *peers])[0] for _ in runs]
        result.figures.append(Figure("load, anla1", round(1000 * statistics.median(taken), 1), "ms"))


def _plain(setting: Setting, result: Result, archive: Path, shape: list[str], peers: list[str]) -> None:
    """Questions to a warm process without NumPy: those behind the first ones, for which lanes are made."""
    seconds = _asked([setting.tools.python, "-c", START + IDENTITY + PLAIN, archive, *shape])
    detail = f"the first {seconds[0]:.2f} s, that which makes lanes {max(seconds):.2f} s"
    warm = statistics.median(seconds[-7:])
    result.figures.append(Figure("search without NumPy, warm", round(warm, 3), "s", 0.5, detail))
    result.raw["search without NumPy, s"] = [round(each, 4) for each in seconds]
    if peers:
        python = Path(setting.tools.need_peer()).with_name("python")
        taken = _asked([python, "-c", START + PEERS_PLAIN, peers[1]])[0]
        result.figures.append(Figure("search without NumPy, anla1", round(taken, 2), "s"))


def _memory(setting: Setting, result: Result) -> None:
    """A million rows: what a search holds beyond the mapped file."""
    rows = MANY // (1 if setting.amount.turns is None else 10)
    archive = setting.scratch / "million"
    shape = _make(setting, archive, rows, rows // 17)
    peak = peak_memory([setting.tools.python, "-c", START + IDENTITY + ONE_SEARCH, archive, *shape])
    mapped = bytes_of(archive) / (1 << 20)
    detail = f"{peak.mib:,.0f} MiB resident, {mapped:,.0f} of them the file"
    name = f"memory beyond the file, {rows:,} rows"
    result.figures.append(Figure(name, round(peak.mib - mapped, 1), "MiB", 200.0, detail))
    remove(archive)


class _Given(NamedTuple):
    """An archive with vectors, the export they answer, the vectors, and a question."""

    archive: Path
    export: Path
    npy: Path
    query: Path


def _commands(setting: Setting, result: Result) -> None:
    """``attach`` and ``address`` as whole processes, on the segments of the main transcript."""
    tools, scratch = setting.tools, setting.scratch
    archive = setting.captured("t.ctxa", setting.source)
    run([tools.ctxarc, "segment", archive, "--scheme", SCHEME])
    export, npy, query = scratch / "export.ndjson", scratch / "v.npy", scratch / "query.json"
    export.write_bytes(run([tools.ctxarc, "export", archive, "--scheme", SCHEME], output=True))
    run([tools.python, "-c", START + VECTORS, export, npy, query])
    stated = ["--export", str(export), "--model", "m", "--revision", "r", "-q"]
    vectors_of = archive / "vectors"
    attach = Program(
        "ctxarc attach",
        (tools.ctxarc, "attach", str(archive), str(npy), *stated),
        before=lambda: remove(vectors_of),
        shown="ctxarc attach t.ctxa v.npy --export export.ndjson --model m --revision r",
    )
    copy = Program("cp", ("cp", str(npy), str(scratch / "copy.npy")), before=lambda: remove(scratch / "copy.npy"))
    timings = run_in_turn([attach, copy], setting.runs(7))
    result.figures.append(
        ratio("attach a .npy : cp", ("ctxarc attach", timings["ctxarc attach"]), ("cp", timings["cp"]), 3.0)
    )
    given = _Given(archive, export, npy, query)
    timings |= _address(setting, result, given) | _ndjson(setting, result, given)
    result.raw |= {label: timing.record() for label, timing in timings.items()}


def _address(setting: Setting, result: Result, given: _Given) -> dict[str, Timing]:
    """A question to a cold process, beside the start of what it needs and the search alone."""
    tools = setting.tools
    argv = (tools.ctxarc, "address", str(given.archive), "--vector", str(given.query), "-q")
    address = Program("ctxarc address", argv)
    start = Program("import numpy, click, zstandard", (tools.python, "-c", "import numpy, click, zstandard"))
    timings = run_in_turn([address, start], setting.runs(11))
    search = statistics.median(result.raw["search"]["seconds"])  # type: ignore[index]
    ours, base = timings[address.label].median, timings[start.label].median + search
    detail = f"ctxarc address {ours:.3f} s, {start.label} and search {base:.3f} s"
    result.figures.append(Figure("address : start and search", round(ours / base, 3), "x", 2.5, detail))
    return timings


def _ndjson(setting: Setting, result: Result, given: _Given) -> dict[str, Timing]:
    """NDJSON of 6,000 vectors, beside the peer's function that stores vectors."""
    name, tools, scratch = "attach NDJSON : anla1 write_vectors", setting.tools, setting.scratch
    if tools.peer is None:
        result.figures.append(unmeasured(name, "x", 0.5, tools.peer_missing))
        return {}
    lines = scratch / "six.ndjson"
    run([tools.python, "-c", START + NDJSON, given.export, given.npy, lines, SCHEME])
    attach = Program(
        "ctxarc attach, NDJSON",
        (tools.ctxarc, "attach", str(given.archive), str(lines), "-q"),
        before=lambda: remove(given.archive / "vectors"),
    )
    python = str(Path(tools.peer).with_name("python"))
    theirs = Program(
        "anla1 write_vectors",
        (python, "-c", START + PEERS_ATTACH, str(lines), str(scratch / "six.vec")),
        shown="anla1.vectors.write_vectors of json.loads of each line",
    )
    timings = run_in_turn([attach, theirs], setting.runs(5))
    pair = [(each.label, timings[each.label]) for each in (attach, theirs)]
    result.figures.append(ratio(name, pair[0], pair[1], 0.5))
    return timings
