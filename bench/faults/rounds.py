"""The faults, and one round of each: a request in flight, the fault, and how long until there is a suggestion again."""

import asyncio
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from bench.faults.world import World
from dlsp.engine import state
from dlsp.engine.connections import UNIX
from dlsp.models.catalogue import DEFAULT

Fault = Callable[[World], Coroutine[Any, Any, None]]

# Far more than a start or a conversion takes on a machine with much other work.
AGAIN_S = 600.0
GONE = "the server is gone"

OTHER_VERSION = """
import asyncio, sys, dlsp
dlsp.__version__ = sys.argv[1]
from dlsp.engine import launch
from dlsp.errors import UserError
from dlsp.models.catalogue import DEFAULT
async def main():
    try:
        async with await launch.ensure(DEFAULT) as engine:
            await engine.fill({"gaps": [{"prefix": "a = ", "suffix": ""}], "max_tokens": 2})
    except UserError as error:
        print(error)
asyncio.run(main())
"""


async def kill_the_engine(world: World) -> None:
    await asyncio.to_thread(world.kill_engine)


async def freeze_the_engine(world: World) -> None:
    """As one that hangs: it holds its lock and its port, and does nothing."""
    if found := state.read(DEFAULT.name):
        with suppress(ProcessLookupError):
            os.kill(found.pid, signal.SIGSTOP)


async def kill_the_server(world: World) -> None:
    server = world.editor.client._server
    assert server is not None
    server.kill()
    await server.wait()
    await world.open()


async def delete_the_state_file(world: World) -> None:
    (world.state / f"engine-{DEFAULT.name}.json").unlink(missing_ok=True)


async def garble_the_state_file(world: World) -> None:
    (world.state / f"engine-{DEFAULT.name}.json").write_bytes(b'{"address": "unix:/nowhere", "tok\xff')


async def delete_the_lock(world: World) -> None:
    (world.state / f"engine-{DEFAULT.name}.lock").unlink(missing_ok=True)


async def fill_the_disk(world: World) -> None:
    """And kill the engine, so that another has to start without room; then free it."""
    filler = world.state / "filler"
    with suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)
    await asyncio.to_thread(world.kill_engine)
    ends = time.monotonic() + 2
    while time.monotonic() < ends:
        await world.ask()
    filler.unlink(missing_ok=True)


async def take_the_address(world: World) -> None:
    """Another process of the user's listens where the engine did, takes connections and says nothing that makes
    sense."""
    found = state.read(DEFAULT.name)
    await asyncio.to_thread(world.kill_engine)
    path = found.address.removeprefix(UNIX) if found else ""
    with socket.socket(socket.AF_UNIX) as thief:
        with suppress(OSError):  # another engine may be there already
            os.unlink(path)  # noqa: PTH108 - a name as the socket has it
            thief.bind(path)
            thief.listen()
            mute = random.random() < 0.5
            threading.Thread(target=_listen, args=(thief, mute), daemon=True).start()
        await world.suggested(AGAIN_S)


def _listen(thief: socket.socket, mute: bool) -> None:
    held = []
    with suppress(OSError):
        while True:
            connection, _ = thief.accept()
            held.append(connection)
            if not mute:
                connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n{"nonce": "x"}')


async def two_versions_at_once(world: World) -> None:
    """An older and a newer dlsp want the engine too."""
    clients = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", OTHER_VERSION, version, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for version in ("0.0.1", "99.0")
    ]
    began = time.monotonic()
    while any(client.returncode is None for client in clients):
        assert time.monotonic() - began < AGAIN_S, "one of the two still waits for an engine"
        await world.ask()
        await asyncio.sleep(0.1)
    for client in clients:
        said, complained = await client.communicate()
        assert not complained, complained.decode()
        assert b"Traceback" not in said


async def corrupt_the_cache(world: World) -> None:
    """Damage what was converted and kill the engine, so that the next one meets it."""
    await asyncio.to_thread(world.kill_engine)
    for file in (world.cache / "converted").rglob("*.safetensors"):
        file.unlink()
        file.write_bytes(os.urandom(4096))


FAULTS: dict[str, Fault] = {
    "kill the engine": kill_the_engine,
    "freeze the engine": freeze_the_engine,
    "kill the server": kill_the_server,
    "delete the state file": delete_the_state_file,
    "garble the state file": garble_the_state_file,
    "delete the lock": delete_the_lock,
    "fill the disk": fill_the_disk,
    "take the address": take_the_address,
    "two versions at once": two_versions_at_once,
    "corrupt the cache": corrupt_the_cache,
}


@dataclass(frozen=True)
class Round:
    """`answered_s` is how long the request in flight took, `again_s` until there was a suggestion after the fault."""

    fault: str
    answered_s: float
    outcome: str
    again_s: float


async def one(world: World, name: str, rng: random.Random) -> Round:
    """One round; AssertionError if a request took over 5 s, or ended in neither a suggestion nor a reason."""
    await world.suggested(AGAIN_S)
    asked = asyncio.create_task(world.timed())
    await asyncio.sleep(rng.uniform(0, 0.3))
    await FAULTS[name](world)
    try:
        outcome, answered = await asked
    except (RuntimeError, ConnectionError, TimeoutError, asyncio.CancelledError):
        assert name == "kill the server"  # who asked is gone, and so is the one who could answer
        outcome, answered = GONE, 0.0
    told = outcome.startswith("quiet: ") or outcome == GONE
    kind = outcome.partition(",")[0] if told else "a suggestion"
    return Round(name, round(answered, 3), kind, round(await world.suggested(AGAIN_S), 3))
