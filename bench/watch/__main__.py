"""The command: `python -m bench.watch`."""

import argparse
import asyncio
import os
import sys
import tempfile
from typing import Any

from bench import results
from bench.watch.record import MODES, Take, record
from dlsp.engine import launch
from dlsp.errors import UserError
from dlsp.models import catalogue
from examples.places import PLACES, Place

GAPS = {"a function's body": PLACES[5], "a line": PLACES[4], "the rest of a line": PLACES[0]}
SHOWN = (5, 3)
"""Lines before and after a gap that are shown."""


async def takes(model: catalogue.Model, places: dict[str, Place], rounds: int) -> list[dict[str, Any]]:
    """Of each gap and mode the take whose time is the median of `rounds`; modes take turns."""
    samples = []
    async with await launch.ensure(model) as engine:
        for title, place in places.items():
            found: dict[str, list[Take]] = {mode: [] for mode in MODES}
            for turn in range(rounds + 1):
                for mode in MODES:
                    take = await record(engine, place, mode, f"watch {place.file} {mode} {turn}")
                    if turn:  # the first warms up
                        found[mode].append(take)
            middle = {mode: median(of) for mode, of in found.items()}
            before, after = place.around()
            samples.append(
                {
                    "title": title,
                    "place": f"{place.file}, line {before.count(chr(10)) + 1}",
                    "before": "\n".join(before.split("\n")[-SHOWN[0] :]).lstrip("\n"),
                    "after": "\n".join(after.split("\n")[: SHOWN[1]]),
                    "modes": {mode: take.as_json() for mode, take in middle.items()},
                }
            )
    await launch.stop(model)
    return samples


def median(of: list[Take]) -> Take:
    return sorted(of, key=lambda take: take.ms)[len(of) // 2]


def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.watch", description=sys.modules["bench.watch"].__doc__)
    parser.add_argument("--gaps", type=int, default=len(GAPS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--model", default="0.5b")
    asked = parser.parse_args()
    try:
        model = catalogue.find(asked.model)
        with tempfile.TemporaryDirectory() as folder:
            os.environ["DLSP_STATE_DIR"] = folder
            samples = asyncio.run(takes(model, dict(list(GAPS.items())[: asked.gaps]), asked.rounds))
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    metrics: dict[str, float] = {
        f"{mode}/{sample['title']}/{what}": take[what]
        for sample in samples
        for mode, take in sample["modes"].items()
        for what in ("ms", "forwards", "tokens")
    }
    command = f"python -m bench.watch --gaps {asked.gaps} --rounds {asked.rounds} --model {asked.model}"
    print(f"Written to {results.write(f'watch-{model.name}', command, metrics, samples)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
