"""What the decoders of diffusion checkpoints share: open positions that a rule fills in any order."""

from torch import Tensor, tensor

from dlsp_engine.decode.answer import Answer
from dlsp_engine.decode.decoder import Decoder
from dlsp_engine.decode.diffusion import RULES
from dlsp_engine.decode.scores import Scores
from dlsp_engine.decode.session import Session
from dlsp_engine.model.rows import MASK


class Slots(Decoder):
    """Decodes in `slots`, the positions behind the last committed token: each has a token, or MASK while it is open.

    In a step the rule of the options picks which open slots get the token that the model finds likeliest there, the
    surest one if it picks none. Then the placed slots at the left end are committed. An end token is placed only where
    everything left of it is placed.
    """

    def __init__(self, session: Session, answer: Answer) -> None:
        super().__init__(session, answer)
        self.convention = session.convention
        self.slots: list[int] = []
        self._log_p: list[float] = []  # of each slot's token, when it was placed
        self._stops = answer.tokenizer.stops
        self._first: int | None = None  # the leftmost open slot, if the last step placed it

    @property
    def canvas(self) -> list[int]:
        return self.slots

    def _rows_of(self, tokens: list[int]) -> list[int]:
        """These tokens, with the checkpoint's mask for MASK."""
        mask = self.convention.mask
        assert mask is not None, "a diffusion checkpoint has one"
        return [mask if token == MASK else token for token in tokens]

    def _open(self, count: int) -> None:
        """Set `count` open slots."""
        self.slots, self._log_p = [MASK] * count, [0.0] * count

    def _set(self, at: int, token: int, log_p: float) -> None:
        self.slots[at], self._log_p[at] = token, log_p

    @property
    def _run(self) -> list[int]:
        """The placed tokens left of the first open slot, up to and including the first end token."""
        run = self.slots[: self.slots.index(MASK)] if MASK in self.slots else self.slots
        end = next((at for at, token in enumerate(run) if token in self._stops), len(run))
        return run[: end + 1]

    def _choose(self, logits: Tensor) -> list[int]:
        """Return the token that each slot would get, given logits [slots, vocab]."""
        return self.answer.next_tokens(Scores(logits), self._run)

    def _place(self, logits: Tensor, log_p: Tensor, best: list[int], until: int) -> None:
        """Place tokens of `best` in the open slots before `until` that the rule picks. Where a constraint forbids what
        the leftmost open slot would have had, nothing else is placed: the other slots expect another text.
        """
        run, self._first = self._run, None
        first = len(run)
        if first == len(self.slots) or (run and run[-1] in self._stops):
            return
        if self.answer.constraint and best[first] != int(logits[first].argmax()):
            sure = float(log_p[0, best[0]])
            if first == 0:
                (sure,) = self.answer.log_probabilities(Scores(logits[:1]), best[:1])
            self._set(first, best[first], sure)
            self._first = first
            return
        masked = [at for at in range(first, until) if self.slots[at] == MASK]
        end = next((at for at in masked if best[at] in self._stops), len(best))
        candidates = [at for at in masked if at < end] or masked[:1]
        probability = log_p[candidates, [best[at] for at in candidates]].exp()
        entropy = -(log_p[candidates].exp() * log_p[candidates].clamp(min=-1e4)).sum(-1)
        options = self.answer.options
        picked = RULES[options.rule](probability, entropy, options.threshold) or [int(probability.argmax())]
        for at in [candidates[one] for one in picked]:
            self._set(at, best[at], float(log_p[at, best[at]]))
        self._first = first if self.slots[first] != MASK else None

    def _commit_run(self, cached: int) -> None:
        """Commit the placed slots at the left end, up to the first token that may not stand there any more: its slot
        is opened again. Keep the first `cached` rows of this step in the KV cache.
        """
        run = self._run
        refused = self.answer.refused(run)
        if refused is not None and refused != self._first:  # chosen before what is left of it was known
            self._set(refused, MASK, 0.0)
            run = run[:refused]
        log_p = self._log_p[: len(run)]
        self._shift(len(run))
        self._commit(run, log_p, cached)

    def _shift(self, count: int) -> None:
        """Remove the first `count` slots."""
        self.slots, self._log_p = self.slots[count:], self._log_p[count:]


def without(logits: Tensor, tokens: list[int | None]) -> Tensor:
    """Return logits [rows, vocab] in which these tokens have no probability."""
    ids = [token for token in tokens if token is not None]
    return logits.index_fill(1, tensor(ids, device=logits.device), -float("inf")) if ids else logits
