"""Connections that ask for nothing: those who ask are answered, the log stays short, and soon they are gone."""

import asyncio
import json
import resource
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from dlsp_engine.serve import server
from dlsp_engine.serve.listener import Listener
from tests.engine.serve.conftest import SlowEngine, asking
from tests.engine.serve.test_process import MAIN, SERVE

FILES = 1024
HALF = b"GET /health HTTP/1.1\r\nHost: 127"
MOST_LOG_BYTES = 1_000_000
BUSY_S = 5  # what other programs may take


def connected(address: str) -> socket.socket:
    path = address.removeprefix("unix:")
    if path == address:
        return socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])), timeout=10)
    connection = socket.socket(socket.AF_UNIX)  # blocking: else it is refused while many others wait to be taken
    connection.connect(path)
    connection.settimeout(10)
    return connection


def closed(connection: socket.socket) -> bool:
    """Whether the engine closed it, within some seconds."""
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


@pytest.fixture
def process(tmp_path: Path, tcp: bool) -> Iterator[dict[str, str]]:
    """What an engine that may open few files says of itself."""

    def few() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))

    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(before[0], 4 * FILES), before[1]))  # this process has more
    command = [sys.executable, "-c", MAIN, *SERVE, "--cache", str(tmp_path), "--state", str(tmp_path)]
    with (tmp_path / "engine-m.log").open("ab") as log:
        engine = subprocess.Popen([*command, *(["--tcp"] if tcp else [])], stderr=log, preexec_fn=few)
    file = tmp_path / "engine-m.json"
    deadline = time.monotonic() + 60
    while not file.exists():
        assert engine.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    yield json.loads(file.read_text())
    engine.kill()
    engine.wait()
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def crowd(state: dict[str, str], connections: int, at_once: int = FILES + 76) -> list[float]:
    """Open so many half-open connections, and ask beside each lot of them: how long each answer took, in seconds."""
    took: list[float] = []
    for _ in range(-(-connections // at_once)):
        with ExitStack() as opened:
            for _ in range(at_once):
                connection = opened.enter_context(connected(state["address"]))
                try:
                    connection.sendall(HALF)
                except ConnectionError:  # another one has its place already
                    continue
            with asking(state["address"], state["token"]) as client:
                began = time.monotonic()
                assert client.get("/health").json()["nonce"] == state["nonce"]
                took.append(time.monotonic() - began)
    return took


@pytest.mark.skipif(sys.platform == "win32", reason="there are no file limits")
@pytest.mark.parametrize("tcp", [False, True])
def test_ten_thousand_half_open_connections_stop_nobody(
    process: dict[str, str], tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    took = crowd(process, 10_000)
    log = tmp_path / "engine-m.log"
    record_property("answer_s", round(max(took), 3))
    record_property("log_bytes", log.stat().st_size)
    assert statistics.median(took) < 1
    assert max(took) < 1 + BUSY_S
    assert log.stat().st_size < MOST_LOG_BYTES


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HEAD_TIMEOUT_S", 0.3)
    monkeypatch.setattr(server, "MAX_CONNECTIONS", 4)


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("sent", [b"", HALF])
def test_a_request_that_does_not_come_whole_is_waited_for_no_longer(client: httpx.Client, served: str, sent: bytes):
    with connected(served) as slow:
        slow.sendall(sent)
        assert closed(slow)
    assert client.get("/health").status_code == 200


@pytest.mark.usefixtures("soon")
def test_nor_the_second_one_of_a_connection(client: httpx.Client, served: str):
    with connected(served) as slow:
        slow.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer secret\r\n\r\n")
        answer = b""
        while not answer.endswith(b"}"):
            answer += slow.recv(65536)
        assert b"200 OK" in answer
        slow.sendall(HALF)
        assert closed(slow)
    assert client.get("/health").status_code == 200


@pytest.mark.usefixtures("soon")
def test_a_request_at_work_outlasts_the_time_for_its_head_and_a_crowd(
    client: httpx.Client, served: str, engine: SlowEngine
):
    engine.step_s = 0.2
    body = {"gaps": [{"prefix": "a", "suffix": ""}], "max_tokens": 8, "mode": "autoregressive"}
    with client.stream("POST", "/v1/infill", json=body) as answer, ExitStack() as opened:
        lines = answer.iter_lines()
        next(lines)
        for _ in range(20):
            opened.enter_context(connected(served))
        assert json.loads(list(lines)[-1]) == {"event": "done"}


@pytest.mark.usefixtures("soon")
def test_where_all_are_at_work_a_new_one_is_closed(client: httpx.Client, served: str):
    body = {"gaps": [{"prefix": "a", "suffix": ""}], "max_tokens": 1024, "temperature": 1}
    with ExitStack() as opened:
        for _ in range(4):
            next(opened.enter_context(client.stream("POST", "/v1/infill", json=body)).iter_lines())
        with connected(served) as one_more:
            assert closed(one_more)


async def test_that_no_connection_can_be_taken_is_logged_seldom(caplog: pytest.LogCaptureFixture, tmp_path: Path):
    with Listener.open(tmp_path, "m"):
        made = server.Server(lambda *_: None)  # type: ignore[arg-type]
        loop = asyncio.get_running_loop()
        for _ in range(1_000):
            loop.call_exception_handler(
                {"message": "socket.accept() out of system resource", "exception": OSError(24, "Too many open files")}
            )
        assert [record.getMessage() for record in caplog.records] == [
            "no connection can be taken: [Errno 24] Too many open files"
        ]
        loop.call_exception_handler({"message": "something else", "exception": ValueError("x")})
        assert len(caplog.records) == 2
        made.end()
