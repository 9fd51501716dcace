"""`dlsp engine`: manage the resident process that holds the model."""

import asyncio
import signal
import subprocess
import sys
from argparse import Namespace
from collections.abc import Iterable
from typing import Any

from dlsp import paths
from dlsp.cli._common import add_group, engine_of
from dlsp.engine import processes, state
from dlsp.errors import UserError
from dlsp.models.added import every, find
from dlsp.models.catalogue import Model
from dlsp.models.sizing import AUTO, named
from dlsp.wording import duration

# Seconds to wait for the process to end: an engine that has released its lock still has to free its weights.
MEMORY_FREED_S = 10


def add(subparsers: Any) -> None:
    """Register `dlsp engine …` with argparse's sub-parsers."""
    commands = (
        ("run", run, "run it here, in the foreground"),
        ("start", start, "start it in the background"),
        ("stop", stop, "end it, also while it loads"),
        ("status", status, "what runs; exit status 1 if nothing does"),
    )
    for name, parser in add_group(subparsers, "engine", "run, start, stop or look at the engine", commands).items():
        default, help = (AUTO, "the one for this machine") if name in ("run", "start") else (None, "all that run")
        parser.add_argument("--model", default=default, metavar="NAME", help=f"default: {help}")


def run(args: Namespace) -> int:
    from dlsp.engine import launch

    model = named(args.model)
    if state.alive(model.name):
        raise UserError(f"The engine of {model.short} runs already; end it with `dlsp engine stop`.")
    # The engine gets a process group of its own, so that Ctrl-C reaches it as a request to end, even while it loads.
    engine = subprocess.Popen(launch.serve_command(model), **processes.own_group(sys.platform))
    ends = [signal.SIGTERM]
    if sys.platform != "win32" and signal.getsignal(signal.SIGHUP) == signal.SIG_DFL:
        ends.append(signal.SIGHUP)  # the terminal was closed, and the command was not run under nohup

    def end(signal_number: int, frame: object) -> None:
        engine.terminate()

    before = {number: signal.signal(number, end) for number in ends}
    try:
        return engine.wait()
    except KeyboardInterrupt:
        engine.terminate()
        engine.wait()
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def start(args: Namespace) -> int:
    async def start() -> None:
        async with await engine_of(named(args.model)) as engine:
            print(f"The engine of {find(engine.state.model).short} runs as process {engine.state.pid}.")

    asyncio.run(start())
    return 0


def stop(args: Namespace) -> int:
    stuck: list[str] = []
    any_ended = False
    for model in _meant(args):
        if _stopped(model) or _stopped_loading(model):
            any_ended = True
        elif state.alive(model.name):
            stuck.append(model.short)
    if stuck:
        raise UserError(
            f"The engine of {' and '.join(stuck)} is loading and could not be ended; try again in a moment."
        )
    if not any_ended:
        print(_none(args))
    return 0


def status(args: Namespace) -> int:
    reports = [lines for model in _meant(args) if (lines := asyncio.run(_health_report(model)))]
    print("\n\n".join(reports) or _none(args))
    return 0 if any("\n" in lines for lines in reports) else 1


def _stopped(model: Model) -> bool:
    """Stop the running engine of `model` and print the result; returns False if there is none."""
    from dlsp.engine import launch

    found = state.read(model.name)
    if not asyncio.run(launch.stop(model)):
        return False
    over = found is None or processes.ended(found, MEMORY_FREED_S)
    print(f"The engine of {model.short} {'has ended' if over else 'is ending, and lets go of its memory soon'}.")
    return True


def _stopped_loading(model: Model) -> bool:
    """Stop an engine that is loading or converting `model` and print so; returns False if there is none or stopping
    fails."""
    if not state.alive(model.name) or not processes.end_loading(model.name, paths.state_dir()):
        return False
    print(f"The engine of {model.short} was loading, and has ended.")
    return True


async def _health_report(model: Model) -> str:
    """The engine's health report, one line per field; one sentence while it loads, "" if there is none."""
    from dlsp.engine import launch

    engine = await launch.connect(model)
    if engine is None:
        return f"The engine of {model.short} is loading." if state.alive(model.name) else ""
    async with engine:
        found: dict[str, Any] = {"address": engine.state.address, **await engine.health()}
    found["uptime_s"] = duration(found["uptime_s"])
    names = ("model", "version", "pid", "address", "dtype", "adapter", "uptime_s", "requests", "busy")
    return "\n".join(f"{name.removesuffix('_s'):9} {found[name]}" for name in names)


def _meant(args: Namespace) -> Iterable[Model]:
    """The model named in the arguments, or all models."""
    return [named(args.model)] if args.model else every()


def _none(args: Namespace) -> str:
    return f"No engine of {named(args.model).short} is running." if args.model else "No engine is running."
