"""From features to a probability: a logistic model, its numbers fitted on replayed typing (`calibration.json`)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import exp
from pathlib import Path

FILE = Path(__file__).with_name("calibration.json")


@dataclass(frozen=True)
class Model:
    bias: float
    weights: Mapping[str, float]

    def __call__(self, features: Mapping[str, float], shift: float = 0.0) -> float:
        """The probability; features that it knows no weight for do not count. `shift` is added in logits."""
        total = self.bias + shift + sum(self.weights.get(name, 0.0) * value for name, value in features.items())
        return 1 / (1 + exp(-max(-30.0, min(30.0, total))))


@dataclass(frozen=True)
class Calibration:
    """`ask` foretells from the moment alone that an answer will be shown and right, `show` that a given one is right.

    `least` are the probabilities from which it is asked and shown, by mode. `infill_update` is what is added to `show`,
    in logits, for answers of a model whose weights have its infill update: they are right more often than the model's
    own probabilities say, which `show` was fitted on.
    """

    ask: Model
    show: Model
    least: Mapping[str, Mapping[str, float]]
    infill_update: Mapping[str, float]


@cache
def calibration() -> Calibration:
    table = json.loads(FILE.read_text())
    return Calibration(Model(**table["ask"]), Model(**table["show"]), table["least"], table["infill_update"])


def update_shift(model: str, infill_update: bool) -> float:
    """What is added to `show`, in logits, for answers of a model with its infill update, or as it was published."""
    return calibration().infill_update.get(model, 0.0) if infill_update else 0.0
