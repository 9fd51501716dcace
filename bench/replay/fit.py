"""Fit the gate's calibration on replayed typing: `python -m bench.replay.fit`, after

    python -m bench.replay --split fit --patient --contenders dlsp:suggest=eager

with `least` in `dlsp/gate/calibration.json` set to 0, so that every answer is shown and judged. Writes that file.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from bench import results
from bench.command import MEND
from bench.quality.journal import Journal
from bench.replay.user import read
from dlsp.gate.calibration import FILE
from dlsp.models import catalogue

CONTENDER = "dlsp:suggest=eager"
FOLDS, RIDGE, STEPS = 5, 1.0, 30
RIGHT = 0.74
"""So many of those shown in `auto` are to be right here, where every answer comes in time and all of a script counts:
0.65 came to 0.50 by the clock, and 0.6 is wanted there."""
LOST = 0.03
"""So many of the right ones may be lost by not asking."""
EAGER = 0.15
BINS = (0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 1.0)


@dataclass(frozen=True)
class Samples:
    """Features by name [samples, features], whether each was right, and the script that each is from."""

    names: list[str]
    features: np.ndarray
    right: np.ndarray
    groups: np.ndarray

    def of(self, names: list[str]) -> "Samples":
        """With these features alone."""
        columns = [self.names.index(name) for name in names]
        return Samples(names, self.features[:, columns], self.right, self.groups)


def samples(journal: Journal, shown: bool) -> Samples:
    """The moments of the journal that have features: of what was shown, or all of them.

    What is left of a suggestion that was there at the key before is no new one: it was wrong, or it had been accepted.
    """
    rows: list[tuple[dict[str, float], bool, str]] = []
    for key, entry in journal.entries.items():
        if not key.startswith(f"{CONTENDER} "):
            continue
        for moment in read(entry["moments"]):
            features = moment.facts.get("decision", {}).get("features")
            if features is not None and not moment.again and (moment.text or not shown):
                rows.append((features, moment.right, key))
    names = sorted({name for features, _, _ in rows for name in features})
    table = np.array([[features.get(name, 0.0) for name in names] for features, _, _ in rows], dtype=float)
    groups = np.array([key for _, _, key in rows])
    return Samples(names, table, np.array([right for _, right, _ in rows], dtype=float), groups)


def logistic(features: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The weights of a ridge logistic regression, the bias first (and without the ridge), by Newton's steps."""
    with_bias = np.hstack([np.ones((len(features), 1)), features])
    ridge = RIDGE * np.eye(with_bias.shape[1])
    ridge[0, 0] = 1e-6
    weights = np.zeros(with_bias.shape[1])
    for _ in range(STEPS):
        foretold = sigmoid(with_bias @ weights)
        slope = with_bias.T @ (right - foretold) - ridge @ weights
        bend = (with_bias * (foretold * (1 - foretold))[:, None]).T @ with_bias + ridge
        weights += np.linalg.solve(bend, slope)
    return weights


def held_out(data: Samples) -> np.ndarray:
    """The probability of each sample by a fit that has not seen its script."""
    scripts = sorted(set(data.groups))
    fold_of = {script: number % FOLDS for number, script in enumerate(np.random.default_rng(0).permutation(scripts))}
    folds = np.array([fold_of[group] for group in data.groups])
    foretold = np.zeros(len(data.right))
    for fold in range(FOLDS):
        inside, outside = folds != fold, folds == fold
        weights = logistic(data.features[inside], data.right[inside])
        foretold[outside] = sigmoid(weights[0] + data.features[outside] @ weights[1:])
    return foretold


def least_right(foretold: np.ndarray, right: np.ndarray, share: float) -> float:
    """The lowest probability from which on at least this share of what is shown is right."""
    for least in np.arange(0.05, 0.96, 0.01):
        shown = foretold >= least
        if shown.any() and right[shown].mean() >= share:
            return round(float(least), 2)
    return 0.95


def least_kept(foretold: np.ndarray, right: np.ndarray, lost: float) -> float:
    """The highest probability below which at most this share of the right ones lies."""
    return round(float(np.quantile(foretold[right > 0], lost)), 3)


def reliability(foretold: np.ndarray, right: np.ndarray) -> list[dict[str, float]]:
    """For each bin of the probability: how many, what was foretold on average, how many were right."""
    bins = []
    for low, high in pairwise(BINS):
        inside = (foretold >= low) & (foretold < high if high < 1 else foretold <= high)
        if number := int(inside.sum()):
            means = foretold[inside].mean(), right[inside].mean()
            bins.append({"from": low, "number": number, "foretold": _short(means[0]), "right": _short(means[1])})
    return bins


def sigmoid(logits: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-np.clip(logits, -30, 30)))


def _model(data: Samples) -> dict[str, Any]:
    bias, *weights = logistic(data.features, data.right)
    return {"bias": _short(bias), "weights": {name: _short(one) for name, one in zip(data.names, weights, strict=True)}}


def _short(value: float) -> float:
    return round(float(value), 4)


def fitted(show: Samples, ask: Samples, origin: str) -> dict[str, Any]:
    """The whole table, with the reliability of both models on scripts that their fit had not seen."""
    shows, asks = held_out(show), held_out(ask)
    return {
        "origin": origin,
        "ask": _model(ask),
        "show": _model(show),
        "least": {
            "ask": {"auto": least_kept(asks, ask.right, LOST), "eager": 0.0},
            "show": {"auto": least_right(shows, show.right, RIGHT), "eager": EAGER},
        },
        "reliability": {"ask": reliability(asks, ask.right), "show": reliability(shows, show.right)},
    }


def _print(name: str, data: Samples, foretold: np.ndarray, say: Callable[[str], None] = print) -> None:
    order = np.argsort(foretold)
    ranks = np.empty(len(order))
    ranks[order] = np.arange(len(order))
    positive = int(data.right.sum())
    area = (ranks[data.right > 0].sum() - positive * (positive - 1) / 2) / max(1, positive * (len(order) - positive))
    say(f"{name}: {len(order)} moments of {len(set(data.groups))} scripts, {positive} right, area under ROC {area:.3f}")
    for each in reliability(foretold, data.right):
        say(f"  from {each['from']:.0%}: {each['number']:5} foretold {each['foretold']:.0%} right {each['right']:.0%}")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser("python -m bench.replay.fit", description=sys.modules[__name__].__doc__)
    parser.add_argument("--model", default="0.5b")
    parser.add_argument("--out", type=Path, default=FILE)
    asked = parser.parse_args(arguments)
    model = catalogue.find(asked.model)
    journal = Journal(results.kept() / "replay" / f"replay-fit-patient-{model.name}.jsonl")
    show, everything = samples(journal, shown=True), samples(journal, shown=False)
    if not len(show.right) or len(set(show.groups)) < FOLDS:
        print("There is too little to fit on: play the scripts of `--split fit` first.", file=sys.stderr)
        return MEND
    known = json.loads(FILE.read_text(encoding="utf-8"))
    answers = {"log_p", "least", "sure", "length", "short", "letters", "agreed"}
    ask = everything.of([name for name in everything.names if name not in answers])
    scripts = len(set(show.groups))
    origin = f"python -m bench.replay.fit: {len(show.right)} suggestions at {len(ask.right)} keys of {scripts} scripts"
    table = known | fitted(show, ask, origin)
    for name, data in (("ask", ask), ("show", show)):
        _print(name, data, held_out(data))
    print("least:", table["least"])
    asked.out.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    print(f"Written to {asked.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
