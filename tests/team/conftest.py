"""A team's server on Ray, on this machine: real replicas, each a process with a real engine of a tiny model, or the
real one.

`make prove PART=team` runs these; they need Ray: `.venv/bin/python -m pip install "ray[serve]>=2.60,<3"`.
"""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from dlsp.team import tokens
from dlsp.team.application import DEPLOYMENT, HOLDER, ray_module
from dlsp.team.config import Config, Limits, ServedModel
from dlsp.team.running import NAME, Running

ROOT = Path(__file__).parents[2]
TINY = "tests.dlsp.team.tiny:load"
LOGS = Path("/tmp/ray/session_latest")
MOST_S = 5.0  # until every request has an answer or a reason
DONE = {"event": "done"}


@dataclass
class Asked:
    """A request that ended: its document, when it began, the seconds that it took, its status and last event."""

    document: str
    began: float
    seconds: float
    status: int
    last: dict[str, Any] = field(repr=False)


@dataclass
class Typing:
    """What typists asked so far, and what no request may end with."""

    ended: list[Asked] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


class TeamServer:
    """The running server, and what it was asked."""

    def __init__(self, running: Running, config: Config) -> None:
        self.running, self.config, self.url = running, config, running.url
        self.token = tokens.make(config.tokens, "ada")

    def ask(self, http: httpx.Client, document: str, typed: str = "", most_tokens: int = 8) -> Asked:
        gap = {"prefix": f"{document} = 1\n" * 9, "suffix": "\n", "middle": typed, "session": document}
        began = time.monotonic()
        answer = http.post("/engine/auto/v1/infill", json={"gaps": [gap], "max_tokens": most_tokens})
        *_, last = (line for line in answer.text.splitlines() if line)
        return Asked(document, began, time.monotonic() - began, answer.status_code, json.loads(last))

    def http(self, token: str = "") -> httpx.Client:
        heads = {"Authorization": f"Bearer {token or self.token}"}
        return httpx.Client(base_url=self.url, headers=heads, timeout=30)

    @contextmanager
    def typing(self, typists: int, name: str = "user") -> Iterator[Typing]:
        """Typists who ask all the time, each in a document of their own, named by `name`: in one document a newer
        request ends the older.
        """
        typing, stop = Typing(), threading.Event()

        def type_on(user: int) -> None:
            with self.http() as http:
                number = 0
                while not stop.is_set():
                    number += 1
                    try:
                        typing.ended.append(self.ask(http, f"{name}{user}", "x" * (number % 30), most_tokens=48))
                    except Exception as error:
                        typing.failures.append(f"{type(error).__name__}: {error}")

        threads = [threading.Thread(target=type_on, args=(number,)) for number in range(typists)]
        for each in threads:
            each.start()
        try:
            yield typing
        finally:
            stop.set()
            for each in threads:
                each.join(30)

    def audit(self) -> list[dict[str, Any]]:
        file = self.config.audit
        assert file
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def pid(self) -> int:
        """The process of one replica."""
        return self.health()["pid"]

    def health(self) -> dict[str, Any]:
        with self.http() as http:
            return http.get("/engine/auto/health").json()

    def replicas(self, model: str = "0.5b") -> int:
        """How many replicas of the model can answer."""
        deployed = ray_module("ray.serve").status().applications[f"{NAME}-{model}"].deployments
        states = deployed[DEPLOYMENT.format(model)].replica_states
        return sum(count for state, count in states.items() if str(getattr(state, "value", state)) == "RUNNING")


def wait_for(what: Callable[[], bool], most_s: float = 60) -> float:
    """Wait until `what` holds; returns the seconds."""
    began = time.monotonic()
    while not what():
        assert time.monotonic() - began < most_s
        time.sleep(0.1)
    return time.monotonic() - began


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


@contextmanager
def serving(folder: Path, model: ServedModel, holder: str = TINY, limits: Limits | None = None) -> Iterator[TeamServer]:
    """A server with an audit file, and by default no limits that a test would meet."""
    limits = limits or Limits(ongoing=64, requests_per_minute=100_000)
    files = folder / "tokens.json", folder / "audit.log"
    config = Config((model,), files[0], port=free_port(), limits=limits, audit=files[1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))  # replicas import the tiny model
        running = Running(config, holder)
        try:
            running.start()
            yield TeamServer(running, config)
        finally:
            running.stop()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TeamServer]:
    """Two replicas of the tiny model."""
    with serving(tmp_path_factory.mktemp("team"), ServedModel("0.5b", 2, 2)) as server:
        yield server


@pytest.fixture(scope="module")
def real_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TeamServer]:
    """One replica of the real model."""
    with serving(tmp_path_factory.mktemp("team"), ServedModel("0.5b", threads=2), HOLDER) as server:
        yield server
