"""Quantises a matrix to 4 bits so that the error of its *results* is small, not that of its weights (GPTQ, arXiv
2210.17323).

One input after the other is rounded. What this changes in the results, for sample inputs, is made up for by the inputs
that are not yet rounded, as far as possible.
"""

import torch
from torch import Tensor

from dlsp_kernels.int4_linear.reference import GROUP, FourBits, best_range, codes_of, weight_scale

# The inputs among which errors are made up for, at most: time and memory grow with the square and more.
MOST_INPUTS = 2048

# The share of the mean square of the inputs that is added to each one's, so that rare inputs keep some weight.
DAMPING = 0.01


def compensated(weight: Tensor, inputs: Tensor) -> FourBits:
    """weight float32 [out, in]; inputs float32 [n, in], samples of what it will be multiplied by -> its 4-bit form."""
    scale = weight_scale(weight)
    ins = weight.shape[1]
    size = -(-ins // (GROUP * -(-ins // MOST_INPUTS))) * GROUP
    pieces = zip((weight / scale[:, None]).split(size, 1), inputs.split(size, 1), strict=True)
    codes, step, minimum = (torch.cat(parts, 1) for parts in zip(*(_piece(*piece) for piece in pieces), strict=True))
    return FourBits(codes, step, minimum, scale)


def _piece(weight: Tensor, inputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Some inputs of a weight that is divided by its scale -> codes, step, minimum."""
    left, factor = weight.clone(), _factor(inputs)
    codes, steps, minima = [], [], []
    for first in range(0, weight.shape[1], GROUP):
        here = slice(first, first + GROUP)
        step, minimum = best_range(left[:, here])
        group, error = left[:, here].T.contiguous(), torch.empty(GROUP, len(weight))
        found = torch.empty(GROUP, len(weight))
        step_of, minimum_of = step[:, 0], minimum[:, 0]
        for number, row in enumerate(factor[here, here]):
            found[number] = code = codes_of(group[number], step_of, minimum_of)
            error[number] = (group[number] - code * step_of).sub_(minimum_of).div_(row[number])
            group[number + 1 :].addr_(row[number + 1 :], error[number], alpha=-1)
        left[:, here.stop :] -= error.T @ factor[here, here.stop :]
        codes.append(found.T.to(torch.uint8))
        steps.append(step.to(torch.uint8))
        minima.append(minimum.to(torch.int8))
    return torch.cat(codes, 1), torch.cat(steps, 1), torch.cat(minima, 1)


def _factor(inputs: Tensor) -> Tensor:
    """The upper Cholesky factor of the inverse of the inputs' second moments: row i tells how the later inputs make up
    for an error of input i.
    """
    moments = inputs.T @ inputs
    moments.diagonal().add_(DAMPING * moments.diagonal().mean().clamp(min=1e-10))
    return torch.linalg.cholesky(torch.cholesky_inverse(torch.linalg.cholesky(moments)), upper=True)
