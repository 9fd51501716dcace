"""What a training run does, stored in the metadata of its result: command-line options for a canvas adapter, a JSON
file for an infill update.
"""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar

from dlsp_engine.errors import EngineError
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
class AnyRecipe:
    """What every recipe has: `accumulate` forward passes share an optimizer step, `lr` is the highest learning rate,
    reached after `warm_up` steps, and `clip` is the largest norm of a gradient.
    """

    accumulate: int = 1
    lr: float = 3e-4
    warm_up: int = 20
    clip: float = 1.0
    seed: int = 0

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    def rate(self, step: int, progress: float) -> float:
        """Return the learning rate of a step when the share `progress` of the budget is used up: linear warm-up, then
        linear decay.
        """
        return self.lr * min(1.0, (step + 1) / max(1, self.warm_up)) * max(0.02, 1 - progress)


def _values(name: str) -> dict[str, Any]:
    """Return what stands in the recipe of this name in `train/recipes`, or in a JSON file."""
    shipped = files("dlsp_engine.train").joinpath("recipes", f"{name}.json")
    return json.loads(shipped.read_text("utf-8") if shipped.is_file() else Path(name).read_text("utf-8"))


@dataclass(frozen=True)
class FillRecipe(AnyRecipe):
    """The recipe of an infill update: what is filled, in which shares, and how much text is around it.

    `tokens` is the size of a forward pass, in which several gaps are packed; `longest` is the most tokens of an answer,
    `whole` the most of an answer with its prompt. `characters` are the least and the most characters of the usual
    window around a gap, and the most of a large one; `large` is the share of large windows. `end` is the weight of the
    end token relative to others. `held_out` are packages to score on, in addition to those that the corpus holds out.
    """

    # What decides which gaps are drawn.
    DRAWN: ClassVar[tuple[str, ...]] = ("longest", "whole", "kinds", "languages", "characters", "large", "held_out")

    rank: int = 16
    tokens: int = 1500
    longest: int = 200
    whole: int = 700
    kinds: dict[str, float] = field(default_factory=dict)
    languages: dict[str, float] = field(default_factory=dict)
    characters: tuple[int, int, int] = (400, 900, 1800)
    large: float = 0.35
    end: float = 1.0
    held_out: tuple[str, ...] = ()

    @classmethod
    def read(cls, name: str) -> "FillRecipe":
        """Load a recipe by its name in `train/recipes`, or from a JSON file. Raises EngineError."""
        try:
            return cls.of(_values(name))
        except (OSError, ValueError, TypeError) as error:
            raise EngineError(f"{name} is no recipe of an infill update ({error}).") from error

    @classmethod
    def of(cls, values: dict[str, Any]) -> "FillRecipe":
        """Make a recipe of what JSON holds."""
        lists: dict[str, Any] = {key: tuple(values[key]) for key in ("characters", "held_out") if key in values}
        return cls(**values | lists)


@dataclass(frozen=True)
class EditRecipe(AnyRecipe):
    """The recipe of an edit update. `kinds` are the shares of kinds of windows (`train.windows`), `tokens` is the size
    of a forward pass, in which several windows are packed, and `longest` the most tokens of a window with its prompt.
    `copied` is the weight in the loss of a token that stays, relative to one that changes.
    """

    DRAWN: ClassVar[tuple[str, ...]] = ("longest", "copied", "kinds")

    rank: int = 16
    tokens: int = 1500
    longest: int = 900
    copied: float = 0.15
    kinds: dict[str, float] = field(default_factory=lambda: {"mined": 40, "refactored": 30, "nothing": 18, "done": 12})

    @classmethod
    def read(cls, name: str) -> "EditRecipe":
        """Load a recipe by its name in `train/recipes`, or from a JSON file; the defaults if there is no name. Raises
        EngineError.
        """
        try:
            return cls(**_values(name)) if name else cls()
        except (OSError, ValueError, TypeError) as error:
            raise EngineError(f"{name} is no recipe of an edit update ({error}).") from error


@dataclass(frozen=True)
class Recipe(AnyRecipe):
    """The recipe of a canvas adapter. HELP describes its fields."""

    rank: int = 32
    batch: int = 1
    accumulate: int = 4
    rows: int = 512
    widths: str = "4,8,4,2"  # the engine uses 3 or 4; a width that was not trained drafts badly
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
        for each in fields(cls):
            of: Callable[[str], Any] = type(each.default)
            choices = ("pace", "decay") if each.name == "weighting" else None
            name = f"--{each.name.replace('_', '-')}"
            parser.add_argument(
                name, type=of, default=each.default, choices=choices, help=f"{HELP[each.name]} (default %(default)s)"
            )

    @classmethod
    def of(cls, arguments: Namespace) -> "Recipe":
        return cls(**{each.name: getattr(arguments, each.name) for each in fields(cls)})

    def width(self, turn: int) -> int:
        """Return the number of masks in a canvas in forward pass number `turn`."""
        widths = [int(width) for width in self.widths.split(",")]
        return widths[turn % len(widths)]

    @property
    def rule(self) -> Weighting:
        return Weighting(self.weighting, self.decay, self.soft)
