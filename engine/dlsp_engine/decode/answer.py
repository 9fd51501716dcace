"""What is fixed of a gap's answer, and where it ends; the same for every mode."""

from dataclasses import dataclass

import torch
from torch import Tensor

from dlsp_engine.decode.ends import Ending
from dlsp_engine.decode.sampling import greedy, sample, sample_among
from dlsp_engine.options import Options
from dlsp_engine.text.prompt import Gap
from dlsp_engine.text.tokenizer import Tokenizer


@dataclass
class Cost:
    """What an answer took. `forwards` and `rows` are those of decoding, the prompt's are not counted; `tokens` counts
    the end token too. Times are wall-clock, and a step that is shared counts in full for each request.
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
    """The finished answer to one gap. `tokens` are the committed ones without the end token; `confidence` is that of
    `Answer`.
    """

    text: str
    reason: str
    tokens: tuple[int, ...]
    cost: Cost
    confidence: tuple[tuple[int, float], ...] = ()


class Answer:
    """The answer to one gap as it grows: the committed tokens, without the end token, and why it ended (`reason`).

    `forced` are the bytes that the document has already and the answer must begin with; they are not part of `text`.
    `confidence` has, for each committed token and the end token, the characters it wrote and its log-probability.
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
        self._ending = Ending(options.end, options.stop, gap.written, gap.path, len(forced))

    @property
    def text(self) -> str:
        return self._written[: self._ending.cut]

    def fill(self, cost: Cost) -> Fill:
        return Fill(self.text, self.reason or "cancelled", tuple(self.tokens), cost, tuple(self.confidence))

    def next_tokens(self, logits: Tensor, draft: list[int]) -> list[int]:
        """logits [1 + len(draft), vocab] of the last committed token's row and the draft's -> the token each chooses.

        Row i chooses as if draft[:i] were committed: that is enough to see how much of the draft agrees.
        """
        options, forced = self.options, self.forced
        if options.temperature == 0 and not forced:
            return greedy(logits)
        chosen = []
        for i, row in enumerate(logits):
            at = (len(self.tokens) + i, options.temperature, options.seed)
            allowed = self.tokenizer.completions(forced) if forced else None
            chosen.append(sample(row, *at) if allowed is None else sample_among(allowed, row, *at))
            if forced and i < len(draft):
                forced = self._after(forced, draft[i])
        return chosen

    def log_probabilities(self, logits: Tensor, tokens: list[int]) -> list[float]:
        """logits [n, vocab] of the rows that chose `tokens` [n] -> the log-probability of each at temperature 1, among
        the tokens that `forced` allows. Call it before these tokens are committed.
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
        """Fix tokens one by one, each with its log-probability, until one of them ends the gap; the rest is dropped."""
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
        """The draft up to the token that would end the gap: those behind it can never be committed."""
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
        ending = self._ending.copy()
        for token in tokens:
            ending.feed(self.tokenizer.token_bytes(token))
        return ending.reason is not None

    def _after(self, forced: bytes, token: int) -> bytes:
        word = self.tokenizer.token_bytes(token)
        return forced[len(word) :] if forced.startswith(word) else b""
