"""What `reasoning_effort` buys in `dlsp api`, effort against effort: `python -m bench.dial`.

Gaps are single lines of HumanEval-Infilling, by `/v1/fim/completions`; tasks are HumanEval's, by instruction in
`/v1/chat/completions`, at temperature 0. Each is answered at every effort, in an order that changes from one to the
next, and each answer's program is run with its test. Times are milliseconds from the request to the whole answer.
"""

import argparse
import asyncio
import random
import sys
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import httpx

from bench import humaneval
from bench.api import served
from bench.command import at_least, guarded, line, own_engine, written
from bench.progress import progress
from bench.quality import sandbox
from bench.quality.score import program
from bench.quality.sets import SETS, Task, load
from bench.spread import quartiles
from dlsp.models.catalogue import find

EFFORTS = ("instant", "low", "medium", "high")
GAPS = "single-line"


async def filled(client: httpx.AsyncClient, task: Task, effort: str) -> str:
    """The program with a gap filled, and its test."""
    body = {"prompt": task.prefix, "suffix": task.suffix, "stop": ["\n"], "max_tokens": SETS[GAPS].max_tokens}
    answer = await client.post("/v1/fim/completions", json=body | {"temperature": 0, "reasoning_effort": effort})
    answer.raise_for_status()
    text = answer.json()["choices"][0]["message"]["content"]
    return program(task, SETS[GAPS].text(task, text)).source


async def solved(client: httpx.AsyncClient, task: dict[str, Any], effort: str) -> str:
    """The program that a chat writes, and its test."""
    body = {"messages": humaneval.messages(task), "max_tokens": humaneval.MAX_TOKENS}
    answer = await client.post("/v1/chat/completions", json=body | {"temperature": 0, "reasoning_effort": effort})
    answer.raise_for_status()
    return humaneval.program(task, answer.json()["choices"][0]["message"]["content"])


async def measured(asked: argparse.Namespace) -> list[dict[str, Any]]:
    gaps = load(GAPS, asked.gaps)
    written_ones = humaneval.tasks()
    chats = random.Random(0).sample(written_ones, min(asked.chats, len(written_ones)))
    wanted = [("gaps", task.id, partial(filled, task=task)) for task in gaps]
    wanted += [("chats", task["task_id"], partial(solved, task=task)) for task in chats]
    model, samples = find(asked.model), list[dict[str, Any]]()
    async with own_engine(model), served(model) as client:
        with progress("answering", len(wanted)) as advance:
            for number, (kind, name, way) in enumerate(wanted):
                sample: dict[str, Any] = {"kind": kind, "task": name}
                for effort in random.Random(number).sample(EFFORTS, len(EFFORTS)):
                    began = time.perf_counter()
                    source = await way(client, effort=effort)
                    milliseconds = 1e3 * (time.perf_counter() - began)
                    verdict = await asyncio.to_thread(sandbox.run, source)
                    sample[effort] = {"passed": verdict.passed, "ms": round(milliseconds, 1)}
                samples.append(sample)
                advance()
    return samples


def summary(samples: Sequence[dict[str, Any]]) -> dict[str, float]:
    """By kind and effort: pass@1, quartiles of milliseconds, and the ratio of the sums of times to those of `low`; how
    many answers pass that do not at `low` (won), and the reverse (lost).
    """
    metrics: dict[str, float] = {}
    for kind in dict.fromkeys(sample["kind"] for sample in samples):
        own = [sample for sample in samples if sample["kind"] == kind]
        metrics[f"{kind}/tasks"] = len(own)
        low = sum(sample["low"]["ms"] for sample in own)
        for effort in EFFORTS:
            key = f"{kind}/{effort}"
            metrics[f"{key}/pass@1"] = sum(sample[effort]["passed"] for sample in own) / len(own)
            metrics |= quartiles(f"{key}/ms_", [sample[effort]["ms"] for sample in own])
            metrics[f"{key}/ratio_of_sums"] = sum(sample[effort]["ms"] for sample in own) / low
            pairs = [(sample[effort]["passed"], sample["low"]["passed"]) for sample in own]
            metrics[f"{key}/won"], metrics[f"{key}/lost"] = pairs.count((True, False)), pairs.count((False, True))
    return {name: round(value, 4) for name, value in metrics.items()}


@guarded()
def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.dial", description="What `reasoning_effort` buys.")
    parser.add_argument("--gaps", type=at_least(1), default=200)
    parser.add_argument("--chats", type=at_least(1), default=50)
    parser.add_argument("--model", default="0.5b")
    asked = parser.parse_args(argv)
    samples = asyncio.run(measured(asked))
    metrics = summary(samples)
    for name, value in metrics.items():
        print(f"{name:32} {value:g}")
    return written(f"dial-{find(asked.model).name}", line(parser, asked), metrics, samples)


if __name__ == "__main__":
    sys.exit(main())
