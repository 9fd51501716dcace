"""Fit the gate's table, `dlsp/completions/gate/calibration.json`, on replayed typing: `python -m bench.replay.fit`.

First the scripts of `--split fit` are played, those that were not yet, with every answer shown and none accepted: every
answer, what is left of it at each key that agrees with it, and each part of it that could be offered, is judged. Then
the table is fitted on them and written.

With `--model 1.5b`, whose weights are as published, only what the table adds for such weights is fitted and written.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from bench import results
from bench.command import MEND
from bench.journal import Journal
from bench.logistic import intercept, logistic, sigmoid
from bench.replay.__main__ import main as play
from bench.replay.samples import CONTENDER, Answered, Samples, asked, places, samples, shown
from dlsp.completions.gate.calibration import FILE
from dlsp.completions.gate.features import Facts, of_cursor
from dlsp.models import catalogue

FACTS = list(of_cursor(Facts("", "")))
REPLAY = ["--split", "fit", "--patient", "--accepts", "nothing", "--contenders", CONTENDER]
FOLDS, RIDGE = 5, 1.0
# So many of the suggestions that `auto` shows are to be right: what is wrong costs a reader more than silence.
RIGHT = 0.85
# So many of the right ones may be lost by not asking.
LOST = 0.03
EAGER = 0.15
LOOK = (0.3, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85)
BINS = (0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 1.0)


def fit(features: np.ndarray, right: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The weights of a ridge logistic regression, the bias first, without the ridge; each sample `counts` so much."""
    with_bias = np.hstack([np.ones((len(features), 1)), features])
    return logistic(with_bias, right, np.array([1e-6] + [RIDGE] * features.shape[1]), counts)


def held_out(data: Samples) -> np.ndarray:
    """The probability of each sample by a fit that has not seen its script."""
    scripts = sorted(set(data.groups))
    fold_of = {script: number % FOLDS for number, script in enumerate(np.random.default_rng(0).permutation(scripts))}
    folds = np.array([fold_of[group] for group in data.groups])
    predicted = np.zeros(len(data.right))
    for fold in range(FOLDS):
        inside, outside = folds != fold, folds == fold
        weights = fit(data.features[inside], data.right[inside], data.weights[inside])
        predicted[outside] = sigmoid(weights[0] + data.features[outside] @ weights[1:])
    return predicted


def least_right(found: Sequence[Answered], predicted: np.ndarray, share: float) -> float:
    """The lowest probability from which on at least this share of the suggestions that are shown is right."""
    for least in np.arange(0.05, 0.96, 0.01):
        seen = shown(found, predicted, least)
        if seen.number and seen.right >= share * seen.number:
            return round(float(least), 2)
    return 0.95


def least_kept(predicted: np.ndarray, right: np.ndarray, lost: float) -> float:
    """The highest probability below which at most this share of the right ones lies."""
    return round(float(np.quantile(predicted[right > 0], lost)), 3)


def reliability(predicted: np.ndarray, right: np.ndarray) -> list[dict[str, float]]:
    """For each bin of the probability: how many, what was predicted on average, how many were right."""
    bins = []
    for low, high in pairwise(BINS):
        inside = (predicted >= low) & (predicted < high if high < 1 else predicted <= high)
        if number := int(inside.sum()):
            means = predicted[inside].mean(), right[inside].mean()
            bins.append({"from": low, "number": number, "predicted": _short(means[0]), "right": _short(means[1])})
    return bins


def _model(data: Samples) -> dict[str, Any]:
    bias, *weights = fit(data.features, data.right, data.weights)
    return {"bias": _short(bias), "weights": {name: _short(one) for name, one in zip(data.names, weights, strict=True)}}


def _short(value: float) -> float:
    return round(float(value), 4)


def fitted(answers: Sequence[Answered], keystrokes: Sequence[Answered], origin: str) -> dict[str, Any]:
    """What the table says of answers of updated weights, and how reliable that is on scripts that no fit had seen."""
    show, ask = samples(answers), samples(keystrokes, FACTS)
    shows, asks = held_out(show), held_out(ask)
    return {
        "origin": origin,
        "ask": _model(ask),
        "show": _model(show),
        "least": {
            "ask": {"auto": least_kept(asks, ask.right, LOST), "eager": 0.0},
            "show": {"auto": least_right(answers, shows, RIGHT), "eager": EAGER},
        },
        "reliability": {"ask": reliability(asks, ask.right), "show": reliability(shows, show.right)},
    }


def _print(name: str, data: Samples, predicted: np.ndarray) -> None:
    order = np.argsort(predicted)
    ranks = np.empty(len(order))
    ranks[order] = np.arange(len(order))
    positive = int(data.right.sum())
    area = (ranks[data.right > 0].sum() - positive * (positive - 1) / 2) / max(1, positive * (len(order) - positive))
    print(f"{name}: {len(order)} of {len(set(data.groups))} scripts, {positive} right, area under ROC {area:.3f}")
    for each in reliability(predicted, data.right):
        print(
            f"  from {each['from']:.0%}: {each['number']} predicted {each['predicted']:.0%} right {each['right']:.0%}"
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when the table is written; else the exit status of the replay, of which some is left to play."""
    parser = argparse.ArgumentParser("python -m bench.replay.fit", description=sys.modules[__name__].__doc__)
    parser.add_argument("--model", default="0.5b")
    parser.add_argument("--corpus", type=Path, help="a corpus with held-out packages, else DLSP_CORPUS_DIR")
    parser.add_argument("--minutes", type=float, help="begin no script after that; the same command goes on")
    parser.add_argument("--out", type=Path, default=FILE)
    given = parser.parse_args(arguments)
    model = catalogue.find(given.model)
    options = {"--corpus": given.corpus, "--minutes": given.minutes}
    words = [word for name, value in options.items() if value is not None for word in (name, str(value))]
    return play([*REPLAY, "--model", model.name, *words]) or write(model, given.out)


def write(model: catalogue.Model, out: Path) -> int:
    """Fit on what was played, and write the table."""
    journal = Journal(results.kept() / "replay" / f"replay-fit-patient-nothing-{model.name}.jsonl")
    answers, keystrokes = places(journal), asked(journal)
    scripts = len({place.script for place in answers})
    if scripts < FOLDS:
        print(f"There is too little to fit on: {scripts} scripts were played, {FOLDS} are needed.", file=sys.stderr)
        return MEND
    known = json.loads(FILE.read_text(encoding="utf-8"))
    origin = f"python -m bench.replay.fit: answers at {len(answers)} keys of {scripts} scripts"
    if model != catalogue.DEFAULT:
        return _keep(known | _published(answers, known, f"{origin}, {model.name}"), out)
    table = known | {"model": model.name} | fitted(answers, keystrokes, origin)
    ask, show = samples(keystrokes, list(table["ask"]["weights"])), samples(answers)
    _print("ask", ask, held_out(ask))
    _print("show", show, predicted := held_out(show))
    print("least:", table["least"])
    for least in LOOK:
        seen = shown(answers, predicted, least)
        print(f"  from {least:.2f}: {seen.number} shown, {seen.right} right, {seen.characters} characters")
    return _keep(table, out)


def _published(answers: Sequence[Answered], table: Mapping[str, Any], origin: str) -> dict[str, Any]:
    """What the table adds for weights as published, by what was answered with such."""
    bias, weights = table["show"]["bias"], table["show"]["weights"]
    data = samples(answers, list(weights))
    logits = bias + data.features @ np.array(list(weights.values()))
    added = intercept(logits, data.right, data.weights)
    for name, predicted in (("as for the default", sigmoid(logits)), (f"{added:+.2f}", sigmoid(logits + added))):
        seen = shown(answers, predicted, table["least"]["show"]["auto"])
        _print(f"show, {name}", data, predicted)
        print(f"  {seen.number} shown, {seen.right} right, {seen.characters} characters")
    return {"published": _short(added), "published_origin": origin}


def _keep(table: Mapping[str, Any], out: Path) -> int:
    out.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    print(f"Written to {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
