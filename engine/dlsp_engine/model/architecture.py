"""The sizes and constants of a model."""

import json
from dataclasses import asdict, dataclass, replace
from typing import Any

from dlsp_engine.model.convention import CAUSAL_CONVENTION, Convention


@dataclass(frozen=True)
class Architecture:
    """`dim` is the width of the residual stream, `ff` that of the feed-forward layer, `theta` the base of RoPE's
    frequencies, `eps` the constant of RMSNorm. `tied`: the head is the embedding's matrix. `family` is GGUF's name.
    `head_norm`: queries and keys are normalised head by head. RoPE's frequencies are divided by `rope_divisors`, one
    for each pair of a head's elements; empty if positions are not scaled.

    `layer_norm`: norms are LayerNorms, and these and all projections have biases. `gelu`: the feed-forward layer is
    GELU between two matrices, without a gate. `context` is how many tokens the model was trained to see at once; 0 if
    that is unknown. `convention`: how it is decoded.
    """

    layers: int
    dim: int
    heads: int
    kv_heads: int
    head_dim: int
    ff: int
    vocab: int
    theta: float
    eps: float
    tied: bool = True
    family: str = "qwen2"
    head_norm: bool = False
    rope_divisors: tuple[float, ...] = ()
    layer_norm: bool = False
    gelu: bool = False
    context: int = 0
    convention: Convention = CAUSAL_CONVENTION

    @property
    def groups(self) -> int:
        """The number of query heads that share a key/value head."""
        return self.heads // self.kv_heads

    @property
    def qkv(self) -> int:
        """The number of outputs of the fused query, key and value projection."""
        return (self.heads + 2 * self.kv_heads) * self.head_dim

    @property
    def mlp_parts(self) -> int:
        """How many matrices are fused in the feed-forward layer's first projection."""
        return 1 if self.gelu else 2

    @property
    def weights(self) -> int:
        """How many weights the matrices have, the embedding's too."""
        layer = self.dim * (self.qkv + self.heads * self.head_dim + (self.mlp_parts + 1) * self.ff)
        return self.layers * layer + (1 if self.tied else 2) * self.vocab * self.dim

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Architecture":
        return cls.of(json.loads(text))

    @classmethod
    def of(cls, values: dict[str, Any]) -> "Architecture":
        """From JSON's values, which know neither tuples nor conventions."""
        divisors: tuple[float, ...] = tuple(values.get("rope_divisors", ()))
        convention = Convention(**values.get("convention", {}))
        return replace(cls(**values), rope_divisors=divisors, convention=convention)
