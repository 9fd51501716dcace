"""The fastest attention on a CPU: one compiled program for the rows of all sessions of a step."""

from collections.abc import Callable
from functools import partial

import torch

from dlsp_engine.model.architecture import Architecture
from dlsp_engine.model.attention import Attention, Batch, ReferenceAttention
from dlsp_kernels.canvas_attention.compiled import CompiledAttention, suited
from dlsp_kernels.canvas_attention.source import Place
from dlsp_kernels.program.instructions import Instructions


def fastest(shape: Architecture) -> Callable[[Batch], Attention]:
    """In float32: the compiled program where one runs on this machine, else the reference."""
    if kind := suited(shape.head_dim):
        return partial(compiled, shape=shape, kind=kind)
    return partial(ReferenceAttention, shape=shape, dtype=torch.float32)


def compiled(batch: Batch, shape: Architecture, kind: Instructions) -> CompiledAttention:
    """In float32."""
    places = []
    for cache, rows in batch:
        memory, length = cache.memory, cache.length
        numbers = [abs(number) for number in rows.canvas]
        for row, (visible, own) in enumerate(zip(rows.visible, rows.canvas, strict=True)):
            first = length + numbers.index(own) if own > 0 else length + row
            count = numbers.count(own) if own > 0 else int(own < 0)
            places.append(Place(*memory, length + row, visible, first, first + count))
    most = max(cache.length + len(rows) for cache, rows in batch)
    return CompiledAttention(torch.tensor(places), most, shape.heads, shape.kv_heads, shape.head_dim, kind)
