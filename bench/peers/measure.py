"""The measurement: contenders take turns, in an order that changes, so that a slow moment hits all alike."""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from bench.peers.contenders import Contender
from bench.peers.prompts import Round, Turn
from bench.peers.side import Reply

# Threads of a side that just answered may spin for some milliseconds before they sleep.
SETTLE_S = 0.05


@dataclass(frozen=True)
class Measure:
    """How a reply counts, and what the ratio to llama.cpp ought to be. `all`: not the plain contenders only.

    The ratio is one of speeds for prefill and decoding, one of times for the rest.
    """

    unit: str
    value: Callable[[Reply], float]
    wanted: str
    turned: bool = False
    all: bool = False

    def ratio(self, own: float, peer: float) -> float:
        return peer / own if self.turned else own / peer


def _prefill(reply: Reply) -> float:
    return 1e3 * reply.prompt / reply.milliseconds


# Time is from request to answer. Prefill ends at the first token, with nothing cached, as a cold line's is; the rest
# finds its prompt.
MEASURES = {
    "prefill-1000": Measure("tokens/s", _prefill, "at least 2.0"),
    "prefill-300": Measure("tokens/s", _prefill, "at least 2.0"),
    "decode": Measure("ms a token", lambda reply: reply.milliseconds / reply.tokens, "at least 0.9", turned=True),
    "line": Measure("ms", lambda reply: reply.milliseconds, "at most 0.9", all=True),
    "typed": Measure("ms", lambda reply: reply.milliseconds, "at most 0.5", all=True),
    "cold-line": Measure("ms", lambda reply: reply.milliseconds, "", all=True),
}

# Measure -> contender -> reply.
Replies = dict[str, dict[str, Reply]]


def measure(
    contenders: Sequence[Contender], rounds: Sequence[Round], measures: Sequence[str] = tuple(MEASURES), seed: int = 0
) -> Iterator[Replies]:
    """The replies of each round; the first round runs once more beforehand to warm up."""
    rng = random.Random(seed)
    for number, one in enumerate([rounds[0], *rounds]):
        replies: Replies = {}
        for name in measures:
            what = MEASURES[name]
            taking = [contender for contender in contenders if what.all or contender.plain]
            order = rng.sample(taking, len(taking))
            taken = {contender.name: _once(contender, one.turns[name]) for contender in order}
            replies[name] = {contender.name: taken[contender.name] for contender in taking}
        if number:
            yield replies


def _once(contender: Contender, turn: Turn) -> Reply:
    if turn.before:
        contender.child.ask(turn.before, contender.mode)
    time.sleep(SETTLE_S)
    return contender.child.ask(turn.ask, contender.mode)
