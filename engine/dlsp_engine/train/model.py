"""The forward passes for training: samples with equal numbers of rows at once, on any device, with gradients for the
adapter alone.
"""

from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from dlsp_engine.model.adapter import Adapter, projections
from dlsp_engine.model.architecture import Architecture
from dlsp_engine.model.bigrams import Bigrams
from dlsp_engine.model.weights import Layer, Weights
from dlsp_kernels.rope.reference import rope, rope_table
from dlsp_kernels.swiglu.reference import swiglu

Low = dict[str, tuple[Tensor, Tensor]]
# Keys and values [batch, kv_heads, length, head_dim] of the clean rows, layer by layer.
Past = list[tuple[Tensor, Tensor]]


class Pair(nn.Module):
    """The low-rank update of one projection, in the shapes of the adapter's file: a [parts * rank, in], b [out, rank].
    A fused projection has several parts, with `outs` outputs each.
    """

    def __init__(self, into: int, outs: list[int], rank: int) -> None:
        super().__init__()
        self.outs = outs
        self.a = nn.Parameter(torch.randn(len(outs) * rank, into) * into**-0.5)
        self.b = nn.Parameter(torch.zeros(sum(outs), rank))

    def fused(self, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Return a and b in the shapes for the fused projection: b becomes block-diagonal if there are several
        parts.
        """
        b = self.b.to(dtype)
        return self.a.to(dtype), torch.block_diag(*b.split(self.outs)) if len(self.outs) > 1 else b


class LowRanks(nn.Module):
    """Low-rank updates of every projection, in float32, named as in files. At first they change nothing."""

    def __init__(self, shape: Architecture, rank: int) -> None:
        super().__init__()
        self.rank = rank
        self.layers = nn.ModuleList(
            nn.ModuleDict({name: Pair(into, outs, rank) for name, (into, outs) in projections(shape).items()})
            for _ in range(shape.layers)
        )

    @classmethod
    def read(cls, path: Path, shape: Architecture) -> "LowRanks":
        """Load the updates from an infill update's file."""
        tensors = load_file(path)
        found = cls(shape, tensors["layers.0.down.a"].shape[0])
        found.load_state_dict(tensors)
        return found

    def low(self, dtype: torch.dtype) -> list[Low]:
        """Return, by layer and projection, the fused a and b for the forward pass; gradients flow through them."""
        return [
            {name: pair.fused(dtype) for name, pair in layer.items() if isinstance(pair, Pair)}
            for layer in self.layers
            if isinstance(layer, nn.ModuleDict)
        ]

    def tensors(self) -> dict[str, Tensor]:
        """Return all tensors that the file holds, trained or not."""
        return dict(self.state_dict())


class Parameters(LowRanks):
    """The parameters of a canvas adapter: the low-rank updates for canvas rows, and the embedding of the mask."""

    def __init__(self, weights: Weights, rank: int) -> None:
        super().__init__(weights.architecture, rank)
        self.bigrams: Bigrams | None = None  # counted, not trained
        start = Adapter.none(weights.embedding, weights.architecture).mask_embedding.float()
        self.mask_embedding = nn.Parameter(start)

    @classmethod
    def load(cls, path: Path, weights: Weights) -> "Parameters":
        tensors = load_file(path)
        parameters = cls(weights, tensors["layers.0.down.a"].shape[0])
        parameters.bigrams = Bigrams.of(tensors)
        parameters.load_state_dict({name: t for name, t in tensors.items() if not name.startswith("bigrams.")})
        return parameters

    def tensors(self) -> dict[str, Tensor]:
        return super().tensors() | (self.bigrams.tensors() if self.bigrams else {})


class CanvasModel:
    """The frozen base with the parameters of its adapter, on the device of the parameters."""

    def __init__(
        self, weights: Weights, parameters: Parameters, recompute: bool = False, compiled: bool = False
    ) -> None:
        self.device = parameters.mask_embedding.device
        if self.device.type == "cuda":
            # cuDNN's attention with a mask gave NaN gradients at some lengths (pytorch#196678, PyTorch 2.11 to 2.13).
            torch.backends.cuda.enable_cudnn_sdp(False)
        self.weights = weights.to(self.device)
        self.shape = weights.architecture
        self.parameters = parameters
        self.recompute = recompute
        self._layer: Callable[..., tuple[Tensor, Tensor, Tensor]] = (
            # Clean and canvas passes are compiled separately, each for its own number of rows.
            torch.compile(layer_forward, dynamic=False) if compiled else layer_forward
        )

    @torch.no_grad()
    def clean(self, ids: Tensor, positions: Tensor, bias: Tensor) -> tuple[Tensor, Past]:
        """Run the clean pass: ids and positions [batch, length], bias [batch, 1, length, length] -> hidden [batch,
        length, dim] and the keys and values.
        """
        return self._forward(self.weights.embedding[ids], positions, bias, [{}] * self.shape.layers, None)

    def canvas(self, tokens: Tensor, positions: Tensor, bias: Tensor, past: Past) -> Tensor:
        """Run the canvas pass: tokens (MASK where masked) and positions [batch, rows], bias [batch, 1, rows, length +
        rows], and the clean pass's keys and values -> hidden [batch, rows, dim].
        """
        embedded = self.weights.embedding[tokens.clamp(min=0)]
        mask = self.parameters.mask_embedding.to(embedded.dtype)
        x = torch.where((tokens < 0)[..., None], mask, embedded)
        return self._forward(x, positions, bias, self.parameters.low(embedded.dtype), past)[0]

    def _forward(
        self, x: Tensor, positions: Tensor, bias: Tensor, lows: list[Low], past: Past | None
    ) -> tuple[Tensor, Past]:
        with positions.device:  # the table creates tensors on the default device
            table = rope_table(positions.flatten(), self.shape.head_dim, self.shape.theta, self.shape.rope_divisors)
        cos, sin = (t.view(*positions.shape, 1, -1) for t in table)
        new: Past = []
        for i, layer in enumerate(self.weights.layers):
            given = (self.shape, layer, lows[i], x, past[i] if past else None, bias, cos, sin)
            if self.recompute and past:
                x, k, v = checkpoint(self._layer, *given, use_reentrant=False)  # pyright: ignore[reportGeneralTypeIssues]
            else:
                # Scores run uncompiled: they are not worth another compilation.
                run = self._layer if torch.is_grad_enabled() or past is None else layer_forward
                x, k, v = run(*given)
            new.append((k, v))
        return norm(x, self.weights.norm, self.weights.norm_bias, self.shape.eps), new


def layer_forward(
    shape: Architecture,
    layer: Layer,
    low: Low,
    x: Tensor,
    past: tuple[Tensor, Tensor] | None,
    bias: Tensor,
    cos: Tensor,
    sin: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """Run one layer on x [batch, rows, dim]. Returns its output, and the keys and values of its rows."""

    q, k, v = heads(shape, layer, low, x, cos, sin)
    keys, values = (torch.cat(pair, 2) for pair in zip(past, (k, v), strict=True)) if past else (k, v)
    keys, values = (t.repeat_interleave(shape.groups, 1) for t in (keys, values))
    attended = F.scaled_dot_product_attention(q, keys, values, attn_mask=bias).transpose(1, 2).flatten(2)
    return behind_attention(shape, layer, low, x, attended), k, v


def heads(
    shape: Architecture, layer: Layer, low: Low, x: Tensor, cos: Tensor, sin: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return queries, keys and values [batch, heads, rows, head_dim] of x [batch, rows, dim]."""
    h = norm(x, layer.attention_norm, layer.attention_norm_bias, shape.eps)
    qkv = _linear(h, layer.qkv, low.get("qkv"), layer.qkv_bias).unflatten(-1, (-1, shape.head_dim))
    qk, v = qkv.split([shape.heads + shape.kv_heads, shape.kv_heads], 2)
    if layer.head_norm is not None:
        qk = F.rms_norm(qk, qk.shape[-1:], eps=shape.eps) * layer.head_norm
    q, k = rope(qk, cos, sin).split([shape.heads, shape.kv_heads], 2)
    return q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)


def behind_attention(shape: Architecture, layer: Layer, low: Low, x: Tensor, attended: Tensor) -> Tensor:
    """Run the part of a layer after attention: its input x and the attention's output, both [batch, rows, dim] -> the
    layer's output.
    """
    x = x + _linear(attended, layer.out, low.get("out"), layer.out_bias)
    h = norm(x, layer.mlp_norm, layer.mlp_norm_bias, shape.eps)
    h = _linear(h, layer.gate_up, low.get("gate_up"), layer.gate_up_bias)
    h = F.gelu(h, approximate="tanh") if shape.gelu else swiglu(h)
    return x + _linear(h, layer.down, low.get("down"), layer.down_bias)


def norm(x: Tensor, weight: Tensor, bias: Tensor | None, eps: float) -> Tensor:
    """LayerNorm if there is a bias, else RMSNorm."""
    return (
        F.rms_norm(x, weight.shape, weight, eps) if bias is None else F.layer_norm(x, weight.shape, weight, bias, eps)
    )


def _linear(x: Tensor, weight: Tensor, low: tuple[Tensor, Tensor] | None, offset: Tensor | None = None) -> Tensor:
    y = F.linear(x, weight, offset)
    return y + F.linear(F.linear(x, low[0]), low[1]) if low else y
