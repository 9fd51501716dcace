"""Decodes checkpoints that see the whole text, before and behind the gap: Open-dCoder, Dream-Coder, DiffuCoder,
DreamOn, LLaDA.
"""

from collections.abc import Sequence

from torch import Tensor

from dlsp_engine.decode.answer import Answer
from dlsp_engine.decode.diffusion import REMASK_FLOOR
from dlsp_engine.decode.session import Session
from dlsp_engine.decode.slots import Slots, without
from dlsp_engine.model.rows import MASK, Rows


class Whole(Slots):
    """Decodes between the tokens before the gap, which are the session's, and those `behind` it. Each step runs all
    rows: every one of them sees the slots, so none stays the same and nothing is cached.

    At first there are `options.canvas` slots. A slot that gets the checkpoint's token for *expand* becomes two open
    slots, one that gets that for *delete* is removed. A placed token whose probability falls below REMASK_FLOOR is open
    again, once a slot. When all slots are committed the answer ends; where it may not end yet, one more slot is opened.
    """

    def __init__(self, session: Session, answer: Answer, behind: Sequence[int] = ()) -> None:
        super().__init__(session, answer)
        self._behind = list(behind)
        self._resizing = {self.convention.expand, self.convention.delete} - {None}
        self._stops = self._stops - self._resizing
        self._open(min(answer.options.canvas, answer.options.max_tokens))
        # Every expansion counts, even if its slots are deleted again: otherwise the two could alternate for ever.
        self._expansions = answer.options.max_tokens - len(self.slots)

    def plan(self, sharing: int) -> Rows:
        rows, before = Rows(), len(self.session.tokens)
        rows.add_block(self._rows_of([*self.session.tokens, *self.slots, *self._behind]), 0)
        first = before - int(self.convention.shifted)
        rows.scored = [max(0, row) for row in range(first, first + len(self.slots))]
        return rows

    def take(self, logits: Tensor) -> None:
        expand = [] if self._expansions > 0 else [self.convention.expand]
        logits = without(logits, [self.convention.mask, *expand])
        log_p = logits.log_softmax(-1)
        self._remask(log_p)
        best = self._choose(logits)
        first = len(self._run)
        if (likeliest := int(logits[first].argmax())) in self._resizing:  # a constraint is on tokens of the text only
            best[first] = likeliest
        self._place(logits, log_p, best, len(self.slots))
        self._resize()
        self._commit_run(cached=0)
        if not self.slots and not self.done:
            if self.answer.refused([min(self._stops)]) is None:
                self.answer.finish()
            else:
                self._open(1)

    def _open(self, count: int) -> None:
        super()._open(count)
        self._remasked = [False] * count

    def _shift(self, count: int) -> None:
        super()._shift(count)
        self._remasked = self._remasked[count:]

    def _remask(self, log_p: Tensor) -> None:
        for at, token in enumerate(self.slots):
            if token != MASK and not self._remasked[at] and log_p[at, token].exp() < REMASK_FLOOR:
                self._set(at, MASK, 0.0)
                self._remasked[at] = True

    def _resize(self) -> None:
        """Replace slots with the token for expand by two open slots, and remove those with the token for delete."""
        slots: list[tuple[int, float, bool]] = []
        for token, log_p, remasked in zip(self.slots, self._log_p, self._remasked, strict=True):
            if token not in self._resizing:
                slots.append((token, log_p, remasked))
            elif token == self.convention.expand and self._expansions > 0:
                slots += [(MASK, 0.0, False)] * 2
                self._expansions -= 1
            elif token == self.convention.expand:
                slots.append((MASK, 0.0, False))
        self.slots = [token for token, _, _ in slots]
        self._log_p = [log_p for _, log_p, _ in slots]
        self._remasked = [remasked for _, _, remasked in slots]
