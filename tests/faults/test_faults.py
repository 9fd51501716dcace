"""The loop of `python -m bench.faults`, a few rounds of it and all of them."""

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


@pytest.mark.prove
@pytest.mark.timeout(7200)
async def test_two_hundred_rounds() -> None:
    await rounds([*FAULTS] * 20, seed=4)
