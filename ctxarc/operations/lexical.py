"""The lexical channel: segments ranked by the words of a question.

What the word index of the scheme does not cover is indexed in memory, so that a question is answered right after the
first capture; nothing is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxarc.auxiliary.projection import views
from ctxarc.auxiliary.words.part import MemoryPart, PartWriter
from ctxarc.auxiliary.words.search import search
from ctxarc.operations.folding import Ranked
from ctxarc.operations.progress import quiet, told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ctxarc.operations.progress import Progress
    from ctxarc.operations.scope import Scope


class Lexical:
    """The word index of a scope, whole: from the archive, and in memory where it has none."""

    def __init__(self, scope: Scope, progress: Progress = quiet) -> None:
        self._scope = scope
        self._progress = progress
        segments, words = scope.segments, scope.segments.words
        missing = [number for number, first in scope.firsts.items() if not segments.has_words(first.turn)]
        if words and any(map(words.holds, missing)):
            # The words that are held are of other cuts: none of them is used, so that no segment is found twice.
            words, missing = None, list(scope.firsts)
        self._parts = [*(words.word_parts if words else ()), *self._in_memory(sorted(missing))]

    def _in_memory(self, missing: list[int]) -> Iterator[MemoryPart]:
        writer: PartWriter | None = None
        at = -1
        turns = (self._scope.firsts[number].turn for number in missing)
        for turn in told(turns, self._progress, "looking up words"):
            number = turn.object
            if writer and (number != at or writer.full):
                yield MemoryPart(writer)
                writer = None
            writer = writer or PartWriter(number)
            ends = self._scope.segments.ends(turn)
            raw = bytes(self._scope.record.turn_bytes(number))
            writer.add(turn.digest, ends, [text for _, _, text in views(raw, ends)])
            at = number + 1
        if writer:
            yield MemoryPart(writer)

    def leading(self, question: str, number: int) -> list[Ranked]:
        """The best ``number`` segments, in order; fewer where no more has a word of the question."""
        found = search(self._parts, question, live=self._scope.firsts.__contains__, limit=number)
        return [Ranked(*match) for match in found]
