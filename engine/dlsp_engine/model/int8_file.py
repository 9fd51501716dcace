"""Int8 weights on disk, as they are read: made once for a machine and an adapter, then only mapped at a start."""

import hashlib
import json
import os
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from filelock import FileLock
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from dlsp_engine.errors import EngineError
from dlsp_engine.machine import machine
from dlsp_engine.model.adapter import Adapter, projections
from dlsp_engine.model.architecture import Architecture
from dlsp_engine.model.int8 import Int8Layer, Int8Linear, Int8Weights
from dlsp_engine.model.weights import Weights
from dlsp_kernels.int8_linear.choose import Int8

LAYOUT = 2
"""Counts up with every change of what stands in the file."""


def stored(
    folder: Path,
    weights: Weights,
    adapter: Adapter,
    kind: Int8,
    say: Callable[[str], None] = lambda line: print(line, file=sys.stderr),
) -> Int8Weights:
    """From the folder of the converted weights, where the file is made on first use; one of another machine, another
    PyTorch or another adapter is replaced.
    """
    path = folder / f"int8-{_fingerprint(adapter, kind)}.safetensors"
    try:
        with FileLock(folder / "lock"):
            if not path.exists():
                say("quantising the weights to int8, once for this machine and this adapter")
                _write(path, Int8Weights.of(weights, adapter, kind, say))
    except OSError as error:
        raise EngineError(
            f"The int8 weights could not be written to {folder} ({error.strerror or error}); free some space or set "
            "DLSP_CACHE_DIR to a folder that can be written."
        ) from error
    try:
        return _read(path, weights.architecture, kind)
    except Exception as error:
        raise EngineError(f"{path} is damaged; delete it and start again.") from error


def _fingerprint(adapter: Adapter, kind: Int8) -> str:
    told = json.dumps([LAYOUT, kind.name, kind.levels, machine()])
    digest = hashlib.sha256(told.encode())
    last = adapter.layers[-1]
    for tensor in (adapter.mask_embedding, *(pair.b for pair in last.values()), *(pair.a for pair in last.values())):
        digest.update(tensor.contiguous().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()[:12]


def _write(path: Path, int8: Int8Weights) -> None:
    partial = path.with_suffix(".partial")
    try:
        save_file(dict(_tensors(int8)), partial)
        for old in path.parent.glob("int8-*.safetensors"):
            old.unlink(missing_ok=True)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def _tensors(int8: Int8Weights) -> Iterator[tuple[str, Tensor]]:
    yield "turn", int8.turn
    yield "mask", int8.mask.contiguous()
    yield from _linear("head", int8.head)
    for i, layer in enumerate(int8.layers):
        yield f"{i}.qkv_bias", layer.qkv_bias
        for name in ("qkv", "out", "gate_up", "down"):
            yield from _linear(f"{i}.{name}", getattr(layer, name))


def _linear(name: str, linear: Int8Linear) -> Iterator[tuple[str, Tensor]]:
    for what, tensor in linear.tensors.items():
        yield f"{name}.{what}", tensor


def _read(path: Path, shape: Architecture, kind: Int8) -> Int8Weights:
    """Mapped, so that nothing is copied and the engines of a machine share what they read."""
    with safe_open(path, framework="pt") as file:
        tensors: dict[str, dict[str, Tensor]] = defaultdict(dict)
        for name in file.keys():  # noqa: SIM118
            of, _, what = name.rpartition(".")
            tensors[of][what] = file.get_tensor(name)

    def linear(name: str, outs: list[int]) -> Int8Linear:
        return Int8Linear(tensors[name], outs, kind)

    layers = [
        Int8Layer(
            qkv_bias=tensors[str(i)]["qkv_bias"],
            **{name: linear(f"{i}.{name}", outs) for name, (_, outs) in projections(shape).items()},
        )
        for i in range(shape.layers)
    ]
    return Int8Weights(tensors[""]["turn"], tensors[""]["mask"], layers, linear("head", [shape.vocab]), kind)
