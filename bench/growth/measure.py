"""The measurement: every contender at every size in turn, in an order that changes."""

import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bench.growth import work
from bench.growth.work import Sizes
from bench.peers.contenders import HUB, PEER, SEVERAL, Contender
from bench.peers.measure import SETTLE_S
from bench.peers.prompts import Turn
from dlsp_engine.text.tokenizer import Tokenizer

AT_ONCE = ("sites", "users")
SINGLE = (PEER, HUB)


@dataclass(frozen=True)
class Sample:
    """One contender at one size: milliseconds until all is there, and until the first line (or first answer) is.

    `cold` is with nothing cached; None where that is not measured, because all modes of a child prefill alike.
    """

    what: str
    size: int
    contender: str
    ms: float
    first_ms: float
    tokens: int
    cold_ms: float | None = None

    def as_json(self) -> dict[str, Any]:
        numbers = {"ms": self.ms, "first_ms": self.first_ms, "cold_ms": self.cold_ms}
        known = {name: round(value, 1) for name, value in numbers.items() if value is not None}
        return {"what": self.what, "size": self.size, "contender": self.contender, "tokens": self.tokens, **known}


def measure(
    contenders: Sequence[Contender], sizes: Sizes, tokenizer: Tokenizer, seed: int = 0
) -> Iterator[list[Sample]]:
    """The samples of one of `sizes.all()` after the other; a small gap warms up beforehand."""
    rng = random.Random(seed)
    _one_round("gap", 4, contenders, tokenizer, random.Random(seed))
    for what, size in sizes.all():
        yield _one_round(what, size, contenders, tokenizer, rng)


def _one_round(
    what: str, size: int, contenders: Sequence[Contender], tokenizer: Tokenizer, rng: random.Random
) -> list[Sample]:
    # Where gaps come at once, llama.cpp takes part with several slots, and nobody that can only take one at a time.
    alone = what not in AT_ONCE
    wanted = [one for one in contenders if (one.name != SEVERAL if alone else one.name not in SINGLE)]
    shuffled = rng.sample(wanted, len(wanted))
    if not alone:
        asks = work.sites(size, tokenizer, rng) if what == "sites" else work.users(size, tokenizer, rng)
        samples = []
        for one in shuffled:
            time.sleep(SETTLE_S)
            took = one.child.together(asks, one.mode)
            samples.append(Sample(what, size, one.name, took.last, took.first, took.tokens))
        return samples
    context, gap = (size, work.WRITTEN) if what == "context" else (work.KNOWN, size)
    turn = work.written(context, gap, tokenizer, rng)
    return [_once(what, size, one, turn, cold=what == "context" and one.plain) for one in shuffled]


def _once(what: str, size: int, one: Contender, turn: Turn, cold: bool) -> Sample:
    assert turn.before
    taken = None
    if cold:
        time.sleep(SETTLE_S)
        taken = one.child.ask(replace(turn.ask, fresh=True), one.mode).milliseconds
    one.child.ask(turn.before, one.mode)
    time.sleep(SETTLE_S)
    reply = one.child.ask(turn.ask, one.mode)
    first = reply.first_line if reply.first_line is not None else reply.milliseconds
    return Sample(what, size, one.name, reply.milliseconds, first, reply.tokens, taken)
