"""The head, reduced to what decoding needs: the likeliest tokens, their probabilities, the entropy."""

from dataclasses import dataclass

from torch import Tensor

from dlsp_kernels.gated_linear.reference import gated_linear
from dlsp_kernels.matrix import Matrix


@dataclass(frozen=True)
class TopTokens:
    """The likeliest tokens of each row, and the entropy of its whole distribution."""

    token: Tensor  # int32 [rows, top], the likeliest first
    probability: Tensor  # float32 [rows, top]
    entropy: Tensor  # float32 [rows], in nats


def top_tokens(x: Tensor, weight: Matrix, norm: Tensor | None, eps: float, top: int = 1) -> TopTokens:
    """x float32 [rows, ins], before the norm; weight [vocab, ins]; norm [ins], None if x is normed
    already. `top`: the number of tokens per row."""
    logits = gated_linear(x, weight, norm, eps)
    log_p = logits.log_softmax(1)
    entropy = -(log_p.exp() * log_p).sum(1)
    best, token = logits.topk(top, 1)
    return TopTokens(token.int(), (best - logits.logsumexp(1, keepdim=True)).exp(), entropy)
