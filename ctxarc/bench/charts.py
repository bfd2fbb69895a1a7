"""Charts as inline SVG: bars and lines in the colours of the page, each number of them in the JSON beside it."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_WIDTH, _ROW, _LABEL, _VALUE = 640, 22, 190, 70
_GROUP_HEIGHT, _BASE = 150, 24


def bars(title: str, rows: Sequence[tuple[str, float, str]]) -> str:
    """Horizontal bars from 0 to the largest: a label, a number, and how the number is written."""
    most = max((value for _, value, _ in rows), default=0.0) or 1.0
    room = _WIDTH - _LABEL - _VALUE
    parts = []
    for at, (label, value, said) in enumerate(rows):
        y, width = at * _ROW, max(value, 0.0) / most * room
        parts.append(
            f'<text class="label" x="{_LABEL - 8}" y="{y + 15}" text-anchor="end">{escape(label)}</text>'
            f'<rect class="bar" x="{_LABEL}" y="{y + 3}" width="{width:.1f}" height="{_ROW - 7}" rx="2"/>'
            f'<text class="value" x="{_LABEL + width + 6:.1f}" y="{y + 15}">{escape(said)}</text>'
        )
    return _svg(title, len(rows) * _ROW, "".join(parts))


def columns(title: str, labels: Sequence[str], series: Sequence[tuple[str, Sequence[float]]]) -> str:
    """Groups of upright bars, one a label, to be read beside a table; a legend names the colour of each series."""
    most = max((value for _, values in series for value in values), default=0.0) or 1.0
    slot = _WIDTH / max(len(labels), 1)
    width = min(slot * 0.8 / max(len(series), 1), 28)
    parts = []
    for at, label in enumerate(labels):
        left = at * slot + (slot - width * len(series)) / 2
        parts.append(
            f'<text class="label" x="{at * slot + slot / 2:.1f}" y="{_GROUP_HEIGHT + 40}" text-anchor="middle">'
            f"{escape(label)}</text>"
        )
        for number, (_, values) in enumerate(series):
            height = max(values[at], 0.0) / most * _GROUP_HEIGHT
            top = _BASE + _GROUP_HEIGHT - height
            parts.append(
                f'<rect class="s{number}" x="{left + number * width:.1f}" y="{top:.1f}" width="{width - 1:.1f}" '
                f'height="{height:.1f}"/>'
            )
    return _svg(title, _GROUP_HEIGHT + 48, "".join([*_legend([name for name, _ in series]), *parts]))


def _legend(names: Sequence[str]) -> list[str]:
    step = _WIDTH / max(len(names), 1)
    return [
        f'<rect class="s{at}" x="{at * step:.1f}" y="2" width="10" height="10"/>'
        f'<text class="label" x="{at * step + 15:.1f}" y="11">{escape(name)}</text>'
        for at, name in enumerate(names)
    ]


def _svg(title: str, height: float, inside: str) -> str:
    return (
        f'<svg role="img" aria-label="{escape(title)}" viewBox="0 0 {_WIDTH} {height:.0f}">'
        f"<title>{escape(title)}</title>{inside}</svg>"
    )
