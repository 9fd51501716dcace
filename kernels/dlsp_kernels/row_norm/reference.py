"""LayerNorm (arXiv 1607.06450), or RMSNorm (arXiv 1910.07467), of the residual stream."""

import torch
import torch.nn.functional as F
from torch import Tensor

from dlsp_kernels.rms_norm.reference import rms_norm


def row_norm(x: Tensor, weight: Tensor, bias: Tensor | None, eps: float, dtype: torch.dtype) -> Tensor:
    """x float32 [rows, dim]; weight, bias [dim] -> [rows, dim] in `dtype`, or in float64 if x is. Without a bias it is
    an RMSNorm.
    """
    if bias is None:
        y = rms_norm(x, weight.to(x.dtype), eps)
    else:
        y = F.layer_norm(x, weight.shape, weight.to(x.dtype), bias.to(x.dtype), eps)
    return y if x.dtype == torch.float64 else y.to(dtype)
