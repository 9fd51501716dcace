"""A model's dense weights, read from its own files where they are needed: the int8 step keeps none of them but its
embedding, of which it reads a row a token.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import overload

import numpy as np
import torch
from gguf import GGMLQuantizationType
from torch import Tensor

from dlsp_engine.model.architecture import Architecture
from dlsp_engine.model.gguf_checkpoint import Gguf, Place, bf16
from dlsp_engine.model.safetensors_checkpoint import Safetensors
from dlsp_engine.model.update import Update
from dlsp_engine.model.weights import Layer


@dataclass(frozen=True)
class Description:
    """What is known of a conversion without reading its weights."""

    architecture: Architecture
    update: str  # the SHA-256 of the infill update that is added to the weights; empty if none is
    embedding: Place
    head: Place  # the same as `embedding` if the model is tied

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def load(cls, file: Path) -> "Description":
        told = json.loads(file.read_text())
        return cls(
            Architecture.of(told["architecture"]), told["update"], Place(**told["embedding"]), Place(**told["head"])
        )


def opened(path: Path) -> Gguf | Safetensors:
    """The checkpoint in a GGUF file, or in a folder of safetensors. Raises EngineError if the engine cannot run it."""
    return Safetensors(path) if path.is_dir() else Gguf(path)


class StoredRows:
    """A matrix in a checkpoint's file, in bf16: rows are dequantised as they are read."""

    dtype = torch.bfloat16

    def __init__(self, checkpoint: Path, place: Place, count: int) -> None:
        self._kind = GGMLQuantizationType(place.kind)
        self._rows = np.memmap(
            checkpoint / place.file if place.file else checkpoint,
            place.dtype,
            "r",
            place.offset,
            (count, place.columns),
        )

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, rows: int | slice | Tensor) -> Tensor:
        """One row [dim], or several [n, dim]."""
        if isinstance(rows, Tensor):
            return bf16(self._rows[rows.numpy()], self._kind)
        if isinstance(rows, slice):
            return bf16(self._rows[rows], self._kind)
        return bf16(self._rows[rows : rows + 1], self._kind)[0]

    def split(self, count: int) -> Iterator[Tensor]:
        """All rows in order, `count` at a time."""
        return (self[first : first + count] for first in range(0, len(self), count))


class StoredWeights:
    """The weights of a checkpoint with an infill update, in bf16. Each use of a layer reads it anew."""

    def __init__(self, checkpoint: Path, about: Description, update: Update | None) -> None:
        self._path, self._update = checkpoint, update
        self.architecture = about.architecture
        self.embedding = StoredRows(checkpoint, about.embedding, about.architecture.vocab)
        self.head = StoredRows(checkpoint, about.head, about.architecture.vocab)

    @property
    def norm(self) -> Tensor:
        return self._file.tensor(self._file.norm)

    @property
    def norm_bias(self) -> Tensor | None:
        return self._file.tensor(self._file.norm_bias) if self.architecture.layer_norm else None

    @property
    def layers(self) -> Sequence[Layer]:
        return _Layers(self._file, self._update)

    @cached_property
    def _file(self) -> Gguf | Safetensors:
        return opened(self._path)  # takes seconds, and is needed only to quantise


class _Layers(Sequence[Layer]):
    def __init__(self, file: Gguf | Safetensors, update: Update | None) -> None:
        self._file, self._update = file, update

    def __len__(self) -> int:
        return self._file.architecture.layers

    @overload
    def __getitem__(self, number: int) -> Layer: ...
    @overload
    def __getitem__(self, number: slice) -> list[Layer]: ...
    def __getitem__(self, number: int | slice) -> Layer | list[Layer]:
        if isinstance(number, slice):
            return [self[one] for one in range(len(self))[number]]
        if number >= len(self):
            raise IndexError(number)
        tensors = self._file.layer(number, self._update)
        named = {
            name.split(".", 2)[2].removesuffix(".weight").replace(".", "_"): each for name, each in tensors.items()
        }
        return Layer(**named)
