"""``man/ctxa.5`` says what the code does: its tables, its limits, its commands, and the reader in its examples."""

from __future__ import annotations

import os
import pkgutil
import random
import re
import shutil
import subprocess
import sys
from array import array
from base64 import b64encode
from hashlib import sha256
from importlib import import_module
from itertools import pairwise
from math import prod
from pathlib import Path
from struct import Struct, calcsize
from textwrap import dedent
from typing import NamedTuple

import pytest
import zstandard

from ctxarc import auxiliary, open_archive, preservation
from ctxarc.auxiliary.segments import part
from ctxarc.auxiliary.vectors import part as vectors_part
from ctxarc.auxiliary.words import part as words
from ctxarc.operations.capture import CaptureOptions
from ctxarc.preservation import entry, frames, layout, merkle, naming
from ctxarc.preservation.blocks import BLOCK, stored_length
from ctxarc.preservation.entry import Gap, Runs
from ctxarc.preservation.layout import HEAD, MARK, OBJECT_ROW, ObjectRow, PackRow, TranscriptRow
from ctxarc.preservation.objects import digests_of, lengths_of
from ctxarc.preservation.record import Record, read_head

PAGE = Path(__file__).resolve().parent.parent / "man" / "ctxa.5"

TABLES: dict[str, tuple[Struct, tuple[str, ...]]] = {
    "The header of objects and log": (layout.FILE_HEADER, layout.FILE_HEADER_FIELDS),
    "A row of objects": (OBJECT_ROW, ObjectRow._fields),
    "The skippable frame of a pack": (frames.ENDS, frames.ENDS_FIELDS),
    "The header of HEAD": (HEAD, layout.HEAD_FIELDS),
    "A row of the table of packs": (layout.PACK_ROW, PackRow._fields),
    "A row of the table of transcripts": (layout.TRANSCRIPT_ROW, TranscriptRow._fields),
    "The front of an entry": (entry.ENTRY, entry.ENTRY_FIELDS),
    "A turn leaf": (merkle.TURN_LEAF, ("kind", "turn", "length", "sha256")),
    "A capture leaf": (
        merkle.CAPTURE_LEAF,
        ("kind", "keep", "turns", "source_bytes", "source_sha256", "held_bytes", "held_sha256", "gaps"),
    ),
    "A gap in a capture leaf": (merkle.GAP_LEAF, Gap._fields),
    "The header of a part": (part.HEADER, part.HEADER_FIELDS),
}
"""Every offset table of the page, by the subsection it stands in."""

LIMITS = {
    "bytes of a turn": layout.TURN_LIMIT,
    "bytes of objects in a pack of several": layout.FRAME_LIMIT,
    "bytes of a zstd window": 1 << layout.WINDOW_LOG_LIMIT,
    "bytes of a pack's file": layout.TURN_LIMIT + (layout.TURN_LIMIT >> 7) + 1024,
    "bytes of HEAD": layout.HEAD_LIMIT,
    "bytes of an entry of the log": entry.ENTRY_LIMIT,
    "bytes of a name": naming.NAME_LIMIT,
    "bytes of a path, a host or a tool": entry.TEXT_LIMIT,
    "bytes of a part of a name": naming.PART_LIMIT,
    "bytes of the description of an index": part.ABOUT_LIMIT,
    "bytes of the database of a word index": words.DATABASE_LIMIT,
    "bytes of the header of vectors": vectors_part.HEADER_LIMIT,
    "numbers of a vector": vectors_part.DIMENSIONS_LIMIT,
    "vectors of a file": vectors_part.ROWS_LIMIT,
    "objects": layout.OBJECT_LIMIT,
    "any other number": layout.COUNT_LIMIT,
}
ESCAPES = {r"\-": "-", r"\e": "\\", r"\(aq": "'", r"\(ha": "^", r"\(ti": "~", r"\(ga": "`", r"\&": ""}

needs_zstd = pytest.mark.skipif(not shutil.which("zstd"), reason="no zstd command is installed")


# --------------------------------------------------------------------------------------------------------- the page


class Field(NamedTuple):
    offset: int
    size: int
    name: str
    meaning: str


def plain(roff: str) -> str:
    """``roff`` with its escapes replaced; one that is not known here is a fault of the page."""
    return re.sub(r"\\(?:\(..|.)", lambda match: ESCAPES[match[0]], roff)


def section(title: str) -> str:
    """The source of the section or subsection called ``title``."""
    parts = re.split(r"^\.S[hs] (.*)\n", PAGE.read_text(encoding="ascii"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))[title]


def rows(text: str) -> list[list[str]]:
    """The rows of the columns in ``text``, without their heading."""
    found = [plain(row).split(" Ta ") for row in re.findall(r"^\.It (.* Ta .*)$", text, re.MULTILINE)]
    return [row for row in found if not row[0].startswith("Sy ")]


def literals(text: str) -> list[str]:
    """What stands in ``text`` as it is to be typed."""
    return [plain(body) for body in re.findall(r"^\.Bd -literal.*\n((?s:.*?))^\.Ed$", text, re.MULTILINE)]


def table(title: str) -> list[Field]:
    return [Field(int(offset), int(size), name, meaning) for offset, size, name, meaning in rows(section(title))]


def reader() -> str:
    """The source of the reader."""
    (found,) = (body for body in literals(section("EXAMPLES")) if body.startswith("import "))
    return found


def codes_of(struct: Struct) -> list[str]:
    return re.findall(r"[0-9]*[a-zA-Z]", struct.format)


@pytest.mark.parametrize("title", TABLES)
def test_an_offset_table_is_that_of_the_struct(title: str) -> None:
    struct, names = TABLES[title]
    codes = codes_of(struct)
    assert struct.format == "<" + "".join(codes)
    ends = [calcsize("<" + "".join(codes[:count])) for count in range(len(codes) + 1)]
    fields = table(title)
    assert [(field.offset, field.size) for field in fields] == [(at, end - at) for at, end in pairwise(ends)]
    assert fields[-1].offset + fields[-1].size == struct.size
    assert tuple(field.name for field in fields) == names
    assert ["(signed)" in field.meaning for field in fields] == [code in set("bhilq") for code in codes]


def test_every_struct_of_a_file_has_an_offset_table() -> None:
    modules = [
        import_module(module.name)
        for package in (preservation, auxiliary)
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    ]
    structs = {id(value) for module in modules for value in vars(module).values() if isinstance(value, Struct)}
    assert structs == {id(struct) for struct, _ in TABLES.values()}
    titles = re.findall(r"^\.Ss (.*)$", PAGE.read_text(encoding="ascii"), re.MULTILINE)
    assert [title for title in titles if ".It Sy Offset" in section(title)] == list(TABLES)


def test_the_limits_are_those_of_the_code() -> None:
    stated = {what: int(most.replace(",", "")) for most, what in rows(section("LIMITS"))}
    assert stated == LIMITS


def test_the_flags_are_those_of_the_code() -> None:
    flags = {name: int(value) for value, name, _ in rows(section("The flags of an entry"))}
    assert flags == {"NAMED": entry._NAMED, "PARTIAL": entry._PARTIAL, "ORIGIN": entry._ORIGIN}
    assert sum(flags.values()) == entry._KNOWN


def test_the_header_and_the_tables_of_vectors_are_those_of_the_code() -> None:
    header, tables = section("The header of vectors"), section("The rows and the tables of vectors")
    named = re.findall(r"^\.It Va (.*)$", header, re.MULTILINE)
    fields = [name for line in named for name in line.split(" , ")]
    assert fields == ["format", "version", *vectors_part.Header._fields, "checksum"]
    sizes = [plain(row).split(" Ta ")[0] for row in re.findall(r"^\.It (.* Ta .*)$", tables, re.MULTILINE)][1:]
    assert len(sizes) == len(vectors_part.Tables._fields)
    for dimensions, rows_, objects in ((3, 5, 2), (768, 5000, 7), (300_000, 4, 1)):
        known = {"dimensions": dimensions, "rows": rows_, "objects": objects}
        known["blocks"] = vectors_part.blocks(dimensions, rows_)
        values = [
            sum(prod(known.get(name) or int(name) for name in term.split(" * ")) for term in size.split(" + "))
            for size in sizes
        ]
        lengths = vectors_part.table_lengths(dimensions, rows_, objects)
        assert values == [count * array(kind).itemsize for kind, count in zip(vectors_part.TYPES, lengths, strict=True)]
    assert f"fit {vectors_part.BLOCK_BYTES:,} bytes" in tables


def test_the_mark_and_the_blocks_are_those_of_the_code() -> None:
    assert [body.encode() for body in literals(section("THE MARK: CTXA"))] == [MARK]
    assert f"{len(MARK)} bytes" in section("THE MARK: CTXA")
    text = section("CHECKED BLOCKS: THE FILES OBJECTS AND LOG")
    assert f"full block is {BLOCK:,} bytes of content" in text
    header = layout.FILE_HEADER.size
    lines = f"offset(c) = {header} + c + 8 * (c / {BLOCK})", f"length(n) = {header} + n + 8 * (n / {BLOCK})"
    assert literals(text) == ["".join(f"{line}\n" for line in lines)]
    for count in (0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 9 * BLOCK):
        assert stored_length(count) == header + count + 8 * (count // BLOCK)
    assert f"has {BLOCK // OBJECT_ROW.size} rows" in section("THE TABLE OF OBJECTS: OBJECTS")
    assert f"from byte {HEAD.size} on" in section("Peaks and checksum").replace("\n", " ")


def test_the_example_of_a_packs_name_is_one() -> None:
    ((example,),) = (body.splitlines() for body in literals(section("The content and the name of a pack")))
    first, last, checksum = example.removesuffix(".zst").split("-")
    assert PackRow(int(last) - int(first) + 1, 1, 1, int(checksum, 16)).name(int(first)) == example


# -------------------------------------------------------------------------------------------------------- rendering


def output_of(program: str, *arguments: str) -> str:
    """What ``program`` writes for the page; a warning from it fails the test, and the test is skipped without it."""
    found = shutil.which(program)
    if not found:
        pytest.skip(f"no {program} is installed")
    done = subprocess.run([found, *arguments, str(PAGE)], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


@pytest.mark.parametrize("device", ["utf8", "ascii"])
def test_groff_renders_the_page_without_a_warning_within_80_columns(device: str) -> None:
    text = output_of("groff", "-mdoc", "-ww", f"-T{device}", "-P-cbou")
    assert max(map(len, text.splitlines())) <= 80


def test_mandoc_has_no_warning() -> None:
    assert output_of("mandoc", "-T", "lint", "-W", "warning") == ""


def test_the_reader_can_be_copied_from_the_rendered_page() -> None:
    lines = output_of("groff", "-mdoc", "-Tutf8", "-P-cbou").splitlines(keepends=True)
    begin = next(number for number, line in enumerate(lines) if line.strip().startswith("import "))
    assert dedent("".join(lines[begin : begin + reader().count("\n")])) == reader()


# ------------------------------------------------------------------------------------------------------ the archives


FAST = CaptureOptions(level=1)


class Made(NamedTuple):
    """An archive, and the bytes that its newest states hold, by name."""

    path: Path
    held: dict[str, bytes]


def noise(seed: int, count: int, size: int = 150) -> list[bytes]:
    """Turns that zstd cannot make much smaller."""
    source = random.Random(seed)  # noqa: S311 - the same turns in every run
    return [b'{"text":"%s"}\n' % b64encode(source.randbytes(size)) for _ in range(count)]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Several packs, transcripts that share turns, growth, a torn line, a new history, gaps."""
    top = tmp_path_factory.mktemp("format")
    archive = open_archive(top / "many.ctxa", create=True)
    held: dict[str, bytes] = {}

    def capture(name: str, data: bytes, options: CaptureOptions = FAST, gaps: int = 0) -> None:
        source = top / f"{name.replace('/', '-')}.jsonl"
        source.write_bytes(data)
        (report,) = archive.capture(source, name=name, options=options).transcripts
        assert (len(report.omitted), report.unchanged) == (gaps, False)
        for gap in reversed(report.omitted):
            data = data[: gap.start_byte] + data[gap.end_byte :]
        held[name] = data

    big, own, late = noise(1, 1200, 12_000), noise(2, 400), noise(3, 200)
    strange = [b"\n", b"\r\n", b"\0\xff\xfe\n", "測試\u2028\n".encode(), b"{} {}\n", b"\n"]
    some = CaptureOptions(level=1, max_bytes=3000, allow_truncation=True)
    capture("big", b"".join(big))
    begun = b"".join([*own[:90], *big[300:700:7], *strange])
    capture("folder/測試", begun + own[90][:40])
    begun += b"".join(own[90:130])
    capture("folder/測試", begun)
    capture("folder/測試", begun + b"torn at the end")
    again = b"".join([*own[:50], *big[5:20], *own[200:260], own[3]])
    capture("folder/測試", again, CaptureOptions(level=1, as_new_history=True))
    capture("folder/測試", again + own[300])
    capture("backwards", b"".join(reversed(big)))
    capture("partial", b"".join(late), some, gaps=1)
    capture("partial", b"".join([*late, *own[:100], b"torn"]), some, gaps=2)
    capture("partial", b"".join([*late, *own[:100], b"torn no more\n"]), some, gaps=2)
    capture("filled", b"".join(late[5:]), some, gaps=1)
    capture("filled", b"".join([*late[5:], own[0]]))
    capture("empty", b"")
    head = read_head(archive.path)
    assert len(head.packs) > 2
    assert head.log_bytes > BLOCK
    return Made(archive.path, held)


def test_a_digest_is_made_as_the_page_says(made: Made) -> None:
    leaves: list[bytes] = []
    states: dict[bytes, Runs] = {}
    with Record(made.path) as record:
        for capture in record.captures():
            step, state = capture.entry, states.setdefault(capture.name, Runs())
            state.keep(step.keep)
            state.extend(step.runs)
            turn = step.keep
            for run in step.runs:
                held = record.objects.rows(run.first, run.turns) if run.first >= 0 else b""
                for number, (digest, length) in enumerate(zip(digests_of(held), lengths_of(held), strict=True), turn):
                    leaf = row_of("A turn leaf", kind=b"T", turn=number, length=length, sha256=digest)
                    leaves.append(leaf + capture.name)
                turn += run.turns
            gaps = record.gaps(state.runs)
            leaf = row_of(
                "A capture leaf",
                kind=b"C",
                keep=step.keep,
                turns=state.count,
                source_bytes=step.source_bytes,
                source_sha256=step.source_sha256,
                held_bytes=step.source_bytes - sum(gap.end_byte - gap.start_byte for gap in gaps),
                held_sha256=step.held_sha256,
                gaps=len(gaps),
            )
            leaf += b"".join(row_of("A gap in a capture leaf", **gap._asdict()) for gap in gaps)
            leaves.append(leaf + capture.name)
        assert record.head.leaves == len(leaves)
        assert record.head.root == root_of([sha256(b"\0" + leaf).digest() for leaf in leaves])


def row_of(title: str, **values: bytes | int) -> bytes:
    """A row made of ``values`` as the offset table under ``title`` says."""
    fields = table(title)
    assert {field.name for field in fields} == set(values)
    given = (values[field.name] for field in fields)
    parts = [
        value.to_bytes(field.size, "little") if isinstance(value, int) else value
        for value, field in zip(given, fields, strict=True)
    ]
    return b"".join(parts)


def root_of(hashes: list[bytes]) -> bytes:
    """The root over leaf hashes, by the recursive definition."""
    if len(hashes) == 1:
        return hashes[0]
    left = 1 << (len(hashes) - 1).bit_length() - 1
    return sha256(b"\1" + root_of(hashes[:left]) + root_of(hashes[left:])).digest()


# ------------------------------------------------------------------------------------------------------- the reader


def run_reader(archive: Path, *names: str) -> subprocess.CompletedProcess[bytes]:
    """Run the reader of the page in a Python that has its standard library and nothing else."""
    script = archive.parent / "read.py"
    script.write_text(reader(), encoding="ascii")
    command = [sys.executable, "-I", "-S", str(script), str(archive), *names]
    return subprocess.run(command, capture_output=True, check=False, env={"PATH": os.environ["PATH"]})


@needs_zstd
def test_the_reader_prints_the_names_of_the_transcripts(made: Made) -> None:
    done = run_reader(made.path)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode().splitlines() == sorted(made.held, key=str.encode)


@needs_zstd
@pytest.mark.parametrize("name", ["big", "folder/測試", "backwards", "partial", "filled", "empty"])
def test_the_reader_writes_the_newest_bytes_of_a_transcript(made: Made, name: str) -> None:
    done = run_reader(made.path, name)
    assert done.returncode == 0, done.stderr
    assert done.stdout == made.held[name]
    with Record(made.path) as record:
        state = record.states()[name.encode()]
        left_out = sum(run.turns for run in state.runs if run.first < 0)
    assert done.stderr.decode() == (f"{left_out} turns were left out\n" if name == "partial" else "")


@needs_zstd
def test_the_reader_does_not_see_what_lies_beyond_head_or_beside_the_record(made: Made, tmp_path: Path) -> None:
    archive = shutil.copytree(made.path, tmp_path / "left.ctxa")
    for name in ("objects", "log"):
        with (archive / name).open("ab") as file:
            file.write(b"begun by a writer that died" * 300)
    pack = min((archive / "pack").iterdir())
    shutil.copy(pack, pack.with_name("000000000000-000000000003-0123456789abcdef.zst"))
    (archive / "words").mkdir()
    (archive / "words" / "HEAD").write_bytes(b"of another plane")
    for name in made.held:
        assert run_reader(archive, name).stdout == made.held[name]


@needs_zstd
def test_the_reader_reads_a_repacked_archive(made: Made, tmp_path: Path) -> None:
    archive = shutil.copytree(made.path, tmp_path / "packed.ctxa")
    assert open_archive(archive).repack(level=3).packs_after < len(list((made.path / "pack").iterdir()))
    for name in made.held:
        assert run_reader(archive, name).stdout == made.held[name]


@needs_zstd
def test_the_reader_gives_out_no_turn_that_does_not_have_its_digest(made: Made, tmp_path: Path) -> None:
    archive = shutil.copytree(made.path, tmp_path / "damaged.ctxa")
    data = bytearray((archive / "objects").read_bytes())
    data[layout.FILE_HEADER.size] ^= 1
    (archive / "objects").write_bytes(data)
    done = run_reader(archive, "big")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr == b"object 0 does not have its digest\n"


# ------------------------------------------------------------------------------------------------------- stock tools


@needs_zstd
@pytest.mark.skipif(not shutil.which("sha256sum"), reason="no sha256sum is installed")
def test_stock_tools_read_packs_and_name_turns(tmp_path: Path) -> None:
    turns = noise(4, 60)
    (tmp_path / "t.jsonl").write_bytes(b"".join(turns))
    archive = open_archive(tmp_path / "NAME.ctxa", create=True)
    archive.capture(tmp_path / "t.jsonl")
    unpack, name, *_ = (body for body in literals(section("EXAMPLES")) if not body.startswith("import "))
    assert run_shell(unpack, tmp_path) == b"".join(turns)
    digest = run_shell(name, tmp_path).split()[0].decode()
    assert digest == sha256(turns[41]).hexdigest()
    assert archive.read(f"ctxa:{digest}") == archive.read("41") == turns[41]


def run_shell(command: str, folder: Path) -> bytes:
    return subprocess.run(["/bin/sh", "-c", command], cwd=folder, capture_output=True, check=True).stdout


def test_the_table_of_objects_can_be_made_again_from_the_packs_alone(tmp_path: Path) -> None:
    source = tmp_path / "t.jsonl"
    archive = open_archive(tmp_path / "t.ctxa", create=True)
    lines = b"".join(b'{"line":%d}\n' % number for number in range(40))
    for length in (25, 26, len(lines) - 3, len(lines)):
        source.write_bytes(lines[:length])
        archive.capture(source)
    made = b""
    for path in sorted((archive.path / "pack").iterdir()):
        stored = path.read_bytes()
        unfinished, at = frames.unpack_ends(stored, path.name)
        raw = zstandard.ZstdDecompressor().decompress(stored[at:])
        ends = sorted({*unfinished, *(match.end() for match in re.finditer(rb"\n", raw))})
        turns = [raw[start:end] for start, end in pairwise([0, *ends])]
        made += b"".join(ObjectRow(sha256(turn).digest(), len(turn)).pack() for turn in turns)
    with Record(archive.path) as record:
        assert made == record.objects.rows(0, record.head.objects)
    assert archive.verify().ok
