"""Numbers of a variant over all tasks."""

from collections import defaultdict
from collections.abc import Sequence

from bench.quality.fills import Filled
from bench.quality.score import Score
from bench.quality.sets import Task
from dlsp_engine.train.bootstrap import interval


def measure(tasks: Sequence[Task], fills: Sequence[Filled], scores: Sequence[Score]) -> dict[str, float]:
    """Means over the gaps, pass@1 with its 95% interval; `tau` is all tokens by all forwards, `ended` the share of gaps
    that end by the model's own end token; `repeats` and `breaks` the shares that fail and make these mistakes.
    """
    forwards = sum(fill.forwards for fill in fills)
    tokens = sum(fill.tokens for fill in fills)
    low, high = interval([task.problem for task in tasks], [one.passed for one in scores])
    number = len(tasks)
    return {
        **_by_language(tasks, scores),
        "pass_at_1": sum(one.passed for one in scores) / number,
        "pass_at_1_low": low,
        "pass_at_1_high": high,
        "exact": sum(one.exact for one in scores) / number,
        "repeats": sum(one.repeats for one in scores) / number,
        "breaks": sum(one.breaks for one in scores) / number,
        "similarity": sum(one.similarity for one in scores) / number,
        "forwards_per_gap": forwards / number,
        "rows_per_gap": sum(fill.rows for fill in fills) / number,
        "tokens_per_gap": tokens / number,
        "ended": sum(fill.reason == "end" for fill in fills) / number,
        "tau": tokens / forwards if forwards else 0.0,
    }


def _by_language(tasks: Sequence[Task], scores: Sequence[Score]) -> dict[str, float]:
    """pass@1 in each language, if there are several."""
    passed: dict[str, list[bool]] = defaultdict(list)
    for task, one in zip(tasks, scores, strict=True):
        passed[task.language].append(one.passed)
    return {f"pass_at_1_{name}": sum(of) / len(of) for name, of in passed.items()} if len(passed) > 1 else {}


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
