"""The ops of an int8 step compiled by Numba, for narrow steps."""

from dlsp_kernels.norm_quantise.compiled import add_norm_quantise
from dlsp_kernels.quantise.compiled import quantise_rows
from dlsp_kernels.rope_heads.compiled import rope_heads
from dlsp_kernels.swiglu_quantise.compiled import swiglu_quantise

__all__ = ["add_norm_quantise", "quantise_rows", "rope_heads", "swiglu_quantise"]
