"""A model's weights on the device, in the format that a step reads."""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from dlsp_engine.model.adapter import Adapter, projections
from dlsp_engine.model.weights import Weights
from dlsp_kernels.matrix import LowRankUpdate, Matrix
from dlsp_kernels.pair_choice.reference import Pairs


@dataclass
class GpuLayer:
    qkv: Matrix
    qkv_bias: Tensor
    out: Matrix
    gate_up: Matrix
    down: Matrix
    attention_norm: Tensor
    mlp_norm: Tensor
    updates: dict[str, LowRankUpdate] = field(default_factory=dict)  # by projection


@dataclass
class GpuWeights:
    layers: list[GpuLayer]
    embedding: Tensor
    head: Matrix
    norm: Tensor
    mask: Tensor
    pairs: Pairs | None

    @classmethod
    def of(cls, weights: Weights, adapter: Adapter, device: torch.device, format: str) -> "GpuWeights":
        """`format` is one of `dlsp_kernels.matrix.FORMATS`; embeddings, biases and updates stay as they are."""
        shape = weights.architecture
        layers = []
        for layer, low in zip(weights.layers, adapter.layers, strict=True):
            matrices = {
                name: Matrix.of(getattr(layer, name).to(device), format, weights.dtype)
                for name in ("qkv", "out", "gate_up", "down")
            }
            updates = {}
            for name, (_, outs) in projections(shape).items():
                if update := low.get(name):
                    ends = tuple(sum(outs[: i + 1]) for i in range(len(outs)))
                    a, b = update.a.to(device, weights.dtype), update.parts(outs).to(device, weights.dtype)
                    updates[name] = LowRankUpdate.of(a, b, ends)
            # Norms in float32: a thread's load of a single bf16 is too small to run ahead of the loop.
            norms = {name: getattr(layer, name).to(device, torch.float32) for name in ("attention_norm", "mlp_norm")}
            layers.append(GpuLayer(**matrices, **norms, qkv_bias=layer.qkv_bias.to(device), updates=updates))
        embedding = weights.embedding.to(device)
        head = Matrix.of(embedding, format, weights.dtype)
        mask = adapter.mask_embedding.to(device, weights.dtype)
        pairs = adapter.bigrams.on(device) if adapter.bigrams else None
        return cls(layers, embedding, head, weights.norm.to(device, torch.float32), mask, pairs)

    def bytes(self, canvas: bool) -> int:
        """What a step has to read at least: every matrix once, updates if there are canvas rows."""
        total = self.head.bytes
        for layer in self.layers:
            total += sum(matrix.bytes for matrix in (layer.qkv, layer.out, layer.gate_up, layer.down))
            if canvas:
                total += sum(update.a.nbytes + update.b.nbytes for update in layer.updates.values())
        return total
