"""The numbers that describe a Qwen2-family model."""

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Architecture:
    layers: int
    dim: int
    heads: int
    kv_heads: int
    head_dim: int
    ff: int
    vocab: int
    theta: float
    eps: float

    @property
    def groups(self) -> int:
        """Query heads that share a key head."""
        return self.heads // self.kv_heads

    @property
    def qkv(self) -> int:
        """Width of the fused query, key and value projection."""
        return (self.heads + 2 * self.kv_heads) * self.head_dim

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Architecture":
        return cls(**json.loads(text))
