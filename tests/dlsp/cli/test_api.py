import re
import signal
import socket
import subprocess
import sys
from functools import partial
from pathlib import Path

import httpx
import pytest

from dlsp.cli import main
from tests.dlsp.stub_engine import StubEngine


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["api", *arguments]) == 1
    return capsys.readouterr().err


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DLSP_API_KEY", raising=False)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "Choose: a key"),
        (("--no-key", "--key", "k"), "not both"),
        (("--no-key", "--host", "0.0.0.0"), "other machines can connect"),
        (("--no-key", "--dialects", "other"), "no dialect 'other'"),
        (("--no-key", "--port", "0"), "no port"),
        (("--no-key", "--port", "70000"), "no port"),
        (("--key", "k", "--host", "203.0.113.9"), "no address of this machine"),
        (("--no-key", "--model", "9b"), "no model '9b'"),
    ],
)
def test_what_is_refused(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], sentence: str) -> None:
    assert sentence in refused(capsys, *arguments)


def test_a_system_that_does_not_tell_whose_program_connects(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dlsp.api.peers.can_be_known", lambda: False)
    assert "give a key" in refused(capsys, "--no-key")


def test_a_taken_port(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        assert "is taken" in refused(capsys, "--no-key", "--port", str(other.getsockname()[1]))


def test_from_start_to_end(stub: StubEngine, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "dlsp", "api", "--no-key", "--model", "0.5b", "--port", str(port)]
    hears = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # where the tests run in a background without Ctrl-C
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path, preexec_fn=hears) as api:
        assert api.stderr
        address = re.search(r"http://127\.0\.0\.1:\d+", api.stderr.readline())
        assert address
        answer = httpx.post(f"{address[0]}/v1/completions", json={"prompt": "x", "suffix": "\n"}, timeout=30).json()
        assert answer["choices"][0]["text"] == "a + b"
        api.send_signal(signal.SIGINT)
        assert api.wait(20) == 130
        assert api.stderr.read() == ""
