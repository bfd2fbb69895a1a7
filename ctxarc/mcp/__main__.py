"""``python -m ctxarc.mcp``: the same as ``ctxarc mcp``."""

from __future__ import annotations

import sys

from ctxarc.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["mcp", *sys.argv[1:]]))
