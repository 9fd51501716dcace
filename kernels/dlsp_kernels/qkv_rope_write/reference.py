"""The first half of an attention layer.

The projections of queries, keys and values with low-rank updates; RMSNorms of query and key heads (arXiv
2302.05442); rotary position embedding (arXiv 2104.09864); writing keys and values to the cache.
"""

import torch
from torch import Tensor

from dlsp_kernels.gated_linear.reference import gated_linear
from dlsp_kernels.matrix import LowRankUpdate, Matrix
from dlsp_kernels.normed import Normed
from dlsp_kernels.packed_rows import PAGE, PackedRows
from dlsp_kernels.rope.reference import rope


def qkv_rope_write(
    x: Tensor | Normed,
    weight: Matrix,
    bias: Tensor,
    eps: float,
    cos: Tensor,
    sin: Tensor,
    keys: Tensor,
    values: Tensor,
    rows: PackedRows,
    update: LowRankUpdate | None = None,
    head_norm: Tensor | None = None,
    ready: Tensor | None = None,  # noqa: ARG001 - for the kernel alone
) -> Tensor:
    """x [rows, ins] as in `gated_linear` -> q [rows, heads, d] in the keys' dtype. Writes the rows' keys and values to
    their slots.

    weight [(heads + 2 * kv_heads) * d, ins]: queries, keys, values, each of them a part of `update`, which applies to
    canvas rows. `head_norm` [heads + kv_heads, d]: the weights of RMSNorms of single query and key heads, if there are
    any. cos, sin [positions, d / 2]. keys, values [pages, kv_heads, PAGE, d]. Unused rows have positions beyond `cos`
    and `sin`: they are not rotated.
    """
    kv_heads, d = keys.shape[1], keys.shape[3]
    heads = weight.outs // d - 2 * kv_heads
    qkv = gated_linear(x, weight, eps, update=update, canvas=rows.canvas) + bias
    qk, v = qkv.view(len(qkv), -1, d).split([heads + kv_heads, kv_heads], 1)
    if head_norm is not None:
        qk = qk * torch.rsqrt(qk.square().mean(2, keepdim=True) + eps) * head_norm.to(qk.dtype)
    at = rows.position.where(rows.position < len(cos), 0)
    q, k = rope(qk, cos[at][:, None], sin[at][:, None]).split([heads, kv_heads], 1)
    page, place = rows.slot // PAGE, rows.slot % PAGE
    keys[page, :, place] = k.to(keys.dtype)
    values[page, :, place] = v.to(values.dtype)
    return q.to(keys.dtype)
