"""Every refusal has one class, one code, one family with a status, and words for a person and for a program."""

from __future__ import annotations

import errno
import re

import pytest

from ctxarc import errors
from ctxarc.errors import STATUS_OF_FAMILY, Refusal, every_refusal, from_os_error

KINDS = every_refusal()
by_code = pytest.mark.parametrize("kind", KINDS, ids=[kind.code for kind in KINDS])


def _below(kind: type[Refusal]) -> list[type[Refusal]]:
    return [each for child in kind.__subclasses__() for each in (child, *_below(child))]


def _of_module() -> list[type[Refusal]]:
    return [kind for kind in _below(Refusal) if kind.__module__ == errors.__name__]


def test_codes_are_unique() -> None:
    codes = [kind.code for kind in KINDS]
    assert len(set(codes)) == len(codes)


def test_every_class_with_a_code_is_listed() -> None:
    assert {kind for kind in _of_module() if kind.code} == set(KINDS)


def test_families_and_statuses_are_the_same_both_ways() -> None:
    families = {kind.family for kind in _of_module() if not kind.code}
    assert families == set(STATUS_OF_FAMILY)
    assert {kind.family for kind in KINDS} == set(STATUS_OF_FAMILY)
    assert len(set(STATUS_OF_FAMILY.values())) == len(STATUS_OF_FAMILY)


@by_code
def test_a_refusal_is_one_leaf_below_one_family(kind: type[Refusal]) -> None:
    assert re.fullmatch("[A-Z]+(_[A-Z]+)*", kind.code)
    (family,) = kind.__bases__
    assert family.__bases__ == (Refusal,)
    assert "family" in vars(family)
    assert "family" not in vars(kind)
    assert kind.__subclasses__() == []


@by_code
def test_a_refusal_is_documented(kind: type[Refusal]) -> None:
    assert (kind.__doc__ or "").strip()
    assert kind.__doc__ != kind.__bases__[0].__doc__


@by_code
def test_a_refusal_says_the_same_to_a_program(kind: type[Refusal]) -> None:
    refusal = kind("42 is not 43", hint="try 43", wanted=43)
    assert refusal.status == STATUS_OF_FAMILY[kind.family]
    assert str(refusal) == "42 is not 43"
    assert refusal.as_json() == {
        "code": kind.code,
        "message": "42 is not 43",
        "hint": "try 43",
        "facts": {"wanted": 43},
    }


@by_code
def test_a_refusal_has_its_own_hint_where_none_is_given(kind: type[Refusal]) -> None:
    assert kind("no").hint == kind.default_hint
    assert kind("no", hint="").hint == ""


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (errno.ENOSPC, "NO_SPACE"),
        (errno.EDQUOT, "NO_SPACE"),
        (errno.EFBIG, "NO_SPACE"),
        (errno.EACCES, "PERMISSION_DENIED"),
        (errno.EPERM, "PERMISSION_DENIED"),
        (errno.EROFS, "PERMISSION_DENIED"),
        (errno.EIO, "IO_FAILED"),
        (errno.ENOENT, "IO_FAILED"),
    ],
)
def test_a_fault_of_the_system_has_a_name(number: int, code: str) -> None:
    refusal = from_os_error(OSError(number, "the system's words", "a/path"))
    assert (refusal.code, refusal.status) == (code, 6)
    assert refusal.message == "a/path: the system's words"
    assert refusal.facts == {"path": "a/path", "errno": number}


def test_a_fault_without_a_path_has_the_system_s_words_alone() -> None:
    assert from_os_error(OSError(errno.EIO, "broken")).message == "broken"
    assert from_os_error(OSError(errno.EIO, "broken"), "there").message == "there: broken"
