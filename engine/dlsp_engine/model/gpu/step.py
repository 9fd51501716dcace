"""The forward pass on a GPU, behind the same `Model` interface as on a CPU."""

from collections.abc import Sequence
from math import prod
from typing import Any, cast

import torch
from torch import Tensor

from dlsp_engine.decode.budget import Costs
from dlsp_engine.decode.scores import Scores, Summary, summary_columns
from dlsp_engine.model.adapter import Adapter
from dlsp_engine.model.cache import Cache
from dlsp_engine.model.gpu.backend import CudaBackend
from dlsp_engine.model.gpu.buffers import ROW_COUNTS, BatchShape, Buffer, shapes
from dlsp_engine.model.gpu.graphs import Graphs, Result
from dlsp_engine.model.gpu.pool import MAX_SESSION_PAGES, PagedCache, Pool
from dlsp_engine.model.gpu.weights import GpuWeights
from dlsp_engine.model.qwen2 import Model
from dlsp_engine.model.rows import Rows
from dlsp_engine.model.update import Removal
from dlsp_engine.model.weights import Weights
from dlsp_kernels import rope_table
from dlsp_kernels.matrix import Matrix
from dlsp_kernels.normed import Normed
from dlsp_kernels.ops import StepOps
from dlsp_kernels.packed_rows import PAGE, PackedRows
from dlsp_kernels.tiling import EXACT_ROWS

# The tiles of rows of one projection, times its splits, that a step has counts for.
MOST_TILES = 64


class GpuQwen2(Model):
    """A model on a GPU, with its KV page pool of `pages` pages.

    `fused` False runs every op by its reference: correct on any PyTorch device, and slow. `format` is one of
    `dlsp_kernels.matrix.FORMATS`.
    """

    # Their sums are those of the clean rows that they may become, to the bit, in bf16 too: see `paged_attention`.
    alternatives = True

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
        self.graphs = Graphs(fused and self.device.type == "cuda", slow_calls=lambda: self.ops.slow_calls)
        positions = torch.arange(MAX_SESSION_PAGES * PAGE)
        cos, sin = rope_table(positions, self.shape.head_dim, self.shape.theta, self.shape.rope_divisors)
        self._cos, self._sin = (part[:, 0].contiguous().to(self.device) for part in (cos, sin))
        self._buffers: dict[BatchShape, Buffer] = {}
        # Of the narrow step that ran last; its graph writes them here.
        self._logits = torch.empty(EXACT_ROWS, self.shape.vocab, device=self.device)

    def backend(self, costs: Costs) -> CudaBackend:
        return CudaBackend(self, costs)

    def new_cache(self) -> PagedCache:
        return PagedCache(self.pool)

    @torch.inference_mode()
    def forward(self, batch: Sequence[tuple[Cache, Rows]]) -> Tensor:
        """One step over the rows of all sessions -> [rows, dim] on the device, in the type of the weights.

        The result is what `head` takes. The next step overwrites it. Sessions that are published and others run one
        after the other.
        """
        sessions = cast(Sequence[tuple[PagedCache, Rows]], batch)
        kinds = {cache.published for cache, _ in sessions}
        if len(kinds) == 1:
            return self._run(sessions, kinds.pop())[0]
        found = {
            kind: iter(self._run(own, kind)[0].clone().split([len(rows) for _, rows in own]))
            for kind in sorted(kinds)
            for own in [[one for one in sessions if one[0].published == kind]]
        }
        return torch.cat([next(found[cache.published]) for cache, _ in sessions])

    @torch.inference_mode()
    def scores(self, batch: Sequence[tuple[Cache, Rows]]) -> Scores | None:
        """Run a step as `forward` does, and return the scores of all its rows; the next step overwrites their logits.
        Returns None, and runs nothing, if that takes more than one replay of a graph.
        """
        sessions = cast(Sequence[tuple[PagedCache, Rows]], batch)
        (published, *other), rows = {cache.published for cache, _ in sessions}, sum(len(rows) for _, rows in sessions)
        if other or rows > EXACT_ROWS:
            return None
        _, columns = self._run(sessions, published)
        return Scores(self._logits[:rows], Summary.of(columns))

    def _run(self, sessions: Sequence[tuple[PagedCache, Rows]], published: bool) -> Result:
        """One step of sessions that are all published, or none -> what `to_scores` returns, without unused rows."""
        context = max(cache.length for cache, _ in sessions)
        shape = BatchShape.of([rows for _, rows in sessions], published, context)
        buffer = self._buffer(shape)
        buffer.fill(sessions)
        found = self.graphs(shape, lambda: self.to_scores(buffer.rows, shape))
        return tuple(part[: sum(len(rows) for _, rows in sessions)] for part in found)

    def to_scores(self, rows: PackedRows, shape: BatchShape) -> Result:
        """All launches of a step -> the hidden states [rows, dim]. Those of a narrow step go on to the logits of all
        rows, and their `summary_columns` are returned too.
        """
        hidden = self.layers(rows, shape)
        if not shape.narrow:
            return (hidden,)
        logits = self._logits[: len(rows)].copy_(self.head(hidden))
        return hidden, summary_columns(logits, shape.canvas)

    def _buffer(self, shape: BatchShape) -> Buffer:
        return self._buffers.get(shape) or self._buffers.setdefault(shape, Buffer(shape, self.device))

    @torch.inference_mode()
    def warm_up(self) -> None:
        """Compile the kernels and capture the steps of all shapes that batches of at most ROW_COUNTS[-1] rows have,
        with unused rows alone: so none is compiled or captured while a request waits.
        """
        if not self.graphs.wanted:
            return
        for shape in shapes(self.removes_update):
            buffer = self._buffer(shape)
            buffer.fill([])
            self.graphs.prepare(shape, lambda buffer=buffer, shape=shape: self.to_scores(buffer.rows, shape))
        for rows in ROW_COUNTS:
            self.head(torch.zeros(rows, self.shape.dim, dtype=self.weights.dtype, device=self.device))

    @torch.inference_mode()
    def head(self, hidden: Tensor) -> Tensor:
        """hidden [rows, dim], as `forward` returns it -> logits float32 [rows, vocab], on the device."""
        return self.ops.gated_linear(hidden, self.weights.head)

    def layers(self, rows: PackedRows, batch: BatchShape) -> Tensor:
        """All kernel launches of a forward pass except the head's -> [rows, dim], the norm of the residual stream."""
        ops, shape, weights, eps = self.ops, self.shape, self.weights, self.shape.eps
        squares, ready = self._zeros(len(rows))

        def normed(norm: Tensor, bias: Tensor | None, number: int) -> Normed | None:
            """Room for what the norm gives to the projection behind it; None for a LayerNorm, which is an op."""
            own = squares[number, : len(rows)]
            return None if bias is not None else Normed.empty(len(rows), norm, weights.dtype, own)

        def before(x: Tensor, into: Normed | None, norm: Tensor, bias: Tensor | None) -> Tensor | Normed:
            return into or ops.row_norm(x, norm, bias, eps, weights.dtype)

        first = weights.layers[0]
        into = normed(first.attention_norm, first.attention_norm_bias, 0)
        x = ops.embed(rows.token, weights.embedding, weights.mask, into)
        for i, (layer, following) in enumerate(zip(weights.layers, [*weights.layers[1:], None], strict=True)):
            adapted = layer.both if batch.published else layer.updates
            low = adapted if batch.canvas else layer.removal if batch.published else {}
            done = dict(zip(("qkv", "out", "gate_up", "down"), ready[i], strict=True))
            keys, values = self.pool.keys(i), self.pool.values(i)

            def linear(
                x: Tensor | Normed, matrix: Matrix, name: str, bias: Tensor | None, low=low, done=done, **more: Any
            ) -> Tensor:
                own = {"update": low.get(name), "canvas": rows.canvas, "ready": done[name]}
                return ops.gated_linear(x, matrix, bias=bias, **own, **more)

            q = ops.qkv_rope_write(
                before(x, into, layer.attention_norm, layer.attention_norm_bias),
                layer.qkv,
                layer.qkv_bias,
                eps,
                self._cos,
                self._sin,
                keys,
                values,
                rows,
                low.get("qkv"),
                layer.head_norm,
                done["qkv"],
            )
            into = normed(layer.mlp_norm, layer.mlp_norm_bias, 2 * i + 1)
            attended = ops.paged_attention(q, keys, values, rows)
            linear(attended, layer.out, "out", layer.out_bias, residual=x, into=into)
            h = before(x, into, layer.mlp_norm, layer.mlp_norm_bias)
            if shape.gelu:
                h = linear(h, layer.gate_up, "gate_up", layer.gate_up_bias, eps=eps, gelu=True)
            else:
                h = ops.gated_swiglu(h, layer.gate_up, eps, low.get("gate_up"), rows.canvas, done["gate_up"])
            into = following and normed(following.attention_norm, following.attention_norm_bias, 2 * i + 2)
            linear(h, layer.down, "down", layer.down_bias, residual=x, into=into)
        return ops.row_norm(x, weights.norm, weights.norm_bias, eps, weights.dtype)

    def _zeros(self, rows: int) -> tuple[Tensor, Tensor]:
        """What a step adds to, all 0 and by one launch: the sums of squares int64 [2 * layers, rows] for the norms, and
        for each layer's four projections the counts int32 [layers, 4, MOST_TILES] of `Inner`.
        """
        # Of one row, each layer's would begin at another alignment, for which Triton compiles kernels anew.
        squares, counts = (2 * self.shape.layers, max(2, rows)), (self.shape.layers, 4, MOST_TILES)
        zeros = torch.zeros(prod(squares) + prod(counts) // 2, dtype=torch.int64, device=self.device)
        return zeros[: prod(squares)].view(squares), zeros[prod(squares) :].view(torch.int32).view(counts)

    @property
    def failures(self) -> dict[str, str]:
        """Op name -> why it runs by its slow reference; "graph" -> why steps are not captured. Shown by
        `dlsp doctor`.
        """
        graph = {"graph": self.graphs.failure} if self.graphs.failure else {}
        return self.ops.failures | graph
