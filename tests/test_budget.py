"""A transcript within a budget: every turn once, every omission with what brings it back, never a byte too many."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from archives import read, store, store_all
from cases import held, refused, run, said, sha, tree, turns_of
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxarc import open_archive
from ctxarc.auxiliary.records import ROLES, read_record
from ctxarc.model import BudgetView, CutTurn, OmittedTurns, ShownTurn, TurnsNotHeld, as_json
from ctxarc.operations.budget import within_budget
from ctxarc.operations.budget_text import cut, json_bytes, readable

_TEXTS = st.one_of(
    st.text(max_size=60),
    st.builds(
        lambda word, times: word * times,
        st.sampled_from(["ab ", 'q"\\\n', "é", "漢字", "\x7f\u202e", "😀"]),
        st.integers(1, 900),
    ),
)


def call(arguments: object) -> bytes:
    """A turn in which the assistant calls a tool."""
    block = {"type": "tool_use", "id": "t1", "name": "Write", "input": arguments}
    return json.dumps({"type": "assistant", "message": {"role": "assistant", "content": [block]}}).encode() + b"\n"


def result(text: str) -> bytes:
    """A turn in which a tool answers."""
    block = {"type": "tool_result", "tool_use_id": "t1", "content": text}
    return json.dumps({"type": "user", "message": {"role": "user", "content": [block]}}).encode() + b"\n"


_TURNS = st.lists(
    st.one_of(
        st.builds(said, _TEXTS, st.sampled_from(["user", "assistant"])),
        st.builds(call, st.dictionaries(st.sampled_from(["path", "content"]), _TEXTS, max_size=2)),
        st.builds(result, _TEXTS),
        st.binary(max_size=300).map(lambda data: data.replace(b"\n", b" ") + b"\n"),
    ),
    min_size=1,
    max_size=25,
)


def size(view: BudgetView) -> int:
    """Bytes of a view, as JSON that escapes everything, in the object that is printed."""
    return len(json.dumps({"schema": 1, "ok": True, **as_json(view)}))


def brought_back(archive: Path, item: OmittedTurns, name: str) -> list[bytes]:
    """The turns of an omission, by its addresses and by its span, which have to agree."""
    turns = turns_of(held(archive, f"{name}#", span=item.span))
    assert len(turns) == item.turns
    assert len(held(archive, f"{name}#", span=item.span)) == item.bytes
    ends = [turns[0], turns[-1]] if item.turns > 1 else turns
    assert [read(archive, address) for address in item.addresses] == ends
    return turns


def check(archive: Path, view: BudgetView, turns: Sequence[bytes], budget: int) -> None:
    """That a view keeps every promise; ``turns`` are those of the source, held or not."""
    assert size(view) <= budget
    at, byte = 0, 0
    for item in view.items:
        if isinstance(item, (ShownTurn, CutTurn)):
            assert item.turn == at
            whole = turns[at]
            assert (item.cite, item.bytes) == (f"ctxa:{sha(whole)}", len(whole))
            assert read(archive, item.cite) == whole
            if isinstance(item, CutTurn):
                start, end = item.left_out.start_byte, item.left_out.end_byte
                assert 0 <= start < end <= len(whole)
                assert read(archive, item.left_out.address) == whole[start:end]
            else:
                assert item.text == readable(read_record(whole).parts)
            at += 1
            byte += len(whole)
        else:
            assert item.first_turn == at
            assert item.last_turn == at + item.turns - 1
            gone = turns[at : at + item.turns]
            if isinstance(item, OmittedTurns):
                assert brought_back(archive, item, view.transcript) == gone
                assert sum(item.roles.values()) == sum(item.kinds.values()) == item.turns
            else:
                assert (item.start_byte, item.end_byte) == (byte, byte + sum(map(len, gone)))
            at += item.turns
            byte += sum(map(len, gone))
    assert at == len(turns) == view.turns
    not_held = [(item.start_byte, item.end_byte) for item in view.items if isinstance(item, TurnsNotHeld)]
    assert not_held == [tuple(gap) for gap in view.omitted]
    assert view.complete == (not not_held)
    assert view.shown_turns + view.cut_turns + view.omitted_turns + sum(
        item.turns for item in view.items if isinstance(item, TurnsNotHeld)
    ) == len(turns)
    for one, other in pairwise(view.items):
        assert not (isinstance(one, OmittedTurns) and isinstance(other, OmittedTurns))


def least(archive: Path, **options: Any) -> int:  # noqa: ANN401 - as they are
    """The smallest budget that is not refused, as the refusal says it."""
    refusal = refused(lambda: within_budget(archive, budget=0, **options))
    assert refusal.code == "USAGE"
    minimum = refusal.facts["minimum"]
    assert isinstance(minimum, int)
    assert refused(lambda: within_budget(archive, budget=minimum - 1, **options)).facts["minimum"] == minimum
    return minimum


@settings(max_examples=40, deadline=None)
@given(turns=_TURNS, partial=st.booleans(), share=st.floats(0, 1), data=st.data())
def test_every_budget_is_kept_and_every_turn_is_there_or_can_be_brought_back(
    turns: list[bytes],
    partial: bool,  # noqa: FBT001 - drawn
    share: float,
    data: st.DataObject,
) -> None:
    source = b"".join(turns)
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "a.ctxa"
        if partial:
            store(archive, source, max_bytes=max(len(turns[-1]), int(len(source) * share)), allow_truncation=True)
        else:
            store(archive, source)
        minimum = least(archive)
        everything = within_budget(archive, budget=10**9)
        check(archive, everything, turns, 10**9)
        assert everything.cut_turns == everything.omitted_turns == 0
        largest = size(everything) + 100
        for budget in (minimum, data.draw(st.integers(minimum, max(largest, minimum))), max(largest, minimum)):
            view = within_budget(archive, budget=budget)
            check(archive, view, turns, budget)
        assert view.items == everything.items


def test_a_small_budget_shows_the_task_and_the_end(tmp_path: Path) -> None:
    turns = [b'{"type":"summary","summary":"x"}\n', *(said(f"remark {n} " + "x" * 200, second=n) for n in range(400))]
    store(tmp_path / "a.ctxa", b"".join(turns))
    view = within_budget(tmp_path / "a.ctxa", budget=3200)
    check(tmp_path / "a.ctxa", view, turns, 3200)
    shown = [item.turn for item in view.items if isinstance(item, ShownTurn)]
    assert shown[0] == 1
    assert shown[-1] == 400
    assert shown[1:] == list(range(402 - len(shown), 401))


def test_what_a_user_said_comes_before_tools_and_the_newest_first(tmp_path: Path) -> None:
    turns = [said("the task")]
    for n in range(60):
        turns += [call({"path": f"/file/{n}"}), result(f"line {n} " * 400), said(f"so be it {n}", "assistant")]
    turns[90] = said("no, the other one")
    store(tmp_path / "a.ctxa", b"".join(turns))
    view = within_budget(tmp_path / "a.ctxa", budget=9000)
    check(tmp_path / "a.ctxa", view, turns, 9000)
    there = {item.turn: item for item in view.items if isinstance(item, (ShownTurn, CutTurn))}
    assert {0, 90, *range(len(turns) - 4, len(turns))} <= set(there)
    others = [item for number, item in there.items() if number < len(turns) - 4 and number not in {0, 90}]
    spoken = [item.turn for item in others if item.role == "assistant"]
    assert len(others) - len(spoken) <= 1, "a tool's turn may only take what room is left where nothing else fits"
    assert len(spoken) > 5
    assert spoken == [n for n in range(1, len(turns) - 4) if n % 3 == 0 and n != 90][-len(spoken) :]


def test_a_long_turn_is_shown_without_its_middle(tmp_path: Path) -> None:
    text = "".join(f'line {n} of "many" \\ and é 漢\n' for n in range(3000))
    turns = [said("the task"), result(text), said("done", "assistant")]
    store(tmp_path / "a.ctxa", b"".join(turns))
    view = within_budget(tmp_path / "a.ctxa", budget=6000)
    check(tmp_path / "a.ctxa", view, turns, 6000)
    (item,) = (item for item in view.items if isinstance(item, CutTurn))
    middle = turns[1][item.left_out.start_byte : item.left_out.end_byte]
    assert item.text + json.loads(b'"' + middle + b'"') + item.tail == "[tool-result] " + text
    assert len(item.text) > len(item.tail) > 300
    assert size(view) > 5000


@pytest.mark.parametrize(
    "turn",
    [
        said('one\n\t"two" ' * 500),
        said("漢字 é 😀 " * 300),
        call({"content": "a\nb" * 900, "path": "/x"}),
        b"no json at all, " * 200 + b"\n",
        b"\xff\xfe\x00" * 800 + b"\n",
        b"\x7f" * 3000,
        b'{"type":"user","message":{"role":"user","content":"' + b"torn " * 600,
        b"{}{}" * 900 + b"\n",
        b'{"numbers":[' + b"1," * 2000 + b"1]}\n",
    ],
    ids=range(9),
)
def test_a_cut_takes_no_more_room_than_there_is_and_leaves_no_other_bytes_out(turn: bytes) -> None:
    text = readable(read_record(turn).parts)
    for room in (40, 100, 333, 1500):
        found = cut(turn, text, room)
        if found is None:
            assert room < 200
            continue
        assert json_bytes(found.head) + json_bytes(found.tail) <= room
        assert 0 <= found.start_byte < found.end_byte <= len(turn)
        assert found.head or found.tail


def test_turns_around_a_place_come_first(tmp_path: Path) -> None:
    turns = [said(f"remark {n} " + "x" * 100, ("user", "assistant")[n % 2]) for n in range(300)]
    store_all(tmp_path / "a.ctxa", {"s": b"".join(turns), "t": said("another")})
    archive = open_archive(tmp_path / "a.ctxa")
    for address in ("s#150", f"ctxa:{sha(turns[150])}", f"ctxa:{sha(turns[150])[:20]}:3-9"):
        view = archive.within_budget(budget=5000, around=address)
        check(archive.path, view, turns, 5000)
        shown = [item.turn for item in view.items if isinstance(item, ShownTurn)]
        assert (view.around, view.transcript) == (150, "s")
        assert len(shown) >= 7
        assert shown == list(range(shown[0], shown[-1] + 1))
        assert abs((150 - shown[0]) - (shown[-1] - 150)) <= 1


def test_only_turns_of_the_roles_are_shown_and_the_others_are_named(tmp_path: Path) -> None:
    turns = [said(f"remark {n}", ("user", "assistant")[n % 2]) for n in range(20)]
    store(tmp_path / "a.ctxa", b"".join(turns))
    view = within_budget(tmp_path / "a.ctxa", budget=10**6, roles=["assistant"])
    check(tmp_path / "a.ctxa", view, turns, 10**6)
    assert {item.role for item in view.items if isinstance(item, ShownTurn)} == {"assistant"}
    assert (view.shown_turns, view.omitted_turns) == (10, 10)
    around = within_budget(tmp_path / "a.ctxa", budget=10**6, roles=["assistant"], around="4")
    assert around.shown_turns == 11
    refusal = refused(lambda: within_budget(tmp_path / "a.ctxa", budget=10**6, roles=["robot"]))
    assert refusal.code == "USAGE"
    assert "robot" in refusal.message
    assert all(role in refusal.message for role in ROLES)


def test_an_older_state_is_read_with_at(tmp_path: Path) -> None:
    turns = [said(f"remark {n}") for n in range(6)]
    store(tmp_path / "a.ctxa", b"".join(turns[:3]))
    store(tmp_path / "a.ctxa", b"".join(turns))
    view = within_budget(tmp_path / "a.ctxa", budget=10**5, at=1)
    check(tmp_path / "a.ctxa", view, turns[:3], 10**5)
    assert view.at == 1


def test_what_means_nothing_is_refused(tmp_path: Path) -> None:
    archive = tmp_path / "a.ctxa"
    turns = [said(f"remark {n}") for n in range(4)]
    store_all(archive, {"s": b"".join(turns), "t": said("another")})
    codes = {
        "AMBIGUOUS": {},
        "NO_SUCH_TRANSCRIPT": {"transcript": "u"},
        "BAD_ADDRESS": {"around": "nonsense"},
        "NO_SUCH_CAPTURE": {"transcript": "s", "at": 9},
    }
    for code, options in codes.items():
        assert refused(lambda options=options: within_budget(archive, budget=10**5, **options)).code == code  # type: ignore[misc]
    assert refused(lambda: within_budget(archive, budget=10**5, around="s#9")).code == "NO_SUCH_TURN"
    assert refused(lambda: within_budget(archive, budget=10**5, around="s#")).code == "USAGE"
    assert refused(lambda: within_budget(archive, "t", budget=10**5, around="s#1")).code == "NO_SUCH_TURN"
    assert refused(lambda: within_budget(tmp_path / "b.ctxa", budget=10**5)).code == "NO_SUCH_ARCHIVE"
    assert refused(lambda: within_budget(archive, "s", budget=-1)).code == "USAGE"


def test_an_empty_transcript_is_a_view_without_items(tmp_path: Path) -> None:
    store(tmp_path / "a.ctxa", b"")
    view = within_budget(tmp_path / "a.ctxa", budget=5000)
    assert (view.items, view.turns, view.complete) == ((), 0, True)


def test_omissions_are_read_by_the_command_line_and_nothing_is_written(tmp_path: Path) -> None:
    turns = [said(f"remark {n} " + "x" * 300) for n in range(40)]
    store(tmp_path / "a.ctxa", b"".join(turns))
    before = tree(tmp_path / "a.ctxa")
    view = within_budget(tmp_path / "a.ctxa", budget=3000)
    omitted = [item for item in view.items if isinstance(item, OmittedTurns)]
    done = run("cat", tmp_path / "a.ctxa", f"{view.transcript}#", "--range", omitted[0].span)
    assert done.stdout == b"".join(turns[omitted[0].first_turn : omitted[0].last_turn + 1])
    assert run("cat", tmp_path / "a.ctxa", *omitted[0].addresses).returncode == 0
    assert tree(tmp_path / "a.ctxa") == before
