"""Requests of a document and its replica, and what happens when replicas or the server end."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from dlsp.engine import remote
from dlsp.engine.remote import Server
from tests.team.conftest import DONE, MOST_S, ROOT, TINY, TeamServer, free_port, wait_for

pytestmark = [pytest.mark.prove, pytest.mark.timeout(300)]

USERS, DOCUMENTS = 8, 16


def test_a_documents_requests_go_to_one_replica(server: TeamServer) -> None:
    before = len(server.audit())
    with server.http() as http:
        for typed in ("", "a", "ab"):
            for number in range(DOCUMENTS):
                asked = server.ask(http, f"document{number}", typed)
                assert (asked.status, asked.last) == (200, DONE)
    replicas = [each["replica"] for each in server.audit()[before:]]
    by_document = [set(replicas[number::DOCUMENTS]) for number in range(DOCUMENTS)]
    assert all(len(used) == 1 for used in by_document)
    assert len(set[str]().union(*by_document)) == 2


async def test_dlsps_own_client_is_answered(server: TeamServer) -> None:
    async with await remote.connect(Server(server.url), server.token) as engine:
        fill = await engine.fill({"gaps": [{"prefix": "a = 1\n", "suffix": "\n"}], "max_tokens": 8})
    assert fill["reason"] == "length"
    with pytest.raises(remote.ServerAway, match="refuses your token"):
        await remote.connect(Server(server.url), "dlsp_wrong")


def test_openais_interface_is_there(server: TeamServer) -> None:
    with server.http() as http:
        asked = {"prompt": "a = ", "suffix": "\n", "max_tokens": 4}
        answer = http.post("/v1/completions", json=asked)
        assert answer.json()["choices"][0]["finish_reason"] in ("stop", "length")
        with http.stream("POST", "/v1/completions", json=asked | {"stream": True}) as streamed:
            assert [line for line in streamed.iter_lines() if line][-1] == "data: [DONE]"


def test_when_a_replica_is_killed_every_request_ends(
    server: TeamServer, record_property: Callable[[str, object], None]
) -> None:
    with server.typing(USERS) as typing:
        victim = server.pid()
        wait_for(lambda: len(typing.ended) > 3 * USERS)
        os.kill(victim, signal.SIGKILL)
        before = len(typing.ended)
        at = len(server.audit())
        back_s = wait_for(lambda: len({each["replica"] for each in server.audit()[at:] if each["replica"]}) >= 2)
    assert typing.failures == []
    ended = typing.ended
    longest = max(each.seconds for each in ended)
    record_property("longest_s", round(longest, 3))
    record_property("back_s", round(back_s, 2))
    record_property("requests", len(ended))
    record_property("ended_with_a_reason", sum("error" in each.last for each in ended))
    assert longest < MOST_S
    assert all(each.last == DONE or each.last.get("error", "").endswith(".") for each in ended)
    assert all(each.last == DONE for each in ended[: before - USERS])
    assert [each.status for each in ended[-USERS:]] == [200] * USERS


def test_signals_change_and_end_the_server_and_its_ray(tmp_path: Path) -> None:
    file = tmp_path / "team.yaml"
    file.write_text(right := f"models: [{{name: 0.5b}}]\ntokens: tokens.json\nport: {free_port()}\n")
    code = (
        "import sys; from pathlib import Path; from dlsp import cli; from dlsp.team import config, running\n"
        "load, say = lambda: config.load(Path('team.yaml')), lambda line: print(line, flush=True)\n"
        "sys.exit(cli.guarded(lambda: running.serve_until_ended(load, say, sys.argv[1]) or 0))"
    )
    command = [sys.executable, "-c", code, TINY]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        assert any("Serving at" in line for line in server.stdout)
        for content, said in (("models: 3", "not changed: `models` must be a list"), (right, "is served")):
            file.write_text(content)
            server.send_signal(signal.SIGHUP)
            assert any(said in line for line in server.stdout)
        ray = psutil.Process(server.pid).children(recursive=True)
        assert ray
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0
    _, alive = psutil.wait_procs(ray, timeout=30)
    assert alive == []
