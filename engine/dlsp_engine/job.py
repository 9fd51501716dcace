"""Work on one session, step by step: a prompt is read, then asked."""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from torch import Tensor

from dlsp_engine.decode.answer import Answer, Cost, Fill
from dlsp_engine.decode.decoder import Autoregressive, Decoder
from dlsp_engine.decode.diffusion import Diffusion
from dlsp_engine.decode.draft import Copier, Drafter
from dlsp_engine.decode.session import MIN_COPIED_ROWS, Session
from dlsp_engine.decode.verify import Drafting, Verified
from dlsp_engine.model.gpu.loop import GapStep
from dlsp_engine.model.rows import MASK, Rows
from dlsp_engine.options import Options
from dlsp_engine.text.prompt import Gap, prompt
from dlsp_engine.text.tokenizer import Tokenizer


class Job(ABC):
    """`plan` and `take` alternate until `done`; any number of jobs may share a step (`batch.pack`)."""

    def __init__(self, session: Session, options: Options) -> None:
        self.session = session
        self.options = options
        self.cost = Cost()
        self._asked = 0  # the rows from here on are asked for their logits; those before are prefilled
        self._prompt = 0  # rows of the prompt in what was planned last
        self._created: float | None = time.perf_counter()

    @property
    @abstractmethod
    def done(self) -> bool: ...

    @abstractmethod
    def outcome(self) -> Any:
        """What came of it."""

    def close(self) -> None:
        """Let go of what only an unfinished job needs."""
        return

    @property
    def bytes(self) -> int:
        """Keys and values that it holds, or will when its prompt is read."""
        cache = self.session.cache
        return max(cache.bytes, cache.bytes_of(self._asked))

    @property
    def prefilling(self) -> bool:
        """Whether the next rows begin with the prompt's."""
        return self._left > 0

    @property
    def _left(self) -> int:
        """Rows of the prompt that are not cached; below 0 where more is."""
        return self._asked - self.session.cache.length

    def borrow(self, others: Iterable[Session]) -> None:
        """Copy the longest beginning of the prompt that another session has cached, if that saves enough."""
        if self._left >= MIN_COPIED_ROWS:
            best = max(others, key=lambda other: min(other.cache.length, self.session.shares(other)), default=None)
            if best:
                self.cost.cached_tokens += self.session.borrow(best, self._asked)

    def plan(self, room: int, sharing: int, apart: bool = False) -> Rows:
        """The rows of the next step, a prompt's at most `room`; see `Decoder.plan` for `sharing`.

        What is left of the prompt is read together with the rows that are asked, where all fit, unless these are to
        stand `apart`: a step of few rows takes as long as reading the weights.
        """
        left = max(0, self._left)
        if not left or (left < room and not apart):
            rows = self._ask(room, sharing)
            if not left or len(rows) <= room:
                self._prompt = left
                return rows
        rows = self.session.prefill(room, self._asked)
        assert rows, "something of the prompt is left"
        self._prompt = len(rows)
        return rows

    def start(self) -> None:
        """Waiting ends here, when the first step is about to run."""
        if self._created is not None:
            self.cost.queue_ms = 1e3 * (time.perf_counter() - self._created)
            self._created = None

    def take(self, rows: int, logits: Tensor, milliseconds: float) -> None:
        """What the planned `rows` gave, and how long the step took, of which rows of a prompt have their part; reading
        the logits is part of the decoding, too.
        """
        began = time.perf_counter()
        prefill = milliseconds * self._prompt / rows
        self.cost.prefill_ms += prefill
        if rows == self._prompt:
            self.session.extend([], rows)
            return
        self._answered(logits)
        self._spent(rows - self._prompt, milliseconds - prefill + 1e3 * (time.perf_counter() - began))

    def _spent(self, rows: int, milliseconds: float) -> None:
        self.cost.forwards += 1
        self.cost.rows += rows
        self.cost.decode_ms += milliseconds

    @property
    def device_decoder(self) -> Decoder | None:
        """What may take its next step on the device; None where logits must be seen."""
        return None

    def take_device_step(self, step: GapStep, milliseconds: float) -> None:
        """What a step on the device did for `device_decoder`, and how long it took."""
        began = time.perf_counter()
        assert self.device_decoder, "it decodes"
        log_p = [math.log(max(p, 1e-30)) for p in step.probability]
        self.device_decoder.take_device_step(step.tokens, log_p, step.draft, step.draft_probability)
        self._spent(step.rows, milliseconds + 1e3 * (time.perf_counter() - began))

    @abstractmethod
    def _ask(self, room: int, sharing: int) -> Rows:
        """The rows that are asked for logits, behind what is left of the prompt; see `plan`."""

    @abstractmethod
    def _answered(self, logits: Tensor) -> None:
        """logits [scored rows of `_ask`, vocab] in float32."""


class GapJob(Job):
    """One gap, filled in one of the three modes. `set_aside` is the place that its session was at before, if that was
    another.
    """

    def __init__(
        self,
        gap: Gap,
        options: Options,
        session: Session,
        tokenizer: Tokenizer,
        drafting: Drafting,
        drafter: Drafter | None = None,
    ) -> None:
        super().__init__(session, options)
        known = prompt(gap, tokenizer)
        self.set_aside = session.set_aside(known.tokens)
        self.cost.prompt_tokens = len(known.tokens)
        self.cost.cached_tokens = session.advance(known.tokens, options.max_tokens)
        self._asked = len(known.tokens) - 1
        self.answer = Answer(gap, options, tokenizer, known.forced)
        self.decoder = decoder(session, self.answer, drafting, drafter)

    @property
    def done(self) -> bool:
        return self.decoder.done

    def outcome(self) -> Fill:
        return self.answer.fill(self.cost)

    def state(self) -> tuple[str, list[str | None]]:
        """The text that is fixed, and the canvas: a text, or None for a mask."""
        tokenizer = self.answer.tokenizer
        canvas = [None if token == MASK else tokenizer.decode([token]) for token in self.decoder.canvas]
        return self.answer.text, canvas

    @property
    def device_decoder(self) -> Decoder | None:
        return None if self.prefilling else self.decoder

    def take_device_step(self, step: GapStep, milliseconds: float) -> None:
        super().take_device_step(step, milliseconds)
        self.cost.tokens = self.answer.committed

    def _ask(self, room: int, sharing: int) -> Rows:
        return self.decoder.plan(sharing)

    def _answered(self, logits: Tensor) -> None:
        self.decoder.take(logits)
        self.cost.tokens = self.answer.committed


def decoder(session: Session, answer: Answer, drafting: Drafting, drafter: Drafter | None = None) -> Decoder:
    """The decoder of the mode that the answer's options ask for."""
    options = answer.options
    if options.mode == "autoregressive":
        return Autoregressive(session, answer)
    if options.mode == "diffusion":
        return Diffusion(session, answer)
    if drafter is None and options.copy:
        copier = Copier(answer.tokenizer.stops)
        return Verified(session, answer, drafting, copier, session.previous_answer)
    return Verified(session, answer, drafting, drafter)
