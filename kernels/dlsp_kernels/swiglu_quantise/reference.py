"""What comes between the two int8 matrices of a feed-forward layer: scale, SwiGLU, Hadamard transform, quantisation."""

from torch import Tensor

from dlsp_kernels.hadamard.reference import hadamard
from dlsp_kernels.quantise.reference import quantise_rows
from dlsp_kernels.swiglu.reference import swiglu


def swiglu_quantise(y: Tensor, y_scale: Tensor, ff: int, levels: int) -> tuple[Tensor, Tensor]:
    """y [rows, at least 2 * ff], not yet multiplied by y_scale [rows, 1] -> uint8 [rows, ff], scale [rows, 1].

    For `levels` see `quantise_rows`.
    """
    return quantise_rows(hadamard(swiglu(y[:, : 2 * ff] * y_scale)), levels)
