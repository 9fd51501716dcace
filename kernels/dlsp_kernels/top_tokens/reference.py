"""The head, down to what decoding asks of it: the likeliest tokens, their probabilities, the entropy."""

from dataclasses import dataclass

import torch
from torch import Tensor

from dlsp_kernels.gated_linear.reference import gated_linear
from dlsp_kernels.matrix import Matrix


@dataclass(frozen=True)
class TopTokens:
    token: Tensor  # int32 [rows, top], the likeliest first
    probability: Tensor  # float32 [rows, top]
    entropy: Tensor  # float32 [rows], in nats


def top_tokens(
    x: Tensor,
    weight: Matrix,
    norm: Tensor,
    eps: float,
    top: int = 1,
    allowed: Tensor | None = None,
    allowed_row: Tensor | None = None,
) -> TopTokens:
    """x float32 [rows, ins], normed here; weight [vocab, ins].

    allowed int32 [masks, vocab / 32 rounded up]: bit i of word w stands for token 32 w + i; allowed_row int32 [rows] is
    the mask of a row, -1 for none. Tokens that are not allowed have probability 0; each mask allows at least `top`.
    """
    logits = gated_linear(x, weight, norm, eps)
    if allowed is not None and allowed_row is not None:
        token = torch.arange(weight.outs, device=x.device)
        bits = (allowed[allowed_row.clamp(min=0)][:, token // 32] >> (token % 32)) & 1
        logits = logits.masked_fill((bits == 0) & (allowed_row >= 0)[:, None], -torch.inf)
    log_p = logits.log_softmax(1)
    p = log_p.exp()
    entropy = -torch.where(p > 0, p * log_p, 0).sum(1)
    best, token = logits.topk(top, 1)
    return TopTokens(token.int(), (best - logits.logsumexp(1, keepdim=True)).exp(), entropy)
