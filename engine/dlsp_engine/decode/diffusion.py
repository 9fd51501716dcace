"""Diffusion decoding: the canvas alone, unchecked."""

from torch import Tensor

from dlsp_engine.decode.acceptance import RULES
from dlsp_engine.decode.answer import Answer
from dlsp_engine.decode.decoder import Decoder, masks
from dlsp_engine.decode.session import Session
from dlsp_engine.model.rows import MASK, Rows

REMASK_FLOOR = 0.1
"""A placed token whose probability falls below this is masked again, once a position (ReMDM, arXiv 2503.00307)."""


class Diffusion(Decoder):
    """A window of slots after the last clean token. Slots are placed by the acceptance rule in any order; the run of
    placed slots at the left end becomes clean text, and masks come in at the right until the end token.
    """

    def __init__(self, session: Session, answer: Answer) -> None:
        super().__init__(session, answer)
        self.slots = masks(answer.options.canvas)
        self._log_p = [0.0] * len(self.slots)
        self._remasked: set[int] = set()

    @property
    def canvas(self) -> list[int]:
        return self.slots

    def plan(self, sharing: int) -> Rows:
        """Slot 0 is predicted by the last clean row, slot i by canvas row i - 1; the last canvas row predicts none."""
        rows = self._clean([])
        rows.add_canvas(self.slots, after=rows.positions[-1])
        rows.scored.pop()
        return rows

    def take(self, logits: Tensor) -> None:
        log_p = logits.log_softmax(-1)
        if self.answer.forced:
            self.slots[:1] = self.answer.choose(logits[:1], [])
            self._log_p[:1] = self.answer.log_p(logits[:1], self.slots[:1])
        else:
            self._remask(log_p)
            self._place(logits, log_p)
        run = self.slots.index(MASK) if MASK in self.slots else len(self.slots)
        placed, log_p_placed = self.slots[:run], self._log_p[:run]
        self.slots = self.slots[run:] + masks(run)
        self._log_p = self._log_p[run:] + [0.0] * run
        # The last clean row is asked again in the next step, because it predicts slot 0.
        self._commit(placed, log_p_placed, stood=len(self.session.pending) - 1)

    def _remask(self, log_p: Tensor) -> None:
        for i, token in enumerate(self.slots):
            at = len(self.answer.tokens) + i
            if token != MASK and at not in self._remasked and log_p[i, token].exp() < REMASK_FLOOR:
                self.slots[i] = MASK
                self._remasked.add(at)

    def _place(self, logits: Tensor, log_p: Tensor) -> None:
        """Commit slot 0, which is the autoregressive choice for what stands before it, and others by the rule; an end
        token only when everything left of it is placed.
        """
        options, stops = self.answer.options, self.answer.tokenizer.stops
        best = self.answer.choose(logits, [])
        open_slots = [i for i, token in enumerate(self.slots) if token == MASK]
        end = next((i for i in open_slots if best[i] in stops), len(best))
        candidates = [i for i in open_slots if i < end] or open_slots[:1]
        probability = log_p[candidates, [best[i] for i in candidates]].exp()
        entropy = -(log_p[candidates].exp() * log_p[candidates]).sum(-1)
        ruled = [candidates[index] for index in RULES[options.rule](probability, entropy, options.threshold)]
        for at in {candidates[0], *ruled}:
            self.slots[at], self._log_p[at] = best[at], float(log_p[at, best[at]])
