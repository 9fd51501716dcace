"""The output head and the loss, in chunks: the [rows, vocab] logits of a whole batch are never in memory at once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from dlsp_engine.decode.draft import Draft, pick
from dlsp_engine.decode.scores import CANDIDATES
from dlsp_engine.model.bigrams import Bigrams

# How many of the base's likeliest tokens are targets if targets are soft.
SOFT_TARGETS = 8


@dataclass
class Choices:
    """What the base predicts after each token: its choice, and if wanted its SOFT_TARGETS likeliest tokens with their
    probabilities.
    """

    greedy: Tensor  # int64 [batch, length]
    tokens: Tensor | None = None  # int64 [batch, length, SOFT_TARGETS]
    probabilities: Tensor | None = None  # float32, likewise


@torch.no_grad()
def choices(hidden: Tensor, embedding: Tensor, chunk: int, soft: bool = False) -> Choices:
    """Return the base's choices for hidden [batch, length, dim], computed for `chunk` rows at a time."""
    greedy, tokens, probabilities = [], [], []
    for part in hidden.flatten(0, 1).split(chunk):
        logits = F.linear(part, embedding)
        greedy.append(logits.argmax(-1))
        if soft:
            best = logits.float().topk(SOFT_TARGETS, -1)
            tokens.append(best.indices)
            probabilities.append((best.values - logits.float().logsumexp(-1, keepdim=True)).exp())
    shape = hidden.shape[:2]
    if not soft:
        return Choices(torch.cat(greedy).view(shape))
    soft_shape = (*shape, SOFT_TARGETS)
    return Choices(
        torch.cat(greedy).view(shape), torch.cat(tokens).view(soft_shape), torch.cat(probabilities).view(soft_shape)
    )


@torch.no_grad()
def drafts(
    hidden: Tensor,
    contexts: Sequence[np.ndarray],
    given: Tensor,
    embedding: Tensor,
    bigrams: Bigrams | None,
    chunk: int,
) -> tuple[Tensor, list[Draft]]:
    """Return the likeliest tokens [n, width] and n drafts, given hidden [n, width, dim] of n canvases. `contexts` has
    the tokens before what each canvas drafts; `given` [n, width - 1] has the true tokens in front of what its later
    rows draft.
    """
    plain = torch.empty(hidden.shape[:2], dtype=torch.long, device=hidden.device)
    drafted: list[Draft] = []
    step = max(1, chunk // hidden.shape[1])
    for at in range(0, len(hidden), step):
        logits = F.linear(hidden[at : at + step], embedding).float()
        best, candidates = logits.topk(min(CANDIDATES, logits.shape[-1]))
        plain[at : at + step] = candidates[..., 0]
        log_p = (best - logits.logsumexp(-1, keepdim=True)).cpu().numpy()
        of_each = zip(
            log_p, candidates.cpu().numpy(), contexts[at : at + step], given[at : at + step].tolist(), strict=True
        )
        drafted += [pick(sure, tokens, text, bigrams, ahead) for sure, tokens, text, ahead in of_each]
    return plain, drafted


@dataclass(frozen=True)
class Weighting:
    """How much each row of a canvas counts in the loss.

    The rule `pace` follows acceptance (D-PACE): row j counts for every accepted run that includes it, by the
    probability that the run gets that far. The rule `decay` weights row j by exp(-j / decay). `soft` is the share of
    the loss whose targets are the base's SOFT_TARGETS tokens.
    """

    rule: str = "pace"
    decay: float = 4.0
    soft: float = 0.0

    def rows(self, probability: Tensor, taught: Tensor) -> Tensor:
        """Return the weights [n, width], given the probability that each row gives its target; 0 where nothing is
        taught.
        """
        if self.rule == "decay":
            offset = torch.arange(taught.shape[1], device=taught.device)
            return torch.exp(-offset / self.decay) * taught
        reach = (torch.where(taught, probability, 1.0) / 2 + 0.5).cumprod(1) * taught
        return reach.flip(1).cumsum(1).flip(1) * taught


@dataclass
class Taught:
    """The targets of the rows of n canvases. `tokens` and `probabilities` are those of `Choices`."""

    targets: Tensor  # int64 [n, width]
    mask: Tensor  # bool [n, width]: which targets count in the loss
    tokens: Tensor | None = None  # int64 [n, width, SOFT_TARGETS]
    probabilities: Tensor | None = None  # float32, likewise


def backward(hidden: Tensor, embedding: Tensor, taught: Taught, how: Weighting, chunk: int, scale: float) -> float:
    """Return the weighted mean loss for hidden [n, width, dim], and backpropagate `scale` times its gradient through
    `hidden`. Logits are computed for `chunk` rows at a time.
    """
    given = hidden.detach()
    gradient = torch.zeros_like(given)
    loss, weight = torch.zeros((), device=hidden.device), torch.zeros((), device=hidden.device)
    step = max(1, chunk // hidden.shape[1])
    for at in range(0, len(given), step):
        part = slice(at, at + step)
        mask = taught.mask[part]
        rows = mask.flatten().nonzero()[:, 0]
        targets = taught.targets[part].flatten()[rows, None]
        logits = F.linear(given[part].flatten(0, 1)[rows], embedding).float()
        total = logits.logsumexp(-1, keepdim=True)
        missed = total - logits.gather(1, targets)
        probability = torch.zeros(mask.numel(), device=mask.device)
        probability[rows] = missed.neg().exp()[:, 0]
        weights = how.rows(probability.view_as(mask), mask).flatten()[rows, None]
        # Cross-entropy's gradient is the prediction minus the target; in place, since this is the largest tensor.
        aim, share, mass = targets, torch.ones_like(weights), weights
        if how.soft and taught.tokens is not None and taught.probabilities is not None:
            best, portion = (t[part].flatten(0, 1)[rows] for t in (taught.tokens, taught.probabilities))
            aim = torch.cat([targets, best], 1)
            share = torch.cat([(1 - how.soft) * share, how.soft * portion], 1)
            missed = ((total - logits.gather(1, aim)) * share).sum(1, keepdim=True)
            mass = weights * share.sum(1, keepdim=True)
        slope = logits.sub_(total).exp_().mul_(mass).scatter_add_(1, aim, -share * weights)
        gradient[part].view(-1, gradient.shape[-1])[rows] = slope.to(embedding.dtype) @ embedding
        loss, weight = loss + (missed * weights).sum(), weight + weights.sum()
    weight = weight.clamp(min=1e-9)
    hidden.backward(gradient * (scale / weight))
    return float(loss / weight)
