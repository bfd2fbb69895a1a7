"""``cite``: a quotation that stands in the record, or the nearest place and each difference; never a guess."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cases import held, noise, one, refused, run, said, session, sha, stored, turns_of
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxarc.auxiliary.jsontext import decode
from ctxarc.operations.aligning import Aligner, hunks, in_order, tokens
from ctxarc.operations.cite import CiteOptions, cite
from ctxarc.operations.library import open_archive
from ctxarc.operations.quoting import LONGEST
from ctxarc.operations.spacing import Spaced

if TYPE_CHECKING:
    from ctxarc.model import CiteNearest, CiteResult

SPEECH = (
    "We moved the orchard\u2019s ledger to the cellar, because the attic leaked in March.\n"
    'The keeper said: "count every crate twice", and nobody counted them \u2014 not once.\n'
    "By autumn the numbers were wrong by forty crates of pears."
)
CHINESE = "我们把果园的账本搬到了地窖，因为阁楼漏水。"
DATA = session(5) + said(SPEECH, "assistant", second=9) + said(CHINESE, second=10) + said("The end. " * 3, second=11)
TURNS = turns_of(DATA)


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive that no test changes."""
    path = tmp_path_factory.mktemp("cite") / "a.ctxa"
    stored(path, DATA)
    return path


def made(path: Path, data: bytes, name: str = "s", **options: bool | int) -> Path:
    stored(path / "a.ctxa", data, name, **options)
    return path / "a.ctxa"


def places(result: CiteResult) -> list[tuple[int, int, int]]:
    return [(hit.turn, hit.start_byte, hit.end_byte) for hit in result.hits]


def near(archive: Path, quote: str | bytes) -> CiteNearest:
    """The nearest place, its address, its text and all its differences proved on the raw turn."""
    result = cite(archive, quote)
    assert (result.exact, result.how, result.places, result.hits) == (False, None, 0, ())
    found = result.nearest
    assert found is not None
    raw = held(archive, f"{found.transcript}#{found.turn}")
    assert sha(raw) == found.turn_sha256
    assert found.cite == f"ctxa:{found.turn_sha256}:{found.start_byte}-{found.end_byte}"
    assert decode(raw[found.start_byte : found.end_byte]) == found.text
    assert found.similarity == round(found.words_in_order / found.words, 4) >= 0.5
    text = quote if isinstance(quote, str) else quote.decode("utf-8", "surrogateescape")
    assert found.differences
    for each in found.differences:
        assert text[each.quote_start : each.quote_end] == each.quoted
        assert found.text[each.text_start : each.text_end] == each.found
        assert decode(raw[each.start_byte : each.end_byte]) == each.found
        assert each.kind == ("replaced" if each.quoted and each.found else "missing" if each.quoted else "added")
        assert each.quoted or each.found
    assert mended(text, found).split() == found.text.split()
    return found


def mended(quote: str, found: CiteNearest) -> str:
    """The quotation with every difference made good."""
    parts, at = [], 0
    for each in found.differences:
        assert each.quote_start >= at
        parts += [quote[at : each.quote_start], each.found]
        at = each.quote_end
    return "".join([*parts, quote[at:]])


def changes(found: CiteNearest) -> list[tuple[str, str, str]]:
    return [(each.kind, each.quoted, each.found) for each in found.differences]


# -------------------------------------------------------------------------------------------------------------- exact


def test_the_very_bytes_are_found_with_where_and_who(archive: Path) -> None:
    result = cite(archive, "apples, remark 3")
    assert (result.exact, result.how, result.places, result.nearest) == (True, "raw", 1, None)
    assert (result.quote_bytes, result.searched_turns, result.searched_bytes) == (16, len(TURNS), len(DATA))
    (hit,) = result.hits
    at = TURNS[3].index(b"apples")
    assert (hit.transcript, hit.turn, hit.start_byte, hit.end_byte) == ("s", 3, at, at + 16)
    assert (hit.role, hit.time, hit.complete) == ("assistant", "2026-03-04T05:00:03.000Z", True)
    assert hit.turn_sha256 == sha(TURNS[3])
    assert held(archive, hit.cite) == b"apples, remark 3"
    assert hit.text == "apples, remark 3" or "apples, remark 3" in hit.text


def test_raw_escapes_are_found_as_they_stand(archive: Path) -> None:
    quote = json.dumps(SPEECH)[1:-1]
    result = cite(archive, quote)
    assert result.how == "raw"
    assert held(archive, result.hits[0].cite).decode() == quote


def test_text_with_escapes_is_found_as_people_read_it(archive: Path) -> None:
    quote = 'March.\nThe keeper said: "count every crate twice"'
    result = cite(archive, quote)
    assert (result.exact, result.how, result.places) == (True, "text", 1)
    assert decode(held(archive, result.hits[0].cite)) == quote
    assert quote in result.hits[0].text


def test_a_quotation_that_was_wrapped_again_is_found(archive: Path) -> None:
    quote = '  the attic leaked\n  in March. The\tkeeper said:\r\n"count every\ncrate twice",\n'
    result = cite(archive, quote)
    assert (result.exact, result.how, result.places) == (True, "spacing", 1)
    text = decode(held(archive, result.hits[0].cite))
    assert text == 'the attic leaked in March.\nThe keeper said: "count every crate twice",'


def test_the_closest_way_to_stand_in_the_record_is_the_answer(tmp_path: Path) -> None:
    archive = made(tmp_path, said("one two") + said("one\ntwo") + said("one  two"))
    assert (cite(archive, "one two").how, places(cite(archive, "one two"))[0][0]) == ("raw", 0)
    assert (cite(archive, "one\ntwo").how, places(cite(archive, "one\ntwo"))[0][0]) == ("text", 1)
    loose = cite(archive, "one\r\ntwo")
    assert (loose.how, [hit.turn for hit in loose.hits]) == ("spacing", [0, 1, 2])


def test_every_place_is_counted_and_the_first_are_listed(tmp_path: Path) -> None:
    data = said("pear, pear") + said("plum") + said("pear", second=2)
    archive = made(tmp_path, data + data, "b")
    made(tmp_path, said("pear", second=7) + said("the last", second=8), "a")
    for options in (CiteOptions(most=1), CiteOptions(most=4), CiteOptions()):
        result = cite(archive, "pear", options)
        assert result.places == 7
        wanted = [("a", 0), ("b", 0), ("b", 0), ("b", 2), ("b", 3), ("b", 3), ("b", 5)]
        assert [(hit.transcript, hit.turn) for hit in result.hits] == wanted[: options.most]
    result = cite(archive, "pear", CiteOptions(names=("b",)))
    assert (result.places, {hit.transcript for hit in result.hits}) == (6, {"b"})
    loose = cite(archive, "pear,\npear", CiteOptions(most=1))
    assert (loose.how, loose.places, len(loose.hits)) == ("spacing", 2, 1)


def test_bytes_that_are_not_utf8_stand_in_the_raw_record_alone(tmp_path: Path) -> None:
    archive = made(tmp_path, b"tail \xfe of it\nred \xff blue green\n")
    assert places(cite(archive, b"red \xff blue")) == [(1, 0, 10)]
    assert cite(archive, b"tail \xff of it").exact is False
    assert changes(near(archive, b"tail \xff of it")) == [("replaced", "\udcff", "\ufffd")]
    assert cite(archive, "tail \ufffd of it").how == "text"


def test_white_space_that_is_not_plain_is_a_difference(tmp_path: Path) -> None:
    archive = made(tmp_path, said("forty\u00a0crates of pears"))
    assert cite(archive, "forty\u00a0crates of\npears").how == "spacing"
    assert changes(near(archive, "forty crates of pears")) == [("replaced", " ", "\u00a0")]


def test_the_state_after_a_capture_is_searched_with_at(tmp_path: Path) -> None:
    archive = made(tmp_path, session(2))
    made(tmp_path, session(2) + said("a late remark on plums"))
    assert cite(archive, "remark on plums").places == 1
    assert cite(archive, "remark on plums", CiteOptions(at=2)).places == 1
    before = cite(archive, "remark on plums", CiteOptions(at=1))
    assert (before.exact, before.searched_turns, before.nearest) == (False, 2, None)


# ------------------------------------------------------------------------------------------------------------ nearest


def test_a_word_that_differs_is_named_with_its_bytes(archive: Path) -> None:
    found = near(archive, "because the attic burned in March.")
    assert changes(found) == [("replaced", "burned", "leaked")]
    (difference,) = found.differences
    assert (difference.quote_start, difference.quote_end) == (18, 24)
    assert TURNS[5][difference.start_byte : difference.end_byte] == b"leaked"
    assert (found.turn, found.role, found.time) == (5, "assistant", "2026-03-04T05:00:09.000Z")
    assert (found.words, found.words_in_order, found.similarity) == (6, 5, 0.8333)
    assert found.text == "because the attic leaked in March."


@pytest.mark.parametrize(
    ("quote", "expected"),
    [
        ("ledger to the damp cellar, because the attic", [("missing", "damp ", "")]),
        ("ledger to cellar, because the attic leaked", [("added", "", "the ")]),
        ("the orchard's ledger to the cellar", [("replaced", "'", "\u2019")]),
        ("nobody counted them -- not once", [("replaced", "--", "\u2014")]),
        ("nobody counted them - not once", [("replaced", "-", "\u2014")]),
        ("Count every crate twice", [("replaced", "Count", "count")]),
        ("COUNT EVERY CRATE twice", [("replaced", a.upper(), a) for a in ("count", "every", "crate")]),
        ("\u201ccount every crate twice\u201d, and", [("replaced", "\u201c", '"'), ("replaced", "\u201d", '"')]),
        ("Many numbers were wrong by forty crates", [("replaced", "Many", "the")]),
        ("wrong by forty crates of pears and more", [("replaced", " and more", ".")]),
        ("wrong by forty crates of pears!", [("replaced", "!", ".")]),
        ("wrong by forty crates , of pears", [("missing", ", ", "")]),
        ("wrong byforty crates of pears", [("replaced", "byforty", "by forty")]),
        ('said:"count every crate twice"', [("added", "", " ")]),
    ],
)
def test_each_kind_of_difference_is_named(quote: str, expected: list[tuple[str, str, str]], archive: Path) -> None:
    found = near(archive, quote)
    assert found.turn == 5
    assert changes(found) == expected


@pytest.mark.parametrize("mark", ["...", "\u2026", "[...]", "[\u2026]"])
def test_what_an_ellipsis_leaves_out_is_named(mark: str, archive: Path) -> None:
    found = near(archive, f"We moved the orchard\u2019s ledger {mark} the numbers\nwere wrong")
    ((kind, quoted, left_out),) = changes(found)
    assert (kind, quoted) == ("replaced", mark)
    assert left_out.startswith("to the cellar")
    assert left_out.endswith("By autumn")
    assert found.similarity == 1


def test_an_ellipsis_at_an_end_is_a_difference_too(archive: Path) -> None:
    assert changes(near(archive, "...count every crate twice")) == [("missing", "...", "")]
    assert changes(near(archive, "[...] count every crate twice [...]")) == [
        ("missing", "[...] ", ""),
        ("missing", " [...]", ""),
    ]
    assert changes(near(archive, "forty ... pears ... numbers")) != []


def test_writing_without_spaces_is_compared_by_character(archive: Path) -> None:
    quote = CHINESE.replace("阁楼", "屋顶")
    found = near(archive, quote)
    assert (found.turn, changes(found)) == (6, [("replaced", "屋顶", "阁楼")])
    assert decode(held(archive, found.cite)) == found.text
    assert cite(archive, CHINESE[2:9]).how == "text"


def test_a_quotation_across_two_turns_shows_the_better_half(archive: Path) -> None:
    quote = "forty crates of pears." + "\n" + CHINESE
    found = near(archive, quote)
    assert found.turn == 6
    assert found.text == CHINESE
    assert changes(found) == [("missing", "forty crates of pears.\n", "")]


@pytest.mark.parametrize("quote", ["submarines never whistle at midnight", "zzyzx", "?!?!", "\u03a9\u03a8"])
def test_where_nothing_is_near_none_is_named(quote: str, archive: Path) -> None:
    result = cite(archive, quote)
    assert (result.exact, result.places, result.nearest) == (False, 0, None)


def test_half_of_the_words_in_order_are_near_and_fewer_are_not(archive: Path) -> None:
    assert near(archive, "the attic leaked submarines never whistle").similarity == 0.5
    assert cite(archive, "the attic submarines never whistle").nearest is None
    assert cite(archive, "March in leaked attic the").nearest is None


def test_turns_that_are_not_json_are_searched(tmp_path: Path) -> None:
    archive = made(tmp_path, b"plain words of a log, line one\nplain words of a log, line two\r\n\n")
    assert cite(archive, "log,  line two").how == "spacing"
    found = near(archive, "plain word of a log, line two")
    assert (found.turn, found.start_byte, changes(found)) == (1, 0, [("replaced", "word", "words")])


def test_the_first_of_equally_near_places_is_named(tmp_path: Path) -> None:
    text = "seven grey herons stood in the shallow water"
    archive = made(tmp_path, said(f"X {text}") + said(text) + said(text, second=3))
    found = near(archive, text.replace("grey", "white"))
    assert (found.turn, found.text) == (0, text)
    assert near(archive, text.upper()).words_in_order == 8


def test_a_place_in_a_long_string_is_found_wherever_it_lies(tmp_path: Path) -> None:
    filler = " ".join(f"w{number}" for number in range(60_000))
    for least in (0, 100_000, 262_144, len(filler)):
        at = max(filler.find(" ", least), least)
        text = f"{filler[:at]} the heron ate seven small silver fish {filler[at:]}\u00e9"
        (tmp_path / str(at)).mkdir()
        found = near(made(tmp_path / str(at), said(text)), "the heron ate eight small silver fish")
        assert changes(found) == [("replaced", "eight", "seven")]
        assert found.text == "the heron ate seven small silver fish"


def test_a_long_quotation_is_compared_to_its_end(tmp_path: Path) -> None:
    pick = noise(3)
    words = [f"{pick.choice('abcdefgh')}{pick.randrange(900)}" for _ in range(9_000)]
    archive = made(tmp_path, said("before. " + " ".join(words) + " after."))
    changed = [f"new{at}" if at % 500 == 250 else word for at, word in enumerate(words)]
    found = near(archive, " ".join(changed))
    assert changes(found) == [("replaced", f"new{at}", words[at]) for at in range(250, 9_000, 500)]


# ------------------------------------------------------------------------------------------------- hostile quotations


@pytest.mark.parametrize("unit", ["a ", "a", "the of ", "... ", "\u679c", "- ", "a...", "[...]x "])
def test_a_quotation_of_one_thing_repeated_is_answered(unit: str, tmp_path: Path) -> None:
    quote = (unit * LONGEST)[: LONGEST // len(unit.encode()) // 2 * len(unit)]
    text = (quote[: len(quote) // 2] + "!") * 8
    result = cite(made(tmp_path, said(text) + said("b a " * 9_000, second=2)), quote + "?")
    assert result.exact is False
    assert result.quote_bytes == len(quote.encode()) + 1


def test_many_short_strings_and_a_deep_line_are_searched(tmp_path: Path) -> None:
    data = b"[" + b'"ab","a b",' * 40_000 + b'"a  red b"]\n' + b"[" * 50_000 + b'"the red kite"\n'
    archive = made(tmp_path, data)
    assert cite(archive, "a red b").how == "spacing"
    assert cite(archive, "a\nb").places == 40_000
    assert changes(near(archive, "the red hawk")) == [("replaced", "hawk", "kite")]


@pytest.mark.parametrize("quote", ["", " ", "\n\t ", b"", b" \r\n"])
def test_an_empty_quotation_is_refused(quote: str | bytes, archive: Path) -> None:
    refusal = refused(lambda: cite(archive, quote))
    assert (refusal.code, refusal.status) == ("USAGE", 2)


def test_a_quotation_that_is_too_long_is_refused(archive: Path) -> None:
    assert cite(archive, "x" * LONGEST).exact is False
    refusal = refused(lambda: cite(archive, "x" * (LONGEST + 1)))
    assert (refusal.code, refusal.facts) == ("USAGE", {"limit": LONGEST})
    assert refused(lambda: cite(archive, "\u00e9" * (LONGEST // 2 + 1))).code == "USAGE"
    assert refused(lambda: cite(archive, "x", CiteOptions(most=0))).code == "USAGE"


@pytest.mark.parametrize("quote", ["\ud800 remark", "apples, \ud800 remark", "\udcff apples, remark"])
def test_lone_surrogates_are_quoted_like_anything_else(quote: str, archive: Path) -> None:
    assert cite(archive, quote).exact is False


# -------------------------------------------------------------------------------------------------- parts, on their own


@settings(max_examples=200, deadline=None)
@given(
    st.text(st.sampled_from("ab \n\u00a0\u00e9\u6211.,'\u2019-\u2014\u2026[")),
    st.text(st.sampled_from("ab \n\u6211.'\u2014[\u00a0")),
)
def test_the_differences_turn_one_text_into_the_other(quote: str, text: str) -> None:
    own, others = list(tokens(quote)), list(tokens(text))
    if not own or not others:
        return
    chain = in_order([token.key for token in own], [token.key for token in others])
    for one_, other in pairwise(chain):
        assert one_[0] < other[0]
        assert one_[1] < other[1]
    start, end = others[0].start, others[-1].end
    parts, at = [], 0
    for hunk in hunks(quote, text, [(own[i], others[j]) for i, j in chain], start, end):
        parts += [quote[at : hunk.quote_start], text[hunk.start : hunk.end]]
        at = hunk.quote_end
    plain = "".join([*parts, quote[at:]]).strip(" \n")
    assert Spaced(plain).data == Spaced(text[start:end].strip(" \n")).data


def longest(a: str, b: str) -> int:
    """The length of a longest common subsequence, in the plainest way there is."""
    row = [0] * (len(b) + 1)
    for x in a:
        before = row.copy()
        for at, y in enumerate(b):
            row[at + 1] = before[at] + 1 if x == y else max(before[at + 1], row[at])
    return row[-1]


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from("abc"), max_size=30), st.text(st.sampled_from("abcd"), max_size=30))
def test_a_longest_row_in_order_is_found(a: str, b: str) -> None:
    chain = in_order(a, b)
    assert len(chain) == longest(a, b)
    assert all(a[i] == b[j] for i, j in chain)
    assert chain == sorted(set(chain))


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from("a\u00e9\u6211\U0001f350 \n\t\u00a0"), max_size=30), st.data())
def test_a_place_with_its_white_space_folded_is_found_in_the_text(text: str, data: st.DataObject) -> None:
    words = [word for word in text.replace("\n", " ").replace("\t", " ").split(" ") if word]
    if not words:
        return
    first = data.draw(st.integers(0, len(words) - 1))
    last = data.draw(st.integers(first, len(words) - 1))
    wanted = " ".join(words[first : last + 1])
    folded = Spaced(text)
    at = folded.data.find(wanted.encode())
    ((start, end),) = folded.places([(at, at + len(wanted.encode()))])
    assert " ".join(text[start:end].replace("\n", " ").replace("\t", " ").split(" ")).split() == wanted.split()
    assert not text[start].isspace() or text[start] == "\u00a0"


def test_a_quotation_beside_text_that_has_none_of_it_is_no_alignment() -> None:
    assert Aligner("red").align("blue", list(tokens("blue"))) is None
    assert Aligner("red").align("", []) is None


# ------------------------------------------------------------------------------------------------------- command line


def test_places_are_printed_as_find_prints_them(archive: Path) -> None:
    done = run("cite", archive, "apples, remark")
    assert done.returncode == 0
    assert done.stdout == run("find", archive, "apples, remark").stdout
    assert run("cite", archive, "-", stdin=b"apples, remark\n").stdout == done.stdout
    few = run("cite", archive, "apples, remark", "-m", "2")
    assert few.stdout.splitlines() == done.stdout.splitlines()[:2]
    assert few.stderr == b"3 more places\n"
    assert run("cite", archive, "apples, remark", "-q").stdout == b""


def test_stdin_is_taken_byte_for_byte_but_for_one_last_line_feed(archive: Path) -> None:
    for stdin, size in ((b"The end.", 8), (b"The end.\n", 8), (b"The end.\n\n", 9), (b"The end.\r\n", 9)):
        assert one(run("cite", archive, "-", "--json", stdin=stdin))["quote_bytes"] == size
    assert run("cite", archive, "-", stdin=b"\n").returncode == 2
    assert run("cite", archive, "-", stdin=b"x" * (LONGEST + 9)).returncode == 2
    done = run("cite", archive, "-", "--json", stdin=b"The \xff end.\n")
    assert done.returncode == 1
    assert one(done)["exact"] is False


def test_the_json_of_an_exact_quotation(archive: Path) -> None:
    done = run("cite", archive, "remark 3", "--json")
    got = one(done)
    assert (done.returncode, got["ok"], got["exact"], got["how"], got["places"]) == (0, True, True, "raw", 1)
    assert set(got) == {
        *("schema", "ok", "archive", "archive_digest", "quote_bytes", "exact", "how", "places", "hits", "nearest"),
        *("searched_turns", "searched_bytes", "complete", "omitted"),
    }
    assert (got["nearest"], got["complete"], got["omitted"]) == (None, True, [])
    (hit,) = got["hits"]
    assert set(hit) == {
        *("transcript", "turn", "role", "time", "start_byte", "end_byte", "turn_sha256", "digest_verified"),
        *("cite", "complete", "text"),
    }
    assert run("cat", archive, hit["cite"]).stdout == b"remark 3"


def test_the_json_of_a_quotation_that_differs(archive: Path) -> None:
    done = run("cite", archive, "because the attic burned in March.", "--json")
    got = one(done)
    assert (done.returncode, got["ok"], got["exact"], got["how"], got["hits"]) == (1, True, False, None, [])
    nearest = got["nearest"]
    assert nearest["differences"] == [
        {
            "kind": "replaced",
            "quote_start": 18,
            "quote_end": 24,
            "quoted": "burned",
            "found": "leaked",
            "text_start": 18,
            "text_end": 24,
            "start_byte": TURNS[5].index(b"leaked"),
            "end_byte": TURNS[5].index(b"leaked") + 6,
        }
    ]
    assert run("cat", archive, nearest["cite"]).stdout.decode() == nearest["text"]
    assert one(run("cite", archive, "submarines whistle", "--json"))["nearest"] is None


def test_differences_are_readable_in_black_and_white(archive: Path) -> None:
    done = run("cite", archive, "because the attic burned in Spring.")
    first, place, *lines = done.stdout.decode().splitlines()
    assert (done.returncode, first) == (1, "not in the record as quoted; nearest:")
    at = TURNS[5].index(b"because")
    assert place.startswith(f"5:{at}-")
    assert lines == [
        "- quoted: because the attic [burned] in Spring.",
        "+ found:  because the attic [leaked] in March.",
        "- quoted: use the attic burned in [Spring].",
        "+ found:  use the attic leaked in [March].",
    ]
    done = run("cite", archive, "submarines whistle")
    assert (done.returncode, done.stdout) == (1, b"not in the record, and nothing near it\n")


def test_nothing_acts_on_a_terminal(tmp_path: Path) -> None:
    archive = made(tmp_path, said("red \x1b[31m green \u202e blue and yellow"), "n\u202ename")
    made(tmp_path, said("other"), "other")
    for quote in ("red \x1b[32m green \u202e blue and yellow", "red \x1b[31m green \u202e  blue"):
        done = run("cite", archive, quote)
        assert done.stdout
        for sign in ("\x1b", "\u202e"):
            assert sign.encode() not in done.stdout + done.stderr
            assert sign.encode() not in run("cite", archive, quote, "--json").stdout


def test_a_partial_transcript_is_said_to_be_partial(tmp_path: Path) -> None:
    archive = made(tmp_path, session(9), max_bytes=400, allow_truncation=True)
    done = run("cite", archive, "apples, remark 1")
    assert done.returncode == 1
    assert b"s is incomplete: bytes 0 to " in done.stderr
    got = one(run("cite", archive, "apples, remark 1", "--json"))
    assert (got["exact"], got["complete"], got["nearest"]["complete"]) == (False, False, False)
    assert got["omitted"][0]["start_byte"] == 0
    assert got["searched_turns"] < 9
    got = one(run("cite", archive, "apples, remark 8", "--json"))
    assert (got["exact"], got["complete"], got["hits"][0]["complete"]) == (True, False, False)


def test_options_and_refusals(archive: Path) -> None:
    assert run("cite", archive, "remark", "--transcript", "s").returncode == 0
    assert run("cite", archive, "remark", "--transcript", "absent").returncode == 5
    assert run("cite", archive, "remark", "--at", "9").returncode == 5
    assert run("cite", archive, "").returncode == 2
    assert run("cite", archive, "remark", "-m", "0").returncode == 2
    assert run("cite", archive).returncode == 2


def test_the_library_answers_as_the_command_does(archive: Path) -> None:
    result = open_archive(archive).cite("remark 3", options=CiteOptions(most=1))
    assert result == cite(archive, b"remark 3", CiteOptions(most=1))
