"""Other clients' interfaces beside the engine's own: `python -m bench.api`.

The same text? Each gap is filled through the engine's `/v1/infill` and through each dialect of `dlsp api`.

What does a dialect add? A stub that answers at once is asked directly and through each dialect by turns.

How much of a prompt is cached while a person types? Lines of Python are typed key by key, asked as llama.vim and as
minuet ask (their requests' fields and limits, from their sources), and `cached_tokens` over `prompt_tokens` is summed
over all requests but each line's first.
"""

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from bench.command import at_least, guarded, own_engine, written
from bench.quality.sets import load
from dlsp.api.admission import LOOPBACK_HOSTS
from dlsp.api.app import app
from dlsp.api.listener import listen
from dlsp.api.server import Server
from dlsp.api.wire import Service
from dlsp.engine import launch
from dlsp.engine.client import Engine
from dlsp.engine.connection import EngineConnection, SilentListener
from dlsp.models.catalogue import Model, find
from tests.dlsp.stub_engine import StubEngine

TOKENS = 64
LIMIT_S = 600  # of an answer: several are written at once, maybe on a busy machine
LINES_ABOVE, LINES_BELOW = 256, 64  # of llama.vim's requests
MINUET_CHARACTERS = 16_000  # around the cursor, three quarters before it

Ask = Callable[[httpx.AsyncClient, str, str], Awaitable[str]]


async def _openai(client: httpx.AsyncClient, before: str, after: str) -> str:
    body = {"prompt": before, "suffix": after, "max_tokens": TOKENS}
    return (await _posted(client, "/v1/completions", body))["choices"][0]["text"]


async def _mistral(client: httpx.AsyncClient, before: str, after: str) -> str:
    body = {"prompt": before, "suffix": after, "max_tokens": TOKENS}
    return (await _posted(client, "/v1/fim/completions", body))["choices"][0]["message"]["content"]


async def _llama(client: httpx.AsyncClient, before: str, after: str) -> str:
    body = {"input_prefix": before, "input_suffix": after, "n_predict": TOKENS}
    return (await _posted(client, "/infill", body))["content"]


async def _ollama(client: httpx.AsyncClient, before: str, after: str) -> str:
    """Without a suffix `raw`, or the prompt would be a chat's."""
    body = {"prompt": before, "suffix": after, "raw": not after, "stream": False, "options": {"num_predict": TOKENS}}
    return (await _posted(client, "/api/generate", body))["response"]


async def _templated(client: httpx.AsyncClient, before: str, after: str) -> str:
    prompt = f"<|fim_prefix|>{before}<|fim_suffix|>{after}<|fim_middle|>"
    return (await _posted(client, "/v1/completions", {"prompt": prompt, "max_tokens": TOKENS}))["choices"][0]["text"]


async def _tabby(client: httpx.AsyncClient, before: str, after: str) -> str:
    body = {"language": "python", "segments": {"prefix": before, "suffix": after}}
    return (await _posted(client, "/v1/completions", body))["choices"][0]["text"]


async def _tgi(client: httpx.AsyncClient, before: str, after: str) -> str:
    inputs = f"<fim_prefix>{before}<fim_suffix>{after}<fim_middle>"
    return (await _posted(client, "/generate", {"inputs": inputs, "parameters": {"max_new_tokens": TOKENS}}))[
        "generated_text"
    ]


DIALECTS: dict[str, Ask] = {
    "openai": _openai,
    "templated": _templated,
    "mistral": _mistral,
    "llama.cpp": _llama,
    "ollama": _ollama,
    "tabby": _tabby,
    "tgi": _tgi,
}
# Dialects whose requests cannot say how much is written.
LIMITS = {"tabby": 128}


async def _posted(client: httpx.AsyncClient, path: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = await client.post(path, json=body)
    answer.raise_for_status()
    return answer.json()


@asynccontextmanager
async def served(model: Model) -> AsyncIterator[httpx.AsyncClient]:
    """`dlsp api`'s application before the model's engine of the state folder, and a client of it."""
    connection = EngineConnection(model, SilentListener())
    assert await connection.ready()
    service = Service.of(connection, model)
    sockets = listen("127.0.0.1", [0])
    server = Server(app(service, None, LOOPBACK_HOSTS), same_user=True)
    running = asyncio.create_task(server.run_on(sockets))
    address = f"http://127.0.0.1:{sockets[0].getsockname()[1]}"
    async with httpx.AsyncClient(base_url=address, timeout=LIMIT_S) as client:
        yield client
    server.end()
    await running
    await connection.close()


async def direct(engine: Engine, before: str, after: str, tokens: int = TOKENS) -> str:
    """The engine's own answer, by the request that a dialect makes."""
    gap = {"prefix": before, "suffix": after, "middle": "", "session": "direct"}
    asked = {"gaps": [gap], "end": "token", "stop": [], "max_tokens": tokens, "priority": "typing"}
    return (await engine.fill(asked))["text"]


async def texts(engine: Engine, client: httpx.AsyncClient, gaps: list[tuple[str, str]]) -> list[dict[str, Any]]:
    """For each gap the dialects whose text is not the engine's."""
    samples = []
    for number, (before, after) in enumerate(gaps):
        own = {tokens: await direct(engine, before, after, tokens) for tokens in {TOKENS, *LIMITS.values()}}
        found = {name: await ask(client, before, after) for name, ask in DIALECTS.items()}
        differ = [name for name, text in found.items() if text != own[LIMITS.get(name, TOKENS)]]
        samples.append({"gap": number, "differ": differ})
    return samples


async def running(model: Model) -> Engine:
    """The engine of the state folder."""
    engine = await launch.connect(model)
    assert engine
    return engine


async def added(rounds: int) -> dict[str, float]:
    """The median milliseconds that each dialect adds to a stub's answer."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DLSP_STATE_DIR"] = folder
        with StubEngine(Path(folder)):
            async with served(model := find("0.5b")) as client, await running(model) as engine:
                times: dict[str, list[float]] = {name: [] for name in ("direct", *DIALECTS)}
                before, after = "def add(a, b):\n" * 200, "\n" * 20
                for _ in range(rounds):
                    began = time.perf_counter()
                    await direct(engine, before, after)
                    times["direct"].append(1e3 * (time.perf_counter() - began))
                    for name, ask in DIALECTS.items():
                        began = time.perf_counter()
                        await ask(client, before, after)
                        times[name].append(1e3 * (time.perf_counter() - began))
    middle = {name: statistics.median(some) for name, some in times.items()}
    return {f"added_ms/{name}": round(middle[name] - middle["direct"], 2) for name in DIALECTS}


async def cached(client: httpx.AsyncClient, source: str, lines: int) -> dict[str, float]:
    """The share of prompt tokens that were cached while `lines` lines of a source are typed, by client."""
    whole = source.splitlines(keepends=True)
    full = [row for row in range(10, len(whole) - 10) if len(whole[row].strip()) > 8]
    places = full[:: max(1, len(full) // lines)][:lines]
    found: dict[str, float] = {}
    for name, ask in (("llama.vim", _as_llama_vim), ("minuet", _as_minuet)):
        read = kept = 0
        for row in places:
            indent = len(whole[row]) - len(whole[row].lstrip())
            for column in range(indent, len(whole[row].rstrip("\n"))):
                prompt_tokens, cached_tokens = await ask(client, whole, row, column)
                if column > indent:
                    read, kept = read + prompt_tokens, kept + cached_tokens
        found[f"cached/{name}"] = round(kept / read, 4) if read else 0.0
    return found


async def _as_llama_vim(client: httpx.AsyncClient, lines: list[str], row: int, column: int) -> tuple[int, int]:
    body = {
        "id_slot": 0,
        "input_prefix": "".join(lines[max(0, row - LINES_ABOVE) : row]),
        "prompt": lines[row][:column],
        "input_suffix": "\n" + "".join(lines[row + 1 : row + 1 + LINES_BELOW]),
        "input_extra": [],
        "n_predict": 8,
        "top_k": 40,
        "top_p": 0.9,
        "samplers": ["top_k", "top_p", "infill"],
        "t_max_predict_ms": 250,
    }
    answer = await _posted(client, "/infill", body)
    return answer["tokens_evaluated"], answer["tokens_cached"]


async def _as_minuet(client: httpx.AsyncClient, lines: list[str], row: int, column: int) -> tuple[int, int]:
    before = "".join(lines[:row]) + lines[row][:column]
    after = "\n" + "".join(lines[row + 1 :])
    before, after = before[-MINUET_CHARACTERS * 3 // 4 :], after[: MINUET_CHARACTERS // 4]
    head = "# language: python\n# indentation: use 4 spaces for a tab\n"
    body = {"model": "any", "prompt": head + before, "suffix": after, "max_tokens": 8}
    usage = (await _posted(client, "/v1/completions", body))["usage"]
    return usage["prompt_tokens"], usage["prompt_tokens_details"]["cached_tokens"]


async def measured(asked: argparse.Namespace) -> tuple[dict[str, float], list[dict[str, Any]]]:
    gaps = [(task.prefix, task.suffix) for task in load("single-line", asked.gaps)]
    metrics = await added(asked.rounds)
    async with own_engine(model := find("0.5b")) as engine, served(model) as client:
        samples = await texts(engine, client, gaps)
        metrics |= await cached(client, Path(__file__).read_text(encoding="utf-8"), asked.lines)
    for name in DIALECTS:
        metrics[f"differ/{name}"] = sum(name in sample["differ"] for sample in samples)
    return metrics | {"gaps": len(samples)}, samples


@guarded()
def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.api", description="Measure `dlsp api`.")
    parser.add_argument("--gaps", type=at_least(1), default=100, help="single lines of HumanEval-Infilling")
    parser.add_argument("--rounds", type=at_least(10), default=200, help="requests to a stub, each way")
    parser.add_argument("--lines", type=at_least(1), default=12, help="lines typed")
    parser.add_argument("--only-added", action="store_true", help="only what a dialect adds, which needs no model")
    asked = parser.parse_args(argv)
    if asked.only_added:
        metrics, samples = asyncio.run(added(asked.rounds)), []
        name, command = "api-added", f"{parser.prog} --only-added --rounds {asked.rounds}"
    else:
        metrics, samples = asyncio.run(measured(asked))
        name, command = "api", f"{parser.prog} --gaps {asked.gaps} --rounds {asked.rounds} --lines {asked.lines}"
    for key, value in metrics.items():
        print(f"{key:24} {value:g}")
    return written(name, command, metrics, samples)


if __name__ == "__main__":
    sys.exit(main())
