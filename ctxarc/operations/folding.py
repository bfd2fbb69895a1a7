"""From ranked segments to hits: equal texts folded into one, an agent's own questions last, every turn proved.

The best-scored place of a text stands for all its places. Texts are compared by the names that the index has of them,
and then by themselves, so that a name that was forged or stands for two texts hides nothing.
"""

from __future__ import annotations

from collections import defaultdict
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from ctxarc.auxiliary.projection import raw_view, views
from ctxarc.errors import DigestMismatch
from ctxarc.model import AddressHit, Elsewhere

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ctxarc.operations.scope import Scope

_LISTED = 100
"""Other places of a text that a hit lists at most."""
_ECHO_WORDS = 5
"""Words of a question that a turn can be said to repeat."""
_PATIENCE = 50
"""For each hit that is wanted, texts that are looked at at most: those behind them are taken for echoes no more."""


class Ranked(NamedTuple):
    """A segment with its score: ``start`` to ``end`` of an object, and the words of the question that stand in it."""

    object: int
    start: int
    end: int
    score: float
    words: tuple[str, ...] = ()


class Text(NamedTuple):
    """A text that answers, at its best place; ``ranks`` are its ranks in the channels that found it."""

    best: Ranked
    name: int
    text: str
    echo: bool
    ranks: dict[str, int]


Leading = "Callable[[int], Sequence[Ranked]]"
"""Gives the best so many segments, or more, in order of scores; fewer where there are no more."""


class Reader:
    """The texts of segments of a scope, read once each.

    Args:
        scope: where they stand.
        raw: whether texts are shown as bytes; else as messages.
        question: what was asked, which a turn may repeat.

    """

    def __init__(self, scope: Scope, *, raw: bool, question: str | None) -> None:
        self.scope = scope
        self._raw = raw
        words = (question or "").casefold().split()
        self._question = " ".join(words) if len(words) >= _ECHO_WORDS else ""
        self._texts: dict[tuple[int, int, int], str] = {}
        self._echoes: dict[int, bool] = {}

    def turn(self, number: int) -> bytes:
        """The bytes of an object, hashed now.

        Raises:
            DigestMismatch: they are not those that the table of objects names.

        """
        raw = bytes(self.scope.record.turn_bytes(number))
        expected = self.scope.firsts[number].turn.digest
        if sha256(raw).digest() != expected:
            message = f"object {number} does not have the SHA-256 {expected.hex()}"
            raise DigestMismatch(message, object=number, expected=expected.hex())
        return raw

    def text(self, number: int, start: int, end: int) -> str:
        """The text of a message in a segment."""
        key = number, start, end
        if key not in self._texts:
            for _, _, text in views(self.turn(number), [start, end] if start else [end]):
                self._texts[key] = text
        return self._texts[key]

    def alike(self, place: tuple[int, int, int], text: Text) -> bool:
        """Whether a segment whose text has the name of ``text`` has that text; the same bytes have."""
        number, start, end = place
        best = text.best
        if end - start == best.end - best.start:
            mine = self.scope.record.turn_bytes(number)[start:end]
            if mine == self.scope.record.turn_bytes(best.object)[best.start : best.end]:
                return True
        return self.text(number, start, end) == text.text

    def shown(self, place: Ranked) -> str:
        """What a hit shows of a segment."""
        if self._raw:
            return raw_view(self.turn(place.object)[place.start : place.end])
        return self.text(place.object, place.start, place.end)

    def name(self, place: Ranked) -> int:
        """The name of a segment's text."""
        turn = self.scope.firsts[place.object].turn
        ends = self.scope.segments.ends(turn)
        return self.scope.segments.texts(turn)[ends.index(place.end)]

    def is_echo(self, number: int) -> bool:
        """Whether a turn contains the question itself."""
        if not self._question:
            return False
        if number not in self._echoes:
            turn = self.turn(number)
            whole = "".join(text for _, _, text in views(turn, [len(turn)]))
            self._echoes[number] = self._question in " ".join(whole.casefold().split())
        return self._echoes[number]

    def order(self, place: Ranked) -> tuple[float, int, int, int]:
        """The key of a place in the order of hits: score, transcript, turn, start."""
        first = self.scope.firsts[place.object]
        return -place.score, first.order, first.turn.number, place.start


def fold(reader: Reader, leading: Callable[[int], Sequence[Ranked]], wanted: int, channel: str) -> list[Text]:
    """The best texts, ``wanted`` of them that are no echoes if there are so many, and then the echoes among them."""
    found: list[Text] = []
    number = wanted
    while True:
        number *= 2
        ranked = leading(number)
        found = _folded(reader, sorted(ranked, key=reader.order), wanted, channel)
        own = sum(text.echo for text in found)
        if len(ranked) < number or len(found) - own >= wanted or len(found) >= _PATIENCE * wanted:
            break
    found.sort(key=lambda text: text.echo)
    return [text._replace(ranks={channel: rank}) for rank, text in enumerate(found, 1)]


def _folded(reader: Reader, ranked: Sequence[Ranked], wanted: int, channel: str) -> list[Text]:
    seen: dict[int, list[str]] = defaultdict(list)
    found: list[Text] = []
    answers = 0
    for place in ranked:
        if answers >= wanted or len(found) >= _PATIENCE * wanted:
            break
        name = reader.name(place)
        text = reader.text(place.object, place.start, place.end)
        if text in seen[name]:
            continue
        seen[name].append(text)
        echo = reader.is_echo(place.object)
        answers += not echo
        found.append(Text(place, name, text, echo, {channel: 0}))
    return found


def hits(reader: Reader, texts: Sequence[Text]) -> tuple[AddressHit, ...]:
    """The hits that ``texts`` are, in order, each with its other places."""
    others = _others(reader, texts)
    return tuple(_hit(reader, rank, text, others[rank - 1]) for rank, text in enumerate(texts, 1))


def _others(reader: Reader, texts: Sequence[Text]) -> list[list[tuple[int, int, int]]]:
    """For each text the other segments of the scope that have it: (object, start, end)."""
    scope = reader.scope
    wanted: dict[int, list[int]] = defaultdict(list)
    for at, text in enumerate(texts):
        wanted[text.name].append(at)
    found: list[list[tuple[int, int, int]]] = [[] for _ in texts]
    for number, first in scope.firsts.items():
        names = scope.segments.texts(first.turn)
        if wanted.keys().isdisjoint(names):
            continue
        start = 0
        for name, end in zip(names, scope.segments.ends(first.turn), strict=True):
            for at in wanted.get(name, ()):
                if (number, start, end) != texts[at].best[:3]:
                    found[at].append((number, start, end))
            start = end
    return found


def _hit(reader: Reader, rank: int, text: Text, others: Sequence[tuple[int, int, int]]) -> AddressHit:
    scope, best = reader.scope, text.best
    first = scope.firsts[best.object]
    places = [(best.object, best.start, best.end, "turn")]
    places += [(*each, "text") for each in others]
    elsewhere: list[Elsewhere] = []
    count = 0
    for number, start, end, why in places:
        if why == "text" and count < _LISTED and not reader.alike((number, start, end), text):
            continue
        for order, turn in scope.places(number):
            if (order, turn, number) == (first.order, first.turn.number, best.object) and why == "turn":
                continue
            count += 1
            if len(elsewhere) < _LISTED:
                cite = citation(scope.firsts[number].turn.digest, start, end, scope.firsts[number].turn.length)
                elsewhere.append(Elsewhere(scope.name(order), turn, start, end, cite, why))
    return AddressHit(
        rank=rank,
        score=best.score,
        ranks=text.ranks,
        transcript=scope.name(first.order),
        turn=first.turn.number,
        start_byte=best.start,
        end_byte=best.end,
        turn_sha256=sha256(reader.turn(best.object)).hexdigest(),
        digest_verified=True,
        cite=citation(first.turn.digest, best.start, best.end, first.turn.length),
        text=reader.shown(best),
        matched=best.words,
        echo=text.echo,
        places=count + 1,
        also_at=tuple(elsewhere),
    )


def citation(digest: bytes, start: int, end: int, length: int) -> str:
    """The citation of a range of a turn: it means the same bytes in every archive."""
    return f"ctxa:{digest.hex()}" + ("" if (start, end) == (0, length) else f":{start}-{end}")
