"""Drafts, which are tokens proposed for verification, and the three ways to make them.

- A canvas of masks, denoised in one forward pass: `read_canvas`.
- Earlier text that repeats: `Copier`.
- A text that is being changed in a few places: `resume`.

A draft can change how many steps an answer takes, but never the answer.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import mul
from typing import NamedTuple

import numpy as np

from dlsp_engine.decode.scores import Scores
from dlsp_engine.model.bigrams import STRENGTH, Bigrams

# Tokens, and the probability of each to be accepted if those before it are.
Proposal = tuple[list[int], list[float]]

# Takes all tokens so far, prompt and answer, and proposes those that follow; ([], []) when it has no idea.
Drafter = Callable[[list[int]], Proposal]

# Takes candidates [rows, n] and the size of the vocabulary; see `Sampler.draft_noise`.
DraftNoise = Callable[[np.ndarray, int], np.ndarray | None]

# How a canvas is read
FOLLOWED_LOG_P = 1.5  # nats that a candidate gains for each of the last tokens that it followed before
FOLLOWED_TOKENS = 6  # of the last tokens, how many are looked for in the text
SHARPNESS = 0.65  # exponent that lowers a canvas's probabilities to how often its tokens are accepted
MAX_ALTERNATIVES, MIN_ALTERNATIVE_P = 3, 0.02  # other candidates proposed for a row: how many, how likely

# How repeated text is copied
MIN_COPY_MATCH, MAX_COPY_MATCH = 2, 16  # tokens that must match, and that are compared at most
MAX_COPIED = 16  # tokens of a copied draft, at most
AGREED_SINCE = 2  # matched tokens that each accepted copied token counts for: the match was no chance

# How a text that is being changed is resumed
MAX_RESUME_MATCH = 3  # tokens that must match; fewer suffice if they occur only once in the text
RESUMED_P = 0.9  # confidence in each resumed token


class Node(NamedTuple):
    """A token that may be verified: the draft's own token at `offset`, or an alternative to it."""

    probability: float  # that this token and all before it are accepted
    offset: int
    token: int
    alternative: bool


@dataclass(frozen=True)
class Draft:
    """Tokens to verify. `confidence` is the probability that each is accepted if those before it are. `alternatives`
    has, for each place, other tokens with their probabilities; nothing is drafted behind an alternative.
    """

    tokens: list[int]
    confidence: list[float]
    alternatives: Sequence[Sequence[tuple[int, float]]] = ()
    canvas: bool = False  # whether it comes from a canvas, so that its acceptance is recorded for later canvases

    @property
    def expected(self) -> float:
        """How many of `tokens` are expected to be accepted."""
        return sum(accumulate(self.confidence, mul))

    def nodes(self, alternatives: bool = True) -> list[Node]:
        """Return the tokens and, if wanted, their alternatives, the likeliest first: each comes after those it depends
        on.
        """
        reached = list(accumulate([1.0, *self.confidence], lambda before, sure: before * min(1.0, sure)))
        own = [Node(reached[at + 1], at, token, False) for at, token in enumerate(self.tokens)]
        others = [
            Node(reached[at] * sure, at, token, True)
            for at, place in enumerate(self.alternatives if alternatives else ())
            for token, sure in place
        ]
        return sorted([*own, *others], key=lambda node: (-node.probability, node.alternative, node.offset))


NO_DRAFT = Draft([], [])


def joined(drafts: Sequence[Draft]) -> Draft:
    """Return the drafts one behind the other."""
    alternatives: list[Sequence[tuple[int, float]]] = []
    for draft in drafts:
        alternatives += [*draft.alternatives, *[()] * (len(draft.tokens) - len(draft.alternatives))]
    return Draft(
        [token for draft in drafts for token in draft.tokens],
        [sure for draft in drafts for sure in draft.confidence],
        alternatives,
        any(draft.canvas for draft in drafts),
    )


def read_canvas(
    canvas: Scores,
    before: Sequence[int] | np.ndarray,
    bigrams: Bigrams | None = None,
    draft_noise: DraftNoise | None = None,
) -> Draft:
    """Return the draft that a canvas's rows make. `before` are all tokens before the one that the first
    row drafts. `draft_noise` is that of the answer.
    """
    log_p, candidates = canvas.likeliest()
    noise = draft_noise(candidates, canvas.logits.shape[1]) if draft_noise else None
    return pick(log_p, candidates, before, bigrams, noise=noise)


def only(log_p: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Return the log-probabilities of those candidates [n] that are allowed, bool [n], as if the others had never been
    among the tokens.
    """
    forbidden = float(np.exp(log_p[~allowed]).sum())
    return log_p[allowed] - np.log(max(1e-9, 1.0 - forbidden))


def pick(
    log_p: np.ndarray,
    candidates: np.ndarray,
    before: Sequence[int] | np.ndarray,
    bigrams: Bigrams | None = None,
    given: Sequence[int] = (),
    noise: np.ndarray | None = None,
) -> Draft:
    """Choose one candidate for each row of a canvas, left to right, and return them as a draft. `log_p` and
    `candidates` are [rows, CANDIDATES], and so is `noise`, which is added to the scores where tokens are sampled.

    All rows are denoised in one forward pass, so none depends on the tokens of the others, or on the token that the
    base has just chosen in front of them. Two statistics make up for some of that at almost no cost: how often one
    token follows another in a corpus (`model.bigrams`), and which tokens followed the same ones earlier in the text (a
    cache model: Kuhn and De Mori 1990, "A cache-based natural language model for speech recognition"; with matches of
    several lengths, as prompt look-up has them, arXiv 2304.04487). Neither adds a token: both only reweight what the
    canvas itself finds likely.

    A row is read as if it followed `before`, then the tokens of `given` as far as they go, then those chosen for
    earlier rows.
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
        if noise is not None:
            score += noise[row]
        score = np.exp(SHARPNESS * score)
        score /= score.sum() + max(0.0, 1.0 - float(np.exp(row_log_p).sum()))
        best, *others = np.argsort(-score, kind="stable")[: 1 + MAX_ALTERNATIVES].tolist()
        tokens.append(int(row_candidates[best]))
        confidence.append(float(score[best]))
        likely = [at for at in others if score[at] >= MIN_ALTERNATIVE_P]
        alternatives.append([(int(row_candidates[at]), float(score[at])) for at in likely])
        last = [*last[1 - FOLLOWED_TOKENS :], given[row] if row < len(given) else tokens[-1]]
    return Draft(tokens, confidence, alternatives, canvas=True)


def followed(text: np.ndarray, last: Sequence[int], tokens: np.ndarray) -> np.ndarray:
    """Return for each of `tokens` how many of the `last` tokens, counted from the end, occur right before it somewhere
    in `text`: float [n].
    """
    matched: dict[int, int] = {}
    for length, at in enumerate(followers(text, last), 1):
        matched.update(dict.fromkeys(text[at].tolist(), length))
    return np.array([matched.get(token, 0) for token in tokens.tolist()], float)


def followers(text: np.ndarray, last: Sequence[int]) -> Iterator[np.ndarray]:
    """Yield the indices in `text` [n] that come right after an occurrence of the last token, then of the last two
    tokens, and so on while there are any.
    """
    at = np.flatnonzero(text[:-1] == last[-1]) + 1 if last else np.arange(0)
    back = 1
    while len(at):
        yield at
        back += 1
        if back > len(last):
            return
        at = at[at >= back]
        at = at[text[at - back] == last[-back]]


class Text:
    """All tokens so far as an array, which takes over those that were added since the call before."""

    def __init__(self) -> None:
        self._tokens = np.empty(0, np.int64)

    def __call__(self, tokens: list[int]) -> np.ndarray:
        """Return `tokens`, which must begin with those of the call before, as an array."""
        self._tokens = np.append(self._tokens, np.array(tokens[len(self._tokens) :], np.int64))
        return self._tokens


class Copier:
    """A drafter that finds the longest earlier match of the last tokens and proposes what followed it there (prompt
    look-up, arXiv 2304.04487). Tokens in `stops` are never copied.
    """

    def __init__(self, stops: frozenset[int]) -> None:
        self._stops = stops
        self._text = Text()

    def __call__(self, tokens: list[int]) -> Proposal:
        """Draft what follows `tokens`, which must begin with those of the call before."""
        matches = list(followers(self._text(tokens), tokens[-MAX_COPY_MATCH:]))
        if len(matches) < MIN_COPY_MATCH:
            return [], []
        start = int(matches[-1][-1])
        copied = tokens[start : start + MAX_COPIED]
        stop = next((i for i, token in enumerate(copied) if token in self._stops), len(copied))
        return copied[:stop], [copy_confidence(len(matches) + AGREED_SINCE * i) for i in range(stop)]


def copy_confidence(agreed: int) -> float:
    """Return how likely a copied token is to be accepted after `agreed` matching tokens: 0.53 after two, 0.69 after
    four, 0.90 after sixteen.

    Fitted to the model's answers in 148 gaps of held-out packages, at the places where copying is tried. The
    frequencies measured there are 0.51, 0.59 and 0.95.
    """
    return agreed / (agreed + 1.8)


def resume(texts: Sequence[list[int]], otherwise: Drafter) -> Drafter:
    """Return a drafter that finds the last tokens in one of `texts` and proposes how that text goes on. If they are in
    none of them, `otherwise` drafts.
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
