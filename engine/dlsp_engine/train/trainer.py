"""Training in memory: optimizer steps, each of which depends only on the parameters, the recipe and its own number."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel

from dlsp_engine.errors import EngineError
from dlsp_engine.train.canvases import Batch, Canvases, draw_canvases, gather
from dlsp_engine.train.loss import Choices, Taught, backward, choices
from dlsp_engine.train.model import CanvasModel, LowRanks, Parameters, Past
from dlsp_engine.train.recipe import AnyRecipe, Recipe
from dlsp_engine.train.store import Samples

# The average of the parameters weighs about the last 1 / (AVERAGE_LATENESS + 1) of the steps.
AVERAGE_LATENESS = 9

# A run ends with an error after this many steps in a row whose gradients were not finite.
MAX_BAD_STEPS = 20


Trained = TypeVar("Trained", bound=LowRanks)


@dataclass
class Step:
    """The result of an optimizer step: the mean loss, the number of rows, how many of them had a target (`taught`), and
    the norm of the gradient.
    """

    loss: float
    rows: int
    taught: int
    norm: float


class Trainer(ABC, Generic[Trained]):
    """Takes optimizer steps. `step` counts those taken; all random draws of a step follow from the recipe's seed and
    this number.

    `average` is a mean of the parameters in which late steps count most (Shamir and Zhang 2013, polynomial decay). It
    is the result of a run, since single steps disturb what was learned until the learning rate has fallen.
    """

    def __init__(self, parameters: Trained, recipe: AnyRecipe, device: torch.device) -> None:
        self.parameters = parameters
        self.recipe = recipe
        self.device = device
        self.step = 0
        self.optimizer = torch.optim.AdamW(
            parameters.parameters(),
            lr=recipe.lr,
            betas=(0.9, 0.95),
            weight_decay=0.0,
            fused=device.type == "cuda",
        )
        self.average = AveragedModel(parameters, multi_avg_fn=_late)
        self._bad_steps = 0

    @property
    def late(self) -> Trained:
        """The averaged parameters."""
        return self.average.module  # pyright: ignore[reportReturnType]

    @abstractmethod
    def forward(self, turn: int) -> tuple[float, int, int]:
        """Run forward pass number `turn` and add its gradients to those of the parameters. Returns the mean loss, the
        rows, and the rows that had a target.
        """

    def advance(self, rate: float) -> Step:
        """Take one optimizer step at learning rate `rate`.

        Raises EngineError when the gradients of MAX_BAD_STEPS steps in a row were not finite.
        """
        recipe = self.recipe
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.zero_grad()
        losses, rows, taught = 0.0, 0, 0
        for part in range(recipe.accumulate):
            of_part = self.forward(self.step * recipe.accumulate + part)
            losses, rows, taught = losses + of_part[0], rows + of_part[1], taught + of_part[2]
        norm = float(nn.utils.clip_grad_norm_(self.parameters.parameters(), recipe.clip))
        if math.isfinite(norm):
            self._bad_steps = 0
            self.optimizer.step()
            self.average.update_parameters(self.parameters)
        else:
            self._bad_steps += 1
            if self._bad_steps == MAX_BAD_STEPS:
                raise EngineError(
                    f"The gradients of {MAX_BAD_STEPS} steps were not finite; see the last scores, and lower --lr."
                )
        self.step += 1
        return Step(losses / recipe.accumulate, rows, taught, norm)


class CanvasTrainer(Trainer[Parameters]):
    """Trains a canvas adapter to predict what the frozen base would choose."""

    def __init__(self, model: CanvasModel, samples: Samples, recipe: Recipe, head_rows: int) -> None:
        super().__init__(model.parameters, recipe, model.device)
        self.model = model
        self.samples = samples
        self.recipe: Recipe = recipe
        self.head_rows = head_rows

    @contextmanager
    def averaged(self) -> Iterator[None]:
        """Run a block with the averaged parameters in the model."""
        latest = self.model.parameters
        self.model.parameters = self.late
        try:
            yield
        finally:
            self.model.parameters = latest

    def forward(self, turn: int) -> tuple[float, int, int]:
        recipe, model = self.recipe, self.model
        generator = torch.Generator(model.device).manual_seed(recipe.seed * 1_000_003 + turn)
        batch = read(self.samples, turn * recipe.batch, recipe.batch, model.device)
        base, past = clean_pass(model, batch, self.head_rows, recipe.soft > 0)
        width = recipe.width(turn)
        canvases = draw_canvases(batch, base.greedy, recipe.rows // width, width, generator, recipe.reveal)
        hidden = canvas_states(model, batch, canvases, past).flatten(0, 1)
        taught = Taught(canvases.targets.flatten(0, 1), canvases.taught.flatten(0, 1))
        if base.tokens is not None and base.probabilities is not None:
            soft = (
                torch.stack([gather(t[..., i], canvases.answered) for i in range(t.shape[-1])], -1).flatten(0, 1)
                for t in (base.tokens, base.probabilities)
            )
            taught.tokens, taught.probabilities = soft
        loss = backward(hidden, model.weights.head, taught, recipe.rule, self.head_rows, 1 / recipe.accumulate)
        return loss, canvases.tokens.numel(), int(canvases.taught.sum())


def _late(average: Sequence[Tensor], latest: Sequence[Tensor], seen: Tensor | int) -> None:
    """Update the average in place with the latest parameters, after `seen` earlier updates."""
    share = (AVERAGE_LATENESS + 1) / (int(seen) + AVERAGE_LATENESS + 1)
    for mean, now in zip(average, latest, strict=True):
        mean.lerp_(now, share)


def read(samples: Samples, start: int, count: int, device: torch.device) -> Batch:
    ids, marks = samples.take(start, count)
    return Batch(torch.from_numpy(ids).to(device), torch.from_numpy(marks).to(device))


def clean_pass(model: CanvasModel, batch: Batch, head_rows: int, soft: bool = False) -> tuple[Choices, Past]:
    """Run the clean pass. Returns what the base predicts after every token, and the keys and values that
    canvases see.
    """
    hidden, past = model.clean(batch.ids, batch.positions, batch.bias(model.weights.dtype))
    return choices(hidden, model.weights.head, head_rows, soft), past


def canvas_states(model: CanvasModel, batch: Batch, canvases: Canvases, past: Past) -> torch.Tensor:
    """Return the hidden states of canvases [batch, canvases, width, dim]."""
    bias = canvases.bias(batch, model.weights.dtype)
    hidden = model.canvas(canvases.tokens.flatten(1), canvases.positions.flatten(1), bias, past)
    return hidden.unflatten(1, canvases.tokens.shape[1:])
