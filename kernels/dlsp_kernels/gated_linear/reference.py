"""A linear layer of a step: the base for all rows, a low-rank update for canvas rows (gated LoRA, arXiv 2507.11851).

It includes the division of the RMSNorm before the layer; after it a bias, GELU, the addition to the residual stream,
and the beginning of the next RMSNorm.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from dlsp_kernels.matrix import LowRankUpdate, Matrix
from dlsp_kernels.normed import Normed
from dlsp_kernels.packed_rows import wide


def gated_linear(
    x: Tensor | Normed,
    weight: Matrix,
    eps: float = 0.0,
    update: LowRankUpdate | None = None,
    canvas: Tensor | None = None,
    residual: Tensor | None = None,
    bias: Tensor | None = None,
    gelu: bool = False,
    into: Normed | None = None,
    ready: Tensor | None = None,  # noqa: ARG001 - for the kernel alone
) -> Tensor:
    """x [rows, ins], or a `Normed` with this `eps` -> float32 [rows, outs].

    `update` applies to rows whose `canvas` [rows] is above 0, and its shared part to all. `bias` [outs] is added to all
    rows. `gelu`: GELU by tanh (arXiv 1606.08415) follows. The result is added to `residual` float32 [rows, outs] in
    place if that is given, and `residual` is returned. `into` gets the input of the projection that follows, if that is
    behind an RMSNorm.
    """
    h = values(x, eps)
    y = h @ weight.dense(h.dtype).T
    if update and canvas is not None:
        y = y + low_rank(h, update, canvas)
    y = y if bias is None else y + bias.to(y.dtype)
    y = F.gelu(y, approximate="tanh") if gelu else y
    y = y if residual is None else residual.add_(y)
    if into:
        into.write(y)
    return y


def values(x: Tensor | Normed, eps: float) -> Tensor:
    """x [rows, ins] in float32 or float64."""
    return x.values(eps) if isinstance(x, Normed) else wide(x)


def low_rank(h: Tensor, update: LowRankUpdate, canvas: Tensor) -> Tensor:
    """The low-rank update of h: [rows, ins] -> [rows, outs]."""
    starts = (0, *update.ends)
    column = torch.arange(len(update.a), device=h.device) % update.rank
    counts = (canvas > 0)[:, None] | (column >= update.rank - update.shared)[None]
    inner = torch.where(counts, h @ update.a.to(h.dtype).T, 0).split(update.rank, 1)
    outer = [update.b[start:end].to(h.dtype) for start, end in zip(starts, update.ends, strict=False)]
    return torch.cat([x @ b.T for x, b in zip(inner, outer, strict=True)], 1)
