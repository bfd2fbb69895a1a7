"""The program: ``python -m ctxarc``, and what the command ``ctxarc`` starts."""

from __future__ import annotations

import sys

try:
    from ctxarc.cli.main import main
except KeyboardInterrupt:  # in the first instants, while nothing is there yet that could end quietly
    sys.exit(130)

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
