"""The forward pass on a GPU, behind the same `Model` interface as on a CPU."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import torch
from torch import Tensor

from dlsp_engine.decode.budget import Costs
from dlsp_engine.model.adapter import Adapter
from dlsp_engine.model.cache import Cache
from dlsp_engine.model.gpu.backend import CudaBackend
from dlsp_engine.model.gpu.buffers import BatchShape, Buffer
from dlsp_engine.model.gpu.graphs import Graphs
from dlsp_engine.model.gpu.pool import MAX_SESSION_PAGES, PagedCache, Pool
from dlsp_engine.model.gpu.weights import GpuWeights
from dlsp_engine.model.qwen2 import Model
from dlsp_engine.model.rows import MASK, Rows
from dlsp_engine.model.update import Removal
from dlsp_engine.model.weights import Weights
from dlsp_kernels import rope_table
from dlsp_kernels.matrix import Matrix
from dlsp_kernels.ops import StepOps
from dlsp_kernels.packed_rows import PAGE, PackedRows


class GpuQwen2(Model):
    """A model on a GPU, with its KV page pool of `pages` pages.

    `fused` False runs every op by its reference: correct on any PyTorch device, and slow. `format` is one of
    `dlsp_kernels.matrix.FORMATS`.
    """

    def __init__(
        self,
        weights: Weights,
        adapter: Adapter | None,
        device: str,
        fused: bool = True,
        format: str = "dense",
        pages: int = 1024,
        removal: Removal | None = None,
    ) -> None:
        """`removal` takes the infill update in `weights` back."""
        self.shape = weights.architecture
        self.adapter = adapter or Adapter.none(weights.embedding, self.shape)
        self.device = torch.device(device)
        self.weights = GpuWeights.of(weights, self.adapter, self.device, format, removal)
        self.removes_update = bool(removal)
        self.pool = Pool(self.shape, weights.dtype, self.device, pages)
        self.kv_pool_bytes = self.pool.kv.nbytes
        self.ops = StepOps(fused)
        self.graphs = Graphs(fused and self.device.type == "cuda", capturable=lambda: not self.ops.failures)
        positions = torch.arange(MAX_SESSION_PAGES * PAGE)
        cos, sin = rope_table(positions, self.shape.head_dim, self.shape.theta, self.shape.rope_divisors)
        self._cos, self._sin = (part[:, 0].contiguous().to(self.device) for part in (cos, sin))
        self._buffers: dict[BatchShape, Buffer] = {}

    def backend(self, costs: Costs) -> CudaBackend:
        return CudaBackend(self, costs)

    def new_cache(self) -> PagedCache:
        return PagedCache(self.pool)

    @torch.inference_mode()
    def forward(self, batch: Sequence[tuple[Cache, Rows]]) -> Tensor:
        """One step over the rows of all sessions -> float32 [rows, dim] on the device.

        The result is what `head` takes. The next step overwrites it. Sessions that are published
        and others run one after the other.
        """
        sessions = cast(Sequence[tuple[PagedCache, Rows]], batch)
        kinds = {cache.published for cache, _ in sessions}
        if len(kinds) == 1:
            return self._forward(sessions, kinds.pop())
        found = {
            kind: iter(self._forward(own, kind).clone().split([len(rows) for _, rows in own]))
            for kind in sorted(kinds)
            for own in [[one for one in sessions if one[0].published == kind]]
        }
        return torch.cat([next(found[cache.published]) for cache, _ in sessions])

    def _forward(self, sessions: Sequence[tuple[PagedCache, Rows]], published: bool) -> Tensor:
        shape = BatchShape.of([rows for _, rows in sessions], published)
        buffer = self._buffers.get(shape) or self._buffers.setdefault(shape, Buffer(shape, self.device))
        buffer.fill(sessions)
        hidden = self.graphs(shape, lambda: self.layers(buffer.rows, shape.canvas, shape.published))
        return hidden[: sum(len(rows) for _, rows in sessions)]

    def warm_up(self) -> None:
        """Compile and capture: run one step for each way to tile the matrices, with and without canvas rows."""
        for count in (1, 8, 32, 128):
            for canvas in (False, True):
                rows = Rows()
                rows.add_clean([1] * (1 if canvas else count), 0)
                if canvas:
                    rows.add_canvas([MASK] * (count - 1 or 1), after=0)
                self.head(self.forward([(self.new_cache(), rows)])[-1:])

    @torch.inference_mode()
    def head(self, hidden: Tensor) -> Tensor:
        """hidden [rows, dim], as `forward` returns it -> logits float32 [rows, vocab], on the device."""
        return self.ops.gated_linear(hidden, self.weights.head, self.head_norm, self.shape.eps)

    @property
    def head_norm(self) -> Tensor | None:
        """The weights of the RMSNorm before the head; None where `layers` ends with a LayerNorm."""
        return self.weights.norm if self.weights.norm_bias is None else None

    def layers(self, rows: PackedRows, canvas: bool, published: bool = False) -> Tensor:
        """All kernel launches of a forward pass except the head's -> float32 [rows, dim]: the residual stream, or its
        LayerNorm if the model has LayerNorms.

        `canvas`: whether there are canvas rows, to which the adapter's low-rank updates apply. `published`: all rows
        are, and none has the adapter's updates.
        """
        ops, shape, weights = self.ops, self.shape, self.weights
        x = ops.embed(rows.token, weights.embedding, weights.mask)
        updated = torch.ones_like(rows.canvas) if published else rows.canvas
        projected = replace(rows, canvas=updated)  # the same rows, as what multiplies matrices reads them
        for i, layer in enumerate(weights.layers):
            low = layer.removal if published else layer.updates if canvas else {}
            keys, values = self.pool.keys(i), self.pool.values(i)
            h, norm = self._before(x, layer.attention_norm, layer.attention_norm_bias)
            q = ops.qkv_rope_write(
                h,
                layer.qkv,
                layer.qkv_bias,
                norm,
                shape.eps,
                self._cos,
                self._sin,
                keys,
                values,
                projected,
                low.get("qkv"),
                layer.head_norm,
            )

            def linear(x: Tensor, matrix: Matrix, name: str, bias: Tensor | None, low=low, **more: Any) -> Tensor:
                return ops.gated_linear(x, matrix, update=low.get(name), canvas=updated, bias=bias, **more)

            linear(ops.paged_attention(q, keys, values, rows), layer.out, "out", layer.out_bias, residual=x)
            h, norm = self._before(x, layer.mlp_norm, layer.mlp_norm_bias)
            if shape.gelu:
                h = linear(h, layer.gate_up, "gate_up", layer.gate_up_bias, norm=norm, eps=shape.eps, gelu=True)
            else:
                h = ops.gated_swiglu(h, layer.gate_up, norm, shape.eps, low.get("gate_up"), updated)
            linear(h, layer.down, "down", layer.down_bias, residual=x)
        return self._before(x, weights.norm, weights.norm_bias)[0]

    def _before(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """What a projection takes of the residual stream: itself, with the weights of the RMSNorm that the
        projection's kernel computes; or its LayerNorm.
        """
        return (x, weight) if bias is None else (self.ops.layer_norm(x, weight, bias, self.shape.eps), None)

    @property
    def failures(self) -> dict[str, str]:
        """Op name -> why it runs by its slow reference; "graph" -> why steps are not captured. Shown by
        `dlsp doctor`.
        """
        graph = {"graph": self.graphs.failure} if self.graphs.failure else {}
        return self.ops.failures | graph
