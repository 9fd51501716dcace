"""A linear layer whose low-rank update acts on canvas rows only (gated LoRA, arXiv 2507.11851)."""

import torch.nn.functional as F
from torch import Tensor


def low_rank_linear(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    a: Tensor | None,
    b: Tensor | None,
    canvas_rows: Tensor | None,
) -> Tensor:
    """x [rows, in], weight [out, in], a [rank, in], b [out, rank], canvas_rows [n] int64 -> [rows, out].

    Rows outside `canvas_rows` get exactly the base layer's result; without a or canvas rows all do.
    """
    y = F.linear(x, weight, bias)
    if a is not None and b is not None and canvas_rows is not None:
        y.index_add_(0, canvas_rows, F.linear(F.linear(x[canvas_rows], a), b))
    return y
