"""Fills gaps by the engine: a gap and its options in, pieces of text and then the whole answer out."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from dlsp.api.answer import Answer, Engine, Options, answer_of, asked, tokens_of
from dlsp.api.cut import Cut
from dlsp.api.lanes import Lane, Lanes
from dlsp.completions.anchor import MAX_TYPED_CHARACTERS

MAX_GAP_TOKENS = 1024  # the engine's limit


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


class Completer:
    """Fills gaps by the engine. It gives requests for the same document the same session, so that of a prompt that was
    prefilled before only what is new is read."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lanes: Lanes[Gap] = Lanes("gap", _likeness)

    async def stream(self, gap: Gap, options: Options) -> AsyncGenerator[str | Answer]:
        """Yield new text as it is fixed, and the `Answer` last. Raises what the engine's client raises."""
        cut = Cut(options.stop, options.indent)
        sent, began = 0, 0.0
        with self._lanes.lane(gap) as lane:
            request = _request(gap, options, lane)
            async with aclosing(asked(self._engine, self._engine.infill, request)) as events:
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
                            tokens = tokens_of(whole, confidence)
                            yield Answer(whole, "stop", word, tokens, len(tokens))
                            return
                        ready = cut.settled(text)
                        if ready > sent:
                            yield text[sent:ready]
                            sent = ready
                    elif event["event"] == "fill":
                        answer = answer_of(event, cut, options)
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
        each = [self.answer(gap, replace(options, seed=options.seed + number)) for number in range(count)]
        return list(await asyncio.gather(*each))

    async def prefill(self, gap: Gap) -> None:
        """Read the gap's prompt into its session, and write nothing."""
        with self._lanes.lane(gap) as lane:
            request = _request(gap, Options(max_tokens=1), lane) | {"priority": "prefetch"}
            async with aclosing(asked(self._engine, self._engine.infill, request)) as events:
                async for _ in events:
                    pass


def _request(gap: Gap, options: Options, lane: Lane[Gap]) -> dict[str, Any]:
    prefix, middle = _split(gap, lane)
    wanted = {"prefix": prefix, "suffix": gap.after, "middle": middle, "session": lane.name}
    limited = replace(options, max_tokens=max(1, min(options.max_tokens, MAX_GAP_TOKENS)))
    request = limited.fields() | {
        "gaps": [wanted | ({"path": gap.path} if gap.path else {})],
        "end": "token",
        "client": lane.name,
        "priority": "typing",
    }
    if gap.files:
        request["files"] = [{"path": each.path, "text": each.text} for each in gap.files]
    return request


def _split(gap: Gap, lane: Lane[Gap]) -> tuple[str, str]:
    """The gap's text before the cursor in two: that of the prompt that is prefilled already, and what was typed since.
    Where the document is another, or was changed elsewhere, all of it becomes the new prompt."""
    anchor = lane.anchor
    if anchor and _but_typed(gap, anchor):
        return anchor.before, gap.before[len(anchor.before) :]
    lane.anchor = gap
    return gap.before, ""


def _but_typed(gap: Gap, anchor: Gap) -> bool:
    """Whether `gap` differs from `anchor` by a few characters before the cursor alone."""
    same = gap.after == anchor.after and gap.path == anchor.path and gap.files == anchor.files
    typed = len(gap.before) - len(anchor.before)
    return same and 0 <= typed <= MAX_TYPED_CHARACTERS and gap.before.startswith(anchor.before)


def _likeness(gap: Gap, anchor: Gap) -> float:
    """The share of the shorter text before the cursor with which both texts begin; 0 for another path."""
    if gap.path != anchor.path:
        return 0.0
    shorter = min(len(gap.before), len(anchor.before))
    low, high = 0, shorter
    while low < high:
        half = (low + high + 1) // 2
        low, high = (half, high) if gap.before.startswith(anchor.before[:half]) else (low, half - 1)
    return low / shorter if shorter else 0.0
