"""The rotated int8 weights of a model, made once from the converted ones and kept beside them."""

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from filelock import FileLock
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from dlsp_engine.errors import EngineError
from dlsp_engine.model.rotate import rotate_head, rotate_layer, rotation
from dlsp_engine.model.weights import Weights
from dlsp_kernels import quantise_weight

FILE = "int8-1.safetensors"
"""The number is the layout's, so that a newer one never meets an older file."""


@dataclass
class QuantisedMatrix:
    weight: Tensor  # int8 [out, in]
    scale: Tensor  # float32 [out]


@dataclass
class QuantisedLayer:
    qkv: QuantisedMatrix
    qkv_bias: Tensor  # float32 [qkv]
    out: QuantisedMatrix
    gate_up: QuantisedMatrix
    down: QuantisedMatrix

    matrices: ClassVar = ("qkv", "out", "gate_up", "down")


@dataclass
class Quantised:
    """In the basis that `rotate` describes, norms within the matrices."""

    turn: Tensor  # float32 [dim, dim]
    layers: list[QuantisedLayer]
    head: QuantisedMatrix

    @classmethod
    def of(cls, weights: Weights) -> "Quantised":
        return cls._from(dict(_tensors(weights, lambda line: None)), weights.architecture.layers)

    @classmethod
    def load(
        cls, folder: Path, weights: Weights, say: Callable[[str], None] = lambda line: print(line, file=sys.stderr)
    ) -> "Quantised":
        """From the folder of the converted weights, where the file is made on first use."""
        path = folder / FILE
        try:
            if not path.exists():
                with FileLock(folder / "lock"):
                    if not path.exists():
                        _write(path, weights, say)
            with safe_open(path, framework="pt") as file:
                return cls._from({name: file.get_tensor(name) for name in file.keys()}, weights.architecture.layers)  # noqa: SIM118
        except OSError as error:
            raise EngineError(
                f"The int8 weights could not be written to {folder} ({error.strerror or error}); free some space or "
                "set DLSP_CACHE_DIR to a folder that can be written."
            ) from error
        except Exception as error:
            raise EngineError(f"{path} is damaged; delete it and start again.") from error

    @classmethod
    def _from(cls, tensors: dict[str, Tensor], layers: int) -> "Quantised":
        def matrix(name: str) -> QuantisedMatrix:
            return QuantisedMatrix(tensors[name], tensors[f"{name}.scale"])

        return cls(
            tensors["turn"],
            [
                QuantisedLayer(
                    qkv_bias=tensors[f"layers.{i}.qkv_bias"],
                    **{name: matrix(f"layers.{i}.{name}") for name in QuantisedLayer.matrices},
                )
                for i in range(layers)
            ],
            matrix("head"),
        )


def _tensors(weights: Weights, say: Callable[[str], None]) -> Iterator[tuple[str, Tensor]]:
    shape = weights.architecture
    turn = rotation(shape.dim)
    yield "turn", turn
    for i, layer in enumerate(weights.layers):
        if i % 4 == 0:
            say(f"quantising layer {i} of {shape.layers}")
        turned = rotate_layer(layer, turn, shape)
        yield f"layers.{i}.qkv_bias", turned.qkv_bias
        for name in QuantisedLayer.matrices:
            yield from _matrix(f"layers.{i}.{name}", getattr(turned, name))
    yield from _matrix("head", rotate_head(weights, turn))


def _matrix(name: str, weight: Tensor) -> Iterator[tuple[str, Tensor]]:
    quantised, scale = quantise_weight(weight)
    yield name, quantised
    yield f"{name}.scale", scale


def _write(path: Path, weights: Weights, say: Callable[[str], None]) -> None:
    say("quantising the weights to int8, once for this machine")
    partial = path.with_suffix(".partial")
    try:
        save_file(dict(_tensors(weights, say)), partial)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
