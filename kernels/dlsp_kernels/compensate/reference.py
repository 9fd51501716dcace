"""Quantises a matrix to 4 bits so that the error of its *results* is small, not that of its weights (GPTQ, arXiv
2210.17323).

One input after the other is rounded. What this changes in the results, for sample inputs, is made up for by the inputs
that are not yet rounded, as far as possible.
"""

import torch
from torch import Tensor

from dlsp_kernels.int4_linear.reference import GROUP, FourBits, best_range, codes_of, weight_scale

# The most inputs among which errors are made up for: time and memory grow with their square and more.
MOST_INPUTS = 2048

# The share of the mean square of the inputs that is added to each one's, so that rare inputs keep some weight.
DAMPING = 0.01


def shares_of(inputs: Tensor) -> list[Tensor]:
    """What `compensated` needs to know of float32 inputs [n, in], samples of what a weight will be multiplied by.

    The inputs are divided into pieces of at most MOST_INPUTS. For each piece float32 [size, size]: element [i, j] is
    what input i takes over of the error of input j < i, and zero for all other j.
    """
    ins = inputs.shape[1]
    size = -(-ins // (GROUP * -(-ins // MOST_INPUTS))) * GROUP
    return [_share(piece) for piece in inputs.split(size, 1)]


def _share(inputs: Tensor) -> Tensor:
    moments = inputs.T @ inputs
    moments.diagonal().add_(DAMPING * moments.diagonal().mean().clamp(min=1e-10))
    upper = torch.linalg.cholesky(torch.cholesky_inverse(torch.linalg.cholesky(moments)), upper=True)
    return (upper / -upper.diagonal()[:, None]).T.tril(-1).contiguous()


def compensated(weight: Tensor, shares: list[Tensor]) -> FourBits:
    """weight float32 [out, in]; `shares` from `shares_of` -> its 4-bit form."""
    scale = weight_scale(weight)
    parts = (weight / scale[:, None]).split([len(share) for share in shares], 1)
    found = [compensated_piece(*piece) for piece in zip(parts, shares, strict=True)]
    return FourBits(*(torch.cat(each, 1) for each in zip(*found, strict=True)), scale=scale)


def compensated_piece(weight: Tensor, share: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """weight [out, n], divided by its scale; share [n, n] as in `shares_of` -> codes, step, minimum of `FourBits`."""
    error, codes, steps, minima = torch.empty_like(weight), torch.empty_like(weight, dtype=torch.uint8), [], []
    for first in range(0, weight.shape[1], GROUP):
        here = slice(first, first + GROUP)
        group = weight[:, here] + error[:, :first] @ share[here, :first].T
        step, minimum = best_range(group)
        for place in range(first, first + GROUP):
            value = group[:, place - first] + error[:, first:place] @ share[place, first:place]
            code = codes_of(value, step[:, 0], minimum[:, 0])
            error[:, place] = value - (code * step[:, 0] + minimum[:, 0])
            codes[:, place] = code.to(torch.uint8)
        steps.append(step.to(torch.uint8))
        minima.append(minimum.to(torch.int8))
    return codes, torch.cat(steps, 1), torch.cat(minima, 1)
