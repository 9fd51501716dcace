"""What the engine takes while it is kept: memory after requests, processor time while idle: `python -m bench.resident`.

The engine is one of its own, with a state folder of its own. Gaps are single-line HumanEval-Infilling, each a session.
"""

import argparse
import asyncio
import sys

import psutil
from rich.progress import track

from bench.command import at_least, guarded, line, own_engine, written
from bench.quality.sets import load
from dlsp.models import catalogue

# Requests between two looks at the memory.
EVERY = 20


async def watch(
    model: catalogue.Model, requests: int, idle_s: float
) -> tuple[dict[str, float], list[dict[str, float]]]:
    """Metrics, and the resident memory in MB as requests go by."""
    tasks = load("single-line", requests)
    samples: list[dict[str, float]] = []
    async with own_engine(model) as engine:
        process = psutil.Process(engine.state.pid)
        samples.append({"requests": 0, "resident_mb": resident(process)})
        for number, task in enumerate(track(tasks, description="filling"), 1):
            gap = {"prefix": task.prefix, "suffix": task.suffix, "session": task.id}
            await engine.fill({"gaps": [gap], "end": "line"})
            if number % EVERY == 0:
                samples.append({"requests": number, "resident_mb": resident(process)})
        before = busy(process)
        await asyncio.sleep(idle_s)
        idle = 100 * (busy(process) - before) / idle_s
    memory = [sample["resident_mb"] for sample in samples]
    return {
        "resident_mb/start": memory[0],
        "resident_mb/end": memory[-1],
        "resident_mb/max": max(memory),
        "idle_percent": round(idle, 2),
    }, samples


def resident(process: psutil.Process) -> float:
    return round(process.memory_info().rss / 1e6, 1)


def busy(process: psutil.Process) -> float:
    """Seconds of processor time so far."""
    times = process.cpu_times()
    return times.user + times.system


@guarded()
def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.resident", description="Memory and idle processor time.")
    parser.add_argument("--requests", type=at_least(1), default=200)
    parser.add_argument("--idle", type=float, default=30, help="seconds without a request")
    parser.add_argument("--model", default="0.5b")
    asked = parser.parse_args()
    model = catalogue.find(asked.model)
    metrics, samples = asyncio.run(watch(model, asked.requests, asked.idle))
    print(metrics)
    return written(f"resident-{model.name}", line(parser, asked), metrics, samples)


if __name__ == "__main__":
    sys.exit(main())
