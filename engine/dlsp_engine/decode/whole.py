"""Decodes checkpoints that see the whole text, before and behind the gap: Open-dCoder, Dream-Coder, DiffuCoder,
DreamOn, LLaDA.
"""

import math
from collections.abc import Generator, Sequence

from torch import Tensor

from dlsp_engine.decode.answer import Answer
from dlsp_engine.decode.diffusion import REMASK_FLOOR
from dlsp_engine.decode.scores import Scores
from dlsp_engine.decode.session import Session
from dlsp_engine.decode.slots import Slots, without
from dlsp_engine.model.rows import MASK, Rows

# The search for a gap's length: how many slots there are at most, and after how many lengths in a row that are no
# better it turns back.
MAX_SEARCHED, PATIENCE = 64, 4


def usual_confidence(slots: int) -> float:
    """How sure a model usually is, on average, of the tokens in so many open slots, whatever the text: the curve that
    CAL's authors fitted to LLaDA and use for all models.
    """
    return math.exp(-1.77 * slots) + 0.56 * math.exp(-0.06 * slots) + 0.24


def length_search(start: int, most: int) -> Generator[int, float, int]:
    """CAL's search (arXiv 2602.00476) for the number of slots: yields numbers to try, is sent how sure the model is on
    average of the likeliest tokens in so many open slots, and returns the number where that is highest beside what is
    usual. It tries more slots than `start`, up to `most`, then fewer.
    """
    best, surest = start, (yield start) / usual_confidence(start)
    for lengths in (range(start + 1, most + 1), range(start - 1, 0, -1)):
        worse = 0
        for length in lengths:
            sure = (yield length) / usual_confidence(length)
            worse = 0 if sure > surest else worse + 1
            if sure > surest:
                best, surest = length, sure
            if worse == PATIENCE:
                break
    return best


class Whole(Slots):
    """Decodes between the tokens before the gap, which are the session's, and those `behind` it. Each step runs all
    rows: every one of them sees the slots, so none stays the same and nothing is cached. With `approximate_cache` the
    text before the gap keeps the keys and values of the first step that filled slots, though later ones would differ.

    At first there are `options.canvas` slots. A slot that gets the checkpoint's token for *expand* becomes two open
    slots, one that gets that for *delete* is removed. For a checkpoint without these two the first steps search for the
    number of slots. A placed token whose probability falls below REMASK_FLOOR is open again, once a slot. When all
    slots are committed the answer ends; where it may not end yet, one more slot is opened.
    """

    def __init__(self, session: Session, answer: Answer, behind: Sequence[int] = ()) -> None:
        super().__init__(session, answer)
        self._behind = list(behind)
        self._resizing = {self.convention.expand, self.convention.delete} - {None}
        self._stops = self._stops - self._resizing
        self._open(min(answer.options.canvas, answer.options.max_tokens))
        self._search: Generator[int, float, int] | None = None
        if not self._resizing:
            self._search = length_search(len(self.slots), min(answer.options.max_tokens, MAX_SEARCHED))
            next(self._search)
        # Every expansion counts, even if its slots are deleted again: otherwise the two could alternate for ever.
        self._expansions = answer.options.max_tokens - len(self.slots)

    @property
    def searching(self) -> bool:
        """Whether the next step tries a length of the gap."""
        return self._search is not None

    def plan(self, sharing: int) -> Rows:
        rows, pending = Rows(), self.session.pending
        rows.add_block(self._rows_of([*pending, *self.slots, *self._behind]), self.session.cache.length)
        first = len(pending) - int(self.convention.shifted)
        rows.scored = [max(0, row) for row in range(first, first + len(self.slots))]
        return rows

    def take(self, scores: Scores) -> None:
        logits = scores.logits
        if self._search:
            self._try_next_length(self._search, float(logits.softmax(-1).amax(-1).mean()))
            return
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
        once = self.answer.options.approximate_cache and not self.session.cache.length
        # Not the last row of the text, whose logits may be those of the first slot.
        self._commit_run(cached=max(0, len(self.session.pending) - 1) if once else 0)
        if not self.slots and not self.done:
            if self.answer.refused([min(self._stops)]) is None:
                self.answer.finish()
            else:
                self._open(1)

    def _try_next_length(self, search: Generator[int, float, int], confidence: float) -> None:
        try:
            self._open(search.send(confidence))
        except StopIteration as found:
            self._search = None
            self._open(found.value)

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
