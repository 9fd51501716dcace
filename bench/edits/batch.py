"""Eight sites in one request beside eight requests of one: `python -m bench.edits.batch`."""

import argparse
import asyncio
import statistics
import sys
import time
from collections.abc import Sequence

from bench import results
from bench.edits.rows import Row, load
from dlsp.edits.prompt import request
from dlsp.edits.site import Site
from dlsp.engine import launch
from dlsp.engine.client import Engine
from dlsp.errors import UserError
from dlsp.models import catalogue

SITES = 8


def sites(row: Row) -> list[Site]:
    """Lines of the page, evenly over it: what stands there is open, so each is judged and a text asked for."""
    lines = [
        number
        for number, line in enumerate(row.page.lines)
        if line.strip() and not row.page.is_edited(number, number + 1)
    ]
    taken = [lines[index * len(lines) // SITES] for index in range(SITES)] if len(lines) >= SITES else []
    return [Site(row.page, number, (row.page.lines[number],), None, 0.0) for number in taken]


async def asked(engine: Engine, row: Row, wanted: Sequence[Sequence[Site]], mode: str) -> float:
    """Seconds for requests one after another."""
    began = time.monotonic()
    for each in wanted:
        async for _ in engine.sites(request(row.edit, each, mode)):
            pass
    return time.monotonic() - began


async def compared(rows: Sequence[Row], model: str) -> list[dict[str, float]]:
    samples = []
    async with await launch.ensure(catalogue.find(model)) as engine:
        for number, row in enumerate(rows):
            found = sites(row)
            ways = {"together": [found], "single": [[each] for each in found]}
            order = sorted(ways, reverse=number % 2 == 1)
            samples.append({way: round(await asked(engine, row, ways[way], "verified"), 3) for way in order})
    return samples


def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.edits.batch", description="Sites judged together.")
    parser.add_argument("--rows", type=int, default=6)
    parser.add_argument("--model", default="0.5b")
    given = parser.parse_args()
    try:
        rows = [row for row in load("dev") if len(sites(row)) == SITES][: given.rows]
        samples = asyncio.run(compared(rows, given.model))
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    ratios = [each["together"] / each["single"] for each in samples]
    metrics = {
        "ratio_median": round(statistics.median(ratios), 3),
        "together_s": round(statistics.median(each["together"] for each in samples), 3),
        "single_s": round(statistics.median(each["single"] for each in samples), 3),
    }
    command = f"python -m bench.edits.batch --rows {given.rows} --model {given.model}"
    print(metrics, results.write(f"edits-batch-{given.model}", command, metrics, samples))
    return 0


if __name__ == "__main__":
    sys.exit(main())
