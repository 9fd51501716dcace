"""Another process at the address of an engine that has ended: it gets neither text nor token, whatever it answers.

Engines end when nobody asks for half an hour, and when memory is short; the servers of open editors still know the
address.
"""

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dlsp.engine import launch, state
from dlsp.engine.client import Engine, EngineGone
from dlsp.models.catalogue import DEFAULT
from tests.dlsp import stub_engine

SECRET = "SECRET_MARGIN = 0.4217"
GAPS = {"gaps": [{"prefix": SECRET, "suffix": ""}]}
SITES = {"sites": [{"path": "a.py", "prefix": SECRET, "suffix": "", "text": ""}]}
OTHER_USER = 65534

Asking = Callable[[Engine], Coroutine[Any, Any, object]]


async def ask_for_sites(engine: Engine) -> object:
    return [event async for event in engine.sites(SITES)]


ROUTES: dict[str, Asking] = {
    "infill": lambda engine: engine.fill(GAPS),
    "sites": ask_for_sites,
    "health": lambda engine: engine.health(),
    "metrics": lambda engine: engine.metrics(),
    "shutdown": lambda engine: engine.shutdown(),
}
FILL = {"event": "fill", "gap": 0, "text": "print('typed by another user')", "reason": "line", "cost": {}}
SITE = {"event": "site", "site": 0}
BODY = b"".join(json.dumps(each).encode() + b"\n" for each in (FILL, SITE, {"event": "done"}))


class Stranger:
    """Listens at an address and answers whatever comes as an engine would; `heard` is all that it was sent."""

    def __init__(self, listener: socket.socket, body: bytes = BODY) -> None:
        self.heard = bytearray()
        self.met = threading.Event()
        self._listener, self._body = listener, body
        threading.Thread(target=self._listen, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _listen(self) -> None:
        try:
            while True:
                connection, _ = self._listener.accept()
                self.met.set()
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()
        except OSError:
            return

    def _answer(self, connection: socket.socket) -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(self._body)
        with connection:
            while piece := connection.recv(65536):
                self.heard += piece
                connection.sendall(head + self._body)


class Running:
    """An engine in a process of its own."""

    def __init__(self, folder: Path, *options: str) -> None:
        command = [sys.executable, stub_engine.__file__, "--state", str(folder), *options]
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 20
        while (found := state.read(DEFAULT.name)) is None:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        self.state = found

    def end(self, how: str) -> None:
        if how == "killed":
            self.process.kill()
        else:
            asyncio.run(_shut_down(self.state))
        self.process.wait(10)
        assert (state.read(DEFAULT.name) is None) == (how == "ended")


async def _shut_down(found: state.State) -> None:
    async with Engine(found) as engine:
        await engine.shutdown()


@pytest.fixture
def running(state_folder: Path) -> Iterator[Callable[..., Running]]:
    begun: list[Running] = []

    def run(*options: str) -> Running:
        begun.append(Running(state_folder, *options))
        return begun[-1]

    yield run
    for each in begun:
        each.process.kill()
        each.process.wait()


@pytest.fixture
async def engine(running: Callable[..., Running]) -> AsyncIterator[tuple[Running, Engine]]:
    """A client that has been served over a port of the machine, and keeps its connection."""
    there = await asyncio.to_thread(running, "--tcp")
    async with Engine(there.state) as engine:
        await engine.fill(GAPS)
        yield there, engine


def take_the_port(found: state.State) -> socket.socket:
    """As soon as the system lets go of it."""
    port = int(found.address.rpartition(":")[2])
    deadline = time.monotonic() + 90
    while True:
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            listener.close()
            assert time.monotonic() < deadline
            time.sleep(0.1)
        else:
            listener.listen()
            return listener


@pytest.mark.parametrize("how", ["ended", "killed"])
@pytest.mark.parametrize("route", ROUTES)
async def test_a_stranger_on_the_port_gets_nothing(engine: tuple[Running, Engine], how: str, route: str) -> None:
    there, client = engine
    await asyncio.to_thread(there.end, how)
    stranger = Stranger(await asyncio.to_thread(take_the_port, there.state))
    with pytest.raises(EngineGone):
        await ROUTES[route](client)
    assert await launch.connect(DEFAULT) is None, "nor does a client that comes now find it"
    assert stranger.met.is_set()
    assert SECRET.encode() not in stranger.heard
    assert there.state.token.encode() not in stranger.heard
    assert stranger.heard.count(b"\r\n\r\n") == stranger.heard.count(b"GET /v1/proof?challenge=")
    stranger.close()


async def test_a_proof_fetched_from_the_engine_is_of_no_use_at_another_address(
    running: Callable[..., Running], tmp_path: Path
) -> None:
    """A stranger between: it passes on the challenge to the engine, and the engine's answer to the client."""
    there = await asyncio.to_thread(running, "--tcp")
    port = int(there.state.address.rpartition(":")[2])
    heard = bytearray()

    async def between(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        engine_reader, engine_writer = await asyncio.open_connection("127.0.0.1", port)

        async def back() -> None:
            while piece := await engine_reader.read(65536):
                writer.write(piece)

        backwards = asyncio.create_task(back())
        while asked := await reader.read(65536):
            heard.extend(asked)
            engine_writer.write(asked)
        engine_writer.close()
        writer.close()
        await backwards
        done.set()

    done = asyncio.Event()
    server = await asyncio.start_server(between, "127.0.0.1", 0)
    elsewhere = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with Engine(replace(there.state, address=elsewhere)) as client:
        with pytest.raises(EngineGone, match="another process"):
            await client.fill(GAPS)
    await done.wait()
    server.close()
    assert heard.startswith(b"GET /v1/proof")
    assert there.state.token.encode() not in heard
    assert SECRET.encode() not in heard


async def test_an_engine_on_a_port_is_used_once_it_has_proved_itself(running: Callable[..., Running]) -> None:
    there = await asyncio.to_thread(running, "--tcp")
    connected = await launch.connect(DEFAULT)
    assert connected is not None
    async with connected as client:
        assert (client.state, (await client.fill(GAPS))["text"]) == (there.state, "a + b")


OTHER_USERS = """
import os, socket, sys
listener = socket.socket(socket.AF_UNIX)
os.setgroups([])
os.setuid(int(sys.argv[2]))
listener.bind(sys.argv[1])
listener.listen()
os.chmod(sys.argv[1], 0o777)
print("listening", flush=True)
connection, _ = listener.accept()
connection.settimeout(10)
print(connection.recv(65536), flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="needs another user")
@pytest.mark.parametrize("route", ROUTES)
async def test_another_users_process_at_the_path_of_the_socket_gets_nothing(
    route: str, running: Callable[..., Running]
) -> None:
    """As where the folder was opened to all."""
    there = await asyncio.to_thread(running)
    folder = tempfile.mkdtemp()
    Path(folder).chmod(0o777)
    command = [sys.executable, "-c", OTHER_USERS, path := f"{folder}/engine.sock", str(OTHER_USER)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as stranger:
        assert stranger.stdout is not None
        assert stranger.stdout.readline() == "listening\n"
        async with Engine(replace(there.state, address=f"unix:{path}")) as client:
            with pytest.raises(EngineGone, match="another process is at its address"):
                await ROUTES[route](client)
        assert await asyncio.to_thread(stranger.stdout.readline) == "b''\n"
    shutil.rmtree(folder)


async def test_another_engine_of_ours_at_the_address_is_another_engine(running: Callable[..., Running]) -> None:
    """The next engine takes the path of the last one: who asks it with the old token has lost the old one."""
    there = await asyncio.to_thread(running)
    async with Engine(replace(there.state, token="of the last one")) as client:
        with pytest.raises(EngineGone, match="another engine"):
            await client.fill(GAPS)
