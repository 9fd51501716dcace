"""A team's server under typists: `python -m bench.team --users 8 --replicas 2`.

Runs, with the same typists and texts each: one plain engine; the server with the router by session; the server with
requests in turn (`round_robin`). With `--kill` one replica of the router's run is killed (SIGKILL) in its middle.

A hit is a request, not a document's first, of which the session was found at its replica. Times are milliseconds from a
request to its answer; those that the next key superseded are counted apart.
"""

import argparse
import asyncio
import os
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.command import at_least, guarded, line, own_engine, written
from bench.quality.sets import Task, load
from bench.team.typists import Asked, as_sample, typed
from dlsp.engine import remote
from dlsp.engine.client import Engine
from dlsp.engine.remote import Server
from dlsp.models import catalogue
from dlsp.team import tokens
from dlsp.team.application import ROUTER
from dlsp.team.config import Config, Limits, ServedModel
from dlsp.team.running import Running

ROUTERS = {"router": ROUTER, "round_robin": "bench.team.round_robin:RoundRobin"}
LIMITS = Limits(ongoing=64, requests_per_minute=100_000)
ROOT = Path(__file__).parents[2]
WINDOW_S, WINDOWS = 5, 6  # after a replica is killed


async def plain(model: catalogue.Model, tasks: Sequence[Task], asked: argparse.Namespace) -> tuple[list[Asked], Any]:
    """What the typists asked of one plain engine, and what it says of its steps."""
    async with own_engine(model) as engine:
        engines = [Engine(engine.state) for _ in range(asked.users)]
        step = (await engine.health())["step"]
        found = await typed(engines, tasks, asked.seconds, asked.seed)
        for each in engines:
            await each.close()
        return found, step


async def served(
    url: str, token: str, tasks: Sequence[Task], asked: argparse.Namespace, kill: bool
) -> tuple[list[Asked], float]:
    """What the typists asked of the server, and when a replica was killed, in seconds since the run began."""
    engines = [await remote.connect(Server(url), token) for _ in range(asked.users)]
    typing = asyncio.create_task(typed(engines, tasks, asked.seconds, asked.seed))
    killed_s = 0.0
    if kill:
        began = time.monotonic()
        await asyncio.sleep(asked.seconds / 2)
        pid = (await engines[0].health())["pid"]
        os.kill(pid, signal.SIGKILL)
        killed_s = time.monotonic() - began
    found = await typing
    for each in engines:
        await each.close()
    return found, killed_s


def team(name: str, tasks: Sequence[Task], asked: argparse.Namespace) -> tuple[list[Asked], float]:
    """The run `name` of ROUTERS, on a server of its own."""
    with tempfile.TemporaryDirectory() as folder, socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        taken.close()
        file = Path(folder) / "tokens.json"
        token = tokens.make(file, "typists")
        models = (ServedModel(asked.model, asked.replicas, asked.replicas, threads=asked.threads),)
        running = Running(Config(models, file, port=port, limits=LIMITS), router=ROUTERS[name])
        try:
            running.start(lambda line: print(line, file=sys.stderr))
            return asyncio.run(served(running.url, token, tasks, asked, asked.kill and name == "router"))
        finally:
            running.stop()


def summary(found: Sequence[Asked]) -> dict[str, float]:
    """How the requests of a run ended, the share of hits, and the times of answers."""
    filled = [each for each in found if each.ended == "fill"]
    later = [each for each in filled if not each.first]
    times = [each.ms for each in filled] or [float("nan")]
    p50, p95 = map(float, np.percentile(times, (50, 95)))
    counts = {how: sum(each.ended == how for each in found) for how in ("fill", "superseded", "reason")}
    hits = sum(each.hit for each in later) / max(1, len(later))
    return {**counts, "hits": hits, "p50_ms": p50, "p95_ms": p95, "longest_ms": max(each.ms for each in found)}


def after_kill(found: Sequence[Asked], killed_s: float) -> dict[str, float]:
    """Since a replica was killed: the requests that ended with a reason, the longest one, and the share of hits in each
    window of WINDOW_S seconds."""
    since = [each for each in found if each.at_s + each.ms / 1e3 >= killed_s]
    metrics = {"reasons": sum(each.ended == "reason" for each in since), "longest_ms": max(each.ms for each in since)}
    later = [each for each in since if each.ended == "fill" and not each.first and each.at_s >= killed_s]
    for window in range(WINDOWS):
        start = killed_s + window * WINDOW_S
        hits = [each.hit for each in later if start <= each.at_s < start + WINDOW_S]
        if hits:
            metrics[f"hits_from_{window * WINDOW_S}_s"] = sum(hits) / len(hits)
    return metrics


@guarded()
def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.team", description="A team's server under typists.")
    parser.add_argument("--users", type=at_least(1), default=8)
    parser.add_argument("--replicas", type=at_least(1), default=2)
    parser.add_argument("--threads", type=at_least(1), default=1, help="of each replica")
    parser.add_argument("--seconds", type=at_least(4), default=60, help="of typing in each run")
    parser.add_argument("--model", default="0.5b")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--kill", action="store_true", default=None, help="a replica, in the middle of the router's run"
    )
    asked = parser.parse_args()
    model = catalogue.find(asked.model)
    tasks = load("single-line", 16 * asked.users, seed=asked.seed)
    os.environ["PYTHONPATH"] = str(ROOT)  # Ray imports the routers
    command = line(parser, asked).replace("--kill True", "--kill")
    found, step = asyncio.run(plain(model, tasks, asked))
    metrics = {f"plain/{name}": value for name, value in summary(found).items()}
    samples = [as_sample(each, "plain") for each in found]
    for name in ROUTERS:
        found, killed_s = team(name, tasks, asked)
        metrics |= {f"{name}/{of}": value for of, value in summary(found).items()}
        if killed_s:
            metrics |= {f"killed/{of}": value for of, value in after_kill(found, killed_s).items()}
        samples += [as_sample(each, name) for each in found]
    metrics = {name: round(float(value), 3) for name, value in metrics.items()}
    print(metrics)
    bench = f"team-{asked.users}u-{asked.replicas}r" + ("-kill" if asked.kill else "")
    return written(bench, command, metrics, samples, step=step, users=asked.users, replicas=asked.replicas)


if __name__ == "__main__":
    sys.exit(main())
