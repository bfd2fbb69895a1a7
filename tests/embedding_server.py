"""A real HTTP server of embeddings, a process of its own: Ollama's API and OpenAI's, with faults that can be switched.

Its model is wordllama with its real weights where the extra ``local`` is installed. Else a stand-in that hashes words
takes its place, called so in its name: equal words give near vectors, and nothing else can be said for it.

``python tests/embedding_server.py`` prints its port. ``POST /faults`` replaces the switches, ``GET /seen`` tells what
was asked.
"""

from __future__ import annotations

import json
import math
import random
import re
import sys
import time
from base64 import b64encode
from collections.abc import Sequence
from hashlib import blake2b, sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from struct import pack
from threading import Lock
from typing import Any

from ctxarc.errors import MissingPackage
from ctxarc.local.models import WORDLLAMA, load_model

STAND_IN = "stand-in-of-hashed-words"
_WIDTH = 64


def hashed(texts: Sequence[str]) -> list[list[float]]:
    """A vector a text: the sum of one for each of its words."""
    found = []
    for text in texts:
        total = [0.0] * _WIDTH
        for word in re.findall(r"\w+|\S", text.lower()) or [text]:
            seed = int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "little")
            noise = random.Random(seed)  # noqa: S311 - nothing secret
            total = [number + noise.gauss(0, 1) for number in total]
        found.append(total)
    return found


class Model:
    """The model that is served, and its faults."""

    def __init__(self) -> None:
        try:
            loaded = load_model(WORDLLAMA)
            self.name, self.digest = loaded.name, loaded.revision.removeprefix("sha256:")
            self._embed: Any = lambda texts: [row.tolist() for row in loaded.embed(texts)]
        except MissingPackage:
            self.name, self.digest = STAND_IN, sha256(STAND_IN.encode()).hexdigest()
            self._embed = hashed
        self.faults: dict[str, Any] = {}
        self.seen: list[dict[str, Any]] = []
        self.lock = Lock()

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """The vectors, as the faults have them."""
        limit = self.faults.get("truncate")
        vectors: list[list[float]] = self._embed([text[:limit] for text in texts])
        if self.faults.get("weights"):  # another model: its numbers in another order
            vectors = [vector[1:] + vector[:1] for vector in vectors]
        if self.faults.get("noise"):  # what batches of another size do to a sum
            vectors = [[number * (1 + 1e-3 * (at % 3)) for at, number in enumerate(vector)] for vector in vectors]
        if self.faults.get("wider"):
            vectors = [[*vector, 1.0] for vector in vectors]
        for at, text in enumerate(texts):
            if self.faults.get("nan") and self.faults["nan"] in text:
                vectors[at] = [math.nan] * len(vectors[at])
        return vectors[1:] if self.faults.get("count") else vectors

    def counted(self, fault: str) -> bool:
        """Whether a fault that is to happen so many times happens now."""
        with self.lock:
            left = self.faults.get(fault, 0)
            self.faults[fault] = max(left - 1, 0)
        return bool(left)


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    model: Model

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _send(self, status: int, fields: object, **headers: str) -> None:
        data = fields if isinstance(fields, bytes) else json.dumps(fields).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        """Models, and what was seen."""
        model = self.model
        if self.path == "/seen":
            self._send(200, model.seen)
        elif self.path == "/api/tags":
            digest = model.faults.get("digest", model.digest)
            self._send(200, {"models": [{"name": f"{model.name}:latest", "model": model.name, "digest": digest}]})
        else:
            self._send(404, {"error": "not found"})

    def do_POST(self) -> None:
        """Vectors, and faults."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/faults":
            self.model.faults = body
            self._send(200, {})
            return
        with self.model.lock:
            self.model.seen.append({"path": self.path, "key": self.headers["Authorization"], **body})
        if not self._fails(body):
            self._answer(body)

    def _fails(self, body: dict[str, Any]) -> bool:
        model = self.model
        time.sleep(model.faults.get("slow", 0))
        if model.counted("drop"):
            self.close_connection = True
            self.connection.close()
        elif model.counted("busy"):
            self._send(429, {"error": {"message": "slow down"}}, Retry_After=str(model.faults.get("wait", "7")))
        elif model.counted("broken"):
            self._send(500, {"error": "something broke"})
        elif "redirect" in model.faults:
            self._send(307, {}, Location=model.faults["redirect"])
        elif "garbage" in model.faults:
            self._send(200, b"<html>hello")
        elif "key" in model.faults and self.headers["Authorization"] != f"Bearer {model.faults['key']}":
            self._send(401, {"error": {"message": f"wrong key: {self.headers['Authorization']}"}})
        elif len(body["input"]) > model.faults.get("max_batch", 10_000):
            self._send(422, {"error": "batch size 32 > maximum allowed batch size 4", "type": "Validation"})
        elif any(len(text) > model.faults.get("limit", 10**9) for text in body["input"]):
            self._too_long()
        elif "float_only" in model.faults and body.get("encoding_format") == "base64":
            self._send(400, {"error": {"message": "encoding_format base64 is not supported"}})
        else:
            return False
        return True

    def _too_long(self) -> None:
        if self.path == "/api/embed":
            self._send(400, {"error": "the input length exceeds the context length"})
        else:
            words = "This model's maximum context length is 512 tokens, however you requested 600 tokens."
            self._send(400, {"error": {"message": words, "type": "invalid_request_error"}})

    def _answer(self, body: dict[str, Any]) -> None:
        vectors = self.model.embed(body["input"])
        if self.path == "/api/embed":
            if body["truncate"] is not False:
                self._send(500, {"error": "a test forgot to forbid truncation"})
            else:
                self._send(200, {"model": body["model"], "embeddings": vectors})
            return
        as_base64 = body.get("encoding_format") == "base64"
        rows = [
            {"object": "embedding", "index": at, "embedding": _base64(vector) if as_base64 else vector}
            for at, vector in enumerate(vectors)
        ]
        if self.model.faults.get("reversed"):
            rows.reverse()
        self._send(200, {"object": "list", "data": rows, "model": body["model"]})


def _base64(vector: list[float]) -> str:
    return b64encode(pack(f"<{len(vector)}f", *vector)).decode()


def main() -> None:
    """Serve until the process ends."""
    Handler.model = Model()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    sys.stdout.write(f"{server.server_address[1]} {Handler.model.name} {Handler.model.digest}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()
