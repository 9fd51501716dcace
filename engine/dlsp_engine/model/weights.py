"""The weights of a model in bf16 or float32: mapped from the converted file, or random for tests."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import torch
from safetensors import safe_open
from torch import Tensor

from dlsp_engine.errors import Damaged, out_of_memory
from dlsp_engine.model.architecture import Architecture


@dataclass
class Layer:
    """The weights of one transformer layer, all of the dtype of `Weights`."""

    qkv: Tensor  # [qkv, dim]: query, key and value heads, in this order
    qkv_bias: Tensor  # [qkv]
    out: Tensor  # [dim, heads * head_dim]
    gate_up: Tensor  # [2 * ff, dim]: gate, then up; or [ff, dim] without a gate
    down: Tensor  # [dim, ff]
    attention_norm: Tensor  # [dim]
    mlp_norm: Tensor  # [dim]
    head_norm: Tensor | None = None  # [heads + kv_heads, head_dim]: the norms of queries and keys, if they have any
    # With LayerNorms:
    out_bias: Tensor | None = None  # [dim]
    gate_up_bias: Tensor | None = None  # [ff], since there is no gate
    down_bias: Tensor | None = None  # [dim]
    attention_norm_bias: Tensor | None = None  # [dim]
    mlp_norm_bias: Tensor | None = None  # [dim]

    def tensors(self) -> dict[str, Tensor]:
        """By their names here."""
        return {name: tensor for name, tensor in vars(self).items() if tensor is not None}


class Embedding(Protocol):
    """The rows of the embedding, by token: a tensor [vocab, dim], or what reads rows from a file."""

    @property
    def dtype(self) -> torch.dtype: ...

    def __len__(self) -> int: ...

    def __getitem__(self, rows: int | slice | Tensor, /) -> Tensor: ...

    def split(self, split_size: int, /) -> Iterable[Tensor]: ...


class DenseWeights(Protocol):
    """What quantising reads of a model's weights."""

    @property
    def architecture(self) -> Architecture: ...

    @property
    def layers(self) -> Sequence[Layer]: ...

    @property
    def embedding(self) -> Embedding: ...

    @property
    def head(self) -> Embedding: ...

    @property
    def norm(self) -> Tensor: ...

    @property
    def norm_bias(self) -> Tensor | None: ...


@dataclass
class Weights:
    """The weights of a whole model, all of one dtype, bf16 or float32."""

    architecture: Architecture
    layers: list[Layer]
    embedding: Tensor  # [vocab, dim]
    norm: Tensor  # [dim]
    own_head: Tensor | None = None  # [vocab, dim]; None if the head is the embedding's matrix
    norm_bias: Tensor | None = None  # [dim], of a LayerNorm

    @property
    def head(self) -> Tensor:
        """The matrix that makes logits of hidden states: [vocab, dim]."""
        return self.embedding if self.own_head is None else self.own_head

    @property
    def dtype(self) -> torch.dtype:
        return self.embedding.dtype

    def to(self, where: torch.device | torch.dtype) -> "Weights":
        """A copy on another device or in another dtype."""
        layers = [
            Layer(**{name: tensor.to(where) for name, tensor in layer.tensors().items()}) for layer in self.layers
        ]
        own_head, bias = (None if each is None else each.to(where) for each in (self.own_head, self.norm_bias))
        return Weights(self.architecture, layers, self.embedding.to(where), self.norm.to(where), own_head, bias)

    @classmethod
    def load(cls, folder: Path, dtype: torch.dtype) -> "Weights":
        """Load a converted model. bf16 weights are memory-mapped, and shared between processes; another dtype is a
        private copy.

        Raises Damaged when the file is missing, cannot be read, or has a tensor of another shape than the sizes demand.
        """
        path = folder / "weights.safetensors"
        try:
            with safe_open(path, framework="pt") as file:
                shape = Architecture.from_json(file.metadata()["architecture"])

                def get(name: str, *size: int) -> Tensor:
                    tensor = file.get_tensor(name)
                    if tensor.shape != size or not tensor.is_floating_point():
                        raise ValueError(f"{name} is {tensor.dtype} {list(tensor.shape)}, not {list(size)}")
                    return tensor.to(dtype)

                layers = [
                    Layer(
                        qkv=get(f"layers.{i}.qkv.weight", shape.qkv, shape.dim),
                        qkv_bias=get(f"layers.{i}.qkv.bias", shape.qkv),
                        out=get(f"layers.{i}.out.weight", shape.dim, shape.heads * shape.head_dim),
                        gate_up=get(f"layers.{i}.gate_up.weight", shape.mlp_parts * shape.ff, shape.dim),
                        down=get(f"layers.{i}.down.weight", shape.dim, shape.ff),
                        attention_norm=get(f"layers.{i}.attention_norm", shape.dim),
                        mlp_norm=get(f"layers.{i}.mlp_norm", shape.dim),
                        head_norm=get(f"layers.{i}.head_norm", shape.heads + shape.kv_heads, shape.head_dim)
                        if shape.head_norm
                        else None,
                        **{f"{name}_bias": get(f"layers.{i}.{name}.bias", size) for name, size in _biases(shape)},
                    )
                    for i in range(shape.layers)
                ]
                embedding = get("embedding", shape.vocab, shape.dim)
                own_head = None if shape.tied else get("head", shape.vocab, shape.dim)
                norm_bias = get("norm.bias", shape.dim) if shape.layer_norm else None
                return cls(shape, layers, embedding, get("norm", shape.dim), own_head, norm_bias)
        except Exception as error:
            if out_of_memory(error):
                raise
            raise Damaged(f"{path} is missing or damaged: name the folder of a converted model.") from error

    @classmethod
    def random(cls, shape: Architecture, dtype: torch.dtype = torch.float32, seed: int = 0) -> "Weights":
        """An untrained model, which is enough for tests of decoding.

        Embeddings are small compared to what the layers add. Otherwise the head, which is the same matrix, would always
        repeat the last token.
        """
        generator = torch.Generator().manual_seed(seed)

        def matrix(out: int, into: int) -> Tensor:
            return (torch.randn(out, into, generator=generator) * 2 * into**-0.5).to(dtype)

        ones = torch.ones(shape.dim, dtype=dtype)
        layers = [
            Layer(
                qkv=matrix(shape.qkv, shape.dim),
                qkv_bias=matrix(shape.qkv, 1)[:, 0],
                out=matrix(shape.dim, shape.heads * shape.head_dim),
                gate_up=matrix(shape.mlp_parts * shape.ff, shape.dim),
                down=matrix(shape.dim, shape.ff),
                attention_norm=ones,
                mlp_norm=ones,
                head_norm=matrix(shape.heads + shape.kv_heads, shape.head_dim) if shape.head_norm else None,
                **{f"{name}_bias": matrix(size, 1)[:, 0] for name, size in _biases(shape)},
            )
            for _ in range(shape.layers)
        ]
        embedding = (torch.randn(shape.vocab, shape.dim, generator=generator) * 0.3).to(dtype)
        own_head = None if shape.tied else matrix(shape.vocab, shape.dim)
        return cls(shape, layers, embedding, ones, own_head, matrix(shape.dim, 1)[:, 0] if shape.layer_norm else None)


def _biases(shape: Architecture) -> list[tuple[str, int]]:
    """The names and sizes of a layer's biases, but for that of queries, keys and values, which every layer has."""
    if not shape.layer_norm:
        return []
    norms = [("attention_norm", shape.dim), ("mlp_norm", shape.dim)]
    return [("out", shape.dim), ("gate_up", shape.mlp_parts * shape.ff), ("down", shape.dim), *norms]
