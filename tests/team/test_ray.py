"""A team's server on Ray, on this machine: real replicas, each a process with a real engine of a tiny model.

`make prove PART=team` runs these; they need Ray: `.venv/bin/python -m pip install "ray[serve]>=2.60,<3"`.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from dlsp.engine import remote
from dlsp.engine.remote import Server
from dlsp.team import tokens
from dlsp.team.config import Config, Limits, ServedModel
from dlsp.team.running import Running

pytestmark = [pytest.mark.prove, pytest.mark.timeout(300)]

PLANTED = "planted_words_of_a_user"
HOLDER = "tests.dlsp.team.tiny:load"
MOST_S = 5.0  # until every request has an answer or a reason
USERS, DOCUMENTS = 8, 16
ROOT = Path(__file__).parents[2]


@dataclass
class Asked:
    """A request that ended: its document, the seconds that it took, its status and last event."""

    document: str
    began: float
    seconds: float
    status: int
    last: dict[str, Any] = field(repr=False)


class TeamServer:
    """The running server, and what it was asked."""

    def __init__(self, running: Running, folder: Path, url: str) -> None:
        self.running, self.folder, self.url = running, folder, url
        self.token = tokens.make(folder / "tokens.json", "ada")
        self.heads = {"Authorization": f"Bearer {self.token}"}

    def ask(self, http: httpx.Client, document: str, typed: str = "", most_tokens: int = 8) -> Asked:
        gap = {"prefix": f"{document} = 1\n" * 9, "suffix": "\n", "middle": typed, "session": document}
        began = time.monotonic()
        answer = http.post(f"{self.url}/engine/auto/v1/infill", json={"gaps": [gap], "max_tokens": most_tokens})
        *_, last = (line for line in answer.text.splitlines() if line)
        return Asked(document, began, time.monotonic() - began, answer.status_code, json.loads(last))

    def http(self) -> httpx.Client:
        return httpx.Client(headers=self.heads, timeout=30)

    def audit(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / "audit.log").read_text().splitlines()]

    def pid(self, http: httpx.Client) -> int:
        """The process of one replica."""
        return http.get(f"{self.url}/engine/auto/health").json()["pid"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TeamServer]:
    folder = tmp_path_factory.mktemp("team")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    limits = Limits(ongoing=64, requests_per_minute=100_000)
    files = folder / "tokens.json", folder / "audit.log"
    config = Config((ServedModel("0.5b", 2, 2),), files[0], port=port, limits=limits, audit=files[1])
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(ROOT)  # replicas import the tiny model
    running = Running(config, HOLDER)
    try:
        running.start()
        yield TeamServer(running, folder, running.url)
    finally:
        running.stop()
        os.environ.pop("PYTHONPATH") if before is None else os.environ.update(PYTHONPATH=before)


def wait_for(what: Callable[[], bool], most_s: float = 60) -> float:
    """Wait until `what` holds; returns the seconds."""
    began = time.monotonic()
    while not what():
        assert time.monotonic() - began < most_s
        time.sleep(0.1)
    return time.monotonic() - began


def test_a_documents_requests_go_to_one_replica(server: TeamServer) -> None:
    with server.http() as http:
        before = len(server.audit()) if (server.folder / "audit.log").exists() else 0
        for typed in ("", "a", "ab"):
            for number in range(DOCUMENTS):
                asked = server.ask(http, f"document{number}", typed)
                assert (asked.status, asked.last) == (200, {"event": "done"})
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
        answer = http.post(f"{server.url}/v1/completions", json=asked)
        assert answer.json()["choices"][0]["finish_reason"] in ("stop", "length")
        with http.stream("POST", f"{server.url}/v1/completions", json=asked | {"stream": True}) as streamed:
            assert [line for line in streamed.iter_lines() if line][-1] == "data: [DONE]"


def test_when_a_replica_is_killed_every_request_ends(
    server: TeamServer, record_property: Callable[[str, object], None]
) -> None:
    ended: list[Asked] = []
    failures: list[str] = []
    stop = threading.Event()

    def type_on(user: int) -> None:
        with server.http() as http:
            number = 0
            while not stop.is_set():
                number += 1
                try:
                    ended.append(server.ask(http, f"user{user}", "x" * (number % 30), most_tokens=48))
                except Exception as error:
                    failures.append(f"{type(error).__name__}: {error}")

    typists = [threading.Thread(target=type_on, args=(number,)) for number in range(USERS)]
    with server.http() as http:
        victim = server.pid(http)
        for each in typists:
            each.start()
        wait_for(lambda: len(ended) > 3 * USERS)
        os.kill(victim, signal.SIGKILL)
        killed = time.monotonic()
        at = len(server.audit())

        def both_answer() -> bool:
            return len({each["replica"] for each in server.audit()[at:] if each["replica"]}) >= 2

        back_s = wait_for(both_answer)
        stop.set()
        for each in typists:
            each.join(30)
    assert failures == []
    longest = max(each.seconds for each in ended)
    reasons = [each for each in ended if "error" in each.last]
    record_property("longest_s", round(longest, 3))
    record_property("back_s", round(back_s, 2))
    record_property("requests", len(ended))
    record_property("ended_with_a_reason", len(reasons))
    assert longest < MOST_S
    assert all(each.last == {"event": "done"} or each.last.get("error", "").endswith(".") for each in ended)
    assert all(each.last == {"event": "done"} for each in ended if each.began < killed - MOST_S)
    assert [each.status for each in ended[-USERS:]] == [200] * USERS


def test_no_log_of_ray_has_text(server: TeamServer) -> None:
    with server.http() as http:
        gap = {"prefix": PLANTED, "suffix": "", "path": f"{PLANTED}.py", "session": PLANTED}
        http.post(f"{server.url}/engine/auto/v1/infill", json={"gaps": [gap], "client": PLANTED})
        http.post(f"{server.url}/engine/auto/v1/infill", json={"gaps": PLANTED})
        http.post(f"{server.url}/{PLANTED}", json={PLANTED: PLANTED})
        http.post(f"{server.url}/v1/completions", json={"prompt": PLANTED, "max_tokens": 2})
        http.post(f"{server.url}/v1/completions", json={"prompt": PLANTED, "max_tokens": PLANTED})
    logs = Path("/tmp/ray/session_latest/logs")
    files = [each for each in logs.rglob("*") if each.is_file()]
    assert [each for each in files if "replica_dlsp" in each.name], "the replicas' logs are there"
    for each in [*files, server.folder / "audit.log"]:
        content = each.read_bytes()
        assert PLANTED.encode() not in content, each.name
        assert server.token.encode() not in content, each.name


def test_a_signal_ends_the_server_and_its_ray(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    code = (
        "import sys; from pathlib import Path; from dlsp import cli; from dlsp.team import config, running\n"
        f"read = config.read({{'models': [{{'name': '0.5b'}}], 'tokens': 'tokens.json', 'port': {port}}}, Path('.'))\n"
        "serve = lambda: running.serve_until_ended(read, lambda line: print(line, flush=True), sys.argv[1]) or 0\n"
        "sys.exit(cli.guarded(serve))"
    )
    command = [sys.executable, "-c", code, HOLDER]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        assert any("Serving at" in line for line in server.stdout)
        ray = psutil.Process(server.pid).children(recursive=True)
        assert ray
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0
    _, alive = psutil.wait_procs(ray, timeout=30)
    assert alive == []
