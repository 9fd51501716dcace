"""`python -m bench.faults --rounds 200`: faults in a loop, on the real server and the real engine."""

import argparse
import asyncio
import random
import statistics
import sys
from dataclasses import asdict

from bench import results
from bench.faults.rounds import FAULTS, Round, one
from bench.faults.world import World
from dlsp.errors import UserError

RARE, MOST_RARE = "corrupt the cache", 5


async def run(rounds: int, seed: int) -> list[Round]:
    """So many rounds, each fault equally often; one that cannot be brought about here is left out."""
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
            done.append(await one(world, name, rng))
            if sys.stderr.isatty() or number % 5 == 0:
                print(f"{number} of {rounds}: {done[-1]}", file=sys.stderr, flush=True)
    return done


def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.faults", description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    try:
        rounds = asyncio.run(run(asked.rounds, asked.seed))
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    metrics: dict[str, float] = {"rounds": len(rounds), "answered_s/max": max(each.answered_s for each in rounds)}
    for name in FAULTS:
        if times := [each.again_s for each in rounds if each.fault == name]:
            metrics |= {f"again_s/{name}/median": statistics.median(times), f"again_s/{name}/max": max(times)}
    print(metrics)
    command = f"python -m bench.faults --rounds {asked.rounds} --seed {asked.seed}"
    print(f"Written to {results.write('faults', command, metrics, [asdict(each) for each in rounds])}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
