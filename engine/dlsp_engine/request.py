"""A request in progress: prefill of its prompt, then decoding of its answer, step by step."""

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

from dlsp_engine.backend import RowsStep, Scored
from dlsp_engine.decode.answer import Answer, Cost, Fill
from dlsp_engine.decode.block import Block
from dlsp_engine.decode.decoder import Autoregressive, Decoder
from dlsp_engine.decode.diffusion import Diffusion
from dlsp_engine.decode.draft import Copier, Drafter
from dlsp_engine.decode.scores import Scores
from dlsp_engine.decode.session import MIN_COPIED_ROWS, Session
from dlsp_engine.decode.verify import Drafting, Verified
from dlsp_engine.decode.whole import Whole
from dlsp_engine.model.convention import BLOCK, WHOLE
from dlsp_engine.model.rows import MASK, Rows
from dlsp_engine.options import Options
from dlsp_engine.text.prompt import Gap, Prompt
from dlsp_engine.text.tokenizer import Tokenizer


class Request(ABC):
    """A request in progress. Call `plan` and `take` in turn until it is `done`; then `outcome` returns the result. Any
    number of requests may share a step (`shared_step.share_step`).
    """

    def __init__(self, session: Session, options: Options) -> None:
        self.session = session
        self.options = options
        self.cost = Cost()
        # Index of the first row whose logits are needed; the rows before it are prefilled.
        self.prompt_end = 0
        # Steps since the last one that had room for it.
        self.left_out = 0
        self.half_taken = False
        self.rows_run = 0  # rows of all its steps, those of its prompt included
        self._prefilled_rows = 0  # prompt rows in the step that was planned last
        self._created: float | None = time.perf_counter()

    @property
    @abstractmethod
    def done(self) -> bool: ...

    @abstractmethod
    def outcome(self) -> Any: ...

    def close(self) -> None:
        """Release what only an unfinished request needs."""
        return

    @property
    def bytes(self) -> int:
        """Bytes of keys and values that it holds, or will hold once its prompt is prefilled."""
        cache = self.session.cache
        return max(cache.bytes, cache.bytes_of(self.prompt_end))

    @property
    def prefilling(self) -> bool:
        return self._uncached_prompt > 0

    @property
    def _uncached_prompt(self) -> int:
        """Number of prompt rows still to be prefilled; 0 or less if there are none."""
        return self.prompt_end - self.session.cache.length

    def borrow(self, others: Iterable[Session]) -> None:
        """Copy the longest prefix of the prompt that one of `others` has cached, if that saves enough rows."""
        if self._uncached_prompt >= MIN_COPIED_ROWS:
            best = max(others, key=lambda other: min(other.cache.length, self.session.shares(other)), default=None)
            if best:
                self.cost.cached_tokens += self.session.borrow(best, self.prompt_end)

    def plan(self, room: int, sharing: int, separate_prefill: bool = False) -> RowsStep:
        """Return the rows of the next step, at most `room` of them from the prompt. `sharing` sessions share its cost.

        The end of the prompt and the first rows of the answer go into one step if they fit. Any step takes at least as
        long as reading the weights, so two small ones would take about twice as long as one. With `separate_prefill`
        the two are never mixed.
        """
        uncached = max(0, self._uncached_prompt)
        if not uncached or (uncached < room and not separate_prefill):
            rows = self._plan_answer(room, sharing)
            if not uncached or len(rows) <= room:
                self._prefilled_rows = uncached
                return RowsStep(self.session.cache, rows)
        rows = self.session.prefill(room, self.prompt_end)
        assert rows, "something of the prompt is not cached"
        self._prefilled_rows = len(rows)
        return RowsStep(self.session.cache, rows)

    def start(self) -> None:
        """Called when the first step is about to run: records the time spent in the queue."""
        if self._created is not None:
            self.cost.queue_ms = 1e3 * (time.perf_counter() - self._created)
            self._created = None

    def take(self, step: RowsStep, result: Scored) -> None:
        """Process the result of the planned `step`. If that raises an exception, `half_taken` stays true and the
        request cannot go on.
        """
        self.half_taken = True
        self._take(step, result)
        self.half_taken = False

    def _take(self, step: RowsStep, result: Scored) -> None:
        """As `take`. Prefill and decode are each charged their rows' share of the step's time."""
        began = time.perf_counter()
        self.rows_run += len(step.rows)
        rows = len(step.rows) - self._prefilled_rows
        prefill_ms = result.milliseconds * self._prefilled_rows / len(step.rows)
        self.cost.prefill_ms += prefill_ms
        if not rows:
            self.session.extend([], self._prefilled_rows)
            return
        self._take_answer(result.scores)
        self.cost.forwards += 1
        self.cost.rows += rows
        self.cost.decode_ms += result.milliseconds - prefill_ms + 1e3 * (time.perf_counter() - began)

    @abstractmethod
    def _plan_answer(self, room: int, sharing: int) -> Rows:
        """Return the rows whose logits are needed, after the prompt rows that are not cached yet; see `plan`."""

    @abstractmethod
    def _take_answer(self, scores: Scores) -> None:
        """Process the scored rows of `_plan_answer`."""


class GapRequest(Request):
    """Fills one gap in one of the three modes. If the session was used at another place before, `set_aside` is a
    session that keeps that place's KV cache; else it is None.
    """

    def __init__(
        self,
        gap: Gap,
        opening: Prompt,
        options: Options,
        session: Session,
        tokenizer: Tokenizer,
        drafting: Drafting,
        drafter: Drafter | None = None,
    ) -> None:
        session.convention.demand(options.mode)
        super().__init__(session, options)
        self.set_aside = session.set_aside(opening.tokens)
        self.cost.prompt_tokens = len(opening.tokens)
        self.cost.cached_tokens = session.advance(opening.tokens, options.max_tokens)
        self.prompt_end = session.convention.cacheable(len(opening.tokens) - 1)
        self.answer = Answer(gap, options, tokenizer, opening.forced)
        self._decoder = make_decoder(session, self.answer, drafting, drafter, opening.behind)

    @property
    def decoder(self) -> Decoder:
        return self._decoder

    @property
    def done(self) -> bool:
        return self.decoder.done

    def outcome(self) -> Fill:
        return self.answer.fill(self.cost)

    def state(self) -> tuple[str, list[str | None]]:
        """Return the committed text, and the canvas as one text per token, with None for a mask."""
        tokenizer = self.answer.tokenizer
        canvas = [None if token == MASK else tokenizer.decode([token]) for token in self.decoder.canvas]
        return self.answer.text, canvas

    def _plan_answer(self, room: int, sharing: int) -> Rows:
        return self.decoder.plan(sharing)

    def _take_answer(self, scores: Scores) -> None:
        self.decoder.take(scores)
        self.cost.tokens = self.answer.committed


def make_decoder(
    session: Session,
    answer: Answer,
    drafting: Drafting,
    drafter: Drafter | None = None,
    behind: Sequence[int] = (),
) -> Decoder:
    """Return a decoder for the checkpoint's convention and the mode that the answer's options name. `behind` are the
    tokens behind the gap, for a checkpoint that sees the whole text.
    """
    options, attention = answer.options, session.convention.attention
    if attention == BLOCK:
        return Block(session, answer)
    if attention == WHOLE:
        return Whole(session, answer, behind)
    if options.mode == "autoregressive":
        return Autoregressive(session, answer)
    if options.mode == "diffusion":
        return Diffusion(session, answer)
    if drafter is None and options.copy:
        copier = Copier(answer.tokenizer.stops)
        return Verified(session, answer, drafting, copier, session.previous_answer)
    return Verified(session, answer, drafting, drafter)
