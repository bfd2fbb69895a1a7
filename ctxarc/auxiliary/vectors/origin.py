"""``vectors/SCHEME/FINGERPRINT/model.json``: how vectors were made, so that a question can be put to the same model.

One line of JSON, whose last member is the xxh3 of all that stands before it. It names the kind of API, the server and
the model; never a key, and never a program to be run, since an archive may come from a stranger. Where a server does
not tell its weights, it has the vectors of the canaries: fixed texts that are embedded again to see whether the model
is still the one that it was. ``man/ctxa.5`` describes it.
"""

from __future__ import annotations

import json
import math
import re
import sys
from array import array
from base64 import b64decode, b64encode
from operator import mul
from typing import TYPE_CHECKING, Any, NamedTuple

from xxhash import xxh3_64_hexdigest

from ctxarc.auxiliary.segments.index import NAME as SCHEME_NAME
from ctxarc.auxiliary.vectors.corpus import FOLDER
from ctxarc.errors import (
    BadMagic,
    ChecksumMismatch,
    Damage,
    Incomparable,
    IndexMismatch,
    LimitExceeded,
    Truncated,
    UnsupportedVersion,
)
from ctxarc.preservation.files import flush_directory, read_file, replace_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from ctxarc.auxiliary.vectors.identity import Identity

NAME = "model.json"
VERSION = 1
LIMIT = 8 << 20
"""Bytes of the file."""
OLLAMA, OPENAI, PROGRAM = "ollama", "openai", "program"
APIS = (OLLAMA, OPENAI, PROGRAM)
CANARIES = (
    "The quick brown fox jumps over the lazy dog.",
    "Why did the build fail on Tuesday?",
    "def add(a, b):\n    return a + b",
    "Traceback (most recent call last): KeyError: 'name'",
    "The capital of France is Paris.",
    "SELECT name, count(*) FROM orders GROUP BY name ORDER BY 2 DESC;",
    "/usr/local/lib/python3.11/site-packages/example/__init__.py",
    "今日はとても良い天気ですね。",
    "请把这份报告翻译成英文。",
    "Die Katze schläft auf dem warmen Ofen.",
    "¿Dónde está la biblioteca?",
    "Мы встретимся завтра рано утром на вокзале.",
    '{"role": "user", "content": "hello"}',
    "3.14159 26535 89793 23846",
    "I'm so happy 🎉",
    "ok",
)
"""The texts whose vectors are kept; they never change, since a file has vectors and not texts."""
ALIKE = 0.9995
"""The least cosine between a canary's vector and the one that is kept. Servers that compute in bfloat16 differ by up to
about 0.0001 from one batch to the next; weights of another precision, or of another model, by more than 0.0005."""
_MAGIC = b'{"ctxarc-model":'
_VERSION = re.compile(rb"([0-9]{1,9}),")
_END = re.compile(rb',"xxh3":"([0-9a-f]{16})"\}\n')
_TAIL = 28
"""Bytes of the last member with the line's end."""
_FINGERPRINT = re.compile(r"[0-9a-f]{32}")
_TEXTS = ("api", "server", "model", "document_prefix", "query_prefix")


class Origin(NamedTuple):
    """How vectors were made.

    Attributes:
        api: how the model is spoken to, one of :data:`APIS`.
        server: its address, without a user or a password; empty for a program, which is not named.
        model: what the server calls the model.
        document_prefix, query_prefix: what stood before texts, and stands before questions.
        canaries: the vectors of :data:`CANARIES`; none where the weights are told.

    """

    api: str
    server: str
    model: str
    document_prefix: str = ""
    query_prefix: str = ""
    canaries: tuple[array[float], ...] = ()


def label(scheme: str, fingerprint: str) -> str:
    """Its path in an archive."""
    return f"{FOLDER}/{scheme}/{fingerprint}/{NAME}"


def is_origin(path: str) -> bool:
    """Whether ``path``, in an archive, is the place of such a file, finished or not."""
    parts = path.split("/")
    return (
        len(parts) == 4  # noqa: PLR2004 - folder, scheme, fingerprint, file
        and parts[0] == FOLDER
        and bool(SCHEME_NAME.fullmatch(parts[1]) and _FINGERPRINT.fullmatch(parts[2]))
        and parts[3].removesuffix(".tmp") == NAME
    )


def read(archive: Path, scheme: str, fingerprint: str) -> Origin | None:
    """What is known of the origin of vectors; ``None`` where nothing is, as of those that ``attach`` was given.

    Raises:
        Damage: the file is damaged, or of another release.

    """
    name = label(scheme, fingerprint)
    path = archive / name
    _check_folders(path, archive)
    if not path.is_symlink() and not path.exists():
        return None
    try:
        return _parse(read_file(path, name, LIMIT), name)
    except Damage as damage:
        damage.hint = "remove this one file: the vectors stay, and `address --embed` is then told the model by --server"
        raise


def _check_folders(path: Path, archive: Path) -> None:
    """Refuse links on the way to a file."""
    for folder in path.parents:
        if folder == archive:
            return
        if folder.is_symlink():
            name = folder.relative_to(archive).as_posix()
            raise BadMagic(f"{name}: a link where a directory is due; links are not followed", path=name)


def write(archive: Path, identity: Identity, origin: Origin) -> None:
    """Write the file, whole, flushed and renamed; the caller holds the lock of the auxiliary plane."""
    path = archive / label(identity.scheme, identity.fingerprint)
    _check_folders(path, archive)
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, pack(origin))
    for folder in (path.parent, path.parent.parent, path.parent.parent.parent, archive):
        flush_directory(folder)


def pack(origin: Origin) -> bytes:
    """The bytes of the file."""
    fields = origin._asdict() | {"canaries": [b64encode(_little(each)).decode() for each in origin.canaries]}
    front = json.dumps({"ctxarc-model": VERSION, **fields}, separators=(",", ":"))[:-1].encode()
    return front + f',"xxh3":"{xxh3_64_hexdigest(front)}"}}\n'.encode()


def _little(vector: array[float]) -> bytes:
    if sys.byteorder == "big":  # pragma: no cover - float32 lies little-endian
        vector = vector[:]
        vector.byteswap()
    return vector.tobytes()


def _parse(data: bytes, name: str) -> Origin:
    if len(data) > LIMIT:
        raise LimitExceeded(f"{name}: longer than {LIMIT:,} bytes", path=name, limit=LIMIT)
    if len(data) < len(_MAGIC) + _TAIL:
        raise Truncated(f"{name}: {len(data)} bytes, and more are due", path=name, found=len(data))
    if not data.startswith(_MAGIC):
        raise BadMagic(f"{name}: not the origin of vectors", path=name)
    version = _VERSION.match(data, len(_MAGIC))
    end = _END.fullmatch(data, len(data) - _TAIL)
    if version and int(version[1]) != VERSION:
        found = int(version[1])
        raise UnsupportedVersion(f"{name}: version {found}, and this release reads {VERSION}", path=name, version=found)
    front = data[: len(data) - _TAIL]
    if not version or not end or end[1].decode() != xxh3_64_hexdigest(front):
        raise ChecksumMismatch(f"{name}: its bytes are not those that were written", path=name)
    try:
        fields = json.loads(data)
        return _origin(fields)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise IndexMismatch(f"{name}: no origin of vectors ({error})", path=name) from error


def _origin(fields: dict[str, Any]) -> Origin:
    texts = {key: fields[key] for key in _TEXTS}
    vectors = tuple(_vector(each) for each in fields["canaries"])
    if not all(isinstance(text, str) for text in texts.values()) or texts["api"] not in APIS:
        message = "a field is not of its kind"
        raise ValueError(message)
    if len(vectors) not in {0, len(CANARIES)} or len({len(each) for each in vectors}) > 1:
        message = f"{len(vectors)} canaries, or of mixed widths"
        raise ValueError(message)
    return Origin(**texts, canaries=vectors)


def _vector(text: str) -> array[float]:
    vector = array("f", b64decode(text, validate=True))
    if sys.byteorder == "big":  # pragma: no cover - float32 lies little-endian
        vector.byteswap()
    length = math.hypot(*vector)
    if not length or not math.isfinite(length):
        message = "a canary is no vector"
        raise ValueError(message)
    return vector


def check_canaries(origin: Origin, found: Sequence[array[float]], model: str) -> None:
    """Refuse a model whose canaries are not those that are kept.

    Raises:
        Incomparable: the first one that differs, and by how much.

    """
    for number, (kept, now) in enumerate(zip(origin.canaries, found, strict=False)):
        alike = cosine(kept, now) if len(kept) == len(now) else 0.0
        if not alike >= ALIKE:
            message = f"canary differs — {model} gives another vector for text {number} of {len(CANARIES)} than it did"
            hint = (
                "the server has other weights under the same name; give them a --revision of their own, and embed anew"
            )
            facts = {"field": "canary", "canary": number, "cosine": alike, "least": ALIKE}
            raise Incomparable(f"{message} (cosine {alike:.4f})", hint=hint, **facts)


def cosine(one: array[float], other: array[float]) -> float:
    """The cosine of the angle between two vectors that are not zero."""
    product: float = sum(map(mul, one, other))
    return product / (math.hypot(*one) * math.hypot(*other))


def check(archive: Path, scheme: str, fingerprint: str) -> Iterator[tuple[str, str]]:
    """What is wrong with the file of some vectors, where there is one: (path, message).

    Raises:
        Damage: it does not open.

    """
    found = read(archive, scheme, fingerprint)
    name = label(scheme, fingerprint)
    if found and found.api == PROGRAM and found.server:
        yield name, f"{name}: names a server for vectors that a program made"
