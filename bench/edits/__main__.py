"""The command: `python -m bench.edits --set dev --variants substitution teaching judged --limit 200`."""

import argparse
import asyncio
import random
import statistics
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

from bench import results
from bench.command import KEPT, at_least, guarded, written
from bench.edits.inside import engine_of
from bench.edits.rows import LANGUAGES, SETS, Row, load
from bench.edits.score import Outcome, outcome, summary
from bench.edits.variants import VARIANTS, WITHOUT_MODEL, Answer
from bench.journal import Journal
from dlsp.edits.history.hunks import Hunk
from dlsp.models import catalogue


def is_of(language: str) -> Callable[[Row], bool]:
    """Whether a row is a refactoring in this language."""
    return lambda row: row.id.startswith(f"{language}/")


GROUPS: dict[str, Callable[[Row], bool]] = {
    "all": lambda row: True,
    "renames": lambda row: row.shows_rename,
    **{language: is_of(language) for language in LANGUAGES},
}


def after_the_edit(row: Row, hunks: list[Hunk]) -> list[Hunk]:
    """The first hunk is the file's first: that nothing above it changed says nothing of the method."""
    return [each for each in hunks if each.start >= row.page.edited[0][0]]


async def measured(rows: list[Row], asked: argparse.Namespace) -> dict[str, list[tuple[Row, Answer]]]:
    """The answers of each variant. What the model took long for is kept: the same command goes on from there."""
    needs_model = any(name not in WITHOUT_MODEL for name in asked.variants)
    known = Journal(results.kept(asked.adapters) / f"edits-{asked.set}-{catalogue.find(asked.model).name}.jsonl")
    if asked.fresh:
        known.forget(list(known.entries))
    commit = results.commit()
    model = catalogue.find(asked.model)
    async with engine_of(model, asked.adapters) if needs_model else nullcontext() as engine:
        answers: dict[str, list[tuple[Row, Answer]]] = {name: [] for name in asked.variants}
        for row in track(rows, description="carrying edits on"):
            for name in asked.variants:
                key = f"{name} {row.id}"
                if key in known.entries:
                    answer = Answer.read(known.entries[key])
                else:
                    answer = replace(await VARIANTS[name](engine, row), commit=commit)
                    if name not in WITHOUT_MODEL:
                        known.add(key, asdict(answer))
                answers[name].append((row, answer))
    return answers


def scored(answers: list[tuple[Row, Answer]]) -> list[tuple[Row, Answer, Outcome]]:
    return [(row, answer, outcome(row, after_the_edit(row, answer.shown), answer.looked_at)) for row, answer in answers]


def metrics(name: str, of_variant: list[tuple[Row, Answer, Outcome]]) -> dict[str, float]:
    """`VARIANT/GROUP/NUMBER`."""
    found = {}
    for group, belongs in GROUPS.items():
        outcomes = [each for row, _, each in of_variant if belongs(row)]
        if outcomes:
            found |= {f"{name}/{group}/{number}": value for number, value in summary(outcomes).items()}
    seconds = [answer.seconds for _, answer, _ in of_variant]
    return {**found, f"{name}/seconds_median": statistics.median(seconds)}


def sample(name: str, row: Row, answer: Answer, each: Outcome) -> dict[str, Any]:
    shown = [[hunk.start, hunk.end, list(hunk.lines)] for hunk in answer.shown]
    numbers = {"wanted": each.wanted, "right": each.right, "reached": each.reached}
    return {"variant": name, "id": row.id, "shown": shown, **numbers, "seconds": round(answer.seconds, 3)}


def show(found: dict[str, float], variants: list[str]) -> None:
    columns = ("exact", "all_exact", "precision", "false", "quiet", "reached")
    table = Table("", "rows", "hunks", *columns)
    for name in variants:
        for group in GROUPS:
            if f"{name}/{group}/rows" in found:
                counts = (f"{found[f'{name}/{group}/{what}']:.0f}" for what in ("rows", "hunks"))
                table.add_row(
                    f"{name}, {group}", *counts, *(f"{found[f'{name}/{group}/{what}']:.1%}" for what in columns)
                )
    Console().print(table)


@guarded(KEPT)
def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.edits", description="Mined edits, carried on.")
    parser.add_argument("--set", choices=SETS, default="dev")
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--only", choices=GROUPS, default="all")
    parser.add_argument("--limit", type=at_least(1), help="so many rows, drawn by chance")
    parser.add_argument("--model", default="0.5b")
    parser.add_argument("--adapters", type=Path, metavar="DIR", help="updates and canvas adapters to use")
    parser.add_argument("--fresh", action="store_true", help="forget the answers of a run that was stopped")
    asked = parser.parse_args()
    rows = [row for row in load(asked.set) if GROUPS[asked.only](row)]
    if asked.limit and asked.limit < len(rows):
        rows = random.Random(0).sample(rows, asked.limit)
    answers = asyncio.run(measured(rows, asked))
    found, samples = {}, []
    for name, of_variant in answers.items():
        done = scored(of_variant)
        found |= metrics(name, done)
        samples += [sample(name, *each) for each in done]
    show(found, asked.variants)
    rounded = {name: round(value, 4) for name, value in found.items()}
    only, limit = [asked.only] if asked.only != "all" else [], [str(asked.limit)] if asked.limit else []
    of = [catalogue.find(asked.model).name, *([asked.adapters.name] if asked.adapters else [])]
    bench = "-".join(["edits", asked.set, *only, *limit, *of])
    command = "python -m bench.edits " + " ".join(sys.argv[1:])
    answered_by = Counter(answer.commit for of_variant in answers.values() for _, answer in of_variant)
    return written(bench, command, rounded, samples, answered_by=answered_by)


if __name__ == "__main__":
    sys.exit(main())
