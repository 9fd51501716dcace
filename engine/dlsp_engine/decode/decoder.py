"""What the modes of decoding share, and the plainest of them: rows out, logits in, until the answer ends."""

from abc import ABC, abstractmethod

from torch import Tensor

from dlsp_engine.decode.answer import Answer
from dlsp_engine.decode.session import Session
from dlsp_engine.model.rows import MASK, Rows


class Decoder(ABC):
    """Decodes one answer. Each step is a call of `plan`, which gives the rows to run, and one of `take`, which gets
    their logits. `plan` changes neither session nor answer, so a planned step may be dropped.
    """

    def __init__(self, session: Session, answer: Answer) -> None:
        self.session = session
        self.answer = answer

    @abstractmethod
    def plan(self, sharing: int) -> Rows:
        """The rows of the next step, whose cost is shared by `sharing` sessions."""

    @abstractmethod
    def take(self, logits: Tensor) -> None:
        """Commit what the planned rows say: logits [scored rows of the plan, vocab] in float32."""

    @property
    def greedy_step(self) -> tuple[int, list[int]] | None:
        """The widest canvas and the draft, if a backend can do the next step by itself; None where it needs logits."""
        return None

    def take_greedy_step(self, tokens: list[int], log_p: list[float], draft: list[int], draft_p: list[float]) -> None:
        """Take over a step that the backend verified by itself: the tokens it committed, and the next draft."""
        raise NotImplementedError

    @property
    def _greedy(self) -> bool:
        """Whether the argmax is the token to take, and all tokens but the last are cached."""
        options = self.answer.options
        return options.temperature == 0 and not self.answer.forced and len(self.session.pending) == 1

    @property
    def done(self) -> bool:
        return self.answer.reason is not None

    @property
    def canvas(self) -> list[int]:
        """Tokens that are proposed and not committed, MASK where there is none yet: for showing."""
        return []

    def _clean_rows(self, draft: list[int]) -> Rows:
        """The tokens that are not cached and the draft, as clean rows; scored from the last committed token on."""
        session, rows = self.session, Rows()
        pending = session.pending
        rows.add_clean(pending + draft, session.cache.length)
        rows.scored = list(range(len(pending) - 1, len(rows)))
        return rows

    def _commit(self, tokens: list[int], log_p: list[float], cached: int) -> None:
        """Commit `tokens` until the answer ends, and keep the first `cached` clean rows of this step in the cache."""
        before = len(self.answer.tokens)
        self.answer.commit(tokens, log_p)
        self.session.extend(self.answer.tokens[before:], cached)


class Autoregressive(Decoder):
    """One token a step, no canvas: the baseline, and the reference for `Verified`."""

    def plan(self, sharing: int) -> Rows:
        return self._clean_rows([])

    def take(self, logits: Tensor) -> None:
        tokens = self.answer.next_tokens(logits, [])
        self._commit(tokens, self.answer.log_probabilities(logits, tokens), cached=len(self.session.pending))

    @property
    def greedy_step(self) -> tuple[int, list[int]] | None:
        return (0, []) if self._greedy else None

    def take_greedy_step(self, tokens: list[int], log_p: list[float], draft: list[int], draft_p: list[float]) -> None:
        self._commit(tokens, log_p, cached=len(tokens))


def masks(width: int) -> list[int]:
    return [MASK] * width
