"""A linear layer whose low-rank update acts on canvas rows only (gated LoRA, arXiv 2507.11851)."""

import torch.nn.functional as F
from torch import Tensor


def low_rank_linear(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    a: Tensor | None,
    b: Tensor | None,
    canvas: slice | Tensor | None,
) -> Tensor:
    """x [rows, in]; weight [out, in]; a [rank, in]; b [out, rank]; canvas: the rows to update -> [rows, out].

    Rows outside `canvas` get exactly the base layer's result; so do all rows if `a`, `b` or `canvas` is None.
    """
    y = F.linear(x, weight, bias)
    if a is not None and b is not None and canvas is not None:
        y[canvas] += F.linear(F.linear(x[canvas], a), b)
    return y
