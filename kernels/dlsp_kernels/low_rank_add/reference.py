"""The second half of a low-rank update with int8 weights, added to canvas rows in place."""

import torch
from torch import Tensor


def low_rank_add(y: Tensor, canvas: slice | Tensor, ends: list[int], b: Tensor, b_scale: Tensor) -> None:
    """y [rows, ends[-1] + parts * rank] float32: the result, then what the first halves of the update gave.

    b int8 [rank, ends[-1]], b_scale [ends[-1]]; `ends` are where the fused parts of the result end, each with the
    rank's columns of its own. y[canvas, j] += sum over k of y[canvas, ends[-1] + part(j) * rank + k] * b[k, j] * scale.
    """
    rank, start = len(b), 0
    given = y[canvas, ends[-1] :]
    update = torch.empty(len(given), ends[-1])
    for part, end in enumerate(ends):
        update[:, start:end] = given[:, part * rank : (part + 1) * rank] @ b[:, start:end].float()
        start = end
    y[canvas, : ends[-1]] += update.mul_(b_scale)
