"""Root mean square layer normalisation (arXiv 1910.07467)."""

import torch.nn.functional as F
from torch import Tensor


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """x [rows, dim], weight [dim] -> [rows, dim]."""
    return F.rms_norm(x, weight.shape, weight, eps)
