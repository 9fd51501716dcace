"""Verified decoding: one step verifies a draft causally and drafts what comes next, with the same weights."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dlsp_engine.decode.answer import Answer, masked
from dlsp_engine.decode.budget import Acceptance, Costs, StepPlan, best_plan, fixed_plan
from dlsp_engine.decode.decoder import Decoder, masks
from dlsp_engine.decode.draft import NO_DRAFT, Draft, Drafter, Text, joined, only, pick, read_canvas
from dlsp_engine.decode.scores import Scores
from dlsp_engine.decode.session import Session, common
from dlsp_engine.model.bigrams import Bigrams
from dlsp_engine.model.rows import Rows

PREVIOUS_P = 0.95  # confidence in a token of the previous answer: if typing agreed with it, only rounding differs
MAX_PREVIOUS = 32  # tokens of the previous answer that are drafted at once, at most


@dataclass(frozen=True)
class Drafting:
    """What drafts depend on: the costs of a step on this machine, how often drafts were accepted in recent steps, the
    bigrams used to read a canvas, and whether the model can verify alternatives.
    """

    costs: Costs
    acceptance: Acceptance
    bigrams: Bigrams | None
    alternatives: bool


@dataclass
class PlannedStep:
    """A plan, and where its rows are in the step. Clean rows are numbered as in `StepPlan`."""

    plan: StepPlan
    logits_of: list[int]  # for each clean row: its index in the step's logits
    canvas_logits: dict[int, int] = field(default_factory=dict)  # clean row -> first logits index of its canvas
    row_of: list[int] = field(default_factory=list)  # for each index in the logits: the row of the step


class Verified(Decoder):
    """Verified decoding. At temperature 0 the answer is that of `Autoregressive`, whatever is drafted.

    A draft's token is accepted if it is what the row before it chose; the first that is not is replaced by that choice.
    Likely alternatives to the draft's tokens are verified too, each in a row of its own: a tree whose branches are
    single leaves (SpecInfer, arXiv 2305.09781).

    The schedule `split` has a canvas only in steps with nothing to verify. `merged` has one after each clean row where
    acceptance may stop, and continues with the canvas of the row where it did. `auto` decides step by step what is
    cheapest (`budget.best_plan`). A canvas has at most `options.draft` masks; 0 means no canvas.
    """

    def __init__(
        self,
        session: Session,
        answer: Answer,
        drafting: Drafting,
        drafter: Drafter | None = None,
        previous: Sequence[int] = (),
    ) -> None:
        """`previous` is how the previous answer continued from here, if that is to be drafted again."""
        super().__init__(session, answer)
        self.drafting = drafting
        self.drafter = drafter
        self._previous, self._start = list(previous), len(session.tokens)
        self._text = Text()
        self.draft = self._next_draft(NO_DRAFT)
        self._planned: PlannedStep | None = None

    @property
    def canvas(self) -> list[int]:
        return self.draft.tokens or masks(self.answer.options.draft)

    def plan(self, sharing: int) -> Rows:
        chosen = self._decide(sharing)
        rows = self._clean_rows(self.draft.tokens[: chosen.verify])
        planned = self._planned = PlannedStep(chosen, list(range(1 + chosen.verify)))
        last_committed = rows.positions[-1] - chosen.verify
        for row, node in enumerate(chosen.alternatives, 1 + chosen.verify):
            planned.logits_of.append(len(rows.scored))
            planned.canvas_logits[row] = len(rows.scored) + 1
            width = chosen.width if row in chosen.canvas_after else 0
            rows.add_alternative(node.token, last_committed + 1 + node.offset, masks(width))
        for row in chosen.canvas_after:
            if row <= chosen.verify:
                planned.canvas_logits[row] = len(rows.scored)
                rows.add_canvas(masks(chosen.width), after=last_committed + row)
        planned.row_of = rows.scored
        return rows

    def take(self, scores: Scores) -> None:
        planned, session = self._planned, self.session
        assert planned, "plan comes before take"
        draft = self.draft.tokens[: planned.plan.verify]
        tokens = self.answer.next_tokens(scores[: 1 + len(draft)], draft)
        last_row = accepted = common(draft, tokens)
        if self.draft.canvas and not self.answer.constraint:  # a constraint makes drafts better than they are elsewhere
            self.drafting.acceptance.record(len(draft), accepted)
        tokens, used, cached = tokens[: accepted + 1], scores[: accepted + 1], len(session.pending) + accepted
        alternative = planned.plan.alternative(accepted, tokens[accepted])
        # The replacement was verified as an alternative: its row chooses one more token.
        if alternative is not None:
            last_row, at = alternative, planned.logits_of[alternative]
            used = scores[[*range(accepted + 1), at]]
            tokens = tokens + self.answer.next_tokens(scores[at : at + 1], tokens, first=accepted + 1)
            session.cache.move(planned.row_of[at], cached)
            cached += 1
        self._commit(tokens, self.answer.log_probabilities(used, tokens), cached)
        read = NO_DRAFT
        if last_row in planned.plan.canvas_after and not self.done:
            start = planned.canvas_logits[last_row]
            read = self._read(scores[start : start + planned.plan.width])
        self.draft = self._next_draft(read)

    def _decide(self, sharing: int) -> StepPlan:
        options = self.answer.options
        nodes = self.draft.nodes(self.drafting.alternatives)
        if options.schedule != "auto":
            return fixed_plan(nodes, options.draft, merged=options.schedule == "merged")
        return best_plan(
            nodes,
            options.draft,
            self.drafting.costs.behind(self.session.cache.length).shared(sharing),
            self.drafting.acceptance,
            min_verified=int(self.draft.canvas),
            prompt_rows=len(self.session.pending) - 1,
        )

    def _read(self, canvas: Scores) -> Draft:
        """Return the draft that a canvas's rows make. Under a constraint one row is read after the other: each has the
        tokens only that are allowed behind those chosen before.
        """
        answer, known, bigrams = self.answer, self._text(self.session.tokens), self.drafting.bigrams
        if not (constraint := answer.constraint):
            return read_canvas(canvas, known, bigrams, answer.draft_noise)
        parts: list[Draft] = []
        text = known
        log_p, candidates = canvas.likeliest()
        noise = answer.draft_noise(candidates, canvas.logits.shape[1])
        for row in range(len(canvas)):
            allowed = np.array([constraint.valid([token]) for token in candidates[row].tolist()], bool)
            if allowed.any():
                found, own_noise = only(log_p[row], allowed), None if noise is None else noise[[row]][:, allowed]
                parts.append(pick(found[None], candidates[[row]][:, allowed], text, bigrams, noise=own_noise))
            elif (mask := constraint.allowed()) is None or not mask.any():
                break
            else:
                parts.append(pick(*Scores(masked(canvas.logits[row], mask)[None]).likeliest(), text, bigrams))
            (token,) = parts[-1].tokens
            if token in answer.tokenizer.stops:
                break
            text = np.append(text, token)
            constraint.advance(token)
            if constraint.complete:
                break
        constraint.rollback(len(text) - len(known))
        return joined(parts)

    def _next_draft(self, read: Draft) -> Draft:
        """Return how the previous answer went on, if it still agrees; else a copied draft or the draft `read` from a
        canvas, whichever is expected to have more tokens accepted. Tokens that a constraint forces come behind it.
        """
        if again := self._previous_answer():
            return Draft(again, [PREVIOUS_P] * len(again))
        copied = Draft(*self.drafter(self.session.tokens)) if self.drafter else NO_DRAFT
        if not self.answer.constraint:
            return self._until_end(copied if copied.expected > read.expected else read)
        drafts = [self._until_end(draft) for draft in (read, copied)]
        return self._with_forced(max(drafts, key=lambda draft: draft.expected))

    def _with_forced(self, draft: Draft) -> Draft:
        """Return the draft and the tokens that the constraint forces behind it."""
        constraint, stops = self.answer.constraint, self.answer.tokenizer.stops
        assert constraint, "there is one"
        if draft.tokens and draft.tokens[-1] in stops:
            return draft
        for token in draft.tokens:
            constraint.advance(token)
        forced = constraint.forced()
        constraint.rollback(len(draft.tokens))
        return self._until_end(joined([draft, Draft(forced, [1.0] * len(forced))]))

    def _until_end(self, draft: Draft) -> Draft:
        """Return the draft up to and including the token that would end the gap, without alternatives that would end
        it: their rows would give nothing more, since the row before already chooses the token.
        """
        others = [[token for token, _ in place] for place in draft.alternatives]
        tokens, ends = self.answer.until_end(draft.tokens, others)
        alternatives = [
            [one for one, end in zip(place, ended, strict=True) if not end]
            for place, ended in zip(draft.alternatives, ends, strict=False)
        ]
        return Draft(tokens, draft.confidence[: len(tokens)], alternatives, draft.canvas)

    def _previous_answer(self) -> list[int]:
        """Return how the previous answer goes on, at most MAX_PREVIOUS tokens and up to where the gap would end; empty
        if this answer has differed from it.
        """
        answered = self.session.tokens[self._start :]
        agreed = self._previous[: len(answered)] == answered
        return self.answer.until_end(self._previous[len(answered) :][:MAX_PREVIOUS])[0] if agreed else []
