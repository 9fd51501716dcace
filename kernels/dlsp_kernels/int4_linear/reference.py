"""A linear layer with weights of 4 bits and int8 activations. Its weights expand to int8, so it is `int8_linear` of the
expanded weights, to the bit.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from dlsp_kernels.int8_linear.reference import int8_linear

# The number of inputs that share a step and a minimum.
GROUP = 32

# The largest code, step and expanded weight. A code times a step fits in a byte.
MOST_CODE, MOST_STEP, MOST_WEIGHT = 15, 16, 127

# The expanded weight of an output's largest weight. Rounding the steps and minima then hardly ever exceeds
# MOST_WEIGHT.
LARGEST = 120

# The shares of a group's range that are tried. In a narrower range the largest weights lose and all others gain.
SHARES = (1.0, 0.93, 0.86)


@dataclass(frozen=True)
class FourBits:
    """A matrix [out, in] of 4-bit codes. A weight is about (code * step + minimum) * scale."""

    codes: Tensor  # uint8 [out, in], 0 … MOST_CODE
    step: Tensor  # uint8 [out, in / GROUP], 1 … MOST_STEP
    minimum: Tensor  # int8 [out, in / GROUP]; code * step + minimum is in -127 … 127
    scale: Tensor  # float32 [out]

    @classmethod
    def cat(cls, parts: Sequence["FourBits"]) -> "FourBits":
        """The matrices one after the other along their outputs."""
        return cls(*(torch.cat([getattr(part, each.name) for part in parts]) for each in fields(cls)))

    def expanded(self) -> Tensor:
        """The weights divided by `scale`: int8 [out, in]."""
        codes = self.codes.unflatten(1, (-1, GROUP)).short()
        return (codes * self.step[:, :, None].short() + self.minimum[:, :, None]).flatten(1).to(torch.int8)


def weight_scale(weight: Tensor) -> Tensor:
    """weight float32 [out, in] -> the `scale` of its 4-bit form, [out]."""
    return weight.abs().amax(1).clamp_(min=1e-10).mul_(1 / LARGEST)


def best_range(group: Tensor) -> tuple[Tensor, Tensor]:
    """group [..., GROUP], weights divided by their scales -> step and minimum [..., 1] of the least squared error, as
    whole numbers in float32.
    """
    low, high = group.aminmax(dim=-1, keepdim=True)
    middle, size = (low + high) / 2, (high - low) / MOST_CODE
    best = middle, middle, torch.full_like(middle, torch.inf)
    for share in SHARES:
        step = (size * share).round_().clamp_(1, MOST_STEP)
        minimum = (middle - MOST_CODE / 2 * step).round_().clamp_(-MOST_WEIGHT)
        minimum = torch.minimum(minimum, MOST_WEIGHT - MOST_CODE * step)
        error = (codes_of(group, step, minimum) * step + minimum).sub_(group).square_().sum(-1, keepdim=True)
        less = error < best[2]
        best = torch.where(less, step, best[0]), torch.where(less, minimum, best[1]), torch.where(less, error, best[2])
    return best[0], best[1]


def codes_of(weight: Tensor, step: Tensor, minimum: Tensor) -> Tensor:
    """The nearest codes of weights that are divided by their scales, as whole numbers in float32."""
    return ((weight - minimum) / step).round_().clamp_(0, MOST_CODE)


def quantise_four_bits(weight: Tensor) -> FourBits:
    """weight float32 [out, in] -> its 4-bit form, rounded to the nearest."""
    scale = weight_scale(weight)
    groups = (weight / scale[:, None]).unflatten(1, (-1, GROUP))
    step, minimum = best_range(groups)
    codes = codes_of(groups, step, minimum).to(torch.uint8).flatten(1)
    return FourBits(codes, step[:, :, 0].to(torch.uint8), minimum[:, :, 0].to(torch.int8), scale)


def int4_linear(x: Tensor, weight: FourBits, levels: int) -> Tensor:
    """x uint8 [rows, in] from `quantise_rows` -> float32 [rows, out], not yet multiplied by the scales of x's rows."""
    return int8_linear(x, weight.expanded(), weight.scale, levels)
