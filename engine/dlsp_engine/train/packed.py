"""Clean forward passes of several gaps packed into one row of tokens, in which each gap sees only itself."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from dlsp_engine.model.weights import Weights
from dlsp_engine.train.fills import Fill
from dlsp_engine.train.model import Low, behind_attention, heads, norm
from dlsp_kernels.rope.reference import rope_table


@dataclass(frozen=True)
class Packed:
    """Several gaps, one after the other. `rows` are the indices of the rows that predict the answers' tokens, `targets`
    are these tokens, and `sizes` are the lengths of the gaps with their prompts.
    """

    ids: Tensor
    positions: Tensor
    rows: Tensor
    targets: Tensor
    sizes: list[int]

    @classmethod
    def of(cls, fills: Sequence[Fill], device: torch.device) -> "Packed":
        ids: list[int] = []
        positions: list[int] = []
        rows: list[int] = []
        sizes: list[int] = []
        for fill in fills:
            tokens = fill.prompt + fill.answer[:-1]
            rows += range(len(ids) + len(fill.prompt) - 1, len(ids) + len(tokens))
            ids += tokens
            positions += range(len(tokens))
            sizes.append(len(tokens))
        targets = [token for fill in fills for token in fill.answer]

        def put(values: list[int]) -> Tensor:
            return torch.tensor(values, device=device)

        return cls(put(ids), put(positions), put(rows), put(targets), sizes)


def hidden(weights: Weights, lows: list[Low], packed: Packed) -> Tensor:
    """Return hidden states [rows, dim] of `packed.rows`, ready for the output head; gradients flow into `lows`."""
    shape = weights.architecture
    x = weights.embedding[packed.ids][None]
    with x.device:  # the table creates tensors on the default device
        table = rope_table(packed.positions, shape.head_dim, shape.theta, shape.rope_divisors)
    cos, sin = (t.view(1, len(packed.ids), 1, -1) for t in table)
    for layer, low in zip(weights.layers, lows, strict=True):
        q, k, v = heads(shape, layer, low, x, cos, sin)
        parts = zip(*(t.split(packed.sizes, 2) for t in (q, k, v)), strict=True)
        attended = [F.scaled_dot_product_attention(*part, is_causal=True, enable_gqa=True) for part in parts]
        x = behind_attention(shape, layer, low, x, torch.cat(attended, 2).transpose(1, 2).flatten(2))
    return norm(x[0, packed.rows], weights.norm, weights.norm_bias, shape.eps)


def backward(hidden: Tensor, embedding: Tensor, targets: Tensor, weights: Tensor, chunk: int, scale: float) -> float:
    """Return the weighted mean cross-entropy, and backpropagate `scale` times its gradient through `hidden`. Logits are
    computed for `chunk` rows at a time.
    """
    given, gradient, loss = hidden.detach(), torch.empty_like(hidden), torch.zeros((), device=hidden.device)
    share = weights / weights.sum()
    for at in range(0, len(given), chunk):
        part = slice(at, at + chunk)
        logits = F.linear(given[part], embedding).float()
        total = logits.logsumexp(-1, keepdim=True)
        aim, mass = targets[part, None], share[part, None]
        loss = loss + ((total - logits.gather(1, aim)) * mass).sum()
        # Cross-entropy's gradient is the prediction minus the target; in place, since this is the largest tensor.
        slope = logits.sub_(total).exp_().mul_(mass).scatter_add_(1, aim, -mass)
        gradient[part] = slope.to(embedding.dtype) @ embedding
    hidden.backward(gradient * scale)
    return float(loss)
