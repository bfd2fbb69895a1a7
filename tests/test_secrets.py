"""``scan`` and ``--redact``: where secrets stand, and that nothing printed has them; the record keeps its bytes.

Keys are made up and put together here, so that no file of the project has one.
"""

from __future__ import annotations

import base64
import json
import random
import string
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from archives import digest_of, files_of, store
from cases import one, run, said
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxarc.auxiliary.secrets.defaults import DEFAULT_RULES
from ctxarc.operations.cat import cat_redacted
from ctxarc.operations.redact import Redactor, read_rules
from ctxarc.operations.scan import scan
from ctxarc.operations.segment import segment

ALPHABET = string.ascii_letters + string.digits


def made(length: int, seed: int = 1, alphabet: str = ALPHABET) -> str:
    """Letters and digits as chance has them."""
    source = random.Random(seed)  # noqa: S311 - a made-up key
    return "".join(source.choice(alphabet) for _ in range(length))


KEYS = {
    "github": "ghp" + "_" + made(36),
    "anthropic": "sk-ant" + "-api03-" + made(93) + "AA",
    "aws": "AKIA" + made(16, alphabet="ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"),
    "slack": "xoxb" + "-" + made(12, alphabet=string.digits) + "-" + made(12, alphabet=string.digits) + "-" + made(24),
}
NEAR = (
    "ghp_short",
    "sk-ant-",
    "AKIA0000",
    "xoxb-",
    "the token is lost",
    "password: see the safe",
    "ghp" + "_" + "x" * 36,
)
"""What begins as a key does, or speaks of one, and is none."""


def block(lines: int = 12) -> str:
    body = "\n".join(base64.b64encode(sha256(b"%d" % number).digest() * 2).decode()[:64] for number in range(lines))
    return "-----BEGIN RSA " + f"PRIVATE KEY-----\n{body}\n-----END RSA " + "PRIVATE KEY-----"


HEX, UPPER = "0123456789abcdef", string.ascii_uppercase + string.digits
EXAMPLES = {
    "anthropic-api-key": KEYS["anthropic"],
    "openai-api-key": "sk-" + "proj-" + made(40),
    "github-token": "gho" + "_" + made(36),
    "github-fine-grained-token": "github" + "_pat_" + made(40),
    "gitlab-token": "glpat" + "-" + made(24),
    "aws-access-key-id": KEYS["aws"],
    "slack-token": KEYS["slack"],
    "slack-app-token": "xapp" + "-1-" + made(30),
    "slack-webhook": "https://hooks.slack" + ".com/services/" + made(40),
    "google-api-key": "AI" + "za" + made(36),
    "google-oauth-secret": "GOC" + "SPX-" + made(24),
    "google-oauth-token": "ya" + "29." + made(40),
    "stripe-key": "sk" + "_live_" + made(24),
    "stripe-webhook-secret": "wh" + "sec_" + made(32),
    "npm-token": "np" + "m_" + made(36),
    "pypi-token": "py" + "pi-" + made(60),
    "sendgrid-api-key": "S" + "G." + made(22) + "." + made(43),
    "twilio-api-key": "S" + "K" + made(32, alphabet=HEX),
    "huggingface-token": "h" + "f_" + made(34),
    "digitalocean-token": "dop" + "_v1_" + made(64, alphabet=HEX),
    "groq-api-key": "gs" + "k_" + made(52),
    "xai-api-key": "xa" + "i-" + made(80),
    "shopify-token": "shp" + "at_" + made(32, alphabet=HEX),
    "vault-token": "hv" + "s." + made(30),
    "age-secret-key": "AGE-SECRET" + "-KEY-1" + made(58, alphabet=UPPER),
    "telegram-bot-token": made(9, alphabet=string.digits) + ":A" + "A" + made(34),
    "azure-client-secret": "a1b" + "8Q" + "~" + made(34),
    "azure-storage-key": "Account" + "Key=" + made(86) + "==",
    "azure-shared-access-key": "SharedAccess" + "Key=" + made(43) + "=",
    "azure-sas-signature": "https://a.example.org/b?sv=1&si" + "g=" + made(43) + "%3D",
    "json-web-token": "ey" + "J" + made(20) + ".ey" + "J" + made(40) + "." + made(43),
    "private-key": block(),
    "authorization-header": "Authori" + "zation: Basic " + made(24),
    "bearer-token": "curl -H 'Bea" + "rer " + made(32) + "'",
    "url-password": "postgres://harbour:" + made(14) + "@db.local/a",
    "aws-secret-access-key": "aws_secret_access" + "_key = " + made(40, seed=3),
    "generic-api-key": "service_to" + "ken = '" + made(32) + "'",
    "generic-password": "pass" + "word = '" + made(14) + "'",
}
"""What each rule finds, by the name of the rule."""


def places(archive: Path, *options: str) -> list[dict[str, Any]]:
    done = run("scan", archive, "--json", *options)
    assert done.returncode in {0, 1}, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def raw(archive: Path, place: dict[str, Any]) -> bytes:
    return run("cat", archive, f"{place['turn']}:{place['start_byte']}-{place['end_byte']}").stdout


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.ctxa"


@pytest.mark.parametrize("name", KEYS)
def test_a_key_is_found_at_its_place_and_never_printed(path: Path, name: str) -> None:
    key = KEYS[name]
    store(path, said("nothing here") + said(f"I ran it with {key} and it worked"))
    (found,) = places(path)
    assert (found["turn"], raw(path, found)) == (1, key.encode())
    assert found["digest_verified"] is True
    for done in (run("scan", path), run("scan", path, "--json"), run("scan", path, "--count")):
        assert key[-12:].encode() not in done.stdout + done.stderr


def test_every_rule_has_an_example() -> None:
    assert set(EXAMPLES) == {rule.id for rule in DEFAULT_RULES.rules}


@pytest.mark.parametrize("rule", EXAMPLES)
def test_a_rule_finds_what_it_is_named_after(path: Path, rule: str) -> None:
    store(path, said(f"It is {EXAMPLES[rule]} as you see"))
    assert rule in [place["rule"] for place in places(path)]
    longest = max(EXAMPLES[rule].split("\n"), key=len)
    assert longest[-12:-2].encode() not in run("cat", path, "--redact").stdout


@pytest.mark.parametrize("text", NEAR)
def test_what_is_no_key_is_not_reported(path: Path, text: str) -> None:
    store(path, said(text))
    assert places(path) == []


def test_a_block_whose_line_ends_are_escaped_is_one_secret(path: Path) -> None:
    store(path, said(f"The key:\n{block()}\nand more"))
    (found,) = places(path)
    assert raw(path, found).startswith(b"-----BEGIN RSA")
    assert raw(path, found).endswith(b"PRIVATE KEY-----")
    shown = run("cat", path, "--redact").stdout
    assert b"PRIVATE" not in shown
    json.loads(shown)


def test_a_key_that_is_written_with_escapes_is_found(path: Path) -> None:
    key = KEYS["github"]
    escaped = "".join(f"\\u{ord(char):04x}" if number % 3 == 0 else char for number, char in enumerate(key))
    store(path, b'{"role":"user","content":"use ' + escaped.encode() + b' now"}\n')
    (found,) = places(path)
    assert json.loads(f'"{raw(path, found).decode()}"') == key
    shown = run("cat", path, "--redact").stdout
    assert key not in json.loads(shown)["content"]
    assert escaped.encode() not in shown


def test_json_within_json_is_looked_at(path: Path) -> None:
    inner = json.dumps({"env": {"GITHUB": KEYS["github"], "note": "line\nline"}})
    store(path, said(json.dumps({"arguments": inner})))
    assert [raw(path, each) for each in places(path)] == [KEYS["github"].encode()]


def test_what_is_shown_has_no_secret_and_says_which_spans_were_replaced(path: Path) -> None:
    key = KEYS["anthropic"]
    store(path, said(f"set ANTHROPIC_API_KEY to {key} first") + said("no secret"))
    (found,) = places(path)
    done = run("cat", path, "--redact")
    assert key.encode() not in done.stdout
    assert f"redacted 0:{found['start_byte']}-{found['end_byte']}" in done.stderr.decode()
    assert [json.loads(line)["message"]["role"] for line in done.stdout.splitlines()] == ["user", "user"]
    rows = [json.loads(line) for line in run("cat", path, "0", "--redact", "--json").stdout.splitlines()]
    assert [(each["start_byte"], each["end_byte"]) for each in rows[0]["redactions"]] == [
        (found["start_byte"], found["end_byte"])
    ]
    assert key not in json.dumps(rows)
    # Digests are of what is held, so that the place can be proved.
    assert rows[0]["turn_sha256"] == sha256(run("cat", path, "0").stdout).hexdigest()


def test_a_range_that_begins_or_ends_inside_a_secret_shows_no_part_of_it(path: Path) -> None:
    key = KEYS["github"]
    store(path, said(f"before {key} after"))
    start = run("cat", path, "0").stdout.index(key.encode())
    for first, last in ((start + 10, start + 80), (start - 5, start + 12), (start + 8, start + 20)):
        shown = run("cat", path, f"0:{first}-{min(last, len(run('cat', path, '0').stdout))}", "--redact").stdout
        assert not any(key[at : at + 6].encode() in shown for at in range(len(key) - 5))


def test_no_segment_that_cuts_a_secret_lets_a_part_of_it_out(path: Path) -> None:
    filler = " ".join(f"word{number}" for number in range(400))
    store(path, said(f"{filler} {block(40)} {filler} {KEYS['anthropic']} {filler}"))
    segment(path, ["sized-900-v1", "boundary-v1"])
    body = block(40).splitlines()[1:-1]
    for scheme in ("sized-900-v1", "boundary-v1"):
        done = run("export", path, "--scheme", scheme, "--redact")
        text = done.stdout.decode()
        head, *rows = map(json.loads, text.splitlines())
        assert not any(line[at : at + 16] in text for line in body for at in (0, 20, 40))
        assert KEYS["anthropic"][20:36] not in text
        assert "+redacted-" in head["projection"]
        assert any(row["redactions"] for row in rows)
        plain = [json.loads(line) for line in run("export", path, "--scheme", scheme).stdout.splitlines()]
        assert [row["id"] for row in rows] == [row["id"] for row in plain[1:]]


def test_hits_of_a_question_are_shown_without_secrets(path: Path) -> None:
    key = KEYS["slack"]
    store(path, said(f"the harbour pilot has {key}") + said("fog"))
    segment(path, ["sized-900-v1"])
    for options in ((), ("--json",)):
        done = run("address", path, "harbour pilot", "--redact", *options)
        assert key[5:20].encode() not in done.stdout + done.stderr
        assert b"harbour" in done.stdout


def test_the_record_keeps_its_bytes_and_its_digest(path: Path) -> None:
    store(path, said(KEYS["github"]))
    segment(path, ["sized-900-v1"])
    before = files_of(path), digest_of(path)
    for command in (("scan",), ("cat",), ("export",), ("address",)):
        extra = () if command == ("scan",) else ("--redact",)
        run(command[0], path, *(("x",) if command == ("address",) else ()), *extra)
    assert (files_of(path), digest_of(path)) == before


def test_texts_that_were_redacted_are_of_another_identity(path: Path) -> None:
    """Vectors of redacted texts never stand beside those of whole ones under one name."""
    store(path, said(f"key {KEYS['github']}"))
    segment(path, ["sized-900-v1"])
    names = {
        json.loads(run("export", path, *options).stdout.splitlines()[0])["projection"]
        for options in ((), ("--redact",))
    }
    assert len(names) == 2


# -------------------------------------------------------------------------------------------------- rules of a user


def rules_file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "rules.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_rules_of_a_user_take_the_place_of_those_built_in(path: Path, tmp_path: Path) -> None:
    store(path, said(f"crate-4711 and {KEYS['github']}"))
    rules = rules_file(tmp_path, "[[rules]]\nid = 'crate'\nregex = '''crate-([0-9]{4})'''\nsecretGroup = 1\n")
    (found,) = places(path, "--rules", str(rules))
    assert (found["rule"], raw(path, found)) == ("crate", b"4711")
    shown = run("cat", path, f"--redact={rules}").stdout
    assert b"4711" not in shown
    assert KEYS["github"].encode() in shown


@pytest.mark.parametrize(
    "text",
    [
        "[[rules]",
        "",
        "[[rules]]\nid = 'a'\n",
        "[[rules]]\nid = 'a'\nregex = '('\n",
        "[[rules]]\nid = 'a'\nregex = 'x'\nsecretGroup = 3\n",
        "[[rules]]\nid = 7\nregex = 'x'\n",
        "[[rules]]\nid = 'a'\nregex = 'x'\nentropy = 'high'\n",
        "rules = 5\n",
        "\x00",
    ],
)
def test_rules_that_cannot_be_used_are_refused(path: Path, tmp_path: Path, text: str) -> None:
    store(path, said("x"))
    done = run("scan", path, "--rules", rules_file(tmp_path, text), "--json")
    assert one(done)["refusal"]["code"] in {"USAGE", "BAD_PATTERN"}
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr


def test_an_expression_that_runs_for_ever_is_ended(path: Path, tmp_path: Path) -> None:
    store(path, said("a" * 5000 + "!"))
    rules = read_rules(str(rules_file(tmp_path, "[[rules]]\nid = 'slow'\nregex = '''(a+)+$x'''\n")))
    done = run("scan", path, "--rules", tmp_path / "rules.toml", "--json")
    assert one(done)["refusal"]["code"] == "PATTERN_TIMEOUT"
    assert len(rules.rules) == 1


def test_no_archive_and_no_file_of_rules(path: Path, tmp_path: Path) -> None:
    assert run("scan", path).returncode == 5
    store(path, said("x"))
    assert run("scan", path, "--rules", tmp_path / "none").returncode == 5


# ------------------------------------------------------------------------------------------------------------- always


PIECES = [*KEYS.values(), *NEAR, " ", "\n", '"', "\\", "é", "漢", "token=", "\u2028"]


@settings(max_examples=100, deadline=None)
@given(parts=st.lists(st.sampled_from(PIECES), max_size=12), ascii_only=st.booleans())
def test_no_secret_that_is_found_is_shown(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str], *, ascii_only: bool
) -> None:
    path = tmp_path_factory.mktemp("always") / "a.ctxa"
    turn = json.dumps({"role": "user", "content": "".join(parts)}, ensure_ascii=ascii_only).encode() + b"\n"
    store(path, turn)
    found = [turn[each.start_byte : each.end_byte] for each in scan(path)]
    with Redactor(DEFAULT_RULES) as redactor:
        ((row, shown),) = cat_redacted(path, ["0"], redactor=redactor)
    for secret in found:  # the same text behind other letters is no key, and stays
        assert shown.count(secret) <= turn.count(secret) - found.count(secret)
    assert bool(found) == bool(row.redactions)
    assert found or shown == turn
    json.loads(shown)
