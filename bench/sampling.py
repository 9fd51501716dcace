"""What a token costs above temperature 0, against greedy decoding: `python -m bench.sampling --gaps 60`.

Gaps are single-line HumanEval-Infilling. Each is prefilled once; every variant then decodes it from a copy of that
session, in an order that changes from gap to gap. Answers end after `--tokens` tokens or at the model's own end. Times
are decode milliseconds per committed token, over all gaps.
"""

import argparse
import statistics
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bench.command import DTYPES, at_least, guarded, line, loaded, written
from bench.decode import measure
from bench.quality.sets import load
from dlsp.models import catalogue

if TYPE_CHECKING:
    from dlsp_engine import Fill, Options

GREEDY = "greedy"
MODES = ("autoregressive", "verified")


def variants(tokens: int) -> dict[str, "Options"]:
    """By `mode/way of choosing`; the greedy ones are what the others are compared with."""
    from dlsp_engine import Options

    ways = {
        GREEDY: {},
        "0.8": {"temperature": 0.8},
        "0.8-top-p": {"temperature": 0.8, "top_p": 0.95},
        "0.8-top-k": {"temperature": 0.8, "top_k": 40},
        "0.8-min-p": {"temperature": 0.8, "min_p": 0.05},
        "1.0": {"temperature": 1.0},
    }
    return {
        f"{mode}/{way}": Options(mode=mode, end="token", max_tokens=tokens, seed=1, **more)
        for mode in MODES
        for way, more in ways.items()
    }


def summary(measured: Sequence[dict[str, "Fill"]]) -> dict[str, float]:
    """By variant: milliseconds per token and per step, both also relative to greedy decoding in the same mode, per step
    also as the median of the gaps' ratios, which a slow moment does not change; tau; and the share of answers that are
    the same as those of the mode `autoregressive`.
    """
    metrics: dict[str, float] = {}
    for name in sorted(measured[0], key=lambda name: not name.endswith(GREEDY)):
        mode, _, way = name.partition("/")
        fills = [found[name] for found in measured]
        spent, forwards, tokens = (
            sum(getattr(fill.cost, field) for fill in fills) for field in ("decode_ms", "forwards", "tokens")
        )
        metrics |= {f"{name}/ms_per_token": spent / tokens, f"{name}/ms_per_step": spent / forwards}
        metrics |= {f"{name}/tau": tokens / forwards, f"{name}/tokens": tokens}
        for of in ("token", "step"):
            greedy = metrics[f"{mode}/{GREEDY}/ms_per_{of}"]
            metrics[f"{name}/per_{of}_to_greedy"] = metrics[f"{name}/ms_per_{of}"] / greedy
        by_gap = [
            (found[name].cost.decode_ms * found[f"{mode}/{GREEDY}"].cost.forwards)
            / (found[name].cost.forwards * found[f"{mode}/{GREEDY}"].cost.decode_ms)
            for found in measured
        ]
        metrics[f"{name}/per_step_to_greedy/median"] = statistics.median(by_gap)
        same = sum(found[name].tokens == found[f"{MODES[0]}/{way}"].tokens for found in measured)
        metrics[f"{name}/identical"] = same / len(measured)
    return {name: round(value, 4) for name, value in metrics.items()}


@guarded()
def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.sampling", description="Sampling against greedy decoding.")
    parser.add_argument("--gaps", type=at_least(2), default=60)
    parser.add_argument("--tokens", type=at_least(1), default=32, help="of an answer, at most")
    parser.add_argument("--model", default="0.5b")
    parser.add_argument("--dtype", default="int8", choices=DTYPES)
    asked = parser.parse_args()
    model, tasks = catalogue.find(asked.model), load("single-line", asked.gaps, seed=0)
    engine, wanted = loaded(model, asked.dtype), variants(asked.tokens)
    from dlsp_engine import Gap

    measured = measure(engine, [Gap(task.prefix, task.suffix) for task in tasks], wanted)
    metrics = summary(measured)
    for name, value in metrics.items():
        print(f"{name}: {value}")
    samples = [
        {"task": task.id}
        | {name: [round(f.cost.decode_ms, 1), f.cost.forwards, f.cost.tokens] for name, f in fills.items()}
        for task, fills in zip(tasks, measured, strict=True)
    ]
    return written(f"sampling-{model.name}-{asked.dtype}", line(parser, asked), metrics, samples)


if __name__ == "__main__":
    sys.exit(main())
