"""The ops of an int8 step in plain PyTorch: at their best in wide steps, and what `compiled` is tested against."""

from dlsp_kernels.low_rank_add.reference import low_rank_add
from dlsp_kernels.norm_quantise.reference import add_norm_quantise
from dlsp_kernels.quantise.reference import quantise_rows
from dlsp_kernels.rope_heads.reference import rope_heads
from dlsp_kernels.swiglu_quantise.reference import swiglu_quantise

__all__ = ["add_norm_quantise", "low_rank_add", "quantise_rows", "rope_heads", "swiglu_quantise"]
