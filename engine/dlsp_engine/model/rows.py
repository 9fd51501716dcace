"""The rows that one session brings to a step."""

from dataclasses import dataclass, field

MASK = -1
"""Stands for a mask where a token id is expected; the model embeds it by the adapter's learned vector."""


@dataclass
class Rows:
    """Clean rows first, in the order of their positions, then canvases. All lists have one entry a row.

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
        number = max(self.canvas, default=0) + 1
        for offset, token in enumerate(tokens, 1):
            self.scored.append(len(self.tokens))
            self._add(token, after + offset, after + 1, number)

    def _add(self, token: int, position: int, visible: int, canvas: int) -> None:
        self.tokens.append(token)
        self.positions.append(position)
        self.visible.append(visible)
        self.canvas.append(canvas)
