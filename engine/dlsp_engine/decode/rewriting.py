"""Decoding a text that is to become another: the old text is the draft of the new one."""

from dataclasses import dataclass

import torch
from torch import Tensor

from dlsp_engine.decode.alignment import Alignment
from dlsp_engine.decode.answer import Answer
from dlsp_engine.decode.budget import StepPlan
from dlsp_engine.decode.draft import AGREED_SINCE, MAX_COPIED, NO_DRAFT, Draft, Drafter, copy_confidence
from dlsp_engine.decode.scores import Scores
from dlsp_engine.decode.session import PREFILL_ROWS, Session, common
from dlsp_engine.decode.verify import Drafting, Verified
from dlsp_engine.model.qwen2 import Model
from dlsp_engine.model.rows import Rows

DRAFTED_P = 0.99  # confidence in a token of the old text where the new one agrees with it


@dataclass(frozen=True)
class Doubt:
    """How many nats likelier than the old text's token the likeliest other one is; negative where the old one is
    likelier. The old token is number `at` of the old text.
    """

    nats: float
    at: int


class Rewriting(Verified):
    """Verified decoding of a text that is to become another. The first steps read the old text, as many rows of it as
    a step takes, and find the first token that does not stand; behind a change, the old text is the draft again from
    where the new one is back in it. So a text that stays the same takes one step for each so many rows.

    A token of the old text stands unless another one is more than `margin` nats likelier. That holds where the new text
    agrees with the old one (`Alignment.sure`); elsewhere, and at margin 0 everywhere, the likeliest token is taken, so
    the answer is that of autoregressive decoding. `doubt` is the largest one at these places so far.

    Besides at the end token, the answer ends where it has come to the end of the old text (`Alignment.ended`), with the
    reason `window`: the model would go on with what stands behind the window. If it was trained to end its answer
    (`ends`), it may write more there, and says itself where the answer ends.

    `forbidden` is the number of a token of the old text that must not stand where all tokens before it do: the
    likeliest other one is written there.

    In the mode `autoregressive` nothing is drafted.
    """

    def __init__(
        self,
        session: Session,
        answer: Answer,
        drafting: Drafting,
        drafter: Drafter | None,
        old: list[int],
        margin: float,
        forbidden: int | None = None,
        ends: bool = False,
    ) -> None:
        self.margin = margin
        self.forbidden = forbidden
        self.ends = ends
        self.doubt: Doubt | None = None
        self._alone = answer.options.mode == "autoregressive"
        self._alignment, self._followed = Alignment(tuple(old)), 0
        self._room = PREFILL_ROWS
        super().__init__(session, answer, drafting, drafter)

    def plan(self, sharing: int, room: int = PREFILL_ROWS) -> Rows:
        """Return the rows of the next step; the old text takes at most `room` of them."""
        self._room = room
        return super().plan(sharing)

    @property
    def wanted_rows(self) -> int:
        """How many rows the next step would have if there were room."""
        return len(self.session.pending) + len(self.draft.tokens)

    def take(self, scores: Scores) -> None:
        logits = scores.logits
        planned, before = self._planned, len(self.answer.tokens)
        assert planned, "plan comes before take"
        draft = self.draft.tokens[: planned.plan.verify]
        aligned = [self._alignment]
        for token in draft:
            aligned.append(aligned[-1].after(token))
        places = dict(enumerate(aligned))  # index in the logits -> what it is aligned to
        for row, node in enumerate(planned.plan.alternatives, 1 + len(draft)):
            places[planned.logits_of[row]] = aligned[node.offset].after(node.token)
        doubts = self._weigh(logits, {row: each for row, each in places.items() if each.sure})
        super().take(Scores(logits))  # which `_weigh` has changed
        written = self.answer.tokens[before:]
        accepted = common(draft, written)
        used = list(range(accepted + 1))
        if len(written) > accepted:
            alternative = planned.plan.alternative(accepted, written[accepted])
            used += [] if alternative is None else [planned.logits_of[alternative]]
        found = [doubts[row] for row in used if row in doubts]
        self.doubt = max([*([self.doubt] if self.doubt else []), *found], key=lambda doubt: doubt.nats, default=None)

    @torch.inference_mode()
    def _weigh(self, logits: Tensor, places: dict[int, Alignment]) -> dict[int, Doubt]:
        """Add the margin to the logit of the old text's token in each row that is aligned, and return the rows'
        doubts.
        """
        old, doubts = self._alignment.old, dict[int, Doubt]()
        within = {row: each.at for row, each in places.items() if each.at < len(old)}
        if within:
            rows, tokens = list(within), [old[at] for at in within.values()]
            own = logits[rows, tokens]
            logits[rows, tokens] = -torch.inf
            nats = (logits.amax(-1)[rows] - own).tolist()
            logits[rows, tokens] = own + self.margin
            for row, token in zip(rows, tokens, strict=True):
                if self._is_forbidden(places[row]):
                    logits[row, token] = -torch.inf
            doubts |= {row: Doubt(each, within[row]) for row, each in zip(rows, nats, strict=True)}
        return doubts

    def _is_forbidden(self, place: Alignment) -> bool:
        return place.at == self.forbidden and place.unchanged

    def _commit(self, tokens: list[int], log_p: list[float], cached: int) -> None:
        alignment, count = self._alignment, 0
        while count < len(tokens) and (self.ends or not alignment.ended):
            alignment, count = alignment.after(tokens[count]), count + 1
        super()._commit(tokens[:count], log_p[:count], cached)
        if alignment.ended and not self.ends:
            self.answer.reason = self.answer.reason or "window"

    def _decide(self, sharing: int) -> StepPlan:
        if self._alone:
            return StepPlan(0, (), 0)
        if not self._alignment.sure:
            return super()._decide(sharing)
        return StepPlan(min(len(self.draft.tokens), max(0, self._room - len(self.session.pending))), (), 0)

    def _next_draft(self, read: Draft) -> Draft:
        """Return the rest of the old text if the new one agrees with it; else what is expected to have most tokens
        accepted: a part of the old text, a copied draft, or the draft `read` from a canvas.
        """
        for token in self.answer.tokens[self._followed :]:
            self._alignment = self._alignment.after(token)
        self._followed = len(self.answer.tokens)
        if self._alone or self._is_forbidden(self._alignment):
            return NO_DRAFT
        old, at, agreed = self._alignment.old, self._alignment.at, self._alignment.agreed
        if self._alignment.sure:
            rest = list(old[at:])
            return self._until_end(Draft(rest, [DRAFTED_P] * len(rest)))
        some = list(old[at : at + MAX_COPIED])
        sure = [copy_confidence(1 + AGREED_SINCE * (agreed + place)) for place in range(len(some))]
        kept, other = self._until_end(Draft(some, sure)), super()._next_draft(read)
        return kept if kept.expected >= other.expected else other


def rewritten_plainly(
    model: Model,
    prompt: list[int],
    old: list[int],
    stops: frozenset[int],
    most: int,
    margin: float = 0.0,
    force: float | None = None,
    ends: bool = False,
) -> list[int]:
    """Return the new text of `old` after `prompt`, with the end token if there is one, at most `most` tokens: one token
    after the other, each from a forward over all tokens before it. If that is `old` and the largest doubt is above
    `force`, the text goes on with another token where that is. The reference for `Rewriting` and `RewriteRequest`.
    """
    answer, doubts = _written(model, prompt, old, stops, most, margin, None, ends)
    doubt = max(doubts, key=lambda each: each.nats, default=None)
    if force is None or doubt is None or doubt.nats <= force or [one for one in answer if one not in stops] != old:
        return answer
    return _written(model, prompt, old, stops, most, margin, doubt.at, ends)[0]


def _written(
    model: Model,
    prompt: list[int],
    old: list[int],
    stops: frozenset[int],
    most: int,
    margin: float,
    forbidden: int | None,
    ends: bool,
) -> tuple[list[int], list[Doubt]]:
    answer: list[int] = []
    doubts: list[Doubt] = []
    alignment = Alignment(tuple(old))
    while len(answer) < most and (ends or not alignment.ended) and not (answer and answer[-1] in stops):
        rows = Rows()
        rows.add_clean([*prompt, *answer], 0)
        logits = model.head(model.forward([(model.new_cache(), rows)])[-1:])[0].clone()
        if alignment.sure and alignment.at < len(old):
            token = old[alignment.at]
            own, logits[token] = float(logits[token]), -torch.inf
            doubts.append(Doubt(float(logits.max()) - own, alignment.at))
            if answer != old[:forbidden] or alignment.at != forbidden:
                logits[token] = own + margin
        answer.append(int(logits.argmax()))
        alignment = alignment.after(answer[-1])
    return answer, doubts
