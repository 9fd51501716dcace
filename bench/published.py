"""How near chats come to the model as published, and what this costs: `python -m bench.published --model 0.5b`.

The infill update is in the weights and is taken back from the rows of chats. The text is HumanEval's tasks, by
instruction, each with its own solution as the answer, of which all tokens count. It is read in three ways: by the model
as published, by the one that ships, and by that one with the update in all rows. Times are those of steps on rows of
gaps and of chats, and of the model as published, by turns.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench import humaneval
from bench.command import DTYPES, at_least, guarded, line, loaded, written
from bench.progress import progress
from dlsp.models.catalogue import Model, find
from dlsp_engine.train.bootstrap import interval

if TYPE_CHECKING:
    from dlsp_engine import Engine
    from dlsp_engine.model.cache import Cache

PUBLISHED, SHIPPED, MERGED = WAYS = "published", "shipped", "merged"
CHAT_ROWS, GAP_ROWS = "chats", "gaps"
STEP_ROWS = (1, 5, 128)
CACHED_TOKENS = 256  # before the rows of a timed step


@dataclass(frozen=True)
class Answer:
    """What a model says of an answer: nats of each of its tokens, and the most likely token in each place."""

    nats: tuple[float, ...]
    likeliest: tuple[int, ...]


def read(engine: "Engine", task: dict[str, Any], published: bool) -> Answer:
    """Read a task's chat with its solution, in steps of at most 128 rows."""
    import torch

    from dlsp_engine.text.chat import Generation

    assert engine.chat, "the model has a chat template"
    asked = engine.prompt(Generation(engine.chat.parts(humaneval.messages(task), []))).tokens
    solution = f"```python\n{task['prompt']}{task['canonical_solution']}```"
    session = engine.new_session(published)
    session.advance([*asked, *engine.tokenizer.encode(solution)])
    nats, likeliest = list[float](), list[int]()
    while rows := session.prefill():
        start, count = session.cache.length, len(rows)
        hidden = engine.model.forward([(session.cache, rows)])
        counted = [row for row in range(count) if start + row >= len(asked) - 1]
        if counted:
            following = torch.tensor([session.tokens[start + row + 1] for row in counted])
            scores = engine.model.head(hidden[counted]).float().log_softmax(1)
            nats += (-scores.gather(1, following[:, None])[:, 0]).tolist()
            likeliest += scores.argmax(1).tolist()
        session.extend([], count)
    return Answer(tuple(nats), tuple(likeliest))


def summary(found: dict[str, list[Answer]]) -> dict[str, float]:
    """By way: nats a token; and beside the model as published, nats more with their 95% interval over tasks, how far a
    token's nats are from it, and how often the most likely token is the same.
    """
    metrics: dict[str, float] = {"tokens": sum(len(each.nats) for each in found[PUBLISHED])}
    for way, answers in found.items():
        metrics[f"{way}/nats"] = statistics.mean(nats for each in answers for nats in each.nats)
        if way == PUBLISHED:
            continue
        both = [*zip(answers, found[PUBLISHED], strict=True)]
        more = [statistics.mean(one.nats) - statistics.mean(other.nats) for one, other in both]
        low, high = interval([str(number) for number in range(len(more))], more)
        metrics |= {f"{way}/more_nats": statistics.mean(more), f"{way}/more_nats_low": low}
        apart = [abs(mine - its) for one, other in both for mine, its in zip(one.nats, other.nats, strict=True)]
        same = [mine == its for one, other in both for mine, its in zip(one.likeliest, other.likeliest, strict=True)]
        metrics |= {f"{way}/more_nats_high": high, f"{way}/apart_nats": statistics.mean(apart)}
        metrics[f"{way}/same_token"] = statistics.mean(same)
    return metrics


def _prepared(engine: "Engine", published: bool) -> "Cache":
    session = engine.new_session(published)
    session.advance([1000 + at for at in range(CACHED_TOKENS + 1)])
    while rows := session.prefill():
        engine.model.forward([(session.cache, rows)])
        session.extend([], len(rows))
    return session.cache


def times(published: "Engine", shipped: "Engine", repeats: int) -> dict[str, float]:
    """Median milliseconds of a step by its rows and their kind, and how many times as long it takes as that of the
    model as published, as a median over turns.
    """
    from dlsp_engine.model.rows import Rows
    from dlsp_engine.threads import using

    sides = {PUBLISHED: (published, False), GAP_ROWS: (shipped, False), CHAT_ROWS: (shipped, True)}
    caches = {name: _prepared(*side) for name, side in sides.items()}
    metrics: dict[str, float] = {}
    for count in STEP_ROWS:
        rows = Rows()
        rows.add_clean([2000 + at for at in range(count)], CACHED_TOKENS)
        took: dict[str, list[float]] = {name: [] for name in sides}
        for turn in range(-3, repeats):
            for name in [*sides][:: 1 if turn % 2 else -1]:
                began = time.perf_counter()
                with using(shipped.backend.costs.threads_for(count)):
                    sides[name][0].model.forward([(caches[name], rows)])
                if turn >= 0:
                    took[name].append(1e3 * (time.perf_counter() - began))
        for name, of in took.items():
            ratios = [mine / its for mine, its in zip(of, took[PUBLISHED], strict=True)]
            metrics |= {f"{count}/{name}/ms": statistics.median(of), f"{count}/{name}/times": statistics.median(ratios)}
    return metrics


def measured(model: Model, dtype: str, tasks: Sequence[dict[str, Any]], repeats: int) -> dict[str, float]:
    published, shipped = loaded(model, dtype, infill_update=False), loaded(model, dtype)
    ways: dict[str, Callable[[dict[str, Any]], Answer]] = {
        PUBLISHED: lambda task: read(published, task, published=False),
        SHIPPED: lambda task: read(shipped, task, published=True),
        MERGED: lambda task: read(shipped, task, published=False),
    }
    found: dict[str, list[Answer]] = {way: [] for way in WAYS}
    with progress("reading", len(tasks)) as advance:
        for task in tasks:
            for way, answer in ways.items():
                found[way].append(answer(task))
            advance()
    return summary(found) | times(published, shipped, repeats)


@guarded()
def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.published", description="Chats beside the published model.")
    parser.add_argument("--tasks", type=at_least(2), default=40)
    parser.add_argument("--model", default="0.5b")
    parser.add_argument("--dtype", default="int8", choices=DTYPES)
    parser.add_argument("--repeats", type=at_least(2), default=40, help="of each timed step")
    asked = parser.parse_args(argv)
    model = find(asked.model)
    metrics = measured(model, asked.dtype, humaneval.tasks()[: asked.tasks], asked.repeats)
    metrics = {name: round(value, 4) for name, value in metrics.items()}
    for name, value in metrics.items():
        print(f"{name:28} {value:g}")
    return written(f"published-{model.name}-{asked.dtype}", line(parser, asked), metrics, [])


if __name__ == "__main__":
    sys.exit(main())
