"""Which token a row stands for: the argmax, or a sample that depends on seed and position alone."""

import torch
from torch import Tensor


def likeliest(logits: Tensor) -> list[int]:
    """logits [rows, vocab] -> each row's argmax. NumPy's takes a tenth of the time of PyTorch's."""
    return (logits.numpy() if logits.is_cpu else logits).argmax(-1).tolist()


def choose(logits: Tensor, position: int, temperature: float, seed: int) -> int:
    """logits [vocab] of the row before `position` -> a token id.

    Above temperature 0 this is the Gumbel-max sample with noise drawn for (seed, position). Accepting a draft when it
    equals this choice is the usual rejection rule for a one-hot proposal, and every mode draws the same tokens.
    """
    if temperature == 0:
        return likeliest(logits[None])[0]
    generator = torch.Generator().manual_seed((seed * 1_000_003 + position) % 2**63)
    noise = -torch.empty(logits.shape).exponential_(generator=generator).log()
    return int((logits + temperature * noise.to(logits.device)).argmax())


def choose_forced(logits: Tensor, allowed: Tensor, position: int, temperature: float, seed: int) -> int:
    """`choose` among the ids in `allowed` [n], which token healing gives."""
    only = torch.full_like(logits, -torch.inf)
    only[allowed] = logits[allowed]
    return choose(only, position, temperature, seed)
