"""The second half of a low-rank update with int8 weights, which is added to some rows in place."""

import torch
from torch import Tensor


def low_rank_add(y: Tensor, updated: slice | Tensor, ends: list[int], b: Tensor, b_scale: Tensor, column: int) -> None:
    """y float32 [rows, at least column + parts * rank]: a projection's outputs, and from `column` on the first half of
    the update, x aᵀ. `updated`: the rows to update.

    b int8 [rank, ends[-1]]; b_scale [ends[-1]]. `ends` are where the outputs of each fused part end; each part has
    `rank` columns of x aᵀ of its own. For each output j of each part p:

        y[updated, j] += b_scale[j] * sum over k < rank of y[updated, column + p * rank + k] * b[k, j]
    """
    rank, start = len(b), 0
    given = y[updated, column : column + len(ends) * rank]
    update = torch.empty(len(given), ends[-1])
    for part, end in enumerate(ends):
        update[:, start:end] = given[:, part * rank : (part + 1) * rank] @ b[:, start:end].float()
        start = end
    y[updated, : ends[-1]] += update.mul_(b_scale)
