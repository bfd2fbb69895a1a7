"""A file of rules: TOML in the shape of gitleaks', each value looked at before any of them counts."""

from __future__ import annotations

import tomllib
from collections import Counter
from typing import Any

from ctxarc.auxiliary.secrets.defaults import DEFAULT_RULES
from ctxarc.auxiliary.secrets.go_syntax import NoPythonSyntaxError, in_python
from ctxarc.auxiliary.secrets.rule import Rule, Rules
from ctxarc.errors import BadPattern, BadUsage

LARGEST = 1 << 20
"""Bytes that a file of rules may have."""
_MOST_RULES = 1000
_LONGEST_ID = 64
_LONGEST_REGEX = 10_000
_MOST_BITS = 32
_ID = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")

_TOP: dict[str, type] = {
    "title": str,
    "description": str,
    "minVersion": str,
    "extend": dict,
    "rules": list,
    "allowlist": dict,
}
_EXTEND: dict[str, type] = {"useDefault": bool, "disabledRules": list}
_ALLOWLIST: dict[str, type] = {"description": str, "regexes": list, "stopwords": list}
_RULE: dict[str, type] = {
    "id": str,
    "description": str,
    "regex": str,
    "secretGroup": int,
    "entropy": float,
    "keywords": list,
    "tags": list,
}
_IN_WORDS = {
    str: "a string",
    dict: "a table",
    list: "an array",
    bool: "true or false",
    int: "an integer",
    float: "a number",
}
_ABOUT = "rules are TOML: [[rules]] with id and regex; description, secretGroup, entropy, keywords, tags as in gitleaks"


def parse_rules(data: bytes, label: str) -> Rules:
    """The rules in a file.

    Args:
        data: its bytes.
        label: what messages call it.

    Raises:
        BadUsage: it is no TOML, or a key of it is unknown, or a value of the wrong type.
        BadPattern: an expression is one that Python does not know.

    """
    if len(data) > LARGEST:
        message = f"{label} has {len(data):,} bytes, and a file of rules may have {LARGEST:,}"
        raise BadUsage(message, hint=_ABOUT, rules=label, bytes=len(data))
    return _File(label).rules(_loaded(data, label))


def _loaded(data: bytes, label: str) -> dict[str, Any]:
    try:
        return tomllib.loads(data.decode("utf-8-sig").replace("\r\n", "\n"))
    except UnicodeDecodeError as error:
        message = f"{label}: no UTF-8 at byte {error.start}"
        raise BadUsage(message, hint=_ABOUT, rules=label) from error
    except tomllib.TOMLDecodeError as error:
        raise BadUsage(f"{label} is no TOML: {error}", hint=_ABOUT, rules=label) from error
    except (RecursionError, ValueError) as error:  # nested too deep, or an integer of too many digits
        raise BadUsage(f"{label}: a value goes beyond what is read", hint=_ABOUT, rules=label) from error


class _File:
    def __init__(self, label: str) -> None:
        self._label = label

    def rules(self, table: dict[str, Any]) -> Rules:
        self._check(table, _TOP, "")
        given = table.get("rules", [])
        if len(given) > _MOST_RULES:
            raise self._fault("rules", f"{len(given):,} rules, and at most {_MOST_RULES:,} are taken")
        found = [self._rule(each, f"rules[{number}]") for number, each in enumerate(given)]
        found += self._extended(table.get("extend", {}), {rule.id for rule in found})
        if not found:
            raise self._fault("rules", "there is no rule")
        twice = [name for name, count in Counter(rule.id for rule in found if not rule.anchors).items() if count > 1]
        if twice:
            raise self._fault("rules", f"two rules have the id {twice[0]}")
        allow = table.get("allowlist", {})
        self._check(allow, _ALLOWLIST, "allowlist.")
        regexes = self._strings(allow, "regexes", "allowlist.")
        allowed = [self._regex(each, f"allowlist.regexes[{number}]") for number, each in enumerate(regexes)]
        stopwords = [word.lower() for word in self._strings(allow, "stopwords", "allowlist.")]
        return Rules(tuple(found), tuple(allowed), tuple(stopwords))

    def _extended(self, extend: dict[str, Any], own: set[str]) -> list[Rule]:
        """The built-in rules that count too: of the same id, that of the file counts."""
        self._check(extend, _EXTEND, "extend.")
        disabled = self._strings(extend, "disabledRules", "extend.")
        known = {rule.id for rule in DEFAULT_RULES.rules}
        for number, name in enumerate(disabled):
            if name not in known:
                raise self._fault(f"extend.disabledRules[{number}]", f"no built-in rule has the id {name!r}")
        if not extend.get("useDefault", False):
            return []
        return [rule for rule in DEFAULT_RULES.rules if rule.id not in own and rule.id not in disabled]

    def _rule(self, table: Any, place: str) -> Rule:  # noqa: ANN401 - as the file has it
        if not isinstance(table, dict):
            raise self._fault(place, "a table is needed")
        self._check(table, _RULE, f"{place}.")
        for name in ("id", "regex"):
            if not table.get(name):
                raise self._fault(f"{place}.{name}", "every rule needs one")
        name, group, bits = table["id"], table.get("secretGroup"), float(table.get("entropy", 0))
        if not _ID.issuperset(name) or len(name) > _LONGEST_ID:
            what = f"an id is 1 to {_LONGEST_ID} ASCII letters, digits, '.', '_' and '-'"
            raise self._fault(f"{place}.id", f"{name[:80]!r}: {what}, since it stands in place of what is redacted")
        if not 0 <= bits <= _MOST_BITS:
            raise self._fault(f"{place}.entropy", f"{bits:g} is no number of bits a character from 0 to {_MOST_BITS}")
        if group is not None and group < 0:
            raise self._fault(f"{place}.secretGroup", f"{group} is no number of a group")
        self._strings(table, "tags", f"{place}.")
        return Rule(
            id=name,
            description=table.get("description", ""),
            regex=self._regex(table["regex"], f"{place}.regex"),
            keywords=tuple(word.lower() for word in self._strings(table, "keywords", f"{place}.")),
            group=group,
            entropy=bits,
        )

    def _regex(self, source: str, place: str) -> str:
        if len(source) > _LONGEST_REGEX:
            raise self._fault(place, f"{len(source):,} characters, and an expression may have {_LONGEST_REGEX:,}")
        if not source or "\0" in source or not _encodes(source):
            raise self._fault(place, "an expression is needed")
        try:
            return in_python(source)
        except NoPythonSyntaxError as error:
            message = f"{self._label}: {place}: {error}"
            hint = "write it in another way: rules are matched as Python regular expressions"
            raise BadPattern(message, hint=hint, rules=self._label, place=place, feature=error.feature) from error

    def _check(self, table: dict[str, Any], known: dict[str, type], prefix: str) -> None:
        """Refuse keys that are not known and values of other types."""
        for name, value in table.items():
            if name not in known:
                place = prefix + name[:80]
                raise self._fault(place, f"no such key is known; there are {', '.join(known)}")
            kind = known[name]
            fits = isinstance(value, (int, float) if kind is float else kind)
            if not fits or (isinstance(value, bool) and kind is not bool):
                raise self._fault(prefix + name, f"{_IN_WORDS[kind]} is needed")

    def _strings(self, table: dict[str, Any], name: str, prefix: str) -> list[str]:
        values = table.get(name, [])
        for number, value in enumerate(values):
            if not isinstance(value, str) or not value:
                raise self._fault(f"{prefix}{name}[{number}]", "a string that is not empty is needed")
        return list(values)

    def _fault(self, place: str, what: str) -> BadUsage:
        return BadUsage(f"{self._label}: {place}: {what}", hint=_ABOUT, rules=self._label, place=place)


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
