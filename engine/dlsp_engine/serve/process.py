"""The engine process: one per user and model. Clients find it by its state file; it ends when it is idle."""

import asyncio
import logging
import os
import secrets
import shutil
import sys
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from dlsp_engine import Engine, Gap, Options
from dlsp_engine.decode.budget import Costs
from dlsp_engine.engine import ADAPTERS
from dlsp_engine.errors import Damaged, EngineError
from dlsp_engine.model.convert import converted
from dlsp_engine.model.gpu import device as devices
from dlsp_engine.model.update import Update
from dlsp_engine.serve import watchdog
from dlsp_engine.serve.app import API_VERSION, Service, app
from dlsp_engine.serve.listener import Listener
from dlsp_engine.serve.memory import kv_budget, return_freed_memory, return_large_blocks
from dlsp_engine.serve.prompt_caches import PromptCaches, size_limit
from dlsp_engine.serve.scheduler import Scheduler
from dlsp_engine.serve.server import Server, raise_file_limit
from dlsp_engine.serve.statefile import StateFile, birth, lock

log = logging.getLogger(__name__)

STATE_FILE_CHECK_S = 3.0  # between two checks of the state file
SAVE_AFTER_S = 60.0  # without a request, after which prompt caches are saved
RESTORE_S = 3.0  # at most, that the engine's start waits for saved prompt caches
SLACK_S = 0.01  # added to each wait, so that its time is over when it is checked


def serve(
    model: str,
    gguf: Path,
    cache: Path,
    state: Path,
    dtype: str,
    idle_seconds: float,
    version: str,
    device: str = "auto",
    tcp: bool = sys.platform == "win32",
    infill_update: bool = True,
    kv_mb: str = "",
    prompts: Path | None = None,
    prompts_mb: str = "",
    edit_format: str = "",
) -> None:
    """Run the engine until it is told to stop or has had no request for `idle_seconds`. Prompt caches are saved in the
    folder `prompts`, if there is one. Raises EngineError if it cannot start.
    """
    device = devices.resolve(device)
    with lock(state, model), Listener.open(state, model, tcp) as listener:
        raise_file_limit()
        return_large_blocks()
        engine = load(gguf, cache, dtype, device, infill_update, edit_format)
        kv_bytes, prompts_bytes = kv_budget(kv_mb, engine.model.kv_pool_bytes), size_limit(prompts_mb)
        scheduler = Scheduler(engine, kv_bytes)
        prompt_caches = restoring = None
        if prompts and prompts_bytes and device == "cpu":
            prompt_caches = PromptCaches(prompts, prompts_bytes, engine, version)
            restoring = threading.Thread(target=_restore, args=(prompt_caches, scheduler), name="restore", daemon=True)
            restoring.start()
        warm_up(engine)
        if restoring:
            restoring.join(RESTORE_S)
        return_freed_memory()
        service = Service(
            scheduler,
            address=listener.address,
            token=secrets.token_urlsafe(32),
            nonce=secrets.token_hex(16),
            model=model,
            version=version,
            dtype=engine.dtype,
            adapter=engine.model.adapter.metadata.get("version"),
            step=step_of(engine, device),
        )
        file = StateFile(state, _state(service))
        watchdog.watch(scheduler, service.asked)
        try:
            asyncio.run(_listen(listener, service, file, idle_seconds, prompt_caches))
        finally:
            file.remove()
            scheduler.close()
            scheduler.join()
            if prompt_caches and not scheduler.broken:
                prompt_caches.save(scheduler.sessions)


def load(gguf: Path, cache: Path, dtype: str, device: str, infill_update: bool = True, edit_format: str = "") -> Engine:
    """Load the engine. If the converted weights turn out to be damaged, convert them again, once."""
    load = partial(Engine.load, gguf, cache, dtype, device=device, infill_update=infill_update, edit_format=edit_format)
    try:
        return load()
    except Damaged as error:
        log.warning("converting %s again: %s", gguf.name, error)
        update = Update.beside(ADAPTERS, gguf) if infill_update else None
        shutil.rmtree(converted(gguf, cache, update=update, dense=False), ignore_errors=True)
        return load()


def warm_up(engine: Engine) -> None:
    """Touch every weight and build what is built on first use, so that the first request does not wait for it."""
    engine.backend.warm_up()
    engine.fill(Gap("def f(x):\n    ret", "\n"), Options(max_tokens=2))


def step_of(engine: Engine, device: str) -> dict[str, Any]:
    """Return what `/health` says about the engine's steps on this machine."""
    return {
        "dtype": engine.dtype,
        "device": device,
        "replaced": engine.backend.replaced,
        "update": engine.update,
        "no_update": engine.no_update,
        "writes_edits": engine.writes_edits,
        "edit_format": engine.edit_format.name,
        "no_canvas": engine.no_canvas,
        "costs": _table(engine.backend.costs),
    }


def _restore(prompt_caches: PromptCaches, scheduler: Scheduler) -> None:
    """Give the scheduler the sessions of earlier engines."""
    left_bytes = scheduler.sessions.most_bytes
    for session in prompt_caches.restored():
        left_bytes -= session.cache.bytes
        if left_bytes < 0 or scheduler.closed:
            return
        scheduler.restore(session)


async def _listen(
    listener: Listener, service: Service, file: StateFile, idle_seconds: float, prompt_caches: PromptCaches | None
) -> None:
    server = Server(app(service))

    async def serve() -> None:
        with suppress(SystemExit):  # uvicorn raises a signal that it caught again once it has ended
            await server.serve(sockets=[listener.socket])

    serving = asyncio.create_task(serve())
    while not server.started and not serving.done():  # noqa: ASYNC110 - uvicorn sets a flag, no event
        await asyncio.sleep(0.01)
    try:
        file.write()
    except EngineError:
        server.end()
        await serving
        raise
    serving.add_done_callback(lambda _: service.changed.set())
    saved = 0.0  # when prompt caches were saved
    while not serving.done():
        left_s = (
            STATE_FILE_CHECK_S if service.scheduler.busy else service.last_request + idle_seconds - time.monotonic()
        )
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, min(STATE_FILE_CHECK_S, left_s)) + SLACK_S):
                await service.changed.wait()
        service.changed.clear()
        quiet = not service.scheduler.busy and time.monotonic() - service.last_request > SAVE_AFTER_S
        if prompt_caches and quiet and service.last_request > saved:
            saved = time.monotonic()
            await asyncio.to_thread(prompt_caches.save, service.scheduler.sessions)
        idle = not service.scheduler.busy and time.monotonic() - service.last_request > idle_seconds
        if idle or service.ending or service.scheduler.broken or not (listener.reachable() and file.keep()):
            server.end()
        if server.should_exit:
            service.scheduler.close()  # ends all requests, so that no open connection keeps the process alive
            await serving


def _table(costs: Costs) -> dict[str, float]:
    return {str(rows): round(ms, 2) for rows, ms in zip(costs.rows, costs.milliseconds, strict=True)}


def _state(service: Service) -> dict[str, object]:
    return {
        "address": service.address,
        "token": service.token,
        "nonce": service.nonce,
        "pid": os.getpid(),
        "model": service.model,
        "version": service.version,
        "api": API_VERSION,
        "started": time.time(),
        "birth": birth(),
    }
