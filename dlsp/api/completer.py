"""One way from every dialect to the engine: a gap and its options in, pieces of text and then the whole answer out."""

import asyncio
import secrets
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from dlsp.api.cut import Cut
from dlsp.completions.anchor import MAX_TYPED_CHARACTERS
from dlsp.engine.client import EngineGone

# The engine's limits on one request (docs/engine-http.md).
MAX_TOKENS = 1024
MAX_STOPS = 4
# Documents whose prompt is kept apart; more at once get a lane for one request each.
LANES = 16


@dataclass(frozen=True)
class File:
    """Another file that the model sees."""

    path: str
    text: str


@dataclass(frozen=True)
class Gap:
    """The text before and after the cursor, the document's path if known, and other files."""

    before: str
    after: str = ""
    path: str | None = None
    files: tuple[File, ...] = ()


@dataclass(frozen=True)
class Options:
    """How a gap is filled. `stop` are texts that end the answer and are not part of it. From the second line on, a line
    that is indented by less than `indent` columns ends it. `limit_s`, if given, ends it that long after its first text,
    once it has a line."""

    max_tokens: int = 64
    temperature: float = 0.0
    seed: int = 0
    stop: tuple[str, ...] = ()
    indent: int = 0
    limit_s: float | None = None


@dataclass(frozen=True)
class Answer:
    """A finished answer. `reason` is `stop`, or `length` at `max_tokens`; `word` is the stop text that ended it.
    `tokens` has the text and the log-probability of each written token. Times are milliseconds."""

    text: str
    reason: str
    word: str = ""
    tokens: tuple[tuple[str, float], ...] = ()
    token_count: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    prefill_ms: float = 0.0
    decode_ms: float = 0.0


class Engine(Protocol):
    """The way to an engine; `dlsp.engine.connection.EngineConnection` is one."""

    def infill(self, request: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        """Stream the events of a request. Raises EngineGone if the engine has ended."""
        ...

    async def ready(self) -> bool:
        """Wait until there is an engine, started if need be."""
        ...


class Completer:
    """Fills gaps by the engine. It gives requests for the same document the same session, so that of a prompt that was
    prefilled before only what is new is read."""

    def __init__(self, engine: Engine, mode: str = "verified") -> None:
        self._engine, self._mode = engine, mode
        self._lanes = Lanes()

    async def stream(self, gap: Gap, options: Options) -> AsyncGenerator[str | Answer]:
        """Yield new text as it is fixed, and the `Answer` last. Raises what the engine's client raises."""
        cut = Cut(options.stop, options.indent)
        sent, began = 0, 0.0
        with self._lanes.lane(gap) as lane:
            async with aclosing(self._events(self._request(gap, options, lane))) as events:
                async for event in events:
                    if event["event"] == "canvas":
                        text, confidence = event["committed"], event.get("confidence", ())
                        began = began or (time.monotonic() if text else 0.0)
                        late = options.limit_s is not None and began and time.monotonic() - began > options.limit_s
                        end, word = cut.end(text)
                        if end is not None or (late and "\n" in text):
                            # What a request cost is known at its own end only: this one is cancelled before it.
                            whole = text[:end]
                            if whole[sent:]:
                                yield whole[sent:]
                            tokens = _tokens(whole, confidence)
                            yield Answer(whole, "stop", word, tokens, len(tokens))
                            return
                        ready = cut.settled(text)
                        if ready > sent:
                            yield text[sent:ready]
                            sent = ready
                    elif event["event"] == "fill":
                        answer = _answer(event, cut, options)
                        if answer.text[sent:]:
                            yield answer.text[sent:]
                        yield answer
                        return

    async def answer(self, gap: Gap, options: Options) -> Answer:
        """The whole answer. Raises what the engine's client raises."""
        async with aclosing(self.stream(gap, options)) as pieces:
            async for piece in pieces:
                if isinstance(piece, Answer):
                    return piece
        raise AssertionError("a stream ends with an answer")

    async def answers(self, gap: Gap, options: Options, count: int) -> list[Answer]:
        """`count` answers to one gap, each with a seed of its own."""
        each = [self.answer(gap, with_seed(options, options.seed + number)) for number in range(count)]
        return list(await asyncio.gather(*each))

    async def prefill(self, gap: Gap) -> None:
        """Read the gap's prompt into its session, and write nothing."""
        with self._lanes.lane(gap) as lane:
            request = self._request(gap, Options(max_tokens=1), lane) | {"priority": "prefetch"}
            async with aclosing(self._events(request)) as events:
                async for _ in events:
                    pass

    async def _events(self, request: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        """The engine's events. An engine that ended since the last request, for example because nobody asked it for
        long, is started and asked again, unless it has begun to answer."""
        begun = False
        for is_last in (False, True):
            await self._engine.ready()
            try:
                async with aclosing(self._engine.infill(request)) as events:
                    async for event in events:
                        begun = True
                        yield event
                return
            except EngineGone:
                if begun or is_last:
                    raise

    def _request(self, gap: Gap, options: Options, lane: "Lane") -> dict[str, Any]:
        prefix, middle = lane.split(gap)
        asked = {"prefix": prefix, "suffix": gap.after, "middle": middle, "session": lane.name}
        request = {
            "gaps": [asked | ({"path": gap.path} if gap.path else {})],
            "mode": self._mode,
            "end": "token",
            "stop": [each for each in options.stop if each][:MAX_STOPS],
            "max_tokens": max(1, min(options.max_tokens, MAX_TOKENS)),
            "temperature": options.temperature,
            "seed": options.seed,
            "client": lane.name,
            "priority": "typing",
        }
        if gap.files:
            request["files"] = [{"path": each.path, "text": each.text} for each in gap.files]
        return request


@dataclass
class Lane:
    """One document's requests: the engine client and session that they go by, and the gap whose prompt it has."""

    name: str
    anchor: Gap | None = None
    busy: bool = False
    used: float = field(default_factory=time.monotonic)

    def split(self, gap: Gap) -> tuple[str, str]:
        """The gap's text before the cursor in two: that of the prompt that is prefilled already, and what was typed
        since. Where the document is another, or was changed elsewhere, all of it becomes the new prompt."""
        anchor = self.anchor
        if anchor and _but_typed(gap, anchor):
            return anchor.before, gap.before[len(anchor.before) :]
        self.anchor = gap
        return gap.before, ""


class Lanes:
    """Assigns requests to lanes: one at a time a lane, that with the most similar text first."""

    def __init__(self) -> None:
        self._client = f"api-{secrets.token_hex(4)}"
        self._count = 0
        self._lanes: list[Lane] = []

    @contextmanager
    def lane(self, gap: Gap) -> Generator[Lane]:
        lane = self._choose(gap)
        lane.busy = True
        try:
            yield lane
        finally:
            lane.busy, lane.used = False, time.monotonic()

    def _choose(self, gap: Gap) -> Lane:
        free = [each for each in self._lanes if not each.busy]
        likest = max(free, key=lambda each: _likeness(gap, each.anchor), default=None)
        if likest and _likeness(gap, likest.anchor) > 0.5:
            return likest
        if len(self._lanes) >= LANES and free:
            oldest = min(free, key=lambda each: each.used)
            oldest.anchor = None
            return oldest
        self._count += 1
        lane = Lane(f"{self._client}-{self._count}")
        if len(self._lanes) < LANES:
            self._lanes.append(lane)
        return lane


def with_seed(options: Options, seed: int) -> Options:
    return Options(options.max_tokens, options.temperature, seed, options.stop, options.indent, options.limit_s)


def _but_typed(gap: Gap, anchor: Gap) -> bool:
    """Whether `gap` differs from `anchor` by a few characters before the cursor alone."""
    same = gap.after == anchor.after and gap.path == anchor.path and gap.files == anchor.files
    typed = len(gap.before) - len(anchor.before)
    return same and 0 <= typed <= MAX_TYPED_CHARACTERS and gap.before.startswith(anchor.before)


def _likeness(gap: Gap, anchor: Gap | None) -> float:
    """The share of the shorter text before the cursor with which both texts begin; 0 for another path."""
    if anchor is None or gap.path != anchor.path:
        return 0.0
    shorter = min(len(gap.before), len(anchor.before))
    low, high = 0, shorter
    while low < high:
        half = (low + high + 1) // 2
        low, high = (half, high) if gap.before.startswith(anchor.before[:half]) else (low, half - 1)
    return low / shorter if shorter else 0.0


def _tokens(text: str, confidence: Any) -> tuple[tuple[str, float], ...]:
    """The text and log-probability of each token within `text`, from the engine's pairs."""
    tokens: list[tuple[str, float]] = []
    at = 0
    for width, log_p in confidence:
        if at >= len(text):
            break
        tokens.append((text[at : at + width], float(log_p)))
        at += width
    return tuple(tokens)


def _answer(event: dict[str, Any], cut: Cut, options: Options) -> Answer:
    text, cost = event["text"], event["cost"]
    end, word = cut.end(text)
    by_length = event["reason"] == "length" and end is None
    if event["reason"] == "stop" and end is None:
        word = options.stop[0] if len(options.stop) == 1 else word
    return Answer(
        text[:end],
        "length" if by_length else "stop",
        word,
        _tokens(text[:end], event.get("confidence", ())),
        cost["tokens"],
        cost["prompt_tokens"],
        cost["cached_tokens"],
        cost["prefill_ms"],
        cost["decode_ms"],
    )
