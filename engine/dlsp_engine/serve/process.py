"""The engine process: one per user and model, found by its state file, gone when idle."""

import asyncio
import logging
import os
import secrets
import shutil
import socket
import time
from contextlib import suppress
from pathlib import Path

import uvicorn

from dlsp_engine import Engine, Gap, Options
from dlsp_engine.decode.budget import Costs
from dlsp_engine.errors import Damaged, EngineError
from dlsp_engine.model.convert import converted
from dlsp_engine.model.gpu import choose
from dlsp_engine.serve import watchdog
from dlsp_engine.serve.app import API, Service, app
from dlsp_engine.serve.memory import return_large_blocks
from dlsp_engine.serve.scheduler import Scheduler
from dlsp_engine.serve.statefile import StateFile, lock

log = logging.getLogger(__name__)

LOOK_S = 0.25
END_S = 3


def serve(
    model: str,
    gguf: Path,
    cache: Path,
    state: Path,
    dtype: str,
    idle_seconds: float,
    version: str,
    device: str = "auto",
) -> None:
    """Runs until it is told to stop or nobody asked for `idle_seconds`. Raises EngineError before it listens."""
    device = choose.resolve(device)
    with lock(state, model), socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return_large_blocks()
        engine = load(gguf, cache, dtype, device)
        warm_up(engine)
        scheduler = Scheduler(engine)
        service = Service(
            scheduler,
            token=secrets.token_urlsafe(32),
            nonce=secrets.token_hex(16),
            model=model,
            version=version,
            dtype=engine.dtype,
            adapter=engine.model.adapter.metadata.get("version"),
            step={
                "dtype": engine.dtype,
                "device": device,
                "replaced": engine.replaced,
                "costs": _table(engine.costs),
            },
        )
        file = StateFile(state, _state(service, listener.getsockname()[1]))
        watchdog.watch(scheduler)
        try:
            asyncio.run(_listen(listener, service, file, idle_seconds))
        finally:
            file.remove()
            scheduler.close()
            scheduler.join()


def load(gguf: Path, cache: Path, dtype: str, device: str) -> Engine:
    """The engine on converted weights; what was converted is made anew, once, if it turns out to be damaged."""
    try:
        return Engine.load(gguf, cache, dtype, device=device)
    except Damaged as error:
        log.warning("converting %s again: %s", gguf.name, error)
        shutil.rmtree(converted(gguf, cache), ignore_errors=True)
        return Engine.load(gguf, cache, dtype, device=device)


def warm_up(engine: Engine) -> None:
    """Touch every weight and build what is built on first use, so that the first request does not pay for it."""
    engine.warm_up()
    engine.fill(Gap("def f(x):\n    ret", "\n"), Options(max_tokens=2))


async def _listen(listener: socket.socket, service: Service, file: StateFile, idle_seconds: float) -> None:
    config = uvicorn.Config(app(service), log_level="warning", timeout_graceful_shutdown=END_S)
    server = uvicorn.Server(config)

    async def serve() -> None:
        with suppress(SystemExit):  # what it was told by a signal it says again when it has ended
            await server.serve(sockets=[listener])

    serving = asyncio.create_task(serve())
    while not server.started and not serving.done():
        await asyncio.sleep(0.01)
    try:
        file.write()
    except EngineError:
        server.should_exit = True
        await serving
        raise
    while not serving.done():
        await asyncio.wait([serving], timeout=LOOK_S)
        idle = not service.scheduler.busy and time.monotonic() - service.last_request > idle_seconds
        if idle or service.ending or service.scheduler.broken or not file.keep():
            server.should_exit = True
        if server.should_exit:
            service.scheduler.close()  # whoever waits is told, so that no connection holds the process
    await serving


def _table(costs: Costs) -> dict[str, float]:
    return {str(rows): round(ms, 2) for rows, ms in zip(costs.rows, costs.milliseconds, strict=True)}


def _state(service: Service, port: int) -> dict[str, object]:
    return {
        "address": f"http://127.0.0.1:{port}",
        "token": service.token,
        "nonce": service.nonce,
        "pid": os.getpid(),
        "model": service.model,
        "version": service.version,
        "api": API,
        "started": time.time(),
    }
