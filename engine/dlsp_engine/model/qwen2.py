"""The forward pass in float32 or bf16, op by op in PyTorch: the reference for every faster one."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from dlsp_engine.backend import Backend, CpuBackend, leave_if_asked
from dlsp_engine.decode.budget import Costs
from dlsp_engine.model.adapter import Adapter
from dlsp_engine.model.architecture import Architecture
from dlsp_engine.model.attention import ReferenceAttention
from dlsp_engine.model.cache import Cache
from dlsp_engine.model.rows import Rows, packed
from dlsp_engine.model.update import Removal
from dlsp_engine.model.weights import Weights
from dlsp_kernels import low_rank_linear, rms_norm, rope, swiglu
from dlsp_kernels.kv_format import BFLOAT16, FLOAT32


class Model(Protocol):
    """A frozen model with a canvas adapter, as the engine runs it. It holds no state of any session."""

    shape: Architecture
    adapter: Adapter
    # Whether a step may contain alternatives (see `Rows.add_alternative`). An alternative has the same result as the
    # clean row that it may become: to the bit in int8, up to rounding in float32.
    alternatives: bool = False

    # Whether it takes the infill update in its weights back from the rows of published caches (`Cache.published`).
    removes_update: bool = False

    # Bytes of the pool that all KV caches share; None if each has memory of its own.
    kv_pool_bytes: int | None = None

    # Whether narrow steps may be faster with fewer PyTorch threads.
    fewer_threads: bool = False

    # The edit update, by layer and projection, for the clean rows of caches that say so; empty if there is none.
    edits: Sequence[Mapping[str, Any]] = ()

    def new_cache(self) -> Cache: ...

    def backend(self, costs: Costs) -> Backend:
        """The backend that runs this model's steps. `costs`: what steps cost on this machine."""
        return CpuBackend(self, costs)

    def forward(self, batch: list[tuple[Cache, Rows]]) -> Tensor:
        """One step over the rows of all sessions -> hidden states [rows, dim], as `head` takes them.

        The keys and values of all rows are written behind each cache's `length`. The caller then advances `length` over
        the clean rows that it accepts.
        """
        ...

    def head(self, hidden: Tensor) -> Tensor:
        """hidden [rows, dim] -> logits [rows, vocab] in float32; the row at position p predicts the token at p + 1."""
        ...


class Qwen2(Model):
    """The reference model, by PyTorch's ops."""

    fewer_threads = True

    def __init__(self, weights: Weights, adapter: Adapter | None = None, removal: Removal | None = None) -> None:
        """`removal` takes the infill update in `weights` back."""
        self.weights = weights
        self.shape = weights.architecture
        self.adapter = adapter or Adapter.none(weights.embedding, self.shape)
        self._removal = removal or [{}] * self.shape.layers
        self.removes_update = any(self._removal)
        # Alternatives equal their clean rows up to rounding, which is too coarse in bf16.
        self.alternatives = weights.dtype == torch.float32

    def new_cache(self) -> Cache:
        return Cache(self.shape, FLOAT32 if self.weights.dtype == torch.float32 else BFLOAT16)

    @torch.inference_mode()
    def forward(self, batch: list[tuple[Cache, Rows]]) -> Tensor:
        shape = self.shape
        rows = packed(batch, shape)
        attend = ReferenceAttention(batch, shape, self.weights.dtype)
        x = self._embed(rows.tokens)
        for i, layer in enumerate(self.weights.layers):
            leave_if_asked()
            edits = {} if rows.edits is None else self.edits[i]
            updates = (self.adapter.layers[i], rows.canvas), (self._removal[i], rows.published), (edits, rows.edits)

            def linear(x: Tensor, name: str, weight: Tensor, bias: Tensor | None = None, updates=updates) -> Tensor:
                given = [(low[name].a, low[name].b, updated) for low, updated in updates if name in low]
                return low_rank_linear(x, weight, bias, given)

            h = norm(x, layer.attention_norm, layer.attention_norm_bias, shape.eps)
            qkv = linear(h, "qkv", layer.qkv, layer.qkv_bias).view(len(x), -1, shape.head_dim)
            qk, v = qkv.split([shape.heads + shape.kv_heads, shape.kv_heads], 1)
            if layer.head_norm is not None:
                qk = F.rms_norm(qk, qk.shape[-1:], eps=shape.eps) * layer.head_norm
            q, k = rope(qk, rows.cos, rows.sin).split([shape.heads, shape.kv_heads], 1)
            x = x + linear(attend(i, q, k, v), "out", layer.out, layer.out_bias)
            h = norm(x, layer.mlp_norm, layer.mlp_norm_bias, shape.eps)
            h = linear(h, "gate_up", layer.gate_up, layer.gate_up_bias)
            h = F.gelu(h, approximate="tanh") if shape.gelu else swiglu(h)
            x = x + linear(h, "down", layer.down, layer.down_bias)
        return norm(x, self.weights.norm, self.weights.norm_bias, shape.eps)

    @torch.inference_mode()
    def head(self, hidden: Tensor) -> Tensor:
        return F.linear(hidden, self.weights.head).float()

    def _embed(self, tokens: Tensor) -> Tensor:
        known = self.weights.embedding[tokens.clamp(min=0)]
        return torch.where((tokens < 0)[:, None], self.adapter.mask_embedding, known)


def norm(x: Tensor, weight: Tensor, bias: Tensor | None, eps: float) -> Tensor:
    """LayerNorm if there is a bias, else RMSNorm."""
    return rms_norm(x, weight, eps) if bias is None else F.layer_norm(x, weight.shape, weight, bias, eps)
