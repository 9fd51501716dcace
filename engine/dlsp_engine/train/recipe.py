"""What an adapter is trained with, as options and as the metadata that travels with it."""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from typing import Any

from dlsp_engine.train.loss import Weighting

HELP: dict[str, str] = {
    "rank": "of every low-rank update; a started adapter keeps its own",
    "batch": "samples that share a forward",
    "accumulate": "forwards that share a step of the optimizer",
    "rows": "canvas rows of a sample",
    "widths": "masks of a canvas; several, separated by commas, take turns",
    "lr": "highest learning rate",
    "warm_up": "steps until it is reached",
    "weighting": "of the rows of a canvas: pace (by acceptance) or decay (by position)",
    "decay": "rows after which the weight has fallen to 1/e, with decay",
    "soft": "share of the loss that asks for the base's likeliest tokens",
    "reveal": "share of canvases that show some of their tokens",
    "clip": "largest norm of the gradient",
    "seed": "of initial values and of what is drawn",
}


@dataclass(frozen=True)
class Recipe:
    rank: int = 32
    batch: int = 1
    accumulate: int = 4
    rows: int = 512
    widths: str = "4,8,4,2"  # the engine lays 3 or 4; what was not trained is not drafted
    lr: float = 5e-4
    warm_up: int = 20
    weighting: str = "pace"
    decay: float = 4.0
    soft: float = 0.0
    reveal: float = 0.1
    clip: float = 1.0
    seed: int = 0

    @classmethod
    def add_to(cls, parser: ArgumentParser) -> None:
        for field in fields(cls):
            of: Callable[[str], Any] = type(field.default)
            choices = ("pace", "decay") if field.name == "weighting" else None
            name = f"--{field.name.replace('_', '-')}"
            parser.add_argument(
                name, type=of, default=field.default, choices=choices, help=f"{HELP[field.name]} (default %(default)s)"
            )

    @classmethod
    def of(cls, asked: Namespace) -> "Recipe":
        return cls(**{field.name: getattr(asked, field.name) for field in fields(cls)})

    def width(self, turn: int) -> int:
        """Masks of a canvas in forward number `turn`."""
        widths = [int(width) for width in self.widths.split(",")]
        return widths[turn % len(widths)]

    @property
    def rule(self) -> Weighting:
        return Weighting(self.weighting, self.decay, self.soft)

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    def rate(self, step: int, progress: float) -> float:
        """The learning rate of a step, `progress` of the budget being used up: a warm-up, then a straight fall."""
        return self.lr * min(1.0, (step + 1) / max(1, self.warm_up)) * max(0.02, 1 - progress)
