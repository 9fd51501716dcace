"""How long the engine takes from its start to its first answer: `python -m bench.start`.

Each run starts an engine of its own, with a state folder of its own, on a converted model and a warm file cache.
"""

import argparse
import asyncio
import statistics
import sys
import time

from bench.command import at_least, guarded, line, own_engine, written
from dlsp.models import catalogue


async def once(model: catalogue.Model) -> dict[str, float]:
    """Seconds until the engine is ready, and until a first short completion is there."""
    began = time.perf_counter()
    async with own_engine(model) as engine:
        ready = time.perf_counter() - began
        await engine.fill({"gaps": [{"prefix": "def add(a, b):\n    return ", "suffix": "\n"}], "end": "line"})
        answered = time.perf_counter() - began
    return {"ready_s": round(ready, 3), "first_answer_s": round(answered, 3)}


@guarded()
def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.start", description="From start to ready.")
    parser.add_argument("--runs", type=at_least(1), default=7)
    parser.add_argument("--model", default="0.5b")
    asked = parser.parse_args()
    model = catalogue.find(asked.model)
    asyncio.run(once(model))  # warms the file cache
    samples = [asyncio.run(once(model)) for _ in range(asked.runs)]
    metrics = {}
    for name in samples[0]:
        values = [sample[name] for sample in samples]
        metrics |= {f"{name}/median": statistics.median(values), f"{name}/min": min(values), f"{name}/max": max(values)}
    print(metrics)
    return written(f"start-{model.name}", line(parser, asked), metrics, samples)


if __name__ == "__main__":
    sys.exit(main())
