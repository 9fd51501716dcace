"""Which token a row of logits stands for: the argmax, or a sample that depends on seed and position alone."""

import torch
from torch import Tensor


def greedy(logits: Tensor) -> list[int]:
    """logits [rows, vocab] -> each row's argmax. NumPy's takes a tenth of the time of PyTorch's."""
    return (logits.numpy() if logits.is_cpu else logits).argmax(-1).tolist()


def sample(logits: Tensor, position: int, temperature: float, seed: int) -> int:
    """logits [vocab] of the row before `position` -> a token id; the argmax at temperature 0.

    Above it this is the Gumbel-max sample with noise drawn for (seed, position). Accepting a draft when it equals this
    sample is the usual rejection rule for a one-hot proposal, and every mode draws the same tokens.
    """
    if temperature == 0:
        return greedy(logits[None])[0]
    generator = torch.Generator().manual_seed((seed * 1_000_003 + position) % 2**63)
    noise = -torch.empty(logits.shape).exponential_(generator=generator).log()
    return int((logits + temperature * noise.to(logits.device)).argmax())


def sample_among(allowed: Tensor, logits: Tensor, position: int, temperature: float, seed: int) -> int:
    """`sample` among the ids in `allowed` [n]."""
    only = torch.full_like(logits, -torch.inf)
    only[allowed] = logits[allowed]
    return sample(only, position, temperature, seed)
