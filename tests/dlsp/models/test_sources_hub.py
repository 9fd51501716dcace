"""pytest tests/dlsp/models/test_sources_hub.py"""

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import cast

import pytest

from dlsp.models import store
from dlsp.models.catalogue import Model
from dlsp.models.progress import SILENT
from dlsp.models.pull import PullError, pull
from dlsp.models.sources import Unavailable, hub


class Server(ThreadingHTTPServer):
    """A hub with one file, which it hands out from any byte on, after a redirection as the real one does."""

    file = b""
    status = 206
    asked: list[tuple[str, int]]


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        server = cast(Server, self.server)
        start, _, end = self.headers.get("Range", "bytes=0-")[6:].partition("-")
        if self.path.startswith("/nobody"):
            self.send_response(302)
            self.send_header("Location", "/content" + self.path)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        server.asked.append((self.path, int(start)))
        body = server.file[int(start) : int(end) + 1 if end else None]
        self.send_response(server.status)
        self.send_header("Content-Length", str(len(body)))
        total = len(server.file)
        self.send_header("Content-Range", f"bytes {start}-{int(start) + len(body) - 1}/{total}")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None: ...


@pytest.fixture
def server(data: bytes, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as server:
        server.file, server.asked = data, []
        address = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", address)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def mute() -> Iterator[socket.socket]:
    """A port that accepts and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as mute:
        yield mute


def test_the_official_file_comes_first(model: Model, data: bytes, server: Server, publish):
    publish(bytes(len(data)))
    assert pull(model).read_bytes() == data
    name = f"/content/{model.repo}/resolve/main/{model.file}"
    assert server.asked == [(name, 0), (name, 0)]  # does it answer; the file


def test_an_interrupted_download_goes_on(model: Model, data: bytes, server: Server):
    rest = store.place(model).with_name("fake.gguf.parts")
    rest.mkdir(parents=True)
    (rest / "hub.partial").write_bytes(data[:1_000_000])
    assert pull(model).read_bytes() == data
    assert [start for _, start in server.asked] == [0, 1_000_000]
    assert not rest.exists()


def test_another_file_on_the_hub_is_refused_and_not_resumed_from(
    model: Model, data: bytes, server: Server, publish, fetched: list[int]
):
    publish(data)
    server.file = bytes(len(data))
    assert pull(model).read_bytes() == data
    assert fetched == [1, 2]


def test_a_hub_that_says_no_is_not_insisted_on(model: Model, server: Server):
    server.status = 404
    with pytest.raises(PullError, match="the model hub answers 404"):
        pull(model)
    assert len(server.asked) == 1


def test_a_mute_hub_is_given_up_within_three_seconds(model: Model, mute: socket.socket, tmp_path: Path):
    """From a cold start, with the real limit."""
    code = """
import time
from pathlib import Path
from dlsp.models.catalogue import DEFAULT
from dlsp.models.progress import SILENT
from dlsp.models.sources.hub import Hub
started = time.monotonic()
try:
    Hub().fetch(DEFAULT, Path("candidate"), Path("."), SILENT)
except Exception as error:
    print(type(error).__name__, time.monotonic() - started)
"""
    port = mute.getsockname()[1]
    said = subprocess.check_output(
        [sys.executable, "-c", code],
        env={"HF_ENDPOINT": f"http://127.0.0.1:{port}", "HOME": str(tmp_path)},
        cwd=tmp_path,
        text=True,
    )
    kind, seconds = said.split()
    assert kind == "Unavailable"
    assert float(seconds) < 4


def test_a_hub_that_drips_is_given_up_all_the_same(
    model: Model, mute: socket.socket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Each byte comes in time, the answer never does."""

    def drip() -> None:
        peer, _ = mute.accept()
        with peer:
            for _ in range(300):
                time.sleep(0.1)
                peer.send(b"H")

    threading.Thread(target=drip, daemon=True).start()
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", f"http://127.0.0.1:{mute.getsockname()[1]}")
    monkeypatch.setattr(hub, "ANSWER_S", 0.5)
    started = time.monotonic()
    with pytest.raises(Unavailable, match="does not answer"):
        hub.Hub().fetch(model, tmp_path / "candidate", tmp_path, SILENT)
    assert time.monotonic() - started < 15, "it drips for twice as long"


def test_offline_is_respected(model: Model, server: Server, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(PullError, match="HF_HUB_OFFLINE"):
        pull(model)
    assert server.asked == []
