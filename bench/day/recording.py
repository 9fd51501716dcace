"""A recording of what a person does, made by chance from a seed."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.replay.pace import Pace
from bench.replay.scripts import keys

BLOCK_LINES = (3, 12)
# Between two blocks: the median time to think in seconds, and the width of its logarithm.
THINK_S, THINK_WIDTH = 180.0, 1.0
# How often the person goes away after a block, and for how long in seconds. Engines end after 30 minutes without use.
AWAY_SHARE, AWAY_S = 0.03, (600.0, 3600.0)
# How often a block is in the file of the one before.
SAME_FILE_SHARE = 0.6
# How often each of these follows a block.
EXTRAS = {"fill": 0.1, "edits": 0.3, "actions": 0.3, "configure": 0.1, "disk": 0.2, "folders": 0.05}


@dataclass(frozen=True)
class Open:
    """Open the file with this number, without `count` lines from row `row` (from 0) on, and go there."""

    file: int
    row: int
    count: int


@dataclass(frozen=True)
class Key:
    """Put in `text`, a character or a line break with indentation, and wait. `coming` is what is typed next."""

    text: str
    wait_s: float
    coming: str


@dataclass(frozen=True)
class Extra:
    """One of EXTRAS."""

    what: str


@dataclass(frozen=True)
class Pause:
    seconds: float


Action = Open | Key | Extra | Pause


def recording(seed: int, seconds: float, files: Sequence[str]) -> Iterator[Action]:
    """What is done in `seconds`; `files` are the texts of the workspace's files."""
    rng, pace = random.Random(seed), Pace(str(seed))
    number, passed = rng.randrange(len(files)), 0.0
    while passed < seconds:
        if rng.random() > SAME_FILE_SHARE:
            number = rng.randrange(len(files))
        lines = files[number].splitlines(keepends=True)
        count = min(rng.randint(*BLOCK_LINES), len(lines))
        row = rng.randint(0, len(lines) - count)
        yield Open(number, row, count)
        block = "".join(lines[row : row + count])
        typed, done = list(keys(block)), 0
        for key, wait_s in zip(typed, pace.times(typed), strict=True):
            done += len(key)
            passed += wait_s
            yield Key(key, wait_s, block[done:])
        for what, share in EXTRAS.items():
            if rng.random() < share:
                yield Extra(what)
        pause = THINK_S * rng.lognormvariate(0, THINK_WIDTH)
        if rng.random() < AWAY_SHARE:
            pause += rng.uniform(*AWAY_S)
        passed += pause
        yield Pause(pause)
