"""``embed``: a real server over HTTP and programs as processes, what is sent, what is stored, what is refused."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from array import array
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from cases import command, environment, noise, one, refused, run, said, sound, stored, tree
from hypothesis import given
from hypothesis import strategies as st
from xxhash import xxh3_64_hexdigest

from ctxarc.auxiliary.vectors import origin as origins
from ctxarc.auxiliary.vectors.corpus import Corpus, corpora
from ctxarc.auxiliary.vectors.identity import UNSTATED, Identity
from ctxarc.auxiliary.vectors.origin import CANARIES, Origin
from ctxarc.auxiliary.vectors.projections import Projection, parse, projection_name
from ctxarc.errors import BadUsage, Damage, ServerUnreachable
from ctxarc.model import EmbedEstimate, EmbedResult, ExportRow
from ctxarc.operations.embed import EmbedOptions, embed, estimate
from ctxarc.operations.embed_question import embed_question, embedded_queries
from ctxarc.operations.export import export
from ctxarc.operations.models.http import is_loopback, server_url
from ctxarc.operations.models.known import prefixes_of
from ctxarc.operations.models.model import Waits
from ctxarc.operations.models.opening import ModelOptions
from ctxarc.operations.segment import segment

SERVER = Path(__file__).parent / "embedding_server.py"
SCHEME = "boundary-v1"
WORDS = ("apple", "ladder", "basket", "frost", "graft", "hive", "cider", "barrel", "meadow", "stone", "wall", "orchard")
KEY = "sk-a-secret-of-the-user"
HAS_LOCAL = find_spec("wordllama") is not None
needs_local = pytest.mark.skipif(not HAS_LOCAL, reason="the extra is not installed: pip install 'ctxarc[local]'")


def fetched(url: str, data: bytes | None) -> bytes:
    with urllib.request.urlopen(url, data, timeout=20) as answer:  # noqa: S310 - the server of these tests
        found: bytes = answer.read()
    return found


class Server(NamedTuple):
    """The process, and how tests speak to it."""

    url: str
    model: str
    digest: str

    def switch(self, **faults: object) -> None:
        self._ask("/faults", json.dumps(faults).encode())

    def seen(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self._ask("/seen", None))
        return found

    def texts(self, since: int = 0) -> list[str]:
        """Every text that was sent, the canaries aside."""
        return [text for call in self.seen()[since:] for text in call["input"] if text not in CANARIES]

    def _ask(self, path: str, data: bytes | None) -> bytes:
        return fetched(self.url + path, data)


@contextlib.contextmanager
def served() -> Iterator[tuple[Server, subprocess.Popen[bytes]]]:
    with subprocess.Popen([sys.executable, SERVER], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            port, model, digest = process.stdout.readline().decode().split()
            yield Server(f"http://127.0.0.1:{port}", model, digest), process
        finally:
            process.kill()


@pytest.fixture(scope="module")
def shared() -> Iterator[Server]:
    with served() as (server, _):
        yield server


@pytest.fixture
def server(shared: Server) -> Server:
    shared.switch()
    return shared


def at_answer(number: int, do: Callable[[], object]) -> Callable[[str, int, int | None], None]:
    """What is told how far a run is, and does something at an answer."""
    answers = count()

    def watch(what: str, _done: int, _total: int | None) -> None:
        if what == "embedding" and next(answers) == number:
            do()

    return watch


class Time:
    """A clock that a sleep moves, and every look by ``step`` seconds."""

    def __init__(self, step: float = 0.001) -> None:
        self.at, self.step, self.slept = 0.0, step, list[float]()

    def clock(self) -> float:
        self.at += self.step
        return self.at

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.at += seconds

    @property
    def waits(self) -> Waits:
        return Waits(self.clock, self.sleep, lambda: 0.5, lambda: 1_750_000_000.0)


def options(server: Server, api: str = "openai", **more: Any) -> EmbedOptions:  # noqa: ANN401 - options differ
    """Options of ``embed``; those of the model among them go where they belong."""
    of_model = {name: more.pop(name) for name in list(more) if name in ModelOptions.__slots__}
    known = {"server": server.url, "api": api, "model": server.model, "waits": Time().waits}
    return EmbedOptions(model=ModelOptions(**known | of_model), **more)


def sentences(seed: int, turns: int, words: int = 60) -> bytes:
    choice = noise(seed)
    return b"".join(said(" ".join(choice.choices(WORDS, k=words)) + f" number {n}.", second=n) for n in range(turns))


def built(tmp_path: Path, data: bytes | None = None, turns: int = 12) -> Path:
    archive = tmp_path / "a.ctxa"
    stored(archive, sentences(1, turns) if data is None else data)
    segment(archive, [SCHEME])
    return archive


def corpus_of(archive: Path, result: EmbedResult) -> Corpus:
    return Corpus(archive, result.scheme, result.identity_fingerprint)


def rows_of(archive: Path) -> list[ExportRow]:
    return [line for line in export(archive) if isinstance(line, ExportRow)]


def views(archive: Path) -> list[str]:
    return [row.text for row in rows_of(archive)]


@pytest.mark.parametrize("api", ["ollama", "openai"])
def test_every_segment_gets_the_vector_that_the_server_gives_its_text(api: str, server: Server, tmp_path: Path) -> None:
    archive = built(tmp_path)
    result = embed(archive, options(server, api))
    assert (result.coverage, result.attached) == (1.0, result.segments_in_index)
    assert result.identity["model"] == server.model
    assert result.identity["revision"] == (f"sha256:{server.digest}" if api == "ollama" else UNSTATED)
    assert result.identity["projection"] == "json-text-v1"
    corpus = corpus_of(archive, result)
    assert corpus.rows == result.segments_in_index
    by_text: dict[str, array[float]] = {}
    body = {"model": server.model, "input": sorted(set(views(archive))), "encoding_format": "float"}
    answer = json.loads(fetched(f"{server.url}/v1/embeddings", json.dumps(body).encode()))
    for text, row in zip(body["input"], answer["data"], strict=True):
        by_text[text] = array("f", row["embedding"])
    objects = {rows.digest.hex(): rows.object for rows in corpus.objects()}
    places = {(objects[row.turn_sha256], row.start_byte, row.end_byte): row.text for row in rows_of(archive)}
    for row in range(corpus.rows):
        assert origins.cosine(corpus.vector(row), by_text[places[corpus.place(row)]]) > 0.99999
    sound(archive)


def test_equal_texts_are_sent_once_and_their_vector_given_to_all(server: Server, tmp_path: Path) -> None:
    same = said("the very same remark, made again", second=1)
    other = same.replace(b"00:01", b"00:02")  # another turn, and the same text of a message
    archive = built(tmp_path, same + other + said("and another one", second=3))
    before = len(server.seen())
    result = embed(archive, options(server, "ollama"))
    texts = server.texts(before)
    assert len(texts) == len(set(texts)) == result.texts < result.attached == result.segments_in_index
    assert result.coverage == 1.0


def test_every_text_is_sent_where_it_is_asked_for(server: Server, tmp_path: Path) -> None:
    same = said("the very same remark, made again", second=1)
    archive = built(tmp_path, same + same.replace(b"00:01", b"00:02"))
    result = embed(archive, options(server, distinct=False))
    assert result.texts == result.attached == result.segments_in_index


def test_a_second_run_sends_no_text_and_growth_what_is_new(server: Server, tmp_path: Path) -> None:
    archive = built(tmp_path)
    first = embed(archive, options(server, "ollama"))
    before = len(server.seen())
    again = embed(archive, options(server, "ollama"))
    assert (again.texts, again.attached, again.coverage) == (0, 0, 1.0)
    assert server.texts(before) == []
    known = sentences(1, 12).split(b"\n")[3] + b" \n"  # another turn, whose text has its vector
    stored(archive, sentences(1, 12) + known + said("something quite new"))
    segment(archive, [SCHEME])
    before = len(server.seen())
    grown = embed(archive, options(server, "ollama"))
    assert any("something quite new" in text for text in server.texts(before))
    assert not set(server.texts(before)) & set(views(archive)[: first.segments_in_index])
    assert (grown.coverage, grown.attached) == (1.0, grown.segments_in_index - first.segments_in_index)
    assert grown.identity_fingerprint == first.identity_fingerprint
    sound(archive)


def test_a_model_that_was_pulled_again_is_another_identity(server: Server, tmp_path: Path) -> None:
    archive = built(tmp_path)
    first = embed(archive, options(server, "ollama"))
    server.switch(digest="f" * 64)
    second = embed(archive, options(server, "ollama"))
    assert second.identity["revision"] == "sha256:" + "f" * 64
    assert corpora(archive) == sorted((SCHEME, each.identity_fingerprint) for each in (first, second))
    assert second.attached == second.segments_in_index


def test_a_model_that_is_pulled_again_meanwhile_ends_the_run(server: Server, tmp_path: Path) -> None:
    archive = built(tmp_path)

    pull = at_answer(3, lambda: server.switch(digest="e" * 64))
    refusal = refused(lambda: embed(archive, options(server, "ollama"), progress=pull))
    assert refusal.code == "INCOMPARABLE"
    assert refusal.message.startswith("revision differs — sha256:eeee")


def test_an_ollama_without_the_model_says_which_it_has(server: Server, tmp_path: Path) -> None:
    refusal = refused(lambda: embed(built(tmp_path), options(server, "ollama", model="other")))
    assert refusal.code == "SERVER_REFUSED"
    assert server.model in refusal.message
    assert refusal.hint == "ollama pull other"


def test_prefixes_of_a_known_model_are_sent_named_and_put_before_questions(server: Server, tmp_path: Path) -> None:
    archive = built(tmp_path)
    before = len(server.seen())
    result = embed(archive, options(server, model="nomic-embed-text"))
    assert all(text.startswith("search_document: ") for text in server.texts(before))
    name = 'json-text-v1+document:"search_document: "+query:"search_query: "'
    assert result.identity["projection"] == name
    before = len(server.seen())
    identity = corpus_of(archive, result).identity
    embed_question(archive, identity, ["where is the ladder"], ModelOptions(waits=Time().waits))
    assert server.texts(before) == ["search_query: where is the ladder"]
    plain = embed(archive, options(server, model="nomic-embed-text", document_prefix="", query_prefix=""))
    assert plain.identity["projection"] == "json-text-v1"


@pytest.mark.parametrize(
    ("model", "document", "query"),
    [
        ("nomic-embed-text:v1.5", "search_document: ", "search_query: "),
        ("nomic-ai/nomic-embed-text-v1.5", "search_document: ", "search_query: "),
        ("intfloat/multilingual-e5-large", "passage: ", "query: "),
        ("BAAI/bge-large-en-v1.5", "", "Represent this sentence for searching relevant passages: "),
        ("mxbai-embed-large", "", "Represent this sentence for searching relevant passages: "),
        ("snowflake-arctic-embed:110m", "", "Represent this sentence for searching relevant passages: "),
        ("snowflake-arctic-embed2", "", "query: "),
        ("bge-m3", "", ""),
        ("text-embedding-3-small", "", ""),
    ],
)
def test_known_models(model: str, document: str, query: str) -> None:
    assert prefixes_of(model) == (document, query)


@pytest.mark.parametrize("api", ["ollama", "openai"])
def test_a_text_that_is_too_long_is_left_out_and_counted(api: str, server: Server, tmp_path: Path) -> None:
    archive = built(tmp_path)
    limit = sorted(map(len, set(views(archive))))[-3] - 1
    server.switch(limit=limit)
    result = embed(archive, options(server, api))
    assert result.too_long == sum(len(text) > limit for text in set(views(archive))) > 0
    assert result.attached == result.segments_in_index - result.too_long
    assert result.coverage < 1
    server.switch()
    assert embed(archive, options(server, api)).coverage == 1.0


def test_a_cut_is_part_of_the_projection(server: Server, tmp_path: Path) -> None:
    archive = built(tmp_path)
    server.switch(limit=80)
    before = len(server.seen())
    result = embed(archive, options(server, cut=60, document_prefix="d: "))
    assert (result.too_long, result.coverage) == (0, 1.0)
    assert result.identity["projection"] == 'json-text-v1+document:"d: "+cut:60'
    assert {text for text in server.texts(before) if len(text) > 63} == set()


def test_a_server_that_cuts_without_a_word_is_refused_unless_the_cut_is_said(server: Server, tmp_path: Path) -> None:
    archive = built(tmp_path)
    server.switch(truncate=100)
    refusal = refused(lambda: embed(archive, options(server)))
    assert refusal.code == "SERVER_REFUSED"
    assert "cuts long texts without a word" in refusal.message
    assert corpora(archive) == []
    assert embed(archive, options(server, cut=90)).coverage == 1.0


def test_weights_that_change_meanwhile_end_the_run_and_leave_no_vector_of_theirs(
    server: Server, tmp_path: Path
) -> None:
    archive = built(tmp_path)

    change = at_answer(6, lambda: server.switch(weights=True))
    refusal = refused(lambda: embed(archive, options(server, batch=4), progress=change))
    assert refusal.message.startswith("canary differs")
    assert corpora(archive) == []


def test_vectors_of_another_width_end_the_run(server: Server, tmp_path: Path) -> None:
    archive = built(tmp_path)

    widen = at_answer(0, lambda: server.switch(wider=True))
    refusal = refused(lambda: embed(archive, options(server, batch=4), progress=widen))
    assert refusal.code in {"MALFORMED_VECTORS", "INCOMPARABLE"}
    assert corpora(archive) == []


def test_a_server_that_takes_small_batches_gets_them(server: Server, tmp_path: Path) -> None:
    server.switch(max_batch=4)
    result = embed(built(tmp_path), options(server))
    assert (result.coverage, result.too_long) == (1.0, 0)


@pytest.mark.parametrize("fault", [{"reversed": True}, {"float_only": True}, {"broken": 2}, {"drop": 1}])
def test_what_can_be_mended_is(fault: dict[str, object], server: Server, tmp_path: Path) -> None:
    archive = built(tmp_path)
    plain = embed(archive, options(server, revision="plain"))
    server.switch(**fault)
    mended = embed(archive, options(server, revision="mended"))
    one_, other = (corpus_of(archive, result) for result in (plain, mended))
    assert mended.coverage == 1.0
    assert all(one_.vector(row) == other.vector(row) for row in range(one_.rows))


def test_a_server_that_is_busy_is_waited_for_as_long_as_it_asks(server: Server, tmp_path: Path) -> None:
    server.switch(busy=3, wait="7")
    when = Time()
    result = embed(built(tmp_path), options(server, waits=when.waits))
    assert result.coverage == 1.0
    assert when.slept[:3] == [7.0, 7.0, 7.0]


def test_a_server_that_asks_for_an_hour_is_not_waited_for(server: Server, tmp_path: Path) -> None:
    server.switch(busy=1, wait="Sun, 15 Jun 2025 16:06:40 GMT")
    refusal = refused(lambda: embed(built(tmp_path), options(server)))
    assert (refusal.code, refusal.facts["retry_after"]) == ("SERVER_REFUSED", 3600.0)


def test_waits_grow_and_end(server: Server, tmp_path: Path) -> None:
    server.switch(broken=1000)
    when = Time()
    refusal = refused(lambda: embed(built(tmp_path), options(server, waits=when.waits, retries=4)))
    assert refusal.code == "SERVER_REFUSED"
    assert "answers 500: something broke" in refusal.message
    assert when.slept == [0.375, 0.75, 1.5, 3.0]


@pytest.mark.parametrize(
    ("fault", "code", "words"),
    [
        ({"count": True}, "SERVER_REFUSED", "15 vectors"),
        ({"garbage": True}, "SERVER_REFUSED", "<html>hello"),
        ({"key": "another"}, "SERVER_REFUSED", "answers 401"),
        ({"redirect": "http://127.0.0.1:1/v1/embeddings"}, "SERVER_REFUSED", "answers 307"),
        ({"nan": ""}, "MALFORMED_VECTORS", "NaN"),
        ({"drop": 1000}, "SERVER_UNREACHABLE", "/v1/embeddings"),
    ],
)
def test_what_cannot_be_mended_is_refused_and_nothing_is_stored(
    fault: dict[str, object], code: str, words: str, server: Server, tmp_path: Path
) -> None:
    archive = built(tmp_path)
    before = tree(archive)
    server.switch(**{name: value or " " for name, value in fault.items()})
    chosen = options(server, key=KEY)
    refusal = refused(lambda: embed(archive, chosen))
    assert refusal.code == code
    assert words in refusal.message
    assert KEY not in refusal.message + refusal.hint + json.dumps(refusal.facts) + repr(chosen)
    assert tree(archive) == before


def test_a_text_whose_vector_is_none_is_left_out_and_counted(server: Server, tmp_path: Path) -> None:
    archive = built(tmp_path, sentences(1, 5) + said("poison"))
    server.switch(nan="poison")
    result = embed(archive, options(server))
    assert result.skipped == sum("poison" in text for text in views(archive)) > 0
    assert result.attached == result.segments_in_index - result.skipped


def test_a_server_that_is_not_there_is_named(tmp_path: Path) -> None:
    archive = built(tmp_path)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    when = Time()
    chosen = ModelOptions(server=url, model="m", waits=when.waits)
    refusal = refused(lambda: embed(archive, EmbedOptions(model=chosen)))
    assert isinstance(refusal, ServerUnreachable)
    assert url in refusal.message
    assert when.slept == []  # nobody listens there, and waiting does not help
    done = run("embed", archive, "--server", url, "--model", "m")
    assert done.returncode == 6
    assert url in done.stderr.decode()


def test_a_server_that_does_not_answer_in_time_is_unreachable(server: Server, tmp_path: Path) -> None:
    server.switch(slow=0.6)
    refusal = refused(lambda: embed(built(tmp_path), options(server, timeout=0.1, retries=1)))
    assert refusal.code == "SERVER_UNREACHABLE"
    assert "no answer within 0.1 s, 2 times" in refusal.message


def test_a_key_is_sent_and_kept_nowhere(server: Server, tmp_path: Path) -> None:
    archive = built(tmp_path)
    server.switch(key=KEY)
    done = run(
        *("embed", archive, "--server", server.url, "--model", "m", "--key-env", "MY_KEY", "--json"),
        env={"MY_KEY": KEY},
    )
    assert done.returncode == 0
    assert {call["key"] for call in server.seen()[-2:]} == {f"Bearer {KEY}"}
    assert KEY.encode() not in done.stdout + done.stderr
    assert all(KEY.encode() not in (data or b"") for data in tree(archive).values())
    unset = run("embed", archive, "--server", server.url, "--model", "m", "--key-env", "MY_KEY")
    assert unset.returncode == 2


def test_openai_s_key_goes_to_no_other_machine() -> None:
    script = (
        "from ctxarc.cli.models import key_of\n"
        "hosts = ('https://api.openai.com', 'http://api.openai.com', 'http://10.0.0.7:8000', 'http://127.0.0.1:8080')\n"
        "print([key_of(None, host) for host in hosts])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment(OPENAI_API_KEY="k"), capture_output=True, check=True
    )
    assert done.stdout.decode().strip() == "['k', None, None, 'k']"


def test_canaries_stand_for_weights_that_are_not_told(server: Server, tmp_path: Path) -> None:
    archive = built(tmp_path)
    result = embed(archive, options(server))
    kept = origins.read(archive, SCHEME, result.identity_fingerprint)
    assert kept is not None
    assert (kept.api, kept.server, kept.model, len(kept.canaries)) == ("openai", server.url, server.model, 16)
    identity = corpus_of(archive, result).identity
    server.switch(noise=True)
    assert embed(archive, options(server)).coverage == 1.0
    server.switch(weights=True)
    for refusal in (
        refused(lambda: embed(archive, options(server))),
        refused(lambda: embed_question(archive, identity, ["a ladder"])),
    ):
        assert refusal.code == "INCOMPARABLE"
        assert refusal.message.startswith("canary differs — ")
    apart = embed(archive, options(server, revision="after-the-change"))
    assert (apart.identity["revision"], apart.coverage) == ("after-the-change", 1.0)
    embed_question(archive, corpus_of(archive, apart).identity, ["a ladder"])


def test_a_told_revision_needs_no_canaries(server: Server, tmp_path: Path) -> None:
    archive = built(tmp_path)
    result = embed(archive, options(server, "ollama"))
    kept = origins.read(archive, SCHEME, result.identity_fingerprint)
    assert kept is not None
    assert (kept.api, kept.canaries) == ("ollama", ())


def test_a_question_has_the_vector_of_its_text(server: Server, tmp_path: Path) -> None:
    archive = built(tmp_path, sentences(1, 3) + said("the ladder leans against the wall of the cider press"))
    result = embed(archive, options(server))
    (query,) = embedded_queries(archive, ["the ladder leans against the wall of the cider press"])
    corpus = corpus_of(archive, result)
    best = max(range(corpus.rows), key=lambda row: origins.cosine(corpus.vector(row), query.vector))
    assert corpus.place(best).object == 3
    assert query.stated == result.identity


def test_a_question_to_another_model_is_refused_by_the_field(server: Server, tmp_path: Path) -> None:
    archive = built(tmp_path)
    result = embed(archive, options(server, "ollama"))
    identity = corpus_of(archive, result).identity
    server.switch(digest="d" * 64)
    refusal = refused(lambda: embed_question(archive, identity, ["a ladder"]))
    assert refusal.message == f"revision differs — sha256:{'d' * 64} against {identity.revision}"
    other = ModelOptions(server=server.url, api="openai", model="other")
    assert refused(lambda: embed_question(archive, identity, ["a"], other)).facts["field"] == "model"
    unknown = identity._replace(projection="mine+anything")
    assert refused(lambda: embed_question(archive, unknown, ["a"])).facts["field"] == "projection"


def test_an_address_in_an_archive_is_used_only_if_it_is_this_machine(server: Server, tmp_path: Path) -> None:
    archive = built(tmp_path)
    result = embed(archive, options(server))
    identity = corpus_of(archive, result).identity
    kept = origins.read(archive, SCHEME, identity.fingerprint)
    assert kept is not None
    origins.write(archive, identity, kept._replace(server="http://192.0.2.7:8080"))
    refusal = refused(lambda: embed_question(archive, identity, ["a secret question"]))
    assert refusal.code == "USAGE"
    assert "http://192.0.2.7:8080" in refusal.hint
    embed_question(archive, identity, ["a"], ModelOptions(server=server.url))
    (archive / origins.label(SCHEME, identity.fingerprint)).unlink()
    assert "does not say which server" in refused(lambda: embed_question(archive, identity, ["a"])).message


@pytest.mark.parametrize(
    "url",
    ["ftp://host", "host:80", "http://", "http://me:secret@host", "http://host?key=1", "http://h\n", "http://h:x"],
)
def test_what_is_no_address_or_has_a_secret_in_it_is_refused(url: str) -> None:
    refusal = refused(lambda: server_url(url))
    assert isinstance(refusal, BadUsage)
    assert "secret" not in refusal.message + refusal.hint


def test_which_addresses_are_this_machine() -> None:
    mine = ["http://localhost:1", "http://127.0.0.1", "http://127.9.9.9:80/v1", "http://[::1]:11434"]
    others = ["http://localhost.example.org", "http://10.0.0.1", "http://0.0.0.0", "https://api.openai.com"]
    assert ([is_loopback(url) for url in mine], [is_loopback(url) for url in others]) == ([True] * 4, [False] * 4)


def test_vectors_are_attached_as_the_run_goes(server: Server, tmp_path: Path) -> None:
    archive = built(tmp_path, turns=30)
    slow = Time(step=5)  # a look at the clock takes so long that some calls make a minute
    result = embed(archive, options(server, waits=slow.waits, batch=2, timeout=1e6))
    assert (result.coverage, result.attached) == (1.0, result.segments_in_index)
    assert 1 < len(corpus_of(archive, result).parts) <= 16
    sound(archive)


def test_a_run_whose_server_dies_keeps_what_it_has_and_goes_on(tmp_path: Path) -> None:
    archive = built(tmp_path)
    with served() as (server, process):

        def end() -> None:
            process.kill()
            process.wait()

        refusal = refused(lambda: embed(archive, options(server, batch=2, retries=2), progress=at_answer(5, end)))
    assert refusal.code == "SERVER_UNREACHABLE"
    assert "the same command goes on" in refusal.hint
    ((_, fingerprint),) = corpora(archive)
    kept = Corpus(archive, SCHEME, fingerprint).rows
    assert kept >= 5
    with served() as (server, _):
        result = embed(archive, options(server, batch=2))
    assert (result.attached, result.coverage) == (result.segments_in_index - kept, 1.0)
    sound(archive)


def test_an_interrupted_command_keeps_what_it_has(server: Server, tmp_path: Path) -> None:
    archive = built(tmp_path, turns=40)
    server.switch(slow=0.05)
    before = len(server.seen())
    arguments = command("embed", archive, "--server", server.url, "--model", "m", "--batch", "1")
    with subprocess.Popen(arguments, env=environment(), stderr=subprocess.PIPE) as process:
        while len(server.seen()) < before + 24:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, words = process.communicate(timeout=30)
    assert process.returncode == 130
    assert b"what was embedded is stored" in words
    ((_, fingerprint),) = corpora(archive)
    kept = Corpus(archive, SCHEME, fingerprint).rows
    server.switch()
    done = one(run("embed", archive, "--server", server.url, "--model", "m", "--json"))
    assert 0 < kept < done["segments_in_index"]
    assert (done["attached"], done["coverage"]) == (done["segments_in_index"] - kept, 1.0)
    sound(archive)


def test_a_dry_run_estimates_and_stores_nothing(server: Server, tmp_path: Path) -> None:
    archive = built(tmp_path)
    before = tree(archive)
    found = estimate(archive, options(server, batch=4))
    assert isinstance(found, EmbedEstimate)
    assert (found.texts, found.calls) == (len(set(views(archive))), -(-len(set(views(archive))) // 4))
    assert found.characters == sum(map(len, set(views(archive))))
    assert found.estimated_seconds > 0
    done = one(run("embed", archive, "--server", server.url, "--model", "m", "--dry-run", "--json"))
    assert (done["texts"], done["dry_run"]) == (found.texts, True)
    assert tree(archive) == before


def test_a_sample_is_spread_and_the_rest_follows(server: Server, tmp_path: Path) -> None:
    archive = built(tmp_path)
    first = embed(archive, options(server, sample=5))
    assert (first.texts, first.attached) == (5, 5)
    assert embed(archive, options(server)).coverage == 1.0


# ------------------------------------------------------------------------------------------------------- programs

GOOD = """
import json, sys
header = json.loads(sys.stdin.readline())
print(json.dumps({"kind": "ctxarc-vectors", "model": "counter", "revision": "sha256:00"}), flush=True)
for line in sys.stdin:
    row = json.loads(line)
    text = row["text"]
    print(json.dumps({"id": row["id"], "vector": [len(text), text.count("a") + 1, text.count("e")]}))
"""


def program(tmp_path: Path, source: str) -> tuple[str, ...]:
    path = tmp_path / "program.py"
    path.write_text(source)
    return (sys.executable, str(path))


def by_program(tmp_path: Path, source: str, **more: Any) -> EmbedOptions:  # noqa: ANN401 - options differ
    return EmbedOptions(model=ModelOptions(program=program(tmp_path, source)), **more)


def test_a_program_embeds(tmp_path: Path) -> None:
    archive = built(tmp_path)
    done = run("embed", archive, "--exec", shlex.join(program(tmp_path, GOOD)), "--json")
    result = one(done)
    assert (result["coverage"], result["api"], result["server"], result["calls"]) == (1.0, "program", None, 1)
    assert result["identity"] == {
        "model": "counter",
        "revision": "sha256:00",
        "dimensions": 3,
        "projection": "json-text-v1",
        "scheme": SCHEME,
    }
    texts = views(archive)
    corpus = Corpus(archive, SCHEME, result["identity_fingerprint"])
    assert list(corpus.vector(0)) == [len(texts[0]), texts[0].count("a") + 1, texts[0].count("e")]
    kept = (archive / origins.label(SCHEME, result["identity_fingerprint"])).read_bytes()
    assert b"program.py" not in kept
    sound(archive)


def test_a_program_is_given_the_lines_of_an_export(tmp_path: Path) -> None:
    archive = built(tmp_path)
    copy = GOOD.replace("header = json.loads(sys.stdin.readline())", "lines = [sys.stdin.readline()]").replace(
        "    row = json", "    lines.append(line)\n    row = json"
    )
    copy += f"\nopen({str(tmp_path / 'lines')!r}, 'w').write(''.join(lines))"
    embed(archive, by_program(tmp_path, copy, distinct=False))
    header, *rows = [json.loads(line) for line in (tmp_path / "lines").read_text().splitlines()]
    exported, *wanted = [json.loads(line) for line in run("export", archive).stdout.splitlines()]
    assert rows == wanted
    assert header.keys() == exported.keys()
    assert {key for key in header if header[key] != exported[key]} <= {"missing"}


def test_a_program_may_answer_at_the_end_in_any_order_and_leave_out(tmp_path: Path) -> None:
    late = GOOD.replace("for line in sys.stdin:", "for line in sorted(sys.stdin.readlines())[::-1]:")
    late = late.replace("    text =", "    if 'number 3' in row['text']: continue\n    text =")
    archive = built(tmp_path)
    result = embed(archive, by_program(tmp_path, late))
    assert result.skipped == sum("number 3" in text for text in views(archive)) > 0
    assert result.attached == result.segments_in_index - result.skipped


def test_a_program_may_say_that_a_text_is_too_long(tmp_path: Path) -> None:
    row = "json.dumps({'id': row['id'], 'too_long': True})"
    line = f"    if 'number 3' in row['text']:\n        print({row})\n        continue\n"
    archive = built(tmp_path)
    result = embed(archive, by_program(tmp_path, GOOD.replace("    text =", line + "    text =")))
    assert result.too_long == sum("number 3" in text for text in views(archive)) > 0
    assert result.skipped == 0


def test_a_program_that_fails_midway_keeps_what_it_gave(tmp_path: Path) -> None:
    dies = GOOD.replace("    text =", "    if 'number 7' in row['text']: sys.exit('out of apples')\n    text =")
    dies = dies.replace('row["text"].count("e")]}))', 'row["text"].count("e")]}), flush=True)')
    archive = built(tmp_path)
    refusal = refused(lambda: embed(archive, by_program(tmp_path, dies)))
    assert refusal.code == "PROGRAM_FAILED"
    assert "out of apples" in refusal.message
    result = embed(archive, by_program(tmp_path, GOOD))
    assert result.coverage == 1.0
    assert "segments have their vectors now" in refusal.hint
    assert result.attached < result.segments_in_index


@pytest.mark.parametrize(
    ("source", "code", "words"),
    [
        ("", "PROGRAM_FAILED", "it wrote nothing"),
        ("raise SystemExit(3)", "PROGRAM_FAILED", "ended with status 3"),
        ("print('hello')", "PROGRAM_FAILED", "not JSON"),
        ("print('[1]')", "PROGRAM_FAILED", "no JSON object"),
        (GOOD.replace(', "revision": "sha256:00"', ""), "IDENTITY_UNSTATED", "revision"),
        ('print(\'{"id": "text:0", "vector": [1]}\')', "IDENTITY_UNSTATED", "which model"),
        (GOOD.replace('row["id"]', '"ctxa:else"'), "PROGRAM_FAILED", "'ctxa:else' is no text"),
        (GOOD.replace("[len(text),", "[float('nan'),"), "MALFORMED_VECTORS", "NaN"),
        (GOOD.replace('text.count("e")]', "*[1] * (len(text) % 2)]"), "MALFORMED_VECTORS", "mixed widths"),
        (GOOD.replace('"sha256:00"', '"sha256:00", "projection": "mine"'), "INCOMPARABLE", "projection differs"),
    ],
)
def test_a_program_that_is_none_is_refused_and_nothing_is_stored(
    source: str, code: str, words: str, tmp_path: Path
) -> None:
    archive = built(tmp_path)
    before = tree(archive)
    refusal = refused(lambda: embed(archive, by_program(tmp_path, source)))
    assert refusal.code == code
    assert words in refusal.message
    assert tree(archive) == before


def test_a_program_that_is_not_there_is_refused(tmp_path: Path) -> None:
    done = run("embed", built(tmp_path), "--exec", "/nowhere/a-program --fast", "--json")
    assert one(done)["refusal"]["code"] == "PROGRAM_FAILED"
    assert done.returncode == 6


def test_a_program_is_never_taken_from_the_archive(tmp_path: Path) -> None:
    archive = built(tmp_path)
    chosen = by_program(tmp_path, GOOD)
    result = embed(archive, chosen)
    identity = corpus_of(archive, result).identity
    assert "a program made these vectors" in refused(lambda: embed_question(archive, identity, ["a"])).message
    (vector,) = embed_question(archive, identity, ["banana"], chosen.model)
    assert list(vector) == [6, 4, 0]


def test_a_program_whose_weights_are_not_stated_has_canaries(tmp_path: Path) -> None:
    archive = built(tmp_path)
    chosen = by_program(tmp_path, GOOD.replace("sha256:00", "unstated"))
    result = embed(archive, chosen)
    identity = corpus_of(archive, result).identity
    embed_question(archive, identity, ["banana"], chosen.model)
    other = by_program(tmp_path, GOOD.replace("sha256:00", "unstated").replace("[len(text)", "[-len(text)"))
    for call in (
        lambda: embed(archive, other),
        lambda: embed_question(archive, identity, ["banana"], other.model),
    ):
        assert refused(call).message.startswith("canary differs")


# --------------------------------------------------------------------------------------------- the extra, for real


def local(*args: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "ctxarc.local", *args], input=stdin, env=environment(), capture_output=True, check=False
    )


@needs_local
def test_the_local_model_embeds_with_the_digest_of_its_weights(tmp_path: Path) -> None:
    archive = built(tmp_path, sentences(1, 8) + said("Der Apfel fällt nicht weit vom Stamm."))
    result = embed(archive, EmbedOptions(model=ModelOptions(program=(sys.executable, "-m", "ctxarc.local"))))
    assert (result.coverage, result.identity["model"], result.identity["dimensions"]) == (1.0, "wordllama", 256)
    assert len(str(result.identity["revision"])) == len("sha256:") + 64
    asked = json.loads(local("--query", "an apple falls from a tree").stdout)
    assert (asked["model"], asked["revision"]) == (result.identity["model"], result.identity["revision"])
    sound(archive)


@needs_local
def test_the_local_model_reaches_no_network() -> None:
    script = (
        "import sys\n"
        "from ctxarc.local.__main__ import _no_network\n"
        "import socket\n"
        "sys.addaudithook(_no_network)\n"
        "socket.create_connection(('127.0.0.1', 9))"
    )
    done = subprocess.run([sys.executable, "-c", script], env=environment(), capture_output=True, check=False)
    assert b"PermissionError: a model's package tried to reach the network" in done.stderr


def test_a_package_that_is_missing_is_named() -> None:
    if find_spec("sentence_transformers") is not None:
        pytest.skip("sentence-transformers is installed")
    done = local("--model", "all-minilm-l6-v2", stdin=b"{}\n")
    assert done.returncode == 6
    assert b"MISSING_PACKAGE" in done.stderr


# ---------------------------------------------------------------------------------------------- model.json, names


def kept_origin(archive: Path) -> tuple[Identity, Origin, Path]:
    identity = Identity("m", UNSTATED, 4, "json-text-v1", SCHEME)
    vectors = tuple(array("f", [1.0, n, 0.5, -n]) for n in range(16))
    origin = Origin("openai", "http://127.0.0.1:8080", "m", "d: ", "q: ", vectors)
    origins.write(archive, identity, origin)
    return identity, origin, archive / origins.label(SCHEME, identity.fingerprint)


def test_an_origin_is_read_as_it_was_written(tmp_path: Path) -> None:
    identity, origin, path = kept_origin(tmp_path)
    assert origins.read(tmp_path, SCHEME, identity.fingerprint) == origin
    assert origins.is_origin(path.relative_to(tmp_path).as_posix())
    assert path.read_bytes().count(b"\n") == 1
    assert json.loads(path.read_bytes())["ctxarc-model"] == 1
    assert not origins.is_origin("vectors/boundary-v1/model.json")
    assert origins.read(tmp_path, SCHEME, "0" * 32) is None


def test_every_damage_to_an_origin_is_found(tmp_path: Path) -> None:
    identity, _, path = kept_origin(tmp_path)
    data = path.read_bytes()
    choice = noise(3)
    changed = [data[:cut] for cut in choice.sample(range(len(data)), 60)] + [data + b"\n"]
    places = [*range(40), *choice.sample(range(len(data)), 200)]
    changed += [data[:at] + bytes([data[at] ^ 1 << choice.randrange(8)]) + data[at + 1 :] for at in places]
    for each in changed:
        path.write_bytes(each)
        assert isinstance(refused(lambda: origins.read(tmp_path, SCHEME, identity.fingerprint)), Damage)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda fields: fields | {"ctxarc-model": 2}, "UNSUPPORTED_VERSION"),
        (lambda fields: fields | {"api": "sh"}, "INDEX_MISMATCH"),
        (lambda fields: fields | {"server": 7}, "INDEX_MISMATCH"),
        (lambda fields: fields | {"canaries": fields["canaries"][1:]}, "INDEX_MISMATCH"),
        (lambda fields: fields | {"canaries": ["AAAA"] * 16}, "INDEX_MISMATCH"),
        (lambda fields: fields | {"canaries": ["AADAfw=="] * 16}, "INDEX_MISMATCH"),
        (lambda fields: {key: fields[key] for key in fields if key != "model"}, "INDEX_MISMATCH"),
        (lambda fields: {"magic": 1} | fields, "BAD_MAGIC"),
    ],
)
def test_a_wrong_field_is_found_under_a_right_checksum(
    change: Callable[[dict[str, Any]], dict[str, Any]], code: str, tmp_path: Path
) -> None:
    identity, _, path = kept_origin(tmp_path)
    fields = json.loads(path.read_bytes())
    del fields["xxh3"]
    front = json.dumps(change(fields), separators=(",", ":"))[:-1].encode()
    path.write_bytes(front + f',"xxh3":"{xxh3_64_hexdigest(front)}"}}\n'.encode())
    assert refused(lambda: origins.read(tmp_path, SCHEME, identity.fingerprint)).code == code


def test_an_origin_that_is_a_link_or_too_long_is_refused(tmp_path: Path) -> None:
    identity, origin, path = kept_origin(tmp_path)
    data = path.read_bytes()
    path.unlink()
    (tmp_path / "elsewhere").write_bytes(data)
    path.symlink_to(tmp_path / "elsewhere")
    assert refused(lambda: origins.read(tmp_path, SCHEME, identity.fingerprint)).code == "BAD_MAGIC"
    path.unlink()
    path.parent.rename(tmp_path / "folder")
    path.parent.symlink_to(tmp_path / "folder")
    for call in (
        lambda: origins.read(tmp_path, SCHEME, identity.fingerprint),
        lambda: origins.write(tmp_path, identity, origin),
    ):
        assert refused(call).code == "BAD_MAGIC"
    assert list((tmp_path / "folder").iterdir()) == []
    path.parent.unlink()
    path.parent.mkdir()
    with path.open("wb") as file:
        os.truncate(file.fileno(), origins.LIMIT + 1)
    assert refused(lambda: origins.read(tmp_path, SCHEME, identity.fingerprint)).code == "LIMIT_EXCEEDED"


@given(st.text(max_size=20), st.text(max_size=20), st.none() | st.integers(1, 999_999_999))
def test_a_projection_s_name_is_read_as_it_was_written(document: str, query: str, cut: int | None) -> None:
    name = projection_name("json-text-v1", document, query, cut)
    assert name.isascii()
    assert parse(name) == Projection("json-text-v1", document, query, cut)
    assert name.partition("+")[0] == "json-text-v1"


@pytest.mark.parametrize(
    "name",
    [
        "",
        "a+b",
        'a+document:""',
        "a+cut:0",
        "a+cut:007",
        'a+query:"q"+document:"d"',
        'a+document:"\\u0064"',
        'a+document:"d"+cut:5+cut:5',
        'a+document: "d"',
    ],
)
def test_other_names_of_projections_are_none_of_these(name: str) -> None:
    assert parse(name) is None


def test_what_goes_together(server: Server, tmp_path: Path) -> None:
    archive = built(tmp_path)
    for arguments in (
        ["--server", server.url],
        ["--model", "m"],
        [],
        ["--server", server.url, "--exec", "cat"],
        ["--exec", "cat", "--model", "m"],
        ["--exec", ""],
        ["--exec", "'unclosed"],
        ["--server", "http://u:p@h", "--model", "m"],
    ):
        assert run("embed", archive, *arguments).returncode == 2, arguments
    missing = run("embed", tmp_path / "none.ctxa", "--exec", "cat", "--json")
    assert one(missing)["refusal"]["code"] == "NO_SUCH_ARCHIVE"
    bare = tmp_path / "bare.ctxa"
    stored(bare, sentences(1, 3))
    assert one(run("embed", bare, "--exec", "cat", "--json"))["refusal"]["code"] == "NO_SUCH_SCHEME"


def test_a_report_for_people(server: Server, tmp_path: Path) -> None:
    archive = built(tmp_path)
    done = run("embed", archive, "--server", server.url, "--model", "nomic-embed-text")
    notes, printed = done.stderr.decode(), done.stdout.decode()
    assert "revision unstated, watched by canaries" in notes
    assert '"search_document: " stands before each text' in notes
    assert "1 call, about" in notes or "calls, about" in notes
    assert "100 % have a vector now" in printed
    assert run("-q", "embed", archive, "--server", server.url, "--model", "m").stderr == b""
