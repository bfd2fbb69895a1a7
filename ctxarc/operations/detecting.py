r"""Where secrets stand in turns, in raw bytes: as they lie there, and in the text that their JSON escapes mean.

A built-in rule is tried at its anchors in this process. An expression of a user runs in a process that is ended when it
takes too long; what it finds there is matched once more here, at the very place, to learn its groups, and that takes no
longer than it took there.
"""

from __future__ import annotations

import re
import warnings
from itertools import chain
from typing import TYPE_CHECKING, Self

from ctxarc.auxiliary.jsontext import decode
from ctxarc.auxiliary.secrets.rule import Rule, Rules, is_secret
from ctxarc.errors import BadPattern, BadUsage
from ctxarc.operations.matching import Matcher, matcher
from ctxarc.operations.secret_texts import Found, Secret, Text, bytes_of, escaped, gathered, texts_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

TIME_LIMIT = 10.0
"""Seconds that an expression of a user may take on a stretch of turns."""
_PROCESSES = 8
"""Processes for expressions of users that are kept."""
_ASCII = "(?a)"
_HIDING = re.compile(rb"\\u00[2-7]|\\/")
"""Escapes of characters that keywords may consist of."""


class Detector:
    """Finds secrets by ``rules``.

    Raises:
        BadPattern: an expression of a user cannot be compiled.
        BadUsage: a rule's secret is a group that its expression does not have.
        PatternTimeout: an expression of a user took longer than its limit.

    """

    def __init__(self, rules: Rules, time_limit: float = TIME_LIMIT) -> None:
        self.rules = rules
        self._limit = time_limit
        self._anchors: dict[int, re.Pattern[str]] = {}
        self._matchers: dict[int, Matcher] = {}
        self._allowing: Matcher | None = None
        self._check()
        self._always = [rank for rank, rule in enumerate(rules.rules) if not _is_told(rule)]
        self._keywords: dict[bytes, list[int]] = {}
        for rank, rule in enumerate(rules.rules):
            for keyword in rule.keywords if _is_told(rule) else ():
                self._keywords.setdefault(keyword.encode(), []).append(rank)

    def _check(self) -> None:
        given = [rule for rule in self.rules.rules if not rule.anchors]
        sources = [_ASCII + rule.regex for rule in given]
        try:
            self._open([*sources, *(_ASCII + each for each in self.rules.allowed)])
        except BadPattern:
            for rule in given:
                self._open_alone(rule.regex, f"rule {rule.id}")
            for number, each in enumerate(self.rules.allowed):
                self._open_alone(each, f"allowlist.regexes[{number}]")
            raise
        for rule in given:
            groups = _compiled(rule.regex).groups
            if rule.group is not None and rule.group > groups:
                message = f"rule {rule.id}: secretGroup is {rule.group}, and its expression has {groups} groups"
                raise BadUsage(message, hint="groups count from 1; 0 is all that matches", rule=rule.id, groups=groups)

    def _open(self, sources: Sequence[str]) -> None:
        if sources:
            with matcher(sources, regex=True, as_text=True, ignore_case=False, time_limit=self._limit):
                pass

    def _open_alone(self, source: str, what: str) -> None:
        try:
            self._open([source])
        except BadPattern as error:
            hint = "rules are matched as Python regular expressions"
            raise BadPattern(f"{what}: {error.message}", hint=hint, **error.facts) from error

    def secrets(self, turns: Sequence[bytes]) -> list[list[Secret]]:
        """The secrets in each turn, in order; those that lie over one another are one, named by the earliest rule."""
        found: list[Found] = []
        waiting: dict[int, list[Text]] = {}
        for number, raw in enumerate(turns):
            ranks = self._likely(raw)
            for text in texts_of(number, raw) if ranks else ():
                for rank in ranks:
                    if self.rules.rules[rank].anchors:
                        found += self._tried(rank, text)
                    else:
                        waiting.setdefault(rank, []).append(text)
        for rank, texts in waiting.items():
            found += self._asked(rank, texts)
        return gathered(len(turns), self._kept(found), self.rules)

    def _likely(self, raw: bytes) -> list[int]:
        """The rules that may find something in a turn, by their keywords."""
        lower = raw.lower()
        if _HIDING.search(raw):
            decoded = (decode(raw[each.start : each.end]) for each in escaped(raw))
            lower = b"\n".join(chain([lower], (text.encode().lower() for text in decoded)))
        ranks = set(self._always)
        for keyword, theirs in self._keywords.items():
            if keyword in lower:
                ranks.update(theirs)
        return sorted(ranks)

    def _tried(self, rank: int, within: Text) -> Iterator[Found]:
        """What a built-in rule finds."""
        rule, text, at = self.rules.rules[rank], within.text, 0
        if rank not in self._anchors:
            self._anchors[rank] = re.compile("|".join(map(re.escape, rule.anchors)))
        pattern = _compiled(rule.regex)
        for anchor in self._anchors[rank].finditer(text):
            if anchor.start() < at:
                continue
            for start in range(max(at, anchor.start() - rule.back), anchor.start() + 1):
                if match := pattern.match(text, start):
                    at = match.end()
                    yield Found(rank, within, *_secret_of(rule, match))
                    break

    def _asked(self, rank: int, texts: Sequence[Text]) -> Iterator[Found]:
        """What an expression of a user finds."""
        rule = self.rules.rules[rank]
        pattern = _compiled(rule.regex)
        for number, start, _ in self._matcher(rank).spans([bytes_of(each.text) for each in texts]):
            match = pattern.match(texts[number].text, start)
            if match:
                yield Found(rank, texts[number], *_secret_of(rule, match))

    def _matcher(self, rank: int) -> Matcher:
        found = self._matchers.pop(rank, None)
        if found is None:
            while len(self._matchers) >= _PROCESSES:
                oldest = next(iter(self._matchers))
                self._matchers.pop(oldest).__exit__()
            found = self._new_matcher([self.rules.rules[rank].regex])
        self._matchers[rank] = found
        return found

    def _new_matcher(self, sources: Sequence[str]) -> Matcher:
        sources = [_ASCII + each for each in sources]
        return matcher(sources, regex=True, as_text=True, ignore_case=False, time_limit=self._limit)

    def _kept(self, found: list[Found]) -> list[Found]:
        """Those that are secrets after all."""
        kept = [each for each in found if each.end > each.start and is_secret(self.rules.rules[each.rank], each.text)]
        if self.rules.stopwords:
            lower = ((each, each.text.lower()) for each in kept)
            kept = [each for each, text in lower if not any(word in text for word in self.rules.stopwords)]
        if self.rules.allowed and kept:
            self._allowing = self._allowing or self._new_matcher(self.rules.allowed)
            allowed = {number for number, _, _ in self._allowing.spans([bytes_of(each.text) for each in kept])}
            kept = [each for number, each in enumerate(kept) if number not in allowed]
        return kept

    def close(self) -> None:
        """End the processes."""
        for each in (*self._matchers.values(), self._allowing):
            if each:
                each.__exit__()
        self._matchers.clear()
        self._allowing = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _is_told(rule: Rule) -> bool:
    """Whether the raw bytes of a turn can tell that a rule finds nothing: its keywords stand there unless escaped."""
    return (
        bool(rule.keywords)
        and all(each.isascii() and each.isprintable() for each in rule.keywords)
        and not any(sign in each for each in rule.keywords for sign in '"\\')
    )


_known: dict[str, re.Pattern[str]] = {}


def _compiled(source: str) -> re.Pattern[str]:
    if source not in _known:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _known[source] = re.compile(_ASCII + source)
    return _known[source]


def _secret_of(rule: Rule, match: re.Match[str]) -> tuple[int, int]:
    if rule.group is not None:
        return match.span(rule.group)
    return next((match.span(number) for number in range(1, match.re.groups + 1) if match[number]), match.span())
