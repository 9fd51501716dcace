"""Models of which only the shape matters: a step's time does not depend on the weights."""

from dataclasses import replace

import torch

from dlsp_engine.model.architecture import Architecture
from dlsp_engine.model.weights import Layer, Weights

# Qwen2.5-Coder's; the 7B model has a head of its own, of the same size as the embedding.
SHAPES = {
    "0.5b": Architecture(24, 896, 14, 2, 64, 4864, 151_936, 1e6, 1e-6),
    "1.5b": Architecture(28, 1536, 12, 2, 128, 8960, 151_936, 1e6, 1e-6),
    "7b": Architecture(28, 3584, 28, 4, 128, 18_944, 152_064, 1e6, 1e-6),
    "tiny": Architecture(2, 64, 4, 2, 16, 128, 262, 1e4, 1e-6),
}


def blank(shape: Architecture, dtype: torch.dtype, device: str = "cpu", layers: int | None = None) -> Weights:
    """Whatever memory holds."""
    shape = replace(shape, layers=layers or shape.layers)

    def tensor(*size: int) -> torch.Tensor:
        return torch.empty(size, dtype=dtype, device=device)

    made = [
        Layer(
            tensor(shape.qkv, shape.dim),
            tensor(shape.qkv),
            tensor(shape.dim, shape.heads * shape.head_dim),
            tensor(2 * shape.ff, shape.dim),
            tensor(shape.dim, shape.ff),
            tensor(shape.dim),
            tensor(shape.dim),
        )
        for _ in range(shape.layers)
    ]
    return Weights(shape, made, tensor(shape.vocab, shape.dim), tensor(shape.dim))


def filled(weights: Weights, seed: int = 0) -> Weights:
    """The same with random values in place: small enough that nothing overflows, embeddings as `Weights.random`."""
    generator = torch.Generator(weights.embedding.device).manual_seed(seed)
    for layer in weights.layers:
        for matrix in (layer.qkv, layer.out, layer.gate_up, layer.down):
            matrix.normal_(0, 2 * matrix.shape[1] ** -0.5, generator=generator)
        layer.qkv_bias.normal_(0, 1, generator=generator)
        layer.attention_norm.fill_(1)
        layer.mlp_norm.fill_(1)
    weights.embedding.normal_(0, 0.3, generator=generator)
    weights.norm.fill_(1)
    return weights
