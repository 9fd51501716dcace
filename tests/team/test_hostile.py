"""A hostile user's text is in no log, metric, audit line or dump, and neither is a token."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from dlsp.team import tokens
from dlsp.team.config import Limits, ServedModel
from tests.team.conftest import DONE, LOGS, TeamServer, serving, wait_for

pytestmark = [pytest.mark.prove, pytest.mark.timeout(300)]

PLANTED = "planted_words_of_a_user"


def files(folder: Path) -> list[Path]:
    return [each for each in folder.rglob("*") if each.is_file()]


def test_text_is_nowhere_after_a_replica_has_crashed(tmp_path: Path) -> None:
    with serving(tmp_path, ServedModel("0.5b", 2, 2)) as server:
        text_is_nowhere(server)


def text_is_nowhere(server: TeamServer) -> None:
    metrics = tokens.make(server.config.tokens, "metrics")
    with server.http() as http:
        gap = {"prefix": PLANTED, "suffix": "", "path": f"{PLANTED}.py", "session": PLANTED}
        http.post("/engine/auto/v1/infill", json={"gaps": [gap], "client": PLANTED})
        http.post("/engine/auto/v1/infill", json={"gaps": PLANTED})
        http.post(f"/{PLANTED}", json={PLANTED: PLANTED})
        http.post("/v1/completions", json={"prompt": PLANTED, "max_tokens": 2})
        http.post("/v1/completions", json={"prompt": PLANTED, "max_tokens": PLANTED})

        def asks_on() -> None:
            http.post("/engine/auto/v1/infill", json={"gaps": [gap | {"prefix": PLANTED * 200}], "max_tokens": 900})

        asking = threading.Thread(target=asks_on)
        victim = server.pid()
        asking.start()
        os.kill(victim, signal.SIGABRT)  # as when it finds itself broken: it would leave a dump
        asking.join(30)
        wait_for(lambda: server.replicas() < 2)
        wait_for(lambda: server.replicas() == 2, 120)
    with server.http(metrics) as http:
        told = http.get("/metrics").text
    assert 'user="ada"' in told
    assert PLANTED not in told
    logs = files(LOGS.resolve())
    assert [each for each in logs if "replica_dlsp" in each.name], "the replicas' logs are there"
    dumps = [each for folder in (Path.cwd(), Path("/tmp")) for each in folder.glob("core*") if each.is_file()]
    assert server.config.audit
    for each in [*logs, *dumps, server.config.audit]:
        content = each.read_bytes()
        assert PLANTED.encode() not in content, each
        assert server.token.encode() not in content, each


def test_what_a_hostile_user_asks_is_refused_and_others_are_answered(tmp_path: Path) -> None:
    limits = Limits(ongoing=4, requests_per_minute=600, request_bytes=100_000)
    with serving(tmp_path, ServedModel("0.5b"), limits=limits) as server:
        eve = tokens.make(server.config.tokens, "eve")
        old = tokens.make(server.config.tokens, "eve")
        tokens.revoke(server.config.tokens, "eve", 3)
        statuses: list[int] = []

        def floods() -> None:
            with server.http(eve) as http:
                for _ in range(200):
                    gap = {"prefix": "x = 1\n" * 20, "suffix": "", "session": "user0"}
                    answer = http.post("/engine/auto/v1/infill", json={"gaps": [gap], "max_tokens": 48})
                    statuses.append(answer.status_code)

        began = time.monotonic()
        flood = [threading.Thread(target=floods) for _ in range(8)]
        with server.typing(2) as typing:
            for each in flood:
                each.start()
            for token in ("dlsp_wrong", old):
                with server.http(token) as http:
                    assert server.ask(http, "user0").status == 401
            with server.http(eve) as http:
                assert http.post("/engine/auto/v1/infill", json={"gaps": ["x" * 200_000]}).status_code in (413, 429)
            for each in flood:
                each.join(120)
        assert set(statuses) == {200, 429}
        assert statuses.count(200) <= 600 + 10 * (time.monotonic() - began)
        assert typing.failures == []
        assert [each for each in typing.ended if each.last != DONE and each.status != 429] == []
        assert any(each.last == DONE for each in typing.ended)
