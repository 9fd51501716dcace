"""Numbers of a variant over all tasks."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from bench.quality.fills import Filled
from bench.quality.score import Score
from bench.quality.sets import Task

RESAMPLES = 10_000


def measure(tasks: Sequence[Task], fills: Sequence[Filled], scores: Sequence[Score]) -> dict[str, float]:
    """Means over the gaps, pass@1 with its 95% interval; `tau` is all tokens by all forwards."""
    forwards = sum(fill.forwards for fill in fills)
    tokens = sum(fill.tokens for fill in fills)
    low, high = interval(tasks, [one.passed for one in scores])
    number = len(tasks)
    return {
        "pass_at_1": sum(one.passed for one in scores) / number,
        "pass_at_1_low": low,
        "pass_at_1_high": high,
        "exact": sum(one.exact for one in scores) / number,
        "similarity": sum(one.similarity for one in scores) / number,
        "forwards_per_gap": forwards / number,
        "rows_per_gap": sum(fill.rows for fill in fills) / number,
        "tokens_per_gap": tokens / number,
        "tau": tokens / forwards if forwards else 0.0,
    }


def compare(
    fills: Sequence[Filled],
    scores: Sequence[Score],
    base_fills: Sequence[Filled],
    base_scores: Sequence[Score],
) -> dict[str, float]:
    """Against the autoregressive fills: the share of equal texts, the difference of pass@1 in points."""
    same = sum(mine.text == base.text for mine, base in zip(fills, base_fills, strict=True))
    points = sum(mine.passed - base.passed for mine, base in zip(scores, base_scores, strict=True))
    return {"identical": same / len(fills), "pass_difference": 100 * points / len(scores)}


def interval(tasks: Sequence[Task], passed: Sequence[bool]) -> tuple[float, float]:
    """The 95% bootstrap interval of pass@1. Whole problems are drawn: the gaps of one program are no
    independent witnesses, and the interval would come out too narrow."""
    problems: dict[str, list[bool]] = defaultdict(list)
    for task, one in zip(tasks, passed, strict=True):
        problems[task.problem].append(one)
    hits = np.array([sum(ones) for ones in problems.values()])
    sizes = np.array([len(ones) for ones in problems.values()])
    drawn = np.random.default_rng(0).integers(0, len(sizes), (RESAMPLES, len(sizes)))
    means = hits[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    low, high = np.percentile(means, (2.5, 97.5))
    return float(low), float(high)
