"""A model's weights on the GPU, in the format that the kernels read."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import torch
from torch import Tensor

from dlsp_engine.model.adapter import Adapter, LowRank, projections
from dlsp_engine.model.update import Removal
from dlsp_engine.model.weights import Weights
from dlsp_kernels.matrix import LowRankUpdate, Matrix


@dataclass
class GpuLayer:
    """The weights of one transformer layer, in the shapes of `model.weights.Layer`. Norms and their biases are float32;
    the matrices have the format that `GpuWeights.of` was asked for, other biases the dtype of the weights.

    The low-rank updates are each by projection: the adapter's for canvas rows, those that take the infill update back
    from published rows (`removal`), and both as one, for the canvas rows among these.
    """

    qkv: Matrix
    qkv_bias: Tensor
    out: Matrix
    gate_up: Matrix
    down: Matrix
    attention_norm: Tensor
    mlp_norm: Tensor
    head_norm: Tensor | None = None
    # With LayerNorms:
    out_bias: Tensor | None = None
    gate_up_bias: Tensor | None = None
    down_bias: Tensor | None = None
    attention_norm_bias: Tensor | None = None
    mlp_norm_bias: Tensor | None = None
    updates: dict[str, LowRankUpdate] = field(default_factory=dict)
    removal: dict[str, LowRankUpdate] = field(default_factory=dict)
    both: dict[str, LowRankUpdate] = field(default_factory=dict)


@dataclass
class GpuWeights:
    """The weights of a whole model."""

    layers: list[GpuLayer]
    embedding: Tensor  # [vocab, dim], in the dtype of the weights
    head: Matrix  # [vocab, dim]
    norm: Tensor  # float32 [dim]
    norm_bias: Tensor | None  # float32 [dim]
    mask: Tensor  # [dim]: the mask's embedding
    dtype: torch.dtype  # in which products are taken

    @classmethod
    def of(
        cls, weights: Weights, adapter: Adapter, device: torch.device, format: str, removal: Removal | None = None
    ) -> "GpuWeights":
        """Copy weights, adapter and removal to `device`. `format` of the matrices: one of
        `dlsp_kernels.matrix.FORMATS`.

        Embeddings, biases and low-rank updates are not quantised.
        """
        shape = weights.architecture
        layers = []

        def moved(low: Mapping[str, LowRank], shared: bool) -> dict[str, LowRankUpdate]:
            made = {}
            for name, (_, outs) in projections(shape).items():
                if update := low.get(name):
                    ends = tuple(sum(outs[: i + 1]) for i in range(len(outs)))
                    a, b = update.a.to(device, weights.dtype), update.parts(outs).to(device, weights.dtype)
                    made[name] = LowRankUpdate.of(a, b, ends)
                    made[name] = replace(made[name], shared=made[name].rank if shared else 0)
            return made

        backs = removal or [{}] * shape.layers
        for layer, low, back in zip(weights.layers, adapter.layers, backs, strict=True):
            matrices = {
                name: Matrix.of(getattr(layer, name).to(device), format, weights.dtype)
                for name in ("qkv", "out", "gate_up", "down")
            }
            updates, removed = moved(low, shared=False), moved(back, shared=True)
            pairs = ((name, updates.get(name), update) for name, update in removed.items())
            both = updates | {name: own.beside(update) if own else update for name, own, update in pairs}
            # Norms are float32: a thread's load of one bf16, 2 bytes, is too small for Triton to pipeline.
            vectors = {
                name: tensor.to(device, torch.float32 if "norm" in name else None)
                for name, tensor in layer.tensors().items()
                if name not in matrices
            }
            layer_of = partial(GpuLayer, **matrices, updates=updates, removal=removed, both=both)
            layers.append(layer_of(**vectors))
        embedding = weights.embedding.to(device)
        own = embedding if weights.own_head is None else weights.own_head.to(device)
        head = Matrix.of(own, format, weights.dtype)
        mask = adapter.mask_embedding.to(device, weights.dtype)
        norm, bias = weights.norm.to(device, torch.float32), weights.norm_bias
        bias = None if bias is None else bias.to(device, torch.float32)
        return cls(layers, embedding, head, norm, bias, mask, weights.dtype)

    def bytes(self, canvas: bool) -> int:
        """The bytes that a step must read at least: each matrix once, and with `canvas` the low-rank updates."""
        total = self.head.bytes
        for layer in self.layers:
            total += sum(matrix.bytes for matrix in (layer.qkv, layer.out, layer.gate_up, layer.down))
            if canvas:
                total += sum(update.a.nbytes + update.b.nbytes for update in layer.updates.values())
        return total
