"""Words: what is found by which question, ranked as if an index were one part, and what a damaged index is called.

BM25 is computed here a second time, in the plainest way, over the same tokens.
"""

from __future__ import annotations

import math
import sqlite3
from array import array
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import zstandard
from cases import noise, refused, said, session, sound, stored, tree
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ctxarc.auxiliary.projection import PROJECTION
from ctxarc.auxiliary.segments.part import Cuts, little
from ctxarc.auxiliary.words import database as database_module
from ctxarc.auxiliary.words import index as word_index
from ctxarc.auxiliary.words import part as part_module
from ctxarc.auxiliary.words.database import connect, terms_of
from ctxarc.auxiliary.words.index import Words
from ctxarc.auxiliary.words.part import DATABASE_LIMIT, MAGIC, MemoryPart, PartWriter, WordPart
from ctxarc.auxiliary.words.search import K1, B, Match, search
from ctxarc.auxiliary.words.tokens import INDEXED_LIMIT, indexed
from ctxarc.errors import Damage, Refusal
from ctxarc.operations.segment import segment
from ctxarc.operations.verify import verify

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

SCHEME = "whole-turn-v1"
LABEL = f"words/{SCHEME}/000000000000-000000000002.fts"


def writer_of(objects: Iterable[Sequence[str]], first: int = 0) -> PartWriter:
    """A part of objects with such texts; each segment has ten bytes."""
    writer = PartWriter(first)
    for number, texts in enumerate(objects, first):
        writer.add(number.to_bytes(32, "big"), [10 * at + 10 for at in range(len(texts))], texts)
    return writer


def parts_of(objects: Sequence[Sequence[str]], sizes: Sequence[int] = ()) -> list[MemoryPart]:
    """Parts of that many objects each, and one of those that are left."""
    parts, at = [], 0
    for size in (*sizes, len(objects)):
        if objects[at : at + size]:
            parts.append(MemoryPart(writer_of(objects[at : at + size], at)))
        at += size
    return parts


def ask(texts: Sequence[str], question: str, limit: int = 100) -> list[Match]:
    """What a question finds among texts, each of which is an object."""
    return search(parts_of([[text] for text in texts]), question, live=lambda _: True, limit=limit)


def found(texts: Sequence[str], question: str) -> list[int]:
    return [match.object for match in ask(texts, question)]


OTHERS = ["orchard ladder basket", "frost pruning graft", "blossom hive cider", "press barrel meadow", "stone wall"]
"""Texts that no question here is about."""


# ------------------------------------------------------------------------------------------------ what finds what


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("先前登录失败的原因", "登录"),
        ("先前登录失败的原因", "失败"),
        ("先前登录失败的原因", "因"),
        ("先前登录失败的原因", "登"),
        ("先前登录失败的原因", "登录为什么失败"),
        ("login修复完成", "修复"),
        ("login修复完成", "login修复"),
        ("login修复完成", "login"),
        ("設定ファイルを読み込む", "ファイル"),
        ("設定ﾌｧｲﾙを読み込む", "ファイル"),
        ("設定ファイルを読み込む", "設定"),
        ("아키텍처를 설명한다", "설명"),
        ("ทดสอบระบบ", "ระบบ"),
        ("call getUserName(id)", "getUserName"),
        ("call getUserName(id)", "getusername"),
        ("call getUserName(id)", "get_user_name"),
        ("call getUserName(id)", "user"),
        ("call get_user_name(id)", "getUserName"),
        ("call get_user_name(id)", "get_user_name"),
        ("def test_getUserName_twice", "getUserName"),
        ("def test_getUserName_twice", "get_user_name"),
        ("class HTTPServer:", "HTTPServer"),
        ("class HTTPServer:", "http_server"),
        ("class JSONDecodeError", "decode"),
        ("its sha256 digest", "sha-256"),
        ("its SHA-256 digest", "sha256"),
        ("read utf8", "UTF-8"),
        ("open src/ctxarc/model_view.py now", "src/ctxarc/model_view.py"),
        ("open src/ctxarc/model_view.py now", "model_view.py"),
        ("open src/ctxarc/model_view.py now", "ctxarc"),
        (r"C:\Users\me\notes.txt", "notes.txt"),
        ("the café is open", "cafe"),
        ("the cafe is open", "café"),
        ("Straße", "straße"),
        ("ﬁle ＡＢＣ", "file abc"),
        ("the tests were failing", "test failed fail"),
        ("MiXeD", "mixed"),
        ("вопрос ответ", "ОТВЕТ"),
        ("a 42 b", "42"),
    ],
)
def test_a_question_finds_a_text(text: str, question: str) -> None:
    assert found([*OTHERS, text], question) == [len(OTHERS)]


@pytest.mark.parametrize(
    "question", ["", "   ", "!?", "''", "\0", "🍎", "\ud800", "_", "absent", "缺", "缺席", "*", "AND", "OR NOT"]
)
def test_a_question_without_a_word_that_is_there_finds_nothing(question: str) -> None:
    assert ask([*OTHERS, "登录 🍎 apple"], question) == []


@pytest.mark.parametrize(
    "question",
    [
        "hive AND",
        "NOT hive",
        "NEAR(hive cider, 2)",
        "hive NEAR/3 cider",
        '"hive',
        'hi"ve hive',
        "'hive'; DROP TABLE words; --",
        "hive*",
        "^hive",
        "text: hive",
        "words:hive",
        "-hive",
        "(hive OR",
        "{hive}",
        "hive + cider",
        "hive\0cider",
        "\ud83d hive \udc00",
        "🐝 hive",
        "hive" + " x" * 5000,
        "hive " + "y" * 100_000,
        "hive " + "y" * 159 + "=" * 5000,
        "hive " + "登" * 5000,
        " ".join(f"w{number}" for number in range(20_000)) + " hive",
        "/".join(["hive"] * 5000),
    ],
)
def test_what_means_something_to_fts5_is_words_in_a_question(question: str) -> None:
    matches = ask(OTHERS, question)
    # 4,096 words are looked at.
    assert [match.object for match in matches] == ([2] if "w19999" not in question else [])


def test_a_text_may_have_anything_in_it() -> None:
    texts = ["apple\0pear", '"quoted" AND (', "🍎🍏", "\r\n\t", "x" * 1_000_000, "漢" * 10_000, "é" * 50_000, ""]
    assert found(texts, "pear") == [0]
    assert found(texts, "quoted") == [1]
    assert found(texts, "漢") == found(texts, "漢漢") == [5]
    assert found(texts, "x" * 1_000_000) == []


def test_every_pair_of_a_long_run_is_found() -> None:
    run = "".join(map(chr, range(0x4E00, 0x4E00 + 9000)))
    for at in (0, 4094, 4095, 4096, 8191, 8998):
        assert found([run], run[at : at + 2]) == found([run], run[at]) == [0]
    assert indexed(run).split() == [*(run[at : at + 2] for at in range(8999)), run[-1]]


def test_runs_that_no_one_asks_for_are_left_out() -> None:
    blob = "".join(noise(1).choices("ABCDEFabcdef0123456789+/", k=2_000_000))
    plain, filled = (part_module.PartWriter(0) for _ in range(2))
    plain.add(bytes(32), [9], ["before after"])
    filled.add(bytes(32), [9], [f"before {blob} after"])
    assert len(filled.pack("s-v1", "p", "0" * 64)) - len(plain.pack("s-v1", "p", "0" * 64)) < 100
    assert found([f"before {blob} after"], "after before") == [0]


def test_only_the_beginning_of_an_endless_text_is_looked_up() -> None:
    assert len(indexed("ab " * (INDEXED_LIMIT // 3 + 5))) == INDEXED_LIMIT


def test_terms_are_joined_by_or_and_common_words_do_not_decide() -> None:
    texts = [f"the press and the barrel number {number} of the list" for number in range(30)]
    texts[17] = "why a session fails: the metadata of it is not loaded"
    matches = ask(texts, "Why does the session fail to load the metadata?")
    assert matches[0].object == 17
    assert matches[0].words == ("Why", "session", "fail", "load", "metadata")


def test_a_question_of_common_words_alone_is_answered() -> None:
    assert found(["to be or not to be", "to be sure"], "to be or not to be")[0] == 0
    assert sorted(found(["apple", "apple"], "apple")) == [0, 1]


def test_the_whole_of_an_identifier_is_worth_more_than_its_parts() -> None:
    texts = [*OTHERS, "user get name", "name of a user to get", "get_user_name", "user.name get"]
    assert found(texts, "getUserName")[0] == found(texts, "get_user_name")[0] == len(OTHERS) + 2


def test_a_phrase_is_found_whose_stems_have_other_stems() -> None:
    texts = [*OTHERS, "agreed/happily.py", "happily agreed py"]
    (first, second) = ask(texts, "agreed/happily.py")
    assert (first.object, first.words) == (len(OTHERS), ("agreed/happily.py",))
    assert first.score > second.score


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Hive, or CIDER?", ("Hive", "CIDER")),
        ("hives hive Hive", ("hives",)),
        ("src/hive.py", ("hive",)),
        ("blossom/hive.py", ("blossom", "hive")),
        ("blossom/hive", ("blossom/hive",)),
        ("登录失败了吗", ("登录失败",)),
        ("失败code", ("失败code",)),
        ("失败?cider", ("失败", "cider")),
        ("失", ("失",)),
    ],
)
def test_a_match_has_the_words_of_the_question_as_they_were_typed(question: str, words: tuple[str, ...]) -> None:
    texts = [*OTHERS, "blossom hive cider 登录失败code 等"]
    assert next(match.words for match in ask(texts, question) if match.object == len(OTHERS)) == words


def test_matches_have_the_places_of_segments() -> None:
    objects = [["apple", "pear"], [], ["plum", "apple", "fig"]]
    matches = search(parts_of(objects), "apple", live=lambda _: True, limit=9)
    assert sorted(match[:3] for match in matches) == [(0, 0, 10), (2, 10, 20)]


def test_equal_scores_are_in_order_of_objects_and_starts_however_the_parts_are_given() -> None:
    objects = [["apple", "apple"], ["apple"], ["apple", "apple"]]
    for sizes in ((), (1,), (2,), (1, 1)):
        parts = parts_of(objects, sizes)
        for given_parts in (parts, parts[::-1]):
            matches = search(given_parts, "apple", live=lambda _: True, limit=4)
            assert [match[:3] for match in matches] == [(0, 0, 10), (0, 10, 20), (1, 0, 10), (2, 0, 10)]


def test_only_what_is_live_is_found_and_all_counts_in_the_statistics() -> None:
    objects = [[f"apple {'pear ' * number}"] for number in range(40)]
    parts = parts_of(objects, (7, 9))
    everything = {match.object: match for match in search(parts, "apple pear", live=lambda _: True, limit=40)}
    for live in ({3}, {0, 39}, set(range(20, 30)), set[int]()):
        matches = search(parts, "apple pear", live=live.__contains__, limit=40)
        assert {match.object: match for match in matches} == {number: everything[number] for number in live}


def test_nothing_is_found_where_there_is_nothing() -> None:
    assert search([], "apple", live=lambda _: True, limit=9) == []
    assert search(parts_of([[], []]), "apple", live=lambda _: True, limit=9) == []
    assert ask(["", "..."], "apple") == []
    assert ask(["apple"], "apple", limit=0) == []


# ------------------------------------------------------------------------------------------------ ranks and scores


def bm25(texts: Sequence[str], question: str) -> dict[int, float]:
    """The score of each text that has a word of the question."""
    rows = [Counter(tokens) for tokens in terms_of([indexed(text) for text in texts])]
    average = sum(map(Counter.total, rows)) / len(rows)
    terms = list(dict.fromkeys(token for tokens in terms_of(question.split()) for token in tokens))
    counts = {term: sum(term in row for row in rows) for term in terms}
    held = sorted((term for term in terms if counts[term]), key=counts.__getitem__)
    rare = [term for term in held if 5 * counts[term] <= len(rows)]
    scores: dict[int, float] = {}
    for term in rare if len(rare) > 2 else held[:3]:
        weight = math.log(1 + (len(rows) - counts[term] + 0.5) / (counts[term] + 0.5))
        for number, row in enumerate(rows):
            if term in row:
                norm = K1 * (1 - B + B * row.total() / average)
                scores[number] = scores.get(number, 0.0) + weight * row[term] * (K1 + 1) / (row[term] + norm)
    return scores


PLAIN = st.lists(st.sampled_from(["apple", "pears", "plum", "figs", "quince", "medlar", "sloe"]), max_size=12).map(
    " ".join
)
WRITTEN = st.one_of(
    PLAIN,
    st.text(st.sampled_from("登录失败ファイ abéT_/.9🍎"), max_size=20),
    st.sampled_from(["getUserName", "src/apple/pears.py", "sha256 apple", "登录 apple", "HTTPServer plum", ""]),
)


@settings(deadline=None, max_examples=60)
@given(st.lists(PLAIN, min_size=1, max_size=12), PLAIN)
def test_scores_are_those_of_bm25(texts: list[str], question: str) -> None:
    expected = bm25(texts, question)
    matches = ask(texts, question)
    assert {match.object: pytest.approx(match.score) for match in matches} == expected
    assert [match.score for match in matches] == sorted((match.score for match in matches), reverse=True)


@settings(deadline=None, max_examples=80)
@given(
    st.lists(st.lists(WRITTEN, max_size=3), min_size=1, max_size=10),
    st.lists(WRITTEN, min_size=1, max_size=3).map(" ".join),
    st.lists(st.integers(1, 4), max_size=5),
    st.integers(1, 8),
)
@example([["登录"], ["登 录"], ["录"]], "登", [1, 1], 3)
def test_many_parts_rank_as_one_does(objects: list[list[str]], question: str, sizes: list[int], limit: int) -> None:
    whole = search(parts_of(objects), question, live=lambda _: True, limit=limit)
    split = search(parts_of(objects, sizes)[::-1], question, live=lambda _: True, limit=limit)
    assert split == whole  # scores too, to the last bit


# ------------------------------------------------------------------------------------------------ files of parts


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Three turns, and an index of their words."""
    stored(tmp_path / "a.ctxa", said("apple pear") + said("apple plum plum") + said("登录失败 getUserName"))
    segment(tmp_path / "a.ctxa", [SCHEME])
    return tmp_path / "a.ctxa"


def answer(archive: Path, question: str = "apple plum 登录") -> list[Match]:
    return search(Words(archive, SCHEME).word_parts, question, live=lambda _: True, limit=9)


def codes(archive: Path, *, quick: bool = False) -> list[tuple[str, str]]:
    """Code and path of each finding of verify."""
    return [(finding.code, finding.path) for finding in verify(archive, quick=quick).findings]


def test_a_part_on_disk_answers_as_one_in_memory_does(archive: Path) -> None:
    (part,) = Words(archive, SCHEME).word_parts
    assert part.label == LABEL
    assert (part.first, part.objects, part.segments) == (0, 3, 3)
    assert part.stored_bytes == (archive / LABEL).stat().st_size
    memory = PartWriter(0)
    texts = ["apple pear", "apple plum plum", "登录失败 getUserName"]
    for number, text in enumerate(texts):
        memory.add(part.digest(number), part.ends(number), [text])
    both = [search([each], "apple plum 登录", live=lambda _: True, limit=9) for each in (part, MemoryPart(memory))]
    assert [match[:3] for match in both[0]] == [match[:3] for match in both[1]]
    assert {match.object for match in both[0]} == {0, 1, 2}


def test_the_same_texts_make_the_same_file() -> None:
    packed = {writer_of([["apple"], ["pear 登录", "plum"]]).pack("s-v1", "p", "0" * 64) for _ in range(3)}
    assert len(packed) == 1


def test_reading_writes_nothing(archive: Path) -> None:
    before = tree(archive)
    assert answer(archive)
    sound(archive)
    assert tree(archive) == before


def test_every_byte_of_a_part_that_is_flipped_is_found(archive: Path) -> None:
    path = archive / LABEL
    whole = path.read_bytes()
    for at in range(len(whole)):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << at % 8
        path.write_bytes(damaged)
        code = "BAD_MAGIC" if at < 8 else "UNSUPPORTED_VERSION" if at < 10 else "CHECKSUM_MISMATCH"
        refusal = refused(lambda: answer(archive))
        assert (refusal.code, refusal.status) == (code, 4), at
        if at % 40 == 0:
            assert codes(archive, quick=bool(at % 80)) == [(code, LABEL)], at


def test_every_length_that_a_part_is_cut_to_is_found(archive: Path) -> None:
    path = archive / LABEL
    whole = path.read_bytes()
    for length in (*range(len(whole)), len(whole) + 1):
        path.write_bytes((whole + b"\0")[:length])
        assert refused(lambda: answer(archive)).code == "TRUNCATED", length
    assert codes(archive) == [("TRUNCATED", LABEL)]


def test_a_damaged_index_of_words_is_mended_by_making_it_anew(archive: Path) -> None:
    before = answer(archive)
    (archive / LABEL).write_bytes(b"")
    assert "--rebuild" in refused(lambda: answer(archive)).hint
    segment(archive, [SCHEME], rebuild=True)
    sound(archive)
    assert answer(archive) == before


# ------------------------------------------------------------------------------------------------ resealed


def changed_database(path: Path, change: Callable[[sqlite3.Connection], object]) -> bytes:
    """The database of a part, after a change."""
    part = WordPart(path, "x")
    connection = connect()
    connection.deserialize(zstandard.decompress(bytes(part._frame)))
    change(connection)
    data = connection.serialize()
    connection.close()
    return data


def reseal(
    path: Path,
    database: bytes | None = None,
    *,
    frame: bytes | None = None,
    about: dict[str, Any] | None = None,
    arrays: dict[str, array[int]] | None = None,
) -> None:
    """Change what a part holds and make its checksums right again."""
    arrays = arrays or {}
    part = WordPart(path, "x")
    cuts = Cuts.empty(part.first)
    part.copy_to(cuts)
    cuts = cuts._replace(starts=arrays.get("starts", cuts.starts), ends=arrays.get("ends", cuts.ends))
    lengths = arrays.get("lengths", array("I", part.lengths))
    texts = arrays.get("texts", array("Q", part._texts))
    stored_frame = bytes(part._frame) if database is None else zstandard.compress(database)
    pad = bytes(-4 * (cuts.objects + 1 + 2 * len(cuts.ends)) % 8)
    tail = b"".join([little(lengths), pad, little(texts), stored_frame if frame is None else frame])
    data = cuts.pack(part.about._replace(**(about or {})), MAGIC, tail)
    path.write_bytes(data)


def run_sql(*statements: str) -> Callable[[sqlite3.Connection], None]:
    def change(connection: sqlite3.Connection) -> None:
        for statement in statements:
            connection.execute(statement)

    return change


HOSTILE = {
    "a trigger": run_sql("CREATE TRIGGER t AFTER INSERT ON words_docsize BEGIN SELECT 1; END"),
    "a view": run_sql("CREATE VIEW v AS SELECT load_extension('x')"),
    "a table": run_sql("CREATE TABLE t(a)"),
    "an index": run_sql("CREATE INDEX i ON words_docsize(sz)"),
    "no table": run_sql("DROP TABLE words"),
    "another tokenizer": run_sql("DROP TABLE words", "CREATE VIRTUAL TABLE words USING fts5(text, content='')"),
    "a view in the place of the words": run_sql("DROP TABLE words", "CREATE VIEW words AS SELECT 1 AS text"),
    "another rank": run_sql("INSERT INTO words(words, rank) VALUES('rank', 'bm25(10.0)')"),
    "another setting": run_sql("INSERT INTO words_config VALUES('pgsz', 32)"),
    "no version": run_sql("DELETE FROM words_config"),
}


@pytest.mark.parametrize("change", HOSTILE.values(), ids=HOSTILE)
def test_a_resealed_database_with_other_tables_is_refused_before_it_is_asked(
    change: Callable[[sqlite3.Connection], None], archive: Path
) -> None:
    path = archive / LABEL
    reseal(path, changed_database(path, change))
    refusal = refused(lambda: answer(archive))
    assert (refusal.code, refusal.status) == ("INDEX_MISMATCH", 4)
    assert refusal.facts["path"] == LABEL
    assert codes(archive) == [("INDEX_MISMATCH", LABEL)]
    assert codes(archive, quick=True) == []
    assert any("word indexes" in words for words in verify(archive, quick=True).not_checked)


@pytest.mark.parametrize(
    "database",
    [b"", b"SQLite format 3\0", b"no database" * 400, bytes(4096), b"SQLite format 3\0" + bytes(4080)],
    ids=["empty", "a magic", "text", "zeros", "a magic and zeros"],
)
def test_what_is_no_database_is_refused(database: bytes, archive: Path) -> None:
    reseal(archive / LABEL, database)
    assert refused(lambda: answer(archive)).code == "INDEX_MISMATCH"
    assert codes(archive) == [("INDEX_MISMATCH", LABEL)]


def forged_size(size: int) -> bytes:
    """A frame that states a size and has one byte."""
    return b"\x28\xb5\x2f\xfd\xe0" + size.to_bytes(8, "little") + b"\x09\x00\x00x"


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        (b"", "INDEX_MISMATCH"),
        (b"no frame", "INDEX_MISMATCH"),
        (zstandard.ZstdCompressor(write_content_size=False).compress(b"x"), "INDEX_MISMATCH"),
        (forged_size(DATABASE_LIMIT + 1), "LIMIT_EXCEEDED"),
        (forged_size(1 << 62), "LIMIT_EXCEEDED"),
        (forged_size(1 << 20), "INDEX_MISMATCH"),
        (zstandard.compress(b"x") + b"more", "INDEX_MISMATCH"),
    ],
)
def test_a_resealed_frame_that_holds_no_database_is_refused(frame: bytes, code: str, archive: Path) -> None:
    reseal(archive / LABEL, frame=frame)
    assert refused(lambda: answer(archive)).code == code
    assert codes(archive) == [(code, LABEL)]


def add_row(row: int) -> Callable[[sqlite3.Connection], object]:
    return lambda connection: connection.execute("INSERT INTO words(rowid, text) VALUES (?, 'apple')", (row,))


@pytest.mark.parametrize("row", [0, 4, -1, 1 << 40])
def test_words_of_segments_that_are_not_there_are_refused(row: int, archive: Path) -> None:
    path = archive / LABEL
    reseal(path, changed_database(path, add_row(row)))
    assert refused(lambda: answer(archive)).code == "INDEX_MISMATCH"
    assert codes(archive) == [("INDEX_MISMATCH", LABEL)]


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM words_docsize WHERE id = 2",
        "UPDATE words_docsize SET id = 9 WHERE id = 2",
        "UPDATE words_docsize SET id = -9 WHERE id = 2",
        "UPDATE words_docsize SET sz = x'05' WHERE id = 2",
        "UPDATE words_docsize SET sz = zeroblob(100000) WHERE id = 2",
        "UPDATE words_docsize SET sz = NULL WHERE id = 2",
        "UPDATE words_docsize SET sz = 'text' WHERE id = 2",
        "UPDATE words_docsize SET sz = 7 WHERE id = 2",
        "DELETE FROM words_data WHERE id > 10",
        "UPDATE words_data SET block = zeroblob(length(block))",
        "UPDATE words_data SET block = x'' WHERE id > 10",
    ],
)
def test_resealed_tables_that_do_not_fit_each_other_are_found_by_verify(statement: str, archive: Path) -> None:
    path = archive / LABEL
    reseal(path, changed_database(path, run_sql(statement)))
    only_damage(lambda: answer(archive))
    assert codes(archive) == [("INDEX_MISMATCH", LABEL)]


def only_damage(do: Callable[[], object]) -> None:
    """Run what may refuse, and may not fail otherwise."""
    try:
        do()
    except Damage as damage:
        assert damage.code == "INDEX_MISMATCH"  # noqa: PT017 - it may also answer


@pytest.mark.parametrize(
    "arrays",
    [
        {"lengths": array("I", [0, 0, 0])},
        {"lengths": array("I", [1, 1, 1])},
        {"lengths": array("I", [2**32 - 1] * 3)},
        {"texts": array("Q", [1, 2, 3])},
        {"starts": array("I", [0, 2, 1, 3])},
        {"starts": array("I", [0, 3, 3, 3])},
        {"starts": array("I", [0, 2**32 - 1, 2, 3])},
        {"ends": array("I", [1, 2, 3])},
        {"ends": array("I", [0, 0, 0])},
    ],
)
def test_resealed_arrays_that_do_not_fit_are_found_by_verify(arrays: dict[str, array[int]], archive: Path) -> None:
    reseal(archive / LABEL, arrays=arrays)
    only_damage(lambda: answer(archive))
    assert codes(archive) == [("INDEX_MISMATCH", LABEL)]


def test_resealed_segments_that_leave_bytes_out_are_found_though_their_texts_are_the_same(archive: Path) -> None:
    ends = array("I", (end - 1 for end in WordPart(archive / LABEL, "x")._ends))
    reseal(archive / LABEL, arrays={"ends": ends})
    assert codes(archive) == [("INDEX_MISMATCH", LABEL)]


@pytest.mark.parametrize(
    "about",
    [
        {"scheme": "sized-900-v1"},
        {"parameters": {"words-v2": 1}},
        {"parameters": {}},
        {"projection": "raw-v1"},
    ],
)
def test_words_of_another_kind_are_refused_or_found(about: dict[str, Any], archive: Path) -> None:
    reseal(archive / LABEL, about=about)
    only_damage(lambda: answer(archive))
    assert codes(archive) == [("INDEX_MISMATCH", LABEL)]


def test_the_words_of_another_archive_are_found(archive: Path, tmp_path: Path) -> None:
    stored(tmp_path / "b.ctxa", session(3, "pears"))
    segment(tmp_path / "b.ctxa", [SCHEME])
    (archive / LABEL).write_bytes((tmp_path / "b.ctxa" / LABEL).read_bytes())
    assert codes(archive) == [("INDEX_MISMATCH", LABEL)]


def test_a_database_with_any_byte_changed_answers_or_is_refused(archive: Path) -> None:
    path = archive / LABEL
    database = changed_database(path, lambda _: None)
    made = noise(11)
    for _ in range(150):
        damaged = bytearray(database)
        for _ in range(made.choice((1, 1, 4, 40))):
            damaged[made.randrange(len(damaged))] = made.randrange(256)
        reseal(path, bytes(damaged))
        only_damage(lambda: answer(archive))
        only_damage(lambda: list(word_index.check(archive, SCHEME, quick=False)))


# ---------------------------------------------------------------------------------------- growth, and the machine


def test_an_index_that_grows_with_every_turn_stays_a_few_parts_and_answers_as_one(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    made = noise(3)
    data = b""
    most = 0
    for number in range(40):
        data += said(" ".join(made.choices(["apple", "pear", "plum", "fig", "登录", f"w{number}"], k=6)), second=number)
        stored(archive, data)
        if not number:
            segment(archive, [SCHEME])
        most = max(most, len(Words(archive, SCHEME).parts))
    assert most <= 6
    words = Words(archive, SCHEME)
    assert list(words.missing(40)) == []
    grown = [search(words.word_parts, question, live=lambda _: True, limit=50) for question in ("apple w7", "登录")]
    sound(archive)
    segment(archive, [SCHEME], rebuild=True)
    words = Words(archive, SCHEME)
    assert len(words.parts) == 1
    assert [
        search(words.word_parts, question, live=lambda _: True, limit=50) for question in ("apple w7", "登录")
    ] == grown


def test_a_large_record_has_parts_of_bounded_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part_module, "TEXT_LIMIT", 200)
    archive = tmp_path / "a.ctxa"
    stored(archive, b"".join(said(f"apple {number} " + "pear " * 20, second=number) for number in range(12)))
    segment(archive, [SCHEME])
    words = Words(archive, SCHEME)
    assert len(words.parts) == 6
    assert list(words.missing(12)) == []
    assert len(search(words.word_parts, "apple", live=lambda _: True, limit=50)) == 12
    sound(archive)


def test_an_archive_without_turns_has_no_words(tmp_path: Path) -> None:
    stored(tmp_path / "a.ctxa", b"")
    segment(tmp_path / "a.ctxa", [SCHEME])
    assert answer(tmp_path / "a.ctxa") == []
    sound(tmp_path / "a.ctxa")


def test_an_sqlite_without_fts5_is_said_and_not_taken_for_damage(
    archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, "_TABLE", "CREATE VIRTUAL TABLE words USING fts0(text)")
    monkeypatch.setattr(database_module, "_SCHEMA", set())
    for do in (lambda: PartWriter(0), lambda: terms_of(["apple"]), lambda: answer(archive)):
        refusal: Refusal = refused(do)
        assert (refusal.code, refusal.status) == ("MISSING_PACKAGE", 6)
        assert "fts0" in refusal.message
        assert "FTS5" in refusal.hint


def test_places_of_parts_are_known_by_their_names() -> None:
    assert word_index.is_part(LABEL)
    assert word_index.is_part(LABEL + ".tmp")
    for path in (LABEL.replace("words", "segments"), LABEL.replace(".fts", ".seg"), f"words/{SCHEME}/x.fts", "words/x"):
        assert not word_index.is_part(path)


def test_the_projection_that_is_looked_up_is_said(archive: Path) -> None:
    (part,) = Words(archive, SCHEME).word_parts
    assert (part.about.scheme, part.about.projection, part.about.own) == (SCHEME, PROJECTION, False)
