"""The engine process: one per user and model, found by its state file, gone when idle."""

import asyncio
import json
import os
import secrets
import socket
import time
from pathlib import Path

import uvicorn
from filelock import FileLock, Timeout

from dlsp_engine import Engine, EngineError, Gap, Options
from dlsp_engine.serve.app import Service, app
from dlsp_engine.serve.scheduler import Scheduler


def serve(model: str, gguf: Path, cache: Path, state: Path, dtype: str, idle_seconds: float, version: str) -> None:
    """Runs until it is told to stop or nobody asked for `idle_seconds`. Raises EngineError before it listens."""
    try:
        state.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = FileLock(state / f"engine-{model}.lock")
        lock.acquire(timeout=0.5)  # clients look at it for a moment
    except Timeout as error:
        raise EngineError(f"An engine for {model} runs already; `dlsp engine status` shows it.") from error
    except OSError as error:
        raise EngineError(
            f"The state folder {state} cannot be written ({error.strerror}); set DLSP_STATE_DIR."
        ) from error
    with lock, socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        engine = Engine.load(gguf, cache, dtype)
        warm_up(engine)
        path = state / f"engine-{model}.json"
        scheduler = Scheduler(engine)
        adapter = engine.model.adapter.metadata.get("version")
        service = Service(
            scheduler, secrets.token_urlsafe(32), secrets.token_hex(16), model, version, dtype, adapter, lambda: None
        )
        server = uvicorn.Server(uvicorn.Config(app(service), log_level="warning", timeout_graceful_shutdown=5))
        service.shutdown = lambda: setattr(server, "should_exit", True)
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        try:
            asyncio.run(_listen(server, listener, service, idle_seconds, path, address))
        finally:
            path.unlink(missing_ok=True)
            scheduler.close()


def warm_up(engine: Engine) -> None:
    """Touch every weight and build what is built on first use, so that the first request does not pay for it."""
    engine.tokenizer.completions(b" ")
    engine.fill(Gap("def f(x):\n    ret", "\n"), Options(max_tokens=2))


async def _listen(
    server: uvicorn.Server, listener: socket.socket, service: Service, idle_seconds: float, path: Path, address: str
) -> None:
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started and not serving.done():
        await asyncio.sleep(0.01)
    _write_state(path, service, address)
    while not serving.done():
        await asyncio.wait([serving], timeout=1)
        if not service.scheduler.busy and time.monotonic() - service.last_request > idle_seconds:
            server.should_exit = True
    await serving


def _write_state(path: Path, service: Service, address: str) -> None:
    state = {
        "address": address,
        "token": service.token,
        "nonce": service.nonce,
        "pid": os.getpid(),
        "model": service.model,
        "version": service.version,
        "started": time.time(),
    }
    partial = path.with_suffix(".partial")
    partial.unlink(missing_ok=True)
    with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump(state, file)
    os.replace(partial, path)
