"""A team's server that is measured: started with its users, asked, and looked at."""

import asyncio
import os
import socket
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from dlsp.engine import remote
from dlsp.engine.client import Engine
from dlsp.engine.remote import Server
from dlsp.team import tokens
from dlsp.team.application import DEPLOYMENT, HOLDER, ROUTER, ray_module
from dlsp.team.config import Config, ServedModel
from dlsp.team.running import NAME, Running

ROUTERS = {"router": ROUTER, "round_robin": "bench.team.round_robin:RoundRobin"}
ROOT = Path(__file__).parents[2]
POLL_S = 0.25


@dataclass(frozen=True)
class Serving:
    """A server that runs, and a token for each of its users."""

    url: str
    model: str
    tokens: Sequence[str]
    revoked: str

    @asynccontextmanager
    async def engines(self, users: int) -> AsyncIterator[list[Engine]]:
        """The ways of so many users to the server."""
        async with AsyncExitStack() as stack:
            connecting = [remote.connect(Server(self.url), token) for token in self.tokens[:users]]
            yield [await stack.enter_async_context(await each) for each in connecting]

    async def replicas(self) -> int:
        """How many replicas can answer."""
        return await asyncio.to_thread(self._replicas)

    async def wait_for(self, replicas: int, most_s: float) -> None:
        """Wait until as many replicas can answer. Raises TimeoutError."""
        async with asyncio.timeout(most_s):
            while await self.replicas() != replicas:  # Ray tells nobody
                await asyncio.sleep(POLL_S)

    def _replicas(self) -> int:
        deployed = ray_module("ray.serve").status().applications[f"{NAME}-{self.model}"].deployments
        states = deployed[DEPLOYMENT.format(self.model)].replica_states
        return sum(count for state, count in states.items() if str(getattr(state, "value", state)) == "RUNNING")


@contextmanager
def serving(model: ServedModel, users: int, router: str = "router", holder: str = HOLDER) -> Iterator[Serving]:
    """A server on this machine with so many users, and one whose token is revoked."""
    os.environ["PYTHONPATH"] = str(ROOT)  # Ray imports the routers
    with tempfile.TemporaryDirectory() as folder, socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        taken.close()
        file = Path(folder) / "tokens.json"
        made = [tokens.make(file, f"user{number}") for number in range(users)]
        revoked = tokens.make(file, "revoked")
        tokens.revoke(file, "revoked")
        running = Running(Config((model,), file, port=port), holder, ROUTERS[router])
        try:
            running.start(lambda line: print(line, file=sys.stderr))
            yield Serving(running.url, model.name, made, revoked)
        finally:
            running.stop()


def processor_ms() -> dict[str, float]:
    """Milliseconds of processor time so far: of the ingress, and together of the proxy and this process, which asks."""
    spent = {"ingress": 0.0, "other": 1e3 * time.process_time()}
    for process in psutil.Process().children(recursive=True):
        try:
            title, times = " ".join(process.cmdline()), process.cpu_times()
        except psutil.Error:
            continue
        kind = "ingress" if f"ServeReplica:{NAME}:ingress" in title else "other" if "ProxyActor" in title else ""
        if kind:
            spent[kind] += 1e3 * (times.user + times.system)
    return spent
