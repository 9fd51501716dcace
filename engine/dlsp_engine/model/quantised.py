"""Makes the tensors of the int8 or 4-bit step from dense weights and an adapter: rotated, quantised, packed for the
kernels.
"""

from collections.abc import Callable, Iterable, Mapping

import torch
from torch import Tensor

from dlsp_engine.model.adapter import Adapter, LowRank, projections
from dlsp_engine.model.calibration import Calibration
from dlsp_engine.model.int8 import matrix
from dlsp_engine.model.rotate import inward, rotate_head, rotate_layer, rotate_low_rank, rotation
from dlsp_engine.model.update import Removal
from dlsp_engine.model.weights import DenseWeights
from dlsp_kernels import quantise_weight
from dlsp_kernels.compensate.compiled import compensated
from dlsp_kernels.compensate.reference import shares_of
from dlsp_kernels.int4_linear.compiled import pack
from dlsp_kernels.int4_linear.reference import GROUP, FourBits
from dlsp_kernels.int8_linear.compiled import Compiled
from dlsp_kernels.int8_linear.kinds import Int8, Int8Matrix

# Rows of the head that are rotated at once: the whole head in float32 would take several times the memory of all the
# rest.
HEAD_ROWS = 8192
# In a 4-bit step these projections of the last seventh of all layers keep 8 bits: they have a ninth of the weights, and
# in 4 bits a third of the loss (docs/notes/step.md).
FINE, FINE_SHARE = ("gate_up", "down"), 7


def quantised(
    weights: DenseWeights,
    adapter: Adapter,
    kind: Int8,
    say: Callable[[str], None] = lambda line: None,
    sample: Tensor | None = None,
    removal: Removal | None = None,
) -> dict[str, Tensor]:
    """The tensors that `Int8Weights.of` takes, by name, in the basis that `rotate` describes. `say` reports progress.

    Weights have 8 bits. If `sample` is given, tokens [pieces, length] of sample text, they have 4 bits, chosen so that
    results on such text change little; `kind` must then be `Compiled`. The FINE ones of the last layers, and matrices
    whose inputs do not come in groups of GROUP, have 8 bits in any case. `removal` takes the infill update in the
    weights back from published rows.
    """
    shape = weights.architecture
    turn = rotation(shape.dim)
    embedding = inward(turn, shape)
    tensors = {"turn": embedding, "mask": (adapter.mask_embedding.float() @ embedding).contiguous()}
    calibration = None
    if sample is not None:
        embedded = weights.embedding[sample.flatten()].float() @ turn
        calibration = Calibration(embedded, sample.shape[1], shape, kind)
    for i, (dense, plain) in enumerate(zip(weights.layers, adapter.layers, strict=True)):
        if i % 4 == 0:
            say(f"quantising layer {i} of {shape.layers}")
        layer, low = rotate_layer(dense, turn, shape), rotate_low_rank(plain, dense, turn, shape)
        back = rotate_low_rank(removal[i], dense, turn, shape) if removal else {}
        tensors[f"{i}.qkv_bias"] = layer.qkv_bias
        if layer.head_norm is not None:
            tensors[f"{i}.head_norm"] = layer.head_norm
        biases = {"out": layer.out_bias, "gate_up": layer.gate_up_bias, "down": layer.down_bias}
        tensors.update({f"{i}.{name}_bias": bias for name, bias in biases.items() if bias is not None})

        def linear(name: str, inputs: Tensor | None, i=i, layer=layer, low=low, back=back) -> Int8Matrix:
            _, outs = projections(shape)[name]
            updates = {"b": low.get(name), "removal_b": back.get(name)}
            fine = name in FINE and i >= shape.layers - shape.layers // FINE_SHARE
            made = _linear(f"{i}.{name}", getattr(layer, name), updates, outs, kind, None if fine else inputs)
            tensors.update(made)
            return matrix(made[f"{i}.{name}.weight"], made[f"{i}.{name}.scale"], kind)

        if calibration:
            calibration.pass_layer(layer.qkv_bias, linear)
        else:
            for name in projections(shape):
                linear(name, None)
    if weights.norm_bias is not None:
        parts = (rows.float() @ weights.norm_bias.float() for rows in weights.head.split(HEAD_ROWS))
        tensors["head_bias"] = torch.cat([*parts])
    head = (rotate_head(rows, weights.norm, turn) for rows in weights.head.split(HEAD_ROWS))
    return tensors | _matrix("head", head, kind, calibration.last() if calibration else None)


def _linear(
    name: str,
    weight: Tensor,
    updates: Mapping[str, LowRank | None],
    outs: list[int],
    kind: Int8,
    inputs: Tensor | None,
) -> dict[str, Tensor]:
    """The tensors of one projection. The first halves of the updates, `a`, are appended to the weight as further
    outputs: these cost less than a matrix of their own. `updates`: by the name of the second half's tensor.
    """
    found = {half: update for half, update in updates.items() if update}
    made = _matrix(name, [weight, *(update.a for update in found.values())], kind, inputs)
    for half, update in found.items():
        b, b_scale = quantise_weight(update.parts(outs))
        made |= {f"{name}.{half}": b.T.contiguous(), f"{name}.{half}_scale": b_scale}
    return made


def _matrix(name: str, parts: Iterable[Tensor], kind: Int8, inputs: Tensor | None) -> dict[str, Tensor]:
    """The packed weight and the scale of a matrix whose outputs come in `parts`, which are quantised one by one: to 4
    bits for these inputs, or to 8 bits if there are none.
    """
    if inputs is not None and inputs.shape[1] % GROUP == 0:
        assert isinstance(kind, Compiled), "only native kernels take 4 bits"
        shares = shares_of(inputs)
        four = FourBits.cat([compensated(part, shares, kind.kind) for part in parts])
        return {f"{name}.weight": pack(four, kind.kind), f"{name}.scale": four.scale}
    base, scale = map(torch.cat, zip(*map(quantise_weight, parts), strict=True))
    return {f"{name}.weight": kind.pack(base), f"{name}.scale": scale}
