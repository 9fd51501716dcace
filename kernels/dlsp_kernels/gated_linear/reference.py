"""A linear layer of a step: the base for all rows, a low-rank update for canvas rows (gated LoRA, arXiv 2507.11851).

It includes the RMSNorm before the layer, and after it a bias, GELU and the addition to the residual stream.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from dlsp_kernels.matrix import LowRankUpdate, Matrix
from dlsp_kernels.packed_rows import wide


def gated_linear(
    x: Tensor,
    weight: Matrix,
    norm: Tensor | None = None,
    eps: float = 0.0,
    update: LowRankUpdate | None = None,
    canvas: Tensor | None = None,
    residual: Tensor | None = None,
    bias: Tensor | None = None,
    gelu: bool = False,
) -> Tensor:
    """x [rows, ins], float32 if `norm` is given -> float32 [rows, outs].

    `norm` [ins]: the weights of an RMSNorm of x; None if x is not normed. `update` applies to rows whose `canvas`
    [rows] is not 0. `bias` [outs] is added to all rows. `gelu`: GELU by tanh (arXiv 1606.08415) follows. The result is
    added to `residual` float32 [rows, outs] in place if that is given, and `residual` is returned.
    """
    h = normed(x, norm, eps)
    y = h @ weight.dense(h.dtype).T
    if update and canvas is not None:
        y = y + torch.where(canvas[:, None] != 0, low_rank(h, update), 0)
    y = y if bias is None else y + bias.to(y.dtype)
    y = F.gelu(y, approximate="tanh") if gelu else y
    return y if residual is None else residual.add_(y)


def normed(x: Tensor, norm: Tensor | None, eps: float) -> Tensor:
    """The RMSNorm of x [rows, ins], or x itself if `norm` is None; in float32 or float64."""
    x = wide(x)
    return x if norm is None else x * torch.rsqrt(x.square().mean(1, keepdim=True) + eps) * norm.to(x.dtype)


def low_rank(h: Tensor, update: LowRankUpdate) -> Tensor:
    """The low-rank update of h: [rows, ins] -> [rows, outs]."""
    starts = (0, *update.ends)
    inner = (h @ update.a.to(h.dtype).T).split(update.rank, 1)
    outer = [update.b[start:end].to(h.dtype) for start, end in zip(starts, update.ends, strict=False)]
    return torch.cat([x @ b.T for x, b in zip(inner, outer, strict=True)], 1)
