"""Quantised weights on disk, packed as the kernels read them: made once per machine and adapter, then memory-mapped."""

import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from dlsp_engine.errors import Damaged, EngineError, out_of_memory
from dlsp_engine.machine import machine
from dlsp_engine.model import manifest
from dlsp_engine.model.adapter import Adapter
from dlsp_engine.model.architecture import Architecture
from dlsp_engine.model.int8 import Int8Weights
from dlsp_engine.model.quantised import quantised
from dlsp_engine.model.update import Removal
from dlsp_engine.model.weights import DenseWeights
from dlsp_kernels.int8_linear.kinds import Int8

# The version of the file's content, by its bits. Increase it with every change of the content.
LAYOUTS = {8: 4, 4: 5}

# The bytes that a processor loads from memory at once.
CACHE_LINE = 64
# The types of quantised weights as a safetensors file names them, in the order in which it has them.
DTYPES = {torch.float32: "F32", torch.int32: "I32", torch.int16: "I16", torch.int8: "I8", torch.uint8: "U8"}


def stored(
    folder: Path,
    weights: DenseWeights,
    adapter: Adapter,
    kind: Int8,
    say: Callable[[str], None] = lambda line: print(line, file=sys.stderr),
    sample: Callable[[], Tensor] | None = None,
    removal: Callable[[], Removal] | None = None,
) -> Int8Weights:
    """The weights of 8 bits, or of 4 bits if `sample` is given, mapped from a file in `folder`, the folder of the
    converted weights. Makes the file on first use, and again when it is no longer what its manifest describes. `sample`
    returns tokens, and `removal` what takes the infill update back, as `quantised` takes them. Weights with another
    update have another folder.

    A new file replaces the one that this machine made for another adapter or with other bits. `say` reports progress.
    Raises EngineError when the file cannot be written, Damaged when it cannot be read.
    """
    bits = 4 if sample else 8
    path = folder / f"int{bits}-{_machine(kind)}-{_fingerprint(bits, adapter, removal is not None)}.safetensors"
    try:
        if not manifest.whole(path):
            with FileLock(folder / manifest.LOCK):
                if not manifest.whole(path):
                    damaged = manifest.path_of(path).exists()
                    why = "again, since they were damaged" if damaged else "once for this machine and this adapter"
                    say(f"quantising the weights to {bits} bits, {why}")
                    back = removal() if removal else None
                    _write(path, quantised(weights, adapter, kind, say, sample() if sample else None, back))
    except (OSError, SafetensorError) as error:  # safetensors raises its own error on a full disk
        why = getattr(error, "strerror", None) or error
        raise EngineError(
            f"The quantised weights could not be written to {folder} ({why}); free some space or set "
            "DLSP_CACHE_DIR to a folder that can be written."
        ) from error
    try:
        return _read(path, weights.architecture, kind)
    except Exception as error:
        if out_of_memory(error):
            raise
        raise Damaged(f"{path} is damaged; delete it and start again.") from error


def _machine(kind: Int8) -> str:
    """A hash of this machine and of `kind`. Machines that share a folder use different files, and keep each other's."""
    return hashlib.sha256(json.dumps([kind.name, kind.levels, machine()]).encode()).hexdigest()[:12]


def _fingerprint(bits: int, adapter: Adapter, removes: bool) -> str:
    """A hash of the layout's version, of a part of the adapter (the mask's embedding and the last layer), and of
    whether the file also has what takes the infill update back.
    """
    digest, last = hashlib.sha256(f"{LAYOUTS[bits]}{' removes' if removes else ''}".encode()), adapter.layers[-1]
    for tensor in (adapter.mask_embedding, *(pair.b for pair in last.values()), *(pair.a for pair in last.values())):
        digest.update(tensor.contiguous().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()[:12]


def _write(path: Path, tensors: dict[str, Tensor]) -> None:
    partial = path.with_suffix(".partial")
    try:
        save_file(tensors, partial, metadata=_padding(tensors))
        machine_of = path.name.split("-")[1]
        for old in path.parent.glob(f"int[48]-{machine_of}-*"):
            if old != partial:
                old.unlink(missing_ok=True)
        manifest.publish(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def _padding(tensors: dict[str, Tensor]) -> dict[str, str]:
    """Metadata that makes the header so long that each tensor begins at a cache line: a program that loads 64 bytes
    across two lines takes twice as long. A safetensors file has 8 bytes, the header as compact JSON padded by spaces to
    a multiple of 8, then the tensors, by type and name.
    """
    order = list(DTYPES)
    header: dict[str, Any] = {"__metadata__": {"padding": ""}}
    at = 0
    for name in sorted(tensors, key=lambda name: (order.index(tensors[name].dtype), name)):
        tensor, begin = tensors[name], at
        at += tensor.nbytes
        header[name] = {"dtype": DTYPES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [begin, at]}
    length = 8 + len(json.dumps(header, separators=(",", ":")).encode())
    return {"padding": " " * (-length % CACHE_LINE)}


def _read(path: Path, shape: Architecture, kind: Int8) -> Int8Weights:
    """Memory-mapped, so that all engines on this machine share the memory."""
    with safe_open(path, framework="pt") as file:
        return Int8Weights.of({name: file.get_tensor(name) for name in file.keys()}, shape, kind)  # noqa: SIM118
