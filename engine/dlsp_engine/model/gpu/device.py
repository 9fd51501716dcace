"""Which device a step runs on, and whether the kernels were made for it."""

import torch

from dlsp_engine.errors import EngineError
from dlsp_engine.model.adapter import Adapter
from dlsp_engine.model.gpu.pool import Pool
from dlsp_engine.model.gpu.step import GpuQwen2
from dlsp_engine.model.weights import Weights

DEVICES = ("auto", "cpu", "cuda", "mps")

OLDEST = (8, 0)
"""The compute capability that has bf16."""

POOL_BYTES = 8 * 2**30
"""At most, and a third of the memory that is free once the weights are there."""


def resolve(device: str) -> str:
    """`auto` is `cuda` where the kernels run, else `cpu`. Raises EngineError for a device that is not there."""
    if device not in DEVICES:
        raise EngineError(f"There is no device '{device}': set DLSP_DEVICE to one of {', '.join(DEVICES)}.")
    if device == "auto":
        return "cuda" if is_nvidia() else "cpu"
    if device == "cuda" and not torch.cuda.is_available():
        raise EngineError("PyTorch sees no GPU: set DLSP_DEVICE to auto or cpu, or install PyTorch's CUDA build.")
    if device == "mps" and not torch.backends.mps.is_available():
        raise EngineError("PyTorch sees no Apple GPU: set DLSP_DEVICE to auto or cpu.")
    return device


def is_nvidia() -> bool:
    """Whether there is a GPU that the kernels were made for; others run by the references, untested."""
    return torch.cuda.is_available() and not torch.version.hip and torch.cuda.get_device_capability() >= OLDEST


def load(weights: Weights, adapter: Adapter | None, device: str, dtype: str) -> GpuQwen2:
    """`dtype` as in `Engine.load`: int8 keeps the matrices so, the arithmetic is bf16."""
    page = Pool.page_bytes(weights.architecture, weights.dtype)
    room = POOL_BYTES
    if device == "cuda":
        matrices = sum(t.nbytes for layer in weights.layers for t in vars(layer).values()) + weights.embedding.nbytes
        room = min(room, max(0, torch.cuda.mem_get_info()[0] - 2 * matrices) // 3)
    format = "int8" if dtype == "int8" else "dense"
    try:
        return GpuQwen2(weights, adapter, device, device == "cuda" and is_nvidia(), format, max(64, room // page))
    except torch.OutOfMemoryError as error:
        raise EngineError("The GPU has too little free memory for this model: set DLSP_DEVICE to cpu.") from error
