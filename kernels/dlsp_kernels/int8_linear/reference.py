"""A linear layer with int8 weights (one scale per output) and int8 activations (one scale per row)."""

from torch import Tensor


def int8_linear(x: Tensor, weight: Tensor, weight_scale: Tensor, levels: int) -> Tensor:
    """x uint8 [rows, in] from `quantise_rows`; weight int8 [out, in]; weight_scale [out] -> float32 [rows, out].

    The result is not yet multiplied by the scales of x's rows: the op that reads it does that.
    """
    return (x.float() - (levels + 1)) @ (weight.float() * weight_scale[:, None]).T
