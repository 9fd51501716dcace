"""`dlsp status`: the running engines, what was accepted, and the latest suggestions."""

import asyncio
from argparse import Namespace
from typing import Any

from dlsp import paths
from dlsp.completions import accepts, decisions
from dlsp.doctor import last, server
from dlsp.engine import launch, remote, state
from dlsp.errors import UserError
from dlsp.models.added import every
from dlsp.models.catalogue import Model
from dlsp.wording import count, duration

SHOWN_DECISIONS = 5
SUMMED_DAYS = 7


def add(subparsers: Any) -> None:
    """Register `dlsp status` with argparse's sub-parsers."""
    status = subparsers.add_parser(
        "status", help="what runs, what you accepted and what was offered of late; 1 if no engine runs"
    )
    status.set_defaults(run=run)


def run(args: Namespace) -> int:
    paths.state_dir()  # fail early with one message if the state folder is unusable
    lines = [line for model in every() if (line := asyncio.run(engine(model)))]
    for line in lines or ["No engine is running; it starts with the first request."]:
        print(line)
    for url in remote.known():
        print(server.when(url, remote.environment_url()))
    if (total := accepts.total(SUMMED_DAYS)).suggestions:
        suggestions, characters = count(total.suggestions, "suggestion"), count(total.characters, "character")
        print(f"accepted in the last {SUMMED_DAYS} days: {suggestions}, {characters}")
    for decision in decisions.last(SHOWN_DECISIONS):
        print(last.line(decision))
    return 0 if lines else 1


async def engine(model: Model) -> str:
    """One line about the engine of `model`; "" if there is none."""
    try:
        found = await launch.connect(model)
        if found is None:
            return f"{model.short}: loading, or not answering" if state.alive(model.name) else ""
        async with found:
            health = await found.health()
    except UserError as error:
        return f"{model.short}: {error}"
    up = duration(health["uptime_s"])
    at_work = f"{count(health.get('waiting', 0), 'gap')} at work" if health["busy"] else "idle"
    kept = f"{count(health.get('sessions', 0), 'session')} ({health.get('session_bytes', 0) / 2**20:.0f} MB)"
    return f"{model.short}: {at_work}, up {up}, {count(health['requests'], 'request')}, {kept}, process {health['pid']}"
