"""How long the engine works on after a request was cancelled: `python -m bench.cancel`.

The engine is a real one of its own. Requests are left at random moments of their prefill and of their decoding; then
`/health` is asked until the engine has nothing to do, every few milliseconds. At most one step is allowed: how long
steps of such requests take is seen on some that nobody leaves. Then 1,000 requests, 900 of them left, and how long the
engine works after them.
"""

import argparse
import asyncio
import random
import sys
import time
from contextlib import suppress
from typing import Any

from bench.command import at_least, guarded, line, own_engine, written
from bench.spread import tail
from dlsp.engine.client import Engine
from dlsp.models import catalogue

LOOK_S = 0.002
LINE = "value_{0} = compute(value_{0}, other={0})\n"
LONG, SHORT = ({"end": "token", "max_tokens": most} for most in (256, 32))
# Lines of the prompt, and seconds in which a request is left: in its prefill, in its decoding.
KINDS = ((60, 0.8), (2, 2.0))
# Requests of each kind that nobody leaves.
WHOLE = 3
REQUESTS, LEFT, AT_ONCE = 1_000, 900, 8


def request(rng: random.Random, lines: int, **more: Any) -> dict[str, Any]:
    """A gap whose prompt no other one begins with."""
    first = rng.randrange(10**9)
    prefix = "".join(LINE.format(first + number) for number in range(lines))
    return {"gaps": [{"prefix": prefix, "suffix": "\n"}], **more}


async def left_after(engine: Engine, asked: dict[str, Any], seconds: float) -> bool:
    """Ask, and leave after so long; whether that was before the end."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await engine.fill(asked)
            return False
    return True


async def longest_step(engine: Engine, asked: dict[str, Any]) -> float:
    """Milliseconds of the longest step that is seen while a request is answered."""
    asking, longest = asyncio.create_task(engine.fill(asked)), 0.0
    try:
        while not asking.done():
            longest = max(longest, 1e3 * (await engine.health())["stepping_s"])
            await asyncio.sleep(LOOK_S)
        await asking
    finally:
        asking.cancel()  # after Ctrl-C the engine goes before it
    return longest


async def idle(engine: Engine) -> float:
    """Milliseconds until the engine has nothing to do."""
    began = time.perf_counter()
    while (await engine.health())["busy"]:
        await asyncio.sleep(LOOK_S)
    return 1e3 * (time.perf_counter() - began)


async def measure(model: catalogue.Model, times: int, seed: int) -> tuple[dict[str, float], list[dict[str, float]]]:
    rng = random.Random(seed)
    samples: list[dict[str, float]] = []
    async with own_engine(model) as engine:
        steps = [[await longest_step(engine, request(rng, lines, **SHORT)) for _ in range(WHOLE)] for lines, _ in KINDS]
        for number in range(times):
            lines, most = KINDS[number % 2]
            if await left_after(engine, request(rng, lines, **LONG), rng.uniform(0.05, most)):
                samples.append({"decoding": number % 2, "busy_ms": round(await idle(engine), 1)})
        kept = await many(engine, rng)
    metrics = dict(kept)
    for name, decoding in (("prefill", 0), ("decoding", 1)):
        values = [sample["busy_ms"] for sample in samples if sample["decoding"] == decoding]
        metrics |= {f"{name}/left": len(values), f"{name}/longest_step_ms": max(steps[decoding])}
        metrics |= tail(f"{name}_ms", values)
    return {name: round(value, 1) for name, value in metrics.items()}, samples


async def many(engine: Engine, rng: random.Random) -> dict[str, float]:
    """A thousand requests without a session's name, most of them left: how long the engine works after them."""
    gate = asyncio.Semaphore(AT_ONCE)
    leaving = [number < LEFT for number in range(REQUESTS)]
    rng.shuffle(leaving)

    async def one(leaves: bool) -> bool:
        async with gate:
            return await left_after(engine, request(rng, 1, max_tokens=4), rng.uniform(0, 0.05) if leaves else 60)

    were_left = await asyncio.gather(*(one(leaves) for leaves in leaving))
    return {"many/left": sum(were_left), "many/busy_ms": await idle(engine)}


@guarded()
def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.cancel", description="After a cancel.")
    parser.add_argument("--times", type=at_least(20), default=200)
    parser.add_argument("--model", default="0.5b")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    model = catalogue.find(asked.model)
    metrics, samples = asyncio.run(measure(model, asked.times, asked.seed))
    print(metrics)
    return written(f"cancel-{model.name}", line(parser, asked), metrics, samples)


if __name__ == "__main__":
    sys.exit(main())
