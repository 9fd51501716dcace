"""How soon an engine that starts again answers where its clients were: `python -m bench.restart`.

Each round starts an engine without saved prompts, and asks it once for each size of a prompt: all of it is prefilled.
Then the engine ends, which saves the prompts; the next one starts, and is asked the same. Prompts are passages of the
standard library. Times are milliseconds from the request to its first token.
"""

import argparse
import asyncio
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.command import at_least, guarded, line, own_engine, weights_cache, written
from bench.peers.prompts import passage
from bench.progress import progress
from dlsp import paths
from dlsp.models import catalogue, store
from dlsp_engine.model.convert import converted
from dlsp_engine.text.tokenizer import ModelTokenizer

SAVED_MB = "1000"


@contextmanager
def cache_without_prompts() -> Iterator[Path]:
    """A cache folder with what the user's has, but no saved prompts."""
    before = {name: os.environ.get(name) for name in ("DLSP_CACHE_DIR", "DLSP_PROMPT_CACHE_MB")}
    with tempfile.TemporaryDirectory() as folder:
        for name in ("models", "converted", "costs.json"):
            Path(folder, name).symlink_to(paths.cache_dir() / name)
        os.environ |= {"DLSP_CACHE_DIR": folder, "DLSP_PROMPT_CACHE_MB": SAVED_MB}
        try:
            yield Path(folder)
        finally:
            for name, value in before.items():
                os.environ.pop(name)
                if value is not None:
                    os.environ[name] = value


async def answers(model: catalogue.Model, prefixes: Sequence[str]) -> tuple[float, list[tuple[float, int]]]:
    """Start an engine and ask for a token behind each prefix. Returns seconds until it was ready, and for each prefix
    milliseconds to the token and how many tokens of the prompt were cached.
    """
    began = time.perf_counter()
    found = []
    async with own_engine(model) as engine:
        ready = time.perf_counter() - began
        for number, prefix in enumerate(prefixes):
            asked = time.perf_counter()
            gap = {"prefix": prefix, "suffix": "\n", "session": f"file {number}"}
            fill = await engine.fill({"gaps": [gap], "end": "token", "max_tokens": 1})
            found.append((1e3 * (time.perf_counter() - asked), fill["cost"]["cached_tokens"]))
    return ready, found


def measure(model: catalogue.Model, sizes: Sequence[int], rounds: int, seed: int) -> list[dict[str, float]]:
    folder = converted(store.path(model), weights_cache("int8", infill_update=False), dense=False)
    tokenizer, rng = ModelTokenizer(folder), random.Random(seed)
    samples: list[dict[str, float]] = []
    with progress("rounds", rounds) as advance:
        for _ in range(rounds):
            prefixes = [passage(size, tokenizer, rng) for size in sizes]
            with cache_without_prompts() as cache:
                ready, cold = asyncio.run(answers(model, prefixes))
                saved = sum(file.stat().st_size for file in cache.glob("prompts/*.safetensors"))
                ready_again, warm = asyncio.run(answers(model, prefixes))
            for size, (cold_ms, _), (warm_ms, cached) in zip(sizes, cold, warm, strict=True):
                times = {"cold_ms": round(cold_ms, 1), "warm_ms": round(warm_ms, 1), "ratio": warm_ms / cold_ms}
                starts = {"ready_s": round(ready, 3), "ready_again_s": round(ready_again, 3)}
                samples.append({"size": size, **times, "cached": cached, **starts, "saved_mb": saved / 1e6})
            advance()
    return samples


def summary(samples: Sequence[dict[str, float]]) -> dict[str, float]:
    """Medians by size of the prompt."""
    metrics: dict[str, float] = {}
    for size in sorted({sample["size"] for sample in samples}):
        for name in ("cold_ms", "warm_ms", "ratio", "cached"):
            values = [sample[name] for sample in samples if sample["size"] == size]
            metrics[f"{size}/{name}"] = round(statistics.median(values), 4)
    for name in ("ready_s", "ready_again_s", "saved_mb"):
        metrics[name] = round(statistics.median(sample[name] for sample in samples), 3)
    return metrics


@guarded()
def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.restart", description="The same place after a restart.")
    parser.add_argument("--sizes", default="512,2048,8192", help="tokens of the prompts")
    parser.add_argument("--rounds", type=at_least(1), default=3)
    parser.add_argument("--model", default="0.5b")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    model, sizes = catalogue.find(asked.model), [int(size) for size in asked.sizes.split(",")]
    samples = measure(model, sizes, asked.rounds, asked.seed)
    metrics = summary(samples)
    print(metrics)
    return written(f"restart-{model.name}", line(parser, asked), metrics, samples)


if __name__ == "__main__":
    sys.exit(main())
