"""Short JSON tasks of several clients at once, beside llama.cpp: `python -m bench.throughput`.

The tasks are those of `bench.calls`: a request in plain words, answered by an object of one of 20 JSON schemas. Each of
the clients sends its next task when it has the answer to the last one. dlsp answers through `dlsp api`; llama.cpp
through its own HTTP server, from the same GGUF file, with the same threads, with a slot for each client and with one.
The sides take turns, in an order that changes, and sleep while another is measured. Each round has requests of its own:
dlsp drafts from what it has answered before. `ratio` is dlsp's answers a minute over those of llama.cpp's better number
of slots, round by round.
"""

import argparse
import asyncio
import multiprocessing
import random
import signal
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import httpx

from bench.api import served
from bench.calls import FUNCTIONS, ask, judged
from bench.command import at_least, guarded, line, own_engine, written
from bench.peers.llama import facts
from bench.progress import progress
from bench.spread import quartiles
from dlsp.errors import UserError
from dlsp.models import store
from dlsp.models.catalogue import find
from dlsp_engine import threads

LOAD_S, ANSWER_S = 120, 300
CONTEXT = 1024  # tokens of a slot of llama.cpp: several times what the longest task needs

# The number of its function, the request in words, and the arguments that are right.
Task = tuple[int, str, dict[str, Any]]


def tasks(count: int) -> list[Task]:
    """Tasks of all functions in turn."""
    each = -(-count // len(FUNCTIONS))
    asked = [list(function.requests(each)) for function in FUNCTIONS]
    return [(number, *asked[number][turn]) for turn in range(each) for number in range(len(FUNCTIONS))][:count]


async def round_of(client: httpx.AsyncClient, wanted: Sequence[Task], clients: int) -> dict[str, float]:
    """Answers a minute, and the shares of valid and of right answers, of one round."""
    waiting, verdicts = iter(wanted), []

    async def work() -> None:
        for number, sentence, arguments in waiting:
            message = await ask(client, "json", number, sentence)
            verdicts.append(judged("json", number, arguments, message))

    began = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(clients)))
    minutes = (time.perf_counter() - began) / 60
    shares = {name: sum(verdict[name] for verdict in verdicts) / len(wanted) for name in ("valid", "right")}
    return {"answers_a_minute": len(wanted) / minutes} | shares


def _llama(pipe: Connection, gguf: Path, count: int, slots: int) -> None:
    """A process with llama.cpp's server, until the other end of the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends us
    xllamacpp: Any = import_module("xllamacpp")  # a compiled module without types
    params = xllamacpp.CommonParams()
    params.model.path = str(gguf)
    params.n_ctx, params.n_parallel = CONTEXT * slots, slots
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = count
    params.fit_params = False  # it would choose another context by the memory that is free
    params.use_jinja, params.ui, params.verbosity = True, False, -1
    server = xllamacpp.Server(params)
    pipe.send((server.listening_address, facts(xllamacpp)))
    pipe.poll(None)


@asynccontextmanager
async def llama(gguf: Path, count: int, slots: int) -> AsyncIterator[tuple[httpx.AsyncClient, dict[str, str]]]:
    """A client of llama.cpp's server, and what it is built for."""
    spawning = multiprocessing.get_context("spawn")
    ours, theirs = spawning.Pipe()
    process = spawning.Process(target=_llama, args=(theirs, gguf, count, slots), daemon=True)
    process.start()
    theirs.close()
    try:
        if not await asyncio.to_thread(ours.poll, LOAD_S):
            raise UserError(f"llama.cpp did not start within {LOAD_S} s.")
        try:
            address, known = ours.recv()
        except EOFError:
            raise UserError(
                "llama.cpp did not start: run `pip install -e '.[bench]'` if xllamacpp is not installed."
            ) from None
        async with httpx.AsyncClient(base_url=address, timeout=ANSWER_S) as client:
            yield client, known
    finally:
        process.kill()
        process.join()


async def measured(asked: argparse.Namespace) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The samples, and what llama.cpp is built for."""
    model, wanted, samples = find(asked.model), tasks(asked.tasks * asked.rounds), []
    count, built = threads.physical(), dict[str, str]()
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(own_engine(model))
        sides = {"dlsp": await stack.enter_async_context(served(model))}
        for slots in dict.fromkeys((1, asked.clients)):
            beside = await stack.enter_async_context(llama(store.path(model), count, slots))
            sides[f"llama.cpp {slots}"], built = beside
        with progress("throughput", asked.rounds * len(sides)) as advance:
            for number in range(asked.rounds):
                own = wanted[number * asked.tasks :][: asked.tasks]
                for name in random.Random(number).sample(list(sides), len(sides)):
                    found = await round_of(sides[name], own, asked.clients)
                    samples.append({"round": number, "side": name} | found)
                    advance()
    return samples, built


def summary(samples: Sequence[dict[str, Any]]) -> dict[str, float]:
    """By side: quartiles of answers a minute, and shares of valid and of right answers; quartiles of the ratio."""
    metrics: dict[str, float] = {}
    rates: dict[str, list[float]] = {}
    for name in dict.fromkeys(sample["side"] for sample in samples):
        own = [sample for sample in samples if sample["side"] == name]
        rates[name] = [sample["answers_a_minute"] for sample in own]
        metrics |= quartiles(f"{name}/answers_a_minute_", rates[name])
        metrics |= {f"{name}/{share}": sum(sample[share] for sample in own) / len(own) for share in ("valid", "right")}
    of_round = {
        name: {sample["round"]: sample["answers_a_minute"] for sample in samples if sample["side"] == name}
        for name in rates
    }
    ratios = [
        rate / max(by_round[number] for name, by_round in of_round.items() if name != "dlsp")
        for number, rate in of_round["dlsp"].items()
    ]
    metrics |= quartiles("ratio_", ratios)
    return {name: round(value, 4) for name, value in metrics.items()}


@guarded()
def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench.throughput", description="JSON tasks of several clients at once, beside llama.cpp."
    )
    parser.add_argument("--tasks", type=at_least(1), default=64)
    parser.add_argument("--clients", type=at_least(1), default=8)
    parser.add_argument("--rounds", type=at_least(1), default=3)
    parser.add_argument("--model", default="0.5b")
    asked = parser.parse_args(argv)
    samples, built = asyncio.run(measured(asked))
    metrics = summary(samples)
    for name, value in metrics.items():
        print(f"{name:40} {value:g}")
    return written(f"throughput-{find(asked.model).name}", line(parser, asked), metrics, samples, llama=built)


if __name__ == "__main__":
    sys.exit(main())
