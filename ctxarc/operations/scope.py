"""What a question is put to: the distinct turns of the newest states, narrowed, with the segments of one scheme."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ctxarc.auxiliary.projection import text_name, views
from ctxarc.auxiliary.records import read_record
from ctxarc.auxiliary.words.index import Words
from ctxarc.operations.progress import quiet, told
from ctxarc.operations.view import View

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ctxarc.auxiliary.segments.index import Index
    from ctxarc.model import ByteRange
    from ctxarc.operations.progress import Progress
    from ctxarc.preservation.record import Record, State, Turn

WHOLE_TURNS = "whole-turn-v1"
"""What stands for a scheme where there is no index: each turn is one segment."""


class Segments:
    """The segments of a record by the index of a scheme; whole turns where there is none.

    Attributes:
        words: the index of their words.

    """

    def __init__(self, record: Record, index: Index | None) -> None:
        self.record = record
        self.index = index
        self.scheme = index.scheme if index else WHOLE_TURNS
        self.words = Words(record.path, index.scheme) if index else None
        self._names: dict[int, Sequence[int]] = {}
        self._ends: dict[int, list[int]] = {}

    def ends(self, turn: Turn) -> list[int]:
        """Where the segments of a turn end; empty where the index does not cover it.

        Raises:
            IndexMismatch: the index was built on other bytes.

        """
        if turn.object not in self._ends:
            found = self.index.ends(turn.object, turn.digest, turn.length) if self.index else (turn.length,)
            self._ends[turn.object] = list(found)
        return self._ends[turn.object]

    def has_words(self, turn: Turn) -> bool:
        """Whether the word index holds a turn, cut as it is."""
        part = self.words.part_of(turn.object) if self.words else None
        return bool(
            part and part.digest(turn.object) == turn.digest and list(part.ends(turn.object)) == self.ends(turn)
        )

    def texts(self, turn: Turn) -> Sequence[int]:
        """The names of the texts of a turn's segments: equal texts have equal names."""
        if turn.object not in self._names:
            self._names[turn.object] = self._texts(turn)
        return self._names[turn.object]

    def _texts(self, turn: Turn) -> Sequence[int]:
        if self.words and self.has_words(turn):
            return self.words.texts(turn.object)
        raw = bytes(self.record.turn_bytes(turn.object))
        return tuple(text_name(text) for _, _, text in views(raw, self.ends(turn)))


class First(NamedTuple):
    """A turn where it stands first: the number of its transcript in order of names, and the turn."""

    order: int
    turn: Turn


class Scope:
    """The distinct turns of the newest states, each at its first place.

    Args:
        segments: the segments of the scheme.
        transcript: only this transcript, or whose name begins so.
        role: only turns of this role.
        progress: told how many bytes of turns were looked through.

    Attributes:
        states: the transcripts, in byte order of their names.
        firsts: the first place of each distinct turn, by the number of its object.
        segments_in_index, bytes: of all of them.

    Raises:
        NoSuchTranscript, Ambiguous: which transcript is meant.

    """

    def __init__(
        self,
        segments: Segments,
        *,
        transcript: str | None = None,
        role: str | None = None,
        progress: Progress = quiet,
    ) -> None:
        self.segments = segments
        self.record = segments.record
        self._view = View(self.record)
        self.states: list[State] = self._view.chosen([] if transcript is None else [transcript.removesuffix("#")])
        self.transcript = self.states[0].name.decode() if transcript is not None else None
        self.role = role
        self.firsts: dict[int, First] = {}
        self.segments_in_index = self.bytes = 0
        for order, state in enumerate(self.states):
            for turn in told(self.record.turns(state), progress, "opening"):
                if turn.object not in self.firsts and self._has_role(turn):
                    self.firsts[turn.object] = First(order, turn)
                    self.segments_in_index += len(segments.ends(turn))
                    self.bytes += turn.length

    def _has_role(self, turn: Turn) -> bool:
        return self.role is None or read_record(bytes(self.record.turn_bytes(turn.object))).role == self.role

    def name(self, order: int) -> str:
        """The name of a transcript by its number."""
        return self.states[order].name.decode()

    def places(self, number: int) -> Iterator[tuple[int, int]]:
        """Every place of an object: the number of the transcript, and of the turn."""
        for order, state in enumerate(self.states):
            at = 0
            for run in state.runs:
                if run.first <= number < run.first + run.turns and run.first >= 0:
                    yield order, at + number - run.first
                at += run.turns

    @property
    def complete(self) -> bool:
        """Whether every turn of these transcripts is held."""
        return all(state.complete for state in self.states)

    @property
    def omitted(self) -> tuple[ByteRange, ...]:
        """What is not held of the transcript, where it is one."""
        return self._view.omitted(self.states[0]) if len(self.states) == 1 else ()
