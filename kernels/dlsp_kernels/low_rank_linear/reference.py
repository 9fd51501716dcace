"""A linear layer with low-rank updates, each of which acts on some rows only (gated LoRA, arXiv 2507.11851)."""

from collections.abc import Iterable

import torch.nn.functional as F
from torch import Tensor


def low_rank_linear(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    updates: Iterable[tuple[Tensor, Tensor, slice | Tensor | None]],
) -> Tensor:
    """x [rows, in]; weight [out, in]; each update a [rank, in], b [out, rank] and the rows to update -> [rows, out].

    Rows without an update get exactly the base layer's result. None as rows means none.
    """
    y = F.linear(x, weight, bias)
    for a, b, updated in updates:
        if updated is not None:
            y[updated] += F.linear(F.linear(x[updated], a), b)
    return y
