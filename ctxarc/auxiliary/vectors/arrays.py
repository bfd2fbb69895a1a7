"""NumPy where it is installed; ``np`` is None where it is not, and everything works without it, more slowly."""

from __future__ import annotations

from typing import Any

try:
    import numpy as numpy_or_none  # noqa: ICN001 - the name below is the one that is used
except ImportError:
    numpy_or_none = None  # type: ignore[assignment]

np: Any = numpy_or_none
