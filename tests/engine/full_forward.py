"""A forward pass over a whole text at once, without a cache, given what each position sees: the reference for decoders
of diffusion checkpoints. And one step of the published acceptance rules.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from dlsp_engine.model.weights import Weights


def logits(weights: Weights, tokens: list[int], seen: Tensor) -> Tensor:
    """tokens [n], seen [n, n] bool: whether position i sees j -> [n, vocab]."""
    shape, n = weights.architecture, len(tokens)
    frequency = shape.theta ** (-torch.arange(0, shape.head_dim, 2) / shape.head_dim)
    angle = torch.arange(n)[:, None, None] * frequency
    cos, sin = torch.cat([angle.cos()] * 2, -1), torch.cat([angle.sin()] * 2, -1)

    def turned(x: Tensor) -> Tensor:
        one, other = x.chunk(2, -1)
        return x * cos + torch.cat([-other, one], -1) * sin

    x = weights.embedding[torch.tensor(tokens)]
    for layer in weights.layers:
        h = F.rms_norm(x, x.shape[-1:], layer.attention_norm, shape.eps)
        heads = F.linear(h, layer.qkv, layer.qkv_bias).view(n, -1, shape.head_dim)
        q, k, v = heads.split([shape.heads, shape.kv_heads, shape.kv_heads], 1)
        q, k, v = (one.transpose(0, 1) for one in (turned(q), turned(k), v))
        k, v = (one.repeat_interleave(shape.groups, 0) for one in (k, v))
        scores = (q @ k.transpose(1, 2) / shape.head_dim**0.5).masked_fill(~seen, -torch.inf)
        x = x + F.linear((scores.softmax(-1) @ v).transpose(0, 1).reshape(n, -1), layer.out)
        gate, up = F.linear(F.rms_norm(x, x.shape[-1:], layer.mlp_norm, shape.eps), layer.gate_up).chunk(2, -1)
        x = x + F.linear(F.silu(gate) * up, layer.down)
    return F.linear(F.rms_norm(x, x.shape[-1:], weights.norm, shape.eps), weights.head)


def accepted(probability: dict[int, float], entropy: dict[int, float], rule: str, value: float) -> set[int]:
    """The positions that a rule accepts, of those given; always one at least."""
    if rule == "threshold":
        chosen = {at for at, p in probability.items() if p > value}
    elif rule == "factor":
        order = sorted(probability, key=lambda at: -probability[at])
        fit = [n for n in range(1, len(order) + 1) if probability[order[n - 1]] >= 1 - value / (n + 1)]
        chosen = set(order[: max(fit, default=0)])
    else:
        order, spent, chosen = sorted(entropy, key=lambda at: entropy[at]), 0.0, set()
        for at in order:
            if spent > value:
                break
            chosen.add(at)
            spent += entropy[at]
    return chosen or {max(probability, key=lambda at: probability[at])}
