"""A gap on its way through the engine: prefill, then one of the three modes."""

import time

from torch import Tensor

from dlsp_engine.decode.answer import Answer, Cost
from dlsp_engine.decode.budget import Acceptance, Costs
from dlsp_engine.decode.copying import Copier
from dlsp_engine.decode.decoder import Autoregressive, Decoder
from dlsp_engine.decode.diffusion import Diffusion
from dlsp_engine.decode.session import Session
from dlsp_engine.decode.verified import Drafter, Verified
from dlsp_engine.model.rows import MASK, Rows
from dlsp_engine.options import Options
from dlsp_engine.text.prompt import Gap, prompt
from dlsp_engine.text.tokenizer import Tokenizer


class Job:
    """`plan` and `take` alternate until `done`; any number of jobs may share a step."""

    def __init__(
        self,
        gap: Gap,
        options: Options,
        session: Session,
        tokenizer: Tokenizer,
        costs: Costs,
        acceptance: Acceptance,
        drafter: Drafter | None = None,
    ) -> None:
        known = prompt(gap, tokenizer)
        self.cost = Cost(prompt_tokens=len(known.tokens), cached_tokens=session.advance(known.tokens))
        self.session = session
        self.answer = Answer(gap, options, tokenizer, known.forced)
        self.decoder = _decoder(session, self.answer, costs, acceptance, drafter)
        self._prefilling = False
        self._created: float | None = time.perf_counter()

    @property
    def done(self) -> bool:
        return self.answer.reason is not None

    def plan(self) -> Rows:
        """The rows of the next step: a chunk of the prompt while it is not cached, then the decoder's."""
        prefill = self.session.prefill() if not self.cost.forwards else None
        self._prefilling = prefill is not None
        return prefill or self.decoder.plan()

    def start(self) -> None:
        """The first step is about to run: waiting ends here."""
        if self._created is not None:
            self.cost.queue_ms = 1e3 * (time.perf_counter() - self._created)
            self._created = None

    def take(self, rows: int, logits: Tensor, milliseconds: float) -> None:
        """What the planned `rows` gave, and how long the step took."""
        if self._prefilling:
            self.session.extend([], rows)
            self.cost.prefill_ms += milliseconds
            return
        self.decoder.take(logits)
        self.cost.forwards += 1
        self.cost.rows += rows
        self.cost.tokens = self.answer.committed
        self.cost.decode_ms += milliseconds

    def state(self) -> tuple[str, list[str | None]]:
        """The text that is fixed, and the canvas: a text, or None for a mask."""
        tokenizer = self.answer.tokenizer
        canvas = [None if token == MASK else tokenizer.decode([token]) for token in self.decoder.canvas]
        return self.answer.text, canvas


def _decoder(
    session: Session, answer: Answer, costs: Costs, acceptance: Acceptance, drafter: Drafter | None
) -> Decoder:
    options = answer.options
    if options.mode == "autoregressive":
        return Autoregressive(session, answer)
    if options.mode == "diffusion":
        return Diffusion(session, answer)
    if drafter is None and options.copy:
        copier = Copier(answer.tokenizer.stops)
        return Verified(session, answer, costs, acceptance, copier, session.recalled)
    return Verified(session, answer, costs, acceptance, drafter)
