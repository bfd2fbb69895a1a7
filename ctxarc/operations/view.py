"""What a reading command looks at: the transcripts of an archive, as they are now or were after a capture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxarc.errors import Ambiguous, BadUsage, NoSuchTranscript
from ctxarc.model import ByteRange
from ctxarc.operations.progress import quiet, told

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ctxarc.operations.progress import Progress
    from ctxarc.preservation.record import Record, State, Turn

_SHOWN = 8
"""Names that a message lists at most."""


class View:
    """The transcripts of ``record`` in their newest state, or in the one after capture ``at``."""

    def __init__(self, record: Record, at: int | None = None) -> None:
        self.record = record
        self._at = at
        self._states: dict[bytes, State] | None = None if at is None else record.states(at)

    def states(self) -> Iterator[State]:
        """All transcripts, in byte order of their names."""
        if self._states is not None:
            yield from self._states.values()
            return
        names = self.record.names()
        for name, number in sorted(zip(names, range(len(names)), strict=True)):
            _ = name
            yield self.record.state(number)

    def distinct(self, progress: Progress = quiet) -> Iterator[tuple[State, Turn]]:
        """Every distinct turn at its first place: transcripts in byte order of names, turns in order."""
        seen = bytearray(self.record.head.objects)
        for state in self.states():
            for turn in told(self.record.turns(state), progress, "counting"):
                if not seen[turn.object]:
                    seen[turn.object] = 1
                    yield state, turn

    def names(self) -> list[str]:
        """All names, in byte order."""
        names = sorted(self.record.names()) if self._states is None else list(self._states)
        return [name.decode() for name in names]

    def pick(self, name: str | None) -> State:
        """The transcript called ``name``, or whose name alone begins so; the only one, where ``name`` is ``None``.

        Raises:
            BadUsage: the name is empty, and so the beginning of any.
            NoSuchTranscript: none is meant.
            Ambiguous: several could be.

        """
        if name == "":
            raise BadUsage("'' is no transcript's name", hint="`ctxarc ls ARCHIVE` lists the names; or leave it out")
        if name is not None and (state := self._exact(name)):
            return state
        names = self.names()
        fitting = names if name is None else [each for each in names if each.startswith(name)]
        if len(fitting) == 1 and (state := self._exact(fitting[0])):
            return state
        listed = ", ".join(fitting[:_SHOWN]) + (f", and {len(fitting) - _SHOWN} more" if len(fitting) > _SHOWN else "")
        if len(fitting) > 1:
            what = f"{name!r} begins the names of" if name is not None else "the archive holds"
            message = f"{what} {len(fitting)} transcripts: {listed}"
            raise Ambiguous(message, hint="say which: NAME#TURN, or NAME# for all of it", transcripts=fitting[:100])
        if name is None:
            message = "the archive holds no transcript" + (f" at capture {self._at}" if self._at is not None else "")
            raise NoSuchTranscript(message, transcript=None)
        raise NoSuchTranscript(f"no transcript is called {name}, or begins so", transcript=name)

    def _exact(self, name: str) -> State | None:
        if self._states is not None:
            return self._states.get(name.encode("utf-8", "surrogatepass"))
        number = self.record.number_of(name.encode("utf-8", "surrogatepass"))
        return None if number is None else self.record.state(number)

    def chosen(self, names: Sequence[str]) -> list[State]:
        """The transcripts that ``names`` mean, each once, in order of names; all where there are none."""
        if not names:
            return list(self.states())
        found = {state.name: state for state in map(self.pick, names)}
        return [found[name] for name in sorted(found)]

    def omitted(self, state: State) -> tuple[ByteRange, ...]:
        """The ranges of a transcript's source that are not held."""
        if state.complete:
            return ()
        return tuple(ByteRange(gap.start_byte, gap.end_byte) for gap in self.record.gaps(state.runs))
