"""The command: `python -m bench.pipeline --limit 40`."""

import argparse
import statistics
import sys
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from bench import results
from bench.command import KEPT, at_least, guarded, loaded, written
from bench.journal import Journal
from bench.pipeline.ways import NAMES, WAYS, asked, finished, tasks
from bench.progress import progress
from bench.quality.fills import digest
from bench.quality.score import judge, named, program
from bench.quality.sets import Task
from dlsp.models import catalogue
from dlsp_engine.train.bootstrap import interval

# By set and way, in the order of the tasks.
Texts = Mapping[str, Mapping[str, Sequence[str]]]


@guarded(KEPT)
def main(arguments: Sequence[str] | None = None) -> int:
    """0 when all was measured, 2 for what the user has to mend, 130 when stopped."""
    parser = argparse.ArgumentParser("python -m bench.pipeline", description=sys.modules["bench.pipeline"].__doc__)
    parser.add_argument("--sets", nargs="+", choices=NAMES, default=list(NAMES))
    parser.add_argument("--limit", type=at_least(1), default=40, help="tasks of each set")
    parser.add_argument("--model", default="0.5b")
    given = parser.parse_args(arguments)
    chosen = {name: tasks(name, given.limit) for name in given.sets}
    model = catalogue.find(given.model)
    folder = results.kept()
    answers = Journal(folder / f"pipeline-{model.name}.jsonl")
    _fill(chosen, answers, model)
    texts = {
        name: {way: [finished(task, name, way, answers.entries[_key(task, name, way)]) for task in of] for way in WAYS}
        for name, of in chosen.items()
    }
    passed = _judged(chosen, texts, Journal(folder / "verdicts.jsonl"))
    metrics = {}
    for name, of in chosen.items():
        found = compared([task.problem for task in of], *(passed[name][way] for way in WAYS))
        metrics |= {f"{name}/{what}": value for what, value in found.items()}
    _show(chosen, metrics)
    samples = [
        {"task": task.id, "set": name, **{way: int(passed[name][way][at]) for way in WAYS}}
        for name, of in chosen.items()
        for at, task in enumerate(of)
    ]
    command = f"python -m bench.pipeline --sets {' '.join(given.sets)} --limit {given.limit} --model {given.model}"
    return written(f"pipeline-{model.name}", command, metrics, samples)


def _fill(chosen: Mapping[str, Sequence[Task]], answers: Journal, model: catalogue.Model) -> None:
    """Ask the engine for every answer that is not there yet."""
    todo = [
        (task, name, way)
        for name, of in chosen.items()
        for task in of
        for way in WAYS
        if _key(task, name, way) not in answers.entries
    ]
    if not todo:
        return
    engine = loaded(model, "int8")
    from dlsp_engine import Gap, Options

    with progress("filling", len(todo)) as advance:
        for task, name, way in todo:
            wanted = asked(task, name, way)
            options = Options(mode="verified", end=wanted.end, max_tokens=wanted.max_tokens)
            answers.add(_key(task, name, way), engine.fill(Gap(wanted.prefix, wanted.suffix), options).text)
            advance()


def _judged(chosen: Mapping[str, Sequence[Task]], texts: Texts, verdicts: Journal) -> dict[str, dict[str, list[bool]]]:
    """Whether each program passes its test."""
    programs = {
        name: {way: [program(task, text) for task, text in zip(of, texts[name][way], strict=True)] for way in WAYS}
        for name, of in chosen.items()
    }
    every = {one for of in programs.values() for ways in of.values() for one in ways}
    with progress("running tests", sum(named(one) not in verdicts.entries for one in every)) as advance:
        why = judge(every, verdicts, advance)
    return {
        name: {way: [why[one] == "passed" for one in of] for way, of in ways.items()} for name, ways in programs.items()
    }


def compared(problems: Sequence[str], raw: Sequence[bool], pipeline: Sequence[bool]) -> dict[str, float]:
    """pass@1 of both, and the difference in points with its 95% interval."""
    points = [100.0 * (ours - alone) for alone, ours in zip(raw, pipeline, strict=True)]
    low, high = interval(problems, points)
    return {
        "tasks": len(points),
        "raw": round(statistics.fmean(raw), 4),
        "pipeline": round(statistics.fmean(pipeline), 4),
        "difference": round(statistics.fmean(points), 2),
        "difference_low": round(low, 2),
        "difference_high": round(high, 2),
    }


def _show(names: Mapping[str, object], metrics: Mapping[str, float]) -> None:
    table = Table("set", "tasks", "engine alone", "pipeline", "points (95%)", title="pass@1", title_justify="left")
    for name in names:
        tasks, raw, ours, points, low, high = (
            metrics[f"{name}/{what}"]
            for what in ("tasks", "raw", "pipeline", "difference", "difference_low", "difference_high")
        )
        cells = f"{raw:.1%}", f"{ours:.1%}", f"{points:+.1f} ({low:+.1f} to {high:+.1f})"
        table.add_row(name, f"{tasks:.0f}", *cells)
    Console().print(table)


def _key(task: Task, name: str, way: str) -> str:
    """Under what an answer is kept: all that was asked."""
    return f"{name} {task.id} {digest(repr(asked(task, name, way)))}"


if __name__ == "__main__":
    sys.exit(main())
