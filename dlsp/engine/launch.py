"""Find the engine of a model, or start it: one process, shared by all clients, that outlives them."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from dlsp import __version__
from dlsp.engine import state
from dlsp.engine.client import Engine, EngineGone
from dlsp.engine.log import Log
from dlsp.errors import UserError
from dlsp.models import store
from dlsp.models.catalogue import Model

Progress = Callable[[str], None]

START_S = 300
STOP_S = 15
LOOK_S = 0.05


async def connect(model: Model) -> Engine | None:
    """The running engine of `model`, None if there is none of this version that answers."""
    engine = await _answering(model)
    if engine and engine.state.version != __version__:
        await engine.close()
        return None
    return engine


async def ensure(model: Model, progress: Progress = lambda line: None, within: float = START_S) -> Engine:
    """The running engine of `model`, started if need be; each line it says while it loads goes to `progress`.

    Raises UserError if the model is missing, the engine ends early, or it is not ready `within` seconds.
    """
    if engine := await connect(model):
        return engine
    command = await asyncio.to_thread(serve_command, model)  # may hash the model's file
    await stop(model)  # one of another version
    log = Log(state.log(model.name))
    child: subprocess.Popen[bytes] | None = None
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        engine = await connect(model)
        ended = child is not None and child.poll() is not None
        for line in log.news():
            progress(line)
        if engine:
            return engine
        # Somebody else's engine may be loading. While our own starts, its lock is not to be touched.
        if (child is None or ended) and not state.alive(model.name):
            if ended:
                why = log.last or "it gave no reason."
                raise UserError(f"The engine did not start: {why} (log: {log.path})")
            child = _start(command, log.path)
        await asyncio.sleep(LOOK_S)
    raise UserError(f"The engine was not ready after {within:.0f} s; its log is {log.path}.")


async def stop(model: Model) -> bool:
    """End the running engine of `model`, of whatever version; whether there was one."""
    engine = await _answering(model)
    if engine is None:
        return False
    async with engine:
        await engine.shutdown()
    deadline = time.monotonic() + STOP_S
    while state.alive(model.name):
        if time.monotonic() > deadline:
            raise UserError(f"The engine (process {engine.state.pid}) has not ended after {STOP_S} s.")
        await asyncio.sleep(LOOK_S)
    return True


def serve_command(model: Model) -> list[str]:
    """What starts the engine of `model`; raises UserError if the model is not on this machine."""
    options = {
        "model": model.name,
        "gguf": store.path(model),
        "cache": store.folder(),
        "state": state.folder(),
        "version": __version__,
    }
    # -P: a torch.py in the current folder must not be taken for the library.
    command = [sys.executable, "-P", "-m", "dlsp_engine", "serve"]
    return command + [part for name, value in options.items() for part in (f"--{name}", str(value))]


async def _answering(model: Model) -> Engine | None:
    """The engine that the state file names, if that very process answers."""
    found = state.read(model.name)
    if found is None:
        return None
    engine = Engine(found)
    try:
        health = await engine.health()
    except EngineGone:
        health = {}
    if health.get("nonce") == found.nonce:
        return engine
    await engine.close()
    return None


def _start(command: list[str], log: Path) -> subprocess.Popen[bytes]:
    """Start a process in a session of its own that writes to `log` and outlives this one."""
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            cwd=log.parent,
        )
    finally:
        os.close(output)
