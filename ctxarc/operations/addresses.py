"""Addresses: from what a user writes to a range of bytes of one held turn."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from ctxarc.errors import Ambiguous, BadAddress, NoSuchRange, NoSuchTurn
from ctxarc.operations.view import View
from ctxarc.preservation.entry import Runs
from ctxarc.preservation.record import State

_RANGE = r"(?P<start>[0-9]{1,15})(?:-(?P<end>[0-9]{1,15})?|\+(?P<length>[0-9]{1,15}))"
_CITATION = rf"ctxa:(?P<digest>[0-9a-fA-F]{{16,64}})(?::{_RANGE})?"
_PLACE = rf"(?:(?P<name>[^#]+)#)?(?:(?P<turn>[0-9]{{1,15}})(?::{_RANGE})?)?"


class Piece(NamedTuple):
    """A range of bytes of a held turn: ``start`` to ``end`` of object ``object``."""

    transcript: str
    turn: int
    object: int
    digest: bytes
    start: int
    end: int
    length: int

    @property
    def cite(self) -> str:
        """The citation: it means the same bytes in every archive."""
        whole = self.start == 0 and self.end == self.length
        return f"ctxa:{self.digest.hex()}" + ("" if whole else f":{self.start}-{self.end}")


def resolve(view: View, address: str) -> Piece | State:
    """The piece that ``address`` means, or the whole transcript.

    Raises:
        BadAddress: it is no address.
        NoSuchTranscript, NoSuchTurn, NoSuchRange: it means nothing that is held.
        Ambiguous: it could mean several things.

    """
    match = re.fullmatch(_CITATION, address) if address.startswith("ctxa:") else None
    if match:
        number = _cited(view, match["digest"].lower())
        name, turn = _place_of(view, number)
        return _piece(view, name, turn, number, match)
    match = re.fullmatch(_PLACE, address)
    if not match or not address:
        raise BadAddress(f"{address!r} is no address", address=address)
    state = view.pick(match["name"])
    if match["turn"] is None:
        return state
    turn = int(match["turn"])
    return _piece(view, state.name.decode(), turn, view.record.object_of(state, turn), match)


def pieces(view: View, state: State) -> Iterator[Piece]:
    """All held turns of a transcript, whole."""
    name = state.name.decode()
    for turn in view.record.turns(state):
        yield Piece(name, turn.number, turn.object, turn.digest, 0, turn.length, turn.length)


def span_of(view: View, state: State, span: str) -> list[Piece]:
    """The pieces of a range of bytes of a whole transcript, one a turn.

    Raises:
        BadAddress: ``span`` is no range.
        NoSuchRange: it goes beyond the source, or touches what was left out.

    """
    match = re.fullmatch(_RANGE, span)
    if not match:
        raise BadAddress(f"{span!r} is no range of bytes", hint="write START-END, START+LENGTH or START-", address=span)
    start, end = _bounds(match, state.entry.source_bytes, f"transcript {state.name.decode()}")
    for gap in [] if state.complete else view.record.gaps(state.runs):
        if start < gap.end_byte and gap.start_byte < end:
            message = f"bytes {gap.start_byte} to {gap.end_byte} of the source were left out when it was captured"
            facts = {"start_byte": gap.start_byte, "end_byte": gap.end_byte}
            raise NoSuchRange(message, transcript=state.name.decode(), omitted=[facts])
    found = []
    name = state.name.decode()
    for turn in view.record.turns(state):
        first, last = max(start, turn.start_byte), min(end, turn.start_byte + turn.length)
        if first < last:
            within = first - turn.start_byte, last - turn.start_byte
            found.append(Piece(name, turn.number, turn.object, turn.digest, *within, turn.length))
        if turn.start_byte >= end:
            break
    return found


def _piece(view: View, name: str, turn: int, number: int, match: re.Match[str]) -> Piece:
    row = view.record.objects.row(number)
    bounds = (0, row.length) if match["start"] is None else _bounds(match, row.length, f"turn {turn} of {name}")
    return Piece(name, turn, number, row.sha256, *bounds, row.length)


def _bounds(match: re.Match[str], length: int, what: str) -> tuple[int, int]:
    start = int(match["start"])
    end = length if match["end"] is None else int(match["end"])
    if match["length"] is not None:
        end = start + int(match["length"])
    if not start <= end <= length:
        message = f"{what} has {length} bytes, and bytes {start} to {end} were asked for"
        raise NoSuchRange(message, start_byte=start, end_byte=end, length=length)
    return start, end


def _cited(view: View, digest: str) -> int:
    found = list(view.record.objects.search(digest))
    if not found:
        raise NoSuchTurn(
            f"no turn with the SHA-256 {digest} is held", hint="a citation names a turn's bytes", digest=digest
        )
    if len(found) > 1:
        message = f"{len(found)} turns have a SHA-256 that begins with {digest}"
        raise Ambiguous(message, hint="write more digits of it", digest=digest, turns=len(found))
    return found[0]


def _place_of(view: View, number: int) -> tuple[str, int]:
    """A transcript and turn where an object stands: now, or in an older state."""
    for state in view.states():
        turn = _turn_of(Runs(state.runs), number)
        if turn is not None:
            return state.name.decode(), turn
    for capture in view.record.captures():
        turn = _turn_of(Runs(capture.entry.runs), number)
        if turn is not None:
            return capture.name.decode(), capture.entry.keep + turn
    raise NoSuchTurn(f"object {number} stands in no transcript", object=number)


def _turn_of(runs: Runs, number: int) -> int | None:
    at = 0
    for run in runs.runs:
        if run.first >= 0 and run.first <= number < run.first + run.turns:
            return at + number - run.first
        at += run.turns
    return None
