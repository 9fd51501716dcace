"""A gap or plain text as tokens, in the same template that the engine uses, with marks for the places where a canvas
may follow.
"""

import random
from typing import NamedTuple

from dlsp_engine.errors import EngineError
from dlsp_engine.text.prompt import Gap, prompt
from dlsp_engine.text.tokenizer import Tokenizer

# Marks of a token, as bits: MIDDLE, a canvas may follow it inside the gap; TEXT, a canvas may follow it in other text;
# START, it is the first of its segment.
MIDDLE, TEXT, START = 1, 2, 4

# A canvas follows at least this many tokens of its segment: fewer say too little to draft from.
MIN_CONTEXT_TOKENS = 8

# The gap's own tokens take at most this share of a segment.
MAX_GAP_SHARE = 0.5

# The text around a gap is never cut to less than this share of a segment.
MIN_CONTEXT_SHARE = 0.3


class Segment(NamedTuple):
    """Tokens that see only each other; `marks` has one entry per token."""

    tokens: list[int]
    marks: list[int]


def plain(text: str, tokenizer: Tokenizer, room: int, rng: random.Random) -> Segment | None:
    """Return exactly `room` tokens from a random place in `text`; None if there are too few."""
    start = text.rfind("\n", 0, rng.randrange(max(1, len(text) - 3 * room))) + 1
    tokens = tokenizer.encode(text[start : start + 6 * room + 64])[:room]
    return _segment(tokens, len(tokens)) if len(tokens) == room else None


def filled(gap: Gap, middle: str, tokenizer: Tokenizer, room: int) -> Segment | None:
    """Return the gap's prompt and the `middle` that fills it, with its far ends cut so that it has at most `room`
    tokens; None if too little would remain around the gap.

    There is no end token: what follows the last token is the base's own choice, as for every other row.
    """
    request = prompt(gap, tokenizer)
    answer = tokenizer.encode(request.forced.decode("utf-8", "replace") + middle)
    if not answer or len(answer) > MAX_GAP_SHARE * room:
        return None
    head = _fitted(request.tokens, room - len(answer), tokenizer)
    return _segment(head + answer, len(head) - 1) if head else None


def _fitted(tokens: list[int], room: int, tokenizer: Tokenizer) -> list[int] | None:
    """Return a prompt cut to `room` tokens at line breaks: at the prefix's start and the suffix's end, in proportion to
    their lengths. A single line that is too long is cut inside. None if too little would remain.
    """
    over = len(tokens) - room
    if over <= 0:
        return tokens
    fim = tokenizer.template.fim
    if not fim or fim.middle is None or fim.suffix_first:
        raise EngineError("Only models whose fill-in-the-middle format is prefix, suffix, middle can be trained.")
    first, behind, end = (tokens.index(mark) for mark in (fim.prefix, fim.suffix, fim.middle))
    prefix, suffix = tokens[first + 1 : behind], tokens[behind + 1 : end]
    if len(prefix) + len(suffix) - over < MIN_CONTEXT_SHARE * room:
        return None
    less = over * len(prefix) // (len(prefix) + len(suffix))
    ends = [tokenizer.token_bytes(token).endswith(b"\n") for token in prefix]
    start = next((i for i in range(less, len(prefix)) if i == 0 or ends[i - 1]), less)
    most = len(suffix) - (over - less)
    stop = most
    while most < len(suffix) and stop and not tokenizer.token_bytes(suffix[stop - 1]).endswith(b"\n"):
        stop -= 1
    return [*tokens[: first + 1], *prefix[start:], fim.suffix, *suffix[: stop or most], *tokens[end:]]


def _segment(tokens: list[int], gap_start: int) -> Segment:
    """Return the tokens with their marks. A canvas may follow every token but the last and the first
    MIN_CONTEXT_TOKENS; tokens from index `gap_start` on are in the gap.
    """
    marks = [0] * len(tokens)
    for i in range(len(tokens) - 1):
        if i >= gap_start:
            marks[i] = MIDDLE
        elif i >= MIN_CONTEXT_TOKENS:
            marks[i] = TEXT
    marks[0] |= START
    return Segment(tokens, marks)
