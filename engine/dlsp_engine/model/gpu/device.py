"""Resolves the device setting, and loads a model onto a GPU."""

import torch

from dlsp_engine.errors import EngineError
from dlsp_engine.model.adapter import Adapter
from dlsp_engine.model.gpu.pool import MAX_SESSION_PAGES, Pool
from dlsp_engine.model.gpu.step import GpuQwen2
from dlsp_engine.model.update import Removal
from dlsp_engine.model.weights import Weights
from dlsp_kernels.ops import StepOps

DEVICES = ("auto", "cpu", "cuda", "mps")

# The lowest NVIDIA compute capability that supports bf16.
MIN_COMPUTE_CAPABILITY = (8, 0)

# The largest KV page pool, unless POOLED_CONTEXTS of the longest need more. On CUDA the pool also takes at most a third
# of the memory that the weights leave free.
MAX_POOL_BYTES = 8 * 2**30
POOLED_CONTEXTS = 2


def resolve(device: str) -> str:
    """The device to run on for a setting in `DEVICES`: `auto` is `cuda` where all kernels can run, else `cpu`.

    Raises EngineError for an unknown setting, or a device that PyTorch does not find.
    """
    if device not in DEVICES:
        raise EngineError(f"There is no device '{device}': set DLSP_DEVICE to one of {', '.join(DEVICES)}.")
    if device == "auto":
        return "cuda" if is_nvidia() and not StepOps(fused=True).failures else "cpu"
    if device == "cuda" and not torch.cuda.is_available():
        raise EngineError("PyTorch sees no GPU: set DLSP_DEVICE to auto or cpu, or install PyTorch's CUDA build.")
    if device == "mps" and not torch.backends.mps.is_available():
        raise EngineError("PyTorch sees no Apple GPU: set DLSP_DEVICE to auto or cpu.")
    return device


def is_nvidia() -> bool:
    """Whether there is an NVIDIA GPU that the Triton kernels support.

    Other GPUs run the reference ops, which are untested there.
    """
    return (
        torch.cuda.is_available()
        and not torch.version.hip
        and torch.cuda.get_device_capability() >= MIN_COMPUTE_CAPABILITY
    )


def load(
    weights: Weights, adapter: Adapter | None, device: str, dtype: str, removal: Removal | None = None
) -> GpuQwen2:
    """The model on `device`. `removal` takes the infill update in `weights` back. `dtype` as in `Engine.load`: "int8"
    stores the matrices in int8, and still computes in bf16.

    Raises EngineError when the GPU has too little free memory for the model and a session of the longest context.
    """
    page = Pool.page_bytes(weights.architecture, weights.dtype)
    room = max(MAX_POOL_BYTES, POOLED_CONTEXTS * (1 + MAX_SESSION_PAGES) * page)
    if device == "cuda":
        matrices = (
            sum(t.nbytes for layer in weights.layers for t in layer.tensors().values()) + weights.embedding.nbytes
        )
        matrices += 0 if weights.own_head is None else weights.own_head.nbytes
        room = min(room, max(0, torch.cuda.mem_get_info()[0] - 2 * matrices) // 3)
    format = "int8" if dtype == "int8" else "dense"
    full = "The GPU has too little free memory for this model: set DLSP_DEVICE to cpu."
    if room // page <= MAX_SESSION_PAGES:
        raise EngineError(full)
    try:
        return GpuQwen2(weights, adapter, device, device == "cuda" and is_nvidia(), format, room // page, removal)
    except torch.OutOfMemoryError as error:
        raise EngineError(full) from error
