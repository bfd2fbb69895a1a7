"""A program of the user's: the lines of ``export`` on its stdin, the lines that ``attach`` takes on its stdout.

It is started without a shell, and never from what an archive says. Its first line has to state its model and revision.
Texts go in while vectors come out, so that it may answer line by line or all at the end. A text that it leaves out is
counted; ``{"id": ..., "vector": null, "too_long": true}`` says why.
"""

from __future__ import annotations

import json
import subprocess
from collections import deque
from contextlib import suppress
from threading import Thread
from typing import IO, TYPE_CHECKING, Any

from ctxarc.auxiliary.vectors.identity import UNSTATED
from ctxarc.errors import IdentityUnstated, MalformedVectors, ProgramFailed, Refusal
from ctxarc.operations.models.model import NO_VECTOR, TOO_LONG, Answer, Answers, Text, Told
from ctxarc.operations.vector_inputs.fields import load, name_of, stated
from ctxarc.operations.vector_inputs.numbers import vector_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

_SAMPLE = 512
_LINE_LIMIT = 4 << 20
"""Bytes of a line; a vector of 65,536 numbers has 1.4 MB as decimals."""
_STDERR = 4096
_PATIENCE = 5.0
"""Seconds that a program has to end after its last line is read, or it is killed."""
_PROBE = (Text("probe", "The quick brown fox jumps over the lazy dog."),)


class Program:
    """A program that makes vectors.

    Args:
        arguments: the program and its arguments.
        header: the first line that it is given.
        clock: seconds.

    """

    sample = _SAMPLE

    def __init__(self, arguments: Sequence[str], header: Mapping[str, object], clock: Callable[[], float]) -> None:
        self.arguments, self.header = list(arguments), dict(header)
        self.address = self.arguments[0]
        self.calls = 0
        self.start_seconds = 0.0
        self._clock = clock
        self.said: dict[str, object] = {}

    def told(self) -> Told:
        """What its first line says, asked by one text where it has not run yet.

        Raises:
            IdentityUnstated: it names no model, or no revision.

        """
        if not self.said:
            deque(self.answers(_PROBE), maxlen=0)
        others = {name: value for name, value in self.said.items() if name not in {"model", "revision"}}
        revision = str(self.said["revision"])
        return Told(str(self.said["model"]), None if revision == UNSTATED else revision, others)

    def probe(self, texts: Sequence[Text], *, query: bool = False) -> tuple[Told, list[Answer]]:
        """What it says and makes of the texts, in one run."""
        answers = list(self.answers(texts, query=query))
        return self.told(), answers

    def hurry(self) -> None:
        """It has ended by then."""

    def calls_for(self, texts: int) -> int:
        """It runs once."""
        return 1 if texts else 0

    def answers(self, texts: Iterable[Text], *, query: bool = False) -> Answers:
        """What it writes while it is given the texts; those that it leaves out come last."""
        self.calls += 1
        waiting: dict[str, None] = {}
        begin = self._clock()
        run = _Run(self.arguments, self._lines(texts, waiting, query=query))
        try:
            for number, line in enumerate(run.lines(), 1):
                if number == 1:
                    self.start_seconds = self._clock() - begin
                answer = self._read(line, number, waiting)
                if answer:
                    yield answer
            run.finish()
            if not self.said:
                raise self._failed(0, "it wrote nothing")
            for name in waiting:
                yield Answer(name, None, NO_VECTOR)
        finally:
            run.kill()

    def _lines(self, texts: Iterable[Text], waiting: dict[str, None], *, query: bool) -> Iterator[bytes]:
        header = self.header | ({"query": True} if query else {})
        yield json.dumps(header).encode() + b"\n"
        for text in texts:
            waiting[text.id] = None
            yield json.dumps({"id": text.id, **text.about, "text": text.text}).encode() + b"\n"

    def _failed(self, line: int, why: str) -> ProgramFailed:
        where = f", line {line} of its output" if line else ""
        return ProgramFailed(f"{self.address}{where}: {why}", program=self.address, line=line)

    def _read(self, line: bytes, number: int, waiting: dict[str, None]) -> Answer | None:
        where = f"{self.address}, line {number}"
        try:
            fields = load(line, where)
            if not isinstance(fields, dict):
                raise self._failed(number, "no JSON object")
            if "id" not in fields and "vector" not in fields:
                self._identity(fields, where, first=number == 1)
                return None
            name = name_of(fields, "id", where).decode("utf-8", "surrogatepass")
        except MalformedVectors as error:
            raise self._failed(number, error.message.removeprefix(where).removeprefix(": ")) from error
        if not self.said:
            message = f"{where}: a row, and nothing before it says which model makes its vectors"
            hint = 'its first line is {"kind": "ctxarc-vectors", "model": ..., "revision": ...}'
            raise IdentityUnstated(message, hint=hint, field="model")
        if name not in waiting:
            raise self._failed(number, f"{name[:120]!r} is no text that waits for a vector")
        del waiting[name]
        return self._vector(name, fields, where)

    def _vector(self, name: str, fields: dict[str, Any], where: str) -> Answer:
        if fields.get("vector") is None:
            return Answer(name, None, TOO_LONG if fields.get("too_long") is True else NO_VECTOR)
        try:
            return Answer(name, vector_of(fields["vector"], where))
        except MalformedVectors:
            return Answer(name, None, NO_VECTOR)

    def _identity(self, fields: dict[str, Any], where: str, *, first: bool) -> None:
        if not first:
            raise self._failed(0, f"{where.partition(', ')[2]} is neither a row nor the first line")
        said = stated(fields, where)
        for name in ("model", "revision"):
            if name not in said:
                message = f"{self.address} does not say its {name}"
                hint = 'its first line is {"kind": "ctxarc-vectors", "model": ..., "revision": ...}'
                raise IdentityUnstated(message, hint=hint, field=name)
        if self.said and self.said != said:
            raise self._failed(1, f"it says {said}, and said {self.said} before")
        self.said = said


class _Run:
    """One run of a program: a thread feeds it, another keeps the end of what it says on stderr."""

    def __init__(self, arguments: list[str], lines: Iterator[bytes]) -> None:
        self.address = arguments[0]
        pipe = subprocess.PIPE
        try:
            self._process = subprocess.Popen(arguments, stdin=pipe, stdout=pipe, stderr=pipe)  # noqa: S603 - the user's
        except (OSError, ValueError) as error:
            message = f"{self.address}: cannot be started ({error})"
            raise ProgramFailed(
                message, hint="--exec takes a program and its arguments", program=self.address
            ) from error
        self._fault: BaseException | None = None
        self._said = b""
        self._threads = [
            Thread(target=self._feed, args=(lines,), daemon=True),
            Thread(target=self._listen, daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def _feed(self, lines: Iterator[bytes]) -> None:
        stream = self._stream(self._process.stdin)
        try:
            for line in lines:
                stream.write(line)
        except BrokenPipeError:  # it ended, and its status says more
            pass
        except Exception as error:  # noqa: BLE001 - it is raised where the answers are read
            self._fault = error
        finally:
            with suppress(OSError, ValueError):
                stream.close()

    def _listen(self) -> None:
        stream = self._stream(self._process.stderr)
        with suppress(OSError, ValueError):
            while piece := stream.read1(_STDERR):  # type: ignore[attr-defined]
                self._said = (self._said + piece)[-_STDERR:]

    @staticmethod
    def _stream(stream: IO[bytes] | None) -> IO[bytes]:
        if stream is None:  # each is a pipe
            raise ValueError
        return stream

    def lines(self) -> Iterator[bytes]:
        """The lines that it writes, blank ones left out."""
        stream = self._stream(self._process.stdout)
        while line := stream.readline(_LINE_LIMIT + 1):
            if len(line) > _LINE_LIMIT:
                raise ProgramFailed(f"{self.address}: a line of more than {_LINE_LIMIT:,} bytes", program=self.address)
            if line.strip():
                yield line

    def finish(self) -> None:
        """Wait for its end.

        Raises:
            ProgramFailed: it did not end well.

        """
        for thread in self._threads:
            thread.join(_PATIENCE)
        if self._fault:
            raise self._fault if isinstance(self._fault, Refusal) else self._failed(str(self._fault))
        try:
            status = self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            raise self._failed("it closed its output and does not end") from None
        if status:
            raise self._failed(f"it ended with status {status}")

    def _failed(self, why: str) -> ProgramFailed:
        words = self._said.decode("utf-8", "replace").strip().splitlines()
        message = f"{self.address}: {why}" + (f": {words[-1][:300]}" if words else "")
        return ProgramFailed(message, program=self.address)

    def kill(self) -> None:
        """End it, whatever it does, and take back what it holds."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for thread in self._threads:
            thread.join(_PATIENCE)
        for stream in (self._process.stdout, self._process.stderr):
            with suppress(OSError):
                self._stream(stream).close()
