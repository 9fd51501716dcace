"""The HTTP interface over a real socket, on a tiny model."""

import json
import time
from dataclasses import replace

import httpx
import pytest

from dlsp_engine.serve.app import Service
from dlsp_engine.serve.scheduler import RUNNING_SHARE
from dlsp_engine.text.template import Template
from tests.engine.serve.conftest import SlowEngine, has_stopped

GAP = {"prefix": "def f(x):\n    return ", "suffix": "\n"}
LONG = {"gaps": [GAP], "end": "token", "max_tokens": 1024, "temperature": 1}


def events(client: httpx.Client, body: dict) -> list[dict]:
    answer = client.post("/v1/infill", json=body)
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines() if line]  # a blank one says that it works


def test_canvases_then_fills_then_done(client: httpx.Client):
    told = events(client, {"gaps": [GAP, GAP | {"prefix": "import os\n"}], "max_tokens": 9})
    assert told[-1] == {"event": "done"}
    fills = {event["gap"]: event for event in told if event["event"] == "fill"}
    assert fills.keys() == {0, 1}
    for number, fill in fills.items():
        states = [e["committed"] for e in told if e["event"] == "canvas" and e["gap"] == number]
        assert states
        assert all(fill["text"].startswith(state) for state in states)
        cost = fill["cost"]
        assert (fill["reason"], cost["tokens"]) == ("length", 9)
        assert cost["tau"] == pytest.approx(9 / cost["forwards"], abs=1e-3)


def test_a_session_is_not_prefilled_again(client: httpx.Client):
    body = {"gaps": [GAP | {"session": "a"}], "max_tokens": 4}
    first, again = events(client, body)[-2]["cost"], events(client, body)[-2]["cost"]
    assert first["cached_tokens"] == 0
    assert again["cached_tokens"] == again["prompt_tokens"] - 1
    assert again["prefill_ms"] == 0


def test_who_comes_back_to_a_place_finds_it_read(client: httpx.Client):
    def cost(prefix: str) -> dict:
        return events(client, {"gaps": [GAP | {"prefix": prefix, "session": "a"}], "max_tokens": 4})[-2]["cost"]

    here, there = "a = 1\n" * 100, "print(b)\n" * 100
    assert cost(here)["cached_tokens"] == 0
    assert cost(there)["cached_tokens"] < 16
    again = cost(here)
    assert again["cached_tokens"] == again["prompt_tokens"] - 1
    more = cost(here + "c")
    assert more["cached_tokens"] > 0.9 * more["prompt_tokens"], "the session goes on from there"


def test_only_the_token_lets_in_and_browsers_never(client: httpx.Client):
    asked = [("POST", "/v1/infill"), ("POST", "/v1/shutdown"), ("GET", "/metrics"), ("GET", "/health")]
    for method, path in (*asked, ("OPTIONS", "/v1/infill"), ("GET", "/nothing")):
        refused = client.request(method, path, headers={"Authorization": "Bearer x"})
        assert refused.status_code == 401
        assert "nonce" not in refused.text, "who knows it could take a dead engine's place"
        for header in ({"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "same-origin"}):
            assert client.request(method, path, headers=header).status_code == 403
        # A name that a page's owner lets point to this machine.
        assert client.request(method, path, headers={"Host": "evil.example"}).status_code == 400
        assert "access-control-allow-origin" not in client.request(method, path).headers
    assert client.get("/health").json()["nonce"] == "nonce"


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/nothing", 404), ("GET", "/v1/infill", 405), ("OPTIONS", "/health", 405)]
)
def test_whatever_is_refused_says_why_in_one_sentence(client: httpx.Client, method: str, path: str, status: int):
    for headers, expected in (({}, status), ({"Origin": "null"}, 403), ({"Host": "evil.example"}, 400)):
        answer = client.request(method, path, headers=headers)
        assert answer.status_code == expected
        assert answer.json()["error"].endswith(".")


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"gaps": 3}', b"\xff", b"[" * 10**5, b'{"\\ud800": 1}'])
def test_bad_bodies_are_400_with_one_sentence(client: httpx.Client, body: bytes):
    answer = client.post("/v1/infill", content=body)
    assert answer.status_code == 400
    assert answer.json()["error"].endswith(".")


@pytest.mark.parametrize("prefix", ["short\n", "long\n" * 4000])
def test_a_closed_connection_stops_the_work(client: httpx.Client, engine: SlowEngine, prefix: str):
    """Invariant 5: in the middle of decoding, and of prefilling."""
    body = LONG | {"gaps": [GAP | {"prefix": prefix}]}
    with client.stream("POST", "/v1/infill", json=body):
        time.sleep(0.2)
    has_stopped(engine, client)


def test_typing_goes_before_prefetching(client: httpx.Client, engine: SlowEngine):
    with client.stream("POST", "/v1/infill", json=LONG | {"priority": "prefetch", "max_tokens": 300}) as slow:
        lines = slow.iter_lines()
        next(lines)
        began = time.monotonic()
        events(client, {"gaps": [GAP], "max_tokens": 6})
        took = time.monotonic() - began
        assert json.loads(list(lines)[-1])["event"] == "done", "the other still ends"
        assert took < (time.monotonic() - began) / 2, "and was not waited for"
    assert {6} in engine.together
    assert {6, 300} not in engine.together


def test_a_failed_step_is_reported_and_the_engine_goes_on(client: httpx.Client, engine: SlowEngine):
    engine.fails = RuntimeError("out of luck")
    assert "log" in events(client, {"gaps": [GAP]})[-1]["error"]
    engine.fails = None
    assert events(client, {"gaps": [GAP]})[-1] == {"event": "done"}


def test_out_of_memory_is_reported_and_gives_the_kept_sessions_up(
    client: httpx.Client, engine: SlowEngine, service: Service
):
    events(client, {"gaps": [GAP | {"session": "a"}], "max_tokens": 2})
    assert len(service.scheduler.sessions) == 1
    engine.fails = RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: 12 bytes")
    assert "out of memory" in events(client, {"gaps": [GAP | {"session": "b"}]})[-1]["error"]
    assert len(service.scheduler.sessions) == 0


def test_an_engine_that_only_fails_is_broken(client: httpx.Client, engine: SlowEngine, service: Service):
    engine.fails = RuntimeError("an illegal memory access was encountered")
    for _ in range(2):
        events(client, {"gaps": [GAP]})
    assert not service.scheduler.broken
    events(client, {"gaps": [GAP]})
    assert service.scheduler.broken


def test_an_engine_that_cannot_tell_its_steps_is_broken(
    client: httpx.Client, service: Service, monkeypatch: pytest.MonkeyPatch
):
    """Its thread has ended: it takes nothing more, and does not stay for ever."""

    def full(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("dlsp_engine.serve.stream._canvas", full)
    told = events(client, {"gaps": [GAP | {"session": "a"}, GAP], "max_tokens": 30})
    assert told[-1] == {"event": "error", "error": "The engine is ending; ask again."}
    service.scheduler.join()  # the second gap is told after the first, which ends the answer
    assert service.scheduler.closed
    assert service.scheduler.broken
    assert not service.scheduler.busy
    assert client.post("/v1/infill", json={"gaps": [GAP]}).status_code == 503


def test_gap_and_answer_stay_within_what_the_model_was_trained_to_see(
    client: httpx.Client, engine: SlowEngine, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(engine.model, "shape", replace(engine.model.shape, context=120))
    gap = {"prefix": "a" * 90, "suffix": "b" * 10}
    *_, fill, _ = events(client, {"gaps": [gap], "max_tokens": 64})
    assert fill["cost"]["prompt_tokens"] + fill["cost"]["tokens"] == 120
    (error,) = events(client, {"gaps": [gap | {"suffix": "b" * 40}]})
    assert "at most 119 are taken" in error["error"]


def test_a_model_without_tokens_for_gaps_completes_the_end_of_a_file_only(
    client: httpx.Client, engine: SlowEngine, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(type(engine.tokenizer), "template", Template(), raising=False)
    told = events(client, {"gaps": [{"prefix": "x = ", "suffix": "\n"}], "max_tokens": 5})
    assert told[-1] == {"event": "done"}
    (error,) = events(client, {"gaps": [GAP | {"suffix": "\n)"}]})
    assert error["error"].startswith("This model completes only at the end of a file")
    answer = client.post("/v1/rewrite", json={"windows": [{"text": "a", "path": "a.py"}]})
    assert "no token that separates files" in answer.text


def test_a_request_that_cannot_begin_harms_no_other(
    client: httpx.Client, service: Service, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("dlsp_engine.serve.scheduler.MAX_PROMPT_TOKENS", 200)
    with client.stream("POST", "/v1/infill", json=LONG | {"max_tokens": 60}) as good:
        lines = good.iter_lines()
        next(lines)
        assert "at most 200" in events(client, {"gaps": [GAP | {"prefix": "x" * 500}]})[-1]["error"]
        assert json.loads(list(lines)[-1])["event"] == "done"


def test_too_much_at_once_is_refused(client: httpx.Client, service: Service, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("dlsp_engine.serve.scheduler.MAX_WAITING", 4)
    answer = client.post("/v1/infill", json={"gaps": [GAP] * 4, "max_tokens": 4})
    assert (answer.status_code, answer.json()["error"][:40]) == (503, "The engine has too many requests waiting")
    while service.scheduler.busy:  # the first three were cancelled
        time.sleep(0.01)
    assert events(client, {"gaps": [GAP], "max_tokens": 4})[-1] == {"event": "done"}
    too_large = client.post("/v1/infill", json={"gaps": [GAP | {"prefix": "x" * 400_001}]})
    assert too_large.status_code == 413


def test_no_more_prompts_are_read_at_once_than_there_is_room_for(
    client: httpx.Client, service: Service, engine: SlowEngine, monkeypatch: pytest.MonkeyPatch
):
    """By what they will take when they are read, and with what less urgent requests hold that were begun before."""
    gaps = [GAP | {"prefix": f"{number}" * 600} for number in range(8)]
    service.scheduler.sessions.most_bytes = int(engine.new_session().cache.bytes_of(1500) / RUNNING_SHARE)
    widths: list[int] = []
    step = engine.step
    monkeypatch.setattr(engine, "step", lambda requests, **how: widths.append(len(requests)) or step(requests, **how))
    assert events(client, {"gaps": gaps, "max_tokens": 2})[-1] == {"event": "done"}
    assert max(widths) == 3
    with client.stream("POST", "/v1/infill", json=LONG | {"gaps": gaps[:3], "priority": "prefetch"}) as slow:
        lines = slow.iter_lines()  # the answer is closed, and its gaps are cancelled, when nothing refers to this
        next(lines)
        widths.clear()
        assert events(client, {"gaps": gaps[3:], "max_tokens": 2})[-1] == {"event": "done"}
        assert widths.count(1) >= 5, "one at a time"
        assert 2 not in widths


def test_a_long_prompt_is_no_wait_for_who_types(
    client: httpx.Client, service: Service, engine: SlowEngine, monkeypatch: pytest.MonkeyPatch
):
    """Prompts are made between steps: only so much of them at a time."""
    monkeypatch.setattr("dlsp_engine.serve.scheduler.MAX_BEGUN_TOKENS", 100)
    begun: list[int] = []  # how many had been begun at each step
    step, request = engine.step, engine.request
    requests: list[object] = []
    monkeypatch.setattr(
        engine, "request", lambda *asked, **more: requests.append(made := request(*asked, **more)) or made
    )
    monkeypatch.setattr(engine, "step", lambda running, **how: begun.append(len(requests)) or step(running, **how))
    gaps = [GAP | {"prefix": f"{number}" * 60} for number in range(8)]
    assert events(client, {"gaps": gaps, "max_tokens": 30})[-1] == {"event": "done"}
    assert begun[:4] == [2, 4, 6, 8]


def test_a_client_that_does_not_read_is_not_written_for(client: httpx.Client, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("dlsp_engine.serve.stream.MAX_UNREAD_EVENTS", 0)
    told = events(client, {"gaps": [GAP], "max_tokens": 9})
    assert [event["event"] for event in told] == ["fill", "done"]


def test_an_engine_that_ends_tells_who_waits(client: httpx.Client, service: Service):
    with client.stream("POST", "/v1/infill", json=LONG) as answer:
        lines = answer.iter_lines()
        next(lines)
        service.scheduler.close()
        assert json.loads(list(lines)[-1]) == {"event": "error", "error": "The engine is ending; ask again."}
    assert client.post("/v1/infill", json=LONG).status_code == 503
    assert not service.scheduler.broken


def test_a_long_step_is_no_silence(client: httpx.Client, engine: SlowEngine):
    engine.step_s = 2.3
    answer = client.post("/v1/infill", json={"gaps": [GAP], "max_tokens": 1})
    assert answer.text.count("\n\n") >= 1
    assert json.loads(answer.text.splitlines()[-1]) == {"event": "done"}


def test_metrics(client: httpx.Client):
    events(client, {"gaps": [GAP, GAP], "max_tokens": 5, "quiet": {"repeat": 3}})
    client.post("/v1/infill", json={"gaps": []})
    told = dict(line.rsplit(" ", 1) for line in client.get("/metrics").text.splitlines() if not line.startswith("#"))
    assert float(told["dlsp_requests_total"]) == 1
    assert float(told['dlsp_gaps_total{outcome="length"}']) == 2
    assert float(told['dlsp_work_total{kind="tokens"}']) == 10
    assert float(told["dlsp_tau_count"]) == 2
    assert float(told['dlsp_phase_seconds_count{phase="decode"}']) == 2
    assert float(told['dlsp_quiet_total{reason="repeat"}']) == 3
    assert float(told['dlsp_refused_total{status="400"}']) == 1
    assert float(told["dlsp_waiting"]) == 0
    assert "dlsp_session_bytes" in told


def test_several_answers_come_from_one_prefill_each_of_a_seed_of_its_own(client: httpx.Client, engine: SlowEngine):
    gap = GAP | {"prefix": "a = 1\n" * 60 + GAP["prefix"], "session": "s"}
    sampled = {"max_tokens": 12, "temperature": 1.0, "end": "token"}
    alone = [
        next(
            e["text"]
            for e in events(client, {"gaps": [GAP | {"prefix": gap["prefix"]}], "seed": seed} | sampled)
            if e["event"] == "fill"
        )
        for seed in (7, 8, 9, 10)
    ]
    engine.step_s = 0.0
    client.post("/v1/infill", json={"gaps": [GAP | {"prefix": "import os\n" * 40, "session": "s"}], "max_tokens": 1})
    told = events(client, {"gaps": [gap], "n": 4, "seed": 7} | sampled)
    fills = {event["answer"]: event for event in told if event["event"] == "fill"}
    assert [fills[answer]["text"] for answer in range(4)] == alone
    assert len(set(alone)) == 4
    canvases = {event["answer"] for event in told if event["event"] == "canvas"}
    assert canvases == {0, 1, 2, 3}


def test_a_prompt_of_several_answers_is_prefilled_once(client: httpx.Client, service: Service):
    gap = GAP | {"prefix": "b = 2\n" * 80, "session": "n"}
    told = events(client, {"gaps": [gap], "n": 3, "temperature": 1.0, "max_tokens": 2})
    costs = {event["answer"]: event["cost"] for event in told if event["event"] == "fill"}
    prompt = costs[0]["prompt_tokens"]
    assert prompt > 400
    assert [costs[answer]["cached_tokens"] for answer in range(3)] == [0, prompt - 1, prompt - 1]
    assert len(service.scheduler.sessions) == 1
