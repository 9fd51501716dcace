"""A linear layer with int8 weights (a scale an output) and int8 activations (a scale a row)."""

from torch import Tensor


def int8_linear(x: Tensor, weight: Tensor, weight_scale: Tensor, levels: int) -> Tensor:
    """x uint8 [rows, in] by `quantise_rows`; weight int8 [out, in], weight_scale [out] -> float32 [rows, out].

    The rows' scales are left to the op that follows, which reads the result anyway.
    """
    return (x.float() - (levels + 1)) @ (weight.float() * weight_scale[:, None]).T
