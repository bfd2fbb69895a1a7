"""Edges between turns: derived from what records state, for each client, and checked against the record."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from archives import files_of, flip, lines, store, store_all
from cases import one, run
from hypothesis import given
from hypothesis import strategies as st

from ctxarc.auxiliary.edges.index import Edges, add
from ctxarc.auxiliary.edges.joining import KINDS, MENTIONS_PATH, REPLIES_TO, TOOL_RESULT_OF, Graph, join
from ctxarc.auxiliary.edges.part import PartMaker
from ctxarc.auxiliary.edges.statements import DIALECTS, Kind, Stated, Statement, name_of, stated
from ctxarc.auxiliary.jsontext import located
from ctxarc.auxiliary.records import DIALECTS as KNOWN_DIALECTS
from ctxarc.auxiliary.records import read_links
from ctxarc.errors import BadUsage, IndexMismatch, NoSuchRelations, NoSuchTurn
from ctxarc.model import RelateResult, as_json
from ctxarc.operations.cat import cat
from ctxarc.operations.info import info
from ctxarc.operations.relate import relate
from ctxarc.operations.relations import relations
from ctxarc.operations.verify import verify

EDGE = tuple[str, int, int, tuple[str, ...]]


def jsonl(*records: Any) -> bytes:  # noqa: ANN401 - any JSON, or raw bytes
    return b"".join(each if isinstance(each, bytes) else json.dumps(each).encode() + b"\n" for each in records)


def edges_of(archive: Path, *, at: int | None = None) -> list[EDGE]:
    found = relations(archive, "t#", at=at).relations
    return [(each.kind, each.from_, each.to, tuple(b.id or b.path or "" for b in each.basis)) for each in found]


def related(archive: Path, *records: Any) -> list[EDGE]:  # noqa: ANN401 - as jsonl
    store(archive, jsonl(*records))
    relate(archive)
    check_basis(archive)
    return edges_of(archive)


def check_basis(archive: Path) -> None:
    """Every citation of a basis gives bytes that state what is said."""
    for each in relations(archive, "t#").relations:
        for basis in each.basis:
            texts = [b"".join(cat(archive, [place.cite])).decode() for place in (basis.from_, basis.to)]
            assert basis.path or texts == [basis.id, basis.id]
            assert [f":{place.start_byte}-{place.end_byte}" in place.cite for place in (basis.from_, basis.to)]


def claude(kind: str, uuid: str, parent: str | None, content: Any, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    message = {"role": kind, "content": content}
    return {"type": kind, "sessionId": "s", "uuid": uuid, "parentUuid": parent, "message": message, **more}


CLAUDE = (
    claude("user", "u0", None, "Look at src/app.py"),
    claude("assistant", "u1", "u0", [{"type": "tool_use", "id": "T1", "input": {"file_path": "src/app.py"}}]),
    claude("user", "u2", "u1", [{"type": "tool_result", "tool_use_id": "T1", "content": "see lib/b.py"}]),
    claude("assistant", "u3", "u2", [{"type": "text", "text": "Nothing."}]),
    claude("user", "u4", "u3", "And lib/b.py with src/app.py?"),
)


def test_claude_code_states_parents_calls_and_paths(tmp_path: Path) -> None:
    assert related(tmp_path / "a", *CLAUDE) == [
        (REPLIES_TO, 1, 0, ("u0",)),
        (MENTIONS_PATH, 1, 0, ("src/app.py",)),
        (REPLIES_TO, 2, 1, ("u1",)),
        (TOOL_RESULT_OF, 2, 1, ("T1",)),
        (REPLIES_TO, 3, 2, ("u2",)),
        (MENTIONS_PATH, 4, 1, ("src/app.py",)),
        (MENTIONS_PATH, 4, 2, ("lib/b.py",)),
        (REPLIES_TO, 4, 3, ("u3",)),
    ]


def test_behind_a_compaction_the_parent_stands_under_a_key_of_its_own(tmp_path: Path) -> None:
    border = {"type": "system", "sessionId": "s", "uuid": "u5", "parentUuid": None, "logicalParentUuid": "u4"}
    assert (REPLIES_TO, 5, 4, ("u4",)) in related(tmp_path / "a", *CLAUDE, border)


def test_two_turns_are_joined_once_for_all_that_they_share(tmp_path: Path) -> None:
    texts = [{"role": "user", "content": text} for text in ("a/x.py b/y.py c/z.py", "c/z.py a/x.py")]
    (edge,) = related(tmp_path / "a", *texts)
    assert (*edge[:3], set(edge[3])) == (MENTIONS_PATH, 1, 0, {"a/x.py", "c/z.py"})


def codex(kind: str, call: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    payload = {"type": kind, "call_id": call, **more}
    return {"type": "response_item", "timestamp": "2026-01-02T03:04:05Z", "payload": payload}


def test_codex_states_calls_and_no_parent(tmp_path: Path) -> None:
    noted = {**codex("exec_command_end", "c1"), "type": "event_msg"}
    assert related(
        tmp_path / "a",
        codex("function_call", "c1", name="shell", arguments='{"command":["cat","src/a.py"]}'),
        codex("custom_tool_call", "c2", name="apply_patch", input="*** Update File: src/a.py\n"),
        codex("function_call_output", "c1", output="x"),
        noted,
        codex("custom_tool_call_output", "c2", output="done"),
    ) == [(MENTIONS_PATH, 1, 0, ("src/a.py",)), (TOOL_RESULT_OF, 2, 0, ("c1",)), (TOOL_RESULT_OF, 4, 1, ("c2",))]


def test_codex_before_its_envelopes(tmp_path: Path) -> None:
    call = {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c1"}
    assert related(tmp_path / "a", call, {"type": "function_call_output", "call_id": "c1", "output": "x"}) == [
        (TOOL_RESULT_OF, 1, 0, ("c1",)),
    ]


def test_chat_messages_state_calls(tmp_path: Path) -> None:
    calls = [{"id": name, "type": "function", "function": {"name": "f", "arguments": "{}"}} for name in ("k1", "k2")]
    assert related(
        tmp_path / "a",
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "k2", "content": "two"},
        {"role": "tool", "tool_call_id": "k1", "content": "one"},
    ) == [(TOOL_RESULT_OF, 1, 0, ("k2",)), (TOOL_RESULT_OF, 2, 0, ("k1",))]


def test_a_conversation_on_one_line_joins_nothing_to_itself(tmp_path: Path) -> None:
    calls = [{"id": "k1", "function": {"name": "f", "arguments": "{}"}}]
    result = {"role": "tool", "tool_call_id": "k1", "content": ""}
    messages = [{"role": "assistant", "content": "", "tool_calls": calls}, result]
    assert related(tmp_path / "a", {"messages": messages}) == []


def test_openhands_observations_name_their_action_by_event_and_by_call(tmp_path: Path) -> None:
    base = {"source": "agent", "timestamp": "2026-01-02T03:04:05"}
    assert related(
        tmp_path / "a",
        {**base, "kind": "ActionEvent", "id": "e1", "tool_name": "t", "tool_call_id": "k1", "action": {"kind": "x"}},
        {**base, "kind": "ObservationEvent", "id": "e2", "action_id": "e1", "tool_call_id": "k1", "observation": {}},
        {**base, "kind": "AgentErrorEvent", "id": "e3", "tool_call_id": "k1", "error": "no"},
    ) == [(TOOL_RESULT_OF, 1, 0, ("e1", "k1")), (TOOL_RESULT_OF, 2, 0, ("k1",))]


def test_openhands_of_before_counts_its_events(tmp_path: Path) -> None:
    base = {"timestamp": "2026-01-02T03:04:05"}
    assert related(
        tmp_path / "a",
        {**base, "id": 7, "source": "agent", "action": "run", "args": {"command": "ls"}},
        {**base, "id": 8, "source": "environment", "cause": 7, "observation": "run", "content": "x"},
    ) == [(TOOL_RESULT_OF, 1, 0, ("7",))]


def test_gemini_states_calls_where_their_results_are_apart(tmp_path: Path) -> None:
    base = {"timestamp": "2026-01-02T03:04:05Z"}
    together = [{"id": "g0", "name": "f", "args": {}, "result": [{"functionResponse": {"id": "g0", "response": {}}}]}]
    assert related(
        tmp_path / "a",
        {**base, "id": "m1", "type": "gemini", "content": [{"functionCall": {"id": "g1", "name": "f", "args": {}}}]},
        {**base, "id": "m2", "type": "user", "content": [{"functionResponse": {"id": "g1", "response": {}}}]},
        {**base, "id": "m3", "type": "gemini", "content": "", "toolCalls": together},
    ) == [(TOOL_RESULT_OF, 1, 0, ("g1",))]


def test_qwen_and_copilot_state_parents_and_calls(tmp_path: Path) -> None:
    def qwen(kind: str, uuid: str, parent: str | None, part: Any) -> dict[str, Any]:  # noqa: ANN401
        return {"type": kind, "sessionId": "s", "uuid": uuid, "parentUuid": parent, "message": {"parts": [part]}}

    def copilot(kind: str, name: str, parent: str | None, **data: Any) -> dict[str, Any]:  # noqa: ANN401
        return {"type": kind, "id": name, "parentId": parent, "timestamp": "2026-01-02T03:04:05Z", "data": data}

    assert related(
        tmp_path / "a",
        qwen("assistant", "q0", None, {"functionCall": {"id": "f1", "name": "f", "args": {}}}),
        qwen("tool_result", "q1", "q0", {"functionResponse": {"id": "f1", "name": "f", "response": {}}}),
        copilot("assistant.message", "p0", None, content="", toolRequests=[{"toolCallId": "c1", "name": "f"}]),
        copilot("tool.execution_start", "p1", "p0", toolCallId="c1"),
        copilot("tool.execution_complete", "p2", "p1", toolCallId="c1", result={"content": "x"}),
    ) == [
        (REPLIES_TO, 1, 0, ("q0",)),
        (TOOL_RESULT_OF, 1, 0, ("f1",)),
        (REPLIES_TO, 3, 2, ("p0",)),
        (TOOL_RESULT_OF, 4, 2, ("c1",)),
        (REPLIES_TO, 4, 3, ("p1",)),
    ]


def test_every_dialect_that_is_read_has_a_number() -> None:
    assert set(KNOWN_DIALECTS) <= set(DIALECTS)
    assert len(set(DIALECTS.values())) == len(DIALECTS)


def problems(archive: Path, *records: Any) -> dict[str, int]:  # noqa: ANN401 - as jsonl
    store(archive, jsonl(*records))
    return {name: count for name, count in relate(archive).problems.items() if count}


def test_an_id_that_several_turns_bear_names_none(tmp_path: Path) -> None:
    twins = (claude("user", "u", None, "a"), claude("user", "u", None, "b"), claude("user", "v", "u", "c"))
    assert problems(tmp_path / "a", *twins) == {"duplicate_ids": 1, "ambiguous": 1}
    assert edges_of(tmp_path / "a") == []


def test_a_parent_that_is_not_there_or_comes_later(tmp_path: Path) -> None:
    rows = [("a", "gone"), ("b", "c"), ("c", None)]
    found = problems(tmp_path / "a", *(claude("user", name, parent, name) for name, parent in rows))
    assert found == {"missing_parents": 1, "later_targets": 1}
    assert edges_of(tmp_path / "a") == [(REPLIES_TO, 1, 2, ("c",))]


def test_cycles_and_own_parents_are_counted(tmp_path: Path) -> None:
    rows = [("a", "b"), ("b", "c"), ("c", "a"), ("d", "a"), ("e", "e"), ("f", "g"), ("g", "f")]
    found = problems(tmp_path / "a", *(claude("user", uuid, parent, uuid) for uuid, parent in rows))
    assert found == {"turns_in_cycles": 5, "own_parents": 1, "later_targets": 3}


def test_ids_that_are_no_strings_are_counted_and_join_nothing(tmp_path: Path) -> None:
    odd: list[Any] = [7, True, [], {}, "", 1.5]
    rows = [claude("user", each, each, "x") for each in odd]
    assert problems(tmp_path / "a", *rows) == {"ids_not_strings": 12}
    assert edges_of(tmp_path / "a") == []


def test_a_result_without_its_call(tmp_path: Path) -> None:
    assert problems(tmp_path / "a", codex("function_call_output", "gone", output="x")) == {"missing_calls": 1}


def test_lines_that_are_no_json_are_no_obstacle(tmp_path: Path) -> None:
    torn = json.dumps(CLAUDE[1]).encode()[:-4]
    store(tmp_path / "a", jsonl(CLAUDE[0], b"\n", b"\xff\xfe\x00\n", b"[1, 2]\n", b"{" * 5000 + b"\n", CLAUDE[2], torn))
    result = relate(tmp_path / "a")
    assert result.dialects == {"not-json": 5, "claude-code": 2}
    assert result.problems["missing_parents"] == result.problems["missing_calls"] == 1


def test_an_id_is_the_same_however_it_is_escaped(tmp_path: Path) -> None:
    first = b'{"type":"user","sessionId":"s","uuid":"\\u00e9\\ud800","message":{"role":"user","content":"x"}}\n'
    second = (
        '{"type":"user","sessionId":"s","uuid":"v","parentUuid":"é\\ud800","message":{"role":"user","content":"x"}}\n'
    )
    store(tmp_path / "a", first + second.encode())
    assert relate(tmp_path / "a").by_kind[REPLIES_TO] == 1
    basis = relations(tmp_path / "a", "1").relations[0].basis[0]
    assert b"".join(cat(tmp_path / "a", [basis.to.cite])) == b"\\u00e9\\ud800"


def test_a_key_that_stands_twice_counts_where_a_parser_takes_it(tmp_path: Path) -> None:
    twice = b'{"type":"user","sessionId":"s","uuid":"no","uuid":"yes","message":{"role":"user","content":"x"}}\n'
    store(tmp_path / "a", twice + jsonl(claude("user", "v", "yes", "y")))
    relate(tmp_path / "a")
    assert edges_of(tmp_path / "a") == [(REPLIES_TO, 1, 0, ("yes",))]
    check_basis(tmp_path / "a")


def mention(number: int) -> dict[str, str]:
    return {"role": "user", "content": f"number {number}: src/all.py"}


def test_a_path_in_very_many_turns_is_named_and_joins_none(tmp_path: Path) -> None:
    store(tmp_path / "a", jsonl(*map(mention, range(40))))
    assert relate(tmp_path / "a").by_kind[MENTIONS_PATH] == 39
    store(tmp_path / "a", jsonl(*map(mention, range(41))))
    result = relate(tmp_path / "a")
    assert result.by_kind[MENTIONS_PATH] == 0
    assert [as_json(each) for each in result.common_paths] == [
        {"path": "src/all.py", "turns": 41, "transcript": "t", "first_turn": 0},
    ]


def test_in_a_long_transcript_a_path_may_be_in_one_turn_of_a_hundred() -> None:
    path = Statement(Kind.PATH, 5, 0, 1)
    turns = [(number, [path]) for number in range(41)]
    assert len(join(turns, 4100).edges) == 40
    assert join(turns, 4000).common[0].turns == 41


# ------------------------------------------------------------------------------------------------- the side file


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Claude Code's five turns, related."""
    path = tmp_path / "a.ctxa"
    store(path, jsonl(*CLAUDE))
    relate(path)
    return path


def part_of(archive: Path) -> Path:
    (path,) = (archive / "edges" / "relations-v1").iterdir()
    return path


def test_the_record_stays_as_it_is_and_only_new_turns_are_read(archive: Path) -> None:
    record = {name: data for name, data in files_of(archive).items() if not name.startswith("edges/")}
    before = part_of(archive).read_bytes()
    again = relate(archive)
    assert (again.turns, again.new_turns, again.preservation_unchanged) == (5, 0, True)
    assert part_of(archive).read_bytes() == before
    assert record == {name: data for name, data in files_of(archive).items() if not name.startswith("edges/")}


def test_a_capture_extends_relations_and_adding_up_equals_all_at_once(archive: Path, tmp_path: Path) -> None:
    more = [claude("user", f"w{number}", f"w{number - 1}", f"{number}") for number in range(1, 8)]
    for count in range(1, 8):
        result = store(archive, jsonl(*CLAUDE, *more[:count]))
        assert [each.new_segments for each in result.indexes] == [1]
    at_once = tmp_path / "b.ctxa"
    store(at_once, jsonl(*CLAUDE, *more))
    relate(at_once)
    assert edges_of(archive) == edges_of(at_once)
    assert relate(archive).new_turns == 0
    assert len(list((archive / "edges" / "relations-v1").iterdir())) < 8
    relate(archive, rebuild=True)
    tails = {bytes(Edges(each).edge_parts[0].tail) for each in (archive, at_once)}
    assert len(tails) == 1
    assert edges_of(archive) == edges_of(at_once)


def test_no_index_leaves_relations_behind_and_they_say_how_far_they_go(archive: Path) -> None:
    store(archive, jsonl(*CLAUDE, claude("user", "u9", "u4", "x")), index=False)
    assert relations(archive, "t#").coverage == 5 / 6
    assert info(archive).relations[0].coverage == 5 / 6
    assert (REPLIES_TO, 5, 4, ("u4",)) not in edges_of(archive)
    assert verify(archive).ok


def test_a_capture_stands_where_relations_cannot_be_extended(archive: Path) -> None:
    flip(part_of(archive), 200)
    result = store(archive, jsonl(*CLAUDE, claude("user", "u9", "u4", "x")))
    assert [each.refusal["code"] for each in result.indexes if each.refusal] == ["CHECKSUM_MISMATCH"]
    assert result.transcripts[0].new_turns == 1
    assert "relate ARCHIVE --rebuild" in str(result.indexes[0].refusal)


def test_every_byte_that_is_flipped_is_found(archive: Path) -> None:
    path = part_of(archive)
    size = path.stat().st_size
    for at in range(size):
        flip(path, at)
        assert not verify(archive, quick=True).ok, at
        flip(path, at)
    assert verify(archive).ok


def resealed(archive: Path, change: Any) -> list[tuple[str, str]]:  # noqa: ANN401 - a function of what a turn states
    """What verify finds where a file under right checksums says something else of a turn."""
    data = jsonl(*CLAUDE)
    maker = PartMaker(0)
    edges = Edges(archive)
    for number, turn in enumerate(data.splitlines(keepends=True)):
        found = stated(turn)
        maker.add(edges.edge_parts[0].digest(number), change(found) if number == 2 else found)
    add(archive, maker, None, "00" * 32)
    return [(each.code, each.path) for each in verify(archive).findings]


def other_name(found: Stated) -> Stated:
    first, *rest = found.statements
    return found._replace(statements=(first._replace(name=1), *rest))


def beyond_its_end(found: Stated) -> Stated:
    first, *rest = found.statements
    return found._replace(statements=(first._replace(end=4_000_000_000), *rest))


@pytest.mark.parametrize(
    "change",
    [
        other_name,
        beyond_its_end,
        lambda found: found._replace(statements=found.statements[1:]),
        lambda found: found._replace(statements=(*found.statements, Statement(Kind.PATH, 9, 0, 1))),
        lambda found: found._replace(dialect="codex"),
    ],
)
def test_what_a_turn_does_not_state_is_found_however_it_is_sealed(archive: Path, change: Any) -> None:  # noqa: ANN401
    assert resealed(archive, change) == [("INDEX_MISMATCH", "edges/relations-v1/000000000000-000000000004.edg")]


def test_an_edge_that_no_turn_states_is_never_listed(archive: Path) -> None:
    made_up = Statement(Kind.PARENT, name_of("u0"), 0, 5)
    resealed(archive, lambda found: found._replace(statements=(made_up, *found.statements)))
    with pytest.raises(IndexMismatch):
        relations(archive, "2")


def test_relations_of_another_archive_are_refused(archive: Path, tmp_path: Path) -> None:
    other = tmp_path / "b.ctxa"
    store(other, jsonl(*reversed(CLAUDE)))
    relate(other)
    part_of(archive).write_bytes(part_of(other).read_bytes())
    with pytest.raises(IndexMismatch):
        relations(archive, "2")
    with pytest.raises(IndexMismatch):
        relate(archive)
    assert relate(archive, rebuild=True).edges == 8


# ---------------------------------------------------------------------------------------------------- asking


def test_a_turn_has_its_edges_and_a_range_those_whose_basis_is_in_it(archive: Path) -> None:
    result = relations(archive, "2")
    ends = [
        (each.kind, each.from_, each.to, each.neighbour.turn if each.neighbour else None) for each in result.relations
    ]
    assert ends[:2] == [(REPLIES_TO, 2, 1, 1), (TOOL_RESULT_OF, 2, 1, 1)]
    assert ends[2:] == [(REPLIES_TO, 3, 2, 3), (MENTIONS_PATH, 4, 2, 4)]
    assert result.by_kind == {REPLIES_TO: 2, TOOL_RESULT_OF: 1, MENTIONS_PATH: 1}
    place = result.relations[1].basis[0].from_
    (only,) = relations(archive, f"2:{place.start_byte}-{place.end_byte}").relations
    assert only.kind == TOOL_RESULT_OF
    assert relations(archive, f"ctxa:{result.turn_sha256}").relations == result.relations


def test_kinds_narrow_and_an_unknown_one_is_refused(archive: Path) -> None:
    assert [each.to for each in relations(archive, "2", kinds=[MENTIONS_PATH]).relations] == [2]
    with pytest.raises(BadUsage, match="'supports' is no kind of edge"):
        relations(archive, "2", kinds=["supports"])


def test_an_archive_whose_relations_were_not_derived(tmp_path: Path) -> None:
    store(tmp_path / "a", jsonl(*CLAUDE))
    with pytest.raises(NoSuchRelations) as refused:
        relations(tmp_path / "a", "2")
    assert refused.value.as_json()["hint"] == "`ctxarc relate ARCHIVE` derives them"


def test_an_archive_without_a_turn_has_no_edge(tmp_path: Path) -> None:
    store(tmp_path / "a", b"")
    assert relations(tmp_path / "a").relations == ()
    assert relate(tmp_path / "a").edges == 0
    assert relations(tmp_path / "a").coverage == 1.0


def test_transcripts_are_joined_each_for_itself(tmp_path: Path) -> None:
    store_all(tmp_path / "a", {"t": jsonl(*CLAUDE[:2]), "u": jsonl(*CLAUDE[2:])})
    result = relate(tmp_path / "a")
    assert result.problems["missing_parents"] == result.problems["missing_calls"] == 1
    assert {each.to for each in relations(tmp_path / "a", "u#").relations} == {0, 1}


def test_a_turn_that_was_replaced_is_looked_at_where_it_was(archive: Path) -> None:
    torn = json.dumps(claude("user", "u5", "u4", "half")).encode()
    store(archive, jsonl(*CLAUDE) + torn[:-1])
    old = relations(archive, "5").turn_sha256
    store(archive, jsonl(*CLAUDE) + torn + b"\n")
    assert (REPLIES_TO, 5, 4, ("u4",)) in edges_of(archive)
    assert (REPLIES_TO, 5, 4, ("u4",)) not in edges_of(archive, at=2)
    with pytest.raises(NoSuchTurn, match="was another one before"):
        relations(archive, f"ctxa:{old}")
    assert relations(archive, f"ctxa:{old}", at=2).relations == ()


def test_a_partial_capture_says_what_it_left_out(tmp_path: Path) -> None:
    data = jsonl(*CLAUDE)
    store(tmp_path / "a", data, max_bytes=len(data) - 10, allow_truncation=True)
    result = relate(tmp_path / "a")
    assert (result.complete, len(result.omitted), result.problems["missing_parents"]) == (False, 1, 1)
    found = relations(tmp_path / "a", "2")
    assert (found.complete, found.coverage) == (False, 1.0)
    assert {each.from_ for each in found.relations} == {2, 3, 4}


# ------------------------------------------------------------------------------------------ places and properties


def test_places_of_values_are_found_by_their_path() -> None:
    raw = rb'{"a": [1, {"b": "x\"y"}, [[]], "z"], "c": {"a": "no"}, "n": 7, "a\u0062": true}'
    paths = [("a", 1, "b"), ("a", 3), ("n",), ("ab",), ("c", "b"), ("a",)]
    found = {path: raw[start:end] for path, (start, end) in located(raw, paths).items()}
    assert found == {("a", 1, "b"): rb"x\"y", ("a", 3): b"z", ("n",): b"7", ("ab",): b"true"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=15,
)


def scalars(value: Any, path: tuple[str | int, ...] = ()) -> dict[tuple[str | int, ...], Any]:  # noqa: ANN401
    if isinstance(value, dict):
        pairs: Any = value.items()
    elif isinstance(value, list):
        pairs = enumerate(value)
    else:
        return {path: value}
    return {where: each for key, item in pairs for where, each in scalars(item, (*path, key)).items()}


@given(JSON, st.booleans(), st.sampled_from([None, 1]))
def test_every_scalar_is_where_it_is_said_to_be(value: Any, ascii_only: bool, indent: int | None) -> None:  # noqa: ANN401, FBT001
    raw = json.dumps([value], ensure_ascii=ascii_only, indent=indent).encode("utf-8", "surrogatepass")
    there = scalars([value])
    found = located(raw, list(there))
    assert set(found) == set(there)
    for path, (start, end) in found.items():
        text = raw[start:end].decode("utf-8", "surrogatepass")
        assert json.loads(f'"{text}"' if isinstance(there[path], str) else text) == there[path]


@given(st.binary(max_size=300))
def test_no_turn_is_too_strange(turn: bytes) -> None:
    found = stated(turn)
    assert found.dialect in DIALECTS
    assert all(0 <= each.start <= each.end <= len(turn) for each in found.statements)


IDS = st.sampled_from([*"abcdef", 3, None, [], ""])


@given(st.lists(st.tuples(IDS, IDS), max_size=12))
def test_parents_join_only_what_is_unmistakable(rows: list[tuple[Any, Any]]) -> None:
    turns = [stated(jsonl(claude("user", name, parent, "x"))) for name, parent in rows]
    graph: Graph = join([(number, each.statements) for number, each in enumerate(turns)], len(turns))
    names = [name for name, _ in rows]
    for number, (_, parent) in enumerate(rows):
        alone = isinstance(parent, str) and parent and names.count(parent) == 1 and names.index(parent) != number
        expected = [names.index(parent)] if alone else []
        assert [edge.target for edge in graph.edges if edge.source == number] == expected


def test_links_of_a_turn_of_no_client() -> None:
    assert read_links(b'{"uuid":"a","parentUuid":"b"}\n') == ("unknown", [])
    assert read_links(b"nothing\n") == ("not-json", [])


def test_a_turn_in_numbers_takes_time_in_proportion(tmp_path: Path) -> None:
    """A record of many turns: what is counted is what there is, each once."""
    chain = [claude("user", f"u{number}", f"u{number - 1}" if number else None, "x") for number in range(2000)]
    store(tmp_path / "a", jsonl(*chain) + lines(0, 50))
    result: RelateResult = relate(tmp_path / "a")
    assert result.by_kind == dict(zip(KINDS, (1999, 0, 0), strict=True))


# --------------------------------------------------------------------------------------------- on the command line


def lines_of(done: subprocess.CompletedProcess[bytes]) -> list[str]:
    return done.stdout.decode().splitlines()


def test_the_command_lists_edges_with_places_that_are_addresses(archive: Path) -> None:
    done = run("relations", archive, "2")
    assert done.returncode == 0
    assert lines_of(done)[0] == 'replies-to      -> 1       assistant  {"file_path": "src/app.py"}'
    assert lines_of(done)[-1].endswith("  lib/b.py")
    own, other, basis = lines_of(done)[1].split()
    assert run("cat", archive, own, other).stdout.decode() == basis * 2


def test_json_is_one_object_with_from_and_to(archive: Path) -> None:
    said = one(run("relations", archive, "2", "--kind", "tool-result-of", "--json"))
    assert said["by_kind"] == {"replies-to": 0, "tool-result-of": 1, "mentions-path": 0}
    (edge,) = said["relations"]
    assert (edge["from"], edge["to"], edge["digest_verified"], edge["neighbour"]["turn"]) == (2, 1, True, 1)
    assert set(edge["basis"][0]) == {"id", "from", "to"}
    counted = one(run("relate", archive, "--json"))
    assert (counted["edges"], counted["by_kind"]["replies-to"], counted["new_turns"]) == (8, 4, 0)
    assert counted["not_derivable"] == ["supersedes", "supports", "contradicts"]


def test_refusals_of_the_commands(archive: Path, tmp_path: Path) -> None:
    store(tmp_path / "b.ctxa", jsonl(*CLAUDE))
    for arguments, status, code in [
        (("relations", tmp_path / "b.ctxa"), 5, "NO_SUCH_RELATIONS"),
        (("relations", archive, "9"), 5, "NO_SUCH_TURN"),
        (("relations", archive, "2", "--kind", "supports"), 2, "USAGE"),
        (("relations", archive, "--format", "dot", "--json"), 2, "USAGE"),
        (("relate", tmp_path / "none"), 5, "NO_SUCH_ARCHIVE"),
    ]:
        done = run(*arguments, "--json")
        assert (done.returncode, one(done)["refusal"]["code"]) == (status, code)


def test_a_graph_is_quoted_whatever_a_path_says(tmp_path: Path) -> None:
    read = {"type": "tool_use", "input": {"file_path": '/q"]; x -> y;/a'}}
    texts = [claude("user", f"u{number}", None, [read]) for number in range(2)]
    store(tmp_path / "a.ctxa", jsonl(*texts), name='t"\\')
    relate(tmp_path / "a.ctxa")
    graph = lines_of(run("relations", tmp_path / "a.ctxa", "--format", "dot"))
    assert graph[0] == 'digraph "t\\"\\\\" {'
    assert graph[4] == '  1 -> 0 [label="mentions-path\\n/q\\"]; x -> y;/a", style=dashed];'
    assert graph[5:] == ["}"]
