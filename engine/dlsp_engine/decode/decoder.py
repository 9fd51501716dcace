"""What the three modes share: rows out, logits in, until the answer ends."""

from abc import ABC, abstractmethod

from torch import Tensor

from dlsp_engine.decode.answer import Answer
from dlsp_engine.decode.session import Session
from dlsp_engine.model.rows import MASK, Rows


class Decoder(ABC):
    """Decodes one answer step by step: `plan` gives a step's rows, `take` gets their logits. A planned step need not be
    taken: `plan` changes neither session nor answer.
    """

    def __init__(self, session: Session, answer: Answer) -> None:
        self.session = session
        self.answer = answer

    @abstractmethod
    def plan(self, sharing: int) -> Rows:
        """The rows of the next step, whose cost is shared by so many sessions."""

    @abstractmethod
    def take(self, logits: Tensor) -> None:
        """logits [scored rows of the plan, vocab] in float32."""

    @property
    def on_device(self) -> tuple[int, list[int]] | None:
        """The widest canvas and the draft, if the next step can run on the device; None where logits must be seen."""
        return None

    def take_device_step(
        self, tokens: list[int], log_p: list[float], guess: list[int], probability: list[float]
    ) -> None:
        """What a step that was laid out, verified and drafted on the device committed, and drafted next."""
        raise NotImplementedError

    @property
    def _greedy(self) -> bool:
        """Whether the likeliest token is the one to take, with nothing to cache but the last token."""
        options = self.answer.options
        return options.temperature == 0 and not self.answer.forced and len(self.session.pending) == 1

    @property
    def done(self) -> bool:
        return self.answer.reason is not None

    @property
    def canvas(self) -> list[int]:
        """Tokens proposed but not fixed, MASK where there is none yet: for showing."""
        return []

    def _clean(self, draft: list[int]) -> Rows:
        """The pending tokens and a draft as clean rows, scored from the last committed token on."""
        session, rows = self.session, Rows()
        pending = session.pending
        rows.add_clean(pending + draft, session.cache.length)
        rows.scored = list(range(len(pending) - 1, len(rows)))
        return rows

    def _commit(self, tokens: list[int], log_p: list[float], stood: int) -> None:
        """Fix `tokens`, as far as the answer goes, and keep the first `stood` clean rows of this step."""
        before = len(self.answer.tokens)
        self.answer.commit(tokens, log_p)
        self.session.extend(self.answer.tokens[before:], stood)


class Autoregressive(Decoder):
    """One token a step, no canvas: the baseline, and the reference for `Verified`."""

    def plan(self, sharing: int) -> Rows:
        return self._clean([])

    def take(self, logits: Tensor) -> None:
        chosen = self.answer.choose(logits, [])
        self._commit(chosen, self.answer.log_p(logits, chosen), stood=len(self.session.pending))

    @property
    def on_device(self) -> tuple[int, list[int]] | None:
        return (0, []) if self._greedy else None

    def take_device_step(
        self, tokens: list[int], log_p: list[float], guess: list[int], probability: list[float]
    ) -> None:
        self._commit(tokens, log_p, stood=len(tokens))


def masks(width: int) -> list[int]:
    return [MASK] * width
