"""The borders that a document states itself, as they lie in the bytes of a JSON string."""

from __future__ import annotations

import re

BORDER = re.compile(rb"\\n(?:\\n|\\r\\n|(?=#{1,6} |[-*+] |[0-9]{1,3}[.)] |```))")
"""Ends in front of a heading, a list's item or a code fence, or behind a blank line."""
