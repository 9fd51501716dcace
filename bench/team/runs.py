"""What is run against a team's server, and what is counted of it."""

import asyncio
import os
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bench.command import own_engine
from bench.team.hostile import Hostile
from bench.team.serving import Serving, processor_ms
from bench.team.typists import Asked, Typing, as_sample, typed
from dlsp.engine.client import Engine
from dlsp.models.catalogue import Model

WINDOW_S, WINDOWS = 5, 6  # after a replica is killed
BACK_S = 60.0  # the most until a killed replica is there again, or the number of replicas has changed
SETTLED_S = 30.0  # a number of replicas is watched for so long


@dataclass
class Run:
    """What was asked, by the names of runs, and what was counted beside."""

    asked: dict[str, list[Asked]] = field(default_factory=dict)
    metrics: dict[str, float] = field(default_factory=dict)
    step: dict[str, Any] = field(default_factory=dict)

    def add(self, name: str, found: list[Asked], **more: float) -> None:
        self.asked[name] = found
        counted = summary(found) | more
        self.metrics |= {f"{name}/{of}": round(float(value), 3) for of, value in counted.items()}

    def samples(self) -> list[dict[str, Any]]:
        return [as_sample(each, name) for name, found in self.asked.items() for each in found]


async def plain(model: Model, typings: Sequence[Typing]) -> list[list[Asked]]:
    """What the typists of each run asked of one plain engine."""
    async with own_engine(model) as engine:
        found: list[list[Asked]] = []
        for typing in typings:
            engines = [Engine(engine.state) for _ in range(typing.users)]
            found.append(await typed(engines, typing, f"plain {typing.users}"))
            for each in engines:
                await each.close()
        return found


async def served(server: Serving, typing: Typing, name: str, run: Run) -> None:
    """The typists alone; with what their requests cost on their way."""
    async with server.engines(typing.users) as engines:
        run.step = (await engines[0].health())["step"]
        before = processor_ms()
        found = await typed(engines, typing, f"{name} {typing.users}")
        spent = {f"{kind}_ms": (ms - before[kind]) / len(found) for kind, ms in processor_ms().items()}
    run.add(name, found, **spent)


async def killed(server: Serving, typing: Typing, run: Run) -> None:
    """The typists, SIGKILL for one of the replicas, and SETTLED_S more once it is there again."""
    replicas, began, stop = await server.replicas(), time.monotonic(), asyncio.Event()
    async with server.engines(typing.users) as engines:
        all_typing = asyncio.create_task(typed(engines, typing, "killed", stop))
        try:
            await asyncio.sleep(SETTLED_S)
            os.kill((await engines[0].health())["pid"], signal.SIGKILL)
            killed_s = time.monotonic() - began
            async with asyncio.timeout(BACK_S):
                while await server.replicas() == replicas:  # until Ray has noticed
                    await asyncio.sleep(0.05)
            await server.wait_for(replicas, BACK_S)
            up_s = time.monotonic() - began
            await asyncio.sleep(SETTLED_S)
        finally:
            stop.set()
            run.add("killed", await all_typing)
    counted = after_kill(run.asked["killed"], killed_s, up_s)
    run.metrics |= {f"killed/{of}": round(value, 3) for of, value in counted.items()}


async def attacked(server: Serving, typing: Typing, run: Run) -> None:
    """The typists, first alone and then beside a hostile user."""
    hostile = Hostile(server, server.tokens[-1], "attacked")
    async with server.engines(typing.users) as engines:
        run.add("alone", await typed(engines, typing, "alone"))
        attacking = asyncio.create_task(hostile.attack())
        run.add("attacked", await typed(engines, typing, "attacked"))
        attacking.cancel()
        with suppress(asyncio.CancelledError):
            await attacking
    run.metrics["attacked/p95_times"] = round(run.metrics["attacked/p95_ms"] / run.metrics["alone/p95_ms"], 3)
    for (name, status), count in sorted(hostile.answered.items()):
        run.metrics[f"hostile/{name}/{status}"] = count


async def scaled(server: Serving, typing: Typing, run: Run) -> None:
    """Two typists, then all of them until there are two replicas and SETTLED_S longer, then two again until there is
    one replica and SETTLED_S longer. Nothing is retried by who asks."""
    began = time.monotonic()
    few_end, many_end = asyncio.Event(), asyncio.Event()
    async with server.engines(typing.users) as engines:
        few = asyncio.create_task(typed(engines[:2], typing, "few", few_end))
        await asyncio.sleep(SETTLED_S)
        many = asyncio.create_task(typed(engines[2:], typing, "many", many_end))
        for wanted, end in ((2, many_end), (1, few_end)):
            await server.wait_for(wanted, 2 * BACK_S)
            run.metrics[f"scaled/{wanted}_replicas_s"] = round(time.monotonic() - began, 1)
            await asyncio.sleep(SETTLED_S)
            end.set()
        run.add("scaled", sorted(await few + await many, key=lambda each: each.at_s))


def summary(found: Sequence[Asked]) -> dict[str, float]:
    """How the requests of a run ended, the share of hits, and the times of answers."""
    filled = [each for each in found if each.ended == "fill"]
    later = [each for each in filled if not each.first]
    p50, p95 = map(float, np.percentile([each.ms for each in filled] or [float("nan")], (50, 95)))
    counts = {how: sum(each.ended == how for each in found) for how in ("fill", "superseded", "reason")}
    hits = sum(each.hit for each in later) / max(1, len(later))
    return {**counts, "hits": hits, "p50_ms": p50, "p95_ms": p95, "longest_ms": max(each.ms for each in found)}


def after_kill(found: Sequence[Asked], killed_s: float, up_s: float) -> dict[str, float]:
    """Since a replica was killed: the requests that ended with a reason, the longest one, and the share of hits in each
    window of WINDOW_S seconds; `back` of them since the replica is up again."""
    since = [each for each in found if each.at_s + each.ms / 1e3 >= killed_s]
    metrics = {"up_after_s": up_s - killed_s, "reasons": sum(each.ended == "reason" for each in since)}
    metrics["longest_since_ms"] = max((each.ms for each in since), default=0)
    later = [each for each in since if each.ended == "fill" and not each.first]
    for name, start in (("hits", killed_s), ("back", up_s)):
        for window in range(WINDOWS):
            begins = start + window * WINDOW_S
            hits = [each.hit for each in later if begins <= each.at_s < begins + WINDOW_S]
            if hits:
                metrics[f"{name}_from_{window * WINDOW_S}_s"] = sum(hits) / len(hits)
    return metrics
