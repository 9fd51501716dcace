"""Typists who write the missing lines of real programs, each in documents of their own, and ask at every key."""

import asyncio
import random
import time
from collections.abc import Sequence
from contextlib import aclosing, suppress
from dataclasses import asdict, dataclass
from typing import Any

from bench.quality.sets import Task
from bench.replay.pace import REST_S, Pace
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


@dataclass(frozen=True)
class Typing:
    """What the typists of a run write, for how long, and the median time from one line to the next, in seconds."""

    users: int
    tasks: Sequence[Task]
    seconds: float
    seed: int
    rest_s: float = REST_S


@dataclass
class _Typist:
    """A user who writes one task's line after another until `stop`. `label` begins each text, so that it is nobody
    else's."""

    user: int
    engine: Engine
    tasks: Sequence[Task]
    label: str
    began: float
    found: list[Asked]
    stop: asyncio.Event

    async def types(self, pace: Pace) -> None:
        asking, answered = None, set[int]()
        for number, task in enumerate(self.tasks):
            keys = typed_keys(task)
            for place in range(len(keys) + 1):
                if self.stop.is_set():
                    break
                if asking:
                    asking.cancel()
                asking = asyncio.create_task(self._asks(number, task, keys[:place], answered))
                await self._waits(pace.rest() if place == 0 else pace.key())
        if asking:
            await asyncio.wait([asking])

    async def _waits(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self.stop.wait(), seconds)

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
    engines: Sequence[Engine], typing: Typing, label: str, stop: asyncio.Event | None = None
) -> list[Asked]:
    """What all typists asked until `stop`, or else within the typing's seconds: one for each way to the engine, all at
    once."""
    began, found, end = time.monotonic(), list[Asked](), stop or asyncio.Event()

    async def starts(user: int, engine: Engine) -> None:
        seed = f"{typing.seed}-{user}"
        await asyncio.sleep(random.Random(seed).random() * max(1.0, typing.rest_s))
        typist = _Typist(user, engine, share(typing.tasks, user, len(engines)), label, began, found, end)
        await typist.types(Pace(seed, typing.rest_s))

    async with asyncio.TaskGroup() as group:
        for user, engine in enumerate(engines):
            group.create_task(starts(user, engine))
        if stop is None:
            asyncio.get_running_loop().call_later(typing.seconds, end.set)
    return sorted(found, key=lambda each: each.at_s)


def as_sample(asked: Asked, run: str) -> dict[str, Any]:
    found = asdict(asked) | {"run": run}
    return {name: round(value, 3) if isinstance(value, float) else value for name, value in found.items()}
