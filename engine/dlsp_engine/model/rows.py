"""The rows that one session brings to a step."""

from dataclasses import dataclass, field

MASK = -1
"""Stands for a mask where a token id is expected; the model embeds it by the adapter's learned vector."""


@dataclass
class Rows:
    """Clean rows first, in the order of their positions, then alternatives and canvases. All lists have an entry a row.

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
