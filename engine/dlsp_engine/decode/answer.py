"""The answer to a gap: the tokens committed so far, and where it ends. All decoding modes use it."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from dlsp_engine.decode.ends import Ending
from dlsp_engine.decode.sampling import Sampler
from dlsp_engine.options import Options
from dlsp_engine.text.prompt import Gap
from dlsp_engine.text.tokenizer import Tokenizer


@dataclass
class Cost:
    """What one answer took. `forwards` and `rows` count the steps of decoding and their rows, without those of prefill.
    `tokens` counts the committed tokens, the end token included. Times are wall-clock milliseconds; a shared step
    counts in full for each request.
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

    `forced` are bytes that the document already has and with which the answer must begin (token healing); they are not
    part of `text`. `confidence` has a pair for each committed token, the end token included: the number of characters
    that it added to the text, and its log-probability.
    """

    def __init__(self, gap: Gap, options: Options, tokenizer: Tokenizer, forced: bytes = b"") -> None:
        self.options = options
        self.tokenizer = tokenizer
        self.tokens: list[int] = []
        self.committed = 0
        self.confidence: list[tuple[int, float]] = []
        self.forced = forced
        self.reason: str | None = None
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

    def next_tokens(self, logits: Tensor, draft: list[int], first: int = 0) -> list[int]:
        """Return the token that each row chooses, given logits [rows, vocab]. Row i chooses as if draft[: first + i]
        were committed.

        An end token is chosen only where the gap may end. With the rows of the last committed token and of the draft's
        tokens that is enough to verify the draft: it is accepted up to its first token that differs from the choice of
        the row before it.
        """
        forced = self.forced
        for token in draft[:first]:
            forced = self._after(forced, token)
        if forced:
            logits = logits.clone()
            for i in range(len(logits)):
                if forced:
                    self._allow(logits[i], self.tokenizer.completions(forced))
                    forced = self._after(forced, draft[first + i]) if first + i < len(draft) else forced
        chosen = self._sampler.choose(logits, len(self.tokens) + first)
        for i, token in enumerate(chosen[: 1 + len(draft) - first]):  # what stands before later rows is not known
            if token in self.tokenizer.stops:
                chosen[i] = self._allowed(token, logits[i], draft[: first + i])
        return chosen

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
        if ending.breaks:
            self._allow(others, self.tokenizer.completions(b"\n"))
        others[sorted(self.tokenizer.stops)] = -torch.inf
        return self._sampler.choose(others[None], len(self.tokens) + len(draft))[0]

    def refused(self, tokens: list[int]) -> int | None:
        """Return the index of the first end token in `tokens` if the gap may not end there, else None. `next_tokens`
        chooses no such token; this is for tokens that come from elsewhere.
        """
        for i, token in enumerate(tokens):
            if token in self.tokenizer.stops:
                return None if self._ending_after(tokens[:i]).may_end else i
        return None

    def log_probabilities(self, logits: Tensor, tokens: list[int]) -> list[float]:
        """Return the log-probability of each of `tokens` [n] at temperature 1, given logits [n, vocab] of the rows that
        chose them. As long as there are `forced` bytes, it is relative to the tokens that these allow. Call this before
        the tokens are committed.
        """
        found = logits.log_softmax(-1)[torch.arange(len(tokens)), tokens].tolist()
        forced = self.forced
        for i, token in enumerate(tokens):
            if not forced:
                break
            found[i] = float(logits[i, token] - logits[i, self.tokenizer.completions(forced)].logsumexp(-1))
            forced = self._after(forced, token)
        return found

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
            self.forced = self._after(self.forced, token)
            text = self._ending.feed(self.tokenizer.token_bytes(token))
            self._written += text
            self.confidence.append((len(text), sure))
            self.reason = self._ending.reason
            if not self.reason and len(self.tokens) >= self.options.max_tokens:
                self.reason = "length"

    def until_end(self, draft: list[int]) -> list[int]:
        """Return the draft up to and including the token that would end the gap: tokens behind it can never be
        committed.
        """
        ending = self._ending.copy()
        for i, token in enumerate(draft):
            ending.feed(self.tokenizer.token_bytes(token))
            if token in self.tokenizer.stops or ending.reason:
                return draft[: i + 1]
        return draft[: self.options.max_tokens - len(self.tokens)]

    def would_end(self, tokens: list[int]) -> bool:
        """Whether the last of `tokens` would end the gap if they were committed next."""
        if tokens[-1] in self.tokenizer.stops or len(self.tokens) + len(tokens) >= self.options.max_tokens:
            return True
        return self._ending_after(tokens).reason is not None

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

    def _after(self, forced: bytes, token: int) -> bytes:
        word = self.tokenizer.token_bytes(token)
        return forced[len(word) :] if forced.startswith(word) else b""
