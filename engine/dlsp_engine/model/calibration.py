"""Quantises matrices to 4 bits, one layer after the other, for what they will be multiplied by: sample text on its way
through the layers that are quantised already.
"""

import json
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from dlsp_engine.model.architecture import Architecture
from dlsp_engine.text.prompt import Gap, opening
from dlsp_engine.text.tokenizer import Tokenizer
from dlsp_kernels import rope_table
from dlsp_kernels.int8_linear.kinds import Int8
from dlsp_kernels.int8_ops import Int8Ops
from dlsp_kernels.program.instructions import usable

# A JSON list of texts from dlsp's own files: 64 pieces of 1,400 characters, of Python, TypeScript, Lua and Markdown.
TEXTS = Path(__file__).with_name("calibration.json")

# Tokens that see each other.
LENGTH = 256

# Rows whose widest results are in memory at once: for all of them these would take a gigabyte at 1.5B.
WIDE_ROWS = 2048

Matrix = Callable[[Tensor], Tensor]


def sample(tokenizer: Tokenizer) -> Tensor:
    """The sample text as prompts with their middle filled: tokens [pieces, LENGTH]."""
    tokens: list[int] = []
    for text in json.loads(TEXTS.read_text()):
        before, after = len(text) // 2, len(text) * 2 // 3
        start, cut = opening(Gap(text[:before], text[after:]), tokenizer)
        tokens += [*start, *tokenizer.encode(cut + text[before:after])]
    return torch.tensor(tokens[: len(tokens) // LENGTH * LENGTH]).view(-1, LENGTH)


class Calibration:
    """The rows of sample text, in the rotated basis: those that the next layer will see."""

    def __init__(self, x: Tensor, length: int, shape: Architecture, kind: Int8) -> None:
        """`x`: the embeddings, float32 [pieces * length, dim]. Only rows of the same piece see each other."""
        self._shape, self._length, self._levels = shape, length, kind.levels
        self._ops = Int8Ops.of(usable())
        self._x, self._y, self._scale = x, torch.zeros_like(x), torch.ones(len(x), 1)
        cos, sin = rope_table(torch.arange(length), shape.head_dim, shape.theta, shape.rope_divisors)
        self._cos, self._sin = (each.repeat(len(x) // length, 1, 1) for each in (cos, sin))

    def pass_layer(self, bias: Tensor, quantised: Callable[[str, Tensor], Matrix]) -> None:
        """Pass one layer. `quantised(name, inputs)` quantises a projection for these inputs and returns its matrix,
        as `Int8Matrix`. `bias` is that of "qkv".
        """
        shape, ops, levels = self._shape, self._ops, self._levels

        def matrix(name: str, h: Tensor, scale: Tensor) -> Matrix:
            return quantised(name, h.float().sub_(levels + 1).mul_(scale))  # in place: the widest take 0.8 GB

        def through(name: str, h: Tensor, scale: Tensor) -> Tensor:
            return matrix(name, h, scale)(h)

        h, scale = ops.add_norm_quantise(self._x, self._y, self._scale, shape.eps, levels)
        qkv = through("qkv", h, scale)
        q, k, v = ops.rope_heads(qkv, scale, bias, self._cos, self._sin, shape.heads, shape.kv_heads)
        h, scale = ops.quantise_rows(self._attention(q, k, v), levels)
        y = through("out", h, scale)
        h, scale = ops.add_norm_quantise(self._x, y, scale, shape.eps, levels)
        h, scale = self._swiglu(matrix("gate_up", h, scale), h, scale)
        self._y, self._scale = through("down", h, scale), scale

    def last(self) -> Tensor:
        """What the head is multiplied by, after all layers: float32 [rows, dim]."""
        shape = self._shape
        h, scale = self._ops.add_norm_quantise(self._x, self._y, self._scale, shape.eps, self._levels)
        return (h.float() - (self._levels + 1)) * scale

    def _swiglu(self, gate_up: Matrix, h: Tensor, scale: Tensor) -> tuple[Tensor, Tensor]:
        """Return what `down` is multiplied by and the scales of its rows, both quantised, WIDE_ROWS at a time."""
        parts = zip(h.split(WIDE_ROWS), scale.split(WIDE_ROWS), strict=True)
        found = [self._ops.swiglu_quantise(gate_up(rows), of, self._shape.ff, self._levels) for rows, of in parts]
        rows, scales = zip(*found, strict=True)
        return torch.cat(rows), torch.cat(scales)

    def _attention(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """q [rows, heads, head_dim], k and v [rows, kv_heads, head_dim] -> float32 [rows, heads * head_dim]."""
        repeat = self._shape.heads // self._shape.kv_heads
        q, k, v = (each.unflatten(0, (-1, self._length)).transpose(1, 2) for each in (q, k, v))
        k, v = (each.repeat_interleave(repeat, 1) for each in (k, v))
        return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(0, 1).flatten(1)
