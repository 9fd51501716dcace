"""The canvas adapter: low-rank updates that act on canvas rows only, and the mask's embedding."""

from dataclasses import dataclass, field
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from dlsp_engine.errors import EngineError
from dlsp_engine.model.architecture import Architecture
from dlsp_engine.model.bigrams import Bigrams
from dlsp_engine.model.weights import Embedding


def projections(shape: Architecture) -> dict[str, tuple[int, list[int]]]:
    """The fused projections of a layer: name -> (inputs, outputs of each matrix that is fused into it).

    Each fused matrix, for example q, k and v of "qkv", has a low-rank update of its own.
    """
    head = shape.head_dim
    return {
        "qkv": (shape.dim, [shape.heads * head, shape.kv_heads * head, shape.kv_heads * head]),
        "out": (shape.heads * head, [shape.dim]),
        "gate_up": (shape.dim, [shape.ff] * shape.mlp_parts),
        "down": (shape.ff, [shape.dim]),
    }


@dataclass
class LowRank:
    """The low-rank update of a fused projection: y += (x aᵀ) bᵀ.

    a [parts * rank, in]; b [out, parts * rank], block-diagonal over the fused parts.
    """

    a: Tensor
    b: Tensor

    @classmethod
    def fuse(cls, a: Tensor, b: Tensor, outs: list[int]) -> "LowRank":
        """The update from a [parts * rank, in] and b [out, rank], as files store them: `b` without its zeros."""
        return cls(a, torch.block_diag(*b.split(outs)).to(b.dtype))

    def parts(self, outs: list[int]) -> Tensor:
        """`b` as files store it: [out, rank], without the zeros. `outs`: the outputs of each fused part."""
        rank = self.b.shape[1] // len(outs)
        return torch.cat([part[:, i * rank : (i + 1) * rank] for i, part in enumerate(self.b.split(outs))])


@dataclass
class Adapter:
    """What a model needs to draft on a canvas: low-rank updates of every projection for canvas rows, the mask's
    embedding, and the token-pair counts of a corpus if there are any.
    """

    mask_embedding: Tensor  # [dim]
    layers: list[dict[str, LowRank]]  # by projection; an empty dict means no update
    metadata: dict[str, str] = field(default_factory=dict)
    bigrams: Bigrams | None = None
    has_updates: bool = field(init=False)

    def __post_init__(self) -> None:
        self.has_updates = any(self.layers)

    def forget_updates(self) -> None:
        """Free the updates, of which a quantised model has a copy of its own."""
        self.layers = []

    @classmethod
    def load(cls, path: Path, base: str, shape: Architecture, dtype: torch.dtype) -> "Adapter":
        """Read an adapter file for a model with the sizes `shape`, as tensors of `dtype`.

        Raises EngineError when the file cannot be read, or was trained on another base than the GGUF file named `base`.
        """
        try:
            with safe_open(path, framework="pt") as file:
                metadata = file.metadata() or {}
                if metadata.get("base") != base:
                    raise EngineError(
                        f"The canvas adapter {path.name} belongs to {metadata.get('base', 'an unknown model')}, not to "
                        f"{base}; use the adapter that came with this model."
                    )
                layers = [
                    {
                        name: LowRank.fuse(
                            file.get_tensor(f"layers.{i}.{name}.a").to(dtype),
                            file.get_tensor(f"layers.{i}.{name}.b").to(dtype),
                            outs,
                        )
                        for name, (_, outs) in projections(shape).items()
                    }
                    for i in range(shape.layers)
                ]
                pairs = {name: file.get_tensor(name) for name in file.keys() if name.startswith("bigrams.")}  # noqa: SIM118
                return cls(file.get_tensor("mask_embedding").to(dtype), layers, metadata, Bigrams.of(pairs))
        except (SafetensorError, OSError) as error:
            raise EngineError(f"The canvas adapter {path} cannot be read ({error}); install dlsp again.") from error

    @classmethod
    def none(cls, embedding: Embedding, shape: Architecture) -> "Adapter":
        """An adapter without updates. The mean of the first 1024 token embeddings takes the place of the mask's.

        Drafts made with it are meaningless and hardly ever accepted.
        """
        return cls(embedding[: min(1024, len(embedding))].float().mean(0).to(embedding.dtype), [{}] * shape.layers)

    @classmethod
    def random(cls, shape: Architecture, rank: int = 4, scale: float = 1.0, seed: int = 0) -> "Adapter":
        """An untrained adapter for tests: it changes the result of every canvas row."""
        generator = torch.Generator().manual_seed(seed)

        def pair(into: int, outs: list[int]) -> LowRank:
            a = torch.randn(len(outs) * rank, into, generator=generator) * into**-0.5
            b = torch.randn(sum(outs), rank, generator=generator) * scale * rank**-0.5
            return LowRank.fuse(a, b, outs)

        layers = [
            {name: pair(into, outs) for name, (into, outs) in projections(shape).items()} for _ in range(shape.layers)
        ]
        first, second = torch.randint(0, shape.vocab, (2, 4 * shape.vocab), generator=generator).numpy()
        bigrams = Bigrams.counted(first, second, shape.vocab, 2 * shape.vocab)
        return cls(torch.randn(shape.dim, generator=generator), layers, bigrams=bigrams)


def metadata_of(path: Path) -> dict[str, str]:
    """The metadata of an adapter file. Raises EngineError when it cannot be read."""
    try:
        with safe_open(path, framework="pt") as file:
            return file.metadata() or {}
    except (SafetensorError, OSError) as error:
        raise EngineError(f"The canvas adapter {path} cannot be read ({error}); install dlsp again.") from error
