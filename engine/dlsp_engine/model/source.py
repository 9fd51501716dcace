"""A model's dense weights, read from its GGUF file where they are needed: the int8 step keeps none of them but its
embedding, of which it reads a row a token.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, overload

import numpy as np
import torch
from gguf import GGMLQuantizationType, GGUFReader
from gguf.quants import dequantize
from torch import Tensor

from dlsp_engine.errors import EngineError
from dlsp_engine.model.architecture import Architecture
from dlsp_engine.model.update import Update
from dlsp_engine.model.weights import Layer

# Our name within a layer -> the GGUF tensors that are concatenated along their outputs.
FUSED = {
    "qkv.weight": ("attn_q.weight", "attn_k.weight", "attn_v.weight"),
    "qkv.bias": ("attn_q.bias", "attn_k.bias", "attn_v.bias"),
    "out.weight": ("attn_output.weight",),
    "gate_up.weight": ("ffn_gate.weight", "ffn_up.weight"),
    "down.weight": ("ffn_down.weight",),
    "attention_norm": ("attn_norm.weight",),
    "mlp_norm": ("ffn_norm.weight",),
}


class Gguf:
    """An open GGUF file of the Qwen2 family. Raises EngineError if the file holds another model."""

    def __init__(self, path: Path) -> None:
        self.reader = GGUFReader(path)
        self.architecture = _architecture(self.reader)
        self._raw = {tensor.name: tensor for tensor in self.reader.tensors}
        # Embedding and head are the same matrix, which some files store twice; the head's copy is quantised less
        # coarsely.
        self.embedding = "output.weight" if "output.weight" in self._raw else "token_embd.weight"

    def tensor(self, name: str) -> Tensor:
        """A tensor by its name in the file, in bf16."""
        return _bf16(self._raw[name].data, self._raw[name].tensor_type)

    def layer(self, number: int, update: Update | None) -> dict[str, Tensor]:
        """The tensors of one layer by our names, with the update added."""
        tensors = {
            f"layers.{number}.{ours}": torch.cat([self.tensor(f"blk.{number}.{name}") for name in theirs])
            for ours, theirs in FUSED.items()
        }
        if update:
            update.add_to(tensors, self.architecture, [number])
        return tensors

    def place(self) -> "Place":
        """Where the embedding's rows lie in the file."""
        raw = self._raw[self.embedding]
        rows = raw.data.reshape(self.architecture.vocab, -1)
        return Place(int(raw.data_offset), int(raw.tensor_type), rows.shape[1], rows.dtype.name)


@dataclass(frozen=True)
class Place:
    """Where the rows of a matrix lie in a GGUF file."""

    offset: int  # of the first row, in bytes
    kind: int  # the number of the file's kind of quantisation
    columns: int  # stored numbers of a row
    dtype: str  # of a stored number


@dataclass(frozen=True)
class Description:
    """What is known of a conversion without reading its weights."""

    architecture: Architecture
    update: str  # the SHA-256 of the infill update that is added to the weights; empty if none is
    embedding: Place

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def load(cls, file: Path) -> "Description":
        told = json.loads(file.read_text())
        return cls(Architecture(**told["architecture"]), told["update"], Place(**told["embedding"]))


class EmbeddingRows:
    """The embedding in a GGUF file, in bf16: rows are dequantised as they are read."""

    dtype = torch.bfloat16

    def __init__(self, gguf: Path, place: Place, count: int) -> None:
        self._kind = GGMLQuantizationType(place.kind)
        self._rows = np.memmap(gguf, place.dtype, "r", place.offset, (count, place.columns))

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, rows: int | slice | Tensor) -> Tensor:
        """One row [dim], or several [n, dim]."""
        if isinstance(rows, Tensor):
            return _bf16(self._rows[rows.numpy()], self._kind)
        if isinstance(rows, slice):
            return _bf16(self._rows[rows], self._kind)
        return _bf16(self._rows[rows : rows + 1], self._kind)[0]

    def split(self, count: int) -> Iterator[Tensor]:
        """All rows in order, `count` at a time."""
        return (self[first : first + count] for first in range(0, len(self), count))


class GgufWeights:
    """The weights of a GGUF file with an infill update, in bf16. Each use of a layer reads it anew."""

    def __init__(self, gguf: Path, about: Description, update: Update | None) -> None:
        self._path, self._update = gguf, update
        self.architecture = about.architecture
        self.embedding = EmbeddingRows(gguf, about.embedding, about.architecture.vocab)

    @property
    def norm(self) -> Tensor:
        return self._file.tensor("output_norm.weight")

    @property
    def layers(self) -> Sequence[Layer]:
        return _Layers(self._file, self._update)

    @cached_property
    def _file(self) -> Gguf:
        return Gguf(self._path)  # takes seconds, and is needed only to quantise


class _Layers(Sequence[Layer]):
    def __init__(self, file: Gguf, update: Update | None) -> None:
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


def _bf16(data: np.ndarray, kind: GGMLQuantizationType) -> Tensor:
    return torch.from_numpy(np.array(dequantize(data, kind), np.float32)).bfloat16()


def _architecture(reader: GGUFReader) -> Architecture:
    """The model's sizes, read from the file's metadata. Raises EngineError if the model is not of the Qwen2 family."""

    def value(key: str) -> Any:
        field = reader.get_field(key)
        return None if field is None else field.contents()

    if (family := value("general.architecture")) != "qwen2":
        raise EngineError(f"This GGUF file holds a {family} model; the engine runs the Qwen2 family only.")
    dim, heads = int(value("qwen2.embedding_length")), int(value("qwen2.attention.head_count"))
    return Architecture(
        layers=int(value("qwen2.block_count")),
        dim=dim,
        heads=heads,
        kv_heads=int(value("qwen2.attention.head_count_kv")),
        head_dim=dim // heads,
        ff=int(value("qwen2.feed_forward_length")),
        vocab=next(int(t.shape[1]) for t in reader.tensors if t.name == "token_embd.weight"),
        theta=float(value("qwen2.rope.freq_base")),
        eps=round(float(value("qwen2.attention.layer_norm_rms_epsilon")), 12),
    )
