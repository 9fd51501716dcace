"""How long a keystroke waits while another client fills 64 gaps: `python -m bench.fairness`.

The engine is a real one of its own. The editor asks for a gap, so that its prompt is prefilled, and then asks again
with one more character typed: the keystroke. It does so by turns while the engine has nothing else to do, and while
another client always has 64 gaps in the engine. Gaps are single-line HumanEval-Infilling, the same for both.

Before each keystroke a random time passes, as if a person typed: a step of the others may be anywhere.

Times are milliseconds from the keystroke's request to its first event, and to its end. Where Linux counts it, the
processor time that the engine took meanwhile is given too: other programs that keep the machine busy hardly change it.
"""

import argparse
import asyncio
import math
import random
import sys
import time
from contextlib import aclosing
from pathlib import Path
from typing import Any

import numpy as np

from bench.command import at_least, guarded, line, own_engine, written
from bench.progress import progress
from bench.quality.sets import Task, load
from dlsp.engine.client import Engine
from dlsp.models import catalogue

BULK = 64
TYPED = "x"
# Keystrokes alone, then as many beside the gaps of the other client, and so on, so that a slow moment hits both.
BY_TURNS = 10
WARM_UP_S = 3.0
PAUSE_S = (0.05, 0.25)  # before a keystroke


def processor_ms(pid: int) -> float:
    """Milliseconds of processor time that all threads of a process have had; NaN where the system has no such files."""
    told = [task / "schedstat" for task in Path(f"/proc/{pid}/task").glob("*")]
    return sum(int(each.read_text().split()[0]) for each in told) / 1e6 if told else math.nan


async def keystroke(engine: Engine, task: Task, session: str) -> dict[str, float]:
    """Milliseconds to the first event and to the end, and of the engine's processor time to each."""
    gap = {"prefix": task.prefix, "suffix": task.suffix, "session": session}
    asked: dict[str, Any] = {"end": "line", "max_tokens": 32, "client": "editor", "priority": "typing"}
    await engine.fill({"gaps": [gap], **asked})
    await asyncio.sleep(random.uniform(*PAUSE_S))
    pid, first = engine.state.pid, (0.0, 0.0)
    before, began = processor_ms(pid), time.perf_counter()
    async with aclosing(engine.infill({"gaps": [gap | {"middle": TYPED}], **asked})) as events:
        async for _ in events:
            first = first if first[0] else (time.perf_counter(), processor_ms(pid))
    ended, taken = time.perf_counter(), processor_ms(pid) - before
    assert first[0], "an answer has events"
    milliseconds = {"first_ms": 1e3 * (first[0] - began), "ms": 1e3 * (ended - began)}
    return milliseconds | {"first_processor_ms": first[1] - before, "processor_ms": taken}


async def bulk(engine: Engine, tasks: list[Task], first: int) -> None:
    """Always have BULK gaps in the engine, in BULK / 8 requests, until cancelled."""

    async def one(number: int) -> None:
        turn = 0
        while True:
            gaps = []
            for place in range(8):
                task = tasks[(first + number * 8 + place + turn * BULK) % len(tasks)]
                gaps.append({"prefix": f"# {turn}\n{task.prefix}", "suffix": task.suffix})
            asked = {"gaps": gaps, "end": "token", "max_tokens": 64, "client": "script"}
            async with aclosing(engine.infill(asked)) as events:
                async for _ in events:
                    pass
            turn += 1

    async with asyncio.TaskGroup() as group:
        for number in range(BULK // 8):
            group.create_task(one(number))


async def measure(model: catalogue.Model, trials: int, seed: int) -> tuple[dict[str, float], list[dict[str, float]]]:
    tasks = load("single-line", trials + 200, seed=seed)
    typed, others = tasks[:trials], tasks[trials:]
    samples: list[dict[str, float]] = []
    async with own_engine(model) as engine:
        with progress("typing", 2 * trials) as advance:
            for start in range(0, trials, BY_TURNS):
                some = typed[start : start + BY_TURNS]
                alone = []
                for number, task in enumerate(some):
                    alone.append(await keystroke(engine, task, f"alone {start + number}"))
                    advance()
                filling = asyncio.create_task(bulk(engine, others, start))
                await asyncio.sleep(WARM_UP_S)
                for number, task in enumerate(some):
                    waiting = (await engine.health())["waiting"]
                    beside = await keystroke(engine, task, f"beside {start + number}")
                    before = {f"alone_{name}": value for name, value in alone[number].items()}
                    samples.append(before | beside | {"waiting": waiting})
                    advance()
                filling.cancel()
                await asyncio.wait([filling])
                while (await engine.health())["busy"]:
                    await asyncio.sleep(0.01)
    return summary(samples), [{name: round(value, 2) for name, value in sample.items()} for sample in samples]


def summary(samples: list[dict[str, float]]) -> dict[str, float]:
    metrics: dict[str, float] = {"waiting/min": min(sample["waiting"] for sample in samples)}
    for of in ("first_ms", "ms", "first_processor_ms", "processor_ms"):
        found = {}
        for name, field in (("alone", f"alone_{of}"), ("beside", of)):
            p50, p95 = map(float, np.percentile([sample[field] for sample in samples], (50, 95)))
            found[name] = (p50, p95)
            metrics |= {f"{name}/{of}/p50": p50, f"{name}/{of}/p95": p95}
        ratios = [sample[of] / sample[f"alone_{of}"] for sample in samples]
        metrics[f"ratio/{of}/median"] = float(np.median(ratios))
        for place, of_all in enumerate(("p50", "p95")):
            metrics[f"ratio/{of}/{of_all}"] = found["beside"][place] / found["alone"][place]
    return {name: round(value, 3) for name, value in metrics.items()}


@guarded()
def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.fairness", description="A keystroke beside 64 gaps.")
    parser.add_argument("--trials", type=at_least(2), default=200)
    parser.add_argument("--model", default="0.5b")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    model = catalogue.find(asked.model)
    metrics, samples = asyncio.run(measure(model, asked.trials, asked.seed))
    print(metrics)
    return written(f"fairness-{model.name}", line(parser, asked), metrics, samples)


if __name__ == "__main__":
    sys.exit(main())
