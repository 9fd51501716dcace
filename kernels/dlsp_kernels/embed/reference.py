"""The embedding lookup, which begins the residual stream."""

import torch
from torch import Tensor

from dlsp_kernels.packed_rows import wide


def embed(token: Tensor, embedding: Tensor, mask: Tensor) -> Tensor:
    """token int32 [rows], negative for a mask; embedding [vocab, dim]; mask [dim] -> float32 [rows, dim]."""
    embedded = embedding[token.clamp(min=0)]
    return wide(torch.where((token < 0)[:, None], mask, embedded))
