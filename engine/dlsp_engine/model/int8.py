"""The forward pass on a CPU: weights of 8 or 4 bits and int8 activations in a rotated basis, float32 in between.

The time of a narrow step is that of reading the weights from memory: int8 halves them, and 4 bits once more. A wide
step gains from the processor's faster int8 products.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import accumulate
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from dlsp_engine.backend import leave_if_asked
from dlsp_engine.model.adapter import Adapter, projections
from dlsp_engine.model.architecture import Architecture
from dlsp_engine.model.attention import Attention, ReferenceAttention
from dlsp_engine.model.cache import Cache
from dlsp_engine.model.captured import CapturedSteps, Inputs
from dlsp_engine.model.qwen2 import Model
from dlsp_engine.model.rows import MASK, Batch, Rows, packed
from dlsp_engine.model.weights import DenseWeights
from dlsp_kernels import hadamard, low_rank_add
from dlsp_kernels.canvas_attention.compiled import CompiledAttention, suited
from dlsp_kernels.canvas_attention.source import TOGETHER, Place
from dlsp_kernels.int4_linear.compiled import CompiledMatrix as FourBitMatrix
from dlsp_kernels.int8_linear.compiled import Compiled
from dlsp_kernels.int8_linear.kinds import Int8, Int8Matrix
from dlsp_kernels.int8_ops import Int8Ops
from dlsp_kernels.kv_format import FLOAT32, INT8, KvFormat
from dlsp_kernels.low_rank_add.compiled import CompiledLowRankAdd
from dlsp_kernels.program.crew import leading
from dlsp_kernels.program.instructions import Instructions, usable
from dlsp_kernels.rope_heads.reference import rope_heads

REMEMBERED = 4096  # rotated token embeddings that are kept, 4 kB each
PROMPT_ROWS = 16  # clean rows of a session from which on they attend together; fewer are better shared among threads


_Add = Callable[[Tensor, slice | Tensor], None]


class Int8Linear:
    """One fused projection: the base in int8 or 4 bits, the adapter's low-rank update for canvas rows, and that which
    takes the infill update back from published rows.
    """

    def __init__(self, tensors: Mapping[str, Tensor], ins: int, outs: list[int], kind: Int8) -> None:
        """`tensors`: the packed `weight` (int8 by `Int8.pack`, or 4-bit codes by `int4_linear.compiled.pack`) and its
        `scale`; with the adapter's update also `b` and `b_scale` as in `low_rank_add`, and with the other one
        `removal_b` and `removal_b_scale`. The first halves of the updates, `a`, are then appended to the outputs of
        `weight`, in this order. `outs`: the outputs of each fused part.

        Raises ValueError or KeyError if the tensors belong to another model.
        """
        ends, column, updates = list(accumulate(outs)), sum(outs), dict[str, _Add]()
        before = dict[str, int]()  # the outputs of `weight` before those of the update
        for name in ("b", "removal_b"):
            before[name] = column
            if (b := tensors.get(name)) is not None:
                b_scale = _demand(tensors[f"{name}_scale"], torch.float32, sum(outs))
                updates[name] = _update(ends, _demand(b, torch.int8, len(b), sum(outs)), b_scale, column)
                column += len(outs) * len(b)
        weight, scale = tensors["weight"], tensors["scale"]
        self._matrix = matrix(weight, _demand(scale, torch.float32, column), kind)
        if self._matrix.ins != ins:
            raise ValueError("weights of another model")
        self._update, self._removal = updates.get("b"), updates.get("removal_b")
        # Rows of gaps, which are most, do not pay for the removal's first half.
        self._narrow = self._matrix.first(before["removal_b"]) if self._removal else self._matrix

    def __call__(
        self, x: Tensor, canvas: slice | Tensor | None = None, published: slice | Tensor | None = None
    ) -> Tensor:
        """x uint8 [rows, in] -> float32 [rows, at least out], not yet multiplied by the scales of x's rows."""
        y = self._narrow(x) if published is None else self._matrix(x)
        if self._update and canvas is not None:
            self._update(y, canvas)
        if self._removal and published is not None:
            self._removal(y, published)
        return y


class EditLinear:
    """The edit update of one fused projection: for some rows, it is added to what the projection gives."""

    def __init__(self, a: Int8Matrix, ends: list[int], b: Tensor, b_scale: Tensor) -> None:
        """`a` is the first half; `ends`, `b` and `b_scale` are those of `low_rank_add`."""
        self._a, self._ends, self._rank = a, ends, len(b)
        self._update = _update(ends, b, b_scale, ends[-1])

    def __call__(self, x: Tensor, y: Tensor, rows: slice | Tensor) -> None:
        """x uint8 [rows, in]; y as `Int8Linear` returns it, changed in place."""
        out = self._ends[-1]
        given = self._a(x[rows].contiguous())[:, : len(self._ends) * self._rank]
        both = torch.cat([y[rows, :out], given], 1)
        self._update(both, slice(0, len(both)))
        y[rows, :out] = both[:, :out]


def matrix(weight: Tensor, scale: Tensor, kind: Int8) -> Int8Matrix:
    """The matrix of packed int8 weights, or of packed 4-bit codes, which are uint8. Raises ValueError if they are
    neither.
    """
    if weight.dtype == torch.int8:
        return kind.matrix(weight, scale)
    if weight.dtype == torch.uint8 and isinstance(kind, Compiled):
        return FourBitMatrix(weight, scale, kind.kind)
    raise ValueError("tensors of another model")


def _demand(tensor: Tensor, dtype: torch.dtype, *size: int) -> Tensor:
    """Return `tensor`. Raises ValueError if it has another dtype or shape: native code is given its address alone."""
    if tensor.dtype != dtype or tensor.shape != size or not tensor.is_contiguous():
        raise ValueError("tensors of another model")
    return tensor


def _update(ends: list[int], b: Tensor, b_scale: Tensor, column: int) -> _Add:
    if kind := usable():
        return CompiledLowRankAdd(ends, b, b_scale, column, kind)
    return partial(low_rank_add, ends=ends, b=b, b_scale=b_scale, column=column)


@dataclass
class Int8Layer:
    """The weights of one transformer layer. Its norms are already multiplied into the projections behind them."""

    qkv: Int8Linear
    qkv_bias: Tensor  # float32 [qkv]
    head_norm: Tensor | None  # float32 [heads + kv_heads, head_dim]
    out: Int8Linear
    gate_up: Int8Linear
    down: Int8Linear
    # With LayerNorms, float32:
    out_bias: Tensor | None = None  # [dim]
    gate_up_bias: Tensor | None = None  # [ff], since there is no gate
    down_bias: Tensor | None = None  # [dim]


@dataclass
class Int8Weights:
    """All weights of an int8 step except the embeddings, in the basis that `rotate` describes."""

    turn: Tensor  # float32 [dim, dim]: what embeddings are multiplied by
    mask: Tensor  # float32 [dim]: the mask's embedding, rotated
    layers: list[Int8Layer]
    head: Int8Linear
    kind: Int8
    removes_update: bool = False  # whether the infill update can be taken back from published rows
    head_bias: Tensor | None = None  # float32 [vocab]: what the last LayerNorm's bias adds to the logits

    @classmethod
    def of(cls, tensors: Mapping[str, Tensor], shape: Architecture, kind: Int8) -> "Int8Weights":
        """The weights from the tensors that `quantised` made, without a copy. Raises ValueError or KeyError as
        `Int8Linear` does.
        """
        groups: dict[str, dict[str, Tensor]] = defaultdict(dict)
        for name, tensor in tensors.items():
            of, _, what = name.rpartition(".")
            groups[of][what] = tensor
        biases = (
            {"out": shape.dim, "gate_up": shape.mlp_parts * shape.ff, "down": shape.dim} if shape.layer_norm else {}
        )

        def parts(layer: int) -> dict[str, Any]:
            own = groups[str(layer)]
            linear = {name: Int8Linear(groups[f"{layer}.{name}"], *of, kind) for name, of in projections(shape).items()}
            added = {f"{name}_bias": _demand(own[f"{name}_bias"], torch.float32, n) for name, n in biases.items()}
            return linear | {"qkv_bias": _demand(own["qkv_bias"], torch.float32, shape.qkv)} | added

        layers = [
            Int8Layer(head_norm=groups[str(i)]["head_norm"] if shape.head_norm else None, **parts(i))
            for i in range(shape.layers)
        ]
        head = Int8Linear(groups["head"], shape.dim, [shape.vocab], kind)
        turn = _demand(groups[""]["turn"], torch.float32, shape.dim, shape.dim)
        mask = _demand(groups[""]["mask"], torch.float32, shape.dim)
        head_bias = _demand(groups[""]["head_bias"], torch.float32, shape.vocab) if shape.layer_norm else None
        removes = "removal_b" in groups["0.qkv"]
        return cls(turn, mask, layers, head, kind, removes, head_bias)


class Int8Qwen2(Model):
    """A Qwen2-family model in int8. Runs native kernels where the processor has the instructions for them, else
    PyTorch.
    """

    def __init__(self, weights: DenseWeights, adapter: Adapter, int8: Int8Weights, kv: KvFormat | None = None) -> None:
        """Of `weights`, only the embeddings are used. `kv` says how caches hold keys and values; by default as
        `default_kv` does.
        """
        self.kv = kv or default_kv(weights.architecture)
        self.shape = weights.architecture
        self.adapter = adapter
        self.removes_update = int8.removes_update
        self._embedding, self._turn, self._mask = weights.embedding, int8.turn, int8.mask
        self._layers, self._head, self._levels = int8.layers, int8.head, int8.kind.levels
        self._head_bias = int8.head_bias
        self._ops = Int8Ops.of(usable())
        if self.shape.head_norm:
            self._ops = replace(self._ops, rope_heads=partial(rope_heads, eps=self.shape.eps))
        self._by_programs = leading if usable() else nullcontext
        self._attention = fastest_attention(self.shape, self.kv)
        compiled = suited(self.shape.head_dim, self.kv) is not None
        self.alternatives = compiled
        # Whether all ops are native kernels: only then can a step be captured.
        plain = not (self.shape.head_norm or self.shape.layer_norm or self.shape.gelu)
        programs = usable() and isinstance(int8.kind, Compiled) and compiled and plain
        self._step = CapturedSteps(self._layer_by_layer, self.shape) if programs else self._layer_by_layer
        self._embedded = lru_cache(REMEMBERED)(self._turned)

    def new_cache(self) -> Cache:
        return Cache(self.shape, self.kv)

    @torch.inference_mode()
    def forward(self, batch: list[tuple[Cache, Rows]]) -> Tensor:
        with self._by_programs():
            return self._forward(batch)

    def _forward(self, batch: list[tuple[Cache, Rows]]) -> Tensor:
        rows = packed(batch, self.shape)
        x = self._embed(rows.tokens)
        inputs = Inputs(x, rows.cos, rows.sin, rows.canvas, self._attention(batch), rows.published)
        x = self._step(inputs) if rows.edits is None else self._layer_by_layer(inputs, rows.edits)
        return x * torch.rsqrt(x.square().mean(1, keepdim=True) + self.shape.eps)

    def _layer_by_layer(self, inputs: Inputs, edits: slice | Tensor | None = None) -> Tensor:
        """Add all layers to `inputs.x` in place, and return it: the residual stream after the last layer. The rows
        `edits` see the edit update. Such steps are not captured: rewrites take few of them.
        """
        shape, ops, levels = self.shape, self._ops, self._levels
        x, cos, sin, attend = inputs.x, inputs.cos, inputs.sin, inputs.attend
        updated = inputs.canvas, inputs.published
        heads, transform = (shape.heads, shape.kv_heads), self.kv.quantised
        y, scale = torch.zeros(1, shape.dim).expand(x.shape), torch.ones(len(x), 1)
        for i, layer in enumerate(self._layers):
            leave_if_asked()
            h, scale = ops.add_norm_quantise(x, y, scale, shape.eps, levels)
            own = self.edits[i] if edits is not None else {}
            qkv = layer.qkv(h, *updated)
            if edits is not None:
                own["qkv"](h, qkv, edits)
            norm = () if layer.head_norm is None else (layer.head_norm,)
            q, k, v = ops.rope_heads(qkv, scale, layer.qkv_bias, cos, sin, *heads, transform, *norm)
            h, scale = ops.quantise_rows(attend(i, q, k, v), levels)
            y = layer.out(h, *updated)
            if edits is not None:
                own["out"](h, y, edits)
            if layer.out_bias is not None:
                x += layer.out_bias
            h, scale = ops.add_norm_quantise(x, y, scale, shape.eps, levels)
            y = layer.gate_up(h, *updated)
            if edits is not None:
                own["gate_up"](h, y, edits)
            if layer.gate_up_bias is None:
                h, scale = ops.swiglu_quantise(y, scale, shape.ff, levels)
            else:
                h = F.gelu(y[:, : shape.ff] * scale + layer.gate_up_bias, approximate="tanh")
                h, scale = ops.quantise_rows(hadamard(h), levels)
            y = layer.down(h, *updated)
            if edits is not None:
                own["down"](h, y, edits)
            if layer.down_bias is not None:
                x += layer.down_bias
        ops.add_norm_quantise(x, y, scale, shape.eps, levels)  # for its addition to x; the result is not used
        return x

    @torch.inference_mode()
    def head(self, hidden: Tensor) -> Tensor:
        with self._by_programs():
            h, scale = self._ops.quantise_rows(hidden, self._levels)
            logits = self._head(h).mul_(scale)
            return logits if self._head_bias is None else logits.add_(self._head_bias)

    def _embed(self, tokens: Tensor) -> Tensor:
        return torch.stack([self._embedded(token) for token in tokens.tolist()])

    def _turned(self, token: int) -> Tensor:
        """The rotated embedding of one token. It is computed alone, because a product of several rows is rounded
        differently, and a token's embedding must not depend on its neighbours.
        """
        return self._mask if token == MASK else self._embedding[token].float() @ self._turn


def default_kv(shape: Architecture) -> KvFormat:
    """How caches hold keys and values: in int8 where the attention kernel can run; the reference would convert the
    whole cache in each step.
    """
    return INT8 if suited(shape.head_dim) else FLOAT32


def fastest_attention(shape: Architecture, kv: KvFormat) -> Callable[[Batch], Attention]:
    """The fastest attention on this machine: the compiled kernel if it can run, else the reference."""
    if kind := suited(shape.head_dim, kv):
        return partial(compiled_attention, shape=shape, kind=kind, kv=kv)
    return partial(ReferenceAttention, shape=shape, dtype=torch.float32)


def compiled_attention(
    batch: Batch, shape: Architecture, kind: Instructions, kv: KvFormat = FLOAT32
) -> CompiledAttention:
    """The attention of a step by the compiled kernel: one call per layer for the rows of all sessions."""
    places = []
    for cache, rows in batch:
        memory, length = cache.memory, cache.length
        numbers = [abs(number) for number in rows.canvas]
        clean = rows.canvas.count(0)
        at_once = TOGETHER if clean >= PROMPT_ROWS else 1
        for row, (visible, own) in enumerate(zip(rows.visible, rows.canvas, strict=True)):
            first = length + numbers.index(own) if own > 0 else length + row
            count = numbers.count(own) if own > 0 else int(own < 0)
            together = 1 if own else 0 if row % at_once else min(at_once, clean - row)
            places.append(Place(*memory, length + row, visible, first, first + count, together))
    return CompiledAttention(torch.tensor(places), shape.heads, shape.kv_heads, shape.head_dim, kind, kv)
