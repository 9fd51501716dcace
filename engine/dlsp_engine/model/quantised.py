"""Rotated int8 matrices, made from a model's dense weights."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from torch import Tensor

from dlsp_engine.model.rotate import rotate_head, rotate_layer
from dlsp_engine.model.weights import Layer, Weights
from dlsp_kernels import quantise_weight


@dataclass
class QuantisedMatrix:
    weight: Tensor  # int8 [out, in]
    scale: Tensor  # float32 [out]

    @classmethod
    def of(cls, weight: Tensor) -> "QuantisedMatrix":
        return cls(*quantise_weight(weight))


@dataclass
class QuantisedLayer:
    """In the basis that `rotate` describes, norms within the matrices."""

    qkv: QuantisedMatrix
    qkv_bias: Tensor  # float32 [qkv]
    out: QuantisedMatrix
    gate_up: QuantisedMatrix
    down: QuantisedMatrix

    @classmethod
    def of(cls, layer: Layer) -> "QuantisedLayer":
        matrices = {name: QuantisedMatrix.of(getattr(layer, name)) for name in ("qkv", "out", "gate_up", "down")}
        return cls(qkv_bias=layer.qkv_bias, **matrices)


def quantised_layers(weights: Weights, turn: Tensor, say: Callable[[str], None]) -> Iterator[QuantisedLayer]:
    for i, layer in enumerate(weights.layers):
        if i % 4 == 0:
            say(f"quantising layer {i} of {weights.architecture.layers}")
        yield QuantisedLayer.of(rotate_layer(layer, turn, weights.architecture))


def quantised_head(weights: Weights, turn: Tensor) -> QuantisedMatrix:
    return QuantisedMatrix.of(rotate_head(weights, turn))
