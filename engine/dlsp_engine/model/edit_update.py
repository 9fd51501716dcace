"""The edit update: low-rank changes of the base that teach it to write windows anew. They act on the clean rows of
rewrites alone, so that all other requests see the base as it is.
"""

import hashlib
import json
from itertools import accumulate
from pathlib import Path

import torch
from filelock import FileLock
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from dlsp_engine.errors import EngineError
from dlsp_engine.machine import machine
from dlsp_engine.model import manifest
from dlsp_engine.model.adapter import LowRank, metadata_of, projections
from dlsp_engine.model.architecture import Architecture
from dlsp_engine.model.hashes import content, stem
from dlsp_engine.model.int8 import EditLinear
from dlsp_engine.model.rotate import rotate_low_rank, rotation
from dlsp_engine.model.update import Update
from dlsp_engine.model.weights import DenseWeights
from dlsp_kernels import quantise_weight
from dlsp_kernels.int8_linear.kinds import Int8

ENDING = ".edit-update.safetensors"
# The version of the packed file's content. Increase it with every change of the content.
LAYOUT = 1

Layers = list[dict[str, LowRank]]


def beside(adapters: Path, gguf: Path, cache: Path, infill: Update | None) -> Path | None:
    """Return the edit update that ships for a checkpoint with this infill update; None if there is none, or if it was
    trained on other weights.
    """
    path = adapters / f"{stem(gguf)}{ENDING}"
    if not path.exists():
        return None
    told = metadata_of(path)
    is_of_base = told.get("base_sha256", "").startswith(content(gguf, cache))
    return path if is_of_base and told.get("update_sha256", "") == (infill.sha256 if infill else "") else None


def read(path: Path, shape: Architecture, dtype: torch.dtype) -> Layers:
    """Return the updates of each layer, by projection. Raises EngineError when the file cannot be read."""
    try:
        with safe_open(path, framework="pt") as file:
            return [
                {
                    name: LowRank.fuse(
                        file.get_tensor(f"layers.{layer}.{name}.a").to(dtype),
                        file.get_tensor(f"layers.{layer}.{name}.b").to(dtype),
                        outs,
                    )
                    for name, (_, outs) in projections(shape).items()
                }
                for layer in range(shape.layers)
            ]
    except (SafetensorError, OSError) as error:
        raise EngineError(f"The edit update {path} cannot be read ({error}); install dlsp again.") from error


def stored(folder: Path, path: Path, weights: DenseWeights, kind: Int8) -> list[dict[str, EditLinear]]:
    """Return the updates for the int8 step, by layer and projection. They are packed once for this machine, in
    `folder`, that of the converted weights. Raises EngineError when the file cannot be written or read.
    """
    name = hashlib.sha256(f"{LAYOUT} {kind.name} {machine()} {path.stat().st_size}".encode() + path.read_bytes())
    packed, shape = folder / f"edits-{name.hexdigest()[:16]}.safetensors", weights.architecture
    try:
        if not manifest.whole(packed):
            with FileLock(folder / manifest.LOCK):
                if not manifest.whole(packed):
                    _write(packed, quantised(read(path, shape, torch.float32), weights, kind))
        with safe_open(packed, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise EngineError(f"The edit update could not be packed in {folder} ({error}); free some space.") from error
    return linears(tensors, shape, kind)


def quantised(layers: Layers, weights: DenseWeights, kind: Int8) -> dict[str, Tensor]:
    """Return packed tensors, in the basis that `rotate` describes."""
    shape, tensors = weights.architecture, dict[str, Tensor]()
    turn = rotation(shape.dim)
    for layer, (low, dense) in enumerate(zip(layers, weights.layers, strict=True)):
        for name, update in rotate_low_rank(low, dense, turn, shape).items():
            a, a_scale = quantise_weight(update.a)
            b, b_scale = quantise_weight(update.parts(projections(shape)[name][1]))
            named = {"a": kind.pack(a), "a_scale": a_scale, "b": b.T.contiguous(), "b_scale": b_scale}
            tensors |= {f"{layer}.{name}.{what}": tensor for what, tensor in named.items()}
    return tensors


def linears(tensors: dict[str, Tensor], shape: Architecture, kind: Int8) -> list[dict[str, EditLinear]]:
    """Return the updates from the tensors that `quantised` made."""
    return [
        {
            name: EditLinear(
                kind.matrix(tensors[f"{layer}.{name}.a"], tensors[f"{layer}.{name}.a_scale"]),
                list(accumulate(outs)),
                tensors[f"{layer}.{name}.b"],
                tensors[f"{layer}.{name}.b_scale"],
            )
            for name, (_, outs) in projections(shape).items()
        }
        for layer in range(shape.layers)
    ]


def _write(path: Path, tensors: dict[str, Tensor]) -> None:
    partial = path.with_suffix(".partial")
    try:
        save_file(tensors, partial, metadata={"layout": json.dumps(LAYOUT)})
        for old in path.parent.glob("edits-*.safetensors"):
            old.unlink(missing_ok=True)
        manifest.publish(partial, path)
    finally:
        partial.unlink(missing_ok=True)
