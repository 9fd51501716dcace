"""How long the engine takes from its start to its first answer: `python -m bench.start`.

Each run starts an engine of its own, with a state folder of its own, on a converted model and a warm file cache.
"""

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time

from bench import results
from dlsp.engine import launch
from dlsp.errors import UserError
from dlsp.models import catalogue


async def once(model: catalogue.Model) -> dict[str, float]:
    """Seconds until the engine is ready, and until a first short completion is there."""
    began = time.perf_counter()
    async with await launch.ensure(model) as engine:
        ready = time.perf_counter() - began
        await engine.fill({"gaps": [{"prefix": "def add(a, b):\n    return ", "suffix": "\n"}], "end": "line"})
        answered = time.perf_counter() - began
    await launch.stop(model)
    return {"ready_s": round(ready, 3), "first_answer_s": round(answered, 3)}


def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.start", description="From start to ready.")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--model", default="0.5b")
    asked = parser.parse_args()
    try:
        model = catalogue.find(asked.model)
        samples = []
        for _ in range(asked.runs + 1):
            with tempfile.TemporaryDirectory() as folder:
                os.environ["DLSP_STATE_DIR"] = folder
                samples.append(asyncio.run(once(model)))
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    samples = samples[1:]  # the first one warms the file cache
    metrics = {}
    for name in samples[0]:
        values = [sample[name] for sample in samples]
        metrics |= {f"{name}/median": statistics.median(values), f"{name}/min": min(values), f"{name}/max": max(values)}
    print(metrics)
    command = f"python -m bench.start --runs {asked.runs} --model {asked.model}"
    print(f"Written to {results.write(f'start-{model.name}', command, metrics, samples)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
