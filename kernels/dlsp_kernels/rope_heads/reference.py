"""Scale, bias and rotary embedding: makes heads from the raw result of the int8 query, key and value projection."""

import torch.nn.functional as F
from torch import Tensor

from dlsp_kernels.hadamard.reference import hadamard
from dlsp_kernels.rope.reference import rope


def rope_heads(
    y: Tensor,
    y_scale: Tensor,
    bias: Tensor,
    cos: Tensor,
    sin: Tensor,
    heads: int,
    kv_heads: int,
    transform: bool = False,
    norm: Tensor | None = None,
    eps: float = 0,
) -> tuple[Tensor, Tensor, Tensor]:
    """y [rows, at least qkv]; y_scale [rows, 1]; bias [qkv]; cos and sin from `rope_table`.

    Returns q [rows, heads, d], k and v [rows, kv_heads, d]. If `transform`, q and k are Hadamard-transformed, which
    changes no product of the two. If `norm` [heads + kv_heads, d] is given, q and k are normalised by RMSNorm with
    these weights and `eps`, which the compiled op cannot do.
    """
    qkv = (y[:, : len(bias)] * y_scale).add_(bias).view(len(y), heads + 2 * kv_heads, -1)
    qk, v = qkv.split([heads + kv_heads, kv_heads], 1)
    if norm is not None:
        qk = F.rms_norm(qk, qk.shape[-1:], eps=eps) * norm
    turned = rope(qk, cos, sin)
    q, k = (hadamard(turned) if transform else turned).split([heads, kv_heads], 1)
    return q, k, v
