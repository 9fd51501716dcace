"""Fit the gate of what the model writes, from the training edits: `python -m bench.edits.fit_written`.

Windows of training edits, and of edits that nothing follows, are written anew by the engine, and each change is
compared with what became of its lines. Stopped and started again, it goes on where it was.
"""

import argparse
import asyncio
import json
import random
import sys
import time
from contextlib import aclosing
from pathlib import Path
from typing import Any

from bench import results
from bench.command import KEPT, guarded
from bench.edits.fit import fitted
from bench.edits.inside import engine_of
from bench.edits.rows import Row, load
from bench.edits.variants import PATIENCE_S, AnyEngine
from bench.journal import Journal
from dlsp.edits.rank.evidence import score
from dlsp.edits.rank.weights import FILE
from dlsp.edits.rewrite.written import NUMBERS, written
from dlsp.models import catalogue

SETS = ("train", "negatives-train")
PARTS = 5
ODDS = (-2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5)


async def samples(engine: AnyEngine, row: Row) -> list[dict[str, Any]]:
    """The features of each change below the edit, and whether it was right."""
    found: list[dict[str, Any]] = []
    async with aclosing(written(engine, row.edit, row.page, PATIENCE_S)) as sites:
        async for site, given in sites:
            if site.start >= row.page.edited[0][0]:
                hunk = [site.start, list(site.old), list(site.lines)]
                found.append({"numbers": given, "right": site.hunk in row.wanted, "hunk": hunk})
    return found


async def collect(journal: Journal, asked: argparse.Namespace) -> None:
    rows = [row for name in SETS for row in load(name)]
    random.Random(0).shuffle(rows)
    until = time.monotonic() + asked.seconds
    async with engine_of(catalogue.find(asked.model), asked.adapters) as engine:
        for row in rows:
            if time.monotonic() > until:
                return
            if row.id not in journal.entries:
                journal.add(row.id, await samples(engine, row))


def held_out(rows: list[list[dict[str, Any]]]) -> None:
    """Print what would be shown by odds from which it is, each part of the edits judged by a fit on the others."""
    judged: list[tuple[float, bool]] = []
    for part in range(PARTS):
        known = [sample for at, row in enumerate(rows) if at % PARTS != part for sample in row]
        weights = fitted([each["numbers"] for each in known], [float(each["right"]) for each in known])
        own = [sample for row in rows[part::PARTS] for sample in row]
        judged += [(score(weights, each["numbers"]), each["right"]) for each in own]
    for least in ODDS:
        shown = [right for odds, right in judged if odds > least]
        print(f"odds above {least}: {len(shown)} shown, {sum(shown)} right ({sum(shown) / max(1, len(shown)):.0%})")


@guarded(KEPT)
def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.edits.fit_written", description="Fit the gate of rewrites.")
    parser.add_argument("--model", default="0.5b")
    parser.add_argument("--seconds", type=float, default=3600, help="no new edit is looked at after that")
    parser.add_argument("--adapters", type=Path, metavar="DIR", help="updates and canvas adapters to use")
    asked = parser.parse_args()
    journal = Journal(results.kept(asked.adapters) / f"edits-written-{asked.model}.jsonl")
    asyncio.run(collect(journal, asked))
    rows = [row for row in journal.entries.values() if row]
    found = [sample for row in rows for sample in row]
    weights = fitted([each["numbers"] for each in found], [float(each["right"]) for each in found])
    held_out(rows)
    stored = json.loads(FILE.read_text(encoding="utf-8"))
    stored["written"] = dict(zip(NUMBERS, weights, strict=True))
    FILE.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    right = sum(each["right"] for each in found)
    print(f"{len(journal.entries)} edits, {len(found)} changes, {right} right: {stored['written']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
