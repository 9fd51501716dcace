"""`dlsp api` on the stub engine, and the clients of other servers, each as its registry has it."""

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.dlsp.stub_engine import StubEngine
from tests.e2e.clients.provide import command
from tests.e2e.provide import Missing

SCRIPTS = Path(__file__).parent / "scripts"
LIMIT_S = 120

Client = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session")
def address(stub: StubEngine) -> Iterator[str]:
    """Where `dlsp api` serves the stub engine."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    words = [sys.executable, "-P", "-m", "dlsp", "api", "--no-key", "--model", "0.5b", "--port", port]
    known = {**os.environ, "DLSP_STATE_DIR": str(stub.file.parent)}
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env=known) as api:
        assert api.stderr
        found = re.search(r"http://\S+", said := api.stderr.readline())
        assert found, said + api.stderr.read()
        yield found[0]
        api.terminate()


@pytest.fixture
def client(address: str, stub: StubEngine, tmp_path: Path) -> Client:
    """Runs a script with a client's packages against `dlsp api`, and returns the JSON object that it printed."""
    stub.reset()

    def run(name: str, script: str) -> dict[str, Any]:
        try:
            program, environment = command(name)
        except Missing as why:
            pytest.skip(f"NOT RUN: no {name} here. {why}")
        words = [*program, str(SCRIPTS / script), address, str(tmp_path)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S, env=environment, cwd=tmp_path)
        assert done.returncode == 0, done.stderr[-3000:]
        return json.loads(done.stdout.splitlines()[-1])

    return run
