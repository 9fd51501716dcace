"""The rows that each session contributes to a step."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from dlsp_engine.model.architecture import Architecture
from dlsp_engine.model.cache import Cache
from dlsp_kernels import rope_table

# The token id of a mask. The model embeds it by the adapter's learned vector.
MASK = -1


@dataclass
class Rows:
    """The rows of one session: clean rows in the order of their positions, then alternatives and canvases.

    A clean row attends causally, or to all rows of its block. A canvas is a run of masks (or draft tokens) that see
    each other in both directions.

    All lists except `scored` have one entry per row. `visible` and `canvas` are defined in
    `dlsp_kernels.canvas_attention`. `scored` lists the rows whose logits the decoder needs, in the order in which it
    needs them.
    """

    tokens: list[int] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    visible: list[int] = field(default_factory=list)
    canvas: list[int] = field(default_factory=list)
    scored: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.tokens)

    def add_clean(self, tokens: list[int], start: int) -> None:
        """Add causal rows with these tokens at positions start, start + 1, …"""
        for position, token in enumerate(tokens, start):
            self._add(token, position, position + 1, 0)

    def add_block(self, tokens: list[int], start: int) -> None:
        """Add clean rows at positions start, start + 1, … that see each other in both directions, and all before."""
        for position, token in enumerate(tokens, start):
            self._add(token, position, start + len(tokens), 0)

    def add_canvas(self, tokens: list[int], after: int) -> None:
        """Add a canvas: tokens (or MASK) at the positions after the clean position `after`. All its rows are scored."""
        self._add_canvas(tokens, after, after + 1, self._next())

    def add_alternative(self, token: int, position: int, canvas: list[int]) -> None:
        """Add an alternative: another token for a position that has a clean row. If `canvas` is not empty, it follows
        behind.

        Alternative and canvas see the clean positions before `position`, and the alternative. All these rows are
        scored.
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


# The sessions of a step: each one's cache and rows.
Batch = Sequence[tuple[Cache, Rows]]


@dataclass
class Packed:
    """The rows of all sessions of a step, concatenated for the linear layers."""

    tokens: Tensor  # int64 [rows]
    cos: Tensor  # float32 [rows, 1, head_dim / 2], as is `sin`
    sin: Tensor
    # Numbers of rows, see `_range`:
    canvas: slice | Tensor | None  # of the canvas rows
    edits: slice | Tensor | None  # of those that see the edit update
    published: slice | Tensor | None  # of those of published caches (`Cache.published`)


def packed(batch: Batch, shape: Architecture) -> Packed:
    """Concatenate the rows of all sessions of a step, and reserve room for them in each cache."""
    for cache, rows in batch:
        cache.reserve(len(rows))
    cos, sin = rope_table(
        torch.tensor([p for _, rows in batch for p in rows.positions]), shape.head_dim, shape.theta, shape.rope_divisors
    )
    canvas = [i for i, number in enumerate(c for _, rows in batch for c in rows.canvas) if number > 0]
    tokens = torch.tensor([t for _, rows in batch for t in rows.tokens])
    edits = [cache.edits and number <= 0 for cache, rows in batch for number in rows.canvas]
    published = [cache.published for cache, rows in batch for _ in rows.tokens]
    numbers = [[i for i, each in enumerate(every) if each] for every in (edits, published)]
    return Packed(tokens, cos, sin, _range(canvas), *map(_range, numbers))


def _range(rows: list[int]) -> slice | Tensor | None:
    """These row numbers as a slice if they are contiguous, else as a tensor; None if there are none."""
    if not rows:
        return None
    if rows[-1] - rows[0] == len(rows) - 1:
        return slice(rows[0], rows[-1] + 1)
    return torch.tensor(rows)
