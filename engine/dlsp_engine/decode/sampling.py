"""Chooses a token from a row of logits: the argmax, or a sample that depends on seed and position alone."""

import torch
from torch import Tensor


def greedy(logits: Tensor) -> list[int]:
    """Return the argmax of each row of logits [rows, vocab]. On a CPU NumPy's argmax takes a tenth of the time of
    PyTorch's.
    """
    return (logits.numpy() if logits.is_cpu else logits).argmax(-1).tolist()


def sample(logits: Tensor, position: int, temperature: float, seed: int) -> int:
    """Return the token id that logits [vocab] give for the answer's token number `position`: the argmax at temperature
    0.

    Above temperature 0 it is a Gumbel-max sample whose noise depends on (seed, position) alone, so every mode draws the
    same tokens. Accepting a draft if it equals this sample is the usual rejection rule for a one-hot proposal.
    """
    if temperature == 0:
        return greedy(logits[None])[0]
    generator = torch.Generator().manual_seed((seed * 1_000_003 + position) % 2**63)
    noise = -torch.empty(logits.shape).exponential_(generator=generator).log()
    return int((logits + temperature * noise.to(logits.device)).argmax())


def sample_among(allowed: Tensor, logits: Tensor, position: int, temperature: float, seed: int) -> int:
    """As `sample`, but only among the ids in `allowed` [n]."""
    only = torch.full_like(logits, -torch.inf)
    only[allowed] = logits[allowed]
    return sample(only, position, temperature, seed)
