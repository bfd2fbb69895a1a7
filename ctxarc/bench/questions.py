"""Questions with their answers: spans of a transcript, or an anchor, an exact text that stands where the answer is."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from ctxarc.auxiliary.words.tokens import indexed
from ctxarc.errors import BadUsage, NoSuchTranscript
from ctxarc.operations.find import FindOptions, find
from ctxarc.operations.view import View
from ctxarc.preservation.record import Record

if TYPE_CHECKING:
    from pathlib import Path

_LEAST_WORD = 4
"""Characters of a word that a question may not share with its anchor."""
_COMMON = frozenset(
    re.findall(
        r"\w+",
        """
        about after also been before between both does each from have into just many more most much only other over
        said same should some such than that their them then there these they this those through under until very were
        what when where which while will with would your
        """,
    ),
)
"""Words that say nothing of what a text is about."""


_Lengths = dict[str, dict[int, int]]
"""The length of each turn that is held, in bytes, of each transcript."""


class Span(NamedTuple):
    """Bytes of a turn that answer a question."""

    transcript: str
    turn: int
    start: int
    end: int


class Question(NamedTuple):
    """A question and all spans that answer it."""

    id: str
    text: str
    spans: tuple[Span, ...]


def read_questions(path: Path, archive: Path) -> list[Question]:
    """The questions in a file: a JSON object a line, with ``question`` and ``spans`` or ``anchor``.

    ``spans`` are lists ``[turn, start, end]``; ``transcript`` says of which, where the archive holds several. An
    ``anchor`` is looked for in the text as people read it, and every place of it answers.

    Raises:
        BadUsage: a line says something else, a question shares words with its anchor, or an anchor stands nowhere.
        NoSuchTranscript: a span is of none.

    """
    found = []
    with Record(archive) as record:
        lengths = {
            state.name.decode(): {turn.number: turn.length for turn in record.turns(state)}
            for state in View(record).states()
        }
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        if line.strip():
            found.append(_question(line, f"{path}, line {number}", archive, lengths))
    if not found:
        raise BadUsage(f"{path}: no question in it", hint=_HINT)
    ids = [each.id for each in found]
    if len(set(ids)) < len(ids):
        twice = next(each for each in ids if ids.count(each) > 1)
        raise BadUsage(f"{path}: two questions have the id {twice}", hint=_HINT)
    return found


_HINT = 'a line is {"id": ..., "question": ..., "spans": [[TURN, START, END], ...]}, or has "anchor": TEXT for spans'


def _question(line: bytes, where: str, archive: Path, lengths: _Lengths) -> Question:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadUsage(f"{where}: not JSON ({error})", hint=_HINT) from error
    fields: dict[str, Any] = value if isinstance(value, dict) else {}
    text, id_ = fields.get("question"), str(fields.get("id", where.rpartition(" ")[2]))
    if not isinstance(text, str) or not text.strip():
        raise BadUsage(f"{where}: no question in it", hint=_HINT)
    if isinstance(fields.get("anchor"), str) and fields["anchor"].strip():
        return Question(id_, text, _anchored(archive, text, fields["anchor"], where))
    return Question(id_, text, _spans(fields, where, lengths))


def _spans(fields: dict[str, Any], where: str, lengths: _Lengths) -> tuple[Span, ...]:
    name = fields.get("transcript", next(iter(lengths)) if len(lengths) == 1 else None)
    if not isinstance(name, str) or name not in lengths:
        raise NoSuchTranscript(f"{where}: no transcript is called {name}", transcript=str(name))
    spans = fields.get("spans")
    if not isinstance(spans, list) or not spans:
        raise BadUsage(f"{where}: no spans in it", hint=_HINT)
    found = []
    for span in spans:
        if not (isinstance(span, list) and [type(each) for each in span] == [int, int, int]):
            raise BadUsage(f"{where}: {json.dumps(span)[:100]} is no span", hint=_HINT)
        turn, start, end = span
        length = lengths[name].get(turn)
        if length is None:
            raise BadUsage(f"{where}: turn {turn} is not held of {name}, which has {len(lengths[name])}", hint=_HINT)
        if not 0 <= start < end <= length:
            raise BadUsage(f"{where}: {start}-{end} is no range of turn {turn}, of {length} bytes", hint=_HINT)
        found.append(Span(name, turn, start, end))
    return tuple(found)


def _anchored(archive: Path, question: str, anchor: str, where: str) -> tuple[Span, ...]:
    shared = sorted(_words(question) & _words(anchor))
    if shared:
        message = f"{where}: the question shares {', '.join(shared[:5])} with its anchor, so that words alone find it"
        raise BadUsage(message, hint="ask in other words", shared=shared)
    hits = list(find(archive, FindOptions(patterns=(anchor,), as_read=True)))
    if not hits:
        raise BadUsage(f"{where}: the anchor {anchor[:60]!r} stands nowhere in the record", anchor=anchor)
    return tuple(Span(hit.transcript, hit.turn, hit.start_byte, hit.end_byte) for hit in hits)


def _words(text: str) -> set[str]:
    words = {word.strip(".,;:!?\"'()[]{}") for word in indexed(text.casefold()).split()}
    return {word for word in words if (len(word) >= _LEAST_WORD or not word.isascii()) and word not in _COMMON}
