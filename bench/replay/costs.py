"""What llama.cpp's tokens cost on this machine when nothing else runs: `python -m bench.replay.costs`.

Measured on prompts as llama.vim sends them, once a build of llama.cpp, and kept; a measurement beside other programs is
said to be one.
"""

import asyncio
import json
import statistics
import sys
import time
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path

import httpx
import numpy as np
import psutil

from bench import results
from bench.replay.llama import Llama
from bench.replay.load import Load
from dlsp import paths
from dlsp.models import catalogue, store

# Of the prompts.
LINES = (30, 60, 90, 120, 180)
TOKENS = 24
# Other programs' share of the machine from which on a measurement is none.
BUSY = 0.1


@dataclass(frozen=True)
class Costs:
    """Seconds of a request, of a prompt token that was not cached, of a token; `others` as Load has it."""

    request_s: float
    prompt_s: float
    token_s: float
    others: float

    def seconds(self, prompt: int, tokens: int) -> float:
        return self.request_s + prompt * self.prompt_s + tokens * self.token_s


async def known(folder: Path, model: str, address: str) -> Costs:
    """What was measured before of this llama.cpp on this machine; measured now where nothing was."""
    path = place(folder, model)
    if not path.exists():
        measured = await measure(address)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(measured)), encoding="utf-8")
    return Costs(**json.loads(path.read_text(encoding="utf-8")))


def place(folder: Path, model: str) -> Path:
    """By when llama.cpp was installed too: its wheel is slower than a build for this very processor."""
    found = find_spec("xllamacpp")
    installed = f"-{Path(found.origin).stat().st_mtime:.0f}" if found and found.origin else ""
    return folder / f"llama-costs-{model}-{results.machine()}{installed}.json"


async def measure(address: str) -> Costs:
    """Ask for a few completions of this package's own source, each twice: the second time one character later."""
    lines = [line for path in sorted(Path(__file__).parent.glob("*.py")) for line in path.read_text().split("\n")]
    load, seen, tokens = Load(), [], []
    async with httpx.AsyncClient(base_url=address, timeout=600, trust_env=False) as http:
        for turn, count in enumerate(LINES):
            own = lines[200 * turn : 200 * turn + count]
            for typed in (4, 5):
                asked = {
                    "input_prefix": "\n".join(own[: count // 2]) + "\n",
                    "prompt": f"    x = {turn}value"[: 4 + typed],
                    "input_suffix": "\n" + "\n".join(own[count // 2 :]) + "\n",
                    "n_predict": TOKENS,
                    "temperature": 0,
                    "ignore_eos": True,
                    "cache_prompt": True,
                }
                began = time.perf_counter()
                answer = (await http.post("/infill", json=asked)).raise_for_status().json()
                whole, timings = time.perf_counter() - began, answer["timings"]
                token_s = timings["predicted_ms"] / 1e3 / timings["predicted_n"]
                tokens.append(token_s)
                seen.append((timings["prompt_n"], whole - token_s * timings["predicted_n"]))
    prompts, seconds = zip(*seen, strict=True)
    slope, start = np.polyfit(prompts, seconds, 1)
    return Costs(max(0.0, float(start)), float(slope), statistics.median(tokens), load.others())


async def _main() -> int:
    model = catalogue.find(sys.argv[1] if len(sys.argv) > 1 else "0.5b")
    path = place(paths.cache_dir() / "bench" / "replay", model.name)
    path.unlink(missing_ok=True)
    llama = await Llama.start(store.path(model), psutil.cpu_count(logical=False) or 1)
    try:
        costs = await known(path.parent, model.name, llama.address)
    finally:
        await llama.close()
    print(f"{1 / costs.prompt_s:.0f} prompt tokens/s, {1e3 * costs.token_s:.1f} ms a token", end="")
    print(f", {1e3 * costs.request_s:.0f} ms a request; other programs took {costs.others:.0%} of the machine.")
    return int(costs.others > BUSY)


if __name__ == "__main__":
    sys.exit(asyncio.run(_main()))
