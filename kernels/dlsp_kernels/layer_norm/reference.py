"""LayerNorm (arXiv 1607.06450) of the residual stream."""

import torch.nn.functional as F
from torch import Tensor


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    """x float32 [rows, dim]; weight, bias [dim] -> [rows, dim] in the dtype of x."""
    return F.layer_norm(x, weight.shape, weight.to(x.dtype), bias.to(x.dtype), eps)
