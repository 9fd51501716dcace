"""The forward pass of a CPU: int8 weights and activations in a rotated basis, float32 in between.

A narrow step takes as long as memory needs to give the weights, and int8 halves them; a wide one computes by VNNI.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import accumulate

import torch
from torch import Tensor

from dlsp_engine.model.adapter import Adapter, LowRank, projections
from dlsp_engine.model.attention import fastest
from dlsp_engine.model.cache import Cache
from dlsp_engine.model.packing import packed
from dlsp_engine.model.quantised import QuantisedMatrix, quantised_head, quantised_layers
from dlsp_engine.model.qwen2 import Model
from dlsp_engine.model.rotate import rotated_adapter, rotation
from dlsp_engine.model.rows import MASK, Rows
from dlsp_engine.model.weights import Weights
from dlsp_kernels import low_rank_add, quantise_weight
from dlsp_kernels.int8_linear.choose import Int8
from dlsp_kernels.int8_ops import Int8Ops
from dlsp_kernels.low_rank_add.compiled import CompiledLowRankAdd
from dlsp_kernels.program.instructions import best

REMEMBERED = 4096
"""Turned embeddings of tokens, 4 kB each."""


class Int8Linear:
    """One projection: the base's for all rows, the adapter's update for canvas rows.

    The update's first half rides along in the same matrix: a few more outputs cost less than a call of its own.
    """

    def __init__(self, tensors: Mapping[str, Tensor], outs: list[int], kind: Int8) -> None:
        """`tensors`: a `weight` that is laid, its `scale`, and `b` and `b_scale` as in `low_rank_add` if there is an
        update. `outs`: the outputs of each projection that is fused into this one.
        """
        self.tensors = tensors
        self._matrix = kind.matrix(tensors["weight"], tensors["scale"])
        self._update = _update(list(accumulate(outs)), tensors["b"], tensors["b_scale"]) if "b" in tensors else None

    @classmethod
    def of(cls, base: QuantisedMatrix, update: LowRank | None, outs: list[int], kind: Int8) -> "Int8Linear":
        if not update:
            return cls({"weight": kind.laid(base.weight), "scale": base.scale}, outs, kind)
        a, a_scale = quantise_weight(update.a)
        b, b_scale = quantise_weight(update.parts(outs))
        weight, scale = torch.cat([base.weight, a]), torch.cat([base.scale, a_scale])
        tensors = {"weight": kind.laid(weight), "scale": scale, "b": b.T.contiguous(), "b_scale": b_scale}
        return cls(tensors, outs, kind)

    def __call__(self, x: Tensor, canvas: slice | Tensor | None = None) -> Tensor:
        """x uint8 [rows, in] -> float32 [rows, at least out], still to be multiplied by x's scales."""
        y = self._matrix(x)
        if self._update and canvas is not None:
            self._update(y, canvas)
        return y


def _update(ends: list[int], b: Tensor, b_scale: Tensor) -> Callable[[Tensor, slice | Tensor], None]:
    if kind := best():
        return CompiledLowRankAdd(ends, b, b_scale, kind)
    return partial(low_rank_add, ends=ends, b=b, b_scale=b_scale)


@dataclass
class Int8Layer:
    qkv: Int8Linear
    qkv_bias: Tensor
    out: Int8Linear
    gate_up: Int8Linear
    down: Int8Linear


@dataclass
class Int8Weights:
    """All that the step needs but the embeddings, in the basis that `rotate` describes."""

    turn: Tensor  # float32 [dim, dim]
    mask: Tensor  # float32 [dim]
    layers: list[Int8Layer]
    head: Int8Linear
    kind: Int8

    @classmethod
    def of(
        cls, weights: Weights, adapter: Adapter, kind: Int8, say: Callable[[str], None] = lambda line: None
    ) -> "Int8Weights":
        shape = weights.architecture
        turn = rotation(shape.dim)
        turned = rotated_adapter(adapter, weights, turn)
        outs = {name: outs for name, (_, outs) in projections(shape).items()}
        layers = [
            Int8Layer(
                qkv_bias=layer.qkv_bias,
                **{name: Int8Linear.of(getattr(layer, name), low.get(name), outs[name], kind) for name in outs},
            )
            for layer, low in zip(quantised_layers(weights, turn, say), turned.layers, strict=True)
        ]
        head = Int8Linear.of(quantised_head(weights, turn), None, [shape.vocab], kind)
        return cls(turn, turned.mask_embedding, layers, head, kind)


class Int8Qwen2(Model):
    def __init__(self, weights: Weights, adapter: Adapter, int8: Int8Weights) -> None:
        """`weights` give the embeddings alone."""
        self.shape = weights.architecture
        self.adapter = adapter
        self._embedding, self._turn, self._mask = weights.embedding, int8.turn, int8.mask
        self._layers, self._head, self._levels = int8.layers, int8.head, int8.kind.levels
        self._ops = Int8Ops.of(best())
        self._attention = fastest(self.shape)
        self._embedded = lru_cache(REMEMBERED)(self._turned)

    def new_cache(self) -> Cache:
        return Cache(self.shape, torch.float32)

    @torch.inference_mode()
    def forward(self, batch: list[tuple[Cache, Rows]]) -> Tensor:
        shape, levels = self.shape, self._levels
        rows = packed(batch, shape)
        attend = self._attention(batch)
        ops, canvas = self._ops, rows.canvas
        x = self._embed(rows.tokens)
        y, scale = torch.zeros_like(x), torch.ones(len(x), 1)
        for i, layer in enumerate(self._layers):
            h, scale = ops.add_norm_quantise(x, y, scale, shape.eps, levels)
            qkv = layer.qkv(h, canvas)
            q, k, v = ops.rope_heads(qkv, scale, layer.qkv_bias, rows.cos, rows.sin, shape.heads, shape.kv_heads)
            h, scale = ops.quantise_rows(attend(i, q, k, v), levels)
            y = layer.out(h, canvas)
            h, scale = ops.add_norm_quantise(x, y, scale, shape.eps, levels)
            h, scale = ops.swiglu_quantise(layer.gate_up(h, canvas), scale, shape.ff, levels)
            y = layer.down(h, canvas)
        x.addcmul_(y[:, : shape.dim], scale)
        return x * torch.rsqrt(x.square().mean(1, keepdim=True) + shape.eps)

    @torch.inference_mode()
    def head(self, hidden: Tensor) -> Tensor:
        h, scale = self._ops.quantise_rows(hidden, self._levels)
        return self._head(h).mul_(scale)

    def _embed(self, tokens: Tensor) -> Tensor:
        return torch.stack([self._embedded(token) for token in tokens.tolist()])

    def _turned(self, token: int) -> Tensor:
        """By itself: a product of many rows rounds otherwise, and what a token is must not depend on its neighbours."""
        return self._mask if token == MASK else self._embedding[token].float() @ self._turn
