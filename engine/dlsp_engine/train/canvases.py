"""What a batch teaches: which canvases are laid, what they see, and what the base itself would say there.

Logits are shifted: the row at position p predicts the token at p + 1. A canvas after token b has rows at b + 1 …
b + width; row j (from 0) therefore drafts the token at b + 2 + j. What it should draft is the frozen base's own
choice there, which is known as long as the text up to b + 1 + j is what the base would have chosen.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from dlsp_engine.model.rows import MASK
from dlsp_engine.train.segments import MIDDLE, START, TEXT

PREFERRED = 8.0
"""A canvas in a gap is so many times as likely as one in other text."""


@dataclass
class Batch:
    """ids int64 and marks [batch, length]; segments stand one after the other in a row and do not see each other."""

    ids: Tensor
    marks: Tensor

    @cached_property
    def starts(self) -> Tensor:
        """The index of the first token of each token's segment."""
        index = torch.arange(self.ids.shape[1], device=self.ids.device).expand_as(self.ids)
        return torch.where((self.marks & START) > 0, index, 0).cummax(1).values

    @property
    def positions(self) -> Tensor:
        return torch.arange(self.ids.shape[1], device=self.ids.device) - self.starts

    def bias(self, dtype: torch.dtype) -> Tensor:
        """[batch, 1, length, length]: causal within a segment."""
        index = torch.arange(self.ids.shape[1], device=self.ids.device)
        return additive((index <= index[:, None]) & (index >= self.starts[..., None]), dtype)


@dataclass
class Canvases:
    """All [batch, canvases, width] but `anchors` [batch, canvases], the tokens that the canvases follow."""

    anchors: Tensor
    tokens: Tensor
    positions: Tensor
    targets: Tensor  # the base's own choice
    taught: Tensor  # whether a row's target is known and asked for
    answered: Tensor  # indices of the clean rows whose choices the targets are

    def before(self, batch: Batch) -> Tensor:
        """[batch, canvases, width]: the token of the text before what each row drafts."""
        return pick(batch.ids, self.answered)

    def known(self, batch: Batch) -> list[np.ndarray]:
        """The segment up to the token before what the canvas's first row drafts, canvas by canvas."""
        ends, starts = self.answered[..., 0] + 1, batch.starts.gather(1, self.anchors)
        ids = batch.ids.cpu().numpy()
        return [
            ids[row, start:end]
            for row in range(len(ids))
            for start, end in zip(starts[row].tolist(), ends[row].tolist(), strict=True)
        ]

    def bias(self, batch: Batch, dtype: torch.dtype) -> Tensor:
        """[batch, 1, rows, length + rows]: the segment up to the anchor, and the row's own canvas."""
        count, width = self.tokens.shape[1:]
        index = torch.arange(batch.ids.shape[1], device=batch.ids.device)
        first = batch.starts.gather(1, self.anchors)
        clean = (index <= self.anchors[..., None]) & (index >= first[..., None])
        owner = torch.arange(count, device=index.device).repeat_interleave(width)
        own = (owner == owner[:, None]).expand(len(clean), -1, -1)
        return additive(torch.cat([clean.repeat_interleave(width, 1), own], 2), dtype)


def additive(seen: Tensor, dtype: torch.dtype) -> Tensor:
    """[batch, rows, keys] bool -> [batch, 1, rows, keys]: 0 where a row sees a key, -inf elsewhere."""
    return torch.zeros(seen.shape, dtype=dtype, device=seen.device).masked_fill_(~seen, -torch.inf)[:, None]


def known(batch: Batch, greedy: Tensor, width: int) -> Tensor:
    """greedy [batch, length], the base's choice after each token -> [batch, length, width] bool: whether the base's
    choice of row j is known for a canvas after each token."""
    agrees = torch.zeros_like(greedy, dtype=torch.bool)
    agrees[:, 1:] = (greedy[:, :-1] == batch.ids[:, 1:]) & (batch.starts[:, 1:] == batch.starts[:, :-1])
    padded = torch.cat([agrees, agrees.new_zeros(len(agrees), width)], 1)
    return padded[:, 1:].unfold(1, width, 1).int().cumprod(2).bool()


def drawn(
    batch: Batch,
    greedy: Tensor,
    count: int,
    width: int,
    generator: torch.Generator,
    reveal: float = 0.0,
    marks: int = MIDDLE | TEXT,
    evenly: bool = False,
) -> Canvases:
    """`count` canvases a sample after tokens with one of the `marks`, drawn in proportion to the rows they teach, or
    `evenly` among those that teach any. A share `reveal` of them shows some of its tokens, any number equally likely.
    """
    rows = known(batch, greedy, width) & ((batch.marks & marks) > 0)[..., None]
    weight = rows.any(2).float() if evenly else rows.sum(2) * torch.where((batch.marks & MIDDLE) > 0, PREFERRED, 1.0)
    anchors = choose(weight, count, generator)
    taught = rows.gather(1, anchors[..., None].expand(-1, -1, width))
    offset = torch.arange(width, device=anchors.device)
    answered = (anchors[..., None] + 1 + offset).clamp(max=batch.ids.shape[1] - 1)
    targets = pick(greedy, answered)
    positions = anchors[..., None] + 1 + offset - batch.starts.gather(1, anchors)[..., None]
    tokens = torch.full_like(targets, MASK)
    if reveal:
        chance = torch.rand(2, *anchors.shape, device=anchors.device, generator=generator)
        rate = torch.where(chance[0] < reveal, chance[1], 0.0)[..., None]
        shown = taught & (torch.rand(tokens.shape, device=anchors.device, generator=generator) < rate)
        tokens = torch.where(shown, pick(batch.ids, answered), tokens)
        taught = taught & ~torch.cat([shown[..., 1:], torch.zeros_like(shown[..., :1])], 2)
    return Canvases(anchors, tokens, positions, targets, taught, answered)


def choose(weight: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """weight [batch, length] -> `count` indices each, without repetition, weight 0 last (Gumbel top-k)."""
    noise = torch.rand(weight.shape, device=weight.device, generator=generator).clamp(min=1e-9)
    return (weight.log() - (-noise.log()).log()).topk(count, 1).indices


def pick(values: Tensor, indices: Tensor) -> Tensor:
    """values [batch, length], indices [batch, …] -> [batch, …]."""
    return values.gather(1, indices.flatten(1)).view_as(indices)
