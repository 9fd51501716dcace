"""The server's application before two replicas with real engines in this process: without Ray, with its contract."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import httpx
import pytest

from dlsp.engine.versions import API
from dlsp.team import engines, tokens
from dlsp.team.config import Config, Limits, ServedModel
from dlsp.team.ingress import team
from dlsp.team.measures import Measures
from dlsp.team.users import Users
from tests.dlsp.team import tiny

PLANTED = "planted_words_of_a_user"
INFILL = "/engine/auto/v1/infill"
GAP = {"prefix": f"{PLANTED} = 1\n", "suffix": "\n", "session": "document"}


class Local:
    """Replicas in this process: a session's is chosen by its name. `asked` notes the replica and body of each
    request; `fails` are how many of the next requests end, and after how many items, `late_s` seconds later."""

    def __init__(self) -> None:
        self.replicas = [tiny.load("0.5b", "", "", "1", 1, "cpu") for _ in range(2)]
        self.asked: list[tuple[int, dict[str, Any]]] = []
        self.fails: list[int] = []
        self.late_s = 0.0
        self.stuck_after: int | None = None
        self.closed = 0

    async def ask(self, session: str, method: str, path: str, body: bytes) -> AsyncGenerator[Any]:
        number = int(session, 16) % 2
        self.asked.append((number, json.loads(body or b"{}")))
        left = self.fails.pop(0) if self.fails else None
        try:
            async with aclosing(self._items(number, method, path, body)) as items:
                async for item in items:
                    if left == 0:
                        await asyncio.sleep(self.late_s)
                        raise RuntimeError(PLANTED)
                    if self.stuck_after == 0:
                        await asyncio.Event().wait()
                    left = None if left is None else left - 1
                    self.stuck_after = None if self.stuck_after is None else self.stuck_after - 1
                    yield item
        finally:
            self.closed += 1

    async def _items(self, number: int, method: str, path: str, body: bytes) -> AsyncGenerator[Any]:
        yield f"replica-{number}"
        async with aclosing(self.replicas[number].ask(method, path, body)) as items:
            async for item in items:
                yield item


class Running:
    """The application, with ways to ask it."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        self.file, self.audit = folder / "tokens.json", folder / "audit.log"
        self.tokens = {user: tokens.make(self.file, user) for user in ("ada", "bob", "metrics")}
        self.local = Local()
        self.now = 0.0
        config = Config((ServedModel("0.5b"),), self.file, limits=limits)
        users = Users(self.file, limits, lambda: self.now)
        app = team(config, {"0.5b": self.local}, users, Measures(self.audit))
        self.http = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://team", timeout=20)

    async def ask(self, body: Any, user: str = "ada", path: str = INFILL) -> httpx.Response:
        return await self.http.post(path, json=body, headers=self.head(user))

    def head(self, user: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.tokens.get(user, user)}"}

    async def metrics(self) -> str:
        return (await self.http.get("/metrics", headers=self.head("metrics"))).text


@pytest.fixture
def limits() -> Limits:
    return Limits()


@pytest.fixture
async def running(tmp_path: Path, limits: Limits, one_thread: None) -> AsyncIterator[Running]:
    made = Running(tmp_path, limits)
    yield made
    await made.http.aclose()
    for replica in made.local.replicas:
        replica.close()


def gap(**more: Any) -> dict[str, Any]:
    return {"gaps": [GAP | more], "max_tokens": 8}


def events(answer: httpx.Response) -> list[dict[str, Any]]:
    return [json.loads(line) for line in answer.text.splitlines() if line]


async def test_a_gap_is_filled_as_by_one_engine(running: Running) -> None:
    answer = await running.ask(gap())
    assert answer.status_code == 200
    *_, fill, done = events(answer)
    assert (fill["event"], done) == ("fill", {"event": "done"})
    replica = running.local.replicas[0]
    async with aclosing(replica.ask("POST", "/v1/infill", json.dumps(gap()).encode())) as items:
        direct = b"".join([item async for item in items if isinstance(item, bytes)])
    assert json.loads(direct.splitlines()[-2])["text"] == fill["text"]


async def test_health_is_a_replicas(running: Running) -> None:
    answer = await running.http.get("/engine/0.5b/health", headers=running.head("ada"))
    assert (answer.json()["api"], answer.json()["model"]) == (API, "0.5b")


async def test_a_document_stays_at_its_replica_whose_cache_then_hits(running: Running) -> None:
    for number in range(12):
        for typed in ("", "a", "ab"):
            text = f"{number} = 1\n" * 9
            answer = await running.ask(gap(session=f"document{number}", prefix=text, middle=typed))
            *_, fill, _ = events(answer)
            assert (fill["cost"]["cached_tokens"] > len(text)) == bool(typed)
    by_document = [{each for each, _ in running.local.asked[at : at + 3]} for at in range(0, 36, 3)]
    assert all(len(used) == 1 for used in by_document)
    assert set[int]().union(*by_document) == {0, 1}, "both replicas have documents"


async def test_another_users_session_of_the_same_name_is_another(running: Running) -> None:
    assert engines.session_of("ada", gap()) != engines.session_of("bob", gap())
    for user, client in (("ada", "shared"), ("bob", "shared"), ("bob", "another")):
        await running.ask(gap() | {"client": client}, user)
    ada, *bob = (body["client"] for _, body in running.local.asked)
    assert ada != "shared"
    assert bob == [bob[0]] * 2 != [ada] * 2, "nobody has two shares by two names"


@pytest.mark.parametrize("token", ["", "wrong", "dlsp_" + "a" * 43])
async def test_a_wrong_token_is_refused(running: Running, token: str) -> None:
    for path in (INFILL, "/v1/completions", "/metrics", "/api/generate"):
        answer = await running.http.post(path, json=gap(), headers={"Authorization": f"Bearer {token}"})
        assert answer.status_code == 401
        assert "ask the server's administrator" in answer.text
    assert running.local.asked == []


async def test_a_revoked_token_is_refused_a_second_later(running: Running) -> None:
    assert (await running.ask(gap())).status_code == 200
    tokens.revoke(running.file, "ada")
    running.now += 1.1
    assert (await running.ask(gap())).status_code == 401
    assert (await running.ask(gap(), "bob")).status_code == 200
    running.file.write_text("damaged")
    running.now += 1.1
    assert (await running.ask(gap(), "bob")).status_code == 401


@pytest.mark.parametrize("limits", [Limits(requests_per_minute=3)])
async def test_a_flood_is_refused_and_others_are_answered(running: Running) -> None:
    answers = [(await running.ask(gap())).status_code for _ in range(5)]
    assert answers == [200, 200, 200, 429, 429]
    assert (await running.ask(gap(), "bob")).status_code == 200
    running.now += 20
    assert [(await running.ask(gap())).status_code for _ in range(2)] == [200, 429]


@pytest.mark.parametrize("limits", [Limits(ongoing=2)])
async def test_only_so_many_requests_at_once(running: Running) -> None:
    answers = await asyncio.gather(*(running.ask(gap(session=str(each))) for each in range(5)))
    assert sorted(each.status_code for each in answers) == [200, 200, 429, 429, 429]
    assert (await running.ask(gap())).status_code == 200, "those that ended leave room"


@pytest.mark.parametrize(
    ("path", "body", "priority"),
    [
        (INFILL, gap(), "typing"),
        (INFILL, gap() | {"priority": "prefetch"}, "prefetch"),
        (INFILL, gap(prefix="x = 1\n" * 20_000), "filling"),
        (INFILL, gap() | {"n": 2, "temperature": 1.0}, "filling"),
        (INFILL, gap() | {"gaps": [GAP, GAP], "priority": "typing"}, "filling"),
        ("/engine/auto/v1/generate", {"prompt": "x", "max_tokens": 2, "priority": "typing"}, "filling"),
    ],
)
async def test_what_no_typist_asks_waits_for_those_who_type(
    running: Running, path: str, body: dict[str, Any], priority: str
) -> None:
    await running.ask(body, path=path)
    (_, given), *_ = running.local.asked
    assert given["priority"] == priority


@pytest.mark.parametrize("limits", [Limits(request_bytes=2000)])
@pytest.mark.parametrize("path", [INFILL, "/v1/completions"])
async def test_a_giant_prompt_is_refused_before_it_reaches_a_replica(running: Running, path: str) -> None:
    answer = await running.ask(gap(prefix="x" * 5000), path=path)
    assert answer.status_code == 413
    assert "larger than 2000 bytes" in answer.text
    assert running.local.asked == []


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        (INFILL, [], 400),
        (INFILL, {"gaps": 3}, 400),
        ("/engine/7b/v1/infill", {}, 404),
        ("/engine/auto/v1/shutdown", {}, 404),
        ("/engine/auto/v1/proof", {}, 404),
        ("/engine/auto/metrics", {}, 404),
    ],
)
async def test_what_is_no_request_is_refused_in_a_sentence(running: Running, path: str, body: Any, status: int) -> None:
    answer = await running.ask(body, path=path)
    assert answer.status_code == status
    assert answer.json()["error"].endswith(".")


@pytest.mark.parametrize("items", [0, 1])
async def test_a_replica_that_ends_before_it_answers_is_not_noticed(running: Running, items: int) -> None:
    running.local.fails = [items]
    answer = await running.ask(gap())
    assert [each["event"] for each in events(answer)][-1] == "done"
    assert len(running.local.asked) == 2


async def test_a_replica_that_ends_in_the_middle_is_a_reason(running: Running) -> None:
    running.local.fails = [3]
    answer = await running.ask(gap())
    assert events(answer)[-1] == {"event": "error", "error": engines.LOST}
    assert PLANTED not in answer.text
    running.local.fails = [0, 0]
    answer = await running.ask(gap())
    assert (answer.status_code, answer.json()["error"]) == (503, engines.NONE_FREE)


@pytest.mark.parametrize(("after", "status"), [(1, 503), (3, 200)])
async def test_a_replica_that_is_silent_is_given_up(
    running: Running, monkeypatch: pytest.MonkeyPatch, after: int, status: int
) -> None:
    monkeypatch.setattr(engines, "SILENCE_S", 0.2)
    running.local.stuck_after = after
    answer = await running.ask(gap())
    assert answer.status_code == status
    assert "ask again" in answer.text
    assert running.local.closed == 1, "the request is cancelled"


async def test_two_tries_take_no_longer_than_one_may(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "FIRST_S", 1)
    running.local.fails, running.local.late_s = [0, 0], 0.8
    began = time.monotonic()
    answer = await running.ask(gap())
    assert (answer.status_code, answer.json()["error"]) == (503, engines.NONE_FREE)
    assert len(running.local.asked) == 2
    assert time.monotonic() - began < 1.5


async def test_openais_and_llama_cpps_clients_are_answered(running: Running) -> None:
    asked = {"prompt": "a = ", "suffix": "\n", "max_tokens": 4}
    answer = await running.ask(asked, path="/v1/completions")
    assert answer.json()["choices"][0]["finish_reason"] in ("stop", "length")
    answer = await running.ask({"input_prefix": "a = ", "input_suffix": "\n", "n_predict": 4}, path="/infill")
    assert "content" in answer.json()
    answer = await running.http.get("/v1/models", headers={"x-api-key": running.tokens["ada"]})
    assert answer.json()["data"][0]["id"] == "qwen2.5-coder-0.5b"


async def test_metrics_and_audit_have_users_numbers_and_no_text(running: Running) -> None:
    await running.ask(gap(path=f"{PLANTED}.py") | {"client": PLANTED, "quiet": {PLANTED: 1}})
    await running.ask(gap(), path=f"/engine/auto/v1/{PLANTED}")
    await running.ask(gap(), path=f"/{PLANTED}")
    await running.ask(gap(), PLANTED)
    assert (await running.http.get("/metrics", headers=running.head("ada"))).status_code == 403
    metrics, audit = await running.metrics(), running.audit.read_text()
    assert 'dlsp_team_requests_total{status="200",user="ada",what="infill"} 1.0' in metrics
    assert 'dlsp_team_requests_total{status="401",user="",what="infill"} 1.0' in metrics
    assert 'dlsp_team_replica_requests_total{replica="replica-' in metrics
    first = json.loads(audit.splitlines()[0])
    assert (first["user"], first["what"], first["status"]) == ("ada", "infill", 200)
    assert first["bytes_in"] > 0 < first["bytes_out"]
    for text in (metrics, audit):
        assert PLANTED not in text
        assert not any(token in text for token in running.tokens.values())
