"""The small transcript of ``ctxarc demo``: an agent mends a date parser. Made here, in Claude Code's shape.

It holds what real ones hold: text in several scripts, tool calls and their results, thinking, a side chain, records
that are no messages, escapes, and a last line that its writer had not finished.
"""

from __future__ import annotations

import json

SESSION = "0d5e1c52-7f3a-4c6e-9b1d-2a4f6c8e0b13"
"""The session's id, and so the name of its file."""
FIRST_SAVE_TURNS = 12
"""How many turns the transcript has when it is first captured; one more has begun."""

_CWD = "/home/ada/invoices"
_TEST_OUTPUT = (
    "FAILED tests/test_dates.py::test_day_first - ValueError: time data '31/01/2025' does not match\n"
    "1 failed, 41 passed in 0.83s"
)
_MESSAGES: list[tuple[str, object]] = [
    ("user", "The invoice import fails on dates like 31/01/2025. Please find out why and fix it."),
    (
        "assistant",
        [
            {"type": "thinking", "thinking": "Day first. Look at the parser before guessing.", "signature": "c2lnbg=="},
            {"type": "text", "text": "I'll look at the date parser first."},
        ],
    ),
    ("assistant", [{"type": "tool_use", "id": "toolu_01", "name": "Read", "input": {"file_path": "dates.py"}}]),
    (
        "user",
        [
            {
                "type": "tool_result",
                "tool_use_id": "toolu_01",
                "content": '1\tdef parse(text):\n2\t    return datetime.strptime(text, "%m/%d/%Y").date()\n',
            }
        ],
    ),
    (
        "assistant",
        [{"type": "tool_use", "id": "toolu_02", "name": "Bash", "input": {"command": "pytest -q", "timeout": 60}}],
    ),
    ("user", [{"type": "tool_result", "tool_use_id": "toolu_02", "is_error": True, "content": _TEST_OUTPUT}]),
    (
        "assistant",
        [
            {
                "type": "text",
                "text": 'The parser reads the month first:\n\n    "%m/%d/%Y"\n\nSo "31/01/2025" has a month 31.',
            }
        ],
    ),
    ("user", "客户的发票都来自德国，日期总是先写日，再写月。请不要猜测，遇到不明确的日期要报错。"),
    (
        "assistant",
        [{"type": "text", "text": "明白：日在前，月在后；无法确定的日期会报错，而不是猜测。 → parse_day_first()"}],
    ),
    (
        "assistant",
        [
            {
                "type": "tool_use",
                "id": "toolu_03",
                "name": "Edit",
                "input": {"file_path": "dates.py", "old_string": "%m/%d/%Y", "new_string": "%d/%m/%Y"},
            }
        ],
    ),
    ("user", [{"type": "tool_result", "tool_use_id": "toolu_03", "content": "dates.py has been updated."}]),
    ("assistant", [{"type": "tool_use", "id": "toolu_04", "name": "Bash", "input": {"command": "pytest -q"}}]),
    ("user", [{"type": "tool_result", "tool_use_id": "toolu_04", "content": "\u001b[32m42 passed\u001b[0m in 0.79s"}]),
    (
        "assistant",
        [{"type": "text", "text": "All 42 tests pass. Dates are now read day first; anything else is an error. ✅"}],
    ),
    ("user", "Danke, genau so. Please note the reason in the docstring too."),
    (
        "assistant",
        [{"type": "text", "text": 'Done: "German invoices write the day first; a date that does not fit is refused."'}],
    ),
]


def _record(number: int, role: str, content: object) -> dict[str, object]:
    return {
        "parentUuid": _uuid(number - 1) if number else None,
        "isSidechain": False,
        "userType": "external",
        "cwd": _CWD,
        "sessionId": SESSION,
        "version": "2.0.14",
        "gitBranch": "main",
        "type": role,
        "message": {"role": role, "content": content},
        "uuid": _uuid(number),
        "timestamp": f"2025-03-04T09:{10 + number:02d}:27.{100 + 7 * number}Z",
    }


def _uuid(number: int) -> str:
    return f"5a0c7e10-0000-4000-8000-{number:012d}"


def lines() -> list[bytes]:
    """Every line of the finished part, each with its line feed."""
    records: list[dict[str, object]] = [_record(number, *message) for number, message in enumerate(_MESSAGES)]
    snapshot: dict[str, object] = {
        "type": "file-history-snapshot",
        "messageId": _uuid(0),
        "snapshot": {"trackedFileBackups": {}},
    }
    system = _record(16, "system", None) | {"subtype": "compact_boundary", "content": "Conversation compacted"}
    del system["message"]
    aside = _record(7, "assistant", [{"type": "text", "text": "Other callers of parse(): none outside import_csv.py."}])
    summary: dict[str, object] = {
        "type": "summary",
        "summary": "Dates in German invoices are read day first",
        "leafUuid": _uuid(15),
    }
    records.insert(0, snapshot)
    records.insert(8, aside | {"isSidechain": True, "uuid": _uuid(99)})
    records.append(system)
    records.append(summary)
    return [json.dumps(each, ensure_ascii=False, separators=(",", ":")).encode() + b"\n" for each in records]


def first_save() -> bytes:
    """The transcript while the agent works: some turns, and the beginning of the next."""
    held = lines()
    return b"".join(held[:FIRST_SAVE_TURNS]) + held[FIRST_SAVE_TURNS][:150]


def second_save() -> bytes:
    """The transcript later: the same turns, that line finished, and more; the very last line is torn again."""
    held = lines()
    return b"".join(held) + b'{"parentUuid":"5a0c7e10-0000-4000-8000-000000000015","isSidechain":fal'


def rewritten_save() -> bytes:
    """The transcript with one word of the past changed."""
    return second_save().replace(b"Please find out why", b"Please find out how")
