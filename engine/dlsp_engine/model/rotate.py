"""The same model in a rotated basis, where no channel stands out and int8 loses little (QuaRot, arXiv 2404.00456).

The residual stream is turned by an orthogonal matrix, the values of each head and what goes into `down` by Hadamard
matrices. RMSNorm commutes with the first once its weights have moved into the matrices behind it; the last is undone
in `down`, so the forward must apply `hadamard` to `down`'s input.
"""

import torch
from torch import Tensor

from dlsp_engine.model.adapter import Adapter, LowRank
from dlsp_engine.model.architecture import Architecture
from dlsp_engine.model.weights import Layer, Weights
from dlsp_kernels import hadamard


def rotation(dim: int) -> Tensor:
    """A random orthogonal matrix [dim, dim] in float32."""
    generator = torch.Generator().manual_seed(0)
    orthogonal, _ = torch.linalg.qr(torch.randn(dim, dim, generator=generator, dtype=torch.float64))
    return orthogonal.float().contiguous()


def rotate_layer(layer: Layer, turn: Tensor, shape: Architecture) -> Layer:
    """In float32; its norms are all ones."""
    qkv, bias = (layer.qkv.float() * layer.attention_norm.float()) @ turn, layer.qkv_bias.float().clone()
    value = (shape.heads + shape.kv_heads) * shape.head_dim
    qkv[value:] = _heads(qkv[value:].T, shape).T
    bias[value:] = _heads(bias[value:], shape)
    ones = torch.ones(shape.dim)
    return Layer(
        qkv=qkv,
        qkv_bias=bias,
        out=turn.T @ _heads(layer.out.float(), shape),
        gate_up=(layer.gate_up.float() * layer.mlp_norm.float()) @ turn,
        down=turn.T @ hadamard(layer.down.float()),
        attention_norm=ones,
        mlp_norm=ones,
    )


def rotate_head(rows: Tensor, norm: Tensor, turn: Tensor) -> Tensor:
    """rows [n, dim] of the embedding -> [n, dim] in float32, the last norm's weights within."""
    return (rows.float() * norm.float()) @ turn


def rotate_low_rank(low: dict[str, LowRank], layer: Layer, turn: Tensor, shape: Architecture) -> dict[str, LowRank]:
    """One layer's updates for the rotated `layer`; `layer` is the one before rotation."""
    if not low:
        return {}
    value = (shape.heads + shape.kv_heads) * shape.head_dim
    pairs = {name: (update.a.float(), update.b.float().clone()) for name, update in low.items()}
    qkv, out, gate_up, down = (pairs[name] for name in ("qkv", "out", "gate_up", "down"))
    qkv[1][value:] = _heads(qkv[1][value:].T, shape).T
    return {
        "qkv": LowRank((qkv[0] * layer.attention_norm.float()) @ turn, qkv[1]),
        "out": LowRank(_heads(out[0], shape), turn.T @ out[1]),
        "gate_up": LowRank((gate_up[0] * layer.mlp_norm.float()) @ turn, gate_up[1]),
        "down": LowRank(hadamard(down[0]), turn.T @ down[1]),
    }


def rotated_adapter(adapter: Adapter, weights: Weights, turn: Tensor) -> Adapter:
    layers = [
        rotate_low_rank(low, layer, turn, weights.architecture)
        for low, layer in zip(adapter.layers, weights.layers, strict=True)
    ]
    return Adapter(adapter.mask_embedding.float() @ turn, layers, adapter.metadata, adapter.bigrams)


def _heads(x: Tensor, shape: Architecture) -> Tensor:
    """x [..., heads * head_dim], each head transformed."""
    return hadamard(x.unflatten(-1, (-1, shape.head_dim))).flatten(-2)
