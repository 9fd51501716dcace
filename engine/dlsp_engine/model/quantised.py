"""Makes the tensors of the int8 step from dense weights and an adapter: rotated, quantised, packed for the kernels."""

from collections.abc import Callable

import torch
from torch import Tensor

from dlsp_engine.model.adapter import Adapter, LowRank, projections
from dlsp_engine.model.rotate import rotate_head, rotate_layer, rotated_adapter, rotation
from dlsp_engine.model.weights import Weights
from dlsp_kernels import quantise_weight
from dlsp_kernels.int8_linear.kinds import Int8

# Rows of the head that are rotated at once: the whole head in float32 would take several times the memory of all the
# rest.
HEAD_ROWS = 8192


def quantised(
    weights: Weights, adapter: Adapter, kind: Int8, say: Callable[[str], None] = lambda line: None
) -> dict[str, Tensor]:
    """The tensors that `Int8Weights.of` takes, by name, in the basis that `rotate` describes. `say` reports
    progress.
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
            tensors |= _linear(f"{i}.{name}", getattr(layer, name), low.get(name), outs, kind)
    head = [quantise_weight(rotate_head(rows, weights.norm, turn)) for rows in weights.embedding.split(HEAD_ROWS)]
    base, scale = map(torch.cat, zip(*head, strict=True))
    return tensors | {"head.weight": kind.laid(base), "head.scale": scale}


def _linear(name: str, weight: Tensor, update: LowRank | None, outs: list[int], kind: Int8) -> dict[str, Tensor]:
    """The tensors of one projection. The update's first half, `a`, is appended to the weight as further outputs: these
    cost less than a matrix of their own.
    """
    base, scale = quantise_weight(weight)
    if not update:
        return {f"{name}.weight": kind.laid(base), f"{name}.scale": scale}
    a, a_scale = quantise_weight(update.a)
    b, b_scale = quantise_weight(update.parts(outs))
    return {
        f"{name}.weight": kind.laid(torch.cat([base, a])),
        f"{name}.scale": torch.cat([scale, a_scale]),
        f"{name}.b": b.T.contiguous(),
        f"{name}.b_scale": b_scale,
    }
