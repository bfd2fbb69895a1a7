"""Records: what each client's turns are read as, and that nothing in a turn is ever an error."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ctxarc.auxiliary.records import DIALECTS, KINDS, ROLES, Part, Record, excerpt, read_links, read_record
from ctxarc.auxiliary.records.links import Link
from ctxarc.auxiliary.shape import Shape, shape_of

CORPUS = Path(__file__).resolve().parents[2] / "shared" / "corpus"
TIME = "2026-01-02T03:04:05.678Z"

GOOD = b'{"type":"user","message":{"role":"user","content":"hello \\u00e9\\ud83d\\ude00 \xe6\xb8\xac"}}\n'
ODD_TURNS = [
    b"",
    b"\n",
    b" \r\n",
    b"\x00\x00\n",
    b"42\n",
    b"null\n",
    b'"s"\n',
    b"[1,2,3]\n",
    b"{}\n",
    b"plain words\n",
    b"\xff\xfe\n",
    b"\xef\xbb\xbf" + GOOD,
    b"[" * 5000 + b"]" * 5000 + b"\n",
    b'{"a":' * 5000 + b"1" + b"}" * 5000,
    b'{"n":' + b"9" * 6000 + b"}\n",
    b'{"type":"../../etc/\\u0000x","uuid":"\\n","role":[]}\n',
    b'{"x":"\\ud800 \\udfff"}\n',
    GOOD[:-1] + GOOD,
    b'{"type":"assistant","mess',
    b'{"role":"user","content":"' + b"x" * 3_000_000 + b'"}\n',
]


def line(value: object) -> bytes:
    return json.dumps(value).encode() + b"\n"


def read(value: object) -> Record:
    return read_record(line(value))


def said(record: Record) -> list[tuple[str, str, str]]:
    return [(part.kind, part.name, part.text) for part in record.parts]


# ------------------------------------------------------------------------------------------------ shapes


@pytest.mark.parametrize(
    ("raw", "shape"),
    [
        (b"", Shape.BLANK),
        (b" \t\r\n", Shape.BLANK),
        (b'{"a":1}\n', Shape.JSON),
        (b'{"a":1}', Shape.JSON),
        (b' {"a":1} \r\n', Shape.JSON),
        (b"42", Shape.JSON),
        (b"\xef\xbb\xbf{}\n", Shape.JSON),
        (b"[" * 5000 + b"]" * 5000 + b"\n", Shape.JSON),
        (b'{"n":' + b"9" * 6000 + b"}\n", Shape.JSON),
        (b"[" * 5000 + b"]" * 4999 + b"\n", Shape.NOT_JSON),
        (b"[" * 5000 + b'"\xff"' + b"]" * 5000 + b"\n", Shape.NOT_JSON),
        (b'{"a":1}{"b":2}\n', Shape.GLUED),
        (b'{"a":1} {"b":2}', Shape.GLUED),
        (b'{"a":1}\r{"b":2}\r{"c":3}', Shape.GLUED),
        (b'{"a":1}{"b":"c', Shape.GLUED),
        (b'{"a":1}{', Shape.GLUED),
        (b"[" * 5000 + b"]" * 5000 + b'{"a":1}\n', Shape.GLUED),
        (b"1 2\n", Shape.GLUED),
        (b'{"a":"\x00\x00{"b":1}\n', Shape.GLUED),
        (b'{"a":"\xe6\xb8{"b":1}\n', Shape.GLUED),
        (b'{"a":"b', Shape.TORN),
        (b"words", Shape.TORN),
        (b"\xef\xbb\xbf", Shape.TORN),
        (b'{"a":"b\n', Shape.NOT_JSON),
        (b"words\n", Shape.NOT_JSON),
        (b"2026-01-02\n", Shape.NOT_JSON),
        (b"007\n", Shape.NOT_JSON),
        (b'"key": "value",\n', Shape.NOT_JSON),
        (b'{"a":1}, {"b":2}\n', Shape.NOT_JSON),
        (b'{"a":1} and more\n', Shape.NOT_JSON),
        (b'{"a":1,{"b":2}}\n', Shape.NOT_JSON),
        (b'said {"a":1}\n', Shape.NOT_JSON),
        (b'{"a":"\xff"}\n', Shape.NOT_JSON),
        (b'{"a":"\x00"}\n', Shape.NOT_JSON),
        (b"\x00\x00\n", Shape.NOT_JSON),
    ],
)
def test_each_turn_has_its_shape(raw: bytes, shape: Shape) -> None:
    assert shape_of(raw) is shape


FIRST = b'{"type":"assistant","n":-12.5e3,"ok":[true,null,{"x":[]}],"text":"say \\"hi\\" \\u00e9\\n","z":false}'
SECOND = b'{"type":"user","text":"{\\"a\\": 1}","n":[1]}'


@pytest.mark.parametrize("cut", range(1, len(FIRST) + 1))
def test_a_record_cut_anywhere_and_followed_by_another_is_glued(cut: int) -> None:
    first = FIRST[:cut]
    # Before a value, the second record is a value of the first, and only the end of the line is missing.
    expected = {Shape.GLUED} if not first.endswith((b":", b"[", b"[true,", b"null,")) else {Shape.NOT_JSON}
    assert {shape_of(first + SECOND + b"\n")} == expected


@pytest.mark.parametrize("cut", range(1, len(FIRST)))
def test_a_record_cut_anywhere_is_torn_without_a_line_feed_and_no_json_with_one(cut: int) -> None:
    assert shape_of(FIRST[:cut]) is Shape.TORN
    assert shape_of(FIRST[:cut] + b"\n") is Shape.NOT_JSON


JSON_PIECES = [
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b",",
    b'"',
    b'"a"',
    b"1",
    b"-",
    b"0",
    b".",
    b"e5",
    b"true",
    b"nul",
    b"l",
    b"NaN",
]
JSON_PIECES += [
    b"-Infinity",
    b" ",
    b"\r",
    b"\t",
    b"\x0b",
    b"\\",
    b"\\u00",
    b"\x00",
    b"\xff",
    "\u00e9".encode(),
    b"\xed\xa0\x80",
]


@given(
    st.one_of(st.binary(max_size=40), st.lists(st.sampled_from(JSON_PIECES), max_size=14).map(b"".join)), st.booleans()
)
def test_json_is_what_python_reads_as_json(raw: bytes, finished: bool) -> None:  # noqa: FBT001 - given
    turn = raw.replace(b"\n", b"") + b"\n" * finished
    assert (shape_of(turn) is Shape.JSON) == is_json(turn)


def is_json(raw: bytes) -> bool:
    try:
        json.loads(raw.decode("utf-8", "surrogatepass").removeprefix("\ufeff"))
    except ValueError:
        return False
    return True


@given(
    st.recursive(
        st.none() | st.text() | st.floats() | st.integers(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_a_value_nested_too_deep_for_the_fast_way_is_judged_the_same(value: object) -> None:
    written = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    deep = b"[" * 3000 + written + b"]" * 3000
    assert shape_of(deep) is Shape.JSON
    assert shape_of(deep[:-1]) is Shape.TORN
    assert shape_of(deep + b"{}\n") is Shape.GLUED


@pytest.mark.parametrize(
    "flood", [b"[", b'"', b"\\", b'{"x', b'{"', b'{"a":1}', b'{"a":', b'{"a":1,', b" ", b"0", b"\x00"]
)
def test_floods_are_judged_in_one_pass(flood: bytes) -> None:
    assert shape_of(flood * 100_000) in Shape  # quadratic work on this would take hours


# ------------------------------------------------------------------------------------------------ never an error


@pytest.mark.parametrize("raw", ODD_TURNS, ids=range(len(ODD_TURNS)))
def test_odd_turns_are_read(raw: bytes) -> None:
    check(read_record(raw))


def check(record: Record) -> None:
    assert record.dialect in {*DIALECTS, "unknown"}
    assert record.role in ROLES
    assert {part.kind for part in record.parts} <= KINDS
    for text in (record.project or "", *(text for part in record.parts for text in (part.kind, part.name, part.text))):
        text.encode("utf-8")
    short = excerpt(record, 40)
    assert len(short) <= 40
    assert short.encode("utf-8").decode() == " ".join(short.split())


KEYS = """
    type role content message messages payload data kind source timestamp time sessionId uuid parentId id text thinking
    name input output arguments tool_calls function parts functionCall functionResponse response inlineData action args
    observation extras llm_message tool_call event part result image_url url image_urls summary item images toolCalls
    thoughts toolRequests snapshot systemPayload $set messageId projectHash origin thought stdout error cwd context
    directories call_id subtype isMeta
""".split()  # noqa: SIM905 - a table of words
WORDS = """
    user assistant system tool developer text thinking tool_use tool_result image image_url input_text message
    response_item event_msg session_meta function_call function_call_output reasoning custom_tool_call_output compacted
    progress summary user.message assistant.message tool.execution_complete hook.start context.append_message gemini
    info metadata context.append_loop_event content.part tool.call tool.result config.update MessageEvent ActionEvent
    ObservationEvent SystemPromptEvent AgentErrorEvent agent environment run think finish TurnBegin ToolCall _checkpoint
    {"output":"x"} {"output":[ data:image/png;base64,AAAA 2026-01-02T03:04:05Z 9999-99-99T99:99
    0001-01-01T00:00+23:59
""".split()  # noqa: SIM905 - a table of words
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(WORDS)
FIELDS = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=8),
    max_leaves=30,
)


@given(st.dictionaries(st.sampled_from(KEYS), FIELDS, max_size=9))
def test_no_field_of_any_type_is_an_error(value: dict[str, object]) -> None:
    check(read(value))


@given(st.sampled_from(WORDS), st.sampled_from(WORDS), st.dictionaries(st.sampled_from(KEYS), FIELDS, max_size=9))
def test_no_field_within_a_known_envelope_is_an_error(kind: str, inner: str, value: dict[str, object]) -> None:
    nested = {"role": kind, **value, "type": inner}
    common = {
        "type": kind,
        "kind": kind,
        "source": "agent",
        "timestamp": 1,
        "sessionId": "s",
        "id": "i",
        "parentId": "p",
    }
    for envelope in (
        {"type": kind, "timestamp": TIME, "payload": nested},
        {"type": kind, "time": 5, "message": value, "event": nested},
        {"timestamp": 1.5, "message": {"type": inner, "payload": value}},
        {**common, "message": nested},
        {**common, "data": value},
        {**common, **value},
        {"source": "agent", "timestamp": 1, "action": kind, "args": value},
        {"source": "agent", "timestamp": 1, "observation": kind, **value},
        {
            "source": "agent",
            "timestamp": 1,
            "kind": kind,
            "llm_message": nested,
            "tool_call": value,
            "observation": nested,
        },
    ):
        check(read(envelope))


@given(st.binary(max_size=80))
@example(b'{"role":"user","content":"\xff"}')
@example(b'{"role":"user","content":[[[')
def test_no_bytes_are_an_error(raw: bytes) -> None:
    check(read_record(raw))
    assert shape_of(raw) in Shape


@pytest.mark.parametrize("levels", [60, 400, 2_000])
def test_what_is_nested_too_deep_is_read_as_unknown_whatever_the_stack(levels: int) -> None:
    block = '[{"type":"tool_result","content":' * levels + '"x"' + "}]" * levels
    raw = b'{"role":"user","content":' + block.encode() + b"}"

    def read_below(frames: int) -> tuple[Record, tuple[str, list[Link]]]:
        return read_below(frames - 1) if frames else (read_record(raw), read_links(raw))

    check(read_record(raw))
    for frames in (0, 300):
        record, links = read_below(frames)
        assert record.dialect == "unknown"
        assert record.parts == (Part("text", "", raw.decode()),)
        assert links == ("not-json", [])


def test_what_is_nested_as_people_nest_is_read() -> None:
    block = '[{"type":"tool_result","content":' * 40 + '"x"' + "}]" * 40
    raw = b'{"role":"user","content":' + block.encode() + b"}"
    assert read_record(raw).dialect == "openai-chat"
    assert read_links(raw)[0] == "openai-chat"


def test_what_no_client_writes_is_unknown_and_shown_as_it_stands() -> None:
    for raw in (b'{"question":"why?","answer":"\\u00e9"}\n', b'{"from":"human","value":"hi"}\r\n', b"just words\n"):
        record = read_record(raw)
        assert (record.dialect, record.role, record.time, record.project) == ("unknown", "unknown", None, None)
        assert said(record) == [("text", "", raw.decode().rstrip("\r\n"))]
    assert read_record(b" \n").parts == ()


def test_a_role_of_another_type_is_not_guessed_at() -> None:
    assert read({"role": ["user"], "content": "x"}).dialect == "unknown"
    assert read({"role": "user", "content": 5}).dialect == "unknown"
    assert read({"role": "king", "content": "x"}).dialect == "unknown"
    assert read({"type": "user", "content": "x"}).dialect == "unknown"


def test_a_record_with_broken_bytes_still_says_who_speaks() -> None:
    record = read_record(b'\xef\xbb\xbf{"role":"user","content":"a\xffb\x00c \\ud800"}')
    assert (record.role, said(record)) == ("user", [("text", "", "a\ufffdb\x00c \ufffd")])


def test_long_integers_do_not_hide_a_record() -> None:
    record = read_record(b'{"role":"user","content":"x","n":' + b"9" * 6000 + b',"timestamp":1767323045678}')
    assert (record.role, record.time) == ("user", TIME)


# ------------------------------------------------------------------------------------------------ times


@pytest.mark.parametrize(
    ("stated", "read_as"),
    [
        ("2026-01-02T03:04:05.678Z", TIME),
        ("2026-01-02T03:04:05.678999+00:00", TIME),
        ("2026-01-02T05:04:05.678+02:00", TIME),
        ("2026-01-02T03:04:05.678", TIME),
        ("2026-01-02 03:04:05Z", "2026-01-02T03:04:05.000Z"),
        (1767323045.678, TIME),
        (1767323045678, TIME),
        (1767323045678000, TIME),
        ("1767323045678", TIME),
        (1767323045, "2026-01-02T03:04:05.000Z"),
        ("0900-01-02T03:04:05Z", "0900-01-02T03:04:05.000Z"),
    ],
)
def test_times_are_read_as_utc(stated: object, read_as: str) -> None:
    assert read({"role": "user", "content": "x", "timestamp": stated}).time == read_as


@pytest.mark.parametrize(
    "stated",
    [
        None,
        True,
        0,
        -1,
        12,
        1e30,
        float("nan"),
        float("inf"),
        "",
        "soon",
        "2026-01-02",
        "2026-13-02T03:04:05Z",
        [],
        {},
        "20260102",
    ],
)
def test_what_is_no_instant_is_no_time(stated: object) -> None:
    assert read({"role": "user", "content": "x", "timestamp": stated}).time is None


@pytest.mark.parametrize(
    "stated",
    [
        "2026-01-02T25:04:05Z",
        "0001-01-01T00:00:00+23:00",
        "2026-01-02T03:04:05+99:99",
        "1" * 40,
        "2026-01-02T03:04:60Z",
    ],
)
def test_an_impossible_instant_is_no_time(stated: str) -> None:
    assert read({"role": "user", "content": "x", "timestamp": stated}).time is None


# ------------------------------------------------------------------------------------------------ excerpts


def of(*parts: tuple[str, str, str]) -> Record:
    return Record("unknown", "user", None, None, tuple(Part(*part) for part in parts))


def test_an_excerpt_is_one_line_and_counts_its_ellipsis() -> None:
    record = of(("text", "", "  one\n\n two\u2028three\tfour"))
    assert excerpt(record) == "one two three four"
    assert excerpt(record, 18) == "one two three four"
    assert excerpt(record, 17) == "one two three fo\u2026"
    assert excerpt(record, 9) == "one two\u2026"
    assert excerpt(record, 1) == "\u2026"
    assert excerpt(record, 0) == ""


def test_an_excerpt_prefers_what_is_said() -> None:
    note, thought = ("note", "", "progress"), ("thinking", "", "hm")
    call, text = ("tool-call", "shell", '{"c": 1}'), ("text", "", "done")
    assert excerpt(of(note, thought, call, text, text)) == "done done"
    assert excerpt(of(note, thought, call, ("text", "", " \n"))) == 'shell {"c": 1}'
    assert excerpt(of(note, thought)) == "hm"
    assert excerpt(of(note)) == "progress"
    assert excerpt(of(("image", "image/png", "12 bytes"))) == "image/png 12 bytes"
    assert excerpt(of()) == ""


def test_an_excerpt_replaces_lone_surrogates() -> None:
    assert excerpt(of(("text", "", "a\ud800b"))) == "a\ufffdb"


def test_an_excerpt_of_a_huge_word_is_cut() -> None:
    assert excerpt(of(("text", "", "x" * 5_000_000)), 10) == "x" * 9 + "\u2026"


# ------------------------------------------------------------------------------------------------ claude code

CLAUDE = {"sessionId": "s-1", "uuid": "u-1", "cwd": "/home/ada/engine", "timestamp": TIME}


def claude(role: str, content: object, **more: object) -> Record:
    return read({"type": role, "message": {"role": role, "content": content}, **CLAUDE, **more})


def test_claude_code_messages() -> None:
    record = claude("user", "mend the gear")
    assert record == Record("claude-code", "user", TIME, "/home/ada/engine", (Part("text", "", "mend the gear"),))
    record = claude(
        "assistant",
        [
            {"type": "thinking", "thinking": "which gear?", "signature": "c2ln"},
            {"type": "text", "text": "Looking."},
            {"type": "tool_use", "id": "t", "name": "Read", "input": {"path": "g\u00e9ar.txt"}},
            {"type": "redacted_thinking", "data": "AAAA"},
        ],
    )
    assert record.role == "assistant"
    assert said(record) == [
        ("thinking", "", "which gear?"),
        ("text", "", "Looking."),
        ("tool-call", "Read", '{"path": "g\u00e9ar.txt"}'),
        ("note", "", "redacted_thinking"),
    ]


def test_claude_code_tool_results_are_the_tools() -> None:
    block = {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "12 teeth"}]}
    assert (claude("user", [block]).role, said(claude("user", [block]))) == ("tool", [("tool-result", "", "12 teeth")])
    mixed = claude("user", [block, {"type": "text", "text": "count again"}])
    assert (mixed.role, excerpt(mixed)) == ("user", "count again")
    assert claude("user", [{"type": "tool_result", "content": ""}]).role == "tool"


def test_claude_code_images_are_told_by_their_size() -> None:
    picture = bytes(1000)
    source = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(picture).decode()}
    record = claude("user", [{"type": "image", "source": source}])
    assert (record.role, said(record)) == ("user", [("image", "image/png", "1000 bytes")])
    in_result = claude("user", [{"type": "tool_result", "content": [{"type": "image", "source": source}]}])
    assert (in_result.role, in_result.parts[-1].text) == ("tool", "1000 bytes")


def test_claude_code_text_of_the_client_is_not_the_users() -> None:
    assert claude("user", "a skill's text", isMeta=True).role == "system"
    assert claude("user", "what went before", isCompactSummary=True).role == "system"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"type": "summary", "summary": "Gears mended", "leafUuid": "u"}, "Gears mended"),
        ({"type": "system", "subtype": "turn_duration", **CLAUDE}, "system turn_duration"),
        ({"type": "file-history-snapshot", "messageId": "m", "snapshot": {"timestamp": TIME}}, "file-history-snapshot"),
        ({"type": "queue-operation", "operation": "enqueue", "content": "then oil it", **CLAUDE}, "then oil it"),
        ({"type": "progress", "data": {"type": "bash_progress", "fullOutput": "half"}, **CLAUDE}, "half"),
        (
            {
                "type": "progress",
                "data": {"type": "agent_progress", "message": {"message": {"content": "deep"}}},
                **CLAUDE,
            },
            "deep",
        ),
        ({"type": "result", "subtype": "success", "result": "All mended", "session_id": "s"}, "All mended"),
    ],
)
def test_claude_code_bookkeeping_is_events(value: dict[str, object], words: str) -> None:
    record = read(value)
    assert (record.dialect, record.role, excerpt(record)) == ("claude-code", "event", words)


# ------------------------------------------------------------------------------------------------ codex


def codex(kind: str, **payload: object) -> Record:
    return read({"timestamp": TIME, "type": kind, "payload": payload})


@pytest.mark.parametrize(
    ("payload", "role", "parts"),
    [
        (
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "sum it"}]},
            "user",
            [("text", "", "sum it")],
        ),
        (
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "<environment_context>\n"}]},
            "system",
            [("text", "", "<environment_context>\n")],
        ),
        ({"type": "message", "role": "developer", "content": "be brief"}, "system", [("text", "", "be brief")]),
        (
            {
                "type": "message",
                "role": "user",
                "content": [{"type": "input_image", "image_url": "data:image/gif;base64,QUJD"}],
            },
            "user",
            [("image", "image/gif", "3 bytes")],
        ),
        (
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "add"}], "encrypted_content": "x"},
            "assistant",
            [("thinking", "", "add")],
        ),
        ({"type": "reasoning", "summary": [], "encrypted_content": "x"}, "assistant", [("note", "", "reasoning")]),
        (
            {"type": "function_call", "name": "shell", "arguments": '{"command":["ls"]}', "call_id": "c"},
            "assistant",
            [("tool-call", "shell", '{"command":["ls"]}')],
        ),
        (
            {"type": "function_call_output", "call_id": "c", "output": '{"output":"a\\nb","metadata":{"exit_code":0}}'},
            "tool",
            [("tool-result", "", "a\nb")],
        ),
        (
            {"type": "custom_tool_call_output", "output": [{"type": "input_text", "text": "ok"}]},
            "tool",
            [("tool-result", "", "ok")],
        ),
        (
            {"type": "web_search_call", "action": {"query": "q"}},
            "assistant",
            [("tool-call", "web_search_call", '{"query": "q"}')],
        ),
        ({"type": "ghost_snapshot"}, "event", [("note", "", "ghost_snapshot")]),
    ],
)
def test_codex_items(payload: dict[str, object], role: str, parts: list[tuple[str, str, str]]) -> None:
    record = codex("response_item", **payload)
    assert (record.dialect, record.role, record.time, said(record)) == ("codex", role, TIME, parts)


def test_codex_events_are_the_clients() -> None:
    record = codex("session_meta", id="s", cwd="/srv/sum")
    assert (record.role, record.project, excerpt(record)) == ("event", "/srv/sum", "session_meta")
    record = codex("event_msg", type="user_message", message="sum it", images=["data:image/png;base64,QUJD"])
    assert (record.role, excerpt(record), record.parts[-1].kind) == ("event", "sum it", "image")
    assert excerpt(codex("event_msg", type="token_count", info=None)) == "token_count"
    assert excerpt(codex("event_msg", type="exec_command_end", stdout="", aggregated_output="7")) == "7"


def test_codex_items_of_early_releases_stand_bare() -> None:
    record = read({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "7"}]})
    assert (record.dialect, record.role, excerpt(record)) == ("codex", "assistant", "7")
    assert read({"type": "function_call_output", "call_id": "c", "output": "7"}).role == "tool"
    assert read({"type": "message", "content": [{"type": "verse", "text": "x"}]}).dialect == "unknown"


# ------------------------------------------------------------------------------------------------ chat


def test_chat_messages() -> None:
    assert read({"role": "developer", "content": "be kind"}).role == "system"
    call = {"id": "c", "type": "function", "function": {"name": "add", "arguments": '{"a":1}'}}
    record = read({"role": "assistant", "content": None, "reasoning_content": "hm", "tool_calls": [call]})
    assert (record.dialect, record.role) == ("openai-chat", "assistant")
    assert said(record) == [("thinking", "", "hm"), ("tool-call", "add", '{"a":1}')]
    record = read({"role": "tool", "name": "add", "tool_call_id": "c", "content": "3"})
    assert (record.role, said(record)) == ("tool", [("tool-result", "add", "3")])
    record = read(
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}]}
    )
    assert said(record) == [("image", "", "https://example.org/a.png")]


def test_a_conversation_on_one_line_says_who_speaks() -> None:
    record = read({"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]})
    assert (record.dialect, record.role) == ("openai-chat", "unknown")
    assert said(record) == [("note", "", "system"), ("text", "", "s"), ("note", "", "user"), ("text", "", "u")]
    assert read({"messages": [{"role": "user", "content": "u"}]}).role == "user"
    assert read({"messages": [{"role": "user", "content": "u"}, {"x": 1}]}).dialect == "unknown"
    assert read({"messages": []}).dialect == "unknown"


# ------------------------------------------------------------------------------------------------ openhands


def hands(**more: object) -> Record:
    return read({"source": "agent", "timestamp": "2026-01-02T03:04:05.678901", "id": "e", **more})


def test_openhands_events() -> None:
    record = hands(
        kind="MessageEvent", source="user", llm_message={"role": "user", "content": [{"type": "text", "text": "go"}]}
    )
    assert (record.dialect, record.role, record.time, excerpt(record)) == ("openhands", "user", TIME, "go")
    record = hands(
        kind="ActionEvent", thought=[{"type": "text", "text": "list"}], tool_name="terminal", action={"command": "ls"}
    )
    assert (record.role, said(record)) == (
        "assistant",
        [("text", "", "list"), ("tool-call", "terminal", '{"command": "ls"}')],
    )
    record = hands(
        kind="ObservationEvent", tool_name="terminal", observation={"stdout": "a", "stderr": "b", "exit_code": 0}
    )
    assert (record.role, said(record)) == ("tool", [("tool-result", "terminal", "a\nb")])
    assert hands(kind="AgentErrorEvent", error="no").role == "tool"
    assert hands(kind="SystemPromptEvent", system_prompt={"type": "text", "text": "be"}).role == "system"
    assert excerpt(hands(kind="ConversationStateUpdateEvent", key="stats")) == "ConversationStateUpdateEvent stats"


def test_openhands_actions_and_observations() -> None:
    record = hands(action="run", args={"command": "ls", "thought": "look"})
    assert (record.role, said(record)) == (
        "assistant",
        [("thinking", "", "look"), ("tool-call", "run", '{"command": "ls"}')],
    )
    assert hands(action="message", source="user", args={"content": "go"}).role == "user"
    assert hands(action="system", args={"content": "be"}).role == "system"
    assert excerpt(hands(action="finish", args={"final_thought": "done"})) == "done"
    record = hands(observation="run", source="environment", content="a", extras={})
    assert (record.role, said(record)) == ("tool", [("tool-result", "run", "a")])
    assert hands(observation="agent_state_changed", content="", extras={"agent_state": "running"}).role == "event"
    assert hands(action="change_agent_state", args={"agent_state": "stopped"}).role == "event"


# ------------------------------------------------------------------------------------------------ the others


def test_gemini_messages() -> None:
    call = {"name": "ls", "args": {"p": "."}, "result": [{"functionResponse": {"response": {"output": "a"}}}]}
    thought = {"subject": "Look", "description": "first"}
    record = read(
        {"id": "m", "timestamp": TIME, "type": "gemini", "content": "ok", "thoughts": [thought], "toolCalls": [call]},
    )
    assert (record.dialect, record.role, record.time) == ("gemini", "assistant", TIME)
    assert said(record) == [
        ("thinking", "", "Look\nfirst"),
        ("text", "", "ok"),
        ("tool-call", "ls", '{"p": "."}'),
        ("tool-result", "ls", "a"),
    ]
    assert read({"id": "m", "timestamp": TIME, "type": "user", "content": [{"text": "hi"}]}).role == "user"
    assert read({"id": "m", "timestamp": TIME, "type": "info", "content": "new release"}).role == "event"


def test_gemini_recordings_and_changes() -> None:
    message = {"id": "m", "timestamp": TIME, "type": "user", "content": "hi"}
    head = {"sessionId": "s", "projectHash": "h", "startTime": TIME, "directories": ["/srv/x"], "messages": [message]}
    record = read(head)
    assert (record.dialect, record.role, record.time, record.project) == ("gemini", "event", TIME, "/srv/x")
    assert excerpt(record) == "hi"
    assert excerpt(read({"$rewindTo": "m"})) == "$rewindTo m"
    assert read({"$set": {"lastUpdated": TIME}}).time == TIME
    assert read({"sessionId": "s", "messageId": 0, "type": "user", "message": "hi", "timestamp": TIME}).role == "user"


def qwen(kind: str, *parts: object, **more: object) -> Record:
    return read({**CLAUDE, "type": kind, "message": {"role": "model", "parts": list(parts)}, **more})


def test_qwen_messages() -> None:
    call = {"functionCall": {"name": "ls", "args": {}}}
    record = qwen("assistant", {"text": "hm", "thought": True}, {"text": "ok"}, call)
    assert (record.dialect, record.role, record.project) == ("qwen", "assistant", "/home/ada/engine")
    assert said(record) == [("thinking", "", "hm"), ("text", "", "ok"), ("tool-call", "ls", "{}")]
    record = qwen("tool_result", {"functionResponse": {"name": "ls", "response": {"output": "a"}}})
    assert (record.role, said(record)) == ("tool", [("tool-result", "ls", "a")])
    assert qwen("user", {"text": "hi"}).role == "user"
    assert qwen("user", {"text": "hi"}, subtype="notification").role == "system"
    record = read({**CLAUDE, "type": "system", "subtype": "slash_command", "systemPayload": {"rawCommand": "/help"}})
    assert (record.dialect, record.role, excerpt(record)) == ("qwen", "event", "system slash_command /help")


def kimi(kind: str, **more: object) -> Record:
    return read({"type": kind, "time": 1767323045678, **more})


def test_kimi_records() -> None:
    text = [{"type": "text", "text": "hi"}]
    record = kimi("context.append_message", message={"role": "user", "content": text, "origin": {"kind": "user"}})
    assert (record.dialect, record.role, record.time, excerpt(record)) == ("kimi", "user", TIME, "hi")
    injected = {"role": "user", "content": text, "origin": {"kind": "injection"}}
    assert kimi("context.append_message", message=injected).role == "system"
    step = kimi("context.append_loop_event", event={"type": "content.part", "part": {"type": "think", "think": "hm"}})
    assert (step.role, said(step)) == ("assistant", [("thinking", "", "hm")])
    step = kimi("context.append_loop_event", event={"type": "tool.call", "name": "Read", "args": {"p": 1}})
    assert said(step) == [("tool-call", "Read", '{"p": 1}')]
    step = kimi("context.append_loop_event", event={"type": "tool.result", "result": {"output": "7"}})
    assert (step.role, said(step)) == ("tool", [("tool-result", "", "7")])
    assert (kimi("turn.prompt", input=text).role, excerpt(kimi("turn.prompt", input=text))) == ("event", "hi")
    assert kimi("config.update", systemPrompt="be").role == "system"
    assert kimi("profile.bind", environmentDisclosure={"cwd": "/srv/k"}).project == "/srv/k"
    assert excerpt(read({"type": "metadata", "protocol_version": "1.4", "created_at": 1767323045678})) == "metadata"


def test_kimi_records_of_the_python_client() -> None:
    def wired(kind: str, **payload: object) -> Record:
        return read({"timestamp": 1767323045.678, "message": {"type": kind, "payload": payload}})

    assert (wired("TurnBegin", user_input="hi").role, wired("TurnBegin", user_input="hi").time) == ("user", TIME)
    assert excerpt(wired("ContentPart", type="text", text="ok")) == "ok"
    assert excerpt(wired("ToolCall", function={"name": "ls", "arguments": "{}"})) == "ls {}"
    assert wired("ToolResult", return_value={"output": "7"}).role == "tool"
    assert wired("StepBegin", n=1).role == "event"
    assert read({"role": "_checkpoint", "id": 0}).dialect == "kimi"


def copilot(kind: str, **data: object) -> Record:
    return read({"type": kind, "data": data, "id": "e", "timestamp": TIME, "parentId": None})


def test_copilot_events() -> None:
    assert (copilot("user.message", content="hi").dialect, copilot("user.message", content="hi").role) == (
        "copilot",
        "user",
    )
    record = copilot("assistant.message", content="ok", toolRequests=[{"name": "shell", "arguments": '{"c":1}'}])
    assert (record.role, said(record)) == ("assistant", [("text", "", "ok"), ("tool-call", "shell", '{"c":1}')])
    record = copilot("tool.execution_complete", success=True, result={"content": "a"})
    assert (record.role, said(record)) == ("tool", [("tool-result", "", "a")])
    assert said(copilot("assistant.reasoning", content="hm")) == [("thinking", "", "hm")]
    assert copilot("session.start", context={"cwd": "/srv/c"}).project == "/srv/c"
    assert excerpt(copilot("session.error", message="no")) == "no"
    assert excerpt(copilot("assistant.turn_end", turnId="t")) == "assistant.turn_end"


# ------------------------------------------------------------------------------------------------ real transcripts

REAL = {
    "claude-code-16MiB.jsonl": "claude-code",
    "other/image-line.jsonl": "claude-code",
    "other/codex.jsonl": "codex",
    "other/codex-with-image.jsonl": "codex",
    "codex-growing/save-5.jsonl": "codex",
    "other/copilot.jsonl": "copilot",
    "other/kimi.jsonl": "kimi",
    "other/openhands.jsonl": "openhands",
    "other/qwen.jsonl": "qwen",
    "other/chinese-crlf.jsonl": "unknown",
}


def real(name: str) -> list[bytes]:
    if not (CORPUS / name).exists():
        pytest.skip(f"no real transcripts at {CORPUS}")
    turns = (CORPUS / name).read_bytes().split(b"\n")
    return [turn + b"\n" for turn in turns[:-1]] + [turn for turn in turns[-1:] if turn]


@pytest.mark.parametrize(("name", "dialect"), REAL.items(), ids=REAL)
def test_every_turn_of_a_real_transcript_is_read(name: str, dialect: str) -> None:
    for raw in real(name):
        record = read_record(raw)
        check(record)
        assert record.dialect == dialect
        assert record.parts
        assert shape_of(raw) is Shape.JSON


@pytest.mark.parametrize(("save", "glued"), [(0, 0), (1, 1), (2, 2)])
def test_real_glued_turns_are_counted(save: int, glued: int) -> None:
    assert [shape_of(raw) for raw in real(f"glued/save-{save}.jsonl")].count(Shape.GLUED) == glued


def test_a_real_pretty_printed_document_is_no_json_line_by_line() -> None:
    shapes = [shape_of(raw) for raw in real("other/gemini-pretty-printed.jsonl")]
    assert Shape.GLUED not in shapes
    assert shapes.count(Shape.NOT_JSON) >= len(shapes) - 1
