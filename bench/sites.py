"""Eight sites of one edit judged together, against eight requests: `python -m bench.sites --edits 6`.

Edits and sites are those of the mined `dev` set that have eight or more sites: *judged* with the text that the edit
suggests, as dlsp asks, and *proposed*, where the model writes a line of its own. Three ways, in an order that changes
from edit to edit: all at once, each alone, and each alone but with the beginning of the prompt from the one before.
"""

import argparse
import random
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from bench.command import DTYPES, at_least, guarded, loaded, until_stopped, written
from bench.edits.rows import load
from dlsp.edits.rank.proposals import request
from dlsp.edits.rank.sites import marked, substituted
from dlsp.models import catalogue

if TYPE_CHECKING:
    from dlsp_engine import Engine
    from dlsp_engine.serve.requests import Parsed
    from dlsp_engine.site import Site

SITES = 8
WAYS = ("together", "alone", "prefix kept")


def bodies(most: int) -> list[tuple[str, dict[str, dict[str, Any]]]]:
    """(edit, kind -> the request for its first eight sites) of so many edits."""
    found = []
    for row in load("dev"):
        sites = [site for site in substituted(marked(row.edit, row.page, [row.page])) if site.lines is not None][:SITES]
        if len(sites) == SITES:
            judged = request(row.edit, sites)
            own = [site | {"candidates": [], "propose": True} for site in judged["sites"]]
            found.append((row.id, {"judged": judged, "proposed": judged | {"sites": own, "end": "line"}}))
    return found[:: max(1, len(found) // most)][:most]


def run(engine: "Engine", wanted: "Parsed[Site]", way: str) -> dict[str, float]:
    """Seconds until all sites are judged, with rows and tokens of all steps."""
    began = time.perf_counter()
    ended = []
    groups = [wanted.asked] if way == "together" else [(site,) for site in wanted.asked]
    for sites in groups:
        requests = [engine.site_request(site, wanted.options) for site in sites]
        if way == "prefix kept" and ended:
            requests[0].borrow([ended[-1].session])
        while running := [request for request in requests if not request.done]:
            engine.step(running)
        ended += requests
    seconds = time.perf_counter() - began
    costs = [request.outcome().cost for request in ended]
    counts = ("rows", "prompt_tokens", "cached_tokens")
    return {"seconds": seconds} | {name: sum(getattr(cost, name) for cost in costs) for name in counts}


def measure(engine: "Engine", order: Sequence[tuple[str, str, dict[str, Any]]]) -> Iterator[dict[str, Any]]:
    """What each way took for each (edit, kind, request); the first request warms up."""
    from dlsp_engine.serve.sites import parse_sites

    rng = random.Random(0)
    warm_up = parse_sites(order[0][2])
    run(engine, replace(warm_up, asked=warm_up.asked[:2]), "together")
    for name, kind, body in order:
        wanted = parse_sites(body)
        found = {way: run(engine, wanted, way) for way in rng.sample(WAYS, len(WAYS))}
        yield {"edit": name, "kind": kind} | {way: found[way] for way in WAYS}


def summary(samples: Sequence[dict[str, Any]]) -> dict[str, float]:
    """By kind and way: median seconds, and the median ratio of all at once to it with the range of ratios."""
    metrics: dict[str, float] = {}
    for kind in dict.fromkeys(sample["kind"] for sample in samples):
        own = [sample for sample in samples if sample["kind"] == kind]
        for way in WAYS:
            metrics[f"{kind}/{way}/seconds"] = statistics.median(sample[way]["seconds"] for sample in own)
            ratios = [sample["together"]["seconds"] / sample[way]["seconds"] for sample in own]
            metrics[f"{kind}/{way}/ratio"] = statistics.median(ratios)
            metrics[f"{kind}/{way}/ratio_least"], metrics[f"{kind}/{way}/ratio_most"] = min(ratios), max(ratios)
    return {name: round(value, 4) for name, value in metrics.items()}


def show(metrics: dict[str, float]) -> None:
    table = Table("sites", "way", "seconds", "all at once / this", "range", title="eight sites of one edit")
    for kind, way in dict.fromkeys(tuple(name.split("/")[:2]) for name in metrics):
        get = {what: metrics[f"{kind}/{way}/{what}"] for what in ("seconds", "ratio", "ratio_least", "ratio_most")}
        spread = f"{get['ratio_least']:.2f} to {get['ratio_most']:.2f}"
        table.add_row(kind, way, f"{get['seconds']:.2f}", f"{get['ratio']:.2f}", spread)
    Console().print(table)


@guarded()
def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.sites", description="Eight sites at once, against one by one.")
    parser.add_argument("--edits", type=at_least(1), default=6)
    parser.add_argument("--model", default="0.5b")
    parser.add_argument("--dtype", default="int8", choices=DTYPES)
    asked = parser.parse_args()
    model, chosen = catalogue.find(asked.model), bodies(asked.edits)
    order = [(name, kind, kinds[kind]) for kind in chosen[0][1] for name, kinds in chosen]
    samples = until_stopped(measure(loaded(model, asked.dtype), order), "judging", len(order))
    metrics = summary(samples)
    show(metrics)
    command = f"python -m bench.sites --edits {len(chosen)} --model {asked.model} --dtype {asked.dtype}"
    return written(f"sites-{model.name}-{asked.dtype}", command, metrics, samples)


if __name__ == "__main__":
    sys.exit(main())
