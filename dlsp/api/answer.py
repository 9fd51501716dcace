"""What every dialect asks of the engine and is answered: options in, pieces of text and then the whole answer out."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Protocol

from dlsp.api.cut import Cut
from dlsp.api.sampling import GREEDY, Sampling
from dlsp.engine.client import EngineGone

# The engine's limits on one request (docs/engine-http.md).
MAX_STOPS, MAX_STOP_CHARACTERS = 16, 4096


@dataclass(frozen=True)
class Options:
    """How a text is written. `stop` are texts that end it and are not part of it. From the second line on, a line that
    is indented by less than `indent` columns ends it. `limit_s`, if given, ends it that long after its first text, once
    it has a line. `constraint` is what the whole text must be (docs/engine-http.md)."""

    max_tokens: int = 64
    sampling: Sampling = GREEDY
    seed: int = 0
    stop: tuple[str, ...] = ()
    indent: int = 0
    limit_s: float | None = None
    mode: str = "verified"
    constraint: dict[str, Any] | None = None

    def fields(self) -> dict[str, Any]:
        """The fields of the engine's requests. It takes a limited number of stop texts; `Cut` finds the others."""
        stops = [each for each in self.stop if 0 < len(each) <= MAX_STOP_CHARACTERS]
        sampling = self.sampling
        constraint = {"constraint": self.constraint} if self.constraint else {}
        return (
            constraint
            | {
                "mode": self.mode,
                "stop": stops[:MAX_STOPS],
                "max_tokens": self.max_tokens,
                "temperature": sampling.temperature,
                "seed": self.seed,
            }
            | (
                {"top_p": sampling.top_p, "top_k": sampling.top_k, "min_p": sampling.min_p}
                if sampling != GREEDY
                else {}
            )
        )


@dataclass(frozen=True)
class Answer:
    """A finished answer. `reason` is `stop`, or `length` at `max_tokens`; `word` is the stop text that ended it.
    `tokens` has the text and the log-probability of each written token. Times are milliseconds."""

    text: str
    reason: str
    word: str = ""
    tokens: tuple[tuple[str, float], ...] = field(default=(), repr=False)
    token_count: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    prefill_ms: float = 0.0
    decode_ms: float = 0.0

    @property
    def likelihood(self) -> float:
        """The mean log-probability of its tokens."""
        return self.log_p / max(1, len(self.tokens))

    @property
    def log_p(self) -> float:
        """The log-probability of the whole of it."""
        return sum(log_p for _, log_p in self.tokens)


class Engine(Protocol):
    """The way to an engine; `dlsp.engine.connection.EngineConnection` is one. Each method streams the events of a
    request, and raises EngineGone if the engine has ended."""

    def infill(self, request: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]: ...
    def generate(self, request: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]: ...
    def tokens(self, request: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]: ...
    def sites(self, request: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]: ...

    async def ready(self) -> bool:
        """Wait until there is an engine, started if need be."""
        ...


Ask = Callable[[dict[str, Any]], AsyncGenerator[dict[str, Any]]]


async def asked(engine: Engine, ask: Ask, request: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]:
    """The events of a request, by one of the engine's methods. An engine that ended since the last request, for example
    because nobody asked it for long, is started and asked again, unless it has begun to answer."""
    begun = False
    for is_last in (False, True):
        await engine.ready()
        try:
            async with aclosing(ask(request)) as events:
                async for event in events:
                    begun = True
                    yield event
            return
        except EngineGone:
            if begun or is_last:
                raise


def tokens_of(text: str, confidence: Any) -> tuple[tuple[str, float], ...]:
    """The text and log-probability of each token within `text`, from the engine's pairs."""
    tokens: list[tuple[str, float]] = []
    at = 0
    for width, log_p in confidence:
        if at >= len(text):
            break
        tokens.append((text[at : at + width], float(log_p)))
        at += width
    return tuple(tokens)


def answer_of(event: dict[str, Any], cut: Cut, options: Options) -> Answer:
    """The answer that an engine's last event of it describes."""
    text, cost = event["text"], event["cost"]
    end, word = cut.end(text)
    by_length = event["reason"] == "length" and end is None
    if event["reason"] == "stop" and end is None:
        word = options.stop[0] if len(options.stop) == 1 else word
    return Answer(
        text[:end],
        "length" if by_length else "stop",
        word,
        tokens_of(text[:end], event.get("confidence", ())),
        cost["tokens"],
        cost["prompt_tokens"],
        cost["cached_tokens"],
        cost["prefill_ms"],
        cost["decode_ms"],
    )
