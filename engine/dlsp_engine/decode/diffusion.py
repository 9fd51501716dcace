"""Diffusion decoding: tokens are committed from a canvas without verification."""

from collections.abc import Callable

from torch import Tensor

from dlsp_engine.decode.answer import Answer
from dlsp_engine.decode.decoder import Decoder, masks
from dlsp_engine.decode.scores import Scores
from dlsp_engine.decode.session import Session
from dlsp_engine.model.rows import MASK, Rows

REMASK_FLOOR = 0.1  # a placed token less probable than this is masked again, once a position (ReMDM, arXiv 2503.00307)

# Which of n open positions to place: (probability of the best token [n], entropy in nats [n], the rule's number) ->
# their indices.
Rule = Callable[[Tensor, Tensor, float], list[int]]


def threshold(probability: Tensor, entropy: Tensor, value: float) -> list[int]:
    """Return all positions whose probability is above `value` (Fast-dLLM, arXiv 2505.22618)."""
    return (probability > value).nonzero()[:, 0].tolist()


def factor(probability: Tensor, entropy: Tensor, value: float) -> list[int]:
    """Return the n most probable positions: n is the largest number whose n-th probability is at least 1 - value/(n +
    1) (dInfer).
    """
    order = probability.argsort(descending=True).tolist()
    n = max((i for i, at in enumerate(order, 1) if probability[at] >= 1 - value / (i + 1)), default=0)
    return order[:n]


def entropy_bounded(probability: Tensor, entropy: Tensor, value: float) -> list[int]:
    """Return the positions of least entropy: in ascending order, each as long as the sum of the entropies before it is
    at most `value` (EB, arXiv 2505.24857).
    """
    order = entropy.argsort()
    earlier = entropy[order].cumsum(0).roll(1)
    earlier[0] = 0
    return order[: max(1, int((earlier <= value).sum()))].tolist()


RULES: dict[str, Rule] = {"threshold": threshold, "factor": factor, "entropy": entropy_bounded}


class Diffusion(Decoder):
    """Decodes in a window of slots after the last committed token. The rule places tokens in slots in any order. The
    placed slots at the left end are committed and as many masks are added at the right, until the end token is
    committed.
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
        """Slot 0 is predicted by the last clean row, slot i by canvas row i - 1. The last canvas row predicts no slot
        and is not scored.
        """
        rows = self._clean_rows([])
        rows.add_canvas(self.slots, after=rows.positions[-1])
        rows.scored.pop()
        return rows

    def take(self, scores: Scores) -> None:
        logits = scores.logits
        log_p = logits.log_softmax(-1)
        self._remask(log_p)
        self._place(logits, log_p)
        refused = self.answer.refused(self._placed)
        if refused:  # what was left of it when it was placed has changed; slot 0 was chosen just now
            self.slots[refused] = MASK
        run = len(self._placed)
        placed, log_p_placed = self.slots[:run], self._log_p[:run]
        self.slots = self.slots[run:] + masks(run)
        self._log_p = self._log_p[run:] + [0.0] * run
        # The last clean row is not kept: the next step runs it again, because it predicts slot 0.
        self._commit(placed, log_p_placed, cached=len(self.session.pending) - 1)

    @property
    def _placed(self) -> list[int]:
        """The tokens of the slots left of the first mask."""
        return self.slots[: self.slots.index(MASK)] if MASK in self.slots else self.slots

    def _remask(self, log_p: Tensor) -> None:
        """Mask placed tokens again whose probability is now below REMASK_FLOOR, each position at most once."""
        for i, token in enumerate(self.slots):
            at = len(self.answer.tokens) + i
            if token != MASK and at not in self._remasked and log_p[i, token].exp() < REMASK_FLOOR:
                self.slots[i] = MASK
                self._remasked.add(at)

    def _place(self, logits: Tensor, log_p: Tensor) -> None:
        """Place slot 0 by its autoregressive choice, and the slots that the rule picks. An end token is placed only
        when everything left of it is. Where a constraint forbids what slot 0 would have had, nothing else is placed:
        the other slots expect another text.
        """
        options, stops = self.answer.options, self.answer.tokenizer.stops
        best = self.answer.next_tokens(Scores(logits), self._placed)
        if self.answer.constraint and best[0] != int(logits[0].argmax()):
            self.slots[:1], self._log_p[:1] = best[:1], self.answer.log_probabilities(Scores(logits[:1]), best[:1])
            return
        open_slots = [i for i, token in enumerate(self.slots) if token == MASK]
        end = next((i for i in open_slots if best[i] in stops), len(best))
        candidates = [i for i in open_slots if i < end] or open_slots[:1]
        probability = log_p[candidates, [best[i] for i in candidates]].exp()
        entropy = -(log_p[candidates].exp() * log_p[candidates]).sum(-1)
        ruled = [candidates[index] for index in RULES[options.rule](probability, entropy, options.threshold)]
        for at in {candidates[0], *ruled}:
            self.slots[at], self._log_p[at] = best[at], float(log_p[at, best[at]])
