"""``within_budget``: a transcript within a number of bytes, in which every omission is named with what brings it back.

The view covers all turns in order: a turn is shown whole, shown without a stretch of it, or one of a run of turns that
is left out. Turns are taken in order of their weight, as long as the view, measured as JSON, stays within the budget.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxarc.auxiliary.records import ROLES, read_record
from ctxarc.errors import BadUsage, NoSuchTurn
from ctxarc.model import BudgetView
from ctxarc.operations.addresses import Piece, resolve
from ctxarc.operations.budget_layout import Layout, Read
from ctxarc.operations.progress import quiet, told
from ctxarc.operations.view import View
from ctxarc.preservation.record import Record

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from ctxarc.auxiliary.records import Record as TurnRecord
    from ctxarc.operations.progress import Progress
    from ctxarc.preservation.record import State

_LAST = 4
"""Turns at the end that come before any others but the first of the user."""
_FIRST, _ENDING, _USER, _ASSISTANT, _TOOL, _OTHER = range(6)
"""The weights of turns, in order."""


def within_budget(  # noqa: PLR0913 - what is shown, and how
    archive: Path,
    transcript: str | None = None,
    *,
    budget: int,
    roles: Collection[str] | None = None,
    around: str | None = None,
    at: int | None = None,
    progress: Progress = quiet,
) -> BudgetView:
    """A view of a transcript whose JSON has at most ``budget`` bytes.

    The first turn of the user comes first, then the last turns, the user's, what the assistant said, tools, and the
    rest, the newest first; or those nearest to ``around``. A turn may be shown without its middle.

    Args:
        archive: the archive.
        transcript: a name, or the beginning of one; the only transcript, or that of ``around``, where it is ``None``.
        budget: bytes of the result as JSON, whatever of it is escaped.
        roles: only turns of these roles are shown.
        around: the address of a turn, which is shown first, and then those nearest to it.
        at: the capture after which the archive is looked at.
        progress: told how many bytes of turns were looked at.

    Raises:
        BadUsage: the budget is too small to name all that is left out, or an argument means nothing.
        NoSuchTranscript, NoSuchTurn, Ambiguous, BadAddress: what is not there, or not one thing.

    """
    unknown = sorted(set(roles or ()) - ROLES)
    if unknown:
        raise BadUsage(f"no role is called {unknown[0]}; there are {', '.join(sorted(ROLES))}", role=unknown[0])
    with Record(archive) as record:
        view = View(record, at)
        piece = None if around is None else _place(view, around)
        name = piece.transcript if piece and transcript is None else transcript
        state = view.pick(None if name is None else name.removesuffix("#"))
        turns = _survey(record, state, progress)
        middle = None if piece is None else _turn_of(piece, state, turns)
        empty = BudgetView(
            archive=str(archive),
            archive_digest=record.head.root.hex(),
            transcript=state.name.decode(),
            at=at,
            budget=budget,
            around=middle,
            turns=state.turns,
            bytes=sum(each.turn.length for each in turns),
            shown_turns=state.turns,
            cut_turns=state.turns,
            omitted_turns=state.turns,
            omitted_bytes=state.entry.source_bytes,
            digest_verified=True,
            complete=state.complete,
            omitted=view.omitted(state),
            items=(),
        )
        layout = Layout(record, empty, turns, record.gaps(state.runs))
        order = [each for each in _order(turns, middle) if roles is None or each.role in roles or _is(each, middle)]
        layout.fill(order, middle)
        return layout.view()


def _is(each: Read, number: int | None) -> bool:
    return each.turn.number == number


def _place(view: View, address: str) -> Piece:
    item = resolve(view, address)
    if not isinstance(item, Piece):
        message = f"{address} is a whole transcript, and turns are chosen around one turn"
        raise BadUsage(message, hint="write NAME#TURN", address=address)
    return item


def _turn_of(piece: Piece, state: State, turns: Sequence[Read]) -> int:
    """The number that the turn of ``piece`` has in ``state``."""
    name = state.name.decode()
    found = [each.turn.number for each in turns if each.turn.object == piece.object]
    if not found:
        message = f"turn {piece.turn} of {piece.transcript} stands nowhere in {name}, as that is now"
        raise NoSuchTurn(message, transcript=name, turn=piece.turn, turn_sha256=piece.digest.hex())
    return piece.turn if piece.transcript == name and piece.turn in found else found[0]


# --------------------------------------------------------------------------------------------- what comes before what


def _survey(record: Record, state: State, progress: Progress) -> list[Read]:
    """Every held turn, with its weight."""
    found: list[Read] = []
    task = False
    held = sum(run.turns for run in state.runs if run.first >= 0)
    for turn in told(record.turns(state), progress, "surveying"):
        read = read_record(bytes(record.turn_bytes(turn.object)))
        weight = _weight(read)
        if weight == _USER and not task:
            weight, task = _FIRST, True
        elif len(found) >= held - _LAST:
            weight = _ENDING
        kind = read.parts[0].kind if read.parts else "empty"
        found.append(
            Read(turn, read.role, kind, weight, sum(len(part.text) for part in read.parts), small=weight >= _TOOL)
        )
    return found


def _weight(read: TurnRecord) -> int:
    kinds = {part.kind for part in read.parts}
    if read.role == "user":
        return _USER
    if read.role == "assistant" and "text" in kinds:
        return _ASSISTANT
    return _TOOL if kinds & {"tool-call", "tool-result"} else _OTHER


def _order(turns: Sequence[Read], middle: int | None) -> list[Read]:
    if middle is None:
        return sorted(turns, key=lambda each: (each.weight, -each.turn.number))
    return sorted(turns, key=lambda each: (abs(each.turn.number - middle), each.turn.number))
