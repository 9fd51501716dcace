"""A team's server under typists: `python -m bench.team`; `--parts router --users 1 --replicas 1` is a part of it.

With the same typists and texts each: one plain engine; the server with the router by session; the server with requests
in turn (`round_robin`). Then on servers with the first number of replicas and the first number of typists: a replica is
killed (SIGKILL), a hostile user asks, and the number of replicas goes from one to two and back.

A hit is a request, of a document that had an answer before, of which the session was found at its replica. Times are
milliseconds from a request to its answer; those that the next key superseded are counted apart.
"""

import argparse
import asyncio
import sys
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager
from typing import Any

from bench.command import at_least, guarded, written
from bench.quality.sets import load
from bench.replay.pace import REST_S
from bench.team import runs
from bench.team.runs import Run
from bench.team.serving import ROUTERS, Serving, serving
from bench.team.typists import Typing
from dlsp.models import catalogue
from dlsp.team import application
from dlsp.team.config import ServedModel

PARTS = ("plain", "router", "round_robin", "attacked", "killed", "scaled")
TASKS = 20  # of a typist, more than are written in the time
SCALING_S = 5.0  # in place of UPSCALE_S and DOWNSCALE_S, so that a run is short
SCALING_ONGOING = 2  # requests at once of a replica: few, so that all typists are enough for two replicas


def compared(asked: argparse.Namespace, found: dict[tuple[int, int], Run]) -> None:
    """The typists of each number on one plain engine, and on servers with each number of replicas."""
    typings = [typing(asked, users) for users in asked.users]
    if "plain" in asked.parts:
        plain = asyncio.run(runs.plain(catalogue.find(asked.model), typings))
        for replicas in asked.replicas:
            for each, answers in zip(typings, plain, strict=True):
                found[each.users, replicas].add("plain", answers)
    for replicas in asked.replicas:
        for router in ROUTERS:
            if router in asked.parts:
                with serving(model(asked, replicas), max(asked.users), router) as server:
                    for each in typings:
                        asyncio.run(runs.served(server, each, router, found[each.users, replicas]))
        for each in typings:
            run = found[each.users, replicas]
            write(asked, f"{each.users}u-{replicas}r", run, users=each.users, replicas=replicas)


def alone(
    asked: argparse.Namespace,
    part: str,
    work: Callable[[Serving, Typing, Run], Coroutine[Any, Any, None]],
    server: AbstractContextManager[Serving],
) -> None:
    """A part that has a server and a results file of its own."""
    run = Run()
    with server as running:
        asyncio.run(work(running, typing(asked, asked.users[0]), run))
    write(asked, part, run)


def typing(asked: argparse.Namespace, users: int) -> Typing:
    tasks = load("single-line", TASKS * users, seed=asked.seed)
    return Typing(users, tasks, asked.seconds, asked.seed, asked.rest)


def model(asked: argparse.Namespace, replicas: int) -> ServedModel:
    return ServedModel(asked.model, replicas, replicas, threads=asked.threads)


def write(asked: argparse.Namespace, name: str, run: Run, **more: int) -> None:
    print(run.metrics)
    command = "python -m bench.team " + " ".join(
        f"--{option} {' '.join(map(str, value)) if isinstance(value, list) else value}"
        for option, value in vars(asked).items()
        if value != ""
    )
    more |= {"seconds": asked.seconds, "seed": asked.seed, "threads": asked.threads}
    answered = [each for each in run.samples() if each["ended"] != "superseded"]  # of those the count says enough
    written(f"team-{asked.name}{name}", command, run.metrics, answered, step=run.step, rest_s=asked.rest, **more)


@guarded()
def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.team", description="A team's server under typists.")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--users", nargs="+", type=at_least(1), default=[8, 16])
    parser.add_argument("--replicas", nargs="+", type=at_least(1), default=[2, 4])
    parser.add_argument("--threads", type=at_least(1), default=1, help="of each replica")
    parser.add_argument("--seconds", type=at_least(4), default=60, help="of typing in each run")
    parser.add_argument("--rest", type=float, default=REST_S, help="the median seconds from one line to the next")
    parser.add_argument("--name", default="", help="goes before the names of the results files")
    parser.add_argument("--model", default="0.5b")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    if {"plain", *ROUTERS} & set(asked.parts):
        compared(asked, {(users, replicas): Run() for users in asked.users for replicas in asked.replicas})
    users, replicas = asked.users[0], asked.replicas[0]
    if "attacked" in asked.parts:
        server = serving(model(asked, replicas), users + 1)
        alone(asked, f"{users}u-{replicas}r-attacked", runs.attacked, server)
    if "killed" in asked.parts:
        alone(asked, f"{users}u-{replicas}r-killed", runs.killed, serving(model(asked, replicas), users))
    if "scaled" in asked.parts:
        application.UPSCALE_S = application.DOWNSCALE_S = SCALING_S
        growing = ServedModel(asked.model, 1, 2, ongoing=SCALING_ONGOING, threads=asked.threads)
        alone(asked, f"{users}u-scaled", runs.scaled, serving(growing, users))
    return 0


if __name__ == "__main__":
    sys.exit(main())
