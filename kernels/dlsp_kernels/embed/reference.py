"""The embedding lookup, which begins the residual stream."""

import torch
from torch import Tensor

from dlsp_kernels.normed import Normed
from dlsp_kernels.packed_rows import wide


def embed(token: Tensor, embedding: Tensor, mask: Tensor, into: Normed | None = None) -> Tensor:
    """token int32 [rows], negative for a mask; embedding [vocab, dim]; mask [dim] -> float32 [rows, dim]. `into` gets
    the input of the projection that follows, if that is behind an RMSNorm.
    """
    embedded = embedding[token.clamp(min=0)]
    x = wide(torch.where((token < 0)[:, None], mask, embedded))
    if into:
        into.write(x)
    return x
