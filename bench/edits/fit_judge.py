"""Fit what the model's numbers weigh beside the evidence: `python -m bench.edits.fit_judge`, after `bench.edits.fit`.

Sites of training edits that are worth a question are judged by the engine, and compared with what became of them.
Stopped and started again, it goes on where it was.
"""

import argparse
import asyncio
import json
import random
import sys
import time

from bench import results
from bench.command import KEPT, guarded
from bench.edits.fit import fitted
from bench.edits.rows import Row, load
from bench.journal import Journal
from dlsp.edits.history.hunks import Hunk, canonical
from dlsp.edits.rank.proposals import NUMBERS, numbers, request
from dlsp.edits.rank.sites import sites
from dlsp.edits.rank.weights import FILE, WEIGHTS
from dlsp.engine import launch
from dlsp.engine.client import Engine
from dlsp.models import catalogue

SETS = ("train", "negatives-train")
# Sites of one edit: those of another say more.
A_ROW = 4


async def judged(engine: Engine, row: Row) -> list[dict]:
    """The engine's numbers for some sites below the edit, and whether each was right."""
    below = row.page.edited[0][0]
    found = [site for site in sites(row.edit, row.page, [row.page]) if site.old and site.start > below]
    found = [site for site in found if WEIGHTS.asked_from < site.odds <= WEIGHTS.sure_from]
    found = random.Random(row.id).sample(found, min(A_ROW, len(found)))
    samples = []
    async for event in engine.sites(request(row.edit, found)) if found else _none():
        site = found[event["site"]]
        hunk = canonical(Hunk(site.start, site.start + len(site.old), site.lines), row.page.lines)
        new = event["candidates"][0]
        samples.append({"odds": site.odds, "old": event["text"], "new": new, "right": _is_right(row, hunk)})
    return samples


async def _none():
    for never in ():
        yield never


def _is_right(row: Row, hunk: Hunk) -> bool:
    """Whether the lines became so, be it beside others that changed."""
    for wanted in row.wanted:
        same = wanted.end - wanted.start == len(wanted.lines)
        if same and wanted.start <= hunk.start and hunk.end <= wanted.end:
            return wanted.lines[hunk.start - wanted.start : hunk.end - wanted.start] == hunk.lines
    return hunk in row.wanted


async def collect(journal: Journal, asked: argparse.Namespace) -> None:
    rows = [row for name in SETS for row in load(name)]
    random.Random(0).shuffle(rows)
    until = time.monotonic() + asked.seconds
    async with await launch.ensure(catalogue.find(asked.model)) as engine:
        for row in rows:
            if time.monotonic() > until:
                return
            if row.id not in journal.entries:
                journal.add(row.id, await judged(engine, row))


@guarded(KEPT)
def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.edits.fit_judge", description="Fit the judge's weights.")
    parser.add_argument("--model", default="0.5b")
    parser.add_argument("--seconds", type=float, default=3600, help="no new edit is looked at after that")
    asked = parser.parse_args()
    journal = Journal(results.kept() / f"edits-judge-{asked.model}.jsonl")
    asyncio.run(collect(journal, asked))
    samples = [sample for found in journal.entries.values() for sample in found]
    given = [numbers(each["old"], each["new"], each["odds"]) for each in samples]
    weights = fitted(given, [float(each["right"]) for each in samples])
    stored = json.loads(FILE.read_text(encoding="utf-8"))
    stored["judge"] = dict(zip(NUMBERS, weights, strict=True))
    FILE.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    print(f"{len(samples)} sites, {sum(each['right'] for each in samples)} right: {stored['judge']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
