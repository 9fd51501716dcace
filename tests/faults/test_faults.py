"""The loop of `python -m bench.faults`, one round of each fault that is quick; `make prove PART=faults` runs 200."""

import random
from collections.abc import Sequence

import pytest

from bench.faults.rounds import FAULTS, one
from bench.faults.world import MOST_S, World

QUICK = [name for name in FAULTS if name != "corrupt the cache"]  # which is converted again for half a minute


async def rounds(names: Sequence[str], seed: int) -> None:
    rng = random.Random(seed)
    async with World() as world:
        for name in names:
            if world.disk or name != "fill the disk":
                done = await one(world, name, rng)
                assert done.outcome == "a suggestion" or done.outcome.startswith(("quiet: ", "the server is gone"))
                assert done.answered_s <= MOST_S


@pytest.mark.model
async def test_one_round_of_each_quick_fault() -> None:
    await rounds(QUICK, seed=3)
