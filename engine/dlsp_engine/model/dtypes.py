"""The dtype of a model's weights on a CPU, where nobody names one."""

from pathlib import Path

from dlsp_engine.costs import faster_dense
from dlsp_engine.model.architecture import Architecture
from dlsp_kernels.int8_linear.compiled import Compiled
from dlsp_kernels.int8_linear.kinds import Int8

# In 4 bits a model answers as well as in 8 if it has at least so many weights, and its file has at most so many bits
# for each: its weights were rounded before. Measured with 1.5 billion weights in 5.8 bits (docs/notes/step.md).
FOUR_BIT_WEIGHTS, FOUR_BIT_FILE_BITS = 1e9, 6.0


def usual(shape: Architecture, checkpoint: Path, kind: Int8 | None) -> str:
    """Return `int4` where that answers as well as `int8`, which is faster than the others wherever it was measured;
    without an int8 matmul, which `kind` is, the faster one of `bfloat16` and `float32`.
    """
    if not kind or not shape.convention.causal:
        return faster_dense()
    bits = 8 * _bytes(checkpoint) / shape.weights
    as_good = shape.weights >= FOUR_BIT_WEIGHTS and bits <= FOUR_BIT_FILE_BITS
    return "int4" if as_good and not refusal(shape, kind) else "int8"


def refusal(shape: Architecture, kind: Int8) -> str:
    """Return why a model does not run in 4 bits here, as a sentence for the user; empty if it does."""
    if not isinstance(kind, Compiled):
        return "No 4-bit kernel runs on this machine; set dtype to 'int8'."
    if shape.head_norm or shape.layer_norm:
        return "4 bits lack the norms of this model's family; set dtype to 'int8'."
    return ""


def _bytes(checkpoint: Path) -> int:
    files = checkpoint.iterdir() if checkpoint.is_dir() else [checkpoint]
    return sum(file.stat().st_size for file in files)
