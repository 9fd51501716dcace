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
    `superseded` by the next key, or `reason` if there was none. `first`: its document had no answer before, so that
    nobody has to have read its prompt. `characters` are those of the prompt.
    """

    user: int
    at_s: float
    ms: float
    ended: str
    first: bool
    characters: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    forwards: int = 0
    rows: int = 0
    tokens: int = 0

    @property
    def hit(self) -> bool:
        return self.cached_tokens >= HIT_SHARE * self.prompt_tokens


@dataclass
class _Typist:
    """A user who writes one task's line after another, until `stop` at most. `label` begins each text, so that it is
    nobody else's."""

    user: int
    engine: Engine
    tasks: Sequence[Task]
    label: str
    began: float
    found: list[Asked]
    stop: asyncio.Event

    async def types(self, seconds: float, seed: str) -> None:
        pace, asking, answered = Pace(seed), None, set[int]()
        await asyncio.sleep(random.Random(seed).random())
        for number, task in enumerate(self.tasks):
            keys = typed_keys(task)
            for place in range(len(keys) + 1):
                if self.stop.is_set() or time.monotonic() - self.began > seconds:
                    break
                if asking:
                    asking.cancel()
                asking = asyncio.create_task(self._asks(number, task, keys[:place], answered))
                await asyncio.sleep(pace.rest() if place == 0 else pace.key())
        if asking:
            await asyncio.wait([asking])

    async def _asks(self, number: int, task: Task, typed: str, answered: set[int]) -> None:
        prefix = f"# {self.label} {self.user}-{number}\n{task.prefix}"
        gap = {"prefix": prefix, "suffix": task.suffix, "middle": typed, "session": f"{self.label} {number}"}
        request = {"gaps": [gap], "end": "line", "max_tokens": 32, "client": f"editor-{self.user}"}
        start = time.monotonic()
        asked = Asked(self.user, start - self.began, 0, "superseded", number not in answered)
        asked.characters = len(prefix) + len(task.suffix)
        try:
            async with aclosing(self.engine.infill(request)) as events:
                async for event in events:
                    if event["event"] == "fill":
                        asked.ended, cost = "fill", event["cost"]
                        answered.add(number)
                        for name in ("prompt_tokens", "cached_tokens", "forwards", "rows", "tokens"):
                            setattr(asked, name, cost[name])
        except UserError:
            asked.ended = "reason"
        finally:
            asked.ms = 1e3 * (time.monotonic() - start)
            self.found.append(asked)


def typed_keys(task: Task) -> str:
    """What is typed of a task's line, one request after each key."""
    return task.canonical.strip()[:KEYS]


def share(tasks: Sequence[Task], user: int, users: int) -> Sequence[Task]:
    """The tasks of one of the users."""
    each = len(tasks) // users
    return tasks[user * each : (user + 1) * each]


async def typed(
    engines: Sequence[Engine],
    tasks: Sequence[Task],
    seconds: float,
    seed: int,
    label: str,
    stop: asyncio.Event | None = None,
) -> list[Asked]:
    """What all typists asked within `seconds`, or until `stop`: one for each way to the engine, all at once."""
    began, found, stop = time.monotonic(), list[Asked](), stop or asyncio.Event()
    async with asyncio.TaskGroup() as group:
        for user, engine in enumerate(engines):
            typist = _Typist(user, engine, share(tasks, user, len(engines)), label, began, found, stop)
            group.create_task(typist.types(seconds, f"{seed}-{user}"))
    return sorted(found, key=lambda each: each.at_s)


def as_sample(asked: Asked, run: str) -> dict[str, Any]:
    found = asdict(asked) | {"run": run}
    return {name: round(value, 3) if isinstance(value, float) else value for name, value in found.items()}
