"""Find or start the engine of a model: one process that all clients share and that outlives them."""

import asyncio
import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dlsp import __version__, paths
from dlsp.atomic import probe
from dlsp.engine import local, processes, state
from dlsp.engine.client import Engine, EngineGone
from dlsp.engine.state import State
from dlsp.engine.versions import Fit, fit
from dlsp.errors import UserError
from dlsp.models import store
from dlsp.models.catalogue import Model

log = logging.getLogger(__name__)

Progress = Callable[[str], None]

START_TIMEOUT_S = 300
STOP_TIMEOUT_S = 15
# An engine that did not answer is killed unless it answers or ends within this time.
SILENT_TIMEOUT_S = 1.5
HEALTH_TIMEOUT_S = 2.0
# How long a silent engine is given to answer one last time.
LAST_CHANCE_S = 1.0
POLL_S = 0.05


class Log:
    """The lines appended to a log file after this object was made. The engine truncates a log that has grown long."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.last = ""
        self._seen = path.stat().st_size if path.exists() else 0

    def news(self) -> list[str]:
        """The lines completed since the last call, without blank ones."""
        try:
            with self.path.open("rb") as file:
                self._seen = self._seen if file.seek(0, os.SEEK_END) >= self._seen else 0
                file.seek(self._seen)
                said = file.read()
        except OSError:
            return []
        whole = said[: max(said.rfind(b"\n"), said.rfind(b"\r")) + 1]
        self._seen += len(whole)
        lines = [line.strip() for line in whole.decode("utf-8", "replace").splitlines() if line.strip()]
        self.last = lines[-1] if lines else self.last
        return lines


async def connect(model: Model) -> Engine | None:
    """The running engine of `model`; None if there is none that this version may use.

    Raises UserError if the engine belongs to a newer dlsp whose API this version does not speak.
    """
    engine = await _answering(model)
    if engine is None or (fits := fit(engine.state)) is Fit.USE:
        return engine
    await engine.close()
    if fits is Fit.YIELD:
        newer = engine.state.version
        raise UserError(
            f"A newer dlsp ({newer}) has the engine: update this one ({__version__}) and restart the editor."
        )
    return None


async def ensure(
    model: Model,
    progress: Progress = lambda line: None,
    within: float = START_TIMEOUT_S,
    threads: int = 0,
    infill_update: bool = True,
) -> Engine:
    """The running engine of `model`, started if there is none.

    A new engine gets `threads` threads (0: chosen for the machine) and, with `infill_update`, the update in its
    weights; each line of its log while it loads goes to `progress`. Raises UserError if the model is missing, the
    engine ends early, or it is not ready `within` seconds after the last line.
    """
    return await connect(model) or await start(model, progress, within, threads, infill_update)


async def start(
    model: Model,
    progress: Progress = lambda line: None,
    within: float = START_TIMEOUT_S,
    threads: int = 0,
    infill_update: bool = True,
) -> Engine:
    """Start the engine, like `ensure`, after `connect` has found none."""
    command = await asyncio.to_thread(serve_command, model, threads, infill_update)  # may hash the model's file
    await stop(model)  # an engine of another version, or one that no longer answers
    log = Log(state.log(model.name))
    child: subprocess.Popen[Any] | None = None
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        engine = await connect(model)
        ended = child is not None and child.poll() is not None
        for line in log.news():
            progress(line)
            deadline = time.monotonic() + within  # quantising a large model takes minutes
        if engine:
            return engine
        # Another client's engine may be loading. While our own starts, its lock must not be touched.
        if child is None or ended:
            if not state.alive(model.name):
                if child and ended:
                    why = _killed(log) if child.returncode < 0 else log.last or _unsaid(log)
                    raise UserError(f"The engine did not start: {why} (log: {log.path})")
                child = processes.start(command, log.path)
            elif await _outdated(model):  # an engine of an older dlsp took the lock first
                await stop(model)
                child = None
        await asyncio.sleep(POLL_S)
    raise UserError(
        f"The engine was not ready after {within:.0f} s in which it said nothing. It goes on loading: try again in a "
        f"minute, or when the machine is less busy (log: {log.path})."
    )


async def stop(model: Model) -> bool:
    """End the running engine of `model`, of any version, even if it does not answer; returns False if there was
    none."""
    found = state.read(model.name)
    engine = await _answering(model)
    if engine is None:
        return await end_silent(model, found, SILENT_TIMEOUT_S)
    async with engine:
        try:
            await engine.shutdown()
        except EngineGone:
            await asyncio.to_thread(processes.kill, engine.state)
    deadline = time.monotonic() + STOP_TIMEOUT_S
    while state.alive(model.name):
        if time.monotonic() > deadline:
            await asyncio.to_thread(processes.kill, engine.state)
            return True
        await asyncio.sleep(POLL_S)
    return True


async def end_silent(model: Model, found: State | None, patience_s: float = 0) -> bool:
    """Kill the engine `found`, which did not answer, if it holds the lock and does not answer within `patience_s`
    either."""
    began = time.monotonic()
    while found and state.read(model.name) == found and state.alive(model.name):
        if engine := await _answering(model, LAST_CHANCE_S):  # it was busy, or its state file was lost for a moment
            await engine.close()
            return False
        if time.monotonic() - began > patience_s:
            return await asyncio.to_thread(processes.kill, found)
        await asyncio.sleep(POLL_S)
    return False


def serve_command(model: Model, threads: int = 0, infill_update: bool = True) -> list[str]:
    """The command that starts the engine of `model`; raises UserError if the model or the engine's libraries are
    missing."""
    local.require()
    options = {
        "model": model.name,
        "gguf": store.path(model),
        "cache": paths.cache_dir(),
        "state": paths.state_dir(),
        "version": __version__,
        "threads": threads,
        "infill-update": "on" if infill_update else "off",
        "edit-format": model.edit_format,
    }
    try:
        options["prompts"] = paths.prompts_dir()
    except UserError as error:  # another user's, in a cache that several share
        log.warning("Prompts are not saved: %s", error)
    # -P keeps a torch.py in the current folder from being imported instead of the library.
    command = [sys.executable, "-P", "-m", "dlsp_engine", "serve"]
    return command + [part for name, value in options.items() for part in (f"--{name}", str(value))]


def _killed(log: Log) -> str:
    """The reason, for an engine that was ended by a signal."""
    after = f" after '{log.last}'" if log.last else ""
    return f"it was killed{after}: if memory is short, close other programs or set a smaller model."


def _unsaid(log: Log) -> str:
    """The reason, for an engine that ended without any output."""
    try:
        probe(log.path.parent)
    except OSError as error:
        return (
            f"nothing can be written to {log.path.parent} ({error.strerror}): free some space, or set DLSP_STATE_DIR."
        )
    return "it gave no reason."


async def _outdated(model: Model) -> bool:
    """Whether the engine that answers is an older version's and must be replaced."""
    engine = await _answering(model)
    if engine is None:
        return False
    await engine.close()
    return fit(engine.state) is Fit.REPLACE


async def _answering(model: Model, within: float = HEALTH_TIMEOUT_S) -> Engine | None:
    """The engine named by the state file, if that very process answers within `within` seconds; else None."""
    found = state.read(model.name)
    if found is None:
        return None
    engine = Engine(found)
    try:
        health = await engine.health(within)
    except EngineGone:
        health = {}
    if health.get("nonce") == found.nonce:
        return engine
    await engine.close()
    return None
