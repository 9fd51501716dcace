"""What coming back to a place costs: `python -m bench.places`.

Two places in each of some files of this repository: asked about the one, the other, and the first again with a few
characters more, in one session, as a cursor goes that looks around. The engine is a real one of its own.
"""

import argparse
import asyncio
import random
import statistics
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from bench.command import at_least, guarded, line, own_engine, written
from dlsp.completions import infill
from dlsp.context.workspace import Workspace
from dlsp.engine.client import Engine
from dlsp.models import catalogue, sizing

ROOT = Path(__file__).parents[1]
LEAST_LINES = 120
# Lines between the two places; characters that are typed at the first when the cursor is back.
APART, TYPED = 60, 4


def places(seed: int) -> Iterator[tuple[Path, int, int]]:
    """Files with two offsets, each in the middle of a line of code."""
    rng = random.Random(seed)
    found = sorted(path for name in ("dlsp", "engine", "kernels") for path in (ROOT / name).rglob("*.py"))
    rng.shuffle(found)
    for path in found:
        text = path.read_text()
        lines = text.splitlines(keepends=True)
        rows = [row for row, each in enumerate(lines) if len(each.strip()) > 4 * TYPED and row > 20]
        pairs = [(row, other) for row in rows for other in rows if abs(row - other) >= APART]
        if len(lines) >= LEAST_LINES and pairs:
            first, second = (len("".join(lines[:row])) + len(lines[row]) // 2 for row in rng.choice(pairs))
            yield path, first, second


async def ask(engine: Engine, workspace: Workspace, path: Path, at: int, typed: int = 0) -> tuple[float, int]:
    """Milliseconds to the answer, and tokens of the prompt that were to be read; `typed` characters of what stands
    behind the cursor are typed, and the rest of its line is not there yet.
    """
    text = path.read_text()
    before, after = text[: at + typed], text[text.find("\n", at) :]
    context = workspace.context(path, before, after)
    began = time.perf_counter()
    fill = await engine.fill(infill.request(context, path=workspace.name(path), session=str(path), end="line"))
    return 1e3 * (time.perf_counter() - began), fill["cost"]["prompt_tokens"] - fill["cost"]["cached_tokens"]


async def measure(model: catalogue.Model, files: int, seed: int) -> tuple[dict[str, float], list[dict[str, float]]]:
    samples: list[dict[str, float]] = []
    async with own_engine(model) as engine:
        workspace = Workspace(ROOT, budget=sizing.default_context(model))
        for path, first, second in islice(places(seed), files):
            new_ms, new = await ask(engine, workspace, path, first)
            await ask(engine, workspace, path, second)
            back_ms, back = await ask(engine, workspace, path, first, TYPED)
            samples.append({"new_ms": round(new_ms, 1), "new": new, "back_ms": round(back_ms, 1), "back": back})
    metrics = {name: round(statistics.median(sample[name] for sample in samples), 1) for name in samples[0]}
    ratio = statistics.median(sample["back_ms"] / sample["new_ms"] for sample in samples)
    return metrics | {"files": len(samples), "ratio": round(ratio, 3)}, samples


@guarded()
def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.places", description="Coming back to a place.")
    parser.add_argument("--files", type=at_least(1), default=24)
    parser.add_argument("--model", default="0.5b")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    model = catalogue.find(asked.model)
    metrics, samples = asyncio.run(measure(model, asked.files, asked.seed))
    print(metrics)
    return written(f"places-{model.name}", line(parser, asked), metrics, samples)


if __name__ == "__main__":
    sys.exit(main())
