"""The ops of an int8 step in plain PyTorch: at their best in wide steps, and what `compiled` is tested against."""

from dlsp_kernels.norm_quantise.reference import add_norm_quantise
from dlsp_kernels.quantise.reference import quantise_rows
from dlsp_kernels.rope_heads.reference import rope_heads
from dlsp_kernels.swiglu_quantise.reference import swiglu_quantise

__all__ = ["add_norm_quantise", "quantise_rows", "rope_heads", "swiglu_quantise"]
