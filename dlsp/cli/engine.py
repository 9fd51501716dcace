"""`dlsp engine`: the resident process that holds the model."""

import asyncio
import subprocess
import sys
import time
from argparse import Namespace
from typing import Any

from dlsp.cli import group
from dlsp.engine import processes, state
from dlsp.errors import UserError
from dlsp.models.choose import AUTO, named


def add(subparsers: Any) -> None:
    """Register `dlsp engine …` with argparse's sub-parsers."""
    commands = (
        ("run", run, "run it here, in the foreground"),
        ("start", start, "start it in the background"),
        ("stop", stop, "end it"),
        ("status", status, "what runs; exit status 1 if nothing does"),
    )
    for parser in group.add(subparsers, "engine", "run, start, stop or look at the engine", commands).values():
        parser.add_argument("--model", default=AUTO, metavar="NAME", help="default: the one for this machine")


def run(args: Namespace) -> int:
    from dlsp.engine import launch

    model = named(args.model)
    if state.alive(model.name):
        raise UserError(f"The engine of {model.name} runs already; end it with `dlsp engine stop`.")
    # In a group of its own: Ctrl-C reaches the engine as a request to end, also while it loads.
    engine = subprocess.Popen(launch.serve_command(model), **processes.own_group(sys.platform))
    try:
        return engine.wait()
    except KeyboardInterrupt:
        engine.terminate()
        engine.wait()
        raise


def start(args: Namespace) -> int:
    from dlsp.cli.waiting import engine_of

    async def start() -> None:
        async with await engine_of(named(args.model)) as engine:
            print(f"The engine of {engine.state.model} runs as process {engine.state.pid}.")

    asyncio.run(start())
    return 0


def stop(args: Namespace) -> int:
    from dlsp.engine import launch

    model = named(args.model)
    if asyncio.run(launch.stop(model)):
        print(f"The engine of {model.name} has ended.")
    elif state.alive(model.name):
        raise UserError(f"The engine of {model.name} is still loading; try again when it is ready.")
    else:
        print(f"No engine of {model.name} is running.")
    return 0


def status(args: Namespace) -> int:
    from dlsp.engine import launch

    model = named(args.model)

    async def health() -> dict[str, Any] | None:
        if engine := await launch.connect(model):
            async with engine:
                return {"address": engine.state.address, **await engine.health()}
        return None

    found = asyncio.run(health())
    if found is None:
        doing = "is loading" if state.alive(model.name) else "is not running"
        print(f"The engine of {model.name} {doing}.")
        return 1
    found["uptime_s"] = time.strftime("%H:%M:%S", time.gmtime(found["uptime_s"]))
    for name in ("model", "version", "pid", "address", "dtype", "adapter", "uptime_s", "requests", "busy"):
        print(f"{name.removesuffix('_s'):9} {found[name]}")
    return 0
