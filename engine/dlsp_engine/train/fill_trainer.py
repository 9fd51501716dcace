"""Trains an infill update on real text, the end token included, and scores it during training."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import torch
import torch.nn.functional as F

from dlsp_engine.model.weights import Weights
from dlsp_engine.train import packed
from dlsp_engine.train.fills import Fill
from dlsp_engine.train.model import LowRanks
from dlsp_engine.train.packed import Packed, Way
from dlsp_engine.train.recipe import EditRecipe, FillRecipe
from dlsp_engine.train.trainer import Trainer

JUDGED_GAPS = 4  # gaps in a forward pass without gradients


class Batches(Protocol):
    """Draws what a forward pass is trained on."""

    def batch(self, turn: int) -> list[Fill]: ...


class FillTrainer(Trainer[LowRanks]):
    """Trains low-rank updates, on clean rows, to predict the text that was in gaps."""

    def __init__(
        self,
        weights: Weights,
        parameters: LowRanks,
        fills: Batches,
        recipe: FillRecipe | EditRecipe,
        device: torch.device,
        chunk: int,
        way: Way = packed.PLAIN,
    ) -> None:
        super().__init__(parameters, recipe, device)
        if device.type == "cuda":
            # cuDNN's attention gave NaN gradients at some lengths (pytorch#196678, PyTorch 2.11 to 2.13).
            torch.backends.cuda.enable_cudnn_sdp(False)
        self.weights = weights.to(device)
        self.fills = fills
        self._end = recipe.end if isinstance(recipe, FillRecipe) else 1.0
        self._chunk = chunk
        self._way = way
        self._least = recipe.tokens if way.has_one_size else 0

    def forward(self, turn: int) -> tuple[float, int, int]:
        fills = self.fills.batch(turn)
        rows = Packed.of(fills, self.device, self._least)
        low = self.parameters.low(self.weights.dtype)
        states = packed.hidden(self.weights, low, rows, self._way)
        given = [fill.shares or [1.0] * (len(fill.answer) - 1) + [self._end] for fill in fills]
        shares = torch.tensor([share for each in given for share in each], device=self.device)
        scale = 1 / self.recipe.accumulate
        loss = packed.backward(states, self.weights.head, rows.targets, shares, self._chunk, scale)
        return loss, sum(rows.sizes), len(rows.targets)


@dataclass
class Judged:
    """Scores on held-out gaps of one kind: the number of gaps, the number of their tokens, the mean loss per token in
    nats, and the share of tokens that are predicted right; then the share of gaps whose end is predicted too early, and
    the share whose end is not predicted where it is.
    """

    gaps: int = 0
    tokens: int = 0
    nats: float = 0.0
    right: float = 0.0
    early: float = 0.0
    late: float = 0.0

    def rounded(self) -> dict[str, Any]:
        return {name: round(value, 4) for name, value in asdict(self).items()}


@torch.no_grad()
def judge(weights: Weights, parameters: LowRanks, held: Sequence[Fill], device: torch.device) -> dict[str, Judged]:
    """Return the scores by kind of gap, and those of all gaps as `all`, measured with teacher forcing."""
    low, found = parameters.low(weights.dtype), defaultdict(Judged)
    for at in range(0, len(held), JUDGED_GAPS):
        fills = held[at : at + JUDGED_GAPS]
        rows = Packed.of(fills, device)
        logits = F.linear(packed.hidden(weights, low, rows), weights.head).float()
        nats = F.cross_entropy(logits, rows.targets, reduction="none")
        sizes = [len(fill.answer) for fill in fills]
        for fill, loss, chosen in zip(fills, nats.split(sizes), logits.argmax(-1).split(sizes), strict=True):
            end, answer = fill.answer[-1], torch.tensor(fill.answer, device=device)
            for kind in (fill.kind, "all"):
                one = found[kind]
                one.gaps, one.tokens = one.gaps + 1, one.tokens + len(answer)
                one.nats += float(loss.sum())
                one.right += int((chosen == answer).sum())
                one.early += bool((chosen[:-1] == end).any())
                one.late += bool(chosen[-1] != end)
    for one in found.values():
        one.nats, one.right = one.nats / one.tokens, one.right / one.tokens
        one.early, one.late = one.early / one.gaps, one.late / one.gaps
    return dict(found)
