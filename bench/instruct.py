"""Whether an infill update harms chats: `python -m bench.instruct --model 0.5b`.

The tasks are HumanEval's 164, by instruction, answered at temperature 0 in three ways: by the model as it ships, which
takes the infill update in its weights back from the rows of chats; by the model as it was published; and by the model
with the update in its weights for all rows. Each answer's program is run with its test. A run that is stopped goes on
from there.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from bench import humaneval, results
from bench.command import DTYPES, at_least, guarded, line, loaded, written
from bench.journal import Journal
from bench.progress import progress
from bench.quality import sandbox
from bench.quality.paired import paired
from dlsp.models.catalogue import find
from dlsp_engine.train.bootstrap import interval

if TYPE_CHECKING:
    from dlsp_engine import Engine

SHIPPED, PUBLISHED, MERGED = WAYS = "shipped", "published", "merged"
AT_ONCE = 8  # chats that share a step


def answers(engine: "Engine", tasks: Sequence[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """The id of each task and its answer, as answers end. Several are written at once, which changes none of them."""
    from dlsp_engine import Options
    from dlsp_engine.text.chat import Generation

    assert engine.chat, "the model has a chat template"
    options, waiting, running = Options(max_tokens=humaneval.MAX_TOKENS), list(reversed(tasks)), dict[Any, str]()
    while waiting or running:
        while waiting and len(running) < AT_ONCE:
            task = waiting.pop()
            asked = Generation(engine.chat.parts(humaneval.messages(task), []))
            running[engine.generation_request(asked, options)] = task["task_id"]
        for request in engine.step(list(running)):
            if request.done:
                yield running.pop(request), request.outcome().text


def summary(samples: Sequence[dict[str, Any]]) -> dict[str, float]:
    """pass@1 of each way; of the others than the published model, the points that they gain on it with their 95%
    interval, and the tasks won and lost.
    """
    metrics: dict[str, float] = {"tasks": len(samples)}
    right = {way: {each["task"]: bool(each[way]) for each in samples} for way in WAYS}
    metrics |= {f"{way}/pass@1": sum(right[way].values()) / len(samples) for way in WAYS}
    for way in (SHIPPED, MERGED):
        both = paired(right[PUBLISHED], right[way])
        gains = [100.0 * (each[way] - each[PUBLISHED]) for each in samples]
        low, high = interval([each["task"] for each in samples], gains)
        found = {"points": sum(gains) / len(gains), "points_low": low, "points_high": high}
        found |= {"won": both.won, "lost": both.lost, "p": both.p}
        metrics |= {f"{way}/{name}": value for name, value in found.items()}
    return {name: round(value, 4) for name, value in metrics.items()}


def measured(asked: argparse.Namespace) -> list[dict[str, Any]]:
    """Each task and by way whether its answer passes: 1 or 0."""
    model, tasks = find(asked.model), humaneval.tasks()[: asked.tasks]
    by_id = {task["task_id"]: task for task in tasks}
    journal = Journal(results.kept() / f"instruct-{model.name}-{asked.dtype}.jsonl")
    for way in WAYS:
        missing = [task for task in tasks if f"{way} {task['task_id']}" not in journal.entries]
        if not missing:
            continue
        engine = loaded(model, asked.dtype, infill_update=way != PUBLISHED)
        engine.model.removes_update &= way == SHIPPED
        with progress(way, len(missing)) as advance:
            for name, answer in answers(engine, missing):
                verdict = sandbox.run(humaneval.program(by_id[name], answer))
                journal.add(f"{way} {name}", [answer, int(verdict.passed)])
                advance()
    return [{"task": name} | {way: journal.entries[f"{way} {name}"][1] for way in WAYS} for name in by_id]


@guarded()
def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.instruct", description="Chats with the infill update.")
    parser.add_argument("--tasks", type=at_least(2), default=164)
    parser.add_argument("--model", default="0.5b")
    parser.add_argument("--dtype", default="int8", choices=DTYPES)
    asked = parser.parse_args(argv)
    samples = measured(asked)
    metrics = summary(samples)
    for name, value in metrics.items():
        print(f"{name:20} {value:g}")
    return written(f"instruct-{find(asked.model).name}", line(parser, asked), metrics, samples)


if __name__ == "__main__":
    sys.exit(main())
