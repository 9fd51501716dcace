"""Verified decoding: the canvas drafts, the same weights check the draft causally in the next step."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from torch import Tensor

from dlsp_engine.decode.answer import Answer
from dlsp_engine.decode.budget import Acceptance, Costs, Plan, lay, plan
from dlsp_engine.decode.decoder import Decoder, masks
from dlsp_engine.decode.draft import NONE, Draft, Guess, Node
from dlsp_engine.decode.guess import guess
from dlsp_engine.decode.session import Session, common
from dlsp_engine.model.bigrams import Bigrams
from dlsp_engine.model.rows import Rows

Drafter = Callable[[list[int]], Guess]
"""Known tokens -> tokens that may follow them; none when it has no idea."""


@dataclass(frozen=True)
class Drafting:
    """What drafts go by: what a step costs here, how often drafts stood of late, how a canvas is read, and whether the
    model's steps take alternatives.
    """

    costs: Costs
    acceptance: Acceptance
    bigrams: Bigrams | None
    alternatives: bool


RECALLED = 0.95
"""The confidence in a token of the answer before: typing that agreed with it changes nothing but rounding."""

LONGEST = 32

LIKELY = 0.05
"""Of a draft's tokens the schedules other than `auto` verify those that stand so often."""


@dataclass
class Laid:
    """A planned step: where its rows and canvases are."""

    plan: Plan
    scored: list[int]  # of each clean row but the prompt's, as `Plan.anchors` count them: which row of the logits
    canvases: dict[int, int] = field(default_factory=dict)  # behind each: where in the logits
    rows: list[int] = field(default_factory=list)  # of the logits: which row of the step


class Verified(Decoder):
    """At temperature 0 the answer is `Autoregressive`'s own, whatever is drafted.

    The schedule `split` lays a canvas only when there is nothing to verify; `merged` lays one after each clean row
    where acceptance may stop, and goes on from the canvas of the row where it did; `auto` decides step by step what
    pays (`budget.plan`). Canvases have at most `draft` masks; 0 lays none. Beside a draft's tokens likely alternatives
    to them are verified, each in a row of its own: a tree whose branches are leaves (SpecInfer, arXiv 2305.09781).
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
        self._laid: Laid | None = None

    @property
    def canvas(self) -> list[int]:
        return self.draft.tokens or masks(self.answer.options.draft)

    def plan(self, sharing: int) -> Rows:
        chosen = self._decide(sharing)
        rows = self._clean(self.draft.tokens[: chosen.verify])
        laid = self._laid = Laid(chosen, list(range(1 + chosen.verify)))
        last = rows.positions[-1] - chosen.verify
        for row, node in enumerate(chosen.alternatives, 1 + chosen.verify):
            laid.scored.append(len(rows.scored))
            laid.canvases[row] = len(rows.scored) + 1
            width = chosen.width if row in chosen.anchors else 0
            rows.add_alternative(node.token, last + 1 + node.offset, masks(width))
        for row in chosen.anchors:
            if row <= chosen.verify:
                laid.canvases[row] = len(rows.scored)
                rows.add_canvas(masks(chosen.width), after=last + row)
        laid.rows = rows.scored
        return rows

    def take(self, logits: Tensor) -> None:
        laid, session = self._laid, self.session
        assert laid, "plan comes before take"
        draft = self.draft.tokens[: laid.plan.verify]
        stand = self.answer.choose(logits[: 1 + len(draft)], draft)
        row = run = common(draft, stand)  # a draft token stands if it is what the row before it chose
        if self.draft.canvas:
            self.drafting.acceptance.saw(len(draft), run)
        stand, said, kept = stand[: run + 1], logits[: run + 1], len(session.pending) + run
        if other := laid.plan.alternative(run, stand[run]):
            row, at = other, laid.scored[other]
            said = logits[[*range(run + 1), at]]
            stand = self.answer.choose(said, stand)
            session.cache.move(laid.rows[at], kept)
            kept += 1
        self._commit(stand, self.answer.log_p(said, stand), kept)
        guessed = NONE
        if row in laid.plan.anchors and not self.done:
            start = laid.canvases[row]
            guessed = guess(logits[start : start + laid.plan.width], session.tokens, self.drafting.bigrams)
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
        options = self.answer.options
        nodes = self.draft.nodes(self.drafting.alternatives)
        if options.schedule == "auto":
            costs, acceptance = self.drafting.costs.shared(sharing), self.drafting.acceptance
            least, beside = int(self.draft.canvas), len(self.session.pending) - 1
            return plan(nodes, options.draft, costs, acceptance, least, beside)
        return fixed(nodes, options.draft, merged=options.schedule == "merged")

    def _propose(self, guessed: Draft) -> Draft:
        """How the answer before went on; or a copy or what the canvas guessed, whichever is surer."""
        if again := self._recall():
            return Draft(again, [RECALLED] * len(again))
        copied = Draft(*self.drafter(self.session.tokens)) if self.drafter else NONE
        best = copied if copied.run > guessed.run else guessed
        return self._useful(best)

    def _useful(self, draft: Draft) -> Draft:
        """Up to where the gap would end, and without alternatives that would end it: the row before says as much."""
        tokens, ends = self.answer.useful(draft.tokens), self.answer.ends
        places = enumerate(draft.alternatives[: len(tokens)])
        others = [[one for one in place if not ends([*tokens[:at], one[0]])] for at, place in places]
        return Draft(tokens, draft.confidence[: len(tokens)], others, draft.canvas)

    def _recall(self) -> list[int]:
        """How the answer before this one goes on, as long as this one has agreed with it."""
        known = self.session.tokens[self._start :]
        agreed = self._recalled[: len(known)] == known
        return self.answer.useful(self._recalled[len(known) :][:LONGEST]) if agreed else []


def fixed(nodes: Sequence[Node], width: int, merged: bool) -> Plan:
    """What the schedules other than `auto` lay."""
    likely = [node for node in nodes if node.probability >= LIKELY]
    anchors = range(1 + len(likely)) if merged or not likely else range(0)
    return lay(likely, anchors if width else (), width)
