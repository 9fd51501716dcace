"""The rows that sessions bring to a step."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from dlsp_engine.model.architecture import Architecture
from dlsp_engine.model.cache import Cache
from dlsp_kernels import rope_table

MASK = -1
"""Stands for a mask where a token id is expected; the model embeds it by the adapter's learned vector."""


@dataclass
class Rows:
    """The rows of one session: clean rows first, in the order of their positions, then alternatives and canvases. All
    lists have an entry for each row.

    `visible` and `canvas` are defined in `dlsp_kernels.canvas_attention`. `scored` lists the rows whose logits the
    decoder wants, in the order it wants them.
    """

    tokens: list[int] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    visible: list[int] = field(default_factory=list)
    canvas: list[int] = field(default_factory=list)
    scored: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.tokens)

    def add_clean(self, tokens: list[int], start: int) -> None:
        """Causal rows at positions start, start + 1, …"""
        for position, token in enumerate(tokens, start):
            self._add(token, position, position + 1, 0)

    def add_canvas(self, tokens: list[int], after: int) -> None:
        """One more canvas: tokens (or MASK) at the positions after the clean position `after`; all of it is scored."""
        self._add_canvas(tokens, after, after + 1, self._next())

    def add_alternative(self, token: int, position: int, canvas: list[int]) -> None:
        """A clean row where another one stands, and a canvas behind it if `canvas` is not empty; all of it is scored.
        Both see what is before that position, and the alternative.
        """
        number = self._next()
        self.scored.append(len(self.tokens))
        self._add(token, position, position, -number)
        self._add_canvas(canvas, position, position, number)

    def _next(self) -> int:
        return max(map(abs, self.canvas), default=0) + 1

    def _add_canvas(self, tokens: list[int], after: int, visible: int, number: int) -> None:
        for offset, token in enumerate(tokens, 1):
            self.scored.append(len(self.tokens))
            self._add(token, after + offset, visible, number)

    def _add(self, token: int, position: int, visible: int, canvas: int) -> None:
        self.tokens.append(token)
        self.positions.append(position)
        self.visible.append(visible)
        self.canvas.append(canvas)


Batch = Sequence[tuple[Cache, Rows]]
"""The sessions of a step."""


@dataclass
class Packed:
    """The rows of many sessions side by side, as the linear layers take them."""

    tokens: Tensor  # [rows]
    cos: Tensor  # [rows, 1, head_dim / 2]
    sin: Tensor
    canvas: slice | Tensor | None  # the canvas rows: a range where they lie together, else their numbers


def packed(batch: Batch, shape: Architecture) -> Packed:
    """The rows of all sessions of a step; makes room for them in each cache, too."""
    for cache, rows in batch:
        cache.reserve(len(rows))
    cos, sin = rope_table(torch.tensor([p for _, rows in batch for p in rows.positions]), shape.head_dim, shape.theta)
    canvas = [i for i, number in enumerate(c for _, rows in batch for c in rows.canvas) if number > 0]
    tokens = torch.tensor([t for _, rows in batch for t in rows.tokens])
    return Packed(tokens, cos, sin, _range(canvas))


def _range(rows: list[int]) -> slice | Tensor | None:
    if not rows:
        return None
    if rows[-1] - rows[0] == len(rows) - 1:
        return slice(rows[0], rows[-1] + 1)
    return torch.tensor(rows)
