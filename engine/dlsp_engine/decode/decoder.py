"""The interface that all decoding modes share, and the simplest mode, autoregressive decoding."""

from abc import ABC, abstractmethod

from dlsp_engine.decode.answer import Answer
from dlsp_engine.decode.scores import Scores
from dlsp_engine.decode.session import Session
from dlsp_engine.model.rows import MASK, Rows


class Decoder(ABC):
    """Decodes one answer. In each step, `plan` returns the rows to run and `take` receives their scores. `plan` changes
    neither session nor answer, so a planned step may be dropped.
    """

    def __init__(self, session: Session, answer: Answer) -> None:
        self.session = session
        self.answer = answer

    @abstractmethod
    def plan(self, sharing: int) -> Rows:
        """Return the rows of the next step; `sharing` sessions share its cost."""

    @abstractmethod
    def take(self, scores: Scores) -> None:
        """Commit the tokens that follow from the scored rows of the plan."""

    @property
    def done(self) -> bool:
        return self.answer.reason is not None

    @property
    def canvas(self) -> list[int]:
        """Proposed tokens that are not committed, with MASK where there is none yet; for display."""
        return []

    def _clean_rows(self, draft: list[int]) -> Rows:
        """Return the uncached tokens and the draft as clean rows. Scored are those from the last committed token on."""
        session, rows = self.session, Rows()
        pending = session.pending
        rows.add_clean(pending + draft, session.cache.length)
        rows.scored = list(range(len(pending) - 1, len(rows)))
        return rows

    def _commit(self, tokens: list[int], log_p: list[float], cached: int) -> None:
        """Commit `tokens` until the answer ends, and keep the first `cached` clean rows of this step in the KV
        cache.
        """
        before = len(self.answer.tokens)
        self.answer.commit(tokens, log_p)
        self.session.extend(self.answer.tokens[before:], cached)


class Autoregressive(Decoder):
    """Decodes one token a step, without a canvas: the baseline, and the reference for `Verified`."""

    def plan(self, sharing: int) -> Rows:
        return self._clean_rows([])

    def take(self, scores: Scores) -> None:
        tokens = self.answer.next_tokens(scores, [])
        self._commit(tokens, self.answer.log_probabilities(scores, tokens), cached=len(self.session.pending))


def masks(width: int) -> list[int]:
    return [MASK] * width
