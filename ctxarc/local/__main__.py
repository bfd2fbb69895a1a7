"""``python -m ctxarc.local``: the lines of ``ctxarc export`` in, the lines that ``ctxarc attach`` takes out.

With ``--query QUESTION`` it prints the question's vector with its identity, as ``ctxarc address --vector -`` takes it.
"""

from __future__ import annotations

import argparse
import json
import sys
from base64 import b64encode
from itertools import islice
from typing import TYPE_CHECKING, Any

from ctxarc.errors import Refusal
from ctxarc.local.models import MINILM, WORDLLAMA, Loaded, load_model

if TYPE_CHECKING:
    from collections.abc import Iterator

_WINDOW = 512
"""Texts that are embedded before their vectors are written."""


def main() -> int:
    """Run the program; its status."""
    parser = argparse.ArgumentParser(prog="python -m ctxarc.local", description="Embed the lines of `ctxarc export`.")
    parser.add_argument("--model", choices=(WORDLLAMA, MINILM), default=WORDLLAMA, help="wordllama unless said")
    parser.add_argument("--query", metavar="QUESTION", help="print the vector of a question")
    arguments = parser.parse_args()
    sys.addaudithook(_no_network)
    try:
        model = load_model(arguments.model)
        if arguments.query is not None:
            _write(
                {"model": model.name, "revision": model.revision, "vector": _packed(model.embed([arguments.query])[0])}
            )
        else:
            _answer(model)
        sys.stdout.flush()
    except Refusal as refusal:
        sys.stderr.write(f"{refusal.code}: {refusal.message}; {refusal.hint}\n")
        return refusal.status
    except ValueError as error:
        sys.stderr.write(f"its input is no export: {error}\n")
        return 1
    except (KeyboardInterrupt, BrokenPipeError):
        return 130
    return 0


def _no_network(event: str, _arguments: tuple[object, ...]) -> None:
    """Let no package look for newer weights elsewhere."""
    if event in {"socket.connect", "socket.getaddrinfo", "socket.sendto"}:
        message = "a model's package tried to reach the network"
        raise PermissionError(message)


def _ask(model: Loaded, question: str) -> None:
    (vector,) = model.embed([question])
    if vector is None:
        message = "the question is too long for the model"
        raise ValueError(message)
    _write({"model": model.name, "revision": model.revision, "vector": _packed(vector)})


def _answer(model: Loaded) -> None:
    lines = (line for line in sys.stdin.buffer if line.strip())
    header = json.loads(next(lines, b"{}"))
    rows: Iterator[dict[str, Any]] = (json.loads(line) for line in lines)
    said = {"kind": "ctxarc-vectors", "model": model.name, "revision": model.revision}
    _write(said | {name: header[name] for name in ("projection", "scheme") if name in header})
    sys.stdout.flush()
    while window := list(islice(rows, _WINDOW)):
        for row, vector in zip(window, model.embed([row["text"] for row in window]), strict=True):
            if vector is None:
                _write({"id": row["id"], "vector": None, "too_long": True})
            else:
                _write({"id": row["id"], "vector": _packed(vector)})
        sys.stdout.flush()


def _packed(vector: Any) -> str:  # noqa: ANN401 - a row of NumPy's
    return b64encode(vector.astype("<f4").tobytes()).decode()


def _write(fields: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(fields) + "\n")


if __name__ == "__main__":
    sys.exit(main())
