"""The table of tools. A new one is an entry and a function in one of the modules named here."""

from __future__ import annotations

from ctxarc.errors import BadUsage
from ctxarc.mcp import tools_archive, tools_capture, tools_read, tools_segments
from ctxarc.mcp.settings import LOOP, Settings
from ctxarc.mcp.tool import Tool

TOOLS: dict[str, Tool] = {
    tool.name: tool for tool in (*tools_capture.TOOLS, *tools_segments.TOOLS, *tools_read.TOOLS, *tools_archive.TOOLS)
}
"""Every tool by its name, in the order of ``tools/list``."""


def offered(settings: Settings) -> list[Tool]:
    """The tools that a server offers."""
    return [tool for tool in TOOLS.values() if not _why_not(tool, settings)]


def offered_tool(name: str, settings: Settings) -> Tool:
    """The tool of that name.

    Raises:
        BadUsage: there is none, or the user withdrew it.

    """
    tool = TOOLS.get(name)
    why = _why_not(tool, settings) if tool else "there is no such tool"
    if tool is None or why:
        names = [each.name for each in offered(settings)]
        raise BadUsage(f"{name[:80]}: {why}", hint=f"there are {', '.join(names)}", tool=name[:80], tools=names)
    return tool


def _why_not(tool: Tool, settings: Settings) -> str | None:
    if tool.writes and settings.read_only:
        return "it writes, and this server only reads"
    if settings.tools == LOOP and not tool.of_loop:
        return "this server offers the tools of the loop alone"
    return None
