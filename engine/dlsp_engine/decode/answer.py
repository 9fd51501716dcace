"""The answer to a gap: the tokens committed so far, and where it ends. All decoding modes use it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from dlsp_engine.decode.combined import All
from dlsp_engine.decode.constraint import Constraint, Healing
from dlsp_engine.decode.ends import Ending
from dlsp_engine.decode.sampling import Sampler
from dlsp_engine.decode.scores import Scores
from dlsp_engine.errors import EngineError
from dlsp_engine.options import Options
from dlsp_engine.text.prompt import Gap
from dlsp_engine.text.tokenizer import Tokenizer

TRIED_TOKENS = 8  # likeliest tokens that a constraint is asked for, one by one, before it computes a mask
NOTHING = (
    "The constraint allows nothing at this place of the answer, not even its end. If it has several parts, they "
    "contradict each other here."
)


@dataclass
class Cost:
    """What one answer took. `forwards` and `rows` count the steps of decoding and their rows, without those of prefill.
    `tokens` counts the committed tokens, the end token included. `prompt_tokens` is the length of the prompt, of which
    `cached_tokens` did not have to be prefilled. Times are wall-clock milliseconds; a shared step counts in full for
    each request.
    """

    forwards: int = 0
    rows: int = 0
    tokens: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    queue_ms: float = 0.0
    prefill_ms: float = 0.0
    decode_ms: float = 0.0

    @property
    def tau(self) -> float:
        """Tokens committed per step, prefill excluded."""
        return self.tokens / self.forwards if self.forwards else 0.0


@dataclass(frozen=True)
class Fill:
    """The finished answer to one gap. `tokens` are the committed ones without the end token, `reason` says why it
    ended, and `confidence` is that of `Answer`.
    """

    text: str
    reason: str
    tokens: tuple[int, ...]
    cost: Cost
    confidence: tuple[tuple[int, float], ...] = ()


class Answer:
    """The answer to one gap while it grows: the committed tokens without the end token, and `reason`, which says why
    the answer ended and is None until then.

    `constraint` says which tokens may come next behind the committed ones; it is None if any may. `confidence` has a
    pair for each committed token, the end token included: the number of characters that it added to the text, and its
    log-probability.
    """

    def __init__(self, gap: Gap, options: Options, tokenizer: Tokenizer, forced: bytes = b"") -> None:
        """`forced` are bytes that the document already has and with which the answer must begin (token healing); they
        are not part of `text`.
        """
        self.options = options
        self.tokenizer = tokenizer
        self.tokens: list[int] = []
        self.committed = 0
        self.confidence: list[tuple[int, float]] = []
        self.constraint: Constraint | None = None
        if options.constraint:
            self.constraint = options.constraint.begin(gap, len(forced), options.end)
            if forced and not options.constraint.whole:
                self.constraint = All([Healing(forced, tokenizer), self.constraint], tokenizer)
        elif forced:
            self.constraint = Healing(forced, tokenizer)
        self.reason: str | None = "end" if self.constraint and self.constraint.complete else None
        self._written = ""
        self._sampler = Sampler(options.temperature, options.top_p, options.top_k, options.min_p, options.seed)
        self._ending = Ending(options.end, options.stop, gap.written, gap.suffix, gap.path, len(forced))

    @property
    def text(self) -> str:
        return self._written[: self._ending.cut]

    @property
    def settled(self) -> str:
        """The text that no later token can take back, under the rule `text`: what may be the beginning of a stop text
        is not part of it.
        """
        return self._written[: self._ending.settled]

    def fill(self, cost: Cost) -> Fill:
        return Fill(self.text, self.reason or "cancelled", tuple(self.tokens), cost, tuple(self.confidence))

    def next_tokens(self, scores: Scores, draft: list[int], first: int = 0) -> list[int]:
        """Return the token that each row chooses. Row i chooses as if draft[: first + i] were committed.

        A token is chosen among those that the constraint allows, and an end token only where the gap may end. With the
        rows of the last committed token and of the draft's tokens that is enough to verify the draft: it is accepted up
        to its first token that differs from the choice of the row before it. The constraint does not bind what comes
        behind that.
        """
        sampler, logits = self._sampler, scores.logits
        chosen = scores.best() if sampler.greedy else sampler.choose(logits, len(self.tokens) + first)
        if self.constraint:
            self._constrain(chosen, logits, draft, first)
        for i, token in enumerate(chosen[: 1 + len(draft) - first]):  # what stands before later rows is not known
            if token in self.tokenizer.stops:
                chosen[i] = self._allowed(token, logits[i], draft[: first + i])
        return chosen

    def _constrain(self, chosen: list[int], logits: Tensor, draft: list[int], first: int) -> None:
        """Replace what rows chose and the constraint does not allow; see `next_tokens`."""
        constraint, greedy = self.constraint, self._sampler.greedy
        assert constraint, "there is one"
        for token in draft[:first]:
            constraint.advance(token)
        advanced = first
        for i in range(min(len(logits), 1 + len(draft) - first)):
            if not (greedy and constraint.valid(chosen[i : i + 1])):
                chosen[i] = self._chosen_within(logits[i], chosen[i], len(self.tokens) + first + i)
            if draft[first + i : first + i + 1] != [chosen[i]] or chosen[i] in self.tokenizer.stops:
                break
            constraint.advance(chosen[i])
            advanced += 1
            if constraint.complete:
                break
        constraint.rollback(advanced)

    def _chosen_within(self, logits: Tensor, likeliest: int, place: int) -> int:
        """Return the token that logits [vocab] choose among those that the constraint allows, as the answer's number
        `place`; `likeliest` is their choice among all. A mask takes as long as asking for many tokens, so the likeliest
        are tried first.
        """
        constraint, sampler = self.constraint, self._sampler
        assert constraint, "there is one"
        if sampler.greedy:
            others, token = logits.clone(), likeliest
            for _ in range(min(TRIED_TOKENS, len(logits) - 1)):
                others[token] = -torch.inf
                (token,) = sampler.choose(others[None], place)
                if constraint.valid([token]):
                    return token
        if (mask := constraint.allowed()) is None:
            return likeliest
        if not mask.any():
            raise EngineError(NOTHING)
        return sampler.choose(masked(logits, mask)[None], place)[0]

    def draft_noise(self, candidates: np.ndarray, vocab: int) -> np.ndarray | None:
        """Return the noise with which the next tokens will be drawn, for candidates [tokens, n]; see
        `Sampler.draft_noise`.
        """
        return self._sampler.draft_noise(candidates, len(self.tokens), vocab)

    def _allowed(self, end: int, logits: Tensor, draft: list[int]) -> int:
        """Return `end`, the end token that logits [vocab] chose after `draft`, if the gap may end there; else what they
        choose among other tokens: among line breaks, if the model has no more to say in the line.
        """
        ending = self._ending_after(draft)
        if ending.may_end:
            return end
        others = logits.clone()
        others[sorted(self.tokenizer.stops)] = -torch.inf
        if self.constraint:
            others = self._within(others, draft)
        if ending.breaks:
            breaking = others.clone()
            self._allow(breaking, self.tokenizer.completions(b"\n"))
            others = breaking if bool((breaking > -torch.inf).any()) else others
        if not bool((others > -torch.inf).any()):
            return end
        return self._sampler.choose(others[None], len(self.tokens) + len(draft))[0]

    def _within(self, logits: Tensor, draft: list[int]) -> Tensor:
        """Return logits [vocab] with -inf for the tokens that the constraint does not allow behind `draft`."""
        constraint = self.constraint
        assert constraint, "there is one"
        for token in draft:
            constraint.advance(token)
        mask = constraint.allowed()
        constraint.rollback(len(draft))
        return logits if mask is None else masked(logits, mask)

    def refused(self, tokens: list[int]) -> int | None:
        """Return the index of the first of `tokens` that may not come there, since the constraint forbids it or since
        it would end the gap where that may not end; else None. `next_tokens` chooses no such token; this is for tokens
        that come from elsewhere.
        """
        valid = self.constraint.valid(tokens) if self.constraint else len(tokens)
        for i, token in enumerate(tokens[:valid]):
            if token in self.tokenizer.stops:
                return None if self._ending_after(tokens[:i]).may_end else i
        return valid if valid < len(tokens) else None

    def log_probabilities(self, scores: Scores, tokens: list[int]) -> list[float]:
        """Return the log-probability of each of `tokens` [n] at temperature 1, given the scores of the n rows that
        chose them; relative to the tokens that the constraint allows, if it is known to hold. Call this before the
        tokens are committed.
        """
        if not self.constraint or not self.constraint.known:
            return scores.log_p(tokens)
        found: list[float] = []
        advanced = 0
        for row, token in zip(scores.logits, tokens, strict=True):
            mask = self.constraint.given()
            found.append(float((row if mask is None else masked(row, mask)).log_softmax(-1)[token]))
            if token in self.tokenizer.stops:
                break
            self.constraint.advance(token)
            advanced += 1
            if self.constraint.complete:
                break
        self.constraint.rollback(advanced)
        return found + [0.0] * (len(tokens) - len(found))  # those behind the end are never committed

    def finish(self) -> None:
        """End the answer here, where no token says so: nothing of the gap is open any more."""
        self.reason = self.reason or "end"

    def commit(self, tokens: list[int], log_p: list[float]) -> None:
        """Commit tokens one by one, each with its log-probability, until one of them ends the gap; the rest are
        dropped.
        """
        for token, sure in zip(tokens, log_p, strict=True):
            if self.reason:
                return
            self.committed += 1
            if token in self.tokenizer.stops:
                self.confidence.append((0, sure))
                self.reason = "end"
                return
            self.tokens.append(token)
            text = self._ending.feed(self.tokenizer.token_bytes(token))
            self._written += text
            self.confidence.append((len(text), sure))
            self.reason = self._ending.reason
            self._advance(token)
            if not self.reason and len(self.tokens) >= self.options.max_tokens:
                self.reason = "length"

    def _advance(self, token: int) -> None:
        """Tell the constraint of a committed token. Ends the answer if only the end is allowed behind it."""
        if self.constraint:
            self.constraint.advance(token)
            if self.constraint.complete:
                self.reason = self.reason or "end"
            elif self.constraint.free:
                self.constraint = None

    def until_end(self, draft: list[int], others: Sequence[Sequence[int]] = ()) -> tuple[list[int], list[list[bool]]]:
        """Return the draft up to and including the token that would end the gap, and up to the first that the
        constraint does not allow: tokens behind these can never be committed. Return also, for the places of that draft
        for which there are `others`, whether each of these tokens would end the gap in place of the draft's.
        """
        if self.constraint:
            draft = draft[: self.constraint.valid(draft)]
        draft = draft[: self.options.max_tokens - len(self.tokens)]
        ending, ends = self._ending.copy(), list[list[bool]]()
        for place, token in enumerate(draft):
            if place < len(others):
                ends.append([self._would_end(ending, place, other) for other in others[place]])
            ending.feed(self.tokenizer.token_bytes(token))
            if token in self.tokenizer.stops or ending.reason:
                return draft[: place + 1], ends
        return draft, ends

    def _would_end(self, before: Ending, place: int, token: int) -> bool:
        """Whether `token` would end the gap as number `place` of those committed next; `before` is the state of the
        gap's end before it.
        """
        if token in self.tokenizer.stops or len(self.tokens) + place + 1 >= self.options.max_tokens:
            return True
        ending = before.copy()
        ending.feed(self.tokenizer.token_bytes(token))
        return ending.reason is not None

    def _ending_after(self, tokens: list[int]) -> Ending:
        """Return the state of the gap's end if `tokens` were committed next."""
        if not tokens:
            return self._ending
        ending = self._ending.copy()
        for token in tokens:
            ending.feed(self.tokenizer.token_bytes(token))
        return ending

    @staticmethod
    def _allow(row: Tensor, allowed: Tensor) -> None:
        """Set all logits of a row [vocab] to -inf but those of the ids in `allowed` [n]."""
        kept = row[allowed]
        row.fill_(-torch.inf)
        row[allowed] = kept


def masked(row: Tensor, mask: np.ndarray) -> Tensor:
    """Return a row of logits [vocab] with -inf for the tokens that a constraint's mask [n] does not allow."""
    return torch.where(torch.from_numpy(fitted(mask, len(row))).to(row.device), row, -torch.inf)


def fitted(mask: np.ndarray, vocab: int) -> np.ndarray:
    """Return a constraint's mask with `vocab` ids."""
    return np.pad(mask, (0, vocab - len(mask))) if len(mask) < vocab else mask[:vocab]
