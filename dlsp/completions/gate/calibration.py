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
    answer is right. `least` are their thresholds by eagerness. `infill_update` is added to the logit of `show` for
    models with the infill update: their answers are right more often than their token probabilities suggest.
    """

    ask: Model
    show: Model
    least: Mapping[str, Mapping[str, float]]
    infill_update: Mapping[str, float]


@cache
def calibration() -> Calibration:
    """The fitted models and thresholds, read once from `calibration.json`."""
    table = json.loads(FILE.read_text())
    return Calibration(Model(**table["ask"]), Model(**table["show"]), table["least"], table["infill_update"])


def update_shift(model: str, infill_update: bool) -> float:
    """The logit shift of `show` for answers of `model`: 0 for the published weights, else that of its infill update."""
    return calibration().infill_update.get(model, 0.0) if infill_update else 0.0
