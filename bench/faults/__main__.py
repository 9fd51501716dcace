"""`python -m bench.faults --rounds 200`: faults in a loop, on the real server and the real engine."""

import argparse
import asyncio
import random
import statistics
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from bench import results
from bench.command import WRITTEN, at_least, guarded, line
from bench.faults.rounds import FAULTS, Round, one
from bench.faults.world import World
from dlsp.errors import UserError

RARE, MOST_RARE = "corrupt the cache", 5
EVERY = 5


async def run(rounds: int, seed: int, keep: Callable[[list[Round]], object]) -> list[Round]:
    """So many rounds, each fault equally often; one that cannot be brought about here is left out. Every few rounds
    those done are given to `keep`: a run that is ended leaves them."""
    rng = random.Random(seed)
    done: list[Round] = []
    async with World() as world:
        names = [name for name in FAULTS if world.disk or name != "fill the disk"]
        order = [names[number % len(names)] for number in range(rounds)]
        # Converting again takes a machine minutes when it is busy: a few times are enough.
        rare = [number for number, name in enumerate(order) if name == RARE]
        for number in rare[MOST_RARE:]:
            order[number] = rng.choice([name for name in names if name != RARE])
        rng.shuffle(order)
        for number, name in enumerate(order, 1):
            try:
                done.append(await one(world, name, rng))
            except AssertionError as error:
                raise UserError(f"Round {number}, {name}: {error}\n{world.logs()}") from error
            if number % EVERY == 0:
                keep(done)
            if sys.stderr.isatty() or number % EVERY == 0:
                print(f"{number} of {rounds}: {done[-1]}", file=sys.stderr, flush=True)
    return done


@guarded(WRITTEN)
def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.faults", description=__doc__)
    parser.add_argument("--rounds", type=at_least(1), default=200)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    command = line(parser, asked)
    rounds = asyncio.run(run(asked.rounds, asked.seed, lambda done: write(command, done)))
    print(f"Written to {write(command, rounds)}")
    return 0


def write(command: str, rounds: list[Round]) -> Path:
    metrics: dict[str, float] = {"rounds": len(rounds), "answered_s/max": max(each.answered_s for each in rounds)}
    for name in FAULTS:
        if times := [each.again_s for each in rounds if each.fault == name]:
            metrics |= {f"again_s/{name}/median": statistics.median(times), f"again_s/{name}/max": max(times)}
    return results.write("faults", command, metrics, [asdict(each) for each in rounds])


if __name__ == "__main__":
    sys.exit(main())
