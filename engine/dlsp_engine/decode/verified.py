"""Verified decoding: the canvas drafts, the same weights check the draft causally in the next step."""

from collections.abc import Callable

from torch import Tensor

from dlsp_engine.decode.answer import Answer
from dlsp_engine.decode.decoder import Decoder, masks
from dlsp_engine.decode.session import Session
from dlsp_engine.model.rows import Rows

Drafter = Callable[[list[int]], list[int]]
"""Known tokens -> tokens that may follow them; an empty list when it has no idea."""


class Verified(Decoder):
    """At temperature 0 the answer is `Autoregressive`'s own, whatever is drafted.

    `split` lays a canvas only when there is nothing to verify; `merged` lays one after each clean row where
    acceptance may stop, and goes on from the canvas of the row where it did. `width` masks a canvas; 0 lays none.
    """

    def __init__(
        self, session: Session, answer: Answer, width: int, merged: bool, drafter: Drafter | None = None
    ) -> None:
        super().__init__(session, answer)
        self.width = width
        self.merged = merged
        self.drafter = drafter
        self.draft = self._propose([])

    @property
    def canvas(self) -> list[int]:
        return self.draft or masks(self.width)

    def plan(self) -> Rows:
        rows = self._clean(self.draft)
        for row in self._anchors():
            rows.add_canvas(masks(self.width), after=rows.positions[row])
        return rows

    def take(self, logits: Tensor) -> None:
        draft, clean = self.draft, 1 + len(self.draft)
        chosen = self.answer.choose(logits[:clean], draft)
        run = agreement(draft, chosen)
        start = clean + run * self.width
        guess = logits[start : start + self.width].argmax(-1).tolist() if self._anchors() else []
        self._commit([*draft[:run], chosen[run]], stood=len(self.session.pending) + run)
        self.draft = self._propose(guess)

    def _anchors(self) -> range:
        """The clean rows of this step that a canvas follows."""
        first = len(self.session.pending) - 1
        if self.width == 0 or (self.draft and not self.merged):
            return range(0)
        return range(first, first + 1 + len(self.draft))

    def _propose(self, guess: list[int]) -> list[int]:
        """The surest draft: a copy if there is one, else what the canvas guessed."""
        copied = self.drafter(self.session.tokens) if self.drafter else []
        return self.answer.useful(copied or guess)


def agreement(draft: list[int], chosen: list[int]) -> int:
    """How many draft tokens stand: each must be what the row before it chose."""
    run = 0
    while run < len(draft) and draft[run] == chosen[run]:
        run += 1
    return run
