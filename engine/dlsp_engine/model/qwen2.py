"""The forward pass in float32 or bf16, op by op: the reference for every faster one."""

from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from dlsp_engine.backend import Backend, CpuBackend
from dlsp_engine.decode.budget import Costs
from dlsp_engine.model.adapter import Adapter
from dlsp_engine.model.architecture import Architecture
from dlsp_engine.model.attention import ReferenceAttention
from dlsp_engine.model.cache import Cache
from dlsp_engine.model.rows import Rows, packed
from dlsp_engine.model.weights import Weights
from dlsp_kernels import low_rank_linear, rms_norm, rope, swiglu


class Model(Protocol):
    """A frozen model with a canvas adapter: what the engine steps. Holds no state of any session."""

    shape: Architecture
    adapter: Adapter
    alternatives: bool = False
    """Whether a step takes alternatives, each the clean row that it would be: to the bit, but in float32."""

    fewer_threads: bool = False
    """Whether narrow steps may be faster on fewer of PyTorch's threads."""

    def new_cache(self) -> Cache: ...

    def backend(self, costs: Costs) -> Backend:
        """What runs its steps, where they cost so much."""
        return CpuBackend(self, costs)

    def forward(self, batch: list[tuple[Cache, Rows]]) -> Tensor:
        """One step -> hidden states [rows of all sessions, dim], as `head` takes them.

        Keys and values of all rows are written behind each cache's `length`, which does not move: the caller
        decides which clean rows stand.
        """
        ...

    def head(self, hidden: Tensor) -> Tensor:
        """hidden [rows, dim] -> logits [rows, vocab] in float32; the row at position p predicts the token at p + 1."""
        ...


class Qwen2(Model):
    fewer_threads = True

    def __init__(self, weights: Weights, adapter: Adapter | None = None) -> None:
        self.weights = weights
        self.shape = weights.architecture
        self.adapter = adapter or Adapter.none(weights.embedding, self.shape)
        self.alternatives = weights.dtype == torch.float32  # up to rounding, which bf16 makes much of

    def new_cache(self) -> Cache:
        return Cache(self.shape, self.weights.dtype)

    @torch.inference_mode()
    def forward(self, batch: list[tuple[Cache, Rows]]) -> Tensor:
        shape = self.shape
        rows = packed(batch, shape)
        attend = ReferenceAttention(batch, shape, self.weights.dtype)
        x = self._embed(rows.tokens)
        for i, layer in enumerate(self.weights.layers):
            low = self.adapter.layers[i]

            def linear(x: Tensor, name: str, weight: Tensor, bias: Tensor | None = None, low=low) -> Tensor:
                update = low.get(name)
                a, b = (update.a, update.b) if update else (None, None)
                return low_rank_linear(x, weight, bias, a, b, rows.canvas)

            h = rms_norm(x, layer.attention_norm, shape.eps)
            qkv = linear(h, "qkv", layer.qkv, layer.qkv_bias).view(len(x), -1, shape.head_dim)
            qk, v = qkv.split([shape.heads + shape.kv_heads, shape.kv_heads], 1)
            q, k = rope(qk, rows.cos, rows.sin).split([shape.heads, shape.kv_heads], 1)
            x = x + linear(attend(i, q, k, v), "out", layer.out)
            h = rms_norm(x, layer.mlp_norm, shape.eps)
            x = x + linear(swiglu(linear(h, "gate_up", layer.gate_up)), "down", layer.down)
        return rms_norm(x, self.weights.norm, shape.eps)

    @torch.inference_mode()
    def head(self, hidden: Tensor) -> Tensor:
        return F.linear(hidden, self.weights.embedding).float()

    def _embed(self, tokens: Tensor) -> Tensor:
        known = self.weights.embedding[tokens.clamp(min=0)]
        return torch.where((tokens < 0)[:, None], self.adapter.mask_embedding, known)
