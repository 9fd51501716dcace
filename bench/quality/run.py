"""A whole run: fill, judge, measure, write."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import results
from bench.journal import Journal
from bench.progress import progress
from bench.quality import sandbox
from bench.quality.fills import Filled, digest, fill, found, key, missing
from bench.quality.metrics import compare, measure
from bench.quality.score import Score, judge, named, program, score
from bench.quality.sets import SETS, Task
from bench.quality.table import show

if TYPE_CHECKING:
    from dlsp_engine import Engine, Options

BASE, FLOOR = "autoregressive", "empty"


@dataclass(frozen=True)
class Plan:
    """What to run. `bench` names the results, `journal` what is kept in `folder`, outside the repository."""

    bench: str
    journal: str
    set: str
    tasks: Sequence[Task]
    variants: Mapping[str, "Options"]
    folder: Path
    command: str
    out: Path | None = None
    fresh: bool = False


def run(plan: Plan, load: Callable[[], "Engine"]) -> Path:
    """Do what is left of the plan, show its table, write its results file and return the path of that.

    `load` is called only where a fill is missing.
    """
    layers = sandbox.layers()
    filled = _fill(plan, load)
    if all(task.language == "python" for task in plan.tasks):  # other programs take seconds to build
        filled = {FLOOR: [Filled("") for _ in plan.tasks], **filled}
    scored = _score(plan, filled)
    measured = {name: measure(plan.tasks, filled[name], scored[name]) for name in filled}
    if BASE in filled:
        for name in plan.variants.keys() - {BASE}:
            measured[name] |= compare(filled[name], scored[name], filled[BASE], scored[BASE])
    show(f"{plan.bench}: {len(plan.tasks)} gaps", measured)
    return results.write(
        plan.bench,
        plan.command,
        {f"{name}/{what}": round(number, 5) for name, of in measured.items() for what, number in of.items()},
        [_sample(task, at, filled, scored) for at, task in enumerate(plan.tasks)],
        plan.out,
        sandbox=layers,
        filled_by=Counter(one.commit for name in plan.variants for one in filled[name]),
    )


def _fill(plan: Plan, load: Callable[[], "Engine"]) -> dict[str, list[Filled]]:
    journal = Journal(plan.folder / f"{plan.journal}.jsonl")
    if plan.fresh:
        journal.forget({key(task, options) for task in plan.tasks for options in plan.variants.values()})
    groups = missing(plan.tasks, plan.variants, journal)
    if groups:
        engine = load()
        with progress("filling", sum(len(names) * len(tasks) for names, tasks in groups.items())) as advance:
            fill(engine, groups, plan.variants, journal, results.commit(), advance)
    return {name: found(plan.tasks, options, journal) for name, options in plan.variants.items()}


def _score(plan: Plan, filled: Mapping[str, Sequence[Filled]]) -> dict[str, list[Score]]:
    """A score for every fill; all programs that are new are run."""
    whole = SETS[plan.set].text
    texts = {
        name: ["" if name == FLOOR else whole(task, one.text) for task, one in zip(plan.tasks, of, strict=True)]
        for name, of in filled.items()
    }
    pairs = {name: list(zip(plan.tasks, of, strict=True)) for name, of in texts.items()}
    programs = {program(task, text) for of in pairs.values() for task, text in of}
    verdicts = Journal(plan.folder.parent / "verdicts.jsonl")  # the same for all weights
    with progress("running tests", sum(named(one) not in verdicts.entries for one in programs)) as advance:
        why = judge(programs, verdicts, advance)
    return {name: [score(task, text, why[program(task, text)]) for task, text in of] for name, of in pairs.items()}


def _sample(
    task: Task, at: int, filled: Mapping[str, Sequence[Filled]], scored: Mapping[str, Sequence[Score]]
) -> dict[str, Any]:
    """One task in every variant; of a text only its hash, which tells equal from different."""
    sample: dict[str, Any] = {"task": task.id}
    for name in filled:
        if name == FLOOR:
            continue
        one, value = filled[name][at], scored[name][at]
        sample[name] = {
            "text": digest(one.text)[:8],
            "pass": int(value.passed),
            "exact": int(value.exact),
            "similarity": round(value.similarity, 2),
            "forwards": one.forwards,
            "tokens": one.tokens,
        }
    return sample
