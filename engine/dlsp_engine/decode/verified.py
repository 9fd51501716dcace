"""Verified decoding: the canvas drafts, the same weights check the draft causally in the next step."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import mul

from torch import Tensor

from dlsp_engine.decode.answer import Answer
from dlsp_engine.decode.budget import Acceptance, Costs, Plan, plan
from dlsp_engine.decode.decoder import Decoder, masks
from dlsp_engine.decode.guess import Guess, guess
from dlsp_engine.decode.session import Session, common
from dlsp_engine.model.bigrams import Bigrams
from dlsp_engine.model.rows import Rows

Drafter = Callable[[list[int]], Guess]
"""Known tokens -> tokens that may follow them; none when it has no idea."""


@dataclass(frozen=True)
class Drafting:
    """What drafts go by: what a step costs here, how often drafts stood of late, and how a canvas is read."""

    costs: Costs
    acceptance: Acceptance
    bigrams: Bigrams | None = None


@dataclass(frozen=True)
class Draft:
    """Proposed tokens, and the probability of each to stand if those before it do."""

    tokens: list[int]
    confidence: list[float]
    canvas: bool = False  # whether its fate says something about later canvases

    @property
    def run(self) -> float:
        """How many are expected to stand."""
        return sum(accumulate(self.confidence, mul))


NONE = Draft([], [])

RECALLED = 0.95
"""The confidence in a token of the answer before: typing that agreed with it changes nothing but rounding."""

LONGEST = 32


class Verified(Decoder):
    """At temperature 0 the answer is `Autoregressive`'s own, whatever is drafted.

    The schedule `split` lays a canvas only when there is nothing to verify; `merged` lays one after each clean row
    where acceptance may stop, and goes on from the canvas of the row where it did; `auto` decides step by step what
    pays (`budget.plan`). Canvases have at most `draft` masks; 0 lays none.
    """

    def __init__(
        self,
        session: Session,
        answer: Answer,
        drafting: Drafting,
        drafter: Drafter | None = None,
        recalled: Sequence[int] = (),
    ) -> None:
        """`recalled` is how the answer before this one went on from here, if it is to be drafted again."""
        super().__init__(session, answer)
        self.drafting = drafting
        self.drafter = drafter
        self._recalled, self._start = list(recalled), len(session.tokens)
        self.draft = self._propose(NONE)
        self._plan: Plan | None = None

    @property
    def canvas(self) -> list[int]:
        return self.draft.tokens or masks(self.answer.options.draft)

    def plan(self, sharing: int) -> Rows:
        self._plan = self._decide(sharing)
        rows = self._clean(self.draft.tokens[: self._plan.verify])
        first = len(self.session.pending) - 1
        for anchor in self._plan.anchors:
            rows.add_canvas(masks(self._plan.width), after=rows.positions[first + anchor])
        return rows

    def take(self, logits: Tensor) -> None:
        laid = self._plan
        assert laid, "plan comes before take"
        draft = self.draft.tokens[: laid.verify]
        chosen = self.answer.choose(logits[: 1 + len(draft)], draft)
        run = common(draft, chosen)  # a draft token stands if it is what the row before it chose
        if self.draft.canvas:
            self.drafting.acceptance.saw(len(draft), run)
        stand = chosen[: run + 1]
        self._commit(stand, self.answer.log_p(logits[: run + 1], stand), stood=len(self.session.pending) + run)
        guessed = NONE
        if run in laid.anchors and not self.done:
            start = 1 + len(draft) + laid.anchors.index(run) * laid.width
            canvas = logits[start : start + laid.width]
            guessed = Draft(*guess(canvas, self.session.tokens, self.drafting.bigrams), canvas=True)
        self.draft = self._propose(guessed)

    @property
    def on_device(self) -> tuple[int, list[int]] | None:
        return (self.answer.options.draft, self.draft.tokens) if self._greedy else None

    def take_device_step(
        self, tokens: list[int], log_p: list[float], guess: list[int], probability: list[float]
    ) -> None:
        if self.draft.canvas:
            drafted = min(len(self.draft.tokens), self.answer.options.draft)
            self.drafting.acceptance.saw(drafted, len(tokens) - 1)
        self._commit(tokens, log_p, stood=len(tokens))
        self.draft = self._propose(Draft(guess, probability, canvas=True))

    def _decide(self, sharing: int) -> Plan:
        options, drafted = self.answer.options, len(self.draft.tokens)
        if options.schedule == "auto":
            costs, acceptance = self.drafting.costs.shared(sharing), self.drafting.acceptance
            least, beside = int(self.draft.canvas), len(self.session.pending) - 1
            return plan(self.draft.confidence, options.draft, costs, acceptance, least, beside)
        canvases = range(1 + drafted) if options.schedule == "merged" or not drafted else range(0)
        return Plan(drafted, tuple(canvases) if options.draft else (), options.draft)

    def _propose(self, guessed: Draft) -> Draft:
        """How the answer before went on; or a copy or what the canvas guessed, whichever is surer."""
        if again := self._recall():
            return Draft(again, [RECALLED] * len(again))
        copied = Draft(*self.drafter(self.session.tokens)) if self.drafter else NONE
        best = copied if copied.run > guessed.run else guessed
        useful = self.answer.useful(best.tokens)
        return Draft(useful, best.confidence[: len(useful)], best.canvas)

    def _recall(self) -> list[int]:
        """How the answer before this one goes on, as long as this one has agreed with it."""
        known = self.session.tokens[self._start :]
        agreed = self._recalled[: len(known)] == known
        return self.answer.useful(self._recalled[len(known) :][:LONGEST]) if agreed else []
