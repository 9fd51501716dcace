"""Typists who write the missing lines of real programs, each in documents of their own, and ask at every key."""

import asyncio
import random
import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass
from typing import Any

from bench.quality.sets import Task
from bench.replay.pace import Pace
from dlsp.engine.client import Engine
from dlsp.errors import UserError

KEYS = 12  # of each gap's text that are typed, at most
HIT_SHARE = 0.8  # a request of which at least this share of the prompt was cached found its session


@dataclass
class Asked:
    """A request: when it began (seconds since the run did), the milliseconds to its answer, and how it ended: `fill`,
    `superseded` by the next key, or `reason` if there was none. `first`: the document's first, whose prompt nobody has.
    """

    user: int
    key: int
    at_s: float
    ms: float
    ended: str
    first: bool
    prompt_tokens: int = 0
    cached_tokens: int = 0
    forwards: int = 0
    rows: int = 0
    tokens: int = 0

    @property
    def hit(self) -> bool:
        return self.cached_tokens >= HIT_SHARE * self.prompt_tokens


async def typed(engines: Sequence[Engine], tasks: Sequence[Task], seconds: float, seed: int) -> list[Asked]:
    """What all typists asked within `seconds`: one typist for each way to the engine, all at once."""
    began, found = time.monotonic(), list[Asked]()
    share = len(tasks) // len(engines)
    async with asyncio.TaskGroup() as group:
        for user, engine in enumerate(engines):
            own = tasks[user * share : (user + 1) * share]
            group.create_task(_types(engine, user, own, began, seconds, f"{seed}-{user}", found))
    return sorted(found, key=lambda each: each.at_s)


async def _types(
    engine: Engine, user: int, tasks: Sequence[Task], began: float, seconds: float, seed: str, found: list[Asked]
) -> None:
    pace, asking, key = Pace(seed), None, 0
    await asyncio.sleep(random.Random(seed).random())
    for number, task in enumerate(tasks):
        keys = task.canonical.strip()[:KEYS]
        for place in range(len(keys) + 1):
            if time.monotonic() - began > seconds:
                break
            if asking:
                asking.cancel()
            gap = {"prefix": task.prefix, "suffix": task.suffix, "middle": keys[:place], "session": f"{user}-{number}"}
            asking = asyncio.create_task(
                _ask(engine, gap, Asked(user, key, 0, 0, "superseded", place == 0), began, found)
            )
            key += 1
            await asyncio.sleep(pace.rest() if place == 0 else pace.key())
    if asking:
        await asyncio.wait([asking])


async def _ask(engine: Engine, gap: dict[str, Any], asked: Asked, began: float, found: list[Asked]) -> None:
    start = time.monotonic()
    asked.at_s = start - began
    request = {"gaps": [gap], "end": "line", "max_tokens": 32, "client": f"typist-{asked.user}"}
    try:
        async with aclosing(engine.infill(request)) as events:
            async for event in events:
                if event["event"] == "fill":
                    asked.ended, cost = "fill", event["cost"]
                    for name in ("prompt_tokens", "cached_tokens", "forwards", "rows", "tokens"):
                        setattr(asked, name, cost[name])
    except UserError:
        asked.ended = "reason"
    finally:
        asked.ms = 1e3 * (time.monotonic() - start)
        found.append(asked)


def as_sample(asked: Asked, run: str) -> dict[str, Any]:
    found = asdict(asked) | {"run": run}
    return {name: round(value, 3) if isinstance(value, float) else value for name, value in found.items()}
