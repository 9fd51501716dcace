"""The forward pass: rows of many sessions packed for the linear layers, attention session by session."""

import torch
import torch.nn.functional as F
from torch import Tensor

from dlsp_engine.model.adapter import Adapter
from dlsp_engine.model.cache import Cache
from dlsp_engine.model.rows import Rows
from dlsp_engine.model.weights import Weights
from dlsp_kernels import (
    attention_bias,
    canvas_attention,
    low_rank_linear,
    rms_norm,
    rope,
    rope_table,
    swiglu,
)


class Qwen2:
    """A frozen Qwen2-family model with a canvas adapter. Holds no state of any session."""

    def __init__(self, weights: Weights, adapter: Adapter | None = None) -> None:
        self.weights = weights
        self.shape = weights.architecture
        self.adapter = adapter or Adapter.none(weights.embedding, self.shape)

    def new_cache(self) -> Cache:
        return Cache(self.shape, self.weights.dtype)

    @torch.inference_mode()
    def forward(self, batch: list[tuple[Cache, Rows]]) -> Tensor:
        """One step -> hidden states [rows of all sessions, dim], after the last norm.

        Keys and values of all rows are written behind each cache's `length`, which does not move: the caller
        decides which clean rows stand.
        """
        shape, dtype = self.shape, self.weights.dtype
        positions = torch.tensor([p for _, rows in batch for p in rows.positions])
        cos, sin = rope_table(positions, shape.head_dim, shape.theta)
        canvas_rows = torch.tensor([c for _, rows in batch for c in rows.canvas]).nonzero()[:, 0]
        canvas_rows = canvas_rows if len(canvas_rows) else None
        x = self._embed(torch.tensor([t for _, rows in batch for t in rows.tokens]))

        segments, start = [], 0
        for cache, rows in batch:
            cache.reserve(len(rows))
            numbers = torch.tensor([rows.positions, rows.visible, rows.canvas])
            bias = attention_bias(numbers, cache.length, shape.groups, dtype)
            segments.append((slice(start, start + len(rows)), cache, bias))
            start += len(rows)

        for i, layer in enumerate(self.weights.layers):
            low = self.adapter.layers[i]

            def linear(x: Tensor, name: str, weight: Tensor, bias: Tensor | None = None, low=low) -> Tensor:
                update = low.get(name)
                a, b = (update.a, update.b) if update else (None, None)
                return low_rank_linear(x, weight, bias, a, b, canvas_rows)

            h = rms_norm(x, layer.attention_norm, shape.eps)
            qkv = linear(h, "qkv", layer.qkv, layer.qkv_bias).view(len(x), -1, shape.head_dim)
            qk, v = qkv.split([shape.heads + shape.kv_heads, shape.kv_heads], 1)
            q, k = rope(qk, cos, sin).split([shape.heads, shape.kv_heads], 1)
            attended = []
            for part, cache, bias in segments:
                keys, values = cache.write(i, k[part], v[part])
                attended.append(canvas_attention(q[part], keys, values, bias))
            x = x + linear(torch.cat(attended) if len(attended) > 1 else attended[0], "out", layer.out)
            h = rms_norm(x, layer.mlp_norm, shape.eps)
            x = x + linear(swiglu(linear(h, "gate_up", layer.gate_up)), "down", layer.down)
        return rms_norm(x, self.weights.norm, shape.eps)

    @torch.inference_mode()
    def head(self, hidden: Tensor) -> Tensor:
        """hidden [rows, dim] -> logits [rows, vocab] in float32; the row at position p predicts the token at p + 1."""
        return F.linear(hidden, self.weights.embedding).float()

    def _embed(self, tokens: Tensor) -> Tensor:
        known = self.weights.embedding[tokens.clamp(min=0)]
        return torch.where((tokens < 0)[:, None], self.adapter.mask_embedding, known)
