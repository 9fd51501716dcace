"""Kernels of the forward pass: pure functions on tensors.

Each op is a folder. Its `reference.py` defines the op in plain PyTorch; faster versions lie next to it, `triton.py` for
GPUs and `compiled.py` for CPUs.
"""

from dlsp_kernels.canvas_attention.reference import TILE, attention_bias, canvas_attention
from dlsp_kernels.hadamard.reference import hadamard
from dlsp_kernels.low_rank_add.reference import low_rank_add
from dlsp_kernels.low_rank_linear.reference import low_rank_linear
from dlsp_kernels.quantise.reference import quantise_rows, quantise_weight
from dlsp_kernels.rms_norm.reference import rms_norm
from dlsp_kernels.rope.reference import rope, rope_table
from dlsp_kernels.swiglu.reference import swiglu

__all__ = [
    "TILE",
    "attention_bias",
    "canvas_attention",
    "hadamard",
    "low_rank_add",
    "low_rank_linear",
    "quantise_rows",
    "quantise_weight",
    "rms_norm",
    "rope",
    "rope_table",
    "swiglu",
]
