"""The ops between the matrices of an int8 step: native kernels, or plain PyTorch where none can run."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from dlsp_kernels.norm_quantise import compiled as norm
from dlsp_kernels.norm_quantise import reference as norm_reference
from dlsp_kernels.program.instructions import Instructions
from dlsp_kernels.quantise import compiled as quantise
from dlsp_kernels.quantise import reference as quantise_reference
from dlsp_kernels.rope_heads import compiled as rope
from dlsp_kernels.rope_heads import reference as rope_reference
from dlsp_kernels.swiglu_quantise import compiled as swiglu
from dlsp_kernels.swiglu_quantise import reference as swiglu_reference


@dataclass(frozen=True)
class Int8Ops:
    """Each op takes and returns what its reference does."""

    add_norm_quantise: Callable[..., Any]
    quantise_rows: Callable[..., Any]
    rope_heads: Callable[..., Any]
    swiglu_quantise: Callable[..., Any]

    @classmethod
    def of(cls, kind: Instructions | None) -> "Int8Ops":
        """Native kernels for these instructions; the references if `kind` is None."""
        if not kind:
            return REFERENCE
        ops = norm.add_norm_quantise, quantise.quantise_rows, rope.rope_heads, swiglu.swiglu_quantise
        return cls(*(partial(op, kind=kind) for op in ops))


REFERENCE = Int8Ops(
    norm_reference.add_norm_quantise,
    quantise_reference.quantise_rows,
    rope_reference.rope_heads,
    swiglu_reference.swiglu_quantise,
)
