"""The gated activation of Qwen2's feed-forward layer (arXiv 2002.05202)."""

import torch.nn.functional as F
from torch import Tensor


def swiglu(gate_up: Tensor) -> Tensor:
    """gate_up [rows, 2 * ff], gate first -> silu(gate) * up, [rows, ff]."""
    gate, up = gate_up.chunk(2, -1)
    return F.silu(gate) * up
