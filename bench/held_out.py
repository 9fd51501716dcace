"""Gaps cut from packages that no training saw: `python -m bench.held_out --kind inside --each 40`.

The gaps are drawn by a seed from the held-out packages of the corpus in DLSP_CORPUS_DIR. The engine fills them with
the rule `token`, so they end where the model ends them, or where they would repeat what stands behind the cursor.
Nothing is trimmed. There are no tests: a fill is right if it is the original, white space apart.
"""

import argparse
import os
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench import results
from bench.command import at_least, guarded, loaded, written
from bench.journal import Journal
from bench.progress import progress
from bench.quality import fills
from bench.quality.mistakes import breaks_syntax, repeats_suffix
from bench.quality.sets import Task
from bench.quality.variants import parse
from dlsp.errors import UserError
from dlsp.models import catalogue
from dlsp_engine.train.bootstrap import interval
from dlsp_engine.train.documents import Documents
from dlsp_engine.train.gaps import ENDS
from dlsp_engine.train.recipe import FillRecipe

LANGUAGES = ("cpp", "java", "typescript", "python")
WINDOW_CHARACTERS = 2_100  # around a gap
MAX_TOKENS = 128
MAX_CHARACTERS = 300  # of the original: MAX_TOKENS hold it
MAX_TRIES = 100_000
VARIANT = "verified"
SHARES = ("right", "ended", "ended_well")


def drawn(documents: Documents, kind: str, each: int, languages: Sequence[str]) -> list[Task]:
    """`each` gaps of a kind in every language, no two in one place. Gaps of the kind `inside` end before a closing
    bracket. Raises UserError if a language has too few.
    """
    tasks: list[Task] = []
    for language in languages:
        numbers = [number for number, row in enumerate(documents.rows) if row["language"] == language]
        found: dict[tuple[str, str], Task] = {}
        rng = random.Random(f"{kind}/{language}")
        for _ in range(MAX_TRIES if numbers else 0):
            if len(found) == each:
                break
            number = rng.choice(numbers)
            cut = documents.gap(number, kind, WINDOW_CHARACTERS, rng)
            if not cut or len(cut[1]) > MAX_CHARACTERS:
                continue
            gap, original = cut
            if kind == "inside" and gap.suffix[:1] not in tuple(")]}"):
                continue
            package = documents.rows[number]["package"]
            name = f"{language}/{package}/{kind}/{len(found)}"
            task = Task(name, "", gap.prefix, gap.suffix, original, "", language=language, path=gap.path)
            found.setdefault((gap.path, gap.prefix[-80:]), task)
        if len(found) < each:
            raise UserError(f"The corpus has only {len(found)} gaps '{kind}' in {language}; build a larger one.")
        tasks += found.values()
    return tasks


def judged(task: Task, fill: fills.Filled) -> dict[str, Any]:
    """Whether a fill is right, ended by itself, and did so at a place where the program may go on: the text before the
    suffix repeats none of it and adds no syntax error.
    """
    whole = not repeats_suffix(task, fill.text) and not breaks_syntax(task, fill.text)
    return {
        "task": task.id,
        "right": int("".join(fill.text.split()) == "".join(task.canonical.split())),
        "ended": int(fill.reason == "end"),
        "ended_well": int(fill.reason == "end" and whole),
        "forwards": fill.forwards,
        "tokens": fill.tokens,
    }


def summary(tasks: Sequence[Task], samples: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Shares over all gaps and in each language; `tau` is all tokens by all forwards."""
    metrics: dict[str, float] = {"gaps": len(samples)}
    for what in SHARES:
        metrics[what] = sum(sample[what] for sample in samples) / len(samples)
        for language in dict.fromkeys(task.language for task in tasks):
            own = [one[what] for task, one in zip(tasks, samples, strict=True) if task.language == language]
            metrics[f"{what}_{language}"] = sum(own) / len(own)
    metrics["right_low"], metrics["right_high"] = interval(
        ["/".join(task.id.split("/")[:2]) for task in tasks], [sample["right"] for sample in samples]
    )
    metrics["forwards_per_gap"] = sum(sample["forwards"] for sample in samples) / len(samples)
    metrics["tau"] = sum(sample["tokens"] for sample in samples) / sum(sample["forwards"] for sample in samples)
    return {name: round(value, 4) for name, value in metrics.items()}


@guarded()
def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser("python -m bench.held_out", description="Gaps in held-out packages.")
    parser.add_argument("--kind", choices=ENDS, default="inside")
    parser.add_argument("--each", type=at_least(1), default=40, help="gaps in each language")
    parser.add_argument("--languages", nargs="+", default=list(LANGUAGES))
    parser.add_argument("--model", default="0.5b")
    parser.add_argument("--variant", default=VARIANT, help="a way of filling, as `python -m bench.quality` names them")
    parser.add_argument("--infill-update", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument(
        "--adapters", type=Path, metavar="DIR", help="updates and canvas adapters, else those that ship"
    )
    asked = parser.parse_args(arguments)
    described = parse(asked.variant)
    corpus = os.environ.get("DLSP_CORPUS_DIR")
    if not corpus:
        raise UserError("Set DLSP_CORPUS_DIR to a corpus that `dlsp train corpus` built.")
    recipe = FillRecipe.read("infill-cpu")
    documents = Documents(Path(corpus), "heldout", recipe.seed, recipe.held_out)
    tasks = drawn(documents, asked.kind, asked.each, asked.languages)
    model = catalogue.find(asked.model)

    which = "" if asked.infill_update else "-published"
    which += f"-{asked.adapters.name}" if asked.adapters else ""
    which += "" if asked.variant == VARIANT else f"-{asked.variant.replace(':', '-')}"
    bench = f"held-out-{asked.kind}-{model.name}{which}"
    samples = [judged(*one) for one in zip(tasks, _filled(tasks, model, asked, bench, described), strict=True)]
    metrics = summary(tasks, samples)
    _show(metrics, asked.languages, bench)
    return written(bench, _command(asked), metrics, samples)


def _filled(
    tasks: Sequence[Task], model: catalogue.Model, asked: argparse.Namespace, bench: str, described: dict[str, Any]
) -> list[fills.Filled]:
    """The fills by the variant with the options `described`. Those of an earlier run are kept."""
    from dlsp_engine import Options

    variants = {asked.variant: Options(**described, end="token", max_tokens=MAX_TOKENS)}
    journal = Journal(results.kept(asked.adapters) / f"{bench}.jsonl")
    if groups := fills.missing(tasks, variants, journal):
        engine = loaded(model, "int8", asked.infill_update, adapters=asked.adapters)
        with progress("filling", sum(map(len, groups.values()))) as advance:
            fills.fill(engine, groups, variants, journal, results.commit(), advance)
    return fills.found(tasks, variants[asked.variant], journal)


def _show(metrics: dict[str, float], languages: Sequence[str], title: str) -> None:
    table = Table("", *languages, "all", title=title)
    for what in SHARES:
        table.add_row(what, *(f"{metrics[f'{what}_{language}']:.1%}" for language in languages), f"{metrics[what]:.1%}")
    Console().print(table)


def _command(asked: argparse.Namespace) -> str:
    words = ["python -m bench.held_out --kind", asked.kind, "--each", str(asked.each), "--languages", *asked.languages]
    words += [] if asked.variant == VARIANT else ["--variant", asked.variant]
    words += ["--model", asked.model, *([] if asked.infill_update else ["--no-infill-update"])]
    return " ".join([*words, *(["--adapters", asked.adapters.name] if asked.adapters else [])])


if __name__ == "__main__":
    sys.exit(main())
