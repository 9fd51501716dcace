"""`python -m bench.faults --rounds 200`: faults in a loop, on the real server and the real engine."""

import argparse
import asyncio
import random
import statistics
import sys
from dataclasses import asdict

from bench.command import at_least, guarded, line, written
from bench.faults.rounds import FAULTS, Round, one
from bench.faults.world import World
from dlsp.errors import UserError

RARE, MOST_RARE = "corrupt the cache", 5
EVERY = 5


async def run(rounds: int, seed: int, done: list[Round]) -> None:
    """Append so many rounds to `done`, each fault equally often; one that cannot be brought about here is left out."""
    rng = random.Random(seed)
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
            if sys.stderr.isatty() or number % EVERY == 0:
                print(f"{number} of {rounds}: {done[-1]}", file=sys.stderr, flush=True)


@guarded()
def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.faults", description=__doc__)
    parser.add_argument("--rounds", type=at_least(1), default=200)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    rounds: list[Round] = []
    try:
        asyncio.run(run(asked.rounds, asked.seed, rounds))
    except KeyboardInterrupt:
        if not rounds:
            raise
        print(f"Stopped after {len(rounds)} of {asked.rounds}: these count.", file=sys.stderr)
    return written("faults", line(parser, asked), metrics(rounds), [asdict(each) for each in rounds])


def metrics(rounds: list[Round]) -> dict[str, float]:
    found: dict[str, float] = {"rounds": len(rounds), "answered_s/max": max(each.answered_s for each in rounds)}
    for name in FAULTS:
        if times := [each.again_s for each in rounds if each.fault == name]:
            found |= {f"again_s/{name}/median": statistics.median(times), f"again_s/{name}/max": max(times)}
    return found


if __name__ == "__main__":
    sys.exit(main())
