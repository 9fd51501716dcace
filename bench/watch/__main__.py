"""The command: `python -m bench.watch`."""

import argparse
import asyncio
import sys
from dataclasses import asdict
from typing import Any

from bench.command import at_least, guarded, line, own_engine, written
from bench.watch.record import MODES, Take, record
from dlsp.models import catalogue
from examples.places import PLACES, Place

GAPS = {"a function's body": PLACES[5], "a line": PLACES[4], "the rest of a line": PLACES[0]}
# Lines before and after a gap that are shown.
SHOWN = (5, 3)


async def takes(model: catalogue.Model, places: dict[str, Place], rounds: int) -> list[dict[str, Any]]:
    """Of each gap and mode the take whose time is the median of `rounds`; modes take turns."""
    samples = []
    async with own_engine(model) as engine:
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
                    "modes": {mode: asdict(take) for mode, take in middle.items()},
                }
            )
    return samples


def median(of: list[Take]) -> Take:
    return sorted(of, key=lambda take: take.ms)[len(of) // 2]


@guarded()
def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.watch", description=sys.modules["bench.watch"].__doc__)
    parser.add_argument("--gaps", type=at_least(1), default=len(GAPS))
    parser.add_argument("--rounds", type=at_least(1), default=3)
    parser.add_argument("--model", default="0.5b")
    asked = parser.parse_args()
    model = catalogue.find(asked.model)
    samples = asyncio.run(takes(model, dict(list(GAPS.items())[: asked.gaps]), asked.rounds))
    metrics: dict[str, float] = {
        f"{mode}/{sample['title']}/{what}": take[what]
        for sample in samples
        for mode, take in sample["modes"].items()
        for what in ("ms", "forwards", "tokens")
    }
    return written(f"watch-{model.name}", line(parser, asked), metrics, samples)


if __name__ == "__main__":
    sys.exit(main())
