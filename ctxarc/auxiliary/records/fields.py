"""Reading fields of a record that may be anything: each function takes any JSON value and raises for none."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime

Fields = dict[str, object]
"""A JSON object."""

_ISO = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?(?:Z|[-+][0-9:]{2,8})?")
_DIGITS = re.compile(r"[0-9]{9,16}(?:\.[0-9]{1,9})?")
# Epochs are told apart by size: each range begins in 1973 and ends in 5138.
_SECONDS = (1e8, 1e11)
_MILLISECONDS = (1e11, 1e14)
_MICROSECONDS = (1e14, 1e17)


def string(value: object) -> str:
    """Return a string, or "" for anything else."""
    return value if isinstance(value, str) else ""


def fields(value: object) -> Fields:
    """Return an object's fields; anything else has none."""
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[object]:
    """Return an array's items; anything else has none."""
    return value if isinstance(value, list) else []


def at(value: object, *path: str) -> object:
    """Return what stands at a path of keys, or None."""
    for key in path:
        value = fields(value).get(key)
    return value


def rendered(value: object) -> str:
    """Return a value as a person reads it: a string as it is, nothing for null, else JSON on one line."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def first_string(*values: object) -> str:
    """Return the first value that is a string with anything in it, or ""."""
    return next((value for value in values if isinstance(value, str) and value), "")


def project_of(value: object) -> str | None:
    """Return a working directory, or None for what is none."""
    return string(value) or None


def time_of(value: object) -> str | None:
    """Return an instant as UTC in milliseconds, as 2026-01-02T03:04:05.678Z, or None for what is no instant.

    Takes ISO 8601 with a date and a time of day (without a zone: taken as UTC), and epochs in seconds, milliseconds or
    microseconds, as numbers or digits, between 1973 and 5138.
    """
    if isinstance(value, str):
        text = value.strip()
        if _ISO.fullmatch(text):
            return _from_iso(text)
        return _from_epoch(float(text)) if _DIGITS.fullmatch(text) else None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _from_epoch(value)
    return None


def _from_iso(text: str) -> str | None:
    try:
        moment = datetime.fromisoformat(text)
        return _printed(moment if moment.tzinfo is None else moment.astimezone(UTC))
    except (ValueError, OverflowError):
        return None


def _from_epoch(number: float) -> str | None:
    for (least, beyond), unit in ((_SECONDS, 1), (_MILLISECONDS, 1_000), (_MICROSECONDS, 1_000_000)):
        if least <= number < beyond:
            seconds, thousandths = divmod(round(number * 1000 / unit), 1000)
            return _printed(datetime.fromtimestamp(seconds, UTC).replace(microsecond=thousandths * 1000))
    return None


def _printed(moment: datetime) -> str:
    return moment.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
