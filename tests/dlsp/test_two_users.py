"""What another user of the machine can get at while somebody works: nothing.

The server, its children and the engine run as this process's user, who works on a file with a secret in it; a second
process tries as another user what a curious person would.
"""

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from dlsp.engine import state
from dlsp.models.catalogue import DEFAULT
from tests.dlsp.api.conftest import serving
from tests.dlsp.editor import Editor
from tests.dlsp.stub_engine import StubEngine

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="runs as two users, which takes Linux and root"
)
OTHER_USER = 65534
SECRET = "SECRET_MARGIN = 0.4217"
TEXT = f"{SECRET}\n\n\ndef add(a, b):\n    return \n"

# Reads a JSON object of attacks: what is tried -> its targets. Prints what it got of each, by target.
ATTACKS = """
import encodings.idna, json, os, socket, sys  # later it may not read the library

def read(path):
    return open(path, "rb").read(1000).decode("latin-1")

def listed(path):
    return os.listdir(path)

def connect(path):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(5)
        connection.connect(path)
        connection.sendall(b"GET /health HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n")
        return connection.recv(1000).decode("latin-1")

def ask(port):
    with socket.create_connection(("127.0.0.1", int(port)), timeout=5) as connection:
        connection.sendall(b"POST /v1/completions HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Length: 2\\r\\n\\r\\n{}")
        return connection.recv(1000).decode("latin-1")

def write(path):
    os.open(path, os.O_WRONLY)
    return "opened to be written"

def make(path):
    os.open(path + "/planted", os.O_WRONLY | os.O_CREAT)
    return "made a file"

def end(pid):
    os.kill(int(pid), 15)
    return "was let to send a signal"

attacks = json.loads(sys.argv[1])
os.setgroups([])
os.setgid(int(sys.argv[2]))
os.setuid(int(sys.argv[2]))
got = {}
for name, targets in attacks.items():
    for target in targets:
        try:
            got[f"{name} {target}"] = globals()[name](target)
        except OSError:
            pass
print(json.dumps(got))
"""


def as_another_user(attacks: dict[str, list[str]]) -> dict[str, Any]:
    """What another user got, by attack and target."""
    command = [sys.executable, "-c", ATTACKS, json.dumps(attacks), str(OTHER_USER)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
async def victim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[list[psutil.Process], Path]]:
    """The processes of somebody who was just offered a suggestion, and the folder above all their files.

    That folder is open to others, as a home folder often is; so is the umask.
    """
    above = tmp_path
    while above != above.parent:  # pytest's own folders are closed
        above.chmod(above.stat().st_mode | 0o055)
        above = above.parent
    os.umask(0)
    for name in ("state", "cache"):
        monkeypatch.setenv(f"DLSP_{name.upper()}_DIR", str(tmp_path / name))
    (tmp_path / "state").mkdir(mode=0o700)
    (project := tmp_path / "private" / "customers-of-acme").mkdir(parents=True)
    (tmp_path / "private").chmod(0o700)
    (project / "pay.py").write_text(TEXT)
    command = [sys.executable, "-m", "tests.dlsp.stub_engine", "--state", str(tmp_path / "state")]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as engine:
        async with Editor(project, options={"ignore": ["merger-with-acme/"]}) as editor:
            uri = (project / "pay.py").as_uri()
            editor.open(uri, TEXT)
            await editor.ready(uri)
            assert await editor.suggestion(uri, 4, 11)
            async with asyncio.timeout(60):
                while not (list(tmp_path.rglob("*.sqlite")) and list(tmp_path.rglob("server.log"))):
                    await asyncio.sleep(0.05)
            server = psutil.Process(editor.client._server.pid)  # type: ignore[union-attr]
            yield [server, *server.children(recursive=True), psutil.Process(engine.pid)], tmp_path
        engine.kill()


async def test_another_user_gets_nothing(victim: tuple[list[psutil.Process], Path]) -> None:
    processes, top = victim
    assert len(processes) >= 4, "server, index, parser and engine"
    found = state.read(DEFAULT.name)
    assert found
    address = found.address.removeprefix("unix:")
    everything = [str(each) for each in top.rglob("*")]
    assert any(each.endswith(".sqlite") for each in everything)
    assert any(each.endswith("server.log") for each in everything)
    private = [f"/proc/{each.pid}/{name}" for each in processes for name in ("environ", "maps", "mem")]
    got = as_another_user(
        {
            "read": [*everything, *private],
            "listed": [*everything, *(f"/proc/{each.pid}/fd" for each in processes)],
            "write": everything,
            "make": [str(top / name) for name in ("state", "cache", "cache/index", "private")],
            "connect": [address],
            "end": [str(each.pid) for each in processes],
        }
    )
    # That there is a cache, and what model files are in it, is no secret.
    open_ones = {f"listed {top / name}" for name in ("cache", "cache/models")}
    assert {name: what for name, what in got.items() if name not in open_ones} == {}
    (top / "open").write_text("for all")
    assert as_another_user({"read": [str(top / "open")]}) == {f"read {top / 'open'}": "for all"}, "it can get at things"


async def test_what_everybody_can_see_of_a_process_says_nothing(victim: tuple[list[psutil.Process], Path]) -> None:
    processes, top = victim
    found = state.read(DEFAULT.name)
    assert found
    seen = as_another_user({"read": [f"/proc/{each.pid}/{name}" for each in processes for name in ("cmdline", "comm")]})
    assert len(seen) == 2 * len(processes)
    told = json.dumps(seen)
    for private in ("acme", "pay.py", str(top / "private"), found.token, found.nonce):
        assert private not in told, private
    # Nobody listens on a port, which everybody could ask.
    assert [each.net_connections(kind="inet") for each in processes] == [[]] * len(processes)
    names = [each for each in os.listdir("/tmp") if re.match("dlsp", each)]
    got = as_another_user({"read": [f"/tmp/{name}" for name in names], "listed": [f"/tmp/{name}" for name in names]})
    assert got == {}


async def test_the_port_of_dlsp_api_answers_its_own_user_alone(state_folder: Path) -> None:
    """Without a key; `dlsp api` has none unless it is given one."""
    with StubEngine(state_folder) as stub:
        async with serving(same_user=True) as address:
            port = address.rpartition(":")[2]
            got = await asyncio.to_thread(as_another_user, {"ask": [port]})
            assert "a + b" not in json.dumps(got)
            assert not stub.requests
            with socket.create_connection(("127.0.0.1", int(port))) as own:
                own.close()
