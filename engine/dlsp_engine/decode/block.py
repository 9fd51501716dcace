"""Decodes checkpoints that see text in blocks: SDAR, Fast-dLLM v2, Stable-DiffCoder, LLaDA2 in its dense form."""

from torch import Tensor

from dlsp_engine.decode.answer import Answer
from dlsp_engine.decode.scores import Scores
from dlsp_engine.decode.session import Session
from dlsp_engine.decode.slots import Slots, without
from dlsp_engine.model.rows import MASK, Rows

MAX_EDIT_STEPS = 16  # of a block in which nothing is open any more


class Block(Slots):
    """Decodes block by block. The slots are what is open of one block, which begins with the last tokens of the prompt
    if these do not fill one.

    When a block is full, its rows run once more with their final tokens and are cached: exactly, since no later token
    changes them. With logits at their own positions the same step is the first of the next block. With shifted logits
    that step gives the first token of the next block, whatever the rule says: it is the autoregressive choice.

    If the checkpoint edits, a block is committed only when it is full and nothing in it changes any more, or after
    MAX_EDIT_STEPS such steps.
    """

    def __init__(self, session: Session, answer: Answer) -> None:
        super().__init__(session, answer)
        self._edit_steps = 0
        self._begin()

    def plan(self, sharing: int) -> Rows:
        rows, start, block = Rows(), self.session.cache.length, self.convention.block
        tokens = self._rows_of([*self.session.pending, *self.slots])
        for at in range(0, len(tokens), block):
            rows.add_block(tokens[at : at + block], start + at)
        first = len(tokens) - len(self.slots) - int(self.convention.shifted)
        rows.scored = [max(0, row) for row in range(first, first + max(1, len(self.slots)))]
        return rows

    def take(self, scores: Scores) -> None:
        logits = without(scores.logits, [self.convention.mask])
        whole_blocks = self.convention.cacheable(len(self.session.pending))
        if not self.slots:
            tokens = self.answer.next_tokens(Scores(logits), [])
            self._commit(tokens, self.answer.log_probabilities(Scores(logits), tokens), whole_blocks)
        else:
            log_p, best = logits.log_softmax(-1), self._choose(logits)
            self._place(logits, log_p, best, self._until())
            edited = self._edit(log_p, best)
            if self._settled(edited):
                self._commit_run(whole_blocks)
            else:
                self.session.extend([], whole_blocks)
        if not self.slots:
            self._begin()

    def _begin(self) -> None:
        """Open what the block of the next token lacks. With shifted logits the first token of a block is not open."""
        missing = -len(self.session.tokens) % self.convention.block
        self._open(missing if missing or self.convention.shifted else self.convention.block)
        self._edit_steps = 0

    def _until(self) -> int:
        """Return the end of the slots that may be placed now: those of the block, or of its run with an open slot."""
        run = self.convention.sub_block
        if not run or MASK not in self.slots:
            return len(self.slots)
        answered = len(self.session.tokens)
        return ((answered + self.slots.index(MASK)) // run + 1) * run - answered

    def _edit(self, log_p: Tensor, best: list[int]) -> bool:
        """Replace placed tokens where the model is surer of another one than `edit`; return whether it did."""
        edited = False
        if self.convention.edit is not None:
            for at, token in enumerate(self.slots):
                other = best[at]
                if token in (MASK, other) or other in self._stops:
                    continue
                if log_p[at, other].exp() > self.convention.edit:
                    self._set(at, other, float(log_p[at, other]))
                    edited = True
        return edited

    def _settled(self, edited: bool) -> bool:
        """Whether the placed slots at the left end may be committed."""
        if self.convention.edit is None:
            return True
        run = self._run
        if len(run) < len(self.slots) and not (run and run[-1] in self._stops):
            self._edit_steps = 0
            return False
        self._edit_steps += 1
        return self._edit_steps > MAX_EDIT_STEPS or (self._edit_steps > 1 and not edited)
