"""Records: the one place that knows what the clients of AI agents write, and how a person reads it.

A file a dialect, behind one function each; what no dialect knows is "unknown", never guessed at. Nothing here raises
for the content of a turn.
"""

from ctxarc.auxiliary.records.links import Link
from ctxarc.auxiliary.records.reader import DIALECTS, LINKS, NOT_JSON, UNKNOWN, read_links, read_record
from ctxarc.auxiliary.records.record import KINDS, ROLES, Part, Record, excerpt

__all__ = [
    "DIALECTS",
    "KINDS",
    "LINKS",
    "NOT_JSON",
    "ROLES",
    "UNKNOWN",
    "Link",
    "Part",
    "Record",
    "excerpt",
    "read_links",
    "read_record",
]
