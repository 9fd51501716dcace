"""The forward pass of a CPU: int8 weights and activations in a rotated basis, float32 in between.

A narrow step takes as long as memory needs to give the weights, and int8 halves them; a wide one computes by VNNI.
"""

from dataclasses import dataclass
from importlib import import_module
from itertools import accumulate
from types import ModuleType

import torch
from torch import Tensor

from dlsp_engine.model.adapter import Adapter, LowRank, projections
from dlsp_engine.model.cache import Cache
from dlsp_engine.model.packing import packed
from dlsp_engine.model.quantised import Quantised, QuantisedMatrix
from dlsp_engine.model.qwen2 import Model
from dlsp_engine.model.rotate import rotated_adapter
from dlsp_engine.model.rows import Rows
from dlsp_engine.model.weights import Weights
from dlsp_kernels import quantise_weight, reference
from dlsp_kernels.int8_linear.onednn import PackedInt8

COMPILED = "dlsp_kernels.compiled"
"""Imported when it is needed: Numba takes its time, and can take it while the weights are packed."""

NARROW = 32
"""Up to so many rows the compiled ops are faster; above, PyTorch's own threads are."""


class Int8Linear:
    """One projection: the base's for all rows, the adapter's update for canvas rows.

    The update's first half rides along in the same matrix: a few more outputs cost less than a call of its own.
    """

    def __init__(self, base: QuantisedMatrix, update: LowRank | None, outs: list[int], levels: int) -> None:
        """`outs`: the outputs of each projection that is fused into this one."""
        weight, scale = base.weight, base.scale
        self._ends = list(accumulate(outs))
        self._b = None
        if update:
            a, a_scale = quantise_weight(update.a)
            weight, scale = torch.cat([weight, a]), torch.cat([scale, a_scale])
            b, self._b_scale = quantise_weight(update.parts(outs))
            self._b = b.T.contiguous()
        self._packed = PackedInt8(weight, scale, levels)

    def __call__(self, x: Tensor, canvas: slice | Tensor | None, ops: ModuleType) -> Tensor:
        """x uint8 [rows, in] -> float32 [rows, at least out], still to be multiplied by x's scales."""
        y = self._packed(x)
        if self._b is not None and canvas is not None:
            ops.low_rank_add(y, canvas, self._ends, self._b, self._b_scale)
        return y


@dataclass
class Int8Layer:
    qkv: Int8Linear
    qkv_bias: Tensor
    out: Int8Linear
    gate_up: Int8Linear
    down: Int8Linear


class Int8Qwen2(Model):
    def __init__(self, weights: Weights, quantised: Quantised, adapter: Adapter | None, levels: int) -> None:
        """`weights` give the embeddings; of `quantised` nothing is kept. `levels` as in `quantise_rows`."""
        self.shape = weights.architecture
        self.adapter = adapter or Adapter.none(weights.embedding, self.shape)
        self._embedding, self._turn = weights.embedding, quantised.turn.clone()  # not to keep the whole file mapped
        updates = rotated_adapter(self.adapter, weights, self._turn)
        self._mask = updates.mask_embedding
        self._levels = levels
        outs = {name: outs for name, (_, outs) in projections(self.shape).items()}
        self._layers = [
            Int8Layer(
                qkv_bias=layer.qkv_bias.clone(),
                **{name: Int8Linear(getattr(layer, name), low.get(name), outs[name], levels) for name in outs},
            )
            for layer, low in zip(quantised.layers, updates.layers, strict=True)
        ]
        self._head = Int8Linear(quantised.head, None, [self.shape.vocab], levels)
        self._compiled = import_module(COMPILED)

    def new_cache(self) -> Cache:
        return Cache(self.shape, torch.float32)

    @torch.inference_mode()
    def forward(self, batch: list[tuple[Cache, Rows]]) -> Tensor:
        shape, levels = self.shape, self._levels
        rows = packed(batch, shape, torch.float32)
        canvas = rows.canvas
        ops = self._compiled if len(rows.tokens) <= NARROW else reference
        x = self._embed(rows.tokens)
        y, scale = torch.zeros_like(x), torch.ones(len(x), 1)
        for i, layer in enumerate(self._layers):
            h, scale = ops.add_norm_quantise(x, y, scale, shape.eps, levels)
            qkv = layer.qkv(h, canvas, ops)
            q, k, v = ops.rope_heads(qkv, scale, layer.qkv_bias, rows.cos, rows.sin, shape.heads, shape.kv_heads)
            h, scale = ops.quantise_rows(rows.attend(i, q, k, v), levels)
            y = layer.out(h, canvas, ops)
            h, scale = ops.add_norm_quantise(x, y, scale, shape.eps, levels)
            h, scale = ops.swiglu_quantise(layer.gate_up(h, canvas, ops), scale, shape.ff, levels)
            y = layer.down(h, canvas, ops)
        x.addcmul_(y[:, : shape.dim], scale)
        return x * torch.rsqrt(x.square().mean(1, keepdim=True) + shape.eps)

    @torch.inference_mode()
    def head(self, hidden: Tensor) -> Tensor:
        h, scale = reference.quantise_rows(hidden, self._levels)
        return self._head(h, None, reference).mul_(scale)

    def _embed(self, tokens: Tensor) -> Tensor:
        known = self._embedding[tokens.clamp(min=0)].float() @ self._turn
        return torch.where((tokens < 0)[:, None], self._mask, known)
