"""A view of a transcript that grows turn by turn, and always names all that it does not show.

Its size is that of its JSON, kept up to date with each turn that is shown: a turn splits a run of omitted turns in two.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from itertools import accumulate, chain
from typing import TYPE_CHECKING, NamedTuple

from ctxarc.auxiliary.records import read_record
from ctxarc.errors import BadUsage
from ctxarc.model import BudgetView, CutTurn, OmittedBytes, OmittedTurns, ShownTurn, TurnsNotHeld, as_json
from ctxarc.operations.budget_text import cut, json_bytes, readable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ctxarc.auxiliary.records import Record as TurnRecord
    from ctxarc.preservation.entry import Gap
    from ctxarc.preservation.record import Record, Turn

_ENVELOPE = len('"schema": 1, "ok": true, ')
"""Bytes that are kept free for the fields which stand before those of the result where it is printed."""
_COMMA = len(", ")
_ANY_BUDGET = 10**12
"""A budget of as many digits as are kept free for it."""
_SHARE, _SHARE_AROUND = 8, 2
"""What part of the budget one turn takes at most at first, and the one around which turns are chosen."""
_HEAD = 600
"""Bytes that a turn of a tool or of a client takes at most at first, and that any turn may take."""
_MISSES = 64
"""Turns for which there is no room, one after the other, before no other is tried."""

Item = ShownTurn | CutTurn | OmittedTurns | TurnsNotHeld


class Read(NamedTuple):
    """A held turn, and what was read of it.

    Attributes:
        turn: the turn.
        role: who speaks.
        kind: the kind of its first part.
        weight: how many others come before it.
        chars: characters of its text.
        small: whether little of it is shown at first.

    """

    turn: Turn
    role: str
    kind: str
    weight: int
    chars: int
    small: bool


class Layout:
    """A view that grows: which turns it shows, and how many bytes it has.

    Args:
        record: the archive's record.
        empty: the view without items, whose numbers are the largest that may come.
        turns: the held turns, in order.
        gaps: the turns that are not held.

    Raises:
        BadUsage: there is no room to name everything as left out.

    """

    def __init__(self, record: Record, empty: BudgetView, turns: Sequence[Read], gaps: Sequence[Gap]) -> None:
        self._record, self._empty, self._turns = record, empty, turns
        self._shown: dict[int, ShownTurn | CutTurn] = {}
        self._gaps = {gap.first_turn: _not_held(gap) for gap in gaps}
        self._at = {each.turn.number: index for index, each in enumerate(turns)}
        self._roles = _sums([each.role for each in turns])
        self._kinds = _sums([each.kind for each in turns])
        ends = ((gap.first_turn, gap.first_turn + gap.turns - 1) for gap in gaps)
        self._borders = sorted({-1, empty.turns, *chain.from_iterable(ends)})
        base = json_bytes(as_json(empty._replace(budget=max(_ANY_BUDGET, empty.budget))))
        self._bytes = _ENVELOPE + base + sum(map(_size, self._items()))
        if self._bytes > empty.budget:
            message = f"a view of {empty.transcript} takes {self._bytes} bytes at least, and {empty.budget} are allowed"
            hint = f"allow {self._bytes} bytes or more"
            raise BadUsage(message, hint=hint, budget=empty.budget, minimum=self._bytes)

    @property
    def _room(self) -> int:
        return self._empty.budget - self._bytes

    def fill(self, order: Sequence[Read], middle: int | None) -> None:
        """Show turns in ``order`` while there is room; first as much of each as leaves room for others."""
        if self._all(order):
            return
        misses = 0
        for each in order:
            if not self._show(each, self._most(each, middle)):
                misses += 1
                if misses == _MISSES:
                    break
            else:
                misses = 0
        for each in order:
            if self._room >= _COMMA and isinstance(self._shown.get(each.turn.number), CutTurn):
                self._widen(each)

    def _all(self, order: Sequence[Read]) -> bool:
        """Show all turns of ``order``, if there is room for that."""
        if sum(each.chars for each in order) > self._empty.budget:
            return False
        bytes_ = self._bytes - sum(map(_size, self._items()))
        self._shown = {each.turn.number: self._whole(each) for each in order}
        borders, self._borders = self._borders, sorted({*self._borders, *self._shown})
        bytes_ += sum(map(_size, self._items()))
        if bytes_ <= self._empty.budget:
            self._bytes = bytes_
            return True
        self._shown, self._borders = {}, borders
        return False

    def _most(self, each: Read, middle: int | None) -> int:
        """Bytes that a turn may take at first."""
        if middle is not None:
            return max(self._empty.budget // (_SHARE_AROUND if each.turn.number == middle else _SHARE), _HEAD)
        return _HEAD if each.small else max(self._empty.budget // _SHARE, _HEAD)

    def _show(self, each: Read, most: int) -> bool:
        """Show a turn in at most ``most`` bytes; whether there was room."""
        number = each.turn.number
        next_ = bisect_right(self._borders, number)
        first, last = self._borders[next_ - 1] + 1, self._borders[next_] - 1
        runs = [(first, last), (first, number - 1), (number + 1, last)]
        whole, before, behind = (_size(self._omitted(*run)) if run[0] <= run[1] else 0 for run in runs)
        around = before + behind - whole
        item = self._fitted(each, min(most, self._room - around))
        if item is None:
            return False
        self._shown[number] = item
        insort(self._borders, number)
        self._bytes += around + _size(item)
        return True

    def _widen(self, each: Read) -> None:
        """Show more of a turn that is cut, if there is room."""
        had = _size(self._shown[each.turn.number])
        item = self._fitted(each, had + self._room)
        if item and (isinstance(item, ShownTurn) or _size(item) > had):
            self._shown[each.turn.number] = item
            self._bytes += _size(item) - had

    def _fitted(self, each: Read, room: int) -> ShownTurn | CutTurn | None:
        """A turn as it is shown in at most ``room`` bytes."""
        raw = bytes(self._record.turn_bytes(each.turn.object))
        read = read_record(raw)
        text = readable(read.parts)
        whole = self._as_shown(each, read, text)
        if len(text) <= room and _size(whole) <= room:
            return whole
        largest = OmittedBytes(len(raw), len(raw), self._address(each.turn.number, f":{len(raw)}-{len(raw)}"))
        frame = _size(CutTurn("cut", *whole[1:-1], "", largest, ""))
        found = cut(raw, text, room - frame + 2 * len('""')) if frame < room else None
        if found is None:
            return None
        left_out = OmittedBytes(
            found.start_byte,
            found.end_byte,
            self._address(each.turn.number, f":{found.start_byte}-{found.end_byte}"),
        )
        return CutTurn("cut", *whole[1:-1], found.head, left_out, found.tail)

    def _whole(self, each: Read) -> ShownTurn:
        read = read_record(bytes(self._record.turn_bytes(each.turn.object)))
        return self._as_shown(each, read, readable(read.parts))

    @staticmethod
    def _as_shown(each: Read, read: TurnRecord, text: str) -> ShownTurn:
        return ShownTurn(
            item="turn",
            turn=each.turn.number,
            role=read.role,
            time=read.time,
            bytes=each.turn.length,
            cite=f"ctxa:{each.turn.digest.hex()}",
            text=text,
        )

    # ------------------------------------------------------------------------------------------------------------ items

    def view(self) -> BudgetView:
        """The view as it is now."""
        items = tuple(self._items())
        omitted = [item for item in items if isinstance(item, OmittedTurns)]
        left_out = [item.left_out for item in items if isinstance(item, CutTurn)]
        return self._empty._replace(
            shown_turns=sum(isinstance(item, ShownTurn) for item in items),
            cut_turns=len(left_out),
            omitted_turns=sum(item.turns for item in omitted),
            omitted_bytes=sum(item.bytes for item in omitted)
            + sum(each.end_byte - each.start_byte for each in left_out),
            items=items,
        )

    def _items(self) -> Iterator[Item]:
        """All items, in order of their turns."""
        number = 0
        while number < self._empty.turns:
            item: Item | None = self._shown.get(number) or self._gaps.get(number)
            if item is None:
                item = self._omitted(number, self._borders[bisect_right(self._borders, number)] - 1)
            yield item
            number = number + 1 if isinstance(item, (ShownTurn, CutTurn)) else item.last_turn + 1

    def _omitted(self, first: int, last: int) -> OmittedTurns:
        begin, end = self._at[first], self._at[last]
        start, stop = self._turns[begin].turn, self._turns[end].turn
        stop_byte = stop.start_byte + stop.length
        return OmittedTurns(
            item="omitted",
            first_turn=first,
            last_turn=last,
            turns=last - first + 1,
            bytes=stop_byte - start.start_byte,
            roles=_counted(self._roles, begin, end + 1),
            kinds=_counted(self._kinds, begin, end + 1),
            addresses=tuple(self._address(number) for number in sorted({first, last})),
            span=f"{start.start_byte}-{stop_byte}",
        )

    def _address(self, turn: int, span: str = "") -> str:
        return f"{self._empty.transcript}#{turn}{span}"


def _size(item: Item) -> int:
    """Bytes of an item in the list of them."""
    return json_bytes(as_json(item)) + _COMMA


def _not_held(gap: Gap) -> TurnsNotHeld:
    last = gap.first_turn + gap.turns - 1
    return TurnsNotHeld("not_held", gap.first_turn, last, gap.turns, gap.start_byte, gap.end_byte)


def _sums(values: Sequence[str]) -> dict[str, list[int]]:
    """For each value, how often it stands among the first ones, by their number."""
    return {each: list(accumulate((value == each for value in values), initial=0)) for each in sorted(set(values))}


def _counted(sums: dict[str, list[int]], begin: int, end: int) -> dict[str, int]:
    counts: Iterable[tuple[str, int]] = ((each, counted[end] - counted[begin]) for each, counted in sums.items())
    return {each: count for each, count in counts if count}
