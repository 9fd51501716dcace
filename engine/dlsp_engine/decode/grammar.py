"""Grammars: a compiled regular expression, JSON schema or context-free grammar, and an answer's way through it."""

import json
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from llguidance import LLMatcher, LLParserLimits, LLTokenizer

from dlsp_engine.errors import EngineError
from dlsp_engine.text.prompt import Gap

# What one token may take, so that no other request waits long: items of the parser, work of the lexer, CPU time.
LIMITS = LLParserLimits(max_items_in_row=1000, step_max_items=20_000, step_lexer_fuel=100_000, verbose_errors=False)
MAX_TOKEN_S = 0.1
MAX_FORCED_TOKENS = 32
KEPT_PLACES = (
    64  # of the last tokens, how many masks are kept: a step asks for each mask that the one before drafted by
)
MAX_PREFIXES = 16  # beginnings for which a grammar is kept compiled

TOO_COMPLEX = "The constraint is too complex at this place of the answer: {}. Make it simpler."


class Grammar:
    """What a whole answer must be, compiled. `source` is the grammar in llguidance's form, an object of its `grammars`;
    `stops` are the ids of the tokens that end an answer. Any number of answers may be in progress.

    Raises EngineError if the grammar is not valid.
    """

    whole = True

    def __init__(self, source: dict[str, Any], tokenizer: LLTokenizer, stops: frozenset[int]) -> None:
        self.source = source
        self.tokenizer = tokenizer
        self.stops = stops
        self._lock = threading.Lock()
        self._compiled: dict[str, LLMatcher] = {}
        self._prepared("", 0)

    def prepare(self, gap: Gap, standing: int) -> None:
        self._prepared(gap.written, standing)

    def _prepared(self, written: str, standing: int) -> tuple[LLMatcher, bytes]:
        """Return what `begin` needs, compiled, and the bytes that stand before those that the answer begins with."""
        text = _ending(written, standing)
        with self._lock:
            if text not in self._compiled:
                if len(self._compiled) >= MAX_PREFIXES:
                    del self._compiled[next(each for each in self._compiled if each)]
                self._compiled[text] = self._compile(text)
            return self._compiled[text], text.encode()[: len(text.encode()) - standing]

    def begin(self, gap: Gap, standing: int, end: str = "token") -> "Match":
        """As in `Requirement`. What stands already is no part of what the grammar describes."""
        compiled, before = self._prepared(gap.written, standing)
        matcher = compiled.deep_copy()
        if before:
            matcher.consume_tokens(self.tokenizer.tokenize_bytes(before))
        return Match(matcher, self.stops, self.tokenizer.vocab_size)

    def _compile(self, text: str) -> LLMatcher:
        grammars = [self.source]
        if text:
            beginning = {"lark_grammar": f"start: {json.dumps(text, ensure_ascii=False)} @rest"}
            grammars = [beginning, self.source | {"name": "rest"}]
        matcher = LLMatcher(self.tokenizer, json.dumps({"grammars": grammars}), log_level=0, limits=LIMITS)
        if matcher.is_error():
            raise EngineError(f"The constraint is not valid: {_line(matcher)}.")
        return matcher


@dataclass
class Place:
    """A place in an answer: which tokens are allowed there, and the places behind it, by the token that leads there."""

    mask: np.ndarray | None = None  # uint8: a bit for each token, the lowest first; None until it is asked for
    behind: "dict[int, Place]" = field(default_factory=dict)


class Match:
    """The constraint of one answer: how far a grammar has got in it. Raises EngineError where the grammar is too
    complex to go on.
    """

    known = False
    free = False

    def __init__(self, matcher: LLMatcher, stops: frozenset[int], vocab: int) -> None:
        self._matcher = matcher
        self._stops = stops
        self._vocab = vocab
        may = np.ones(-(-vocab // 32) * 32, bool)
        may[list(stops)] = False
        self._no_stops = np.packbits(may, bitorder="little")
        self._places = [Place()]

    @property
    def complete(self) -> bool:
        return self._matcher.is_stopped()

    def allowed(self) -> np.ndarray:
        place = self._places[-1]
        if place.mask is None:
            place.mask = self._computed()
        return np.unpackbits(place.mask, count=self._vocab, bitorder="little").view(bool)

    def given(self) -> None:
        return None

    def _computed(self) -> np.ndarray:
        """Return which tokens are allowed, a bit for each: uint8."""
        began = time.thread_time()
        mask = np.frombuffer(self._matcher.compute_bitmask(), np.uint8)
        self._check()
        if time.thread_time() - began > MAX_TOKEN_S:
            raise EngineError(TOO_COMPLEX.format("one token takes too long"))
        if not self._matcher.is_accepting():  # a grammar may name control tokens
            mask = mask & self._no_stops
        return mask

    def advance(self, token: int) -> None:
        self._matcher.consume_token(token)
        self._check()
        places = self._places
        places.append(places[-1].behind.setdefault(token, Place()))
        if len(places) > KEPT_PLACES:
            places[-KEPT_PLACES] = Place()

    def rollback(self, count: int) -> None:
        self._matcher.rollback(count)
        self._check()
        del self._places[len(self._places) - count :]

    def valid(self, tokens: Sequence[int]) -> int:
        if not tokens or self.complete or tokens[0] in self._stops:
            return int(bool(tokens) and tokens[0] in self._stops and self._matcher.is_accepting())
        valid = self._matcher.validate_tokens(list(tokens))
        self._check()
        return valid

    def forced(self) -> list[int]:
        return [] if self.complete else self._matcher.compute_ff_tokens()[:MAX_FORCED_TOKENS]

    def _check(self) -> None:
        if self._matcher.is_error():
            raise EngineError(TOO_COMPLEX.format(_line(self._matcher)))


def _ending(text: str, count: int) -> str:
    """Return the shortest end of `text` that has at least `count` bytes."""
    at = len(text)
    while len(text[at:].encode()) < count:
        at -= 1
    return text[at:]


def _line(matcher: LLMatcher) -> str:
    """Return the first line of what is wrong."""
    return (matcher.get_error().splitlines() or [""])[0].rstrip(".")
