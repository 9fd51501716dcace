"""The canvases of a training batch: after which tokens they come, what they see, and what their rows should draft.

Logits are shifted: the row at position p predicts the token at p + 1. A canvas after token b has rows at b + 1 … b +
width; row j (from 0) therefore drafts the token at b + 2 + j. Its target is the frozen base's own choice there, which
is known as long as the text up to b + 1 + j is what the base would have chosen.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from dlsp_engine.model.rows import MASK
from dlsp_engine.train.segments import MIDDLE, START, TEXT

# A canvas in a gap is this many times as likely to be drawn as one in other text.
GAP_CANVAS_WEIGHT = 8.0


@dataclass
class Batch:
    """Rows of tokens. A row has several segments, one after the other, which do not see each other."""

    ids: Tensor  # int64 [batch, length]
    marks: Tensor  # whole numbers [batch, length]: where canvases may follow, see `segments`

    @cached_property
    def starts(self) -> Tensor:
        """For each token, the index of the first token of its segment: [batch, length]."""
        index = torch.arange(self.ids.shape[1], device=self.ids.device).expand_as(self.ids)
        return torch.where((self.marks & START) > 0, index, 0).cummax(1).values

    @property
    def positions(self) -> Tensor:
        """For each token, its position in its segment: [batch, length]."""
        return torch.arange(self.ids.shape[1], device=self.ids.device) - self.starts

    def bias(self, dtype: torch.dtype) -> Tensor:
        """Return the attention bias [batch, 1, length, length] that is causal within each segment."""
        index = torch.arange(self.ids.shape[1], device=self.ids.device)
        return additive((index <= index[:, None]) & (index >= self.starts[..., None]), dtype)


@dataclass
class Canvases:
    """The canvases of a batch. All tensors but `anchors` are [batch, canvases, width], and all but `taught` int64."""

    anchors: Tensor  # [batch, canvases]: indices in the batch's row of the tokens that the canvases follow
    tokens: Tensor  # MASK, or a token that is revealed
    positions: Tensor  # in the segment
    targets: Tensor  # the base's own choice
    taught: Tensor  # bool: whether a row's target is known and counts in the loss
    answered: Tensor  # indices in the batch's row of the clean rows whose choices are the targets

    def before(self, batch: Batch) -> Tensor:
        """Return, for each canvas row, the token of the text before the one that it drafts: [batch, canvases,
        width].
        """
        return gather(batch.ids, self.answered)

    def contexts(self, batch: Batch) -> list[np.ndarray]:
        """Return, for each canvas, its segment up to the token before the one that its first row drafts."""
        ends, starts = self.answered[..., 0] + 1, batch.starts.gather(1, self.anchors)
        ids = batch.ids.cpu().numpy()
        return [
            ids[row, start:end]
            for row in range(len(ids))
            for start, end in zip(starts[row].tolist(), ends[row].tolist(), strict=True)
        ]

    def bias(self, batch: Batch, dtype: torch.dtype) -> Tensor:
        """Return the attention bias [batch, 1, rows, length + rows]: a canvas row sees its segment up to the anchor,
        and its own canvas.
        """
        count, width = self.tokens.shape[1:]
        index = torch.arange(batch.ids.shape[1], device=batch.ids.device)
        first = batch.starts.gather(1, self.anchors)
        clean = (index <= self.anchors[..., None]) & (index >= first[..., None])
        owner = torch.arange(count, device=index.device).repeat_interleave(width)
        own = (owner == owner[:, None]).expand(len(clean), -1, -1)
        return additive(torch.cat([clean.repeat_interleave(width, 1), own], 2), dtype)


def additive(seen: Tensor, dtype: torch.dtype) -> Tensor:
    """Turn `seen` [batch, rows, keys] bool into an attention bias [batch, 1, rows, keys]: 0 where a row sees a key,
    -inf elsewhere.
    """
    return torch.zeros(seen.shape, dtype=dtype, device=seen.device).masked_fill_(~seen, -torch.inf)[:, None]


def has_target(batch: Batch, greedy: Tensor, width: int) -> Tensor:
    """Return bool [batch, length, width]: whether the base's choice for row j of a canvas after each token is known.
    `greedy` [batch, length] is its choice after each token.
    """
    agrees = torch.zeros_like(greedy, dtype=torch.bool)
    agrees[:, 1:] = (greedy[:, :-1] == batch.ids[:, 1:]) & (batch.starts[:, 1:] == batch.starts[:, :-1])
    padded = torch.cat([agrees, agrees.new_zeros(len(agrees), width)], 1)
    return padded[:, 1:].unfold(1, width, 1).int().cumprod(2).bool()


def draw_canvases(
    batch: Batch,
    greedy: Tensor,
    count: int,
    width: int,
    generator: torch.Generator,
    reveal: float = 0.0,
    marks: int = MIDDLE | TEXT,
    evenly: bool = False,
) -> Canvases:
    """Draw `count` canvases for each sample, after tokens with one of the `marks`. The chance of a place is
    proportional to the rows that a canvas there teaches, or with `evenly` equal for all that teach any. A share
    `reveal` of the canvases shows some of its tokens; every share of shown tokens is equally likely.
    """
    rows = has_target(batch, greedy, width) & ((batch.marks & marks) > 0)[..., None]
    preference = torch.where((batch.marks & MIDDLE) > 0, GAP_CANVAS_WEIGHT, 1.0)
    weight = rows.any(2).float() if evenly else rows.sum(2) * preference
    anchors = sample(weight, count, generator)
    taught = rows.gather(1, anchors[..., None].expand(-1, -1, width))
    offset = torch.arange(width, device=anchors.device)
    answered = (anchors[..., None] + 1 + offset).clamp(max=batch.ids.shape[1] - 1)
    targets = gather(greedy, answered)
    positions = anchors[..., None] + 1 + offset - batch.starts.gather(1, anchors)[..., None]
    tokens = torch.full_like(targets, MASK)
    if reveal:
        chance = torch.rand(2, *anchors.shape, device=anchors.device, generator=generator)
        rate = torch.where(chance[0] < reveal, chance[1], 0.0)[..., None]
        shown = taught & (torch.rand(tokens.shape, device=anchors.device, generator=generator) < rate)
        tokens = torch.where(shown, gather(batch.ids, answered), tokens)
        taught = taught & ~torch.cat([shown[..., 1:], torch.zeros_like(shown[..., :1])], 2)
    return Canvases(anchors, tokens, positions, targets, taught, answered)


def sample(weight: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Draw `count` indices for each row of weight [batch, length], in proportion to the weights and without repetition
    (Gumbel top-k). Those of weight 0 come last.
    """
    noise = torch.rand(weight.shape, device=weight.device, generator=generator).clamp(min=1e-9)
    return (weight.log() - (-noise.log()).log()).topk(count, 1).indices


def gather(values: Tensor, indices: Tensor) -> Tensor:
    """Return the values [batch, length] at indices [batch, …], as [batch, …]."""
    return values.gather(1, indices.flatten(1)).view_as(indices)
