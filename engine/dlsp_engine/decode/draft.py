"""Drafts: tokens that are proposed for verification, and the three places they come from.

- A canvas of masks, denoised in one forward: `read_canvas`.
- Text that stands before and repeats: `Copier`.
- A text that is being changed in a few places: `resume`.

A draft can change how many steps an answer takes, and never the answer.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import mul
from typing import NamedTuple

import numpy as np
from torch import Tensor

from dlsp_engine.model.bigrams import STRENGTH, Bigrams

Proposal = tuple[list[int], list[float]]
"""Tokens, and the probability of each to be accepted if those before it are."""

Drafter = Callable[[list[int]], Proposal]
"""Takes all tokens so far, prompt and answer, and proposes those that follow; ([], []) when it has no idea."""

# How a canvas is read
CANDIDATES = 64  # tokens of a row that are looked at, the likeliest
TILE = 128  # logits whose maximum is looked at first
FOLLOWED_LOG_P = 1.5  # what a candidate gains for each of the last tokens that it has followed before
FOLLOWED_TOKENS = 6  # how many of the last tokens are looked for
SHARPNESS = 0.65  # a canvas is surer than it is right; to this power its probabilities match how often drafts stand
MAX_ALTERNATIVES, MIN_ALTERNATIVE_P = 3, 0.02  # other candidates of a row that are proposed: how many, and how likely

# How repeated text is copied
MIN_COPY_MATCH, MAX_COPY_MATCH = 2, 16  # tokens that must agree, and tokens that are compared
MAX_COPIED = 16  # tokens of a draft
AGREED_SINCE = 2  # tokens that each agreement after the match counts for: it shows that the match was no chance

# How a text that is being changed is resumed
MAX_RESUME_MATCH = 3  # tokens that must agree; fewer do where they stand only once in the text
RESUMED_P = 0.9  # confidence in each token


class Node(NamedTuple):
    """A token that may be verified: the draft's own at `offset`, or an alternative to it."""

    probability: float  # that it is accepted, and all before it
    offset: int
    token: int
    alternative: bool


@dataclass(frozen=True)
class Draft:
    """Tokens to verify. `confidence` is the probability of each to be accepted if those before it are; `alternatives`
    has, for each place, other tokens with theirs. An alternative ends a run: nothing is drafted behind it.
    """

    tokens: list[int]
    confidence: list[float]
    alternatives: Sequence[Sequence[tuple[int, float]]] = ()
    canvas: bool = False  # whether a canvas drafted it, so that its fate says something about later canvases

    @property
    def expected(self) -> float:
        """How many of `tokens` are expected to be accepted."""
        return sum(accumulate(self.confidence, mul))

    def nodes(self, alternatives: bool = True) -> list[Node]:
        """The tokens, and their alternatives if wanted, the likeliest first: each comes after those it depends on."""
        reached = list(accumulate([1.0, *self.confidence], lambda before, sure: before * min(1.0, sure)))
        own = [Node(reached[at + 1], at, token, False) for at, token in enumerate(self.tokens)]
        others = [
            Node(reached[at] * sure, at, token, True)
            for at, place in enumerate(self.alternatives if alternatives else ())
            for token, sure in place
        ]
        return sorted([*own, *others], key=lambda node: (-node.probability, node.alternative, node.offset))


NO_DRAFT = Draft([], [])


def read_canvas(logits: Tensor, before: Sequence[int], bigrams: Bigrams | None = None) -> Draft:
    """The draft that a canvas makes: logits [rows, vocab], and all tokens before the one that its first row drafts."""
    log_p, candidates = top(logits.log_softmax(-1), min(CANDIDATES, logits.shape[1]))
    return pick(log_p.cpu().numpy(), candidates.cpu().numpy(), before, bigrams)


def pick(
    log_p: np.ndarray,
    candidates: np.ndarray,
    before: Sequence[int] | np.ndarray,
    bigrams: Bigrams | None = None,
    given: Sequence[int] = (),
) -> Draft:
    """Choose one candidate for each row of a canvas, left to right: log_p and candidates [rows, CANDIDATES].

    The rows are denoised together, so they know neither each other's tokens nor the one that the base has just chosen
    in front of them. Two things say some of it at next to no cost: how often one token follows another in a corpus
    (`model.bigrams`), and which tokens have followed the same ones in the text before (a cache model: Kuhn and De Mori
    1990, "A cache-based natural language model for speech recognition"; with matches of several lengths, as prompt
    look-up has them, arXiv 2304.04487). Neither adds a token: both only change what the canvas itself finds likely.

    A row is read as following `before`, then `given` as far as that goes, then the choices of the rows before it.
    """
    text = np.asarray(before)
    last = text[-FOLLOWED_TOKENS:].tolist()
    tokens: list[int] = []
    confidence: list[float] = []
    alternatives: list[list[tuple[int, float]]] = []
    for row, (row_log_p, row_candidates) in enumerate(zip(log_p, candidates, strict=True)):
        score = row_log_p + FOLLOWED_LOG_P * followed(text, last, row_candidates)
        if bigrams:
            score += STRENGTH * bigrams.information(last[-1], row_candidates)
        score = np.exp(SHARPNESS * score)
        score /= score.sum() + max(0.0, 1.0 - float(np.exp(row_log_p).sum()))
        best, *others = np.argsort(-score, kind="stable")[: 1 + MAX_ALTERNATIVES].tolist()
        tokens.append(int(row_candidates[best]))
        confidence.append(float(score[best]))
        likely = [at for at in others if score[at] >= MIN_ALTERNATIVE_P]
        alternatives.append([(int(row_candidates[at]), float(score[at])) for at in likely])
        last = [*last[1 - FOLLOWED_TOKENS :], given[row] if row < len(given) else tokens[-1]]
    return Draft(tokens, confidence, alternatives, canvas=True)


def top(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """`values.topk(count)` of [rows, n], in a third of the time where n is large: the tiles with the largest maxima
    hold them all.
    """
    rows, n = values.shape
    if n % TILE or n // TILE < count:
        best, at = values.topk(count)
        return best, at
    tiles = values.view(rows, -1, TILE)
    taken = tiles.amax(-1).topk(count).indices
    best, at = tiles.gather(1, taken[:, :, None].expand(-1, -1, TILE)).flatten(1).topk(count)
    return best, taken.gather(1, at // TILE) * TILE + at % TILE


def followed(text: np.ndarray, last: Sequence[int], tokens: np.ndarray) -> np.ndarray:
    """For each of `tokens`: how many of the `last` tokens, counted from the end, stand right before it somewhere in
    `text`.
    """
    return sum((np.isin(tokens, text[at]).astype(float) for at in followers(text, last)), np.zeros(len(tokens)))


def followers(text: np.ndarray, last: Sequence[int]) -> Iterator[np.ndarray]:
    """The places in `text` [n] right behind the last token, then behind the last two, and so on while there are any."""
    at = np.flatnonzero(text[:-1] == last[-1]) + 1 if last else np.arange(0)
    back = 1
    while len(at):
        yield at
        back += 1
        if back > len(last):
            return
        at = at[at >= back]
        at = at[text[at - back] == last[-back]]


class Copier:
    """A drafter that proposes what followed the last tokens where they stood before, by the longest match (prompt
    look-up, arXiv 2304.04487). `stops` are never copied.
    """

    def __init__(self, stops: frozenset[int]) -> None:
        self._stops = stops
        self._text = np.empty(0, np.int64)

    def __call__(self, tokens: list[int]) -> Proposal:
        """`tokens` grows from call to call."""
        self._text = np.append(self._text, np.array(tokens[len(self._text) :], np.int64))
        matches = list(followers(self._text, tokens[-MAX_COPY_MATCH:]))
        if len(matches) < MIN_COPY_MATCH:
            return [], []
        start = int(matches[-1][-1])
        copied = tokens[start : start + MAX_COPIED]
        stop = next((i for i, token in enumerate(copied) if token in self._stops), len(copied))
        return copied[:stop], [copy_confidence(len(matches) + AGREED_SINCE * i) for i in range(stop)]


def copy_confidence(agreed: int) -> float:
    """How likely a token is to follow so many others again: 0.53 after two, 0.69 after four, 0.90 after sixteen.

    Fitted on the model's answers in 148 gaps of held-out packages, in the places where copying is asked: 0.51, 0.59,
    0.95.
    """
    return agreed / (agreed + 1.8)


def resume(texts: Sequence[list[int]], otherwise: Drafter) -> Drafter:
    """A drafter that finds the last tokens in one of `texts` and goes on as that text does; `otherwise` drafts where
    they are in none.
    """

    def draft(tokens: list[int]) -> Proposal:
        for length in range(MAX_RESUME_MATCH, 0, -1):
            last = tokens[-length:]
            for text in texts:
                found = [end for end in range(length, len(text)) if text[end - length : end] == last]
                if len(found) == 1 or (found and length == MAX_RESUME_MATCH):
                    rest = text[found[-1] :]
                    return rest, [RESUMED_P] * len(rest)
        return otherwise(tokens)

    return draft
