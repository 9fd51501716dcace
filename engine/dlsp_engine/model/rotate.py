"""The same model in a rotated basis, where no channel has outliers and int8 loses little (QuaRot, arXiv 2404.00456).

The residual stream is multiplied by a random orthogonal matrix; the values of each head and the input of `down` are
multiplied by Hadamard matrices. RMSNorm commutes with the rotation once its weights have been multiplied into the
matrix that follows it. The matrix `down` undoes the transform of its input, so the forward pass must apply `hadamard`
to that input.

A LayerNorm is an RMSNorm of what has the mean 0: the mean is taken from all that is added to the residual stream, and
the norms' biases go into those of the matrices that follow (SliceGPT, arXiv 2401.15024).

Keys are balanced against queries (`balance`), so that a KV cache can hold them in few bits: biases make a few
channels of Qwen2's keys a hundred times larger than the others.
"""

import torch
from torch import Tensor

from dlsp_engine.model.adapter import LowRank
from dlsp_engine.model.architecture import Architecture
from dlsp_engine.model.weights import Layer
from dlsp_kernels import hadamard


def rotation(dim: int) -> Tensor:
    """A random orthogonal matrix [dim, dim] in float32."""
    generator = torch.Generator().manual_seed(0)
    orthogonal, _ = torch.linalg.qr(torch.randn(dim, dim, generator=generator, dtype=torch.float64))
    return orthogonal.float().contiguous()


def inward(turn: Tensor, shape: Architecture) -> Tensor:
    """[dim, dim]: what is added to the residual stream is multiplied by it. `turn` is the rotation."""
    return turn - turn.mean(0) if shape.layer_norm else turn


def rotate_layer(layer: Layer, turn: Tensor, shape: Architecture) -> Layer:
    """The layer in the rotated basis, in float32. Its norm weights are multiplied into the matrices, and
    become ones; the norms' biases are added to those of the matrices.
    """
    added = inward(turn, shape)
    qkv, bias = (layer.qkv.float() * layer.attention_norm.float()) @ turn, layer.qkv_bias.float().clone()
    gate_up_bias = layer.gate_up_bias
    if layer.attention_norm_bias is not None and layer.mlp_norm_bias is not None and gate_up_bias is not None:
        bias += layer.qkv.float() @ layer.attention_norm_bias.float()
        gate_up_bias = gate_up_bias.float() + layer.gate_up.float() @ layer.mlp_norm_bias.float()
    value = (shape.heads + shape.kv_heads) * shape.head_dim
    qkv[value:] = _heads(qkv[value:].T, shape).T
    bias[value:] = _heads(bias[value:], shape)
    factors = balance(layer, shape)
    ones = torch.ones(shape.dim)
    return Layer(
        qkv=qkv * factors[:, None],
        qkv_bias=bias * factors,
        out=added.T @ _heads(layer.out.float(), shape),
        gate_up=(layer.gate_up.float() * layer.mlp_norm.float()) @ turn,
        down=added.T @ hadamard(layer.down.float()),
        attention_norm=ones,
        mlp_norm=ones,
        head_norm=None if layer.head_norm is None else layer.head_norm.float(),
        out_bias=None if layer.out_bias is None else layer.out_bias.float() @ added,
        gate_up_bias=gate_up_bias,
        down_bias=None if layer.down_bias is None else layer.down_bias.float() @ added,
    )


def balance(layer: Layer, shape: Architecture) -> Tensor:
    """The factor of each output of `qkv`, float32 [outputs]: f for queries, 1 / f for the keys that they meet, 1 for
    values. `layer` is the layer before rotation.

    The error of quantised keys is least with f = sqrt(|k| / |q|), for sizes |k| and |q| as weights and biases let
    expect. Both channels of a pair that RoPE turns have the same f, and so have all query heads of a key head. f is a
    power of two, so the products of queries and keys stay the same to the bit. Where queries and keys are normalised,
    all factors are 1: no bias makes channels large there.
    """
    if layer.head_norm is not None:
        return torch.ones(shape.qkv)
    heads, kv_heads, half = shape.heads, shape.kv_heads, shape.head_dim // 2
    rows = layer.qkv.float() * layer.attention_norm.float()
    squares = rows.square().sum(1) + layer.qkv_bias.float().square()
    q, k, v = squares.split([heads * 2 * half, kv_heads * 2 * half, kv_heads * 2 * half])
    q = q.view(kv_heads, shape.groups, 2, half).mean((1, 2))
    k = k.view(kv_heads, 2, half).mean(1)
    smallest = torch.finfo(torch.float32).tiny
    factor = 2 ** ((k + smallest) / (q + smallest)).log2().div(4).round()
    of_heads = factor.repeat(1, 2)
    return torch.cat(
        [of_heads.repeat_interleave(shape.groups, 0).flatten(), 1 / of_heads.flatten(), torch.ones_like(v)]
    )


def rotate_head(rows: Tensor, norm: Tensor, turn: Tensor) -> Tensor:
    """rows [n, dim] of the head, norm [dim] -> float32 [n, dim]: rotated, multiplied by the last norm's weights."""
    return (rows.float() * norm.float()) @ turn


def rotate_low_rank(low: dict[str, LowRank], layer: Layer, turn: Tensor, shape: Architecture) -> dict[str, LowRank]:
    """The low-rank updates of one layer in the rotated basis. `layer` is the layer before rotation."""
    if not low:
        return {}
    value = (shape.heads + shape.kv_heads) * shape.head_dim
    pairs = {name: (update.a.float(), update.b.float().clone()) for name, update in low.items()}
    qkv, out, gate_up, down = (pairs[name] for name in ("qkv", "out", "gate_up", "down"))
    qkv[1][value:] = _heads(qkv[1][value:].T, shape).T
    return {
        "qkv": LowRank((qkv[0] * layer.attention_norm.float()) @ turn, qkv[1] * balance(layer, shape)[:, None]),
        "out": LowRank(_heads(out[0], shape), inward(turn, shape).T @ out[1]),
        "gate_up": LowRank((gate_up[0] * layer.mlp_norm.float()) @ turn, gate_up[1]),
        "down": LowRank(hadamard(down[0]), inward(turn, shape).T @ down[1]),
    }


def _heads(x: Tensor, shape: Architecture) -> Tensor:
    """x [..., heads * head_dim] -> the same shape, each head Hadamard-transformed."""
    return hadamard(x.unflatten(-1, (-1, shape.head_dim))).flatten(-2)
