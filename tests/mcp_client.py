"""A client of ``ctxarc mcp`` over stdio, with the protocol's own SDK: an event loop in a thread, a process a server."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
from anyio.from_thread import BlockingPortal, start_blocking_portal
from jsonschema import Draft202012Validator
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

if TYPE_CHECKING:
    from anyio.abc import TaskStatus
    from mcp.types import CallToolResult, ReadResourceResult, Tool

Answer = dict[str, Any]


class Client:
    """A client that is connected, and the tools that it was told of.

    Attributes:
        tools: by their names, in the order of the list.

    """

    def __init__(self, portal: BlockingPortal, session: ClientSession) -> None:
        self.portal, self.session = portal, session
        self.tools: dict[str, Tool] = {tool.name: tool for tool in portal.call(session.list_tools).tools}

    def call(self, name: str, /, **arguments: object) -> Answer:
        """The answer to a call that has to do well; it is checked against the schema of its tool."""
        answer = self.result(name, arguments)
        assert not answer.is_error, answer.content
        assert answer.structured_content["schema"] == 1
        found: Answer = answer.structured_content
        return found

    def refused(self, name: str, /, **arguments: object) -> Answer:
        """The refusal that a call has to end with."""
        answer = self.result(name, arguments)
        assert answer.is_error, answer.structured_content
        fields = answer.structured_content
        assert (fields["schema"], fields["ok"], set(fields)) == (1, False, {"schema", "ok", "refusal"})
        found: Answer = fields["refusal"]
        assert set(found) == {"code", "message", "hint", "facts"}
        assert "Traceback" not in str(fields)
        return found

    def result(self, name: str, arguments: Mapping[str, object]) -> CallToolResult:
        """What a call gives: the same twice, as it is and as JSON, within the limits and of the tool's schema."""
        answer: CallToolResult = self.portal.call(self.session.call_tool, name, dict(arguments))
        (content,) = answer.content
        assert content.type == "text"
        assert json.loads(content.text) == answer.structured_content
        assert len(content.text.encode()) <= 40_000
        if name in self.tools:
            Draft202012Validator(self.tools[name].output_schema or {}).validate(answer.structured_content)
        return answer

    def every(self, name: str, rows: str = "rows", /, **arguments: object) -> list[Answer]:
        """The pages of a call, to the last one."""
        found = [self.call(name, **arguments)]
        while found[-1]["next"] is not None:
            assert found[-1]["truncated"]
            found.append(self.call(name, **arguments, next=found[-1]["next"]))
        assert not found[-1]["truncated"]
        assert {page["total"] for page in found} == {found[0]["total"]}
        assert all(page[rows] for page in found) or len(found) == 1
        return found

    def read(self, uri: str) -> ReadResourceResult:
        """A resource."""
        found: ReadResourceResult = self.portal.call(self.session.read_resource, uri)
        return found

    def cancelled(self, name: str, /, **arguments: object) -> list[float]:
        """Call, cancel at the first word of progress, and give what was told until then."""
        told: list[float] = []

        async def run() -> None:
            with anyio.CancelScope() as scope:

                async def hear(progress: float, total: float | None, message: str | None) -> None:
                    assert total is None or progress <= total
                    assert message
                    told.append(progress)
                    scope.cancel()

                await self.session.call_tool(name, arguments, progress_callback=hear)
                raise AssertionError(name)

        self.portal.call(run)
        return told


@contextmanager
def portal() -> Iterator[BlockingPortal]:
    """An event loop in a thread."""
    with start_blocking_portal() as running:
        yield running


@contextmanager
def connected(running: BlockingPortal, *args: str | Path, cwd: Path, errors: Path | None = None) -> Iterator[Client]:
    """A client of ``ctxarc mcp ARGS``; the server ends with it."""
    with ExitStack() as stack:
        log = stack.enter_context((errors or cwd.parent / "stderr").open("a+", encoding="utf-8"))
        server = StdioServerParameters(
            command=sys.executable, args=["-m", "ctxarc", "mcp", *map(str, args)], cwd=cwd, env={"HOME": str(cwd)}
        )

        async def live(*, task_status: TaskStatus[tuple[ClientSession, Callable[[], None]]]) -> None:
            end = anyio.Event()
            async with stdio_client(server, errlog=log) as streams, ClientSession(*streams) as session:
                await session.initialize()
                task_status.started((session, end.set))
                await end.wait()

        future, (session, end) = running.start_task(live)
        try:
            yield Client(running, session)
        finally:
            running.call(end)
            future.result(20)
