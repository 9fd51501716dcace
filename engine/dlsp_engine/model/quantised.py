"""Makes the tensors of the int8 or 4-bit step from dense weights and an adapter: rotated, quantised, packed for the
kernels.
"""

from collections.abc import Callable, Iterable

import torch
from torch import Tensor

from dlsp_engine.model.adapter import Adapter, LowRank, projections
from dlsp_engine.model.rotate import rotate_head, rotate_layer, rotated_adapter, rotation
from dlsp_engine.model.weights import Weights
from dlsp_kernels import quantise_weight
from dlsp_kernels.int4_linear.compiled import laid
from dlsp_kernels.int4_linear.reference import GROUP, FourBits, quantise_four_bits
from dlsp_kernels.int8_linear.compiled import Compiled
from dlsp_kernels.int8_linear.kinds import Int8

# Rows of the head that are rotated at once: the whole head in float32 would take several times the memory of all the
# rest.
HEAD_ROWS = 8192


def quantised(
    weights: Weights, adapter: Adapter, kind: Int8, say: Callable[[str], None] = lambda line: None, bits: int = 8
) -> dict[str, Tensor]:
    """The tensors that `Int8Weights.of` takes, by name, in the basis that `rotate` describes. `say` reports progress.

    `bits` of each weight: 8 or 4. Matrices whose inputs do not come in groups of GROUP have 8 bits anyway.
    """
    shape = weights.architecture
    turn = rotation(shape.dim)
    turned = rotated_adapter(adapter, weights, turn)
    tensors = {"turn": turn, "mask": turned.mask_embedding.contiguous()}
    for i, (dense, low) in enumerate(zip(weights.layers, turned.layers, strict=True)):
        if i % 4 == 0:
            say(f"quantising layer {i} of {shape.layers}")
        layer = rotate_layer(dense, turn, shape)
        tensors[f"{i}.qkv_bias"] = layer.qkv_bias
        for name, (_, outs) in projections(shape).items():
            tensors |= _linear(f"{i}.{name}", getattr(layer, name), low.get(name), outs, kind, bits)
    head = (rotate_head(rows, weights.norm, turn) for rows in weights.embedding.split(HEAD_ROWS))
    return tensors | _matrix("head", shape.dim, head, kind, bits)


def _linear(
    name: str, weight: Tensor, update: LowRank | None, outs: list[int], kind: Int8, bits: int
) -> dict[str, Tensor]:
    """The tensors of one projection. The update's first half, `a`, is appended to the weight as further outputs: these
    cost less than a matrix of their own.
    """
    if not update:
        return _matrix(name, weight.shape[1], [weight], kind, bits)
    b, b_scale = quantise_weight(update.parts(outs))
    return _matrix(name, weight.shape[1], [weight, update.a], kind, bits) | {
        f"{name}.b": b.T.contiguous(),
        f"{name}.b_scale": b_scale,
    }


def _matrix(name: str, ins: int, parts: Iterable[Tensor], kind: Int8, bits: int) -> dict[str, Tensor]:
    """The packed weight and the scale of a matrix whose outputs come in `parts`, which are quantised one by one."""
    if bits == 4 and isinstance(kind, Compiled) and ins % GROUP == 0:
        four = FourBits.cat([quantise_four_bits(part) for part in parts])
        return {f"{name}.weight": laid(four, kind.kind), f"{name}.scale": four.scale}
    base, scale = map(torch.cat, zip(*map(quantise_weight, parts), strict=True))
    return {f"{name}.weight": kind.laid(base), f"{name}.scale": scale}
