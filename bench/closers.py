"""What it is worth to replace the brackets that an editor has closed: `python -m bench.closers --places 120`.

Lines of held-out packages, each cut off after a key behind which closing brackets or quotes stand that an editor has
put there. The server's pipeline answers twice: as it is, so that a suggestion replaces them, and as if they were any
other text, so that it is inserted before them. Of other files, and of earlier keys, nothing is known. A suggestion is
right if what it writes comes next in the line.
"""

import argparse
import asyncio
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench import results
from bench.command import KEPT, at_least, guarded, line, own_engine, written
from bench.journal import Journal
from bench.progress import progress
from bench.replay import files, pairs
from bench.replay.user import first_line, judged
from dlsp.completions.closers import behind
from dlsp.completions.gate.learning import Learning
from dlsp.completions.service import CompletionService
from dlsp.completions.types import CompletionResult, Cursor, DocumentChange, Position
from dlsp.completions.worker import Worker
from dlsp.context.workspace import Workspace
from dlsp.engine.connection import EnginePool, SilentListener
from dlsp.models import catalogue
from dlsp.settings.schema import Settings
from dlsp.syntax import languages
from dlsp_engine.train.corpus.shards import Row, rows

BUDGET = 900  # tokens of context
SHORTEST, LONGEST, LEAST_LEFT = 12, 110, 4  # characters of a line, and of what is still to be written
TIMEOUT_S = 120
WAYS = ("replaced", "inserted")


@dataclass(frozen=True)
class Place:
    """A key after which `rest` comes next in the line, and `closers` stand behind the cursor."""

    id: str
    path: str
    before: str
    closers: str
    rest: str
    after: str


class Inserting(Cursor):
    """A cursor whose suggestions replace nothing."""

    def apart_from_closers(self) -> Cursor:
        return self


def columns(text: str) -> list[tuple[int, str]]:
    """Where in a line a key leaves closers behind the cursor, and these."""
    found: list[tuple[int, str]] = []
    closers = ""
    for at, key in enumerate(text, 1):
        closers = pairs.closers(key, text[: at - 1], closers, "\n")
        if closers and behind(text[:at], closers) and len(text) - at >= LEAST_LEFT:
            found.append((at, closers))
    return found


def places(documents: Sequence[Row], seed: int = 0) -> Iterator[Place]:
    """Places in lines drawn by chance, from all packages alike, never two in one line."""
    rng = random.Random(f"closers/{seed}")
    packages: dict[str, list[Row]] = {}
    for row in documents:
        packages.setdefault(row["package"], []).append(row)
    seen: set[tuple[str, str, int]] = set()
    while packages:
        row = rng.choice(packages[rng.choice(sorted(packages))])
        lines = row["text"].splitlines(keepends=True)
        number = rng.randrange(len(lines))
        text, key = lines[number].rstrip("\n"), (row["package"], row["path"], number)
        fits = SHORTEST <= len(text.strip()) <= LONGEST and text.lstrip()[0].isalnum() and key not in seen
        seen.add(key)
        if fits and (found := columns(text)):
            at, closers = rng.choice(found)
            before, after = "".join(lines[:number]) + text[:at], "\n" + "".join(lines[number + 1 :])
            name = f"{row['package']}/{row['path']}:{number + 1}:{at}"
            yield Place(name, row["path"], before, closers, text[at:], after)


async def answered(
    service: CompletionService, workspace: Workspace, settings: Settings, place: Place, way: str
) -> CompletionResult:
    """The pipeline's answer to the key that was typed last."""
    path = Path("/project") / Path(place.path).name
    language = languages.of(path)
    here = Position(place.before.count("\n"), len(place.before) - place.before.rfind("\n") - 1)
    typed = Position(here.line, here.character - 1)
    cursor = (Cursor if way == "replaced" else Inserting)(
        uri=path.as_uri(),
        path=path,
        name=path.name,
        language_id=language.name if language else "",
        language=language,
        version=1,
        text=place.before + place.closers + place.after,
        settings=settings,
        workspace=workspace,
        position=here,
        before=place.before,
        after=place.closers + place.after,
    )
    service.reset(cursor.uri)
    service.changed(cursor, cursor, DocumentChange(typed, typed, place.before[-1], len))
    return await service.complete(cursor, invoked=False, timeout_s=TIMEOUT_S)


def seen(place: Place, result: CompletionResult) -> dict[str, Any]:
    """What a user sees of an answer: whether its first line is right, how many of its characters are, and whether the
    line is whole with it. `behind`: it writes more behind closers that it replaces.
    """
    text, rest = first_line(result.text), place.rest.rstrip()
    right = bool(text) and judged(result.text, rest)[0]
    kept = place.closers[result.replaced :]
    return {
        "shown": int(bool(text)),
        "right": int(right),
        "characters": len(text) if right else 0,
        "whole": int(right and text + kept == rest),
        "behind": int(result.replaced > 0 and not text.endswith(place.closers[: result.replaced])),
    }


async def measure(model: catalogue.Model, chosen: Sequence[Place], journal: Journal) -> None:
    """Ask for what the journal lacks."""
    missing = [(place, way) for place in chosen for way in WAYS if f"{place.id} {way}" not in journal.entries]
    if not missing:
        return
    worker, engines = Worker(), EnginePool(SilentListener())
    service = CompletionService(engines, Learning(), [], worker, speculates=False)
    workspace, settings = Workspace(None, budget=BUDGET), Settings(chosen_model=model)
    with progress("asking", len(missing)) as advance:
        async with own_engine(model):
            for place, way in missing:
                result = await answered(service, workspace, settings, place, way)
                journal.add(
                    f"{place.id} {way}", seen(place, result) | {"skip": result.skip.code if result.skip else ""}
                )
                advance()
            service.close()
            await engines.close()
    worker.close()


def summary(samples: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Counts by way; `precision` is the share of what is shown that is right."""
    metrics: dict[str, float] = {"places": len(samples), "left": sum(sample["left"] for sample in samples)}
    for way in WAYS:
        for what in ("shown", "right", "whole", "characters", "behind"):
            metrics[f"{way}/{what}"] = sum(sample[way][what] for sample in samples)
        metrics[f"{way}/precision"] = round(metrics[f"{way}/right"] / max(1, metrics[f"{way}/shown"]), 4)
    return metrics


@guarded(KEPT)
def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.closers", description="Suggestions that replace closers.")
    parser.add_argument("--places", type=at_least(1), default=120)
    parser.add_argument("--model", default="0.5b")
    asked = parser.parse_args()
    model = catalogue.find(asked.model)
    documents = [row for row in rows(files.corpus(None), "heldout") if row["language"] in files.FILES]
    chosen = list(islice(places(documents), asked.places))
    bench = f"closers-{model.name}"
    journal = Journal(results.kept() / f"{bench}.jsonl")
    asyncio.run(measure(model, chosen, journal))
    samples = [
        {"place": place.id, "left": len(place.rest.rstrip())}
        | {way: journal.entries[f"{place.id} {way}"] for way in WAYS}
        for place in chosen
    ]
    metrics = summary(samples)
    table = Table("", *WAYS, title=f"{len(samples)} places")
    for what in ("shown", "right", "precision", "whole", "characters", "behind"):
        table.add_row(what, *(f"{metrics[f'{way}/{what}']:g}" for way in WAYS))
    Console().print(table)
    return written(bench, line(parser, asked), metrics, samples)


if __name__ == "__main__":
    sys.exit(main())
