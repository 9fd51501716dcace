"""From features to a probability: a logistic model, fitted on replayed typing (weights in `calibration.json`)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import exp
from pathlib import Path

FILE = Path(__file__).with_name("calibration.json")


@dataclass(frozen=True)
class Model:
    """A logistic model: `bias`, and a weight for each feature's name."""

    bias: float
    weights: Mapping[str, float]

    def __call__(self, features: Mapping[str, float], shift: float = 0.0) -> float:
        """The probability; features without a weight are ignored. `shift` is added to the logit."""
        total = self.bias + shift + sum(self.weights.get(name, 0.0) * value for name, value in features.items())
        return 1 / (1 + exp(-max(-30.0, min(30.0, total))))


@dataclass(frozen=True)
class Calibration:
    """Two logistic models and the thresholds they are compared with.

    `ask` predicts, before the engine is asked, that its answer will be shown and be right; `show` predicts that a given
    answer is right. `least` are their thresholds by eagerness. Both were fitted on answers of `model` with its infill
    update. `published` is added to the logit of `show` for weights without an infill update: their answers are right
    less often, or more, at the same token probabilities.
    """

    ask: Model
    show: Model
    least: Mapping[str, Mapping[str, float]]
    model: str
    published: float


@cache
def calibration() -> Calibration:
    """The fitted models and thresholds, read once from `calibration.json`."""
    table = json.loads(FILE.read_text())
    show = Model(**table["show"])
    return Calibration(Model(**table["ask"]), show, table["least"], table["model"], table["published"])


def shift(model: str, infill_update: bool) -> float:
    """What is added to the logit of `show` for answers of `model`."""
    table = calibration()
    return 0.0 if infill_update and model == table.model else table.published
