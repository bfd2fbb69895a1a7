"""What a server knows once it is loaded: its tools and places; and how one call of a tool is done, in a thread."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from ctxarc import SCHEMA
from ctxarc.mcp.answers import Fields, clean, to_json
from ctxarc.mcp.kept import Kept
from ctxarc.mcp.places import Places
from ctxarc.mcp.refusals import refusal_of, refused
from ctxarc.mcp.resources import read_citation
from ctxarc.mcp.schemas import check_arguments
from ctxarc.mcp.tool import Call, Tool
from ctxarc.mcp.tools import offered, offered_tool

if TYPE_CHECKING:
    from collections.abc import Callable

    Tell = Callable[[float, float | None, str], None]

    from ctxarc.mcp.resources import Quoted
    from ctxarc.mcp.settings import Settings

_BETWEEN_SECONDS = 0.1
"""Seconds between two notifications of progress at least."""


class Cancelled(BaseException):
    """The caller no longer waits; an operation that is told so ends as if its process were interrupted."""


class Progress:
    """Told by an operation how far it is; tells the caller, and raises where the caller no longer waits.

    What a caller is told only grows, as the protocol wants it, though an operation counts each of its steps anew.

    Args:
        is_cancelled: whether the caller no longer waits.
        tell: takes how far it is, how far that is of, and what is done; ``None`` where the caller did not ask.

    """

    def __init__(self, is_cancelled: Callable[[], bool], tell: Tell | None) -> None:
        self._is_cancelled, self._tell = is_cancelled, tell
        self._what, self._before, self._done, self._told, self._when = "", 0, 0, -1, -_BETWEEN_SECONDS

    def __call__(self, what: str, done: int, total: int | None) -> None:
        """Tell it, where it is due."""
        if self._is_cancelled():
            raise Cancelled(what)
        if self._tell is None:
            return
        if what != self._what or done < self._done:
            self._what, self._before = what, self._before + self._done
        self._done = done
        reached, now = self._before + done, time.monotonic()
        if reached > self._told and now - self._when >= _BETWEEN_SECONDS:
            self._told, self._when = reached, now
            self._tell(reached, None if total is None else self._before + total, clean(what))


class Session:
    """A server that is loaded."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.places = Places(settings)
        self._kept = Kept()

    def tools(self) -> list[Tool]:
        """The tools that are offered."""
        return offered(self._settings)

    def answer(
        self, name: str, arguments: dict[str, Any], is_cancelled: Callable[[], bool], tell: Tell | None
    ) -> tuple[Fields, str]:
        """The answer to a call, and the same as JSON. Whatever goes wrong is a named refusal.

        Args:
            name: the tool.
            arguments: as the caller gave them.
            is_cancelled: whether the caller no longer waits; nobody gets the answer then.
            tell: tells the caller how far it is, if he asked.

        """
        try:
            fields = self._answer(name, arguments, Progress(is_cancelled, tell))
        except Cancelled:
            fields = {}
        except Exception as error:  # noqa: BLE001 - every end of a call passes here
            fields = refused(refusal_of(error))
        text = to_json(fields)
        try:
            text.encode()
        except UnicodeEncodeError:
            fields = clean(fields)
            text = to_json(fields)
        return fields, text

    def _answer(self, name: str, arguments: dict[str, Any], progress: Progress) -> Fields:
        tool = offered_tool(name, self._settings)
        check_arguments(name, tool.schema(archive_is_known=self._settings.archive is not None), arguments)
        fields = tool.run(Call(name, arguments, self.places, self._settings, self._kept, progress))
        return {"schema": SCHEMA, "ok": True} | fields

    def resource(self, uri: str) -> Quoted:
        """What a citation means.

        Raises:
            Refusal: it means nothing that is held.

        """
        try:
            return read_citation(self.places, uri)
        except Exception as error:
            raise refusal_of(error) from error
