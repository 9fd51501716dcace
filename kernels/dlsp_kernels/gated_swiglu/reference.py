"""The first half of a feed-forward layer: RMSNorm, gate and up projections with low-rank updates, SwiGLU (arXiv
2002.05202).
"""

import torch
from torch import Tensor

from dlsp_kernels.gated_linear.reference import gated_linear
from dlsp_kernels.matrix import LowRankUpdate, Matrix
from dlsp_kernels.normed import Normed
from dlsp_kernels.swiglu.reference import swiglu


def gated_swiglu(
    x: Tensor | Normed,
    weight: Matrix,
    eps: float,
    update: LowRankUpdate | None = None,
    canvas: Tensor | None = None,
    ready: Tensor | None = None,  # noqa: ARG001 - for the kernel alone
) -> Tensor:
    """weight [2 * ff, ins], the gate first; other arguments as in `gated_linear` -> [rows, ff].

    The result has the dtype of the matrix, as the product that follows needs it; float64 stays float64.
    """
    y = swiglu(gated_linear(x, weight, eps, update=update, canvas=canvas))
    return y if y.dtype == torch.float64 else y.to(weight.dtype)
