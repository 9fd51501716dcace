"""The infill update: low-rank changes that teach the base model to fill gaps, added to its weights at conversion."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from dlsp_engine.errors import EngineError
from dlsp_engine.model.adapter import LowRank, metadata_of, projections
from dlsp_engine.model.architecture import Architecture

# Takes an infill update back from some rows: the low-rank updates of each layer, by projection.
Removal = list[dict[str, LowRank]]

LARGEST_BYTES = 95_000_000  # an update and a canvas adapter of one model, as they are shipped


@dataclass(frozen=True)
class Update:
    """The file of an infill update for one base model, identified by the SHA-256 of the whole file. Its metadata:

    - `base`, `base_sha256`: name and SHA-256 of the GGUF file that it changes
    - `version`
    - `canvas_adapters`: JSON list of the SHA-256 of the adapters that were measured on the changed base
    - `recipe`, `corpus`, `tokens`, `steps`: how it was trained
    """

    path: Path
    sha256: str
    metadata: dict[str, str]

    @classmethod
    def of(cls, path: Path) -> "Update":
        """Read the metadata and the hash of the file. Raises EngineError when it cannot be read."""
        try:
            with safe_open(path, framework="pt") as file:
                metadata = file.metadata() or {}
            return cls(path, sha256(path), metadata)
        except (SafetensorError, OSError) as error:
            raise EngineError(f"The infill update {path} cannot be read ({error}); install dlsp again.") from error

    @classmethod
    def beside(cls, adapters: Path, gguf: Path) -> "Update | None":
        """The update that is shipped for a GGUF file, in the folder of the canvas adapters; None if there is none."""
        path = adapters / f"{gguf.name.removesuffix('.gguf')}.infill-update.safetensors"
        return cls.of(path) if path.exists() else None

    def belongs_to(self, gguf: Path) -> bool:
        """Whether it was trained on this very file, byte for byte."""
        return gguf.is_file() and self.metadata.get("base_sha256") == sha256(gguf)

    def add_to(self, tensors: dict[str, Tensor], shape: Architecture, layers: Iterable[int] | None = None) -> None:
        """Add the update to the weights of some layers, or of all, in place: W + b a in float32, rounded to the dtype
        of W. `tensors` by their names in the converted file.
        """
        for layer, of_layer in self._layers(shape, range(shape.layers) if layers is None else layers):
            for name, low in of_layer.items():
                weight = tensors[f"layers.{layer}.{name}.weight"]
                weight.copy_(torch.addmm(weight.float(), low.b, low.a))

    def removal(self, shape: Architecture, dtype: torch.dtype) -> Removal:
        """The low-rank updates that take this update back, as tensors of `dtype`."""
        return [
            {name: LowRank(low.a.to(dtype), -low.b.to(dtype)) for name, low in of_layer.items()}
            for _, of_layer in self._layers(shape, range(shape.layers))
        ]

    def _layers(self, shape: Architecture, layers: Iterable[int]) -> Iterator[tuple[int, dict[str, LowRank]]]:
        """Each layer's number and its low-rank updates by projection, in float32."""
        with safe_open(self.path, framework="pt") as file:
            for layer in layers:
                of_layer = {}
                for name, (_, outs) in projections(shape).items():
                    a, b = (file.get_tensor(f"layers.{layer}.{name}.{part}").float() for part in "ab")
                    of_layer[name] = LowRank.fuse(a, b, outs)
                yield layer, of_layer


def mismatch(path: Path, update: Update | None, base: str = "") -> str:
    """Why the canvas adapter in the file `path` cannot draft for weights with this update, or with none; empty if it
    can.

    It can if it was trained on these very weights: `base`, the first digits of the SHA-256 of the base's file, begins
    its `base_sha256`, where both are known; and its `update_sha256` is the update's hash, or is missing if there is no
    update. It also can if the update lists it among the adapters that were measured on the changed base.
    """
    metadata = metadata_of(path)
    name = f"canvas adapter {metadata.get('version', path.name)}"
    if not metadata.get("base_sha256", base).startswith(base):
        return f"{name} was made for another file of this name"
    trained_on = metadata.get("update_sha256", "")
    if trained_on == (update.sha256 if update else ""):
        return ""
    if update and sha256(path) in json.loads(update.metadata.get("canvas_adapters", "[]")):
        return ""
    of = f"infill update {update.metadata.get('version', '')}" if update else "base without an infill update"
    return f"{name} was not made for the {of}"


def sha256(path: Path) -> str:
    """The SHA-256 of a file's content, in hex."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
