"""Grammars made to do harm: how soon they are answered, and how late others are: `python -m bench.constraints.hostile`.

The engine is a real one of its own. A short gap is asked for again and again, as fast as it is answered: first alone,
then while a second client asks under each of the constraints in turn, by the clock. Most are refused; those that are
not must be answered.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from bench.command import at_least, guarded, line, own_engine, written
from bench.spread import tail
from dlsp.engine.client import Engine, EngineError
from dlsp.models import catalogue

DOUBLING = "start: r0\n" + "".join(f"r{n}: r{n + 1} r{n + 1}\n" for n in range(40)) + 'r40: "a"?\n'
CHAIN = "start: r0\n" + "".join(f"r{n}: r{n + 1} r{n + 1}\n" for n in range(5000)) + 'r5000: "a"\n'

HOSTILE: dict[str, dict[str, Any]] = {
    "nested text": {"regex": "(" * 20_000 + "a" + ")" * 20_000},
    "repeated repetition": {"regex": "((a{1,1000}){1,1000}){1,1000}"},
    "left recursion": {"grammar": 'start: start start | "a" | start start start'},
    "exponentially many ways": {"grammar": DOUBLING},
    "a stack that overflows": {"grammar": CHAIN},
    "an automaton of a million states": {"json_schema": {"type": "integer", "multipleOf": 999_983}},
    "ten thousand properties": {"json_schema": {"properties": {f"p{n}": {"type": "string"} for n in range(3000)}}},
    "a schema of itself": {"json_schema": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}},
    "nothing": {"json_schema": {"$ref": "#"}},
}

GAP = {"prefix": "def add(a, b):\n    return ", "suffix": "\n"}
TOKENS = 8  # of an answer under a constraint


async def asked(engine: Engine, **more: Any) -> tuple[float, str]:
    """Milliseconds until a gap's answer is there, and the error, if it is one."""
    began, error = time.perf_counter(), ""
    try:
        async for _ in engine.infill({"gaps": [GAP], **more}):
            pass
    except EngineError as refused:
        error = str(refused)
    return 1e3 * (time.perf_counter() - began), error


@asynccontextmanager
async def typing(engine: Engine) -> AsyncIterator[list[float]]:
    """The milliseconds of short gaps that are asked for meanwhile, one after the other."""
    found: list[float] = []

    async def always() -> None:
        while True:
            found.append((await asked(engine, priority="typing", max_tokens=4))[0])

    task = asyncio.create_task(always())
    try:
        yield found
    finally:
        task.cancel()


async def measure(model: catalogue.Model, rounds: int) -> tuple[dict[str, float], list[dict[str, Any]]]:
    samples: list[dict[str, Any]] = []
    alone: list[float] = []
    beside: list[float] = []
    async with own_engine(model) as engine:
        await asked(engine, constraint={"regex": "a"}, client="other")  # what the first constraint alone takes
        for _ in range(rounds):
            async with typing(engine) as found:
                await asyncio.sleep(3)
            alone += found
            for name, constraint in HOSTILE.items():
                more = {"constraint": constraint, "max_tokens": TOKENS, "priority": "filling", "client": "other"}
                async with typing(engine) as found:
                    took, error = await asked(engine, **more)
                beside += found
                samples.append({"name": name, "ms": round(took, 1), "error": error, "typing_ms": found})
    metrics = tail("alone_ms", alone) | tail("beside_ms", beside) | {"refused": sum(bool(s["error"]) for s in samples)}
    for kind, some in (("refused_ms", True), ("answered_ms", False)):
        metrics |= tail(kind, [sample["ms"] for sample in samples if bool(sample["error"]) == some])
    return {name: round(value, 1) for name, value in metrics.items()}, samples


@guarded()
def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.constraints.hostile", description="Grammars made to do harm.")
    parser.add_argument("--rounds", type=at_least(1), default=3)
    parser.add_argument("--model", default="0.5b")
    given = parser.parse_args()
    model = catalogue.find(given.model)
    metrics, samples = asyncio.run(measure(model, given.rounds))
    for sample in samples:
        print(f"{sample['name']}: {sample['ms']} ms; {sample['error'] or 'answered'}")
    print(metrics)
    return written(f"constraints-hostile-{model.name}", line(parser, given), metrics, samples)


if __name__ == "__main__":
    sys.exit(main())
